// The table part: rows of one table of the frame, of several joined by their keys, or of a stream of events; sorted,
// filtered, searched, scrolled, with a column chooser. A view gives a struct table_spec; the schema comes with the
// frame.
#ifndef VIEWS_PART_TABLE_H
#define VIEWS_PART_TABLE_H

#include "views/jump.h"

// Words about the selected row, which are asked for.
struct table_about {
    const struct code_ask *(*ask)(struct part_context *ctx, const struct join *join, size_t row);
    void (*text)(const struct part_context *ctx, const struct join *join, size_t row, char *out, size_t size);
};

struct table_spec {
    struct rows_source source;
    // Names of the columns to show, separated by blanks, the most important first: a narrow screen leaves out the last
    // ones. NULL: all, in their order.
    const char *shown;
    // The column that is always last and takes the rest of the line; NULL: the last text column of width 0.
    const char *rest;
    // Its width before columns after it in `shown` get room; 0: only what the others leave.
    uint8_t rest_wants;
    const char *rest_or; // the column shown instead of that one, on screens and in text, where it is not measured
    // A column shown after the first one, but only while it differs from it in some row (a thread's ID).
    const char *twin;
    // Enter: the part of this pane that shows the row, alone (views/row/part_row.h) or as a list filtered to the row;
    // NULL: none.
    const char *opens;
    // Columns whose values make that filter, separated by blanks ("cgroup~": contains the value); NULL: the keys.
    const char *opens_by;
    const char *toggles;    // Enter: a column, whose value is added to or removed from what is recorded; or NULL
    const char *parent;     // the key u: a column with the parent's PID, whose row is selected; or NULL
    const char *removes;    // the key D: a column, whose value is removed from what is recorded; or NULL
    bool removes_function;  // that is a pattern of functions, not a probe
    const char *removed_as; // with `removes`: a column with its name, by which other lines use it
    const char *annotates;  // the part that the key a opens for the row; NULL: none
    const char *opens_note; // the message then; NULL: "Esc: back"
    const char *opens_none; // the message if no frame has an event of the row; or NULL
    const char *chooses;    // a column: the histograms of the pane show the selected row's value of it; or NULL
    struct jump jump;       // Enter: to another pane
    // How a cell is drawn; NULL or ROLE_TEXT: plain. Called for visible cells only.
    enum role (*role)(const struct join *join, size_t row, const struct column *column, union cell value);
    const char *legend;   // explains its titles, at the right end of the rule above it if there is room; or NULL
    const char *left_out; // of a stream: names the events that were not kept; NULL: "older"
    const char *aside;    // with source.aside: names those rows
    const struct table_about *about; // in place of the legend while a row is selected; or NULL
    size_t text_rows;                // of text; 0: all
    bool optional;                   // takes no room after a minute without rows
    const char *empty;               // the text without rows: "no task used CPU"; NULL: "nothing"
};

extern const struct part_kind part_table;

#endif
