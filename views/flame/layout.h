// Where the nodes of a folded tree stand in a flame graph: rows of cells, row 0 is the root. Boundaries are rounded
// cumulatively (x = floor(samples before * width / total of the parent)), so siblings tile without gap or overlap.
// Siblings of less than one cell are gathered in one cell after the others.
#ifndef VIEWS_FLAME_LAYOUT_H
#define VIEWS_FLAME_LAYOUT_H

#include "views/flame/fold.h"

struct flame_zoom {
    uint32_t node; // takes the whole width
    uint32_t rest; // so many times, only what was too narrow for a cell is laid out below it
};

struct flame_cell {
    uint32_t node;     // of gathered siblings: their parent
    uint32_t gathered; // 0: a node; else so many siblings
    int x, width;      // width >= 1
    uint64_t total;    // samples
    bool above;        // an ancestor of what the zoom shows
};

struct flame_layout {
    struct flame_cell *cells; // row by row, from left to right
    size_t n;
    size_t *first;   // of row r: first[r] .. first[r + 1] - 1
    size_t n_rows;   // 0: width is 0
    size_t zoom_row; // of the zoomed node, or of what was gathered below it
    struct flame_zoom zoom;
};

void flame_layout_make(struct flame_layout *layout, const struct fold *fold, struct flame_zoom zoom, int width);
void flame_layout_done(struct flame_layout *layout);
// The cell at that place, or NULL.
const struct flame_cell *flame_layout_at(const struct flame_layout *layout, size_t row, int x);
// The cell of a node; of the siblings gathered below it with `gathered`. NULL: it has none. *row may be NULL.
const struct flame_cell *flame_layout_find(const struct flame_layout *layout, const struct fold *fold, uint32_t node,
                                           bool gathered, size_t *row);

#endif
