// The sub-second heat map: what is drawn of the counts, the cursor, and the range that is marked.
#include "views/flame/part_subsecond.h"

#include <math.h>
#include <string.h>

#include "views/flame/seconds.h"
#include "views/hist/heat_draw.h"
#include "views/pane_parts.h"
#include "views/write.h"

#define ROWS_WANTED (SECOND_CELLS + 2)
#define LABEL_APART 9 // columns

struct subsecond_state {
    struct seconds seconds;
    bool cursor, marking; // marking: the range has a beginning
    double at, begin;     // of the cursor's cell, of the range: seconds since 1970
    double range[2];      // what is marked; 0, 0: nothing
    int columns, rows;    // drawn last
    int cells;            // of SECOND_CELLS in a row
    int64_t last;         // the newest second
};

static const struct flame_spec *spec_of(const struct part_context *ctx) {
    return ctx->part->spec;
}

static double row_s(const struct subsecond_state *self) {
    return (double)self->cells / SECOND_CELLS;
}

static uint32_t cell_count(const struct subsecond_state *self, int64_t second, int row) {
    const uint32_t *counts = seconds_at(&self->seconds, second);
    uint32_t sum = 0;

    for (int i = row * self->cells; counts && i < (row + 1) * self->cells; i++)
        sum += counts[i];
    return sum;
}

// The seconds and rows that there is room for: as fine as the lines allow.
static void fit(struct part_context *ctx) {
    static const int sizes[] = {1, 2, 5, 10, 25, 50};
    struct subsecond_state *self = ctx->state;
    int lines = ctx->area.height - 2;

    self->columns = ctx->area.width - HEAT_LABEL_WIDTH;
    self->columns = self->columns > SECONDS_MAX ? SECONDS_MAX : self->columns;
    self->rows = 0;
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && !self->rows; i++)
        if (SECOND_CELLS / sizes[i] <= lines) {
            self->cells = sizes[i];
            self->rows = SECOND_CELLS / sizes[i];
        }
    self->last = ctx->look->frame ? (int64_t)ctx->look->frame->wall.tv_sec : 0;
}

// ---- drawing ----

static bool in_range(const struct subsecond_state *self, double begin) {
    double low = self->marking ? fmin(self->begin, self->at) : self->range[0];
    double high = self->marking ? fmax(self->begin, self->at) + row_s(self) : self->range[1];
    double middle = begin + row_s(self) / 2;

    return middle >= low && middle < high;
}

// Linear: work that fills half of a cell's time is half as hot.
static uint8_t heat_linear(uint32_t count, uint32_t most) {
    return (uint8_t)(HEAT_LOW + (most ? (uint64_t)count * (255 - HEAT_LOW) / most : 0));
}

static void draw_legend(struct part_context *ctx, int y, uint32_t most) {
    int x = 0;

    for (uint32_t level = 1; level <= 4; level++) {
        uint32_t count = (uint32_t)((uint64_t)most * level / 4);
        if (!count)
            continue;
        uint8_t heat = heat_linear(count, most);
        area_heat(ctx->area, x, y, heat, heat_char(heat, ctx->area.grid->ascii));
        x += 2 + area_printf(ctx->area, x + 1, y, ROLE_DIM, "%u", count);
    }
    area_text(ctx->area, x, y, ROLE_DIM, "samples a cell");
}

static void draw_cell(struct part_context *ctx, int column, int row, uint32_t most) {
    struct subsecond_state *self = ctx->state;
    int64_t second = self->last - (self->columns - 1 - column);
    uint32_t count = cell_count(self, second, row);
    double begin = (double)second + row * row_s(self);
    int x = HEAT_LABEL_WIDTH + column;
    bool cursor = self->cursor && fabs(begin - self->at) < row_s(self) / 2, marked = in_range(self, begin);

    if (count) {
        uint8_t heat = heat_linear(count, most);
        area_heat(ctx->area, x, row, heat, heat_char(heat, ctx->area.grid->ascii));
    } else if (marked) {
        area_char(ctx->area, x, row, ROLE_HEADER, 0xb7);
    }
    struct grid_cell *cell = area_cell(ctx->area, x, row);
    if (cursor && !count)
        area_char(ctx->area, x, row, ROLE_CURSOR, '+');
    else if (cursor && cell)
        cell->role = ROLE_CURSOR;
    if (cell)
        cell->reverse = cursor || (marked && count);
}

static void draw_axes(struct part_context *ctx) {
    struct subsecond_state *self = ctx->state;
    int every = self->rows > 25 ? 5 : self->rows > 10 ? 5 : 1;
    char clock[CLOCK_SIZE];

    for (int row = 0; row < self->rows; row++) {
        if (row % every == 0)
            area_printf(ctx->area, 0, row, ROLE_DIM, "%4dms", row * self->cells * 1000 / SECOND_CELLS);
        area_char(ctx->area, HEAT_LABEL_WIDTH - 1, row, ROLE_DIM, 0x2502);
    }
    for (int column = self->columns - 1; column >= LABEL_APART - 1; column -= 2 * LABEL_APART) {
        clock_write((time_t)(self->last - (self->columns - 1 - column)), clock);
        area_text(ctx->area, HEAT_LABEL_WIDTH + column + 1 - (int)strlen(clock), self->rows, ROLE_DIM, clock);
    }
}

static void cursor_text(const struct subsecond_state *self, char *out, size_t size) {
    double whole = floor(self->at + row_s(self) / 4);
    int row = (int)((self->at - whole) / row_s(self) + 0.5);
    char clock[CLOCK_SIZE];

    clock_write((time_t)whole, clock);
    int ms = row * self->cells * 1000 / SECOND_CELLS;
    snprintf(out, size, "%s.%03d + %d ms: %u samples  %s", clock, ms, self->cells * 1000 / SECOND_CELLS,
             cell_count(self, (int64_t)whole, row),
             self->marking ? "Enter: the range ends here" : "Enter: a range begins here");
}

static void draw(struct part_context *ctx) {
    struct subsecond_state *self = ctx->state;
    const char *stream = spec_of(ctx)->events, *unmeasured = part_unmeasured(ctx->part, ctx->look);
    uint32_t most = 0;
    char text[160];

    fit(ctx);
    seconds_load(&self->seconds, ctx->look, stream, pane_filter(ctx->pane, flame_part_of(ctx->pane)));
    for (int column = 0; column < self->columns; column++)
        for (int row = 0; row < self->rows; row++) {
            uint32_t count = cell_count(self, self->last - (self->columns - 1 - column), row);
            most = count > most ? count : most;
        }
    if (!self->rows || self->columns < 1 || (!most && unmeasured)) {
        area_text(ctx->area, 1, 0, ROLE_DIM, unmeasured ? unmeasured : "no room");
        self->rows = 0;
        return;
    }
    draw_axes(ctx);
    for (int column = 0; column < self->columns; column++)
        for (int row = 0; row < self->rows; row++)
            draw_cell(ctx, column, row, most);
    if (self->cursor) {
        cursor_text(self, text, sizeof(text));
        area_text(ctx->area, 0, self->rows + 1, ROLE_CURSOR, text);
    } else if (most) {
        draw_legend(ctx, self->rows + 1, most);
    }
}

static int height(struct part_context *ctx, int width) {
    (void)width;
    return frame_stream(ctx->look->frame, spec_of(ctx)->events, NULL) ? ROWS_WANTED : 0;
}

// ---- keys ----

// The cell in a column and row of the last draw; clamped.
static void cursor_set(struct subsecond_state *self, int column, int row) {
    column = column < 0 ? 0 : column >= self->columns ? self->columns - 1 : column;
    row = row < 0 ? 0 : row >= self->rows ? self->rows - 1 : row;
    self->cursor = true;
    self->at = (double)(self->last - (self->columns - 1 - column)) + row * row_s(self);
}

static bool range_end(struct part_context *ctx) {
    struct subsecond_state *self = ctx->state;
    struct flame_choice *choice = flame_choice_of(ctx->pane);
    double begin = fmin(self->begin, self->at), end = fmax(self->begin, self->at) + row_s(self);
    uint64_t from, to;

    self->marking = false;
    if (!choice || !seconds_frames(ctx->look, begin, end, &from, &to)) {
        snprintf(ctx->message, sizeof(ctx->message), "no frame of that time is in the history");
        return true;
    }
    self->range[0] = begin;
    self->range[1] = end;
    flame_unmark(choice);
    flame_choice_range(choice, from, to, begin, end);
    snprintf(ctx->message, sizeof(ctx->message), "flame graph of these %.0f ms; s: the last seconds",
             1000 * (end - begin));
    return true;
}

static bool enter(struct part_context *ctx) {
    struct subsecond_state *self = ctx->state;

    if (!self->cursor)
        return false;
    if (self->marking)
        return range_end(ctx);
    self->begin = self->at;
    self->marking = true;
    snprintf(ctx->message, sizeof(ctx->message), "the range begins here; move, Enter ends it");
    return true;
}

static bool back(struct part_context *ctx) {
    struct subsecond_state *self = ctx->state;
    struct flame_choice *choice = flame_choice_of(ctx->pane);
    bool marked = choice && choice->to;

    if (self->marking) {
        self->marking = false;
        return true;
    }
    if (marked) {
        flame_choice_range(choice, 0, 0, 0, 0);
        self->range[0] = self->range[1] = 0;
        return true;
    }
    bool was = self->cursor;
    self->cursor = false;
    return was;
}

static bool move(struct part_context *ctx, int column, int row) {
    struct subsecond_state *self = ctx->state;

    switch (ctx->key) {
    case KEY_VIEW_LEFT:
        cursor_set(self, column - 1, row);
        return true;
    case KEY_VIEW_RIGHT:
        cursor_set(self, column + 1, row);
        return true;
    case KEY_VIEW_UP: // through the seconds: time goes on
        cursor_set(self, row ? column : column - 1, row ? row - 1 : column ? self->rows - 1 : 0);
        return true;
    case KEY_VIEW_DOWN: {
        bool next = row + 1 == self->rows, more = column + 1 < self->columns;
        cursor_set(self, next ? column + 1 : column, next ? (more ? 0 : row) : row + 1);
        return true;
    }
    case KEY_VIEW_HOME:
        cursor_set(self, 0, 0);
        return true;
    case KEY_VIEW_END:
        cursor_set(self, self->columns - 1, self->rows - 1);
        return true;
    default:
        return false;
    }
}

static bool key(struct part_context *ctx) {
    struct subsecond_state *self = ctx->state;

    if (!self->rows || (!ctx->focused && ctx->key != KEY_VIEW_CLICK))
        return false;
    double whole = floor(self->at + row_s(self) / 4);
    int column = self->cursor ? self->columns - 1 - (int)(self->last - (int64_t)whole) : self->columns;
    int row = self->cursor ? (int)((self->at - whole) / row_s(self) + 0.5) : 0;
    if (ctx->key == KEY_VIEW_CLICK) {
        if (ctx->mouse_x < HEAT_LABEL_WIDTH || ctx->mouse_y < 0 || ctx->mouse_y >= self->rows)
            return false;
        bool again = self->cursor && ctx->mouse_x - HEAT_LABEL_WIDTH == column && ctx->mouse_y == row;
        cursor_set(self, ctx->mouse_x - HEAT_LABEL_WIDTH, ctx->mouse_y);
        return again ? enter(ctx) : true;
    }
    if (ctx->key == KEY_VIEW_ENTER)
        return enter(ctx);
    if (ctx->key == KEY_VIEW_BACK)
        return back(ctx);
    return move(ctx, column, row);
}

// ---- words ----

static void status(struct part_context *ctx, char *out, size_t size) {
    const struct subsecond_state *self = ctx->state;

    if (self->rows)
        snprintf(out, size, "a column a second, %d ms a row%s", self->cells * 1000 / SECOND_CELLS,
                 self->seconds.left_out ? ", some samples left out" : "");
}

static void describe(const struct part *part, const struct frame *schema, FILE *out) {
    (void)part;
    (void)schema;
    fputs("  sub-second heat map: a column per second, the newest at the right; the time within it downwards; shade:\n"
          "  samples. Stripes are work that comes at intervals; Enter marks the begin and the end of a range, and the\n"
          "  flame graph shows what ran in it.\n",
          out);
}

static size_t sources(const struct part *part, const char **names, size_t max) {
    const struct flame_spec *spec = part->spec;
    size_t n = 0;

    if (n < max)
        names[n++] = spec->events;
    return n;
}

static bool shows(const struct part *part, const void *state, const char *name) {
    (void)part;
    (void)state;
    return !strcmp(name, "time_s");
}

static const struct part_key keys[] = {
    {KEY_VIEW_LEFT, "arrows", "sub-second heat map: move the cursor (Esc: no cursor)"},
    {KEY_VIEW_ENTER, "Enter", "sub-second heat map: begin, end a range for the flame graph (Esc: no range)"},
    {0},
};

const struct part_kind part_subsecond = {
    .state_size = sizeof(struct subsecond_state),
    .height = height,
    .draw = draw,
    .key = key,
    .keys = keys,
    .describe = describe,
    .status = status,
    .sources = sources,
    .shows = shows,
    .no_series = true,
};
