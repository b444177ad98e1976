// The row part: one row of a table - a task, a CPU, a disk, a system call that does not return - alone on the screen.
// It has up to two pages: over time (time.h) and in full (full.h). It is there only after Enter on a row of a
// table of the same pane, whose spec names it (struct table_spec, opens), and Esc: back there.
#ifndef VIEWS_PART_ROW_H
#define VIEWS_PART_ROW_H

#include "views/jump.h"

struct row_spec {
    // The same tables as of the part that it is opened from. Of an event there is only the page in full, and the look
    // goes to its frame.
    struct rows_source source;
    const char *same;    // a column that, beyond the keys, must be the same over time: when a task started; or NULL
    const char *heading; // columns that say which row it is, blank between
    const char *shown;   // over time: columns of numbers, the most important first; NULL: there is no such page
    const char *lines;   // in full: columns with a text that gets lines of its own (full.h), or NULL
    struct jump jump;    // in full, Enter: to another pane
};

extern const struct part_kind part_row;

#endif
