// Horizontal bars and sparklines: eighths of a cell with Unicode, whole characters in ASCII. A value above 0 is always
// visible.
#ifndef VIEWS_BAR_H
#define VIEWS_BAR_H

#include "views/grid.h"

// A bar of `share` (0..1, clamped; NAN: empty) of the width, on blanks.
void bar_draw(struct area area, int x, int y, int width, double share, enum role role);

// Adjacent segments, in shares of the width. Boundaries are rounded so that the total length is right.
struct bar_segment {
    double share;
    enum role role;
    char ascii;  // used without Unicode, so that segments differ without colour too
    bool shaded; // with Unicode: shaded instead of a full block
};
void bar_stack(struct area area, int x, int y, int width, const struct bar_segment *segments, int n);

// One cell of a sparkline.
void spark_draw(struct area area, int x, int y, double share, enum role role);

#endif
