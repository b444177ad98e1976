// A heat map as a self-contained SVG document: title, axes, legend, a tooltip for every cell.
#ifndef VIEWS_HEAT_SVG_H
#define VIEWS_HEAT_SVG_H

#include "views/hist/heat_data.h"

// data: what to show; the counts are made here. False if there is nothing to draw.
bool heat_svg_write(struct part_context *ctx, struct heat_data *data, const struct hist_def *def,
                    const struct write_info *info, FILE *out);

#endif
