// Lays out a folded tree row by row, so no recursion is needed for deep stacks. A row has at most as many cells as the
// screen has columns.
#include "views/flame/layout.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

static void cell_add(struct flame_layout *layout, size_t *capacity, struct flame_cell cell) {
    if (layout->n == *capacity) {
        *capacity *= 2;
        layout->cells = xrealloc(layout->cells, *capacity * sizeof(*layout->cells));
    }
    layout->cells[layout->n++] = cell;
}

static void row_end(struct flame_layout *layout, size_t *capacity) {
    if (layout->n_rows + 2 > *capacity) {
        *capacity *= 2;
        layout->first = xrealloc(layout->first, *capacity * sizeof(*layout->first));
    }
    layout->first[++layout->n_rows] = layout->n;
}

// Without overflow: a weight may be nanoseconds.
static int scaled(uint64_t before, int width, uint64_t total) {
    return total ? (int)((unsigned __int128)before * (unsigned)width / total) : 0;
}

static bool is_narrow(uint64_t samples, int width, uint64_t total) {
    return (unsigned __int128)samples * (unsigned)width < total;
}

struct below {
    const struct fold *fold;
    uint32_t node;
    int x, width;
    uint64_t total; // that the width stands for
    uint64_t limit; // children of this total or more are left out
};

// The children of a node: the wide ones in order, then the narrow ones in one cell. A narrow child that has no other
// beside it stands for itself.
static void place_children(struct flame_layout *layout, size_t *capacity, const struct below *below) {
    const struct fold_node *nodes = below->fold->nodes;
    uint64_t before = 0, narrow = 0;
    uint32_t n_narrow = 0, only = 0;

    for (uint32_t child = nodes[below->node].first_child; child; child = nodes[child].next) {
        uint64_t total = nodes[child].total;
        if (!total || total >= below->limit)
            continue;
        if (is_narrow(total, below->width, below->total)) {
            narrow += total;
            n_narrow++;
            only = child;
            continue;
        }
        int from = scaled(before, below->width, below->total), to = scaled(before + total, below->width, below->total);
        cell_add(layout, capacity,
                 (struct flame_cell){.node = child, .x = below->x + from, .width = to - from, .total = total});
        before += total;
    }
    if (!n_narrow)
        return;
    int from = scaled(before, below->width, below->total), to = scaled(before + narrow, below->width, below->total);
    // Less than a cell in all: it takes one of the parent's own samples, which then has at least a part of a cell.
    if (to == from && to < below->width)
        to++;
    if (to == from)
        return;
    cell_add(layout, capacity,
             (struct flame_cell){.node = n_narrow == 1 ? only : below->node,
                                 .gathered = n_narrow == 1 ? 0 : n_narrow,
                                 .x = below->x + from,
                                 .width = to - from,
                                 .total = narrow});
}

// The sum of the children with a total below the limit, and their number.
static uint64_t sum_below(const struct fold *fold, uint32_t node, uint64_t limit, uint32_t *n) {
    uint64_t sum = 0;

    *n = 0;
    for (uint32_t child = fold->nodes[node].first_child; child; child = fold->nodes[child].next)
        if (fold->nodes[child].total && fold->nodes[child].total < limit) {
            sum += fold->nodes[child].total;
            ++*n;
        }
    return sum;
}

// Children of that total or more are left out; zoom->rest becomes how often something was gathered indeed.
static uint64_t rest_limit(const struct fold *fold, struct flame_zoom *zoom, int width) {
    uint64_t limit = UINT64_MAX, total = fold->nodes[zoom->node].total;
    uint32_t n, done = 0;

    for (; done < zoom->rest; done++) {
        uint64_t next = (uint64_t)(((unsigned __int128)total + (unsigned)width - 1) / (unsigned)width);
        uint64_t sum = sum_below(fold, zoom->node, next, &n);
        if (n < 2 || next >= limit)
            break;
        limit = next;
        total = sum;
    }
    zoom->rest = done;
    return limit;
}

static void place_above(struct flame_layout *layout, const struct fold *fold, int width, size_t *capacity,
                        size_t *row_capacity) {
    uint32_t zoom = layout->zoom.node, depth = fold->nodes[zoom].depth;
    uint32_t *path = xmalloc((depth + 1) * sizeof(*path));

    for (uint32_t i = depth + 1, node = zoom; i-- > 0; node = fold->nodes[node].parent)
        path[i] = node;
    for (uint32_t i = 0; i <= depth; i++) {
        cell_add(layout, capacity,
                 (struct flame_cell){.node = path[i],
                                     .width = width,
                                     .total = fold->nodes[path[i]].total,
                                     .above = i < depth || layout->zoom.rest});
        row_end(layout, row_capacity);
    }
    free(path);
}

void flame_layout_make(struct flame_layout *layout, const struct fold *fold, struct flame_zoom zoom, int width) {
    size_t capacity = 256, row_capacity = 64;

    flame_layout_done(layout);
    *layout = (struct flame_layout){.zoom = zoom};
    if (width <= 0)
        return;
    layout->cells = xmalloc(capacity * sizeof(*layout->cells));
    layout->first = xmalloc(row_capacity * sizeof(*layout->first));
    layout->first[0] = 0;
    uint64_t limit = rest_limit(fold, &layout->zoom, width);
    place_above(layout, fold, width, &capacity, &row_capacity);
    if (layout->zoom.rest) {
        uint32_t n;
        uint64_t total = sum_below(fold, zoom.node, limit, &n);
        cell_add(layout, &capacity,
                 (struct flame_cell){.node = zoom.node, .gathered = n, .width = width, .total = total});
        row_end(layout, &row_capacity);
    }
    layout->zoom_row = layout->n_rows - 1;
    for (size_t row = layout->zoom_row; layout->first[row] < layout->n; row++) {
        size_t end = layout->n;
        for (size_t i = layout->first[row]; i < end; i++) {
            struct flame_cell cell = layout->cells[i];
            if (cell.gathered && row != layout->zoom_row)
                continue;
            place_children(layout, &capacity,
                           &(struct below){.fold = fold,
                                           .node = cell.node,
                                           .x = cell.x,
                                           .width = cell.width,
                                           .total = cell.total,
                                           .limit = row == layout->zoom_row ? limit : UINT64_MAX});
        }
        if (layout->n == end)
            break;
        row_end(layout, &row_capacity);
    }
}

void flame_layout_done(struct flame_layout *layout) {
    free(layout->cells);
    free(layout->first);
    *layout = (struct flame_layout){0};
}

const struct flame_cell *flame_layout_at(const struct flame_layout *layout, size_t row, int x) {
    if (row >= layout->n_rows)
        return NULL;
    for (size_t i = layout->first[row]; i < layout->first[row + 1]; i++)
        if (x >= layout->cells[i].x && x < layout->cells[i].x + layout->cells[i].width)
            return &layout->cells[i];
    return NULL;
}

const struct flame_cell *flame_layout_find(const struct flame_layout *layout, const struct fold *fold, uint32_t node,
                                           bool gathered, size_t *row) {
    size_t at = fold->nodes[node].depth + (gathered ? 1 : 0);

    // Below gathered siblings that are zoomed, every row stands one lower than the depth.
    size_t last = layout->zoom.rest ? at + 1 : at;
    for (size_t r = at; r <= last && r < layout->n_rows; r++)
        for (size_t i = layout->first[r]; i < layout->first[r + 1]; i++)
            if (layout->cells[i].node == node && !layout->cells[i].gathered == !gathered) {
                if (row)
                    *row = r;
                return &layout->cells[i];
            }
    return NULL;
}
