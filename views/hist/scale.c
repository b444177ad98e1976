// Finds the round ranges. Everything is in "steps": step i of a tier begins at mantissa[i mod n] * base^(i div n), so
// moving along the axis is counting.
#include "views/hist/scale.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

struct tier {
    double base;
    int n;
    const double *mantissas; // ascending from 1, below base
};

static const double one[] = {1};
static const double two[] = {1, 3};
static const double three[] = {1, 2, 5};
static const double six[] = {1, 1.5, 2, 3, 5, 7};
static const double ten[] = {1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
static const double twenty[] = {1, 1.1, 1.2, 1.4, 1.6, 1.8, 2, 2.2, 2.5, 2.8, 3.2, 3.6, 4, 4.5, 5, 5.6, 6, 7, 8, 9};
static const double halves[] = {1, 1.5};
static const double quarters[] = {1, 1.25, 1.5, 1.75};

// From fine to coarse; the last one always fits, with a single row if necessary.
static const struct tier decimal[] = {{10, 20, twenty}, {10, 10, ten}, {10, 6, six},  {10, 3, three},
                                      {10, 2, two},     {10, 1, one},  {100, 1, one}, {1e4, 1, one}};
static const struct tier binary[] = {{2, 4, quarters}, {2, 2, halves}, {2, 1, one},
                                     {4, 1, one},      {16, 1, one},   {1024, 1, one}};

static double step_value(const struct tier *tier, int step) {
    int exponent = step >= 0 ? step / tier->n : -((-step + tier->n - 1) / tier->n);
    return tier->mantissas[step - exponent * tier->n] * pow(tier->base, exponent);
}

// The last step <= value (> 0).
static int step_floor(const struct tier *tier, double value) {
    int step = (int)floor(log(value) / log(tier->base)) * tier->n;
    while (step_value(tier, step) > value) // log may be slightly too large at a power of the base
        step--;
    while (step_value(tier, step + 1) <= value * (1 + 1e-12))
        step++;
    return step;
}

static bool is_binary(const struct hist_def *def) {
    return def->unit == UNIT_BYTES || def->unit == UNIT_BYTES_PER_S || def->unit == UNIT_KIB;
}

static double bucket_last(const struct hist_def *def, uint32_t bucket) {
    return (double)(hist_bucket_high(bucket) - 1) / def->divisor;
}

static void place_buckets(struct hist_scale *scale, const struct hist_def *def) {
    int row = 0;
    for (uint32_t b = 0; b < HIST_BUCKETS; b++) {
        double last = bucket_last(def, b);
        while (row < scale->rows - 1 && last >= scale->edge[row + 1])
            row++;
        scale->row[b] = (uint8_t)row;
    }
}

void hist_scale_fit(struct hist_scale *scale, const struct hist_def *def, uint64_t min, uint64_t max, int rows,
                    bool fill) {
    if (rows > SCALE_ROWS_MAX)
        rows = SCALE_ROWS_MAX;
    scale->rows = scale->linear = 0;
    if (rows < 1 || max < min)
        return;
    if (max >> HIST_MAX_BITS) // the last bucket, whatever the value
        max = (1ull << HIST_MAX_BITS) - 1;
    double smallest = 1 / def->divisor;
    double bottom = min > 0 ? (double)min / def->divisor : smallest;
    double top = max > 0 ? (double)max / def->divisor : smallest;
    const struct tier *tier = is_binary(def) ? binary : decimal;
    const struct tier *coarsest =
        is_binary(def) ? &binary[sizeof binary / sizeof *binary - 1] : &decimal[sizeof decimal / sizeof *decimal - 1];
    int low = 0, high = 0;
    for (;; tier++) {
        low = step_floor(tier, bottom);
        high = step_floor(tier, top);
        bool apart = step_value(tier, low + 1) - step_value(tier, low) >= smallest * (1 - 1e-9);
        if ((high - low < rows && apart) || tier == coarsest)
            break;
    }
    double first = step_value(tier, low);
    if (high - low >= rows) // only with few rows: the lowest one takes all smaller values
        low = high - rows + 1;
    else
        first = 0;
    if (fill) {
        int below = (rows - 1 - (high - low)) / 2;
        while (below-- > 0 && step_value(tier, low - 1) >= smallest * (1 - 1e-12))
            low--;
        high = low + rows - 1;
    }
    scale->rows = high - low + 1;
    for (int i = 0; i <= scale->rows; i++)
        scale->edge[i] = step_value(tier, low + i);
    if (min == 0 || first > 0)
        scale->edge[0] = min == 0 ? 0 : first;

    place_buckets(scale, def);
}

void hist_scale_linear(struct hist_scale *scale, const struct hist_def *def, uint16_t whole, uint32_t low,
                       uint32_t high, int rows) {
    static const uint8_t round_steps[] = {1, 2, 4, 5, 8, 10, 16, 20, 25, 32, 50, 64, 100};
    uint32_t step = high > low ? high - low : 1;
    if (rows > SCALE_ROWS_MAX)
        rows = SCALE_ROWS_MAX;
    scale->rows = 0;
    scale->linear = whole;
    if (rows < 1 || high <= low)
        return;
    for (size_t i = sizeof round_steps; i > 0; i--) // steps that divide the whole
        if (whole % round_steps[i - 1] == 0 &&
            (high - low + round_steps[i - 1] - 1) / round_steps[i - 1] <= (uint32_t)rows)
            step = round_steps[i - 1];
    low -= low % step;
    scale->rows = (int)((high - low + step - 1) / step);
    scale->rows = scale->rows > rows ? rows : scale->rows;
    for (int i = 0; i <= scale->rows; i++)
        scale->edge[i] = (low + (double)step * i) / def->divisor;
    place_buckets(scale, def);
}

void hist_scale_ends(const struct hist_scale *scale, const struct hist_def *def, uint32_t *first, uint32_t *past) {
    *first = 0;
    while (*first < HIST_BUCKETS && bucket_last(def, *first) < scale->edge[0])
        ++*first;
    *past = *first;
    while (*past < HIST_BUCKETS && bucket_last(def, *past) < scale->edge[scale->rows])
        ++*past;
}

void hist_scale_range(const struct hist_scale *scale, const struct hist_def *def, int row, bool only, uint64_t *low,
                      uint64_t *high) {
    uint32_t first = 0, past = HIST_BUCKETS;
    if (only)
        hist_scale_ends(scale, def, &first, &past);
    while (first < past && scale->row[first] < row)
        first++;
    while (past > first && scale->row[past - 1] > row)
        past--;
    *low = hist_bucket_low(first);
    *high = past < HIST_BUCKETS ? hist_bucket_low(past) : UINT64_MAX;
}

int hist_scale_row(const struct hist_scale *scale, double value) {
    int row = 0;
    while (row < scale->rows - 1 && value >= scale->edge[row + 1])
        row++;
    return row;
}

void hist_scale_edge(const struct hist_scale *scale, const struct hist_def *def, int i, char out[16]) {
    if (scale->linear)
        snprintf(out, 16, "%.3g%%", 100 * scale->edge[i] * def->divisor / scale->linear);
    else
        hist_scale_label(def, scale->edge[i], out);
}

void hist_scale_label(const struct hist_def *def, double edge, char out[16]) {
    if (edge == 0) {
        strcpy(out, "0");
        return;
    }
    if (def->unit == UNIT_US && edge < 0.9995)
        snprintf(out, 16, "%.0fns", edge * 1000);
    else
        unit_format(def->unit, edge, out, 16);
    char *point = strstr(out, ".0");
    if (point && !(point[2] >= '0' && point[2] <= '9')) // edges are round: "2ms" rather than "2.0ms"
        memmove(point, point + 2, strlen(point + 2) + 1);
}
