// The heat map part: what it shows, its cursor and its keys. heat_data.c counts, heat_draw.c draws.
#include "views/hist/part_heat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/hist/heat_draw.h"
#include "views/hist/heat_svg.h"
#include "views/write.h"

#define HEAT_ROWS_WANTED 30

struct heat_state {
    struct hist_select select; // first: see select.h
    bool cursor, marks;
    bool follow;            // the cursor follows the newest column
    uint64_t cursor_number; // else: the frame with this number
    double cursor_value;    // and the range that contains this value
    struct heat_data data;  // of the last draw; keys and clicks refer to it
};

static void heat_init(void *state, const struct part *part) {
    (void)part;
    struct heat_state *heat = state;
    heat->follow = true;
}

static void heat_done(void *state, const struct part *part) {
    (void)part;
    struct heat_state *heat = state;
    heat_free(&heat->data);
}

// ---- drawing ----

// The exact percentiles of one frame. Returns the length; 0: it has none.
static size_t percentiles_text(struct part_context *ctx, const struct hist_def *def, const struct frame *frame,
                               bool with_max, char *out, size_t size) {
    struct heat_state *state = ctx->state;
    const struct hist_set *set = hist_select_hists(&state->select, ctx->part->spec, frame);
    const struct hist_measure *measure = hist_select_measure(&state->select, ctx->part->spec);
    size_t n = 0, at = 0, all = set ? hist_set_count(set) : 0;
    char p50[24], p99[24], max[24];
    out[0] = '\0';
    if (!all || (measure && measure->linear)) // percentiles of offsets have no meaning
        return 0;
    const struct hist **hists = xmalloc(all * sizeof(*hists));
    for (const struct hist *one; (one = hist_select_next(&state->select, set, &at));)
        hists[n++] = one;
    struct hist *hist = hist_merge(hists, n);
    free(hists);
    int length = 0;
    if (hist->count) {
        unit_format(def->unit, hist_quantile(hist, 0.5) / def->divisor, p50, sizeof p50);
        unit_format(def->unit, hist_quantile(hist, 0.99) / def->divisor, p99, sizeof p99);
        unit_format(def->unit, (double)hist->max / def->divisor, max, sizeof max);
        length = snprintf(out, size, "p50 %s p99 %s%s%s", p50, p99, with_max ? " max " : "", with_max ? max : "");
    }
    hist_free(hist);
    return length < 0 ? 0 : (size_t)length < size ? (size_t)length : size - 1;
}

// ---- the cursor ----

static int cursor_column(const struct heat_state *state) {
    const struct heat_data *data = &state->data;
    uint64_t group = state->cursor_number / data->per_column;
    if (state->follow || group >= data->last_group)
        return data->columns - 1;
    uint64_t back = data->last_group - group;
    return back >= (uint64_t)data->columns ? 0 : data->columns - 1 - (int)back;
}

static int cursor_row(const struct heat_state *state) {
    return hist_scale_row(&state->data.scale, state->cursor_value);
}

// The cell under the cursor: time, range, count.
static void cursor_text(struct part_context *ctx, const struct hist_def *def, int column, int row, char *out,
                        size_t size) {
    struct heat_state *state = ctx->state;
    const struct heat_data *data = &state->data;
    const struct frame *frame = data->column[column].frame;
    const uint32_t *counts = heat_counts(data, column);
    char low[16], high[16], clock[CLOCK_SIZE], count[24], total_text[24];
    uint64_t total = heat_total(data, column);

    hist_scale_edge(&data->scale, def, row, low);
    hist_scale_edge(&data->scale, def, row + 1, high);
    if (!frame) {
        snprintf(out, size, "no frame, %s - %s", low, high);
        return;
    }
    clock_write(frame->wall.tv_sec, clock);
    unit_format(UNIT_COUNT, counts[row], count, sizeof count);
    unit_format(UNIT_COUNT, (double)total, total_text, sizeof total_text);
    char several[40] = "";
    if (data->per_column > 1)
        snprintf(several, sizeof several, "%llu frames to ", (unsigned long long)data->per_column);
    int n = snprintf(out, size, "%s%s  %s - %s  %s of %s", several, clock, low, high, count, total_text);
    if (total && n > 0 && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, " (%.1f%%)", 100.0 * counts[row] / (double)total);

    char percentiles[96];
    if (n < 0 || (size_t)n >= size || data->per_column > 1 ||
        !percentiles_text(ctx, def, frame, false, percentiles, sizeof percentiles))
        return;
    // A cut value would read as a different one: show the largest text that fits, or none.
    const char *fit = percentiles;
    if (n + 2 + (int)strlen(fit) > ctx->area.width)
        fit = strstr(percentiles, "p99");
    if (fit && n + 2 + (int)strlen(fit) <= ctx->area.width)
        snprintf(out + n, size - (size_t)n, "  %s", fit);
}

static void draw_cursor(struct part_context *ctx, const struct hist_def *def, int y) {
    struct heat_state *state = ctx->state;
    int column = cursor_column(state), row = cursor_row(state);
    struct grid_cell *cell = area_cell(ctx->area, HEAT_LABEL_WIDTH + column, state->data.rows - 1 - row);
    char text[160];
    if (cell) {
        if (cell->ch == ' ' || cell->role != ROLE_HEAT)
            area_char(ctx->area, HEAT_LABEL_WIDTH + column, state->data.rows - 1 - row, ROLE_CURSOR, '+');
        else
            cell->role = ROLE_CURSOR;
        cell->reverse = true;
    }
    cursor_text(ctx, def, column, row, text, sizeof text);
    area_fill(ctx->area, 0, y, ctx->area.width, ROLE_TEXT, ' ');
    area_text(ctx->area, 0, y, ROLE_CURSOR, text);
}

static int heat_height(struct part_context *ctx, int width) {
    struct heat_state *state = ctx->state;
    const struct hist_spec *spec = ctx->part->spec;
    uint64_t min, max;
    (void)width;
    if (spec->optional && !hist_select_filled(&state->select, spec, ctx->look))
        return 0;
    bool measured = hist_select_measured(&state->select, spec, ctx->look->frame);
    return measured || heat_range(ctx, &min, &max) ? HEAT_ROWS_WANTED : 1;
}

static void heat_draw(struct part_context *ctx) {
    struct heat_state *state = ctx->state;
    struct heat_data *data = &state->data;
    hist_select_settle(ctx);
    const struct hist_def *def = hist_select_def(&state->select, ctx->part->spec, ctx->look);
    uint64_t min, max;
    int height = ctx->area.height;
    char text[96];

    data->columns = data->rows = 0;
    if (!def) {
        area_text(ctx->area, 0, 0, ROLE_DIM, "not measured");
        return;
    }
    if (!heat_range(ctx, &min, &max)) {
        bool measured = hist_select_measured(&state->select, ctx->part->spec, ctx->look->frame);
        area_text(ctx->area, 0, 0, ROLE_DIM, measured ? "none in the whole history" : "not measured");
        return;
    }
    // Times below the map, then the legend or the cursor's cell.
    heat_load(ctx, data, def, ctx->area.width - HEAT_LABEL_WIDTH, height - (height >= 5 ? 2 : height >= 3 ? 1 : 0));
    if (!data->rows)
        return;
    int legend = data->rows + (height >= 5);
    const struct hist_measure *measure = hist_select_measure(&state->select, ctx->part->spec);
    bool places = measure && measure->linear && !measure->table; // quantiles have no meaning
    heat_draw_axis(ctx->area, data, def);
    heat_draw_cells(ctx->area, data, state->marks && !places);
    if (height >= 5)
        heat_draw_times(ctx->area, data, data->rows, ctx->look->live);
    if (height >= 3 && state->cursor)
        draw_cursor(ctx, def, legend);
    else if (height >= 3) { // with the total of the newest frame
        percentiles_text(ctx, def, ctx->look->frame, true, text, sizeof text);
        heat_draw_legend(ctx->area, legend, data->most, text);
    }
}

// ---- keys ----

static void cursor_set(struct heat_state *state, const struct look *look, int column, int row) {
    const struct heat_data *data = &state->data;
    column = column < 0 ? 0 : column >= data->columns ? data->columns - 1 : column;
    row = row < 0 ? 0 : row >= data->rows ? data->rows - 1 : row;
    uint64_t back = (uint64_t)(data->columns - 1 - column);
    uint64_t oldest = look->n_window ? look->window[0]->number / data->per_column : 0;
    uint64_t group = data->last_group > back ? data->last_group - back : 0;
    if (group < oldest) // nothing older is kept
        group = oldest;
    const double *edge = data->scale.edge;
    state->cursor = true;
    state->follow = group == data->last_group;
    state->cursor_number = group * data->per_column;
    state->cursor_value =
        edge[row] == 0 || data->scale.linear ? (edge[row] + edge[row + 1]) / 2 : sqrt(edge[row] * edge[row + 1]);
}

// The I/Os of the cell: of the newest frame in the column that has any.
static bool list_cell(struct part_context *ctx, int column, int row) {
    struct heat_state *state = ctx->state;
    const struct heat_data *data = &state->data;
    const struct hist_spec *spec = ctx->part->spec;
    const struct hist_def *def = hist_select_def(&state->select, spec, ctx->look);
    char back[96] = "Esc: back";
    uint64_t low, high;
    if (!spec->list || !def)
        return false;
    hist_scale_range(&data->scale, def, row, heat_is_zoomed(ctx, data), &low, &high);
    for (size_t f = ctx->look->n_window; f-- > 0;) {
        const struct frame *frame = ctx->look->window[f];
        struct hist_values values;
        size_t at = 0;
        if (heat_column_of(data, frame) != column)
            continue;
        while (hist_select_values(&state->select, spec, frame, &at, &values))
            for (uint32_t i = 0; i < values.n_buckets; i++) {
                uint32_t bucket = values.buckets[i].bucket;
                if (hist_bucket_low(bucket) < low || hist_bucket_low(bucket) >= high)
                    continue;
                if (data->per_column > 1) // a list shows one frame
                    snprintf(back, sizeof back, "the newest of %llu frames; [: previous frame; Esc: back",
                             (unsigned long long)data->per_column);
                return hist_select_list(ctx, frame, &data->scale, row, back);
            }
    }
    snprintf(ctx->message, sizeof ctx->message, "nothing in this cell%s", ctx->look->live ? "; Space: freeze" : "");
    return true;
}

// ---- zoom ----

static const uint16_t groups[] = {1, 2, 5, 10, 15, 30, 60, 120, 300};
#define N_GROUPS (sizeof groups / sizeof *groups)

static void zoom_time(struct part_context *ctx, bool nearer) {
    struct heat_data *data = &((struct heat_state *)ctx->state)->data;
    uint64_t now = data->group ? data->group : data->rows ? data->per_column : 1, to = now;
    for (size_t i = 0; i < N_GROUPS; i++) {
        if (nearer && groups[i] < now)
            to = groups[i];
        if (!nearer && groups[i] > now) {
            to = groups[i];
            break;
        }
    }
    data->group = to;
    snprintf(ctx->message, sizeof ctx->message, "%llu frame%s per column%s", (unsigned long long)to, to == 1 ? "" : "s",
             to == now ? " (limit)" : "; Z: all");
}

// Fills the axis with the cursor's range and its neighbours.
static void zoom_value(struct part_context *ctx) {
    struct heat_state *state = ctx->state;
    struct heat_data *data = &state->data;
    if (!state->cursor || !data->rows) {
        snprintf(ctx->message, sizeof ctx->message, "select a range with the arrow keys first");
        return;
    }
    int row = cursor_row(state), low = row > 0 ? row - 1 : 0, high = row + 2 < data->rows ? row + 2 : data->rows;
    data->low = data->scale.edge[low];
    data->high = data->scale.edge[high];
    data->zoom = true;
    data->zoom_set = hist_select_set(&state->select, ctx->part->spec);
    snprintf(ctx->message, sizeof ctx->message, "Z: all values");
}

static bool zoom_key(struct part_context *ctx) {
    struct heat_data *data = &((struct heat_state *)ctx->state)->data;
    switch (ctx->key) {
    case '+':
    case '-':
        zoom_time(ctx, ctx->key != '-');
        return true;
    case 'z':
        zoom_value(ctx);
        return true;
    case 'Z':
        data->group = 0;
        data->zoom = false;
        snprintf(ctx->message, sizeof ctx->message, "whole history, all values");
        return true;
    default:
        return false;
    }
}

static bool cursor_key(struct part_context *ctx) {
    struct heat_state *state = ctx->state;
    const struct heat_data *data = &state->data;
    int column = state->cursor ? cursor_column(state) : data->columns - 1;
    int row = state->cursor ? cursor_row(state) : data->rows / 2;
    switch (ctx->key) {
    case KEY_VIEW_LEFT:
        column -= state->cursor;
        break;
    case KEY_VIEW_RIGHT:
        column += state->cursor;
        break;
    case KEY_VIEW_UP:
        row += state->cursor;
        break;
    case KEY_VIEW_DOWN:
        row -= state->cursor;
        break;
    case KEY_VIEW_HOME:
        column = 0;
        break;
    case KEY_VIEW_END:
        column = data->columns - 1;
        break;
    case KEY_VIEW_ENTER:
        if (state->cursor)
            return list_cell(ctx, column, row);
        break;
    case KEY_VIEW_CLICK:
        if (ctx->mouse_x < HEAT_LABEL_WIDTH || ctx->mouse_y < 0 || ctx->mouse_y >= data->rows)
            return false;
        if (state->cursor && column == ctx->mouse_x - HEAT_LABEL_WIDTH && row == data->rows - 1 - ctx->mouse_y)
            return list_cell(ctx, column, row);
        column = ctx->mouse_x - HEAT_LABEL_WIDTH;
        row = data->rows - 1 - ctx->mouse_y;
        break;
    default:
        return false;
    }
    cursor_set(state, ctx->look, column, row);
    return true;
}

static bool heat_key(struct part_context *ctx) {
    struct heat_state *state = ctx->state;

    if (ctx->key == 'l') {
        state->marks = !state->marks;
        snprintf(ctx->message, sizeof ctx->message, state->marks ? "5: p50 of each column, 9: p99" : "no marks");
        return true;
    }
    if (hist_select_key(ctx) || zoom_key(ctx))
        return true;
    if (ctx->key == KEY_VIEW_BACK && state->cursor) {
        state->cursor = false;
        return true;
    }
    return state->data.rows && (ctx->focused || ctx->key == KEY_VIEW_CLICK) && cursor_key(ctx);
}

static bool heat_write_svg(struct part_context *ctx, const struct write_info *info, FILE *out) {
    struct heat_state *state = ctx->state;
    struct heat_data data = state->data; // keep the zoom; the picture gets its own counts
    const struct hist_def *def = hist_select_def(&state->select, ctx->part->spec, ctx->look);
    data.counts = NULL;
    data.column = NULL;
    data.capacity = data.column_capacity = 0;
    bool drawn = def && heat_svg_write(ctx, &data, def, info, out);
    heat_free(&data);
    return drawn;
}

static void heat_title(const struct part_context *ctx, char *out, size_t size) {
    hist_select_title(ctx, "heat map", out, size);
}

static void heat_status(struct part_context *ctx, char *out, size_t size) {
    const struct heat_state *state = ctx->state;
    hist_select_status(ctx, heat_is_zoomed(ctx, &state->data) ? ", zoomed" : "", out, size);
}

static void heat_describe(const struct part *part, const struct frame *schema, FILE *out) {
    const struct hist_spec *spec = part->spec;
    const struct hist_set *set = schema ? frame_hists(schema, spec->sets[0]) : NULL;
    if (set)
        fprintf(out, "  heat map of %s: x: time, newest at the right; y: value; shade: count\n",
                hist_set_def(set)->name);
}

static const struct part_key keys[] = {
    HIST_SELECT_PART_KEYS,
    {'l', "l", "heat map: mark p50 (5) and p99 (9) of each column"},
    {KEY_VIEW_LEFT, "arrows", "heat map: move the cursor: time, range and count of a cell (Esc: no cursor)"},
    {KEY_VIEW_ENTER, "Enter", "heat map: list the events of the cell under the cursor (Esc: back)"},
    {'+', "+ -", "heat map: fewer, more frames per column"},
    {'z', "z Z", "heat map: zoom in on the range at the cursor; reset"},
    {0},
};

static const struct part_file files[] = {{".svg", "heat map", heat_write_svg}, {0}};

const struct part_kind part_heat = {
    .state_size = sizeof(struct heat_state),
    .init = heat_init,
    .done = heat_done,
    .height = heat_height,
    .draw = heat_draw,
    .key = heat_key,
    .keys = keys,
    .takes = hist_select_takes,
    .describe = heat_describe,
    .files = files,
    .title = heat_title,
    .status = heat_status,
    .sources = hist_select_sources,
};
