// Counts the values of each cell. The memory of a load is kept for the next one and only grows, so drawing does not
// allocate.
#include "views/hist/heat_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

static const struct hist_select *select_of(const struct part_context *ctx) {
    return ctx->state;
}

bool heat_range(const struct part_context *ctx, uint64_t *min, uint64_t *max) {
    bool any = false;
    for (size_t f = 0; f < ctx->look->n_window; f++) {
        struct hist_values values;
        size_t at = 0;
        while (hist_select_values(select_of(ctx), ctx->part->spec, ctx->look->window[f], &at, &values)) {
            if (!any || values.min < *min)
                *min = values.min;
            if (!any || values.max > *max)
                *max = values.max;
            any = true;
        }
    }
    return any;
}

bool heat_is_zoomed(const struct part_context *ctx, const struct heat_data *data) {
    return data->zoom && data->zoom_set && !strcmp(data->zoom_set, hist_select_set(select_of(ctx), ctx->part->spec));
}

int heat_column_of(const struct heat_data *data, const struct frame *frame) {
    uint64_t group = frame->number / data->per_column, back = data->last_group - group;
    return group > data->last_group || back >= (uint64_t)data->columns ? -1 : data->columns - 1 - (int)back;
}

const uint32_t *heat_counts(const struct heat_data *data, int column) {
    return &data->counts[(size_t)column * (size_t)data->rows];
}

uint64_t heat_total(const struct heat_data *data, int column) {
    uint64_t total = data->column[column].below + data->column[column].above;
    for (int row = 0; row < data->rows; row++)
        total += heat_counts(data, column)[row];
    return total;
}

static void fit(struct part_context *ctx, struct heat_data *data, const struct hist_def *def, uint64_t min,
                uint64_t max, int rows) {
    const struct hist_measure *measure = hist_select_measure(select_of(ctx), ctx->part->spec);
    bool zoomed = heat_is_zoomed(ctx, data);
    double low = data->low * def->divisor, high = data->high * def->divisor;
    if (measure && measure->linear) {
        uint32_t whole = measure->linear;
        hist_scale_linear(&data->scale, def, measure->linear, zoomed ? (uint32_t)low : 0,
                          zoomed ? (uint32_t)fmin(ceil(high), whole) : whole, rows);
    } else {
        hist_scale_fit(&data->scale, def, zoomed ? (uint64_t)ceil(low) : min,
                       zoomed ? (uint64_t)fmax(ceil(high) - 1, ceil(low)) : max, rows, true);
    }
}

static void count(struct part_context *ctx, struct heat_data *data, const struct hist_def *def) {
    uint32_t first = 0,
             past = HIST_BUCKETS; // buckets on the axis; if it shows everything, the outer rows take the rest
    if (heat_is_zoomed(ctx, data))
        hist_scale_ends(&data->scale, def, &first, &past);
    for (size_t f = 0; f < ctx->look->n_window; f++) {
        const struct frame *frame = ctx->look->window[f];
        struct hist_values values;
        size_t at = 0;
        int column = heat_column_of(data, frame);
        if (column < 0)
            continue;
        data->column[column].frame = frame;
        uint32_t *counts = &data->counts[(size_t)column * (size_t)data->rows];
        while (hist_select_values(select_of(ctx), ctx->part->spec, frame, &at, &values))
            for (uint32_t i = 0; i < values.n_buckets; i++) {
                uint32_t bucket = values.buckets[i].bucket, n = values.buckets[i].count;
                if (bucket < first)
                    data->column[column].below += n;
                else if (bucket >= past)
                    data->column[column].above += n;
                else if ((counts[data->scale.row[bucket]] += n) > data->most)
                    data->most = counts[data->scale.row[bucket]];
            }
    }
}

void heat_load(struct part_context *ctx, struct heat_data *data, const struct hist_def *def, int columns, int rows) {
    uint64_t min = 0, max = 0;
    data->columns = data->rows = 0;
    data->most = 0;
    if (columns < 1 || rows < 1 || !heat_range(ctx, &min, &max))
        return;
    fit(ctx, data, def, min, max, rows);
    data->rows = data->scale.rows;
    data->columns = columns;
    data->per_column = data->group ? data->group : (ctx->look->n_window + (size_t)columns - 1) / (size_t)columns;
    data->last_group = ctx->look->window[ctx->look->n_window - 1]->number / data->per_column;
    size_t cells = (size_t)data->columns * (size_t)data->rows;
    if (cells > data->capacity) {
        data->counts = xrealloc(data->counts, cells * sizeof(*data->counts));
        data->capacity = cells;
    }
    if ((size_t)columns > data->column_capacity) {
        data->column = xrealloc(data->column, (size_t)columns * sizeof(*data->column));
        data->column_capacity = (size_t)columns;
    }
    memset(data->counts, 0, cells * sizeof(*data->counts));
    memset(data->column, 0, (size_t)columns * sizeof(*data->column));
    count(ctx, data, def);
}

void heat_free(struct heat_data *data) {
    free(data->counts);
    free(data->column);
    data->counts = NULL;
    data->column = NULL;
}

uint8_t heat_of(uint32_t count, double log_most) {
    double share = log_most > 0 ? log(count) / log_most : 1;
    return (uint8_t)(HEAT_LOW + share * (255 - HEAT_LOW));
}

int heat_quantile_row(const struct heat_data *data, int column, double q) {
    uint64_t total = heat_total(data, column), seen = data->column[column].below;
    if (!total || (seen && (double)seen >= q * (double)total))
        return -1;
    for (int row = 0; row < data->rows; row++) {
        seen += heat_counts(data, column)[row];
        if (seen && (double)seen >= q * (double)total)
            return row;
    }
    return -1;
}

// ---- times ----

static const double tick_steps[] = {0.1, 0.2, 0.5, 1,   2,   5,    10,   15,   20,    30,
                                    60,  120, 300, 600, 900, 1800, 3600, 7200, 14400, 43200};

static void tick_text(double age_s, char out[16]) {
    if (age_s < 120)
        snprintf(out, 16, "-%gs", round(age_s * 10) / 10);
    else if (age_s < 7200)
        snprintf(out, 16, "-%gm", round(age_s / 6) / 10);
    else
        snprintf(out, 16, "-%gh", round(age_s / 360) / 10);
}

static double age_of(const struct heat_data *data, int column) {
    const struct frame *last = data->column[data->columns - 1].frame, *frame = data->column[column].frame;
    return frame && last ? (double)(last->end_ns - frame->end_ns) / 1e9 : NAN;
}

int heat_ticks(const struct heat_data *data, int apart, struct heat_tick *out, int max) {
    int n = 0, oldest = 0;
    while (oldest < data->columns - 1 && !data->column[oldest].frame)
        oldest++;
    double span = age_of(data, oldest), per_column = span / (data->columns - 1 - oldest);
    if (!(span > 0))
        return 0;
    size_t at = 0;
    while (at < sizeof tick_steps / sizeof *tick_steps - 1 && tick_steps[at] < per_column * apart)
        at++;
    // The column nearest to each round age; none where frames are missing.
    int column = data->columns - 1;
    for (double age = tick_steps[at]; age < span + per_column && n < max; age += tick_steps[at]) {
        while (column > oldest && !(age_of(data, column) >= age - per_column / 2))
            column--;
        double there = age_of(data, column);
        if (!(there >= age - per_column / 2 && there < age + per_column))
            continue;
        out[n].column = column;
        tick_text(age, out[n++].text);
    }
    return n;
}
