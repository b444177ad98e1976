// Log-linear histograms: sealing, merging, reading, and sets of them by key. Sealed ones never change.
#include "model/hist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

uint64_t hist_bucket_low(uint32_t bucket) {
    if (bucket >= HIST_BUCKETS)
        bucket = HIST_BUCKETS - 1;
    if (bucket < (1u << HIST_SUB_BITS))
        return bucket;
    uint32_t shift = (bucket >> HIST_SUB_BITS) - 1;
    uint64_t sub = bucket & ((1u << HIST_SUB_BITS) - 1);
    return ((1ull << HIST_SUB_BITS) + sub) << shift;
}

uint64_t hist_bucket_high(uint32_t bucket) {
    if (bucket >= HIST_BUCKETS)
        bucket = HIST_BUCKETS - 1;
    if (bucket < (1u << HIST_SUB_BITS))
        return bucket + 1u;
    return hist_bucket_low(bucket) + (1ull << ((bucket >> HIST_SUB_BITS) - 1));
}

// The range of touched buckets: [first, last].
static uint32_t acc_first(const struct hist_acc *acc) {
    return hist_bucket(hist_acc_min(acc));
}
static uint32_t acc_last(const struct hist_acc *acc) {
    return hist_bucket(acc->max);
}

void hist_acc_clear(struct hist_acc *acc) {
    // An idle device costs nothing. A fresh accumulator must be zeroed memory.
    if (acc->count)
        memset(&acc->buckets[acc_first(acc)], 0, sizeof(acc->buckets[0]) * (acc_last(acc) - acc_first(acc) + 1));
    acc->count = acc->sum = acc->max = acc->not_min = 0;
}

void hist_acc_add_all(struct hist_acc *acc, const struct hist_acc *other) {
    if (!other->count)
        return;
    for (uint32_t b = acc_first(other), last = acc_last(other); b <= last; b++)
        acc->buckets[b] += other->buckets[b];
    acc->count += other->count;
    acc->sum += other->sum;
    acc->max = other->max > acc->max ? other->max : acc->max;
    acc->not_min = other->not_min > acc->not_min ? other->not_min : acc->not_min;
}

static size_t hist_size(uint32_t n_buckets) {
    return sizeof(struct hist) + sizeof(struct hist_bucket_count) * n_buckets;
}

struct hist *hist_seal(const struct hist_acc *acc) {
    uint32_t n = 0;
    if (acc->count)
        for (uint32_t b = acc_first(acc), last = acc_last(acc); b <= last; b++)
            n += acc->buckets[b] != 0;
    struct hist *hist = mem_alloc(hist_size(n));
    hist->count = acc->count;
    hist->sum = acc->sum;
    hist->min = hist_acc_min(acc);
    hist->max = acc->max;
    for (uint32_t b = acc_first(acc); hist->n_buckets < n; b++)
        if (acc->buckets[b])
            hist->buckets[hist->n_buckets++] = (struct hist_bucket_count){b, acc->buckets[b]};
    return hist;
}

void hist_free(struct hist *hist) {
    if (hist)
        mem_free(hist, hist_size(hist->n_buckets));
}

struct hist *hist_merge(const struct hist *const *hists, size_t n) {
    uint64_t *sums = xcalloc(HIST_BUCKETS, sizeof(*sums));
    struct hist total = {0};
    for (size_t i = 0; i < n; i++) {
        const struct hist *hist = hists[i];
        if (!hist || !hist->count)
            continue;
        if (!total.count || hist->min < total.min)
            total.min = hist->min;
        if (hist->max > total.max)
            total.max = hist->max;
        total.count += hist->count;
        total.sum += hist->sum;
        for (uint32_t b = 0; b < hist->n_buckets; b++) {
            uint64_t *sum = &sums[hist->buckets[b].bucket];
            total.n_buckets += *sum == 0;
            *sum += hist->buckets[b].count;
        }
    }
    struct hist *merged = mem_alloc(hist_size(total.n_buckets));
    memcpy(merged, &total, sizeof(total));
    for (uint32_t b = 0, out = 0; out < total.n_buckets; b++)
        if (sums[b])
            merged->buckets[out++] =
                (struct hist_bucket_count){b, sums[b] < UINT32_MAX ? (uint32_t)sums[b] : UINT32_MAX};
    free(sums);
    return merged;
}

double hist_quantile(const struct hist *hist, double q) {
    if (!hist || !hist->count || isnan(q))
        return NAN;
    // Products of decimal fractions may be slightly too large (0.07 * 100): the factor keeps the rank.
    double rank = ceil(q * (double)hist->count * (1 - 1e-12));
    if (rank <= 1)
        return (double)hist->min; // the first and last ranks are known exactly
    if (rank >= (double)hist->count)
        return (double)hist->max;
    double seen = 0;
    for (uint32_t i = 0; i < hist->n_buckets; i++) {
        seen += hist->buckets[i].count;
        if (seen < rank)
            continue;
        uint32_t bucket = hist->buckets[i].bucket;
        double middle = ((double)hist_bucket_low(bucket) + (double)(hist_bucket_high(bucket) - 1)) / 2;
        return fmin(fmax(middle, (double)hist->min), (double)hist->max);
    }
    return (double)hist->max;
}

double hist_mean(const struct hist *hist) {
    return hist && hist->count ? (double)hist->sum / (double)hist->count : NAN;
}

// ---- sets ----

struct hist_entry {
    struct hist *hist;
    union cell *keys;
};

struct hist_set {
    const struct hist_def *def;
    size_t n, capacity;
    struct hist_entry *entries;
};

struct hist_set *hist_set_new(const struct hist_def *def) {
    struct hist_set *set = mem_alloc(sizeof(*set));
    set->def = def;
    return set;
}

void hist_set_add(struct hist_set *set, const union cell *take_keys, struct hist *take) {
    if (set->n == set->capacity) {
        size_t capacity = set->capacity ? set->capacity * 2 : 4;
        struct hist_entry *entries = mem_alloc(sizeof(*entries) * capacity);
        if (set->n)
            memcpy(entries, set->entries, sizeof(*entries) * set->n);
        mem_free(set->entries, sizeof(*entries) * set->capacity);
        set->entries = entries;
        set->capacity = capacity;
    }
    struct hist_entry *entry = &set->entries[set->n++];
    entry->hist = take;
    entry->keys = mem_alloc(sizeof(union cell) * set->def->n_keys);
    if (set->def->n_keys)
        memcpy(entry->keys, take_keys, sizeof(union cell) * set->def->n_keys);
}

void hist_set_free(struct hist_set *set) {
    if (!set)
        return;
    for (size_t i = 0; i < set->n; i++) {
        struct hist_entry *entry = &set->entries[i];
        for (uint16_t k = 0; k < set->def->n_keys; k++)
            if (set->def->keys[k].type == COLUMN_TEXT)
                text_unref(entry->keys[k].text);
        mem_free(entry->keys, sizeof(union cell) * set->def->n_keys);
        hist_free(entry->hist);
    }
    mem_free(set->entries, sizeof(set->entries[0]) * set->capacity);
    mem_free(set, sizeof(*set));
}

const struct hist_def *hist_set_def(const struct hist_set *set) {
    return set->def;
}

size_t hist_set_count(const struct hist_set *set) {
    return set->n;
}

const struct hist *hist_set_at(const struct hist_set *set, size_t i, const union cell **keys) {
    if (keys)
        *keys = set->entries[i].keys;
    return set->entries[i].hist;
}
