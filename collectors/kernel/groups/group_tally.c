#include "collectors/kernel/groups/group_tally.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

uint64_t group_key_hash(const struct group_key *key) {
    const uint64_t *words = &key->words[0][0];
    uint64_t hash = 0;
    for (size_t i = 0; i < 2 * GROUP_KEY_WORDS; i++) // one multiplication in a chain per word that is not 0
        if (words[i])
            hash = (hash ^ (words[i] + i)) * 0x9e3779b97f4a7c15ull, hash ^= hash >> 29;
    return hash;
}

bool group_keys_equal(const struct group_key *a, const struct group_key *b) {
    return !memcmp(a, b, sizeof(*a));
}

struct group_tally *group_tally_new(bool values) {
    struct group_tally *tally = xcalloc(1, sizeof(*tally));
    tally->hists = values ? xcalloc(GROUP_KEYS + 1, sizeof(*tally->hists)) : NULL;
    return tally;
}

void group_tally_free(struct group_tally *tally) {
    if (!tally)
        return;
    free(tally->hists);
    free(tally);
}

// Index of the entry; GROUP_KEYS: the table is full.
static size_t entry_find(struct group_tally *tally, const struct group_key *key) {
    size_t slot = group_key_hash(key) & (GROUP_SLOTS - 1);
    for (; tally->slots[slot]; slot = (slot + 1) & (GROUP_SLOTS - 1))
        if (group_keys_equal(&tally->entries[tally->slots[slot] - 1].key, key))
            return tally->slots[slot] - 1u;
    if (tally->n == GROUP_KEYS)
        return GROUP_KEYS;
    tally->entries[tally->n] = (struct group_entry){.key = *key};
    tally->slots[slot] = (uint16_t)(tally->n + 1);
    return tally->n++;
}

static void stat_add(struct group_stat *stat, const struct group_stat *more) {
    stat->min = stat->count && stat->min < more->min ? stat->min : more->min;
    stat->max = stat->count && stat->max > more->max ? stat->max : more->max;
    stat->sum += more->sum;
    stat->count += more->count;
}

static struct group_stat *stat_at(struct group_tally *tally, size_t index) {
    return index == GROUP_KEYS ? &tally->others : &tally->entries[index].stat;
}

void group_tally_add(struct group_tally *tally, const struct group_key *key, double value) {
    size_t index = entry_find(tally, key);
    stat_add(stat_at(tally, index), &(struct group_stat){.count = 1, .sum = value, .min = value, .max = value});
    if (tally->hists)
        hist_acc_add(&tally->hists[index], value > 0 ? (uint64_t)value : 0);
}

void group_tally_merge(struct group_tally *tally, const struct group_key *key, const struct group_tally *from,
                       size_t from_index) {
    const struct group_stat *stat = from_index == GROUP_KEYS ? &from->others : &from->entries[from_index].stat;
    size_t index = from_index == GROUP_KEYS ? GROUP_KEYS : entry_find(tally, key);
    if (!stat->count)
        return;
    stat_add(stat_at(tally, index), stat);
    if (tally->hists && from->hists)
        hist_acc_add_all(&tally->hists[index], &from->hists[from_index]);
}

void group_tally_clear(struct group_tally *tally) {
    for (size_t i = 0; tally->hists && i < tally->n; i++)
        hist_acc_clear(&tally->hists[i]);
    if (tally->hists && tally->others.count)
        hist_acc_clear(&tally->hists[GROUP_KEYS]);
    memset(tally->slots, 0, sizeof(tally->slots));
    tally->n = 0;
    tally->others = (struct group_stat){.count = 0};
}

void group_tally_fold(struct group_tally *tally, size_t index) {
    stat_add(&tally->others, &tally->entries[index].stat);
    tally->entries[index].stat.count = 0;
    if (!tally->hists)
        return;
    hist_acc_add_all(&tally->hists[GROUP_KEYS], &tally->hists[index]);
    hist_acc_clear(&tally->hists[index]);
}

struct hist_acc *group_tally_total(const struct group_tally *tally) {
    struct hist_acc *total = xcalloc(1, sizeof(*total));
    for (size_t i = 0; i < tally->n; i++)
        hist_acc_add_all(total, &tally->hists[i]);
    hist_acc_add_all(total, &tally->hists[GROUP_KEYS]);
    return total;
}
