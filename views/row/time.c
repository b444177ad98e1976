// Draws a row over time, and its keys (see the header).
#include "views/row/time.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "views/bar.h"
#include "views/write.h"

#define LABEL_WIDTH 10
#define VALUE_WIDTH 8
#define CHART_WIDTH_MIN 36 // of a chart with its label
#define TABLE_ROWS_MIN 4   // rows for the lines of frames, with their header
#define TIME_WIDTH 8

void row_time_reset(struct row_time *self) {
    row_points_forget(&self->points);
    self->selected = 0;
    self->top = 0;
}

// ---- drawing ----

// The newest points at the right, the scale from 0 to the largest visible value.
static double draw_chart(const struct row_time *self, size_t number, struct area area) {
    size_t n = self->points.n < (size_t)(area.width > 0 ? area.width : 0) ? self->points.n : (size_t)area.width;
    const struct row_point *points = self->points.points + self->points.n - n;
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

static void draw_number(const struct row_time *self, size_t number, struct area area) {
    const struct row_point *now = &self->points.points[self->points.n - 1];
    char text[64];
    int y = area.height - 1;

    area_text(area_sub(area, 0, y, LABEL_WIDTH - 1, 1), 0, 0, ROLE_DIM, row_points_title(&self->points, number));
    int width = text_width((row_points_text(&self->points, number, now->values[number], text, sizeof(text)), text));
    area_text(area, LABEL_WIDTH + VALUE_WIDTH - width, y, isnan(now->values[number]) ? ROLE_DIM : ROLE_TEXT, text);
    int left = LABEL_WIDTH + VALUE_WIDTH + 1, right = area.width - VALUE_WIDTH - 5;
    double most = draw_chart(self, number, area_sub(area, left, 0, right - left, area.height));
    row_points_text(&self->points, number, most, text, sizeof(text));
    area_printf(area_sub(area, right + 1, y, VALUE_WIDTH + 4, 1), 0, 0, ROLE_DIM, "max %s", text);
}

// Numbers without a chart share a line: "always 0: ERR/s TMOUT/s". Returns the rows used.
static int draw_together(const struct row_time *self, struct area area, const char *what,
                         bool (*is)(const struct row_points *points, size_t number)) {
    int x = 0;

    for (size_t i = 0; i < self->points.n_numbers; i++) {
        if (!is(&self->points, i))
            continue;
        if (!x)
            x += area_text(area, 0, 0, ROLE_DIM, what);
        x += 1 + area_text(area, x + 1, 0, ROLE_DIM, row_points_title(&self->points, i));
    }
    return x > 0;
}

static bool is_missing(const struct row_points *points, size_t number) {
    return !row_points_measured(points, number);
}

// Anything but a flat line.
static bool is_shown(const struct row_points *points, size_t number) {
    return row_points_measured(points, number) && !row_points_zero(points, number);
}

static int draw_charts(const struct row_time *self, struct area area) {
    int columns = area.width >= 3 * CHART_WIDTH_MIN ? 2 : 1, n = 0, height = 1, zero = 0, missing = 0;

    for (size_t i = 0; i < self->points.n_numbers; i++) {
        n += is_shown(&self->points, i);
        zero |= row_points_zero(&self->points, i);
        missing |= is_missing(&self->points, i);
    }
    int below = TABLE_ROWS_MIN + zero + missing;
    int bands = (n + columns - 1) / columns;
    while (height < 4 && bands * (height + 1) * 2 <= area.height && bands * (height + 1) <= area.height - below)
        height++;
    if (bands * height > area.height - below)
        bands = area.height > below ? (area.height - below) / height : 0;
    int width = (area.width - (columns - 1) * 2) / columns, at = 0;
    for (size_t i = 0; i < self->points.n_numbers && at < bands * columns; i++) {
        if (!is_shown(&self->points, i))
            continue;
        draw_number(self, i, area_sub(area, (at % columns) * (width + 2), at / columns * height, width, height));
        at++;
    }
    int used = (at + columns - 1) / columns * height;
    if (used < area.height - TABLE_ROWS_MIN)
        used += draw_together(self, area_sub(area, 0, used, area.width, 1), "always 0:", row_points_zero);
    if (used < area.height - TABLE_ROWS_MIN)
        used += draw_together(self, area_sub(area, 0, used, area.width, 1), "not measured:", is_missing);
    return used;
}

static int number_width(const struct row_time *self, size_t i) {
    int width = text_width(row_points_title(&self->points, i)),
        own = self->points.columns[i] ? self->points.columns[i]->width : 0;

    return width > own ? width : own;
}

static void draw_line(const struct row_time *self, const struct row_point *point, struct area area, int y) {
    char text[64], clock[CLOCK_SIZE] = "TIME";
    int x = TIME_WIDTH + 1;

    if (point)
        clock_write(point->wall, clock);
    else
        area_fill(area, 0, y, area.width, ROLE_HEADER, ' ');
    area_text(area, 0, y, point ? ROLE_TEXT : ROLE_HEADER, clock);
    if (point && !point->there) {
        area_text(area, x, y, ROLE_DIM, "not there");
        return;
    }
    for (size_t i = 0; i < self->points.n_numbers; i++) {
        int width = number_width(self, i);
        if (!is_shown(&self->points, i))
            continue;
        if (x + width > area.width)
            break;
        if (point)
            row_points_text(&self->points, i, point->values[i], text, sizeof(text));
        else
            snprintf(text, sizeof(text), "%s", row_points_title(&self->points, i));
        area_text(area, x + width - text_width(text), y,
                  !point                    ? ROLE_HEADER
                  : isnan(point->values[i]) ? ROLE_DIM
                                            : ROLE_TEXT,
                  text);
        x += width + 1;
    }
}

// The place of the selected frame among the lines, newest first; -1: none.
static long place_of(const struct row_time *self) {
    const struct row_point *point = row_points_find(&self->points, self->selected);

    return point ? (long)(self->points.n - 1 - (size_t)(point - self->points.points)) : -1;
}

static void draw_lines(struct row_time *self, struct area area) {
    long place = place_of(self);

    self->page = area.height > 1 ? (size_t)area.height - 1 : 0;
    if (area.height < 1)
        return;
    if (place >= 0 && (size_t)place < self->top)
        self->top = (size_t)place;
    if (place >= 0 && self->page && (size_t)place >= self->top + self->page)
        self->top = (size_t)place - self->page + 1;
    size_t last = self->points.n > self->page ? self->points.n - self->page : 0;
    self->top = self->top > last ? last : self->top;
    draw_line(self, NULL, area, 0);
    for (size_t y = 0; y < self->page && self->top + y < self->points.n; y++) {
        draw_line(self, &self->points.points[self->points.n - 1 - self->top - y], area, (int)y + 1);
        if (place >= 0 && self->top + y == (size_t)place)
            area_role(area, 0, (int)y + 1, area.width, ROLE_SELECTED);
    }
}

void row_time_draw(struct row_time *self, const char *heading, struct area area) {
    const struct row_points *points = &self->points;

    if (!points->n)
        return;
    area_text(area, 1, 0, ROLE_TEXT, heading);
    static const char gone[] = " not there (now) ";
    if (!points->points[points->n - 1].there)
        area_text(area, area.width - (int)strlen(gone), 0, ROLE_WARNING, gone); // right-aligned, over the heading
    self->table_y = 1 + draw_charts(self, area_sub(area, 1, 1, area.width - 1, area.height - 1));
    draw_lines(self, area_sub(area, 1, self->table_y, area.width - 1, area.height - self->table_y));
}

void row_time_status(const struct row_time *self, char *out, size_t size) {
    const struct row_points *points = &self->points;
    size_t there = 0;

    for (size_t i = 0; i < points->n; i++)
        there += points->points[i].there;
    snprintf(out, size, "%zu of %zu frames, Right: in full, Esc: back", there, points->n);
}

// ---- keys ----

static void select_place(struct row_time *self, long place) {
    if (!self->points.n)
        return;
    place = place < 0 ? 0 : place >= (long)self->points.n ? (long)self->points.n - 1 : place;
    self->selected = self->points.points[self->points.n - 1 - (size_t)place].number;
}

bool row_time_key(struct row_time *self, struct part_context *ctx) {
    long place = place_of(self), from = place < 0 ? (long)self->top - 1 : place,
         step = view_key_step(ctx->key, self->page);

    if (step) {
        select_place(self, from + step);
        return true;
    }
    switch (ctx->key) {
    case KEY_VIEW_HOME:
        self->selected = 0;
        self->top = 0;
        return true;
    case KEY_VIEW_END:
        select_place(self, (long)self->points.n - 1);
        return true;
    case KEY_VIEW_ENTER:
        if (place < 0)
            return false;
        ctx->go_part = ctx->part;
        ctx->go_frame = self->selected;
        return true;
    case KEY_VIEW_CLICK:
        if (ctx->mouse_y <= self->table_y)
            return false;
        select_place(self, (long)self->top + ctx->mouse_y - self->table_y - 1);
        return true;
    default:
        return false;
    }
}

// ---- files ----

void row_time_write(const struct row_time *self, const char *heading, FILE *out) {
    char text[64], clock[CLOCK_SIZE];

    fprintf(out, "  %s\n  %-*s", heading, TIME_WIDTH, "TIME");
    for (size_t i = 0; i < self->points.n_numbers; i++)
        fprintf(out, " %*s", number_width(self, i), row_points_title(&self->points, i));
    fputc('\n', out);
    for (size_t k = self->points.n; k-- > 0;) {
        clock_write(self->points.points[k].wall, clock);
        fprintf(out, "  %-*s", TIME_WIDTH, clock);
        for (size_t i = 0; i < self->points.n_numbers; i++) {
            row_points_text(&self->points, i, self->points.points[k].values[i], text, sizeof(text));
            fprintf(out, " %*s", number_width(self, i), text);
        }
        fputc('\n', out);
    }
}
