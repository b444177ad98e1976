// A row by its keys (see the header).
#include "views/row/key.h"

#include <stdio.h>
#include <string.h>

#include "views/filter.h"

static void key_add(struct row_key *key, const struct join *join, size_t row, uint16_t column) {
    if (key->n == ROW_KEY_MAX)
        return;
    key->columns[key->n] = join->columns[column];
    key->cells[key->n] = join_cell(join, row, column);
    if (key->columns[key->n]->type == COLUMN_TEXT)
        text_ref(key->cells[key->n].text);
    key->n++;
}

bool row_key_take(struct row_key *key, const struct join *join, size_t row, const char *same) {
    int beyond = same ? join_column(join, same) : -1;

    row_key_forget(key);
    for (uint16_t i = 0; i < join->defs[0]->n_keys; i++)
        key_add(key, join, row, i);
    if (beyond >= 0)
        key_add(key, join, row, (uint16_t)beyond);
    return key->n > 0;
}

void row_key_take_event(struct row_key *key, const struct join *join, size_t row) {
    row_key_forget(key);
    for (uint16_t i = 0; i < join->n_columns; i++)
        key_add(key, join, row, i);
}

void row_key_take_named(struct row_key *key, const struct join *join, size_t row, const char *names) {
    char copy[256], *save;

    row_key_forget(key);
    snprintf(copy, sizeof(copy), "%s", names ? names : "");
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        int column = join_column(join, name);
        if (column >= 0)
            key_add(key, join, row, (uint16_t)column);
    }
}

void row_key_forget(struct row_key *key) {
    for (uint16_t i = 0; i < key->n; i++)
        if (key->columns[i]->type == COLUMN_TEXT)
            text_unref(key->cells[i].text);
    key->n = 0;
}

void row_key_columns(const struct row_key *key, const struct table_def *def, int at[ROW_KEY_MAX]) {
    for (uint16_t i = 0; i < key->n; i++)
        at[i] = table_column(def, key->columns[i]->name);
}

bool row_key_is(const struct row_key *key, const int at[ROW_KEY_MAX], const union cell *row) {
    for (uint16_t i = 0; i < key->n; i++)
        if (at[i] >= 0 && !cells_equal(key->columns[i]->type, row[at[i]], key->cells[i]))
            return false;
    return true;
}

long row_key_place(const struct row_key *key, struct rows *rows) {
    uint16_t n_keys = rows_n_keys(rows), n = n_keys && n_keys < key->n ? n_keys : key->n;
    long place = n ? rows_place(rows, key->cells, n) : -1;

    for (uint16_t i = n; place >= 0 && i < key->n; i++) {
        int column = join_column(rows->join, key->columns[i]->name);
        if (column >= 0 &&
            !cells_equal(key->columns[i]->type, join_cell(rows->join, rows_at(rows, (size_t)place), (uint16_t)column),
                         key->cells[i]))
            return -1;
    }
    return place;
}

bool row_key_filter(const struct row_key *key, char *out, size_t size) {
    bool whole = true;

    out[0] = '\0';
    for (uint16_t i = 0; i < key->n; i++)
        whole &= filter_add(key->columns[i], key->cells[i], FILTER_EQUAL, out, size);
    return whole;
}
