// Reading of jitdump; see the header. Only names and addresses: the code itself is skipped.
#include "collectors/kernel/symbols/jitdump.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"

#define MAGIC 0x4a695444u // "JiTD" in this machine's byte order
#define RECORD_HEAD 16
#define LOAD_HEAD 40 // after the record's head, before the name
#define MOVE_SIZE 48
#define RECORD_MAX ((uint64_t)256 << 20)
#define MOVE_STEPS_MAX (64u << 20) // drafts compared for moves in one read: a file of moves only must not take hours

enum { JIT_CODE_LOAD = 0, JIT_CODE_MOVE = 1 };

static bool read_at(int fd, uint64_t offset, void *out, size_t size) {
    ssize_t n;
    do
        n = pread(fd, out, size, (off_t)offset);
    while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

static uint64_t u64_at(const uint8_t *bytes) {
    uint64_t value;
    memcpy(&value, bytes, sizeof(value));
    return value;
}

static bool add(struct symbol_builder *builder, uint64_t start, uint64_t size, const char *name, uint32_t *rank) {
    struct symbol_draft draft = {.start = start, .end = start + size, .rank = *rank};
    if (!size || size > UINT32_MAX || draft.end <= start)
        return true;
    if (!symbol_builder_add(builder, &draft, name, strlen(name), NULL))
        return false;
    ++*rank;
    return true;
}

// false: the builder is full.
static bool read_load(int fd, uint64_t at, uint64_t size, struct symbol_builder *builder, uint32_t *rank) {
    uint8_t head[LOAD_HEAD];
    char name[SYMBOL_NAME_MAX + 1];
    if (size < RECORD_HEAD + LOAD_HEAD + 1 || !read_at(fd, at + RECORD_HEAD, head, sizeof(head)))
        return true;
    uint64_t room = size - RECORD_HEAD - LOAD_HEAD;
    size_t length = room < SYMBOL_NAME_MAX ? room : SYMBOL_NAME_MAX;
    if (!read_at(fd, at + RECORD_HEAD + LOAD_HEAD, name, length))
        return true;
    name[length] = '\0';
    return !name[0] || add(builder, u64_at(head + 16), u64_at(head + 24), name, rank);
}

// Moved code keeps its name, which only the builder has.
static bool read_move(int fd, uint64_t at, uint64_t size, struct symbol_builder *builder, uint32_t *rank,
                      uint32_t *steps) {
    uint8_t body[MOVE_SIZE];
    if (size < RECORD_HEAD + MOVE_SIZE || !read_at(fd, at + RECORD_HEAD, body, sizeof(body)))
        return true;
    uint64_t from = u64_at(body + 16), to = u64_at(body + 24);
    for (uint32_t i = builder->count; i-- > 0 && *steps < MOVE_STEPS_MAX; ++*steps) {
        if (builder->drafts[i].start != from)
            continue;
        char name[SYMBOL_NAME_MAX + 1];
        strcpy(name, builder->names + builder->drafts[i].name); // adding can move the names
        return add(builder, to, u64_at(body + 32), name, rank);
    }
    return true;
}

ssize_t jitdump_code(int fd, uint64_t address, uint8_t *out, size_t size) {
    uint32_t words[4];
    uint64_t offset, found = 0;
    size_t n = 0;
    uint8_t head[LOAD_HEAD];
    if (!read_at(fd, 0, words, sizeof(words)) || words[0] != MAGIC || words[2] < 40 || words[2] > 65536)
        return -ENOEXEC;
    for (offset = words[2]; offset < PERF_MAP_BYTES_MAX && read_at(fd, offset, words, sizeof(words));
         offset += words[1]) {
        if (words[1] < RECORD_HEAD || words[1] > RECORD_MAX)
            break;
        if (words[0] != JIT_CODE_LOAD || words[1] < RECORD_HEAD + LOAD_HEAD ||
            !read_at(fd, offset + RECORD_HEAD, head, sizeof(head)))
            continue;
        uint64_t start = u64_at(head + 16), bytes = u64_at(head + 24);
        if (address - start >= bytes || bytes > words[1] - RECORD_HEAD - LOAD_HEAD)
            continue;
        // The code ends the record. The last record that covers the address counts.
        uint64_t left = bytes - (address - start);
        found = offset + words[1] - left;
        n = size < left ? size : (size_t)left;
    }
    if (!found)
        return -ENOENT;
    return read_at(fd, found, out, n) ? (ssize_t)n : -EIO;
}

bool jitdump_read(struct jit_file *file, int fd, struct symbol_builder *builder, uint32_t *rank) {
    uint32_t words[4], steps = 0;
    char last;
    if (!file->offset) {
        // magic, version, size of the header
        if (!read_at(fd, 0, words, sizeof(words)) || words[0] != MAGIC || words[2] < 40 || words[2] > 65536 ||
            !read_at(fd, words[2] - 1, &last, 1))
            return false;
        file->offset = words[2];
    }
    while (file->offset < PERF_MAP_BYTES_MAX && read_at(fd, file->offset, words, sizeof(words))) {
        uint64_t size = words[1];
        if (size < RECORD_HEAD || size > RECORD_MAX || !read_at(fd, file->offset + size - 1, &last, 1))
            return false; // damaged, or being written
        bool room = true;
        if (words[0] == JIT_CODE_LOAD)
            room = read_load(fd, file->offset, size, builder, rank);
        else if (words[0] == JIT_CODE_MOVE)
            room = read_move(fd, file->offset, size, builder, rank, &steps);
        if (!room)
            return true;
        file->offset += size;
    }
    return false;
}
