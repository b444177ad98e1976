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
static int compare_drafts(const struct symbol_draft *a, const struct symbol_draft *b) {
    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    if (a->rank != b->rank)
        return a->rank > b->rank ? -1 : 1;
    return a->name == b->name ? 0 : a->name > b->name ? -1 : 1;
}

// Most drafts come in order: kallsyms and linkers sort them, but for aliases. The rest is sorted by indices, which take
// less memory than a merge sort of the drafts.
#define ALIASES_MAX 64u // at one address

// Sorts from the front as long as no draft has to move far. Returns how many.
static uint32_t sort_front(struct symbol_draft *drafts, uint32_t count, draft_compare *compare) {
    for (uint32_t i = 1; i < count; i++) {
        uint32_t to = i, least = i > ALIASES_MAX ? i - ALIASES_MAX : 0;
        while (to > least && compare(&drafts[to - 1], &drafts[i]) > 0)
            to--;
        if (to == i)
            continue;
        if (to && compare(&drafts[to - 1], &drafts[i]) > 0)
            return i;
        struct symbol_draft moved = drafts[i];
        memmove(&drafts[to + 1], &drafts[to], (i - to) * sizeof(*drafts));
        drafts[to] = moved;
    }
    return count;
}

struct sorting {
    const struct symbol_draft *drafts;
    draft_compare *compare;
};

static int compare_indices(const void *left, const void *right, void *context) {
    const struct sorting *sorting = context;
    return sorting->compare(&sorting->drafts[*(const uint32_t *)left], &sorting->drafts[*(const uint32_t *)right]);
}

// Puts each draft where the order says; uses up the order.
static void permute(struct symbol_draft *drafts, uint32_t *order, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        struct symbol_draft moved = drafts[i];
        uint32_t at = i;
        while (order[at] != i) {
            uint32_t from = order[at];
            drafts[at] = drafts[from];
            order[at] = at;
            at = from;
        }
        drafts[at] = moved;
        order[at] = at;
    }
}

void symbol_drafts_sort(struct symbol_draft *drafts, uint32_t count, draft_compare *compare) {
    struct sorting sorting = {drafts, compare};
    uint32_t front = sort_front(drafts, count, compare);
    if (front == count)
        return;
    uint32_t *order = xmalloc(count * sizeof(*order)), *tail = xmalloc((count - front) * sizeof(*tail));
    for (uint32_t i = front; i < count; i++)
        tail[i - front] = i;
    qsort_r(tail, count - front, sizeof(*tail), compare_indices, &sorting);
    for (uint32_t i = 0, first = 0, last = 0; i < count; i++) {
        bool of_front = last == count - front || (first < front && compare(&drafts[first], &drafts[tail[last]]) <= 0);
        order[i] = of_front ? first++ : tail[last++];
    }
    free(tail);
    permute(drafts, order, count);
    free(order);
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
    uint32_t *heap, n, room; // indices of open drafts, the winner on top
    struct symbol *out;      // NULL: they are only counted
    uint32_t count;
    uint32_t last;     // draft of the last one
    struct symbol end; // the last one
};

static bool wins(const struct sweep *sweep, uint32_t a, uint32_t b) {
    if (sweep->overlap == OVERLAP_RANK && sweep->drafts[a].rank != sweep->drafts[b].rank)
        return sweep->drafts[a].rank > sweep->drafts[b].rank;
    return a > b; // the drafts are sorted by start
}

static void heap_push(struct sweep *sweep, uint32_t draft) {
    uint32_t at = sweep->n++;
    if (at == sweep->room) {
        sweep->room = sweep->room ? sweep->room * 2 : 64;
        sweep->heap = xrealloc(sweep->heap, sweep->room * sizeof(*sweep->heap));
    }
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
    struct symbol *last = &sweep->end;
    uint64_t size = end - start > UINT32_MAX ? UINT32_MAX : end - start;
    if (sweep->count && sweep->last == draft && last->start + last->size == start && last->size + size <= UINT32_MAX) {
        last->size += (uint32_t)size;
    } else {
        sweep->count++;
        sweep->last = draft;
        *last = (struct symbol){start, (uint32_t)size, sweep->drafts[draft].name};
    }
    if (sweep->out)
        sweep->out[sweep->count - 1] = *last;
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

static void sweep_all(struct sweep *sweep, uint32_t count) {
    sweep->n = sweep->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        heap_push(sweep, i);
        advance(sweep, sweep->drafts[i].start, i + 1 < count ? sweep->drafts[i + 1].start : UINT64_MAX);
    }
}

static bool any_overlap(const struct symbol_draft *drafts, uint32_t count) {
    for (uint32_t i = 0; i + 1 < count; i++)
        if (drafts[i].end > drafts[i + 1].start)
            return true;
    return false;
}

// Drafts that do not overlap become symbols where they are. Takes them.
static struct symbol *symbols_in_place(struct symbol_draft *drafts, uint32_t count) {
    char *bytes = (char *)drafts;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t size = drafts[i].end - drafts[i].start;
        struct symbol symbol = {drafts[i].start, size > UINT32_MAX ? UINT32_MAX : (uint32_t)size, drafts[i].name};
        memcpy(bytes + i * sizeof(symbol), &symbol, sizeof(symbol)); // a draft is longer: the next one is behind
    }
    return xrealloc(drafts, count * sizeof(struct symbol));
}

// In two passes, the first one of which counts. Takes the drafts.
static struct symbol *symbols_swept(struct symbol_draft *drafts, uint32_t count, enum symbol_overlap overlap,
                                    uint32_t *n) {
    struct sweep sweep = {.drafts = drafts, .overlap = overlap};
    sweep_all(&sweep, count);
    sweep.out = xmalloc(sweep.count * sizeof(*sweep.out));
    sweep_all(&sweep, count);
    free(sweep.heap);
    free(drafts);
    *n = sweep.count;
    return sweep.out;
}

struct symbol_table *symbol_builder_finish(struct symbol_builder *builder, enum symbol_overlap overlap) {
    struct symbol_table *table = xcalloc(1, sizeof(*table));
    symbol_drafts_sort(builder->drafts, builder->count, compare_drafts);
    table->count = settle(builder->drafts, builder->count, overlap);
    if (any_overlap(builder->drafts, table->count))
        table->symbols = symbols_swept(builder->drafts, table->count, overlap, &table->count);
    else
        table->symbols = symbols_in_place(builder->drafts, table->count);
    builder->drafts = NULL;
    table->refs = 1;
    table->ids = xmalloc(table->count * sizeof(*table->ids));
    memset(table->ids, 0xff, table->count * sizeof(*table->ids)); // NAME_NONE
    table->names_size = builder->names_size;
    table->names = xrealloc(builder->names, builder->names_size);
    table->cut = builder->cut;
    builder->names = NULL;
    symbol_builder_free(builder);
    return table;
}
