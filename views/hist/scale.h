// Log-spaced ranges with round edges: the rows of a histogram, the vertical axis of a heat map. Edges are 1-2-5 (or
// finer or coarser) steps for decimal units, powers of two for bytes. Ranges are merged from the fine buckets of
// model/hist.h: the finest step whose ranges fit the rows.
#ifndef VIEWS_HIST_SCALE_H
#define VIEWS_HIST_SCALE_H

#include "model/hist.h"

#define SCALE_ROWS_MAX 96

struct hist_scale {
    int rows;                        // 0: nothing to show
    uint16_t linear;                 // linear axis from 0 to this; 0: logarithmic
    double edge[SCALE_ROWS_MAX + 1]; // in the hist_def's unit, ascending: row i holds edge[i] <= value < edge[i + 1]
    // A fine bucket belongs to the row of its last value, so that exactly 100 us is in "from 100 us"; values less than
    // a bucket width (1.6 %) below an edge may be counted above it.
    uint8_t row[HIST_BUCKETS];
};

// min and max are stored values (before the divisor). At most `rows` rows; `fill`: exactly that many, extended past max
// and below min (an axis whose height does not change with the data).
void hist_scale_fit(struct hist_scale *scale, const struct hist_def *def, uint64_t min, uint64_t max, int rows,
                    bool fill);
// A linear axis from low to below high, of 0..whole, in at most `rows` rows of whole round steps.
void hist_scale_linear(struct hist_scale *scale, const struct hist_def *def, uint16_t whole, uint32_t low,
                       uint32_t high, int rows);
int hist_scale_row(const struct hist_scale *scale, double value); // clamped; value in the def's unit
// The first bucket on the axis, and the first above it.
void hist_scale_ends(const struct hist_scale *scale, const struct hist_def *def, uint32_t *first, uint32_t *past);
// The stored values that the row counts: [low, high). The outer rows hold all smaller or larger values (0 and
// UINT64_MAX) unless `only` the values on the axis count.
void hist_scale_range(const struct hist_scale *scale, const struct hist_def *def, int row, bool only, uint64_t *low,
                      uint64_t *high);
// The label of edge i: hist_scale_label, or the share of the whole on a linear axis.
void hist_scale_edge(const struct hist_scale *scale, const struct hist_def *def, int i, char out[16]);
// A short label of an edge: "200us", "2ms", "4K".
void hist_scale_label(const struct hist_def *def, double edge, char out[16]);

#endif
