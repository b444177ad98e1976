// Histograms of I/Os made by hand.
#ifndef TESTS_UNIT_FORGE_IO_H
#define TESTS_UNIT_FORGE_IO_H

#include "tests/unit/screens.h"

struct forge_run {
    uint64_t value;
    uint32_t count;
};

// The histogram of those runs (the last has count 0).
static inline struct hist *forge_runs(const struct forge_run *runs) {
    struct hist_acc *acc = xcalloc(1, sizeof *acc);
    for (; runs->count; runs++) {
        hist_acc_add(acc, runs->value); // once for the extremes, the others at once
        acc->buckets[hist_bucket(runs->value)] += runs->count - 1;
        acc->count += runs->count - 1;
        acc->sum += runs->value * (runs->count - 1);
    }
    struct hist *hist = hist_seal(acc);
    free(acc);
    return hist;
}

static inline void forge_hist(struct hist_set *set, const char *key, const char *op, const struct forge_run *runs) {
    union cell keys[2] = {{.text = text_from(key)}, {.text = text_from(op)}};
    hist_set_add(set, keys, forge_runs(runs));
}

#endif
