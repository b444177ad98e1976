// Counts and values by key in fixed memory: the first GROUP_KEYS keys of an interval have an entry each, the events of
// all later keys are counted in `others`. Nothing allocates after group_tally_new. One thread owns it.
#ifndef COLLECTORS_KERNEL_GROUPS_GROUP_TALLY_H
#define COLLECTORS_KERNEL_GROUPS_GROUP_TALLY_H

#include <stdbool.h>

#include "model/hist.h"

#define GROUP_KEYS 1024
#define GROUP_SLOTS (4 * GROUP_KEYS)
#define GROUP_KEY_WORDS 6
#define GROUP_KEY_BYTES (8 * GROUP_KEY_WORDS) // longer strings are cut

// Two fields: a number in the first word, or a string; the rest is 0.
struct group_key {
    uint64_t words[2][GROUP_KEY_WORDS];
};
struct group_stat {
    uint64_t count;
    double sum, min, max; // of the values; negative ones are 0 in the histogram
};
struct group_entry {
    struct group_key key;
    struct group_stat stat;
};
struct group_tally {
    uint16_t slots[GROUP_SLOTS]; // 1 + index of the entry; 0: free
    struct group_entry entries[GROUP_KEYS];
    size_t n;
    struct group_stat others;
    struct hist_acc *hists; // GROUP_KEYS + 1, the last one of `others`; NULL: no values. Pages are touched when used.
};

uint64_t group_key_hash(const struct group_key *key);
bool group_keys_equal(const struct group_key *a, const struct group_key *b);
struct group_tally *group_tally_new(bool values);
void group_tally_free(struct group_tally *tally); // NULL is allowed
// value is ignored without values.
void group_tally_add(struct group_tally *tally, const struct group_key *key, double value);
// Adds all of an entry of another tally (index GROUP_KEYS: its others).
void group_tally_merge(struct group_tally *tally, const struct group_key *key, const struct group_tally *from,
                       size_t index);
// Moves an entry's figures to the others; the entry has none then.
void group_tally_fold(struct group_tally *tally, size_t index);
// All values; the caller frees it.
struct hist_acc *group_tally_total(const struct group_tally *tally);
void group_tally_clear(struct group_tally *tally);

#endif
