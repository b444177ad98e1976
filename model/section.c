// Sections: built by one collector's thread, immutable and shared once they are handed over.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/section_private.h"

const char *severity_name(enum severity severity) {
    static const char *const names[] = {"info", "warning", "critical"};
    return (size_t)severity < 3 ? names[severity] : "info";
}

const char *section_state_name(enum section_state state) {
    static const char *const names[] = {"starting", "ok", "degraded", "unavailable"};
    return (size_t)state < 4 ? names[state] : "starting";
}

static void *list_add(struct list *list, size_t size) {
    if (list->n == list->capacity) {
        size_t capacity = list->capacity ? list->capacity * 2 : 4;
        void *items = mem_alloc(capacity * size);
        if (list->n)
            memcpy(items, list->items, list->n * size);
        mem_free(list->items, list->capacity * size);
        list->items = items;
        list->capacity = capacity;
    }
    return (char *)list->items + list->n++ * size;
}

struct section *section_new(const char *collector, uint64_t begin_ns, uint64_t end_ns) {
    struct section *section = mem_alloc(sizeof(*section));
    atomic_init(&section->refs, 1);
    section->collector = text_from(collector);
    section->begin_ns = begin_ns;
    section->end_ns = end_ns;
    return section;
}

const struct section *section_ref(const struct section *section) {
    // Relaxed: the caller already holds a reference.
    if (section)
        atomic_fetch_add_explicit(&((struct section *)section)->refs, 1, memory_order_relaxed);
    return section;
}

static void free_copy(const char *string) {
    if (string)
        mem_free((char *)string, strlen(string) + 1);
}

static const char *copy(const char *string) {
    if (!string)
        return NULL;
    size_t size = strlen(string) + 1;
    return memcpy(mem_alloc(size), string, size);
}

void section_unref(const struct section *shared) {
    struct section *section = (struct section *)shared;
    // Release by all, acquire by the last: all reads are complete before the memory is freed.
    if (!section || atomic_fetch_sub_explicit(&section->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < section->notes.n; i++) {
        const struct note *note = &((struct note *)section->notes.items)[i];
        free_copy(note->column);
        free_copy(note->text);
        free_copy(note->fix);
    }
    for (size_t i = 0; i < section->tables.n; i++)
        table_free(((struct table **)section->tables.items)[i]);
    for (size_t i = 0; i < section->hists.n; i++)
        hist_set_free(((struct hist_set **)section->hists.items)[i]);
    for (size_t i = 0; i < section->trees.n; i++)
        tree_free(((struct tree **)section->trees.items)[i]);
    for (size_t i = 0; i < section->streams.n; i++)
        table_free(((struct stream *)section->streams.items)[i].events);
    mem_free(section->notes.items, section->notes.capacity * sizeof(struct note));
    mem_free(section->series.items, section->series.capacity * sizeof(struct series));
    mem_free(section->tables.items, section->tables.capacity * sizeof(struct table *));
    mem_free(section->hists.items, section->hists.capacity * sizeof(struct hist_set *));
    mem_free(section->trees.items, section->trees.capacity * sizeof(struct tree *));
    mem_free(section->streams.items, section->streams.capacity * sizeof(struct stream));
    text_unref(section->collector);
    mem_free(section, sizeof(*section));
}

// ---- building ----

void section_set_state(struct section *section, enum section_state state) {
    section->state = state;
}

void section_note(struct section *section, enum severity severity, const char *column, const char *text,
                  const char *fix) {
    struct note *note = list_add(&section->notes, sizeof(*note));
    *note = (struct note){severity, copy(column), copy(text ? text : ""), copy(fix)};
}

void section_series(struct section *section, const struct series_def *def, double value) {
    struct series *series = list_add(&section->series, sizeof(*series));
    *series = (struct series){def, value};
}

void section_table(struct section *section, struct table *take) {
    struct table **table = list_add(&section->tables, sizeof(*table));
    *table = take;
}

void section_hists(struct section *section, struct hist_set *take) {
    struct hist_set **hists = list_add(&section->hists, sizeof(*hists));
    *hists = take;
}

void section_tree(struct section *section, struct tree *take) {
    struct tree **tree = list_add(&section->trees, sizeof(*tree));
    *tree = take;
}

void section_stream(struct section *section, struct table *take_events, uint64_t left_out) {
    struct stream *stream = list_add(&section->streams, sizeof(*stream));
    *stream = (struct stream){take_events, left_out};
}

void section_events(struct section *section, uint64_t seen, uint64_t lost) {
    section->seen = seen;
    section->lost = lost;
}

void section_cost(struct section *section, uint64_t cpu_ns) {
    section->cpu_ns = cpu_ns;
}

// ---- reading ----

const char *section_collector(const struct section *section) {
    return text_bytes(section->collector);
}

enum section_state section_state(const struct section *section) {
    return section->state;
}

uint64_t section_begin(const struct section *section) {
    return section->begin_ns;
}

uint64_t section_end(const struct section *section) {
    return section->end_ns;
}

uint64_t section_ns(const struct section *section) {
    return section->end_ns > section->begin_ns ? section->end_ns - section->begin_ns : 0;
}

uint64_t section_seen(const struct section *section) {
    return section->seen;
}

uint64_t section_lost(const struct section *section) {
    return section->lost;
}

uint64_t section_cpu_ns(const struct section *section) {
    return section->cpu_ns;
}

size_t section_notes(const struct section *section) {
    return section->notes.n;
}

const struct note *section_note_at(const struct section *section, size_t i) {
    return &((const struct note *)section->notes.items)[i];
}

size_t section_n_series(const struct section *section) {
    return section->series.n;
}

double section_series_at(const struct section *section, size_t i, const struct series_def **def) {
    const struct series *series = &((const struct series *)section->series.items)[i];
    if (def)
        *def = series->def;
    return series->value;
}

const struct table *section_find_table(const struct section *section, const char *name) {
    struct table *const *tables = section->tables.items;
    for (size_t i = 0; i < section->tables.n; i++)
        if (!strcmp(table_def(tables[i])->name, name))
            return tables[i];
    return NULL;
}

const struct hist_set *section_find_hists(const struct section *section, const char *name) {
    struct hist_set *const *hists = section->hists.items;
    for (size_t i = 0; i < section->hists.n; i++)
        if (!strcmp(hist_set_def(hists[i])->name, name))
            return hists[i];
    return NULL;
}

const struct tree *section_find_tree(const struct section *section, const char *name) {
    struct tree *const *trees = section->trees.items;
    for (size_t i = 0; i < section->trees.n; i++)
        if (!strcmp(tree_def(trees[i])->name, name))
            return trees[i];
    return NULL;
}

const struct table *section_find_stream(const struct section *section, const char *name, uint64_t *left_out) {
    const struct stream *streams = section->streams.items;
    for (size_t i = 0; i < section->streams.n; i++) {
        if (strcmp(table_def(streams[i].events)->name, name) != 0)
            continue;
        if (left_out)
            *left_out = streams[i].left_out;
        return streams[i].events;
    }
    return NULL;
}

size_t section_n_defs(const struct section *section) {
    return section->tables.n + section->streams.n;
}

const struct table_def *section_def_at(const struct section *section, size_t i) {
    struct table *const *tables = section->tables.items;
    const struct stream *streams = section->streams.items;
    return table_def(i < section->tables.n ? tables[i] : streams[i - section->tables.n].events);
}

bool section_has_column(const struct section *section, const char *name) {
    for (size_t i = 0; i < section_n_defs(section); i++)
        if (table_column(section_def_at(section, i), name) >= 0)
            return true;
    return false;
}
