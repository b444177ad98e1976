// The numbers of one row in every frame of the window. Each frame is searched for the row's keys once and the result is
// kept by frame number, so a key or a new frame costs one look-up, whatever the length of the history.
#ifndef VIEWS_ROW_POINTS_H
#define VIEWS_ROW_POINTS_H

#include <time.h>

#include "views/row/key.h"

#define ROW_NUMBERS_MAX 24

struct row_point { // its values in one frame
    uint64_t number;
    time_t wall;
    bool there;
    double values[ROW_NUMBERS_MAX]; // NAN: not measured
};

struct row_points {
    char *copy; // storage of the names
    const char *names[ROW_NUMBERS_MAX];
    const struct column *columns[ROW_NUMBERS_MAX]; // NULL: in no frame yet
    size_t n_numbers;
    struct row_point *points; // oldest first
    size_t n;
    size_t hint; // its place in the table when last found
};

// shown: names of columns, separated by blanks.
void row_points_init(struct row_points *self, const char *shown);
void row_points_done(struct row_points *self);
void row_points_forget(struct row_points *self); // before another row is loaded
// The points of that row in the frames of the window.
void row_points_load(struct row_points *self, const struct row_key *key, const struct rows_source *source,
                     const struct look *look);
// The point of the frame of that number; NULL: none, or number 0.
const struct row_point *row_points_find(const struct row_points *self, uint64_t number);

const char *row_points_title(const struct row_points *self, size_t number);
size_t row_points_text(const struct row_points *self, size_t number, double value, char *out, size_t size);
// Whether some frame has a value of it.
bool row_points_measured(const struct row_points *self, size_t number);
// Whether it is measured and always 0.
bool row_points_zero(const struct row_points *self, size_t number);

#endif
