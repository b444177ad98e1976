// Two intervals of a collector become one: section_absorb.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/section_private.h"

// ---- numbers ----

// How a value of that unit is merged where its definition does not say.
static enum merge merge_of(enum merge merge, enum unit unit) {
    if (merge != MERGE_BY_UNIT)
        return merge;
    switch (unit) {
    case UNIT_PER_S:
    case UNIT_BYTES_PER_S:
    case UNIT_US_PER_S:
        return MERGE_RATE;
    case UNIT_PCT:
        return MERGE_MEAN;
    default:
        return MERGE_NEWEST;
    }
}

// `share`: of the older interval in both. Not measured in one of them: the other's.
static double merged(enum merge merge, double older, double newer, double share) {
    if (merge == MERGE_NEWEST || isnan(older))
        return newer;
    if (isnan(newer))
        return older;
    switch (merge) {
    case MERGE_SUM:
        return older + newer;
    case MERGE_MAX:
        return older > newer ? older : newer;
    case MERGE_MIN:
        return older < newer ? older : newer;
    default:
        return older * share + newer * (1 - share);
    }
}

static void series_absorb(struct section *section, const struct section *before, double share) {
    struct series *series = section->series.items;
    const struct series *old = before->series.items;
    for (size_t i = 0; i < section->series.n; i++)
        for (size_t k = 0; k < before->series.n; k++)
            if (old[k].def == series[i].def)
                series[i].value =
                    merged(merge_of(series[i].def->merge, series[i].def->unit), old[k].value, series[i].value, share);
}

// ---- tables ----

static void row_add(struct table_builder *builder, const struct table_def *def, const union cell *row) {
    uint32_t slot = table_builder_add(builder);
    for (uint16_t c = 0; c < def->n_columns; c++)
        if (def->columns[c].type == COLUMN_TEXT)
            table_builder_set_text(builder, slot, c, text_ref(row[c].text));
        else
            table_builder_set_num(builder, slot, c, row[c].num);
}

// One of the rows may be NULL: nothing happened to it in that interval.
static void row_merge(struct table_builder *builder, const struct table_def *def, const union cell *older,
                      const union cell *newer, double share, union cell *cells) {
    for (uint16_t c = 0; c < def->n_columns; c++) {
        const struct column *column = &def->columns[c];
        enum merge merge = def->rows == ROWS_REPORTED_ONCE ? MERGE_NEWEST : merge_of(column->merge, column->unit);
        cells[c] = (newer ? newer : older)[c];
        if (c < def->n_keys || column->type == COLUMN_TEXT)
            continue;
        if (older && newer)
            cells[c].num = merged(merge, older[c].num, newer[c].num, share);
        else if (merge == MERGE_RATE)
            cells[c].num *= newer ? 1 - share : share;
    }
    row_add(builder, def, cells);
}

// The rows of one table, each beside the row of the other one with the same keys, or NULL.
static struct join *beside(const struct table *table, const struct table *other) {
    return join_new((const struct table *const[]){table, other},
                    (const struct table_def *const[]){table_def(table), table_def(other)}, 2);
}

static struct table *rows_absorb(const struct table *newer, const struct table *older, double share) {
    const struct table_def *def = table_def(newer);
    struct table_builder *builder = table_builder_new(def);
    union cell *cells = xcalloc(def->n_columns, sizeof(*cells));
    struct join *both = beside(newer, older);
    for (size_t i = 0; i < both->n_rows; i++)
        row_merge(builder, def, both->rows[2 * i + 1], both->rows[2 * i], share, cells);
    join_free(both);
    both = def->rows == ROWS_OF_NOW ? NULL : beside(older, newer);
    for (size_t i = 0; both && i < both->n_rows; i++)
        if (!both->rows[2 * i + 1])
            row_merge(builder, def, both->rows[2 * i], NULL, share, cells);
    join_free(both);
    free(cells);
    struct table *sum = table_builder_seal(builder);
    table_builder_free(builder);
    return sum;
}

// False: the newer rows are those of both intervals.
static bool is_merged(const struct table *newer, const struct table *older) {
    const struct table_def *def = table_def(newer);
    if (table_def(older) != def || (!def->n_keys && (table_rows(newer) != 1 || table_rows(older) != 1)))
        return false;
    bool any = def->rows != ROWS_OF_NOW;
    for (uint16_t c = 0; c < def->n_columns && !any; c++)
        any = def->columns[c].type == COLUMN_NUMBER &&
              merge_of(def->columns[c].merge, def->columns[c].unit) != MERGE_NEWEST;
    return any;
}

static void tables_absorb(struct section *section, const struct section *before, double share) {
    struct table **tables = section->tables.items;
    for (size_t i = 0; i < section->tables.n; i++) {
        const struct table *old = section_find_table(before, table_def(tables[i])->name);
        if (!old || !is_merged(tables[i], old))
            continue;
        struct table *sum = rows_absorb(tables[i], old, share);
        table_free(tables[i]);
        tables[i] = sum;
    }
}

static void streams_absorb(struct section *section, const struct section *before) {
    struct stream *streams = section->streams.items;
    for (size_t i = 0; i < section->streams.n; i++) {
        uint64_t left_out = 0;
        const struct table_def *def = table_def(streams[i].events);
        const struct table *old = section_find_stream(before, def->name, &left_out);
        streams[i].left_out += left_out;
        if (!old || table_def(old) != def || !table_rows(old))
            continue;
        const struct table *both[] = {old, streams[i].events};
        struct table_builder *builder = table_builder_new(def);
        for (size_t t = 0; t < 2; t++) {
            size_t cursor = 0;
            for (const union cell *row; (row = table_next(both[t], &cursor));)
                row_add(builder, def, row);
        }
        table_free(streams[i].events);
        streams[i].events = table_builder_seal(builder);
        table_builder_free(builder);
    }
}

// ---- histograms and trees ----

static bool keys_equal(const struct hist_def *def, const union cell *a, const union cell *b) {
    uint16_t k = 0;
    while (k < def->n_keys && cells_equal(def->keys[k].type, a[k], b[k]))
        k++;
    return k == def->n_keys;
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

static void hists_absorb(struct section *section, const struct section *before) {
    struct hist_set **hists = section->hists.items;
    for (size_t i = 0; i < section->hists.n; i++) {
        const struct hist_set *old = section_find_hists(before, hist_set_def(hists[i])->name);
        if (!old || hist_set_def(old) != hist_set_def(hists[i]) || !hist_set_count(old))
            continue;
        struct hist_set *sum = hists_sum(hists[i], old);
        hist_set_free(hists[i]);
        hists[i] = sum;
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
    double old_ns = (double)section_ns(before), new_ns = (double)section_ns(section);
    double share = old_ns > 0 ? old_ns / (old_ns + new_ns) : 0;
    series_absorb(section, before, share);
    tables_absorb(section, before, share);
    hists_absorb(section, before);
    streams_absorb(section, before);
    trees_absorb(section, before);
    section->begin_ns = before->begin_ns;
    section->seen += before->seen;
    section->lost += before->lost;
    section->cpu_ns += before->cpu_ns;
}
