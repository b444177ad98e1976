// The row part: one row of a table over time - a task, a CPU, a disk - as a small chart for each of its numbers, and a
// line for each frame. A part of this kind has `drill` set: it is on the screen only after Enter on a row of a table of
// the same pane, whose spec names it (struct table_spec, drill), and Esc goes back there.
#ifndef VIEWS_PART_ROW_H
#define VIEWS_PART_ROW_H

#include "views/rows.h"

struct row_spec {
    struct rows_source source; // the same tables as of the part that it is opened from
    const char *same;    // a column that, beyond the keys, must be the same over time: when a task started; or NULL
    const char *heading; // columns that say which row it is, blank between
    const char *shown;   // columns of numbers over time, the most important first
};

extern const struct part_kind part_row;

// Shows that row (of the join) from now on. False when the part has no such row kind.
bool part_row_open(struct part_context *ctx, const char *part, const struct join *join, size_t row);

#endif
