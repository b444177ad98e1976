// What the files of the table share: chunks of rows, counted references, copied by a builder only when a sealed table
// has them too.
#ifndef MODEL_TABLE_PRIVATE_H
#define MODEL_TABLE_PRIVATE_H

#include <stdatomic.h>

#include "model/table.h"

struct chunk {
    atomic_uint refs;   // the builder and every sealed table that has it
    uint16_t live;      // bit i: row i is there
    union cell cells[]; // TABLE_CHUNK_ROWS * n_columns; of rows that are not there: nulls
};

struct table {
    const struct table_def *def;
    uint32_t n_rows, n_chunks;
    struct chunk *chunks[]; // NULL: no row in it
};

static inline union cell *chunk_row(const struct table_def *def, struct chunk *chunk, uint32_t row) {
    return &chunk->cells[(size_t)row * def->n_columns];
}

struct chunk *chunk_new(const struct table_def *def);
void chunk_unref(const struct table_def *def, struct chunk *chunk);

#endif
