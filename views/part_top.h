// The top part: the heaviest tasks by several measures, side by side: small tables over one table of the frame. For
// screens only: files get the whole table from its own pane.
#ifndef VIEWS_PART_TOP_H
#define VIEWS_PART_TOP_H

#include "views/view.h"

struct top_list {
    const char *title;      // "by CPU"
    const char *columns[2]; // their sum is the measure; the second may be NULL
};

struct top_spec {
    const char *table, *name, *id; // the table, and its columns that identify a row: "tasks", "comm", "pid"
    const struct top_list *lists;  // ends with title NULL
    int essential;                 // the first ones, stacked if necessary; the others only on a wide screen
    const char *jump_pane;         // Enter goes there, filtered to the name
};

extern const struct part_kind part_top;

#endif
