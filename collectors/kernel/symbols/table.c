// Symbol tables; see the header. Drafts may overlap in any way: a sweep over their starts with a heap of the drafts
// that are open leaves, at each address, only the one that wins.
#include "collectors/kernel/symbols/table.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

bool symbol_is_mapping(const char *name, size_t length) {
    return length >= 2 && name[0] == '$' && memchr("xdta", name[1], 4) && (length == 2 || name[2] == '.');
}

void symbol_table_free(struct symbol_table *table) {
    if (!table)
        return;
    free(table->symbols);
    free(table->ids);
    free(table->names);
    free(table);
}

size_t symbol_table_bytes(const struct symbol_table *table) {
    return sizeof(*table) + table->count * (sizeof(struct symbol) + sizeof(uint32_t)) + table->names_size;
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address) {
    uint32_t low = 0, high = table->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->symbols[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low)
        return NULL;
    const struct symbol *symbol = &table->symbols[low - 1];
    return address - symbol->start < symbol->size ? symbol : NULL;
}

bool symbol_table_address(const struct symbol_table *table, uint64_t offset, uint64_t *address) {
    *address = offset;
    for (size_t i = 0; i < table->n_segments; i++) {
        const struct symbol_segment *segment = &table->segments[i];
        if (offset - segment->offset >= segment->size)
            continue;
        *address = offset - segment->offset + segment->address;
        return true;
    }
    return !table->n_segments;
}

static void names_reserve(struct symbol_builder *builder, size_t more) {
    if (builder->names_size + more <= builder->names_capacity)
        return;
    size_t capacity = builder->names_capacity ? builder->names_capacity * 2 : 4096;
    while (capacity < builder->names_size + more)
        capacity *= 2;
    builder->names = xrealloc(builder->names, capacity);
    builder->names_capacity = capacity;
}

static void names_put(struct symbol_builder *builder, const char *name, size_t length) {
    memcpy(builder->names + builder->names_size, name, length);
    builder->names[builder->names_size + length] = '\0';
    builder->names_size += length + 1;
}

bool symbol_builder_draft(struct symbol_builder *builder, const struct symbol_draft *draft) {
    if (builder->count >= TABLE_SYMBOLS_MAX) {
        builder->cut = true;
        return false;
    }
    if (builder->count == builder->capacity) {
        builder->capacity = builder->capacity ? builder->capacity * 2 : 256;
        builder->drafts = xrealloc(builder->drafts, builder->capacity * sizeof(*builder->drafts));
    }
    builder->drafts[builder->count++] = *draft;
    return true;
}

uint32_t symbol_builder_name(struct symbol_builder *builder, const char *name, size_t length, const char *object) {
    if (length > SYMBOL_NAME_MAX)
        length = SYMBOL_NAME_MAX;
    size_t more = length + 1 + (object ? strlen(object) + 1 : 0), at = builder->names_size;
    if (at + more > TABLE_NAMES_MAX) {
        builder->cut = true;
        return UINT32_MAX;
    }
    names_reserve(builder, more);
    names_put(builder, name, length);
    if (object)
        names_put(builder, object, strlen(object));
    return (uint32_t)at;
}

bool symbol_builder_add(struct symbol_builder *builder, const struct symbol_draft *draft, const char *name,
                        size_t length, const char *object) {
    struct symbol_draft named = *draft;
    if (builder->count >= TABLE_SYMBOLS_MAX) {
        builder->cut = true;
        return false;
    }
    named.name = symbol_builder_name(builder, name, length, object);
    return named.name != UINT32_MAX && symbol_builder_draft(builder, &named);
}

void symbol_builder_free(struct symbol_builder *builder) {
    free(builder->drafts);
    free(builder->names);
    *builder = (struct symbol_builder){0};
}

// By address; at one address by rank, the winner first; then in the order in which they were added, the last one first.
static int compare_drafts(const void *left, const void *right) {
    const struct symbol_draft *a = left, *b = right;
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return a->name == b->name ? 0 : a->name > b->name ? -1 : 1;
}

// One draft per address, unsized ones extended to the next symbol; an unsized one within a sized one is a label in it
// and is dropped.
static uint32_t settle(struct symbol_draft *drafts, uint32_t count, enum symbol_overlap overlap) {
    uint32_t kept = 0;
    uint64_t sized_end = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct symbol_draft *draft = &drafts[i];
        bool same = kept && drafts[kept - 1].start == draft->start;
        if (overlap == OVERLAP_INNER && same)
            continue;
        if (draft->end <= draft->start && (same || draft->start < sized_end))
            continue;
        if (draft->end > sized_end)
            sized_end = draft->end;
        drafts[kept++] = *draft;
    }
    for (uint32_t i = 0; i < kept; i++) {
        struct symbol_draft *draft = &drafts[i];
        if (draft->end > draft->start)
            continue;
        uint64_t next = i + 1 < kept ? drafts[i + 1].start : UINT64_MAX;
        draft->end = draft->limit && draft->limit < next ? draft->limit : next;
        if (draft->end <= draft->start)
            draft->end = draft->start + 1;
    }
    return kept;
}

struct sweep {
    const struct symbol_draft *drafts;
    enum symbol_overlap overlap;
    uint32_t *heap, n; // indices of open drafts, the winner on top
    struct symbol *out;
    uint32_t count, capacity;
    uint32_t last; // draft of the last one in `out`
};

static bool wins(const struct sweep *sweep, uint32_t a, uint32_t b) {
    if (sweep->overlap == OVERLAP_RANK && sweep->drafts[a].rank != sweep->drafts[b].rank)
        return sweep->drafts[a].rank > sweep->drafts[b].rank;
    return a > b; // the drafts are sorted by start
}

static void heap_push(struct sweep *sweep, uint32_t draft) {
    uint32_t at = sweep->n++;
    for (; at && wins(sweep, draft, sweep->heap[(at - 1) / 2]); at = (at - 1) / 2)
        sweep->heap[at] = sweep->heap[(at - 1) / 2];
    sweep->heap[at] = draft;
}

static void heap_pop(struct sweep *sweep) {
    uint32_t moved = sweep->heap[--sweep->n], at = 0;
    for (uint32_t child = 1; child < sweep->n; child = 2 * at + 1) {
        if (child + 1 < sweep->n && wins(sweep, sweep->heap[child + 1], sweep->heap[child]))
            child++;
        if (!wins(sweep, sweep->heap[child], moved))
            break;
        sweep->heap[at] = sweep->heap[child];
        at = child;
    }
    sweep->heap[at] = moved;
}

static void emit(struct sweep *sweep, uint64_t start, uint64_t end, uint32_t draft) {
    struct symbol *last = sweep->count ? &sweep->out[sweep->count - 1] : NULL;
    uint64_t size = end - start > UINT32_MAX ? UINT32_MAX : end - start;
    if (last && sweep->last == draft && last->start + last->size == start && last->size + size <= UINT32_MAX) {
        last->size += (uint32_t)size;
        return;
    }
    if (sweep->count == sweep->capacity) {
        sweep->capacity += sweep->capacity / 2 + 16;
        sweep->out = xrealloc(sweep->out, sweep->capacity * sizeof(*sweep->out));
    }
    sweep->last = draft;
    sweep->out[sweep->count++] = (struct symbol){start, (uint32_t)size, sweep->drafts[draft].name};
}

// Emits what is open from `at` up to `next`.
static void advance(struct sweep *sweep, uint64_t at, uint64_t next) {
    while (sweep->n && at < next) {
        const struct symbol_draft *top = &sweep->drafts[sweep->heap[0]];
        if (top->end <= at) {
            heap_pop(sweep);
            continue;
        }
        uint64_t end = top->end < next ? top->end : next;
        emit(sweep, at, end, sweep->heap[0]);
        at = end;
    }
}

struct symbol_table *symbol_builder_finish(struct symbol_builder *builder, enum symbol_overlap overlap) {
    struct symbol_table *table = xcalloc(1, sizeof(*table));
    if (builder->count)
        qsort(builder->drafts, builder->count, sizeof(*builder->drafts), compare_drafts);
    uint32_t count = settle(builder->drafts, builder->count, overlap);
    struct sweep sweep = {.drafts = builder->drafts, .overlap = overlap, .capacity = count};
    sweep.heap = xcalloc(count, sizeof(*sweep.heap));
    sweep.out = xcalloc(count, sizeof(*sweep.out));
    for (uint32_t i = 0; i < count; i++) {
        heap_push(&sweep, i);
        advance(&sweep, sweep.drafts[i].start, i + 1 < count ? sweep.drafts[i + 1].start : UINT64_MAX);
    }
    free(sweep.heap);
    table->refs = 1;
    table->count = sweep.count;
    table->symbols = xrealloc(sweep.out, sweep.count * sizeof(*sweep.out));
    table->ids = xmalloc(sweep.count * sizeof(*table->ids));
    memset(table->ids, 0xff, sweep.count * sizeof(*table->ids)); // NAME_NONE
    table->names_size = builder->names_size;
    table->names = xrealloc(builder->names, builder->names_size);
    table->cut = builder->cut;
    builder->names = NULL;
    symbol_builder_free(builder);
    return table;
}
