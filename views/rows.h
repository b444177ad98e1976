// Rows: the basis of every table on a screen or in a file. Joins the tables of a frame, filters, orders, and keeps the
// result while the frame is the same. Orders only as far as requested: ten thousand rows cost the first screen one
// selection, not a whole sort. Equal rows are in the order of their keys, so they stay put.
#ifndef VIEWS_ROWS_H
#define VIEWS_ROWS_H

#include <stdio.h>

#include "views/view.h"

struct rows_source {
    const char *tables[JOIN_MAX]; // names in the frame; joined by the key columns of the first
    bool stream;                  // its single table is a stream of events: newest first unless sorted otherwise
    const char *sort;             // the default order: "cpu_pct", "-pid" (ascending); NULL: as the table has them
    double floor;                 // in the default order smaller values are equal, so that noise does not reorder rows
    const char *then;             // a number column that breaks ties, largest first; then the keys
    uint16_t limit;               // maximum number of rows; 0: all
    const char *aside;            // of a stream: a text column with the reason why an older row was kept
    const char *only;             // a text column: only rows in which it is measured; "-result": only the others
    bool positive;                // only rows whose value in the column of `sort` or `then` is measured and above 0
};

struct rows_key {
    double primary, tie; // of the sort column (numbers), of `then` or the first key (numbers)
    uint32_t row;        // of the join
};

struct rows {
    const struct join *join; // NULL: the frame does not have the table
    size_t n;                // rows left after filter, `positive` and `limit`
    size_t n_all;            // rows of the table
    uint64_t left_out;       // of a stream: events that were not kept
    size_t n_aside;          // of a stream: kept rows that are not among the newest
    bool repeated;           // reported once, in the previous frame: files must not repeat the rows
    bool unfiltered;         // the filter has only columns that the table lacks
    bool terms;              // the filter names columns of the table
    // private
    const struct frame *frame;
    struct join *owned;
    struct rows_key *keys;
    size_t n_keys, n_ordered, capacity;
    char filter[FILTER_SIZE];
    char sort[64];
    bool ascending, user_sorted; // user_sorted: not the source's own order
    int sort_column;
    uint64_t generation; // changes whenever the rows do
};

// Makes the rows for the frame, filter and order (sort NULL or "": the source's own). Cheap if nothing changed. The
// Whether the first table has a row for the source, without its filter. frame: not NULL.
bool rows_any(const struct rows_source *source, const struct frame *frame);
// rows hold a reference to the frame until the next rows_load or rows_done; they start zeroed.
void rows_load(struct rows *rows, const struct rows_source *source, const struct frame *frame, const char *filter,
               const char *sort, bool ascending);
void rows_done(struct rows *rows);

// Index into the join of the row at that place of the order; place < rows->n.
size_t rows_at(struct rows *rows, size_t place);
// The place of the row whose first n cells equal key's, or -1.
long rows_place(struct rows *rows, const union cell *key, uint16_t n_key);
// The number of cells, at the front of the join's columns, that identify a row.
uint16_t rows_n_keys(const struct rows *rows);
// True if one of the row's texts contains the text (case ignored), or one of its keys the digits.
bool row_contains(const struct join *join, uint16_t n_keys, size_t row, const char *text);
// A value for a screen: formatted and escaped. Returns the length.
size_t cell_text(const struct column *column, union cell value, char *out, size_t size);
// The same of a row's cell, with ">" before a lower bound.
size_t row_text(const struct join *join, size_t row, uint16_t column, char *out, size_t size);

// The heading on a screen.
const char *column_title(const struct column *column);

// Whether a list of names separated by blanks ("name" or "name=label") contains this one.
bool is_listed(const char *list, const char *name);

// The file output that all tables share.
void rows_write_csv(struct rows *rows, struct part_context *ctx, const char *name, FILE *out);
void rows_write_json(struct rows *rows, struct part_context *ctx, const char *name, bool events,
                     struct json_object *pane);
void rows_describe(const struct rows_source *source, const struct frame *schema, const char *name, FILE *out);
// Of a part whose spec begins with a struct rows_source.
size_t rows_sources(const struct part *part, const char **names, size_t max);

#endif
