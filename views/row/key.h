// A row named by its keys, so that it can be found in another frame or order: the selected row, the row shown over
// time.
#ifndef VIEWS_ROW_KEY_H
#define VIEWS_ROW_KEY_H

#include "views/rows.h"

#define ROW_KEY_MAX 8

struct row_key {
    uint16_t n; // 0: no row
    const struct column *columns[ROW_KEY_MAX];
    union cell cells[ROW_KEY_MAX]; // texts are referenced
};

// Takes the keys of that row of the join, and drops the old ones. `same`: a further column that must be equal; NULL, or
// not in the join: none. False if its table has no keys.
bool row_key_take(struct row_key *key, const struct join *join, size_t row, const char *same);
// The same for an event, which has no keys: all of its values.
void row_key_take_event(struct row_key *key, const struct join *join, size_t row);
// By the columns of these names, separated by blanks; NULL: none.
void row_key_take_named(struct row_key *key, const struct join *join, size_t row, const char *names);
void row_key_forget(struct row_key *key);
// The key's columns in a table (-1: missing), and whether a row of that table is the one.
void row_key_columns(const struct row_key *key, const struct table_def *def, int at[ROW_KEY_MAX]);
bool row_key_is(const struct row_key *key, const int at[ROW_KEY_MAX], const union cell *row);
// Its place in the order of the rows; -1: not among them.
long row_key_place(const struct row_key *key, struct rows *rows);
// A filter that finds it; false if a part of it is left out (filter_add).
bool row_key_filter(const struct row_key *key, char *out, size_t size);

#endif
