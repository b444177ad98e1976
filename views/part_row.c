// The row part (see the header). A row is found by its keys in each frame of the window once: what was found is kept by
// the frame's number, so that a key or a new frame costs one look-up, whatever the history holds.
#include "views/part_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/mem.h"
#include "views/bar.h"
#include "views/escape.h"
#include "views/row_key.h"

#define NUMBERS_MAX 24
#define HEADING_MAX 512
#define ABSENT_MAX 8 // frames in a row without it, after which older ones are not searched from end to end
#define LABEL_WIDTH 10
#define VALUE_WIDTH 8
#define CHART_WIDTH_MIN 36 // of a chart with its label
#define TABLE_ROWS_MIN 4   // what is left for the lines of frames, with their header
#define TIME_WIDTH 8

struct row_point { // what one frame has of it
    uint64_t number;
    time_t wall;
    bool there;
    double values[NUMBERS_MAX];
};

struct row_state {
    struct row_key key;
    char heading[HEADING_MAX];
    char copy[HEADING_MAX]; // what the names of numbers stand in
    const char *numbers[NUMBERS_MAX];
    const struct column *columns[NUMBERS_MAX]; // NULL: in no frame so far
    size_t n_numbers;
    struct row_point *points; // of the window, oldest first
    size_t n_points, capacity;
    size_t hint;       // where in its table it was found last
    uint64_t selected; // number of a frame; 0: none
    size_t top, page;  // of the lines
    int table_y;       // where they begin, in the area
};

static const struct row_spec *spec_of(const struct part_context *ctx) {
    return ctx->part->spec;
}

static void init(void *state, const struct part *part) {
    struct row_state *self = state;
    const struct row_spec *spec = part->spec;
    char *save;

    snprintf(self->copy, sizeof(self->copy), "%s", spec->shown);
    for (char *name = strtok_r(self->copy, " ", &save); name && self->n_numbers < NUMBERS_MAX;
         name = strtok_r(NULL, " ", &save))
        self->numbers[self->n_numbers++] = name;
}

static void done(void *state, const struct part *part) {
    struct row_state *self = state;

    (void)part;
    row_key_forget(&self->key);
    free(self->points);
}

// ---- which row ----

static void heading_make(struct row_state *self, const char *names, const struct join *join, size_t row) {
    char copy[HEADING_MAX], *save, text[HEADING_MAX];
    size_t used = 0;

    self->heading[0] = '\0';
    snprintf(copy, sizeof(copy), "%s", names);
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        int column = join_column(join, name);
        // A key that is not known is one too: "-".
        if (column < 0 || (cell_is_null(join->columns[column], join_cell(join, row, (uint16_t)column)) &&
                           column >= join->defs[0]->n_keys))
            continue;
        cell_text(join->columns[column], join_cell(join, row, (uint16_t)column), text, sizeof(text));
        const char *title = join->columns[column]->title ? join->columns[column]->title : name;
        bool words = join->columns[column]->type == COLUMN_TEXT && used;
        used += (size_t)snprintf(self->heading + used, sizeof(self->heading) - used, "%s%s%s%s", used ? "  " : "",
                                 words ? "" : title, words ? "" : " ", text);
        if (used >= sizeof(self->heading))
            return;
    }
}

bool part_row_open(struct part_context *ctx, const char *part, const struct join *join, size_t row) {
    const struct view *view = ctx->pane->view;

    for (size_t i = 0; i < view->n_parts; i++) {
        if (view->parts[i].kind != &part_row || strcmp(view->parts[i].name, part) != 0)
            continue;
        struct row_state *self = ctx->pane->parts[i];
        const struct row_spec *spec = view->parts[i].spec;
        self->n_points = self->hint = self->top = 0;
        self->selected = 0;
        heading_make(self, spec->heading, join, row);
        ctx->go_part = &view->parts[i];
        ctx->go_frame = 0;
        ctx->go_filter[0] = '\0';
        return row_key_take(&self->key, join, row, spec->same);
    }
    return false;
}

// ---- finding it ----

// A row keeps its place in a table from frame to frame, most often: there first.
static const union cell *row_find(struct row_state *self, const struct table *table, bool search) {
    int at[ROW_KEY_MAX];
    size_t cursor = self->hint;
    const union cell *row;

    row_key_columns(&self->key, table_def(table), at);
    if ((row = table_next(table, &cursor)) && row_key_is(&self->key, at, row))
        return row;
    for (size_t next = cursor = 0; search && (row = table_next(table, &next)); cursor = next)
        if (row_key_is(&self->key, at, row)) {
            self->hint = cursor;
            return row;
        }
    return NULL;
}

// The row of a further table that belongs to this one, as the join has it.
static const union cell *row_beside(const struct table *table, const struct table *first, const union cell *row) {
    const struct table_def *def = table_def(table);
    union cell key[ROW_KEY_MAX];

    for (uint16_t k = 0; k < def->n_keys && k < ROW_KEY_MAX; k++) {
        int at = table_column(table_def(first), def->columns[k].name);
        if (at < 0)
            return NULL;
        key[k] = row[at];
    }
    return def->n_keys <= ROW_KEY_MAX ? table_find(table, key) : NULL;
}

static void point_take(struct row_state *self, struct row_point *point, const struct table *table,
                       const union cell *row) {
    for (size_t i = 0; i < self->n_numbers; i++) {
        int column = table_column(table_def(table), self->numbers[i]);
        if (column < 0 || table_def(table)->columns[column].type != COLUMN_NUMBER)
            continue;
        // Of columns with one name the first table's counts, as in the join.
        if (!self->columns[i])
            self->columns[i] = &table_def(table)->columns[column];
        if (self->columns[i] == &table_def(table)->columns[column] && row)
            point->values[i] = row[column].num;
    }
}

static void point_make(struct row_state *self, const struct row_spec *spec, const struct frame *frame, bool search,
                       struct row_point *point) {
    const struct table *first = frame_table(frame, spec->source.tables[0]);
    const union cell *row = first ? row_find(self, first, search) : NULL;

    *point = (struct row_point){.number = frame->number, .wall = frame->wall.tv_sec, .there = row != NULL};
    for (size_t i = 0; i < NUMBERS_MAX; i++)
        point->values[i] = NAN;
    if (!first)
        return;
    point_take(self, point, first, row);
    for (int t = 1; t < JOIN_MAX && spec->source.tables[t]; t++) {
        const struct table *table = frame_table(frame, spec->source.tables[t]);
        if (table)
            point_take(self, point, table, row ? row_beside(table, first, row) : NULL);
    }
}

static const struct row_point *point_of(const struct row_point *points, size_t n, uint64_t number) {
    size_t low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (points[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return number && low < n && points[low].number == number ? &points[low] : NULL;
}

// The points of the window: the known ones, and the others made. A frame before the first whole one (number 0) may
// change, and is made each time.
static void load(struct part_context *ctx) {
    struct row_state *self = ctx->state;
    const struct look *look = ctx->look;
    size_t n = look->n_window ? look->n_window : look->frame ? 1 : 0, absent = 0;
    struct row_point *points = n ? xcalloc(n, sizeof(*points)) : NULL;

    for (size_t i = n; i-- > 0;) {
        const struct frame *frame = look->n_window ? look->window[i] : look->frame;
        const struct row_point *known = point_of(self->points, self->n_points, frame->number);
        if (known)
            points[i] = *known;
        else
            point_make(self, spec_of(ctx), frame, absent < ABSENT_MAX, &points[i]);
        absent = points[i].there ? 0 : absent + 1;
    }
    free(self->points);
    self->points = points;
    self->n_points = n;
}

// ---- drawing ----

static const char *title_of(const struct row_state *self, size_t i) {
    return self->columns[i] && self->columns[i]->title ? self->columns[i]->title : self->numbers[i];
}

static size_t value_text(const struct row_state *self, size_t i, double value, char *out, size_t size) {
    static const struct column none = {.unit = UNIT_NONE};

    return cell_text(self->columns[i] ? self->columns[i] : &none, (union cell){.num = value}, out, size);
}

static bool was_measured(const struct row_state *self, size_t i) {
    for (size_t k = 0; k < self->n_points; k++)
        if (!isnan(self->points[k].values[i]))
            return true;
    return false;
}

// The newest points at the right, the scale from 0 to the largest that is seen.
static double draw_chart(const struct row_state *self, size_t number, struct area area) {
    size_t n = self->n_points < (size_t)(area.width > 0 ? area.width : 0) ? self->n_points : (size_t)area.width;
    const struct row_point *points = self->points + self->n_points - n;
    double most = 0;

    for (size_t i = 0; i < n; i++)
        most = points[i].values[number] > most ? points[i].values[number] : most;
    for (size_t i = 0; i < n; i++) {
        double value = points[i].values[number], share = most > 0 ? value / most : 0;
        enum role role = points[i].number == self->selected && self->selected ? ROLE_CURSOR : ROLE_GRAPH;
        for (int y = 0; y < area.height && !isnan(value); y++) {
            double part = share * area.height - (area.height - 1 - y);
            if (part > 0 || y == area.height - 1)
                spark_draw(area, area.width - (int)n + (int)i, y, part < 0 ? 0 : part, role);
        }
    }
    return most;
}

static void draw_number(const struct row_state *self, size_t number, struct area area) {
    const struct row_point *now = &self->points[self->n_points - 1];
    char text[64];
    int y = area.height - 1;

    area_text(area_sub(area, 0, y, LABEL_WIDTH - 1, 1), 0, 0, ROLE_DIM, title_of(self, number));
    int width = text_width((value_text(self, number, now->values[number], text, sizeof(text)), text));
    area_text(area, LABEL_WIDTH + VALUE_WIDTH - width, y, isnan(now->values[number]) ? ROLE_DIM : ROLE_TEXT, text);
    int left = LABEL_WIDTH + VALUE_WIDTH + 1, right = area.width - VALUE_WIDTH - 5;
    double most = draw_chart(self, number, area_sub(area, left, 0, right - left, area.height));
    value_text(self, number, most, text, sizeof(text));
    area_printf(area_sub(area, right + 1, y, VALUE_WIDTH + 4, 1), 0, 0, ROLE_DIM, "max %s", text);
}

// What was never measured gets a line together. Returns the rows used.
static int draw_missing(const struct row_state *self, struct area area) {
    int x = 0;

    for (size_t i = 0; i < self->n_numbers; i++) {
        if (was_measured(self, i))
            continue;
        if (!x)
            x += area_text(area, 0, 0, ROLE_DIM, "not measured:");
        x += 1 + area_text(area, x + 1, 0, ROLE_DIM, title_of(self, i));
    }
    return x > 0;
}

static int draw_charts(const struct row_state *self, struct area area) {
    int columns = area.width >= 3 * CHART_WIDTH_MIN ? 2 : 1, n = 0, height = 1;

    for (size_t i = 0; i < self->n_numbers; i++)
        n += was_measured(self, i);
    int bands = (n + columns - 1) / columns;
    while (height < 4 && bands * (height + 1) * 2 <= area.height)
        height++;
    if (bands * height > area.height - TABLE_ROWS_MIN)
        bands = area.height > TABLE_ROWS_MIN ? (area.height - TABLE_ROWS_MIN) / height : 0;
    int width = (area.width - (columns - 1) * 2) / columns, at = 0;
    for (size_t i = 0; i < self->n_numbers && at < bands * columns; i++) {
        if (!was_measured(self, i))
            continue;
        draw_number(self, i, area_sub(area, (at % columns) * (width + 2), at / columns * height, width, height));
        at++;
    }
    int used = (at + columns - 1) / columns * height;
    return used < area.height - TABLE_ROWS_MIN ? used + draw_missing(self, area_sub(area, 0, used, area.width, 1))
                                               : used;
}

static int number_width(const struct row_state *self, size_t i) {
    int width = text_width(title_of(self, i)), own = self->columns[i] ? self->columns[i]->width : 0;

    return width > own ? width : own;
}

static void draw_line(const struct row_state *self, const struct row_point *point, struct area area, int y) {
    char text[64], time[16] = "";
    struct tm local;
    int x = TIME_WIDTH + 1;

    if (point && localtime_r(&point->wall, &local))
        strftime(time, sizeof(time), "%H:%M:%S", &local);
    if (!point)
        area_fill(area, 0, y, area.width, ROLE_HEADER, ' ');
    area_text(area, 0, y, point ? ROLE_TEXT : ROLE_HEADER, point ? time : "TIME");
    if (point && !point->there) {
        area_text(area, x, y, ROLE_DIM, "not there");
        return;
    }
    for (size_t i = 0; i < self->n_numbers; i++) {
        int width = number_width(self, i);
        if (!was_measured(self, i))
            continue;
        if (x + width > area.width)
            break;
        if (point)
            value_text(self, i, point->values[i], text, sizeof(text));
        else
            snprintf(text, sizeof(text), "%s", title_of(self, i));
        area_text(area, x + width - text_width(text), y,
                  !point                    ? ROLE_HEADER
                  : isnan(point->values[i]) ? ROLE_DIM
                                            : ROLE_TEXT,
                  text);
        x += width + 1;
    }
}

// The place of the selected frame among the lines, newest first; -1: none.
static long place_of(const struct row_state *self) {
    const struct row_point *point = point_of(self->points, self->n_points, self->selected);

    return point ? (long)(self->n_points - 1 - (size_t)(point - self->points)) : -1;
}

static void draw_lines(struct row_state *self, struct area area) {
    long place = place_of(self);

    self->page = area.height > 1 ? (size_t)area.height - 1 : 0;
    if (area.height < 1)
        return;
    if (place >= 0 && (size_t)place < self->top)
        self->top = (size_t)place;
    if (place >= 0 && self->page && (size_t)place >= self->top + self->page)
        self->top = (size_t)place - self->page + 1;
    size_t last = self->n_points > self->page ? self->n_points - self->page : 0;
    self->top = self->top > last ? last : self->top;
    draw_line(self, NULL, area, 0);
    for (size_t y = 0; y < self->page && self->top + y < self->n_points; y++) {
        draw_line(self, &self->points[self->n_points - 1 - self->top - y], area, (int)y + 1);
        if (place >= 0 && self->top + y == (size_t)place)
            area_role(area, 0, (int)y + 1, area.width, ROLE_SELECTED);
    }
}

static void draw(struct part_context *ctx) {
    struct row_state *self = ctx->state;
    struct area area = ctx->area;

    load(ctx);
    if (!self->key.n || !self->n_points)
        return;
    area_text(area, 1, 0, ROLE_TEXT, self->heading);
    if (!self->points[self->n_points - 1].there)
        area_text(area, area.width - 18, 0, ROLE_WARNING, " not there (now)");
    struct area charts = area_sub(area, 1, 1, area.width - 1, area.height - 1);
    int used = draw_charts(self, charts);
    self->table_y = 1 + used;
    draw_lines(self, area_sub(area, 1, self->table_y, area.width - 1, area.height - self->table_y));
}

static int height(struct part_context *ctx, int width) {
    (void)ctx;
    (void)width;
    return 1 << 14; // all there is
}

static size_t status(struct part_context *ctx, char *out, size_t size) {
    const struct row_state *self = ctx->state;
    size_t there = 0;

    for (size_t i = 0; i < self->n_points; i++)
        there += self->points[i].there;
    int n = snprintf(out, size, "in %zu of %zu frames, Esc: back", there, self->n_points);
    return n > 0 && (size_t)n < size ? (size_t)n : 0;
}

// ---- keys ----

static void select_place(struct row_state *self, long place) {
    if (!self->n_points)
        return;
    place = place < 0 ? 0 : place >= (long)self->n_points ? (long)self->n_points - 1 : place;
    self->selected = self->points[self->n_points - 1 - (size_t)place].number;
}

static bool frame_go(struct part_context *ctx) {
    struct row_state *self = ctx->state;

    if (place_of(self) < 0)
        return false;
    ctx->go_part = ctx->part;
    ctx->go_frame = self->selected;
    return true;
}

static bool key(struct part_context *ctx) {
    struct row_state *self = ctx->state;
    long page = self->page > 1 ? (long)self->page - 1 : 1;

    load(ctx);
    long place = place_of(self), from = place < 0 ? (long)self->top - 1 : place;
    switch (ctx->key) {
    case KEY_VIEW_UP:
        select_place(self, from - 1);
        return true;
    case KEY_VIEW_DOWN:
        select_place(self, from + 1);
        return true;
    case KEY_VIEW_PAGE_UP:
        select_place(self, from - page);
        return true;
    case KEY_VIEW_PAGE_DOWN:
        select_place(self, from + page);
        return true;
    case KEY_VIEW_HOME:
        self->selected = 0;
        self->top = 0;
        return true;
    case KEY_VIEW_END:
        select_place(self, (long)self->n_points - 1);
        return true;
    case KEY_VIEW_ENTER:
        return frame_go(ctx);
    case KEY_VIEW_CLICK:
        if (ctx->mouse_y <= self->table_y)
            return false;
        select_place(self, (long)self->top + ctx->mouse_y - self->table_y - 1);
        return true;
    default:
        return false;
    }
}

static const struct part_key keys[] = {
    {KEY_VIEW_ENTER, "Enter", "in a row over time: all panes go to the frame that is selected"},
    {0},
};

// ---- files ----

static void write_text(struct part_context *ctx, FILE *out) {
    struct row_state *self = ctx->state;
    char text[64], time[16] = "";
    struct tm local;

    load(ctx);
    fprintf(out, "  %s\n  %-*s", self->heading, TIME_WIDTH, "TIME");
    for (size_t i = 0; i < self->n_numbers; i++)
        fprintf(out, " %*s", number_width(self, i), title_of(self, i));
    fputc('\n', out);
    for (size_t k = self->n_points; k-- > 0;) {
        if (localtime_r(&self->points[k].wall, &local))
            strftime(time, sizeof(time), "%H:%M:%S", &local);
        fprintf(out, "  %-*s", TIME_WIDTH, time);
        for (size_t i = 0; i < self->n_numbers; i++) {
            value_text(self, i, self->points[k].values[i], text, sizeof(text));
            fprintf(out, " %*s", number_width(self, i), text);
        }
        fputc('\n', out);
    }
}

static size_t sources(const struct part *part, const char **names, size_t max) {
    const struct row_spec *spec = part->spec;

    return rows_sources(&spec->source, names, max);
}

static bool shows(const struct part *part, const char *name) {
    const struct row_spec *spec = part->spec;

    return is_listed(spec->shown, name);
}

const struct part_kind part_row = {
    .state_size = sizeof(struct row_state),
    .init = init,
    .done = done,
    .height = height,
    .draw = draw,
    .key = key,
    .keys = keys,
    .write_text = write_text,
    .status = status,
    .sources = sources,
    .shows = shows,
};
