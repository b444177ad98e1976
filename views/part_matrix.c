// The matrix part: its modes (now, over time), the cursor and the keys.
#include "views/part_matrix.h"

#include <math.h>
#include <string.h>

#include "views/matrix_draw.h"
#include "views/rows.h"
#include "views/write.h"

#define ROWS_NOW 12  // maximum: the rest is for the table
#define ROWS_TIME 24 // over time
#define TICK_APART 10
#define GROUP_AT 8 // a blank after this many cells

enum mode { MODE_AUTO, MODE_OFF, MODE_NOW, MODE_TIME };

struct matrix_state {
    struct matrix_data data; // of the last draw; keys and clicks refer to it
    enum mode mode;
    enum mode shown; // the mode of the last draw
    int measure;
    int label;   // characters before the cells
    int columns; // over time: number of columns, at the right end of the area
    bool cursor; // the cursor is on the item with this ID
    int cursor_id;
    uint64_t cursor_frame; // over time: the number of its frame; 0: the newest
    char filter[32];
};

static const struct matrix_spec *spec_of(const struct part_context *ctx) {
    return ctx->part->spec;
}

static void matrix_done(void *state, const struct part *part) {
    (void)part;
    matrix_free(&((struct matrix_state *)state)->data);
}

static const struct matrix_measure *measure_of(const struct part_context *ctx) {
    return &spec_of(ctx)->measures[((const struct matrix_state *)ctx->state)->measure];
}

// Loads the items of the frame and decides what to show of them. MODE_OFF: nothing.
static enum mode mode_of(struct part_context *ctx) {
    struct matrix_state *state = ctx->state;
    if (!ctx->look || !matrix_things(&state->data, spec_of(ctx), ctx->look->frame))
        return MODE_OFF;
    if (state->mode == MODE_AUTO)
        return state->data.n >= spec_of(ctx)->from ? MODE_NOW : MODE_OFF;
    return state->mode;
}

static int label_width(const struct matrix_data *data) {
    int highest = 0, digits = 1;
    for (int i = 0; i < data->n; i++)
        highest = data->id[i] > highest ? data->id[i] : highest;
    for (; highest >= 10; highest /= 10)
        digits++;
    return (data->n_groups > 1 ? 4 : 0) + (digits < 3 ? 3 : digits) + 1;
}

static int matrix_height(struct part_context *ctx, int width) {
    struct matrix_state *state = ctx->state;
    state->shown = mode_of(ctx); // also if nothing is drawn
    switch (state->shown) {
    case MODE_NOW:
        matrix_layout(&state->data, width - label_width(&state->data), ROWS_NOW);
        return state->data.rows + 1;
    case MODE_TIME:
        return (state->data.n < ROWS_TIME ? state->data.n : ROWS_TIME) + 2;
    default:
        return 0;
    }
}

// ---- drawing ----

static int cell_x(const struct matrix_state *state, int column) {
    return state->label + column * state->data.width + column / GROUP_AT;
}

// The first ID of each row, and its group if the group begins there.
static void draw_labels(struct part_context *ctx) {
    const struct matrix_state *state = ctx->state;
    const struct matrix_data *data = &state->data;
    for (int i = 0; i < data->n; i++) {
        char number[16];
        if (i && data->row[i - 1] == data->row[i])
            continue;
        if (data->grouped && data->n_groups > 1 && !isnan(data->group[i]) &&
            (!i || data->group[i] != data->group[i - 1]))
            area_printf(ctx->area, 0, data->row[i], ROLE_TITLE, "%c%.0f", spec_of(ctx)->group_name[0], data->group[i]);
        int n = snprintf(number, sizeof(number), "%d", data->id[i]);
        area_text(ctx->area, state->label - 1 - n, data->row[i], ROLE_DIM, number);
    }
}

static void draw_cells(struct part_context *ctx) {
    const struct matrix_state *state = ctx->state;
    const struct matrix_data *data = &state->data;
    for (int i = 0; i < data->n; i++) {
        double value = data->values[data->row[i] * data->per_row + data->column[i]];
        value = value == MATRIX_ABSENT ? NAN : value; // it exists, but the measure's table lacks it
        int x = cell_x(state, data->column[i]), y = data->row[i];
        matrix_draw_value(ctx->area, x, y, value, data->full);
        if (data->width == 2)
            matrix_draw_value(ctx->area, x + 1, y, value, data->full);
        if (data->width == 4) {
            char number[8];
            matrix_number(measure_of(ctx)->unit, value, number);
            area_printf(ctx->area, x + 1, y, value > 0 ? ROLE_TEXT : ROLE_DIM, "%3s", number);
        }
    }
}

// Every measure of the cursor's item in the cursor's frame.
static void draw_reading(struct part_context *ctx, const struct frame *frame, int y) {
    const struct matrix_state *state = ctx->state;
    const struct matrix_spec *spec = spec_of(ctx);
    const struct matrix_data *data = &state->data;
    double group = data->group[data->place[state->cursor_id]];
    int x = 0;
    area_fill(ctx->area, 0, y, ctx->area.width, ROLE_TEXT, ' ');
    if (frame && frame != ctx->look->frame) {
        char clock[CLOCK_SIZE];
        clock_write(frame->wall.tv_sec, clock);
        x += area_printf(ctx->area, x, y, ROLE_CURSOR, "%s ", clock);
    }
    x += area_printf(ctx->area, x, y, ROLE_CURSOR, "%s %d", spec->thing, state->cursor_id);
    if (!isnan(group) && data->n_groups > 1)
        x += area_printf(ctx->area, x, y, ROLE_DIM, " %s %.0f", spec->group_name, group);
    for (const struct matrix_measure *measure = spec->measures; measure->name; measure++) {
        char text[24];
        double value = matrix_value(measure, frame, state->cursor_id);
        if (isnan(value) && measure != measure_of(ctx))
            continue;
        unit_format(measure->unit, value, text, sizeof(text));
        if (x + (int)strlen(measure->name) + (int)strlen(text) + 3 > ctx->area.width)
            continue;
        x += area_printf(ctx->area, x, y, ROLE_DIM, "  %s ", measure->name);
        x += area_text(ctx->area, x, y, ROLE_TEXT, text);
    }
}

static void draw_now(struct part_context *ctx) {
    struct matrix_state *state = ctx->state;
    struct matrix_data *data = &state->data;
    int height = ctx->area.height, lines = height >= 2 ? 1 : 0;
    matrix_layout(data, ctx->area.width - state->label, height - lines);
    matrix_load(data, measure_of(ctx), ctx->look->frame);
    draw_labels(ctx);
    draw_cells(ctx);
    if (state->cursor) {
        int i = data->place[state->cursor_id];
        matrix_draw_mark(ctx->area, cell_x(state, data->column[i]), data->row[i], data->width);
        if (lines)
            draw_reading(ctx, ctx->look->frame, height - 1);
    } else if (lines) {
        matrix_draw_legend(ctx->area, spec_of(ctx), measure_of(ctx), data, ctx->look->frame,
                           height - 1 < data->rows ? height - 1 : data->rows);
    }
}

// The frame of a column over time.
static const struct frame *frame_at(const struct part_context *ctx, int column) {
    const struct matrix_state *state = ctx->state;
    size_t back = (size_t)(state->columns - 1 - column);
    return back < ctx->look->n_window ? ctx->look->window[ctx->look->n_window - 1 - back] : NULL;
}

static int cursor_column(const struct part_context *ctx) {
    const struct matrix_state *state = ctx->state;
    for (int column = state->columns; state->cursor_frame && column-- > 0;)
        if (frame_at(ctx, column) && frame_at(ctx, column)->number <= state->cursor_frame)
            return column;
    return state->cursor_frame ? 0 : state->columns - 1;
}

static void draw_times(struct part_context *ctx, int x, int y) {
    const struct matrix_state *state = ctx->state;
    const struct frame *last = frame_at(ctx, state->columns - 1);
    char text[16] = "now";
    if (!ctx->look->live)
        clock_write(last->wall.tv_sec, text);
    int end = x + state->columns - (int)strlen(text);
    area_text(ctx->area, end, y, ROLE_DIM, text);
    for (int back = TICK_APART; back < state->columns; back += TICK_APART) {
        const struct frame *frame = frame_at(ctx, state->columns - 1 - back);
        int n = snprintf(text, sizeof(text), "-%.0fs", (double)(last->end_ns - frame->end_ns) / 1e9);
        int at = x + state->columns - back - n; // the label ends at its column
        if (at >= 0 && at + n < end)
            area_text(ctx->area, at, y, ROLE_DIM, text);
    }
}

static void draw_over_time(struct part_context *ctx) {
    struct matrix_state *state = ctx->state;
    struct matrix_data *data = &state->data;
    const struct look *look = ctx->look;
    int height = ctx->area.height, below = height >= 4 ? 2 : 0, room = ctx->area.width - state->label;
    state->columns = room < 1 ? 0 : look->n_window < (size_t)room ? (int)look->n_window : room;
    matrix_layout_rows(data, height - below);
    if (!state->columns)
        return;
    matrix_load_frames(data, measure_of(ctx), look->window + (look->n_window - (size_t)state->columns), state->columns);
    int x = ctx->area.width - state->columns;
    draw_labels(ctx);
    for (int row = 0; row < data->rows; row++)
        for (int column = 0; column < state->columns; column++)
            matrix_draw_value(ctx->area, x + column, row, data->values[row * state->columns + column], data->full);
    if (below)
        draw_times(ctx, x, data->rows);
    if (state->cursor) {
        int column = cursor_column(ctx);
        matrix_draw_mark(ctx->area, x + column, data->row[data->place[state->cursor_id]], 1);
        if (below)
            draw_reading(ctx, frame_at(ctx, column), data->rows + 1);
    } else if (below) {
        matrix_draw_legend(ctx->area, spec_of(ctx), measure_of(ctx), data, look->frame, data->rows + 1);
    }
}

static void matrix_draw(struct part_context *ctx) {
    struct matrix_state *state = ctx->state;
    state->shown = mode_of(ctx);
    if (state->shown == MODE_OFF || ctx->area.height < 1) {
        state->shown = MODE_OFF;
        return;
    }
    state->label = label_width(&state->data);
    if (state->cursor && state->data.place[state->cursor_id] < 0) // the item is gone
        state->cursor = false;
    if (state->shown == MODE_NOW)
        draw_now(ctx);
    else
        draw_over_time(ctx);
}

static void matrix_status(struct part_context *ctx, char *out, size_t size) {
    const struct matrix_state *state = ctx->state;
    if (state->shown == MODE_OFF)
        return;
    int n = snprintf(out, size, "%d %ss: %s%s", state->data.n, spec_of(ctx)->thing, measure_of(ctx)->name,
                     state->shown == MODE_TIME ? ", over time" : "");
    if (state->data.per_cell > 1 && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, ", highest of %d a %s", state->data.per_cell,
                 state->shown == MODE_TIME ? "row" : "cell");
}

// ---- keys ----

static void choose_measure(struct part_context *ctx, int direction) {
    struct matrix_state *state = ctx->state;
    const struct matrix_measure *measures = spec_of(ctx)->measures;
    int n = 1; // there is always at least one
    while (measures[n].name)
        n++;
    state->measure = (state->measure + direction + n) % n;
    snprintf(ctx->message, sizeof(ctx->message), "%s: %s", measures[state->measure].name,
             measures[state->measure].help);
}

static void cursor_to(struct matrix_state *state, int i) {
    const struct matrix_data *data = &state->data;
    state->cursor = true;
    state->cursor_id = data->id[i < 0 ? 0 : i >= data->n ? data->n - 1 : i];
}

// To the nearest item in the row above or below.
static void cursor_row(struct matrix_state *state, int direction) {
    const struct matrix_data *data = &state->data;
    int from = data->place[state->cursor_id], to = from;
    for (int i = from; i >= 0 && i < data->n; i += direction) {
        if (data->row[i] == data->row[from])
            continue;
        if (to != from && data->row[i] != data->row[to])
            break;
        to = i;
        if (direction < 0 ? data->column[i] <= data->column[from] : data->column[i] >= data->column[from])
            break;
    }
    cursor_to(state, to);
}

static void cursor_time(struct part_context *ctx, int column) {
    struct matrix_state *state = ctx->state;
    const struct frame *frame = frame_at(ctx, column < 0 ? 0 : column); // NULL: fewer frames than at the last draw
    state->cursor_frame = column >= state->columns - 1 || !frame ? 0 : frame->number;
}

// Goes to the row of the table, in the frame of the column.
static bool list_thing(struct part_context *ctx) {
    struct matrix_state *state = ctx->state;
    const struct table *table = frame_table(ctx->look->frame, spec_of(ctx)->measures[0].table);
    ctx->go_part = view_part(ctx->pane->view, spec_of(ctx)->list);
    if (!ctx->go_part || !table) // it existed at the last draw
        return false;
    ctx->go_frame = state->shown == MODE_TIME ? state->cursor_frame : 0;
    snprintf(ctx->go_filter, sizeof(ctx->go_filter), "%s=%d", table_def(table)->columns[0].name, state->cursor_id);
    snprintf(ctx->message, sizeof(ctx->message), "Esc: back");
    return true;
}

static bool clicked(struct part_context *ctx) {
    struct matrix_state *state = ctx->state;
    const struct matrix_data *data = &state->data;
    bool over_time = state->shown == MODE_TIME;
    int left = ctx->area.width - state->columns;
    for (int i = 0; i < data->n; i++) {
        int x = over_time ? left : cell_x(state, data->column[i]), width = over_time ? state->columns : data->width;
        if (data->row[i] != ctx->mouse_y || ctx->mouse_x < x || ctx->mouse_x >= x + width)
            continue;
        cursor_to(state, i);
        if (over_time)
            cursor_time(ctx, ctx->mouse_x - left);
        return true;
    }
    return false;
}

static bool cursor_key(struct part_context *ctx) {
    struct matrix_state *state = ctx->state;
    const struct matrix_data *data = &state->data;
    bool over_time = state->shown == MODE_TIME;
    int key = ctx->key, step = key == KEY_VIEW_LEFT ? -1 : 1;
    if (key == KEY_VIEW_CLICK)
        return clicked(ctx);
    if (key == KEY_VIEW_ENTER)
        return state->cursor && list_thing(ctx);
    if (key != KEY_VIEW_LEFT && key != KEY_VIEW_RIGHT && key != KEY_VIEW_UP && key != KEY_VIEW_DOWN &&
        key != KEY_VIEW_HOME && key != KEY_VIEW_END)
        return false;
    if (!state->cursor || data->place[state->cursor_id] < 0) {
        state->cursor_frame = 0;
        cursor_to(state, key == KEY_VIEW_END ? data->n - 1 : 0);
    } else if (key == KEY_VIEW_UP || key == KEY_VIEW_DOWN) {
        cursor_row(state, key == KEY_VIEW_UP ? -1 : 1);
    } else if (key == KEY_VIEW_HOME || key == KEY_VIEW_END) {
        if (over_time)
            cursor_time(ctx, key == KEY_VIEW_HOME ? 0 : state->columns);
        else
            cursor_to(state, key == KEY_VIEW_HOME ? 0 : data->n - 1);
    } else if (over_time) {
        cursor_time(ctx, cursor_column(ctx) + step);
    } else {
        cursor_to(state, data->place[state->cursor_id] + step);
    }
    return true;
}

static bool matrix_key(struct part_context *ctx) {
    struct matrix_state *state = ctx->state;
    bool visible = state->shown != MODE_OFF;
    switch (ctx->key) {
    case 't':
        state->mode = state->shown == MODE_TIME ? MODE_NOW : MODE_TIME;
        ctx->focus_take = true;
        return true;
    case 'T':
        state->mode = visible ? MODE_OFF : MODE_NOW;
        ctx->focus_take = !visible;
        ctx->focus_drop = visible;
        return true;
    case 'm':
    case 'M':
        if (visible)
            choose_measure(ctx, ctx->key == 'm' ? 1 : -1);
        return visible;
    case KEY_VIEW_BACK:
        if (!state->cursor)
            return false;
        state->cursor = false;
        return true;
    default:
        return visible && state->data.n && (ctx->focused || ctx->key == KEY_VIEW_CLICK) && cursor_key(ctx);
    }
}

// ---- what it is ----

static void matrix_describe(const struct part *part, const struct frame *schema, FILE *out) {
    const struct matrix_spec *spec = part->spec;
    (void)schema;
    fprintf(out, "  map of every %s, shown by default from %u on; over time: one row each, newest at the right\n",
            spec->thing, spec->from);
    for (const struct matrix_measure *measure = spec->measures; measure->name; measure++)
        fprintf(out, "  %-12s %s\n", measure->name, measure->help);
}

static size_t matrix_sources(const struct part *part, const char **names, size_t max) {
    const struct matrix_spec *spec = part->spec;
    size_t n = 0;
    for (const struct matrix_measure *measure = spec->measures; measure->name && n < max; measure++) {
        size_t i = 0;
        while (i < n && strcmp(names[i], measure->table))
            i++;
        if (i == n)
            names[n++] = measure->table;
    }
    return n;
}

static bool matrix_shows(const struct part *part, const void *state, const char *name) {
    const struct matrix_spec *spec = part->spec;

    (void)state;
    for (const struct matrix_measure *measure = spec->measures; measure->name; measure++)
        if (is_listed(measure->columns, name))
            return true;
    return false;
}

static const struct part_key keys[] = {
    {'t', "t", "map over time; back to now"},
    {'T', "T", "hide, show the map"},
    {'m', "m M", "next, previous measure of the map"},
    {KEY_VIEW_LEFT, "arrows", "move the cursor, which reads a value (Esc: no cursor)"},
    {KEY_VIEW_ENTER, "Enter", "select the table row under the cursor (Esc: back)"},
    {0},
};

const struct part_kind part_matrix = {
    .state_size = sizeof(struct matrix_state),
    .done = matrix_done,
    .height = matrix_height,
    .draw = matrix_draw,
    .key = matrix_key,
    .keys = keys,
    .describe = matrix_describe,
    .status = matrix_status,
    .sources = matrix_sources,
    .shows = matrix_shows,
};
