// A heat map as an SVG document that needs nothing else: title, axes, legend, a tooltip for every cell.
#ifndef VIEWS_HEAT_SVG_H
#define VIEWS_HEAT_SVG_H

#include "views/hist/heat_data.h"

// data: what to show; the counts are made here. False when there is nothing to draw.
bool heat_svg_write(struct part_context *ctx, struct heat_data *data, const struct hist_def *def,
                    const struct write_info *info, FILE *out);

#endif
