// The tables and histograms of groups and latencies (see the header).
#include "collectors/group_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/text.h"

#define ROWS_MAX 200
#define OTHERS "others"

struct filler {
    double scale, seconds;
    const struct groups_namer *namer;
    struct table_builder *table;
    struct hist_set *hists;
};

static const struct text *thread_name(const struct groups_namer *namer, int32_t tid) {
    const struct task_identity *identity = event_names_find(namer->names, namer->options, tid);
    return event_names_text(namer->names, identity, tid);
}

static const struct text *key_text(const struct group_field *field, const uint64_t *words,
                                   const struct groups_namer *namer) {
    return field->kind == GROUP_COMM ? thread_name(namer, (int32_t)words[0]) : group_field_text(field, words);
}

// Thread IDs become names: several may have one.
static void rename_key(const struct group *group, struct group_key *key, const struct groups_namer *namer) {
    for (size_t i = 0; i < group->n_keys; i++) {
        if (group->keys[i].kind != GROUP_COMM)
            continue;
        const struct text *name = thread_name(namer, (int32_t)key->words[i][0]);
        memset(key->words[i], 0, sizeof(key->words[i]));
        if (name)
            snprintf((char *)key->words[i], sizeof(key->words[i]), "%s", text_bytes(name));
        text_unref(name);
    }
}

static bool by_comm(const struct group *group) {
    return group->keys[0].kind == GROUP_COMM || (group->n_keys == 2 && group->keys[1].kind == GROUP_COMM);
}

static int compare_counts(const void *a, const void *b, void *tally_) {
    const struct group_tally *tally = tally_;
    uint64_t x = tally->entries[*(const uint16_t *)a].stat.count, y = tally->entries[*(const uint16_t *)b].stat.count;
    return (x < y) - (x > y);
}

// Indices of the entries by count, largest first; all past ROWS_MAX are added to the others. Returns the rows.
static size_t rank(struct group_tally *tally, uint16_t order[GROUP_KEYS]) {
    for (size_t i = 0; i < tally->n; i++)
        order[i] = (uint16_t)i;
    qsort_r(order, tally->n, sizeof(*order), compare_counts, tally);
    for (size_t i = ROWS_MAX; i < tally->n; i++)
        group_tally_fold(tally, order[i]);
    return tally->n < ROWS_MAX ? tally->n : ROWS_MAX;
}

// Takes the keys.
static void group_row(struct filler *filler, const struct group *group, const struct group_tally *tally, size_t index,
                      const struct text *keys[2]) {
    const struct group_stat *stat = index == GROUP_KEYS ? &tally->others : &tally->entries[index].stat;
    uint32_t row = table_builder_add(filler->table);
    double count = (double)stat->count * filler->scale;
    char label[GROUP_LABEL_MAX];
    group_event_label(&group->event, label);
    const struct text *event = text_from(label);
    if (group->has_value) {
        const union cell cells[] = {
            {.text = text_ref(event)}, {.text = text_ref(keys[0])}, {.text = text_ref(keys[1])}};
        hist_set_add(filler->hists, cells, hist_seal(&tally->hists[index]));
        table_builder_set_text(filler->table, row, G_VALUE, text_from(group->value.name));
        table_builder_set_num(filler->table, row, G_SUM, stat->sum * filler->scale);
        table_builder_set_num(filler->table, row, G_AVG, stat->sum / (double)stat->count);
        table_builder_set_num(filler->table, row, G_MIN, stat->min);
        table_builder_set_num(filler->table, row, G_MAX, stat->max);
    }
    table_builder_set_text(filler->table, row, G_EVENT, event);
    table_builder_set_text(filler->table, row, G_KEY, keys[0]);
    table_builder_set_text(filler->table, row, G_KEY2, keys[1]);
    table_builder_set_num(filler->table, row, G_COUNT, count);
    table_builder_set_num(filler->table, row, G_RATE, filler->seconds > 0 ? count / filler->seconds : NAN);
}

static const struct text *named_text(const struct group_field *field, const uint64_t *words) {
    if (field->kind != GROUP_COMM)
        return group_field_text(field, words);
    return *(const char *)words ? text_from((const char *)words) : NULL;
}

static void group_fill(struct filler *filler, struct event_groups *groups, struct group *group) {
    struct group_tally *tally = group->tally;
    uint16_t order[GROUP_KEYS];
    if (by_comm(group)) {
        tally = groups->by_name ? groups->by_name : (groups->by_name = group_tally_new(true));
        group_tally_clear(tally);
        for (size_t i = 0; i <= group->tally->n; i++) {
            size_t from = i < group->tally->n ? i : GROUP_KEYS;
            struct group_key key = {.words = {{0}}};
            if (from != GROUP_KEYS) {
                key = group->tally->entries[from].key;
                rename_key(group, &key, filler->namer);
            }
            group_tally_merge(tally, &key, group->tally, from);
        }
    }
    size_t n = rank(tally, order);
    for (size_t i = 0; i < n; i++) {
        const struct group_key *key = &tally->entries[order[i]].key;
        const struct text *keys[2] = {named_text(&group->keys[0], key->words[0]),
                                      group->n_keys == 2 ? named_text(&group->keys[1], key->words[1]) : NULL};
        group_row(filler, group, tally, order[i], keys);
    }
    if (tally->others.count)
        group_row(filler, group, tally, GROUP_KEYS, (const struct text *[2]){text_from(OTHERS), NULL});
    group_tally_clear(group->tally);
}

// Takes the key. take NULL: the histograms of the keys are all there is.
static uint32_t pair_row(struct filler *filler, const struct text *name, const struct text *key,
                         const struct group_stat *stat, struct hist *take) {
    uint32_t row = table_builder_add(filler->table);
    double count = (double)stat->count * filler->scale;
    if (take) {
        const union cell cells[] = {{.text = text_ref(name)}, {.text = text_ref(key)}};
        hist_set_add(filler->hists, cells, take);
    }
    table_builder_set_text(filler->table, row, L_PAIR, text_ref(name));
    table_builder_set_text(filler->table, row, L_KEY, key);
    table_builder_set_num(filler->table, row, L_COUNT, count);
    table_builder_set_num(filler->table, row, L_RATE, filler->seconds > 0 ? count / filler->seconds : NAN);
    table_builder_set_num(filler->table, row, L_AVG, stat->count ? stat->sum / (double)stat->count / 1e3 : NAN);
    table_builder_set_num(filler->table, row, L_MAX, stat->count ? stat->max / 1e3 : NAN);
    return row;
}

static void pair_fill(struct filler *filler, struct pair *pair, struct section *out) {
    struct group_tally *tally = pair->tally;
    uint16_t order[GROUP_KEYS];
    struct group_starts_figures figures = group_starts_frame(pair->starts);
    struct hist_acc *all = group_tally_total(tally);
    struct group_stat total = {.count = all->count, .sum = (double)all->sum, .max = (double)all->max};
    const struct group_event *first = &pair->events[0], *second = &pair->events[1];
    char label[GROUP_LABEL_MAX], next[GROUP_LABEL_MAX];
    group_event_label(first, label);
    group_event_label(second, next);
    const struct text *name =
        text_printf("%s -> %s", label, strcmp(first->system, second->system) ? next : second->name);
    uint32_t row = pair_row(filler, name, text_from("all"), &total, NULL);
    free(all);
    table_builder_set_num(filler->table, row, L_OPEN, (double)figures.open);
    table_builder_set_num(filler->table, row, L_REPLACED, (double)figures.replaced * filler->scale);
    size_t n = rank(tally, order);
    for (size_t i = 0; i < n; i++)
        pair_row(filler, name, group_field_text(&pair->keys[1], tally->entries[order[i]].key.words[0]),
                 &tally->entries[order[i]].stat, hist_seal(&tally->hists[order[i]]));
    if (tally->others.count)
        pair_row(filler, name, text_from(OTHERS), &tally->others, hist_seal(&tally->hists[GROUP_KEYS]));
    group_tally_clear(tally);
    text_unref(name);
    if (figures.refused) {
        char text[256];
        snprintf(text, sizeof(text),
                 "more than %d first events of %.120s wait for their second one: %llu are not timed",
                 GROUP_STARTS / 4 * 3, label, (unsigned long long)figures.refused);
        section_note(out, SEVERITY_WARNING, NULL, text, NULL);
    }
    pair->no_start = 0;
}

static void cut_note(struct group *group, struct section *out) {
    char text[256], label[GROUP_LABEL_MAX];
    if (!group->cut)
        return;
    group_event_label(&group->event, label);
    snprintf(text, sizeof(text), "%llu events of %.160s are in no group: their records are too short",
             (unsigned long long)group->cut, label);
    section_note(out, SEVERITY_WARNING, NULL, text, NULL);
    group->cut = 0;
}

void event_groups_fill(struct event_groups *groups, const struct group_tables *tables, double scale, double seconds,
                       const struct groups_namer *namer, struct section *out) {
    struct filler filler = {.scale = scale, .seconds = seconds, .namer = namer};
    filler.table = table_builder_new(tables->groups);
    filler.hists = hist_set_new(tables->values);
    for (size_t i = 0; groups && i < groups->n_groups; i++) {
        group_fill(&filler, groups, &groups->groups[i]);
        cut_note(&groups->groups[i], out);
    }
    section_table(out, table_builder_seal(filler.table));
    section_hists(out, filler.hists);
    table_builder_free(filler.table);
    filler.table = table_builder_new(tables->latencies);
    filler.hists = hist_set_new(tables->latency);
    for (size_t i = 0; groups && i < groups->n_pairs; i++)
        pair_fill(&filler, &groups->pairs[i], out);
    section_table(out, table_builder_seal(filler.table));
    section_hists(out, filler.hists);
    table_builder_free(filler.table);
}

void event_groups_row(const struct event_groups *groups, size_t event, const struct group_record *record,
                      const struct groups_namer *namer, const struct text *keys[2], double *value) {
    keys[0] = keys[1] = NULL;
    *value = NAN;
    for (size_t i = 0; i < groups->n_groups; i++) {
        const struct group *group = &groups->groups[i];
        uint64_t words[GROUP_KEY_WORDS];
        if (group->event.index != event)
            continue;
        for (size_t k = 0; k < group->n_keys; k++)
            if (group_field_key(&group->keys[k], record, words))
                keys[k] = key_text(&group->keys[k], words, namer);
        if (group->has_value)
            group_field_value(&group->value, record, value);
        return;
    }
    for (size_t i = 0; i < groups->n_pairs; i++) {
        const struct pair *pair = &groups->pairs[i];
        uint64_t words[GROUP_KEY_WORDS];
        for (int k = 1; k >= 0; k--)
            if (pair->events[k].index == event && group_field_key(&pair->keys[k], record, words)) {
                keys[0] = group_field_text(&pair->keys[k], words);
                return;
            }
    }
}
