// The data of the matrix part: the items of a frame in screen order, one value of each, and the cell of each. Draws
// nothing. The memory of a load is kept for the next one, so that drawing does not allocate.
#ifndef VIEWS_MATRIX_DATA_H
#define VIEWS_MATRIX_DATA_H

#include "views/part_matrix.h"

#define MATRIX_ABSENT (-__builtin_inf()) // the item did not exist
#define MATRIX_IDS_MAX 8192              // CPU IDs: NR_CPUS of the largest configuration; higher IDs are left out

struct matrix_data {
    // the items of the frame, by group and ID
    int n;
    int *id;
    double *group; // NAN: none
    int n_groups;
    int16_t *place; // index of the item by ID, -1: none; MATRIX_IDS_MAX of them
    size_t capacity;

    bool grouped; // a group begins a new row
    // layout: cells of `width` characters, `per_row` in a row, each for `per_cell` items
    int width, per_row, per_cell, rows;
    int *row, *column; // by index

    double *each; // by index: the value of each item in one frame; NAN: not measured

    // values: cells of the matrix now, or rows * columns over time; NAN: not measured; or MATRIX_ABSENT
    double *values;
    size_t values_capacity;
    double full; // the value of the hottest colour
};

// The items of the frame; false if it has none.
bool matrix_things(struct matrix_data *data, const struct matrix_spec *spec, const struct frame *frame);
// Lays them out in `width` characters and `height` rows: the widest cells that fit.
void matrix_layout(struct matrix_data *data, int width, int height);
// The same with a row for one or more items, and no columns.
void matrix_layout_rows(struct matrix_data *data, int height);
// The value of each cell of the layout, row by row, per_row in each.
void matrix_load(struct matrix_data *data, const struct matrix_measure *measure, const struct frame *frame);
// The values of each row for each of the frames, row by row, `columns` in each; missing frames are NULL.
void matrix_load_frames(struct matrix_data *data, const struct matrix_measure *measure,
                        const struct frame *const *frames, int columns);
// Fills `each`.
void matrix_load_each(struct matrix_data *data, const struct matrix_measure *measure, const struct frame *frame);
// One value of one item; NAN: not measured.
double matrix_value(const struct matrix_measure *measure, const struct frame *frame, int id);
void matrix_free(struct matrix_data *data);

// Heat of a value (0: nothing), and its step of a ramp of MATRIX_STEPS.
#define MATRIX_STEPS 8
uint8_t matrix_heat(double value, double full);
int matrix_step(double value, double full); // 0 (nothing) to MATRIX_STEPS
// At most three characters: "7", "100", "1.2", "34k", ".5M".
void matrix_number(enum unit unit, double value, char out[8]);

#endif
