// The table part: rows of one table of the frame, of several joined by their keys, or of a stream of events; sorted,
// filtered, searched, scrolled, with a column chooser. A view gives a struct table_spec; the schema comes with the
// frame.
#ifndef VIEWS_PART_TABLE_H
#define VIEWS_PART_TABLE_H

#include "views/jump.h"

struct table_spec {
    struct rows_source source;
    // Names of the columns to show, blank between, the most important first: on a narrow screen the last ones are left
    // out. NULL: all, in their order.
    const char *shown;
    // The column that always stands last and takes the rest of the line; NULL: the last text column of width 0.
    const char *rest;
    // So wide it becomes before the columns that stand behind it in `shown` have room; 0: no more than the others
    // leave.
    uint8_t rest_wants;
    const char *rest_or; // a column that stands in for that one on screens and in text where it is not measured
    // A column that is shown right after the first one, but only while it differs from it in some row (a thread's ID).
    const char *twin;
    // Enter: the part of this pane that shows the row, alone (views/row/part_row.h) or as what a filter that finds it
    // leaves; NULL: none.
    const char *opens;
    // Columns whose values make that filter, blank between ("group~": that contain it); NULL: the keys.
    const char *opens_by;
    const char *opens_note; // what to say then; NULL: that Esc: back
    const char *opens_none; // when no event in any frame is the row's; or NULL
    const char *chooses;    // a column: the histograms of the pane show what the selected row has there; or NULL
    struct jump jump;       // Enter: to another pane
    // How a cell is drawn; NULL or ROLE_TEXT: plain. Called for what is visible only.
    enum role (*role)(const struct join *join, size_t row, const struct column *column, union cell value);
    const char *legend;   // what its titles mean, for the right end of the rule above it where there is room; or NULL
    const char *left_out; // of a stream: what those that were not kept are; NULL: "older"
    const char *aside;    // with source.aside: what such rows are
    bool optional;        // takes no room while it has no row, and has had none for a minute
    const char *empty;    // what to say when there are no rows: "no task used CPU"; NULL: "nothing"
};

extern const struct part_kind part_table;

#endif
