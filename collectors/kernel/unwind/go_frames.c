// See the header. The table is read through the cache of blocks; nothing of it is kept but its header.
#include "collectors/kernel/unwind/go_frames.h"

#include <string.h>

#include "collectors/kernel/go_table.h"

#define TABLE_MAX (1ull << 31)
#define STEPS_MAX 4096u // changes of the stack pointer in one function
#define CHUNK 64u
#define FLAG_TOP 1u     // has no caller
#define FLAG_SPWRITE 2u // sets the stack pointer to another stack

// An integer of the table. Sets *good to false where there is none.
static uint64_t number(const struct unwind_file *file, uint64_t at, unsigned size, bool *good) {
    const struct unwind_go *go = &file->object->go;
    uint8_t bytes[8] = {0};
    uint64_t value;
    if (at > go->size || size > go->size - at || !unwind_file_pread(file, go->offset + at, bytes, size))
        *good = false;
    memcpy(&value, bytes, sizeof(value)); // both architectures are little-endian
    return value;
}

bool unwind_go_open(const struct unwind_file *file, uint64_t offset, uint64_t size, uint64_t text) {
    struct unwind_go *go = &file->object->go;
    uint8_t bytes[GO_HEAD_BYTES];
    size_t n = size < sizeof(bytes) ? (size_t)size : sizeof(bytes);
    struct go_head head;
    bool good = size <= TABLE_MAX && unwind_file_pread(file, offset, bytes, n) &&
                go_head_parse(bytes, n, text, &head) && head.pointer == 8;
    *go = (struct unwind_go){0};
    if (!good)
        return false;
    *go = (struct unwind_go){.offset = offset,
                             .size = size,
                             .count = head.count,
                             .entries = head.entries,
                             .functions = head.functions,
                             .steps = head.steps,
                             .text = head.text,
                             .word = head.word,
                             .quantum = head.quantum,
                             .flags_at = head.flags_at};
    good = go->entries <= size && go->functions <= size && go->steps <= size && go->count <= size / go->word / 2;
    if (!good)
        *go = (struct unwind_go){0};
    return good;
}

// The function at an address: its start, and where it is described. False: none.
static bool find_function(const struct unwind_file *file, uint64_t address, uint64_t *start, uint64_t *function) {
    const struct unwind_go *go = &file->object->go;
    uint64_t low = 0, high = go->count + 1, pair = 2ull * go->word; // the last entry is where the code ends
    bool good = true;
    while (low < high && good) {
        uint64_t middle = low + (high - low) / 2;
        if (number(file, go->entries + middle * pair, go->word, &good) <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!good || !low || low > go->count)
        return false;
    *start = number(file, go->entries + (low - 1) * pair, go->word, &good);
    *function = go->functions + number(file, go->entries + (low - 1) * pair + go->word, go->word, &good);
    return good && number(file, *function, go->word, &good) == *start && good;
}

struct steps {
    const struct unwind_file *file;
    uint64_t at;
    uint8_t bytes[CHUNK];
    unsigned next, held;
};

static bool step_byte(struct steps *steps, uint8_t *out) {
    const struct unwind_go *go = &steps->file->object->go;
    if (steps->next == steps->held) {
        uint64_t left = steps->at < go->size ? go->size - steps->at : 0;
        steps->held = left < CHUNK ? (unsigned)left : CHUNK;
        steps->next = 0;
        if (!steps->held || !unwind_file_pread(steps->file, go->offset + steps->at, steps->bytes, steps->held))
            return false;
        steps->at += steps->held;
    }
    *out = steps->bytes[steps->next++];
    return true;
}

static bool step_number(struct steps *steps, uint32_t *out) {
    *out = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        uint8_t byte;
        if (!step_byte(steps, &byte))
            return false;
        *out |= (uint32_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

// Pairs of a change of the value, zigzag-encoded, and for how far it holds.
static bool stack_size(const struct unwind_file *file, uint64_t at, uint64_t distance, uint32_t *out) {
    struct steps steps = {.file = file, .at = at};
    uint32_t value = UINT32_MAX; // -1
    uint64_t end = 0;
    for (unsigned i = 0; i < STEPS_MAX; i++) {
        uint32_t change, length;
        if (!step_number(&steps, &change) || (!change && i) || !step_number(&steps, &length))
            return false;
        value += change & 1 ? ~(change >> 1) : change >> 1;
        end += (uint64_t)length * file->object->go.quantum;
        if (distance < end) {
            *out = value;
            return value <= INT32_MAX;
        }
    }
    return false;
}

bool unwind_go_find(const struct unwind_file *file, uint64_t vaddr, struct unwind_go_frame *out) {
    const struct unwind_go *go = &file->object->go;
    uint64_t start, function;
    bool good = true;
    *out = (struct unwind_go_frame){0};
    if (!go->size || vaddr < go->text || !find_function(file, vaddr - go->text, &start, &function))
        return false;
    uint64_t flags = go->flags_at ? number(file, function + go->flags_at, 1, &good) : 0;
    uint64_t steps = number(file, function + go->word + 12, 4, &good);
    if (!good)
        return false;
    out->top = flags & FLAG_TOP;
    out->sized =
        steps && !(flags & FLAG_SPWRITE) && stack_size(file, go->steps + steps, vaddr - go->text - start, &out->size);
    return true;
}
