// The row part: one row of a table - a task, a CPU, a disk, a blocked system call - alone on the screen. It has up to
// two pages: over time (time.h) and in full (full.h). It exists only after Enter on a row of a table of the same pane
// whose spec names it (struct table_spec, opens); Esc returns there.
#ifndef VIEWS_PART_ROW_H
#define VIEWS_PART_ROW_H

#include "views/jump.h"

struct row_spec {
    // The tables of the part that opens it. An event has only the page in full, and the look moves to its frame.
    struct rows_source source;
    const char *same;    // a further column that must be equal over time: the start time of a task; or NULL
    const char *heading; // columns that identify the row, separated by blanks
    const char *shown;   // over time: number columns, the most important first; NULL: no such page
    const char *lines;   // in full: text columns with lines of their own (full.h), or NULL
    struct jump jump;    // in full, Enter: to another pane
};

extern const struct part_kind part_row;

#endif
