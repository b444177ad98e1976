// What a matrix is drawn with: a value, the mark of the cursor, the legend. What a colour says a character says too:
// the height of a block, a ramp of characters in ASCII, or the number itself where there is room.
#ifndef VIEWS_MATRIX_DRAW_H
#define VIEWS_MATRIX_DRAW_H

#include "views/matrix_data.h"

void matrix_draw_value(struct area area, int x, int y, double value, double full);
void matrix_draw_mark(struct area area, int x, int y, int width); // the cursor
// At the left which value begins which block, at the right where the highest is.
void matrix_draw_legend(struct area area, const struct matrix_spec *spec, const struct matrix_measure *measure,
                        struct matrix_data *data, const struct frame *frame, int y);

#endif
