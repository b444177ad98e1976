// The storage that tables, builders and the recording format share: reference-counted chunks of rows. A builder copies
// a chunk before it changes one that a sealed table holds.
#ifndef MODEL_TABLE_PRIVATE_H
#define MODEL_TABLE_PRIVATE_H

#include <stdatomic.h>

#include "model/table.h"

struct chunk {
    atomic_uint refs;   // the builder and every sealed table that has it
    uint16_t live;      // bit i: row i exists
    union cell cells[]; // TABLE_CHUNK_ROWS * n_columns; of rows that do not exist: nulls
};

struct table {
    const struct table_def *def;
    uint32_t n_rows, n_chunks;
    struct chunk *chunks[]; // NULL: no row in it
};

static inline union cell *chunk_row(const struct table_def *def, struct chunk *chunk, uint32_t row) {
    return &chunk->cells[(size_t)row * def->n_columns];
}

struct table *table_alloc(const struct table_def *def, uint32_t n_chunks); // without chunks and rows
struct chunk *chunk_new(const struct table_def *def);
struct chunk *chunk_ref(struct chunk *chunk);
void chunk_unref(const struct table_def *def, struct chunk *chunk);

#endif
