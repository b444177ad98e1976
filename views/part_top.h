// The top part: who uses most, by several measures side by side: small tables over one table of the frame. For screens
// only: files get the whole table from its own pane.
#ifndef VIEWS_PART_TOP_H
#define VIEWS_PART_TOP_H

#include "views/view.h"

struct top_list {
    const char *title;      // "by CPU"
    const char *columns[2]; // their sum is the measure; the second may be NULL
};

struct top_spec {
    const char *table, *name, *id; // the table, and its columns that say who: "tasks", "comm", "pid"
    const struct top_list *lists;  // ends with title NULL
    int essential;                 // the first so many are shown below each other if need be, the others if wide enough
    const char *jump_pane;         // Enter goes there, filtered to the name
};

extern const struct part_kind part_top;

#endif
