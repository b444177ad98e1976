// The elements of a matrix: a value, the mark of the cursor, the legend. Characters alone carry the value (the height
// of a block, a ramp in ASCII, or the number where there is room); colours refine it.
#ifndef VIEWS_MATRIX_DRAW_H
#define VIEWS_MATRIX_DRAW_H

#include "views/matrix_data.h"

void matrix_draw_value(struct area area, int x, int y, double value, double full);
void matrix_draw_mark(struct area area, int x, int y, int width); // the cursor
// At the left the smallest value of each block, at the right the item with the highest.
void matrix_draw_legend(struct area area, const struct matrix_spec *spec, const struct matrix_measure *measure,
                        struct matrix_data *data, const struct frame *frame, int y);

#endif
