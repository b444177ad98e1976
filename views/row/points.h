// The numbers of one row in every frame that is looked at. A row is found by its keys in each frame once: what was
// found is kept by the frame's number, so that a key or a new frame costs one look-up, whatever the history holds.
#ifndef VIEWS_ROW_POINTS_H
#define VIEWS_ROW_POINTS_H

#include <time.h>

#include "views/row/key.h"

#define ROW_NUMBERS_MAX 24

struct row_point { // what one frame has of it
    uint64_t number;
    time_t wall;
    bool there;
    double values[ROW_NUMBERS_MAX]; // NAN: not measured
};

struct row_points {
    char *copy; // what the names stand in
    const char *names[ROW_NUMBERS_MAX];
    const struct column *columns[ROW_NUMBERS_MAX]; // NULL: in no frame so far
    size_t n_numbers;
    struct row_point *points; // oldest first
    size_t n;
    size_t hint; // where in its table it was found last
};

// shown: names of columns with blanks between.
void row_points_init(struct row_points *self, const char *shown);
void row_points_done(struct row_points *self);
void row_points_forget(struct row_points *self); // before another row is asked for
// The points of the window of that row of the tables.
void row_points_load(struct row_points *self, const struct row_key *key, const struct rows_source *source,
                     const struct look *look);
// The point of the frame of that number; NULL: none, and for 0.
const struct row_point *row_points_find(const struct row_points *self, uint64_t number);

const char *row_points_title(const struct row_points *self, size_t number);
size_t row_points_text(const struct row_points *self, size_t number, double value, char *out, size_t size);
// Whether some frame has a value of it.
bool row_points_measured(const struct row_points *self, size_t number);
// Whether it is measured, and 0 each time.
bool row_points_zero(const struct row_points *self, size_t number);

#endif
