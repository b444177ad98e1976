// Rows: what every table on a screen or in a file is made of. Joins the tables of a frame, filters, orders, and keeps
// the result as long as the frame is the same. Orders only as much as is asked for: ten thousand rows cost the first
// screen one selection, not a whole sort. Rows that compare equal stand in the order of their keys, so they stay put.
#ifndef VIEWS_ROWS_H
#define VIEWS_ROWS_H

#include <stdio.h>

#include "views/view.h"

struct rows_source {
    const char *tables[JOIN_MAX]; // names in the frame; joined by the key columns of the first
    bool stream;                  // the one name is a stream of events: newest first unless sorted otherwise
    const char *sort;             // the default order: "cpu_pct", "-pid" (ascending); NULL: as the table has them
    double floor; // in that order, unless somebody asked for it, smaller values are alike: noise does not jump about
    const char *then;  // a number column: the order of rows that are equal by the first, largest first; then the keys
    uint16_t limit;    // at most so many rows; 0: all
    const char *aside; // of a stream: a text column that says of a row why it was kept though it is none of the newest
    bool positive;     // only rows whose value in the column of `sort` or `then` is measured and above 0
};

struct rows_key {
    double primary, tie; // of the sort column (numbers), of `then` or the first key (numbers)
    uint32_t row;        // of the join
};

struct rows {
    const struct join *join; // NULL: the frame does not have the table
    size_t n;                // rows that are left after filter, `positive` and `limit`
    size_t n_all;            // rows of the table
    uint64_t left_out;       // of a stream: events that were not kept
    size_t n_aside;          // of a stream: rows that are none of the newest
    bool told;               // a stream that the frame before had too: files must not have its events twice
    bool unfiltered;         // the filter only names columns that the table does not have
    bool terms;              // the filter names columns of the table
    // private
    const struct frame *frame;
    struct join *owned;
    struct rows_key *keys;
    size_t n_keys, n_ordered, capacity;
    char filter[FILTER_SIZE];
    char sort[64];
    bool ascending, asked; // asked: the order is not the source's own
    int sort_column;
    uint64_t generation; // changes whenever the rows do
};

// Makes rows fit the frame, filter and order (sort NULL or "": the source's own). Cheap when nothing changed.
// The rows hold a reference to the frame until the next rows_load or rows_done; they start zeroed.
void rows_load(struct rows *rows, const struct rows_source *source, const struct frame *frame, const char *filter,
               const char *sort, bool ascending);
void rows_done(struct rows *rows);

// Index into the join of the row at that place of the order; place < rows->n.
size_t rows_at(struct rows *rows, size_t place);
// The place of the row whose leading n cells equal key's, or -1.
long rows_place(struct rows *rows, const union cell *key, uint16_t n_key);
// The cells of a row that identify it: how many, at the front of the join's columns.
uint16_t rows_n_keys(const struct rows *rows);
// True when the row holds the text (case ignored) in one of its texts, or the digits in one of its keys.
bool row_contains(const struct join *join, uint16_t n_keys, size_t row, const char *text);
// A value fit for a screen: formatted and escaped. Returns the length.
size_t cell_text(const struct column *column, union cell value, char *out, size_t size);
// The same of a row's cell: with ">" before a value that the row calls a lower bound.
size_t row_text(const struct join *join, size_t row, uint16_t column, char *out, size_t size);

// What heads it on a screen.
const char *column_title(const struct column *column);

// Whether a list of names with blanks between ("name" or "name=label") has this one.
bool is_listed(const char *list, const char *name);

// The parts of files that all tables share.
void rows_write_csv(struct rows *rows, struct part_context *ctx, const char *name, FILE *out);
void rows_write_json(struct rows *rows, struct part_context *ctx, const char *name, bool events,
                     struct json_object *pane);
void rows_describe(const struct rows_source *source, const struct frame *schema, const char *name, FILE *out);
// Of a part whose spec begins with a struct rows_source.
size_t rows_sources(const struct part *part, const char **names, size_t max);

#endif
