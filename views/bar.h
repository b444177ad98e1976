// Horizontal bars and sparklines: eighths of a cell where the terminal has Unicode, whole characters in ASCII. What is
// more than nothing is never drawn as nothing.
#ifndef VIEWS_BAR_H
#define VIEWS_BAR_H

#include "views/grid.h"

// A bar of `share` (0..1, clamped; NAN: nothing) of the width, on blanks.
void bar_draw(struct area area, int x, int y, int width, double share, enum role role);

// Segments behind each other, in shares of the width. Boundaries are rounded so that the whole has the right length.
struct bar_segment {
    double share;
    enum role role;
    char ascii;  // what stands for it without Unicode, so that segments differ without colour too
    bool shaded; // with Unicode: a shade, not a full block
};
void bar_stack(struct area area, int x, int y, int width, const struct bar_segment *segments, int n);

// One cell of a sparkline.
void spark_draw(struct area area, int x, int y, double share, enum role role);

#endif
