// Hash join of tables by their keys, for parts and files: the cost grows with the sum of the rows.
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/table_private.h"

// A hash index of one further table.
struct index {
    const struct table_def *def;
    int outer[16]; // per key column: the column of that name in the first table
    const union cell **slots;
    size_t mask;
};

static uint64_t hash_cell(uint64_t hash, enum column_type type, union cell value) {
    if (type == COLUMN_NUMBER) {
        uint64_t bits = 0;
        if (value.num == value.num && value.num != 0) // all NANs are one key, and so are 0 and -0
            memcpy(&bits, &value.num, sizeof(bits));
        else if (value.num != value.num)
            bits = ~0ull;
        hash = (hash ^ bits) * 0x9e3779b97f4a7c15ull;
    } else {
        const char *bytes = text_bytes(value.text);
        for (size_t i = 0, length = text_length(value.text); i < length; i++)
            hash = (hash ^ (unsigned char)bytes[i]) * 0x100000001b3ull;
    }
    return hash ^ (hash >> 29);
}

// The slot of the row with these keys, or the free slot for it. `row` is of the index's table or (outer) of the first.
static size_t index_slot(const struct index *index, const union cell *row, bool outer) {
    const struct table_def *def = index->def;
    uint64_t hash = 0xcbf29ce484222325ull;
    for (uint16_t k = 0; k < def->n_keys; k++)
        hash = hash_cell(hash, def->columns[k].type, row[outer ? index->outer[k] : k]);
    size_t slot = (hash ^ (hash >> 32)) & index->mask;
    for (; index->slots[slot]; slot = (slot + 1) & index->mask) {
        uint16_t k = 0;
        while (k < def->n_keys &&
               cells_equal(def->columns[k].type, index->slots[slot][k], row[outer ? index->outer[k] : k]))
            k++;
        if (k == def->n_keys)
            break;
    }
    return slot;
}

// False when the table cannot be joined: a key that the first table lacks.
static bool index_build(struct index *index, const struct table *table, const struct table_def *first) {
    const struct table_def *def = index->def = table->def;
    if (def->n_keys > sizeof(index->outer) / sizeof(index->outer[0]))
        return false;
    for (uint16_t k = 0; k < def->n_keys; k++) {
        index->outer[k] = table_column(first, def->columns[k].name);
        if (index->outer[k] < 0 || first->columns[index->outer[k]].type != def->columns[k].type)
            return false;
    }
    size_t size = 16;
    while (size < table_rows(table) * 2)
        size *= 2;
    index->mask = size - 1;
    index->slots = xcalloc(size, sizeof(index->slots[0]));
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        size_t slot = index_slot(index, row, false);
        if (!index->slots[slot]) // the first of equal keys counts, as in table_find()
            index->slots[slot] = row;
    }
    return true;
}

static void join_columns(struct join *join) {
    size_t most = 0;
    for (uint16_t t = 0; t < join->n_tables; t++)
        most += join->defs[t]->n_columns;
    join->columns = xcalloc(most, sizeof(join->columns[0]));
    join->at = xcalloc(most, sizeof(join->at[0]));
    for (uint16_t t = 0; t < join->n_tables; t++)
        for (uint16_t c = 0; c < join->defs[t]->n_columns; c++) {
            const struct column *column = &join->defs[t]->columns[c];
            int worse = t > 0 && column->overrides ? join_column(join, column->overrides) : -1;
            if (worse >= 0 && join->columns[worse]->type == column->type) {
                join->at[worse].better_table = (uint8_t)t;
                join->at[worse].better = c;
            }
            if (t > 0 && join_column(join, column->name) >= 0) // a key, or a column that an earlier table has
                continue;
            join->columns[join->n_columns] = column;
            join->at[join->n_columns].table = (uint8_t)t;
            join->at[join->n_columns].column = c;
            join->n_columns++;
        }
}

struct join *join_new(const struct table *const *tables, const struct table_def *const *defs, uint16_t n_tables) {
    struct join *join = xcalloc(1, sizeof(*join));
    join->n_tables = n_tables < JOIN_MAX ? n_tables : JOIN_MAX;
    for (uint16_t t = 0; t < join->n_tables; t++) {
        join->tables[t] = tables[t];
        join->defs[t] = tables[t] ? tables[t]->def : defs[t];
    }
    join_columns(join);
    if (!join->n_tables || !join->tables[0])
        return join;
    join->n_rows = table_rows(join->tables[0]);
    join->rows = xcalloc(join->n_rows * join->n_tables, sizeof(join->rows[0]));
    size_t cursor = 0;
    for (size_t r = 0; r < join->n_rows; r++)
        join->rows[r * join->n_tables] = table_next(join->tables[0], &cursor);
    for (uint16_t t = 1; t < join->n_tables; t++) {
        struct index index = {0};
        if (!join->tables[t] || !index_build(&index, join->tables[t], join->defs[0]))
            continue;
        for (size_t r = 0; r < join->n_rows; r++) {
            const union cell **row = &join->rows[r * join->n_tables];
            row[t] = index.slots[index_slot(&index, row[0], true)];
        }
        free(index.slots);
    }
    return join;
}

void join_free(struct join *join) {
    if (!join)
        return;
    free(join->columns);
    free(join->at);
    free(join->rows);
    free(join);
}

union cell join_cell(const struct join *join, size_t row, uint16_t column) {
    const union cell *const *rows = &join->rows[row * join->n_tables];
    const union cell *cells = rows[join->at[column].better_table];
    if (join->at[column].better_table && cells && !cell_is_null(join->columns[column], cells[join->at[column].better]))
        return cells[join->at[column].better];
    cells = rows[join->at[column].table];
    return cells ? cells[join->at[column].column] : cell_null(join->columns[column]->type);
}

int join_column(const struct join *join, const char *name) {
    for (int i = 0; i < join->n_columns; i++)
        if (!strcmp(join->columns[i]->name, name))
            return i;
    return -1;
}
