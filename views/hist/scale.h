// Log-spaced ranges for a person: the rows of a histogram, the vertical axis of a heat map. Ranges begin at round
// values (1-2-5 and finer or coarser steps for decimal units, powers of two for bytes) and are merged from the fine
// buckets of model/hist.h: the finest step whose ranges fit the rows that there are.
#ifndef VIEWS_HIST_SCALE_H
#define VIEWS_HIST_SCALE_H

#include "model/hist.h"

#define SCALE_ROWS_MAX 96

struct hist_scale {
    int rows;                        // 0: nothing to show
    uint16_t linear;                 // the axis is linear and this is the whole; 0: logarithmic
    double edge[SCALE_ROWS_MAX + 1]; // in the hist_def's unit, ascending: row i holds edge[i] <= value < edge[i + 1]
    // A fine bucket goes where its last value lies, so that exactly 100 us is "from 100 us on"; what is less than a
    // bucket's width (1.6 %) below an edge may be counted above it.
    uint8_t row[HIST_BUCKETS];
};

// min and max are stored values (before the divisor). At most `rows` rows; `fill`: exactly that many, by going on past
// max and before min (an axis that does not change its height with the data).
void hist_scale_fit(struct hist_scale *scale, const struct hist_def *def, uint64_t min, uint64_t max, int rows,
                    bool fill);
// A linear axis of whole values in round steps: from low to below high, of 0..whole, in at most `rows` rows.
void hist_scale_linear(struct hist_scale *scale, const struct hist_def *def, uint16_t whole, uint32_t low,
                       uint32_t high, int rows);
int hist_scale_row(const struct hist_scale *scale, double value); // clamped; value in the def's unit
// The first bucket that is not below the axis, and the first that is above it.
void hist_scale_ends(const struct hist_scale *scale, const struct hist_def *def, uint32_t *first, uint32_t *past);
// The stored values that the row counts: from low to below high. The outer rows hold all that is smaller or larger
// (0 and UINT64_MAX) unless `only` what is on the axis counts.
void hist_scale_range(const struct hist_scale *scale, const struct hist_def *def, int row, bool only, uint64_t *low,
                      uint64_t *high);
// Edge i as a label: hist_scale_label, or the share of the whole on a linear axis.
void hist_scale_edge(const struct hist_scale *scale, const struct hist_def *def, int i, char out[16]);
// An edge as a label, short: "200us", "2ms", "4K".
void hist_scale_label(const struct hist_def *def, double edge, char out[16]);

#endif
