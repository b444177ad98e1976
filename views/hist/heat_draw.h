// A heat map on a grid of cells: its axis, its cells, the times below them and the legend. What heat_svg.h is for
// files.
#ifndef VIEWS_HEAT_DRAW_H
#define VIEWS_HEAT_DRAW_H

#include "views/hist/heat_data.h"

#define HEAT_LABEL_WIDTH 7 // of the axis: the cells begin there

// The character that says how hot where colours cannot; heat >= HEAT_LOW.
uint32_t heat_char(uint8_t heat, bool ascii);
void heat_draw_axis(struct area area, const struct heat_data *data, const struct hist_def *def);
// marks: the median and the 99th percentile of each column.
void heat_draw_cells(struct area area, const struct heat_data *data, bool marks);
void heat_draw_times(struct area area, const struct heat_data *data, int y, bool live);
// Which count begins which shade, up to `most`; and a text at the right end ("": none).
void heat_draw_legend(struct area area, int y, uint32_t most, const char *right);

#endif
