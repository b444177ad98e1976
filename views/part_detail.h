// The detail part: one row of a table in full, every column with its title; long texts stand below, wrapped. It takes
// no room until a table of the pane sends the user there (table_spec.detail), with the filter that names the row. For
// screens only: files have the row in its table.
#ifndef VIEWS_PART_DETAIL_H
#define VIEWS_PART_DETAIL_H

#include "views/rows.h"

struct detail_spec {
    struct rows_source source; // the tables of the part that leads here
    // Names of columns with a text that gets lines of its own, blank between, in this order. A chain of calls
    // ("inner < outer") gets a line a call.
    const char *lines;
};

extern const struct part_kind part_detail;

#endif
