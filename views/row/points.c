// Finds one row in frame after frame (see the header).
#include "views/row/points.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define ABSENT_MAX 8 // after this many frames in a row without it, older ones are searched only at the hint

void row_points_init(struct row_points *self, const char *shown) {
    char *save;

    self->copy = xstrdup(shown);
    for (char *name = strtok_r(self->copy, " ", &save); name && self->n_numbers < ROW_NUMBERS_MAX;
         name = strtok_r(NULL, " ", &save))
        self->names[self->n_numbers++] = name;
}

void row_points_done(struct row_points *self) {
    free(self->copy);
    free(self->points);
}

void row_points_forget(struct row_points *self) {
    self->n = self->hint = 0;
}

// Rows mostly keep their place from frame to frame, so the hint is tried first.
static const union cell *row_find(struct row_points *self, const struct row_key *key, const struct table *table,
                                  bool search) {
    int at[ROW_KEY_MAX];
    size_t cursor = self->hint;
    const union cell *row;

    row_key_columns(key, table_def(table), at);
    if ((row = table_next(table, &cursor)) && row_key_is(key, at, row))
        return row;
    for (size_t next = cursor = 0; search && (row = table_next(table, &next)); cursor = next)
        if (row_key_is(key, at, row)) {
            self->hint = cursor;
            return row;
        }
    return NULL;
}

// The row of a further table that the join attaches to this one.
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

// A value that a further table measures better, as in the join.
static void point_take_better(const struct row_points *self, struct row_point *point, const struct table *table,
                              const union cell *row) {
    const struct table_def *def = table_def(table);

    for (uint16_t c = 0; c < def->n_columns; c++)
        for (size_t i = 0; def->columns[c].overrides && i < self->n_numbers; i++)
            if (!strcmp(def->columns[c].overrides, self->names[i]) && !isnan(row[c].num))
                point->values[i] = row[c].num;
}

static void point_take(struct row_points *self, struct row_point *point, const struct table *table,
                       const union cell *row) {
    for (size_t i = 0; i < self->n_numbers; i++) {
        int column = table_column(table_def(table), self->names[i]);
        if (column < 0 || table_def(table)->columns[column].type != COLUMN_NUMBER)
            continue;
        // The first table of a column name counts, as in the join.
        if (!self->columns[i])
            self->columns[i] = &table_def(table)->columns[column];
        if (self->columns[i] == &table_def(table)->columns[column] && row)
            point->values[i] = row[column].num;
    }
}

static void point_make(struct row_points *self, const struct row_key *key, const struct rows_source *source,
                       const struct frame *frame, bool search, struct row_point *point) {
    const struct table *first = frame_table(frame, source->tables[0]);
    const union cell *row = first ? row_find(self, key, first, search) : NULL;

    *point = (struct row_point){.number = frame->number, .wall = frame->wall.tv_sec, .there = row != NULL};
    for (size_t i = 0; i < ROW_NUMBERS_MAX; i++)
        point->values[i] = NAN;
    if (!first)
        return;
    point_take(self, point, first, row);
    for (int t = 1; t < JOIN_MAX && source->tables[t]; t++) {
        const struct table *table = frame_table(frame, source->tables[t]);
        if (!table)
            continue;
        const union cell *beside = row ? row_beside(table, first, row) : NULL;
        point_take(self, point, table, beside);
        if (beside)
            point_take_better(self, point, table, beside);
    }
}

const struct row_point *row_points_find(const struct row_points *self, uint64_t number) {
    size_t low = 0, high = self->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (self->points[middle].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return number && low < self->n && self->points[low].number == number ? &self->points[low] : NULL;
}

// Reuses the known points and makes the others. A frame before the first whole one (number 0) may change, and is made
// each time.
void row_points_load(struct row_points *self, const struct row_key *key, const struct rows_source *source,
                     const struct look *look) {
    size_t n = look->n_window ? look->n_window : look->frame ? 1 : 0, absent = 0;
    struct row_point *points = n ? xcalloc(n, sizeof(*points)) : NULL;

    for (size_t i = n; i-- > 0;) {
        const struct frame *frame = look->n_window ? look->window[i] : look->frame;
        const struct row_point *known = row_points_find(self, frame->number);
        if (known)
            points[i] = *known;
        else
            point_make(self, key, source, frame, absent < ABSENT_MAX, &points[i]);
        absent = points[i].there ? 0 : absent + 1;
    }
    free(self->points);
    self->points = points;
    self->n = n;
}

const char *row_points_title(const struct row_points *self, size_t number) {
    return self->columns[number] ? column_title(self->columns[number]) : self->names[number];
}

size_t row_points_text(const struct row_points *self, size_t number, double value, char *out, size_t size) {
    static const struct column none = {.unit = UNIT_NONE};

    return cell_text(self->columns[number] ? self->columns[number] : &none, (union cell){.num = value}, out, size);
}

bool row_points_zero(const struct row_points *self, size_t number) {
    bool measured = false;
    for (size_t k = 0; k < self->n; k++) {
        double value = self->points[k].values[number];
        if (value != 0 && !isnan(value))
            return false;
        measured |= !isnan(value);
    }
    return measured;
}

bool row_points_measured(const struct row_points *self, size_t number) {
    for (size_t k = 0; k < self->n; k++)
        if (!isnan(self->points[k].values[number]))
            return true;
    return false;
}
