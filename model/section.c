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
    section->rates_ns = end_ns > begin_ns ? end_ns - begin_ns : 0;
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

void section_set_rates(struct section *section, uint64_t rates_ns) {
    section->rates_ns = rates_ns;
}

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

static bool keys_equal(const struct hist_def *def, const union cell *a, const union cell *b) {
    for (uint16_t k = 0; k < def->n_keys; k++)
        if (def->keys[k].type == COLUMN_TEXT ? text_compare(a[k].text, b[k].text) : a[k].num != b[k].num)
            return false;
    return true;
}

static const struct hist *hists_find(const struct hist_set *set, const union cell *keys) {
    const union cell *at;
    for (size_t i = 0; i < hist_set_count(set); i++) {
        const struct hist *hist = hist_set_at(set, i, &at);
        if (keys_equal(hist_set_def(set), at, keys))
            return hist;
    }
    return NULL;
}

static void hists_add(struct hist_set *set, const union cell *keys, const struct hist *a, const struct hist *b) {
    const struct hist_def *def = hist_set_def(set);
    const struct hist *both[] = {a, b};
    union cell *copies = xcalloc(def->n_keys, sizeof(*copies));
    for (uint16_t k = 0; k < def->n_keys; k++) {
        copies[k] = keys[k];
        if (def->keys[k].type == COLUMN_TEXT)
            text_ref(copies[k].text);
    }
    hist_set_add(set, copies, hist_merge(both, 2));
    free(copies);
}

static struct hist_set *hists_sum(const struct hist_set *a, const struct hist_set *b) {
    struct hist_set *sum = hist_set_new(hist_set_def(a));
    const union cell *keys;
    for (size_t i = 0; i < hist_set_count(a); i++) {
        const struct hist *hist = hist_set_at(a, i, &keys);
        hists_add(sum, keys, hist, hists_find(b, keys));
    }
    for (size_t i = 0; i < hist_set_count(b); i++) {
        const struct hist *hist = hist_set_at(b, i, &keys);
        if (!hists_find(a, keys))
            hists_add(sum, keys, hist, NULL);
    }
    return sum;
}

// Rows whose keys are not in `except` (NULL: all).
static void rows_copy(struct table_builder *builder, const struct table *table, const struct table *except) {
    const struct table_def *def = table_def(table);
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        if (except && table_find(except, row))
            continue;
        uint32_t slot = table_builder_add(builder);
        for (uint16_t c = 0; c < def->n_columns; c++)
            if (def->columns[c].type == COLUMN_TEXT)
                table_builder_set_text(builder, slot, c, text_ref(row[c].text));
            else
                table_builder_set_num(builder, slot, c, row[c].num);
    }
}

static struct table *rows_sum(const struct table *first, const struct table *second) {
    struct table_builder *builder = table_builder_new(table_def(first));
    rows_copy(builder, first, NULL);
    rows_copy(builder, second, NULL);
    struct table *sum = table_builder_seal(builder);
    table_builder_free(builder);
    return sum;
}

// Rows that are told once, and that `section` does not have.
static void once_absorb(struct section *section, const struct section *before) {
    struct table **tables = section->tables.items;
    for (size_t i = 0; i < section->tables.n; i++) {
        const struct table_def *def = table_def(tables[i]);
        const struct table *old = def->of_interval ? section_find_table(before, def->name) : NULL;
        if (!old || table_def(old) != def || !table_rows(old))
            continue;
        struct table_builder *builder = table_builder_new(def);
        rows_copy(builder, tables[i], NULL);
        rows_copy(builder, old, tables[i]);
        table_free(tables[i]);
        tables[i] = table_builder_seal(builder);
        table_builder_free(builder);
    }
}

// Including trees that only the older section has.
static void trees_absorb(struct section *section, const struct section *before) {
    struct tree *const *old = before->trees.items;
    for (size_t i = 0; i < before->trees.n; i++) {
        struct tree **trees = section->trees.items;
        size_t at = 0;
        while (at < section->trees.n && tree_def(trees[at]) != tree_def(old[i]))
            at++;
        const struct tree *both[] = {old[i], at < section->trees.n ? trees[at] : NULL};
        struct tree *sum = tree_merge(both, both[1] ? 2 : 1);
        if (!both[1]) {
            section_tree(section, sum);
        } else if (sum) {
            tree_free(trees[at]);
            trees[at] = sum;
        }
    }
}

void section_absorb(struct section *section, const struct section *before) {
    struct hist_set **hists = section->hists.items;
    for (size_t i = 0; i < section->hists.n; i++) {
        const struct hist_set *old = section_find_hists(before, hist_set_def(hists[i])->name);
        if (!old || hist_set_def(old) != hist_set_def(hists[i]) || !hist_set_count(old))
            continue;
        struct hist_set *sum = hists_sum(hists[i], old);
        hist_set_free(hists[i]);
        hists[i] = sum;
    }
    struct stream *streams = section->streams.items;
    for (size_t i = 0; i < section->streams.n; i++) {
        uint64_t left_out = 0;
        const struct table_def *def = table_def(streams[i].events);
        const struct table *old = section_find_stream(before, def->name, &left_out);
        streams[i].left_out += left_out;
        if (!old || table_def(old) != def || !table_rows(old))
            continue;
        struct table *sum = rows_sum(old, streams[i].events);
        table_free(streams[i].events);
        streams[i].events = sum;
    }
    once_absorb(section, before);
    trees_absorb(section, before);
    section->begin_ns = before->begin_ns;
    section->seen += before->seen;
    section->lost += before->lost;
    section->cpu_ns += before->cpu_ns;
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

uint64_t section_rates_ns(const struct section *section) {
    return section->rates_ns;
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
