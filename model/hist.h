// A log-linear histogram of unsigned values (nanoseconds, bytes): 64 linear buckets per power of two, so that a bucket
// is at most 1/64 (1.6 %) wide, and exact below 64. Count, sum, min and max are exact.
#ifndef MODEL_HIST_H
#define MODEL_HIST_H

#include "model/column.h"

#define HIST_SUB_BITS 6
#define HIST_MAX_BITS 44 // values of 2^44 ns (4.9 hours) and more fall into the last bucket
#define HIST_BUCKETS (((HIST_MAX_BITS - HIST_SUB_BITS) + 1) << HIST_SUB_BITS)

// One per kind of histogram; the same role as struct table_def.
struct hist_def {
    const char *name; // "io_latency"
    const char *title;
    const char *help;
    const char *span;          // start and end points of the measure, in a few words for titles; or NULL
    const char *unit_name;     // the "unit" of the JSON: "us", "bytes"
    double divisor;            // stored value / divisor = value in that unit: 1000 for ns -> us
    enum unit unit;            // the format of the divided value on a screen
    const struct column *keys; // "device", "op"
    uint16_t n_keys;
};

// Without a branch: values of all sizes come mixed. Below 2^HIST_SUB_BITS the shift is 0 and the bucket the value.
static inline uint32_t hist_bucket(uint64_t value) {
    uint32_t shift = 63 - HIST_SUB_BITS - (uint32_t)__builtin_clzll(value | 1u << HIST_SUB_BITS);
    uint64_t bucket = ((uint64_t)shift << HIST_SUB_BITS) + (value >> shift);
    return bucket < HIST_BUCKETS ? (uint32_t)bucket : HIST_BUCKETS - 1;
}
uint64_t hist_bucket_low(uint32_t bucket);  // smallest value of the bucket
uint64_t hist_bucket_high(uint32_t bucket); // smallest value past it

// ---- accumulating: dense, private to one thread ----
struct hist_acc {
    uint64_t count, sum, max;
    uint64_t not_min; // ~minimum: starts at 0 and only grows like the others, so that adding takes no branch
    uint32_t buckets[HIST_BUCKETS];
};
void hist_acc_clear(struct hist_acc *acc);
static inline uint64_t hist_acc_min(const struct hist_acc *acc) {
    return acc->count ? ~acc->not_min : 0;
}
// The same for a value whose bucket is known.
static inline void hist_acc_add_at(struct hist_acc *acc, uint32_t bucket, uint64_t value) {
    acc->buckets[bucket]++;
    acc->count++;
    acc->sum += value;
    acc->max = value > acc->max ? value : acc->max;
    acc->not_min = ~value > acc->not_min ? ~value : acc->not_min;
}
static inline void hist_acc_add(struct hist_acc *acc, uint64_t value) {
    hist_acc_add_at(acc, hist_bucket(value), value);
}

// Adds all values of the other accumulator.
void hist_acc_add_all(struct hist_acc *acc, const struct hist_acc *other);

// ---- sealed: sparse, immutable ----
struct hist_bucket_count {
    uint32_t bucket, count;
};
struct hist {
    uint64_t count, sum, min, max;
    uint32_t n_buckets;
    struct hist_bucket_count buckets[]; // ascending, none is 0
};
struct hist *hist_seal(const struct hist_acc *acc);
void hist_free(struct hist *hist);
// A new histogram of all of them; NULLs are skipped; n = 0 gives an empty one.
struct hist *hist_merge(const struct hist *const *hists, size_t n);
// The value at quantile q (0..1) by nearest rank: the middle of the bucket that holds the ceil(q * count)th smallest
// value, clamped to [min, max]; the first and the last rank are min and max themselves; NAN when empty. In stored
// units.
double hist_quantile(const struct hist *hist, double q);
double hist_mean(const struct hist *hist);

// ---- a set: the histograms of one def, by key ----
struct hist_set;
struct hist_set *hist_set_new(const struct hist_def *def);
// keys: n_keys cells. Takes over their texts and the histogram.
void hist_set_add(struct hist_set *set, const union cell *take_keys, struct hist *take);
void hist_set_free(struct hist_set *set);
const struct hist_def *hist_set_def(const struct hist_set *set);
size_t hist_set_count(const struct hist_set *set);
const struct hist *hist_set_at(const struct hist_set *set, size_t i, const union cell **keys);

#endif
