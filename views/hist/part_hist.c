// Draws a histogram: the fine buckets are merged into as many round ranges as there are rows. Independent of the
// measure: keys and units come with the set. write.c writes files.
#include "views/hist/part_hist.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/bar.h"
#include "views/hist/scale.h"
#include "views/hist/write.h"

#define HIST_ROWS_WANTED 12
#define STEADY_ROWS 8
#define STEADY_FRAMES 10 // the scale fits this many newest frames, so it does not change with every frame

struct hist_state {
    struct hist_select select; // first: see select.h
    bool whole;                // all frames of the window, not only this one
    const struct hist **list;  // scratch
    size_t capacity;
    struct hist_scale scale;
    bool cursor;
    double cursor_value; // the cursor stays on the range that contains this value
    int top;             // rows above the first range, in the last draw
    struct {
        const struct hist_def *def;
        int width, height, rows;
    } stats; // rows they took since these changed
};

static void hist_done(void *state, const struct part *part) {
    (void)part;
    struct hist_state *hist = state;
    free(hist->list);
    hist->list = NULL;
}

// The chosen histograms of this frame, or of the whole window, merged into one; the caller frees it.
static struct hist *hist_chosen(struct part_context *ctx) {
    struct hist_state *state = ctx->state;
    const struct look *look = ctx->look;
    size_t n = 0, n_frames = state->whole && look->n_window ? look->n_window : 1;

    for (size_t f = 0; f < n_frames; f++) {
        const struct frame *frame = n_frames > 1 ? look->window[f] : look->frame;
        if (!frame)
            continue;
        const struct hist_set *set = hist_select_hists(&state->select, ctx->part->spec, frame);
        const struct hist *hist;
        size_t at = 0;
        while ((hist = hist_select_next(&state->select, set, &at))) {
            if (state->capacity == n) {
                state->capacity = state->capacity * 2 + 64;
                state->list = xrealloc(state->list, state->capacity * sizeof(const struct hist *));
            }
            state->list[n++] = hist;
        }
    }
    return hist_merge(state->list, n);
}

// ---- the line of percentiles ----

// Lays the kept statistics out over lines of the width, and draws the first max_rows lines if area is not NULL. Returns
// the number of lines.
static int stats_walk(const struct area *area, int width, int max_rows, int keep, const struct hist_def *def,
                      const struct hist *hist) {
    int x = 0, y = 0;
    for (size_t i = 0; i < HIST_STATS; i++) {
        char text[40];
        if (hist_stats[i].drop > keep)
            continue;
        hist_stat_text(&hist_stats[i], def, hist, text, sizeof text);
        int w = (int)strlen(text);
        if (x && x + w > width) {
            y++;
            x = 0;
        }
        if (area && y < max_rows) {
            area_text(*area, x, y, ROLE_TEXT, text);
            area_role(*area, x, y, (int)strlen(hist_stats[i].name), ROLE_DIM);
        }
        x += w + 2;
    }
    return y + 1;
}

// As many statistics as fit; the most important ones always. Returns the rows used.
static int stats_flow(struct area area, int max_rows, const struct hist_def *def, const struct hist *hist) {
    int keep = 5;
    while (keep > 0 && stats_walk(NULL, area.width, max_rows, keep, def, hist) > max_rows)
        keep--;
    return stats_walk(&area, area.width, max_rows, keep, def, hist);
}

// ---- drawing ----

// A value that is one character shorter must not move the ranges.
static int steady_rows(struct hist_state *state, const struct hist_def *def, struct area area, int used) {
    bool same = state->stats.def == def && state->stats.width == area.width && state->stats.height == area.height;

    state->stats.rows = same && state->stats.rows > used ? state->stats.rows : used;
    state->stats.def = def;
    state->stats.width = area.width;
    state->stats.height = area.height;
    return state->stats.rows;
}

// Independent of the interval: the parts of a pane must not move with every burst of I/O.
static int hist_height(struct part_context *ctx, int width) {
    struct hist_state *state = ctx->state;
    const struct hist_spec *spec = ctx->part->spec;
    (void)width;
    if (spec->optional && !hist_select_filled(&state->select, spec, ctx->look))
        return 0;
    return hist_select_measured(&state->select, spec, ctx->look->frame) ? HIST_ROWS_WANTED + 2 : 1;
}

static enum role bar_role(const struct hist_select *select) {
    for (int k = 0; k < HIST_SELECT_KEYS; k++)
        if (!strcmp(select->key[k].column, "op"))
            return select->key[k].value[0] == 'R'   ? ROLE_READ
                   : select->key[k].value[0] == 'W' ? ROLE_WRITE
                                                    : ROLE_GRAPH;
    return ROLE_GRAPH;
}

// Rows of the scale with their counts: "200us - 500us |#####      |  812 12.3%".
static void draw_ranges(struct part_context *ctx, const struct hist_def *def, const struct hist *hist, int top) {
    struct hist_state *state = ctx->state;
    const struct hist_scale *scale = &state->scale;
    uint64_t counts[SCALE_ROWS_MAX] = {0}, most = 0;
    for (uint32_t i = 0; i < hist->n_buckets; i++) {
        uint64_t *count = &counts[scale->row[hist->buckets[i].bucket]];
        *count += hist->buckets[i].count;
        if (*count > most)
            most = *count;
    }
    bool both = ctx->area.width >= 46;
    int label = both ? 15 : 6, tail = 7 + 7, bar = ctx->area.width - label - 1 - tail;
    for (int row = 0; row < scale->rows; row++) {
        char low[16], high[16], count[24], share[16];
        int y = top + row;
        hist_scale_edge(scale, def, row, low);
        hist_scale_edge(scale, def, row + 1, high);
        if (both)
            area_printf(ctx->area, 0, y, ROLE_DIM, "%6s - %-6s", low, high);
        else
            area_printf(ctx->area, 0, y, ROLE_DIM, "%6s", low);
        if (bar > 0)
            bar_draw(ctx->area, label + 1, y, bar, (double)counts[row] / (double)most, bar_role(&state->select));
        unit_format(UNIT_COUNT, (double)counts[row], count, sizeof count);
        snprintf(share, sizeof share, "%.1f%%", 100.0 * (double)counts[row] / (double)hist->count);
        area_printf(ctx->area, ctx->area.width - tail, y, counts[row] ? ROLE_TEXT : ROLE_DIM, "%7s%7s", count, share);
    }
}

// Extends min and max by the chosen histograms of the newest frames.
static void extend_range(struct part_context *ctx, uint64_t *min, uint64_t *max) {
    struct hist_state *state = ctx->state;
    const struct look *look = ctx->look;
    size_t first = look->n_window > STEADY_FRAMES ? look->n_window - STEADY_FRAMES : 0;

    for (size_t f = first; f < look->n_window; f++) {
        const struct hist_set *set = hist_select_hists(&state->select, ctx->part->spec, look->window[f]);
        const struct hist *hist;
        size_t at = 0;
        while (set && (hist = hist_select_next(&state->select, set, &at))) {
            *min = hist->min < *min ? hist->min : *min;
            *max = hist->max > *max ? hist->max : *max;
        }
    }
}

// Round ranges that fit the rows, on the axis of the measure.
static void fit(struct part_context *ctx, const struct hist_def *def, const struct hist *hist, int rows) {
    struct hist_state *state = ctx->state;
    const struct hist_measure *measure = hist_select_measure(&state->select, ctx->part->spec);
    uint64_t min = hist->min, max = hist->max;
    if (measure && measure->linear) {
        hist_scale_linear(&state->scale, def, measure->linear, 0, measure->linear, rows);
        return;
    }
    if (rows >= STEADY_ROWS) // with fewer rows the ranges would be too wide
        extend_range(ctx, &min, &max);
    hist_scale_fit(&state->scale, def, min, max, rows, false);
}

static void hist_draw(struct part_context *ctx) {
    struct hist_state *state = ctx->state;
    hist_select_settle(ctx);
    const struct hist_def *def = hist_select_def(&state->select, ctx->part->spec, ctx->look);
    struct area area = ctx->area;

    state->scale.rows = 0;
    if (!def) {
        area_text(area, 0, 0, ROLE_DIM, "not measured");
        return;
    }
    struct hist *hist = hist_chosen(ctx);
    if (!hist->count) {
        if (!hist_select_measured(&state->select, ctx->part->spec, ctx->look->frame))
            area_text(area, 0, 0, ROLE_DIM, "not measured");
        else if (!state->whole && frame_hists_repeated(ctx->look->frame, def->name))
            area_text(area, 0, 0, ROLE_DIM, "no data for this interval yet: [ shows the previous frame");
        else
            area_text(area, 0, 0, ROLE_DIM, state->whole ? "none in the whole history" : "none in this interval");
    } else {
        int max_rows = area.height >= 12 ? 3 : area.height >= 8 ? 2 : 1;
        const struct hist_measure *measure = hist_select_measure(&state->select, ctx->part->spec);
        int used = 1;
        if (measure && measure->linear) // mean and percentiles of offsets have no meaning
            area_printf(area, 0, 0, ROLE_DIM, "count %llu", (unsigned long long)hist->count);
        else
            used = stats_flow(area, max_rows, def, hist);
        used = steady_rows(state, def, area, used > max_rows ? max_rows : used);
        fit(ctx, def, hist, area.height - used);
        draw_ranges(ctx, def, hist, used);
        state->top = used;
        int row = hist_scale_row(&state->scale, state->cursor_value);
        if (state->cursor && state->scale.rows)
            area_role(area, 0, used + row, area.width, ctx->focused ? ROLE_SELECTED : ROLE_HEADER);
    }
    hist_free(hist);
}

// ---- the cursor ----

// The newest frame of the histogram with a value in the row.
static const struct frame *frame_with(struct part_context *ctx, int row) {
    struct hist_state *state = ctx->state;
    const struct look *look = ctx->look;
    size_t n = state->whole ? look->n_window : 0;
    for (size_t f = 0; f <= n; f++) {
        const struct frame *frame = f ? look->window[n - f] : look->frame;
        struct hist_values values;
        size_t at = 0;
        while (frame && hist_select_values(&state->select, ctx->part->spec, frame, &at, &values))
            for (uint32_t b = 0; b < values.n_buckets; b++)
                if (state->scale.row[values.buckets[b].bucket] == row)
                    return frame;
    }
    return NULL;
}

static bool list_row(struct part_context *ctx, int row) {
    struct hist_state *state = ctx->state;
    const struct frame *frame = frame_with(ctx, row);
    if (!frame) {
        snprintf(ctx->message, sizeof ctx->message, "none in this range");
        return true;
    }
    // A list shows one frame.
    return hist_select_list(ctx, frame, &state->scale, row,
                            state->whole ? "the newest frame with such values; Esc: back" : "Esc: back");
}

static bool cursor_key(struct part_context *ctx) {
    struct hist_state *state = ctx->state;
    const struct hist_scale *scale = &state->scale;
    int row = state->cursor ? hist_scale_row(scale, state->cursor_value) : 0;

    if (ctx->key == KEY_VIEW_BACK && state->cursor) {
        state->cursor = false;
        return true;
    }
    if (!scale->rows)
        return false;
    switch (ctx->key) {
    case KEY_VIEW_UP:
        row -= state->cursor;
        break;
    case KEY_VIEW_DOWN:
        row += state->cursor;
        break;
    case KEY_VIEW_HOME:
        row = 0;
        break;
    case KEY_VIEW_END:
        row = scale->rows - 1;
        break;
    case KEY_VIEW_ENTER:
        if (state->cursor)
            return list_row(ctx, row);
        break;
    case KEY_VIEW_CLICK:
        if (ctx->mouse_y < state->top || ctx->mouse_y >= state->top + scale->rows)
            return false;
        if (state->cursor && row == ctx->mouse_y - state->top)
            return list_row(ctx, row);
        row = ctx->mouse_y - state->top;
        break;
    default:
        return false;
    }
    row = row < 0 ? 0 : row >= scale->rows ? scale->rows - 1 : row;
    state->cursor = true;
    state->cursor_value = (scale->edge[row] + scale->edge[row + 1]) / 2;
    return true;
}

static bool hist_key(struct part_context *ctx) {
    struct hist_state *state = ctx->state;
    if (ctx->key == 'a') {
        state->whole = !state->whole;
        snprintf(ctx->message, sizeof ctx->message, "histogram of %s",
                 state->whole ? "the whole history" : "one interval");
        return true;
    }
    if (hist_select_key(ctx))
        return true;
    return (ctx->focused || ctx->key == KEY_VIEW_CLICK) && cursor_key(ctx);
}

static void hist_title(const struct part_context *ctx, char *out, size_t size) {
    hist_select_title(ctx, "histogram", out, size);
}

static void hist_status(struct part_context *ctx, char *out, size_t size) {
    const struct hist_state *state = ctx->state;
    hist_select_status(ctx, state->whole ? ", whole history" : "", out, size);
}

static const struct part_key keys[] = {
    HIST_SELECT_PART_KEYS,
    {'a', "a", "histogram: one interval, or the whole history"},
    {KEY_VIEW_ENTER, "Enter", "histogram: list the events of the range selected with Up and Down (Esc: back)"},
    {0},
};

const struct part_kind part_hist = {
    .state_size = sizeof(struct hist_state),
    .done = hist_done,
    .height = hist_height,
    .draw = hist_draw,
    .key = hist_key,
    .keys = keys,
    .takes = hist_select_takes,
    .write_text = hist_write_text,
    .write_csv = hist_write_csv,
    .write_json = hist_write_json,
    .describe = hist_describe,
    .title = hist_title,
    .status = hist_status,
    .sources = hist_select_sources,
};
