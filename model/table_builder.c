// Building tables across frames. A chunk that a sealed table shares is copied at its first change, so unchanged rows
// cost a frame one pointer per TABLE_CHUNK_ROWS rows. One thread per builder; any thread may drop a sealed table.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "model/table_private.h"

#define CHUNK_FULL ((1u << TABLE_CHUNK_ROWS) - 1)

struct table_builder {
    const struct table_def *def;
    struct chunk **chunks; // NULL: no row in it
    uint32_t n_chunks, capacity;
    uint32_t n_rows;
    uint32_t first_free; // no chunk before this one has room: rows stay dense without moving
};

struct table_builder *table_builder_new(const struct table_def *def) {
    struct table_builder *builder = xcalloc(1, sizeof(*builder));
    builder->def = table_def_ref(def);
    return builder;
}

void table_builder_free(struct table_builder *builder) {
    if (!builder)
        return;
    table_builder_clear(builder);
    table_def_unref(builder->def);
    free(builder->chunks);
    free(builder);
}

void table_builder_clear(struct table_builder *builder) {
    for (uint32_t i = 0; i < builder->n_chunks; i++)
        chunk_unref(builder->def, builder->chunks[i]);
    builder->n_chunks = builder->n_rows = builder->first_free = 0;
}

// The chunk, shared with no table. Acquire: pairs with the release in chunk_unref() of a dropped table's last reads.
static struct chunk *chunk_own(struct table_builder *builder, uint32_t index) {
    const struct table_def *def = builder->def;
    struct chunk *chunk = builder->chunks[index];
    if (atomic_load_explicit(&chunk->refs, memory_order_acquire) == 1)
        return chunk;
    struct chunk *copy = chunk_new(def);
    copy->live = chunk->live;
    memcpy(copy->cells, chunk->cells, sizeof(union cell) * TABLE_CHUNK_ROWS * def->n_columns);
    for (uint16_t column = 0; column < def->n_columns; column++) {
        if (def->columns[column].type != COLUMN_TEXT)
            continue;
        for (uint32_t row = 0; row < TABLE_CHUNK_ROWS; row++)
            if (copy->live & (1u << row))
                text_ref(chunk_row(def, copy, row)[column].text);
    }
    chunk_unref(def, chunk);
    return builder->chunks[index] = copy;
}

static uint32_t chunk_with_room(struct table_builder *builder) {
    uint32_t i = builder->first_free;
    while (i < builder->n_chunks && builder->chunks[i] && builder->chunks[i]->live == CHUNK_FULL)
        i++;
    builder->first_free = i;
    if (i == builder->capacity) {
        builder->capacity = builder->capacity ? builder->capacity * 2 : 4;
        builder->chunks = xrealloc(builder->chunks, sizeof(struct chunk *) * builder->capacity);
    }
    if (i == builder->n_chunks)
        builder->chunks[builder->n_chunks++] = NULL;
    if (!builder->chunks[i])
        builder->chunks[i] = chunk_new(builder->def);
    return i;
}

uint32_t table_builder_add(struct table_builder *builder) {
    const struct table_def *def = builder->def;
    uint32_t index = chunk_with_room(builder);
    struct chunk *chunk = chunk_own(builder, index);
    uint32_t row = (uint32_t)__builtin_ctz(~(uint32_t)chunk->live);
    union cell *cells = chunk_row(def, chunk, row);
    for (uint16_t column = 0; column < def->n_columns; column++)
        cells[column] = cell_null(def->columns[column].type);
    chunk->live |= (uint16_t)(1u << row);
    builder->n_rows++;
    return index * TABLE_CHUNK_ROWS + row;
}

void table_builder_remove(struct table_builder *builder, uint32_t slot) {
    const struct table_def *def = builder->def;
    uint32_t index = slot / TABLE_CHUNK_ROWS, row = slot % TABLE_CHUNK_ROWS;
    if (index >= builder->n_chunks || !builder->chunks[index] || !(builder->chunks[index]->live & (1u << row)))
        return;
    builder->n_rows--;
    if (index < builder->first_free)
        builder->first_free = index;
    if (builder->chunks[index]->live == (1u << row)) { // the last row of the chunk: freed without a copy
        chunk_unref(def, builder->chunks[index]);
        builder->chunks[index] = NULL;
        while (builder->n_chunks && !builder->chunks[builder->n_chunks - 1])
            builder->n_chunks--;
        return;
    }
    struct chunk *chunk = chunk_own(builder, index);
    union cell *cells = chunk_row(def, chunk, row);
    for (uint16_t column = 0; column < def->n_columns; column++)
        if (def->columns[column].type == COLUMN_TEXT) {
            text_unref(cells[column].text);
            cells[column].text = NULL;
        }
    chunk->live &= (uint16_t) ~(1u << row);
}

const union cell *table_builder_row(const struct table_builder *builder, uint32_t slot) {
    return chunk_row(builder->def, builder->chunks[slot / TABLE_CHUNK_ROWS], slot % TABLE_CHUNK_ROWS);
}

void table_builder_set_num(struct table_builder *builder, uint32_t slot, uint16_t column, double value) {
    double old = table_builder_row(builder, slot)[column].num;
    if (old == value || (isnan(old) && isnan(value)))
        return;
    struct chunk *chunk = chunk_own(builder, slot / TABLE_CHUNK_ROWS);
    chunk_row(builder->def, chunk, slot % TABLE_CHUNK_ROWS)[column].num = value;
}

void table_builder_set_text(struct table_builder *builder, uint32_t slot, uint16_t column, const struct text *take) {
    union cell value = {.text = take};
    if (cells_equal(COLUMN_TEXT, table_builder_row(builder, slot)[column], value)) {
        text_unref(take);
        return;
    }
    struct chunk *chunk = chunk_own(builder, slot / TABLE_CHUNK_ROWS);
    union cell *cell = &chunk_row(builder->def, chunk, slot % TABLE_CHUNK_ROWS)[column];
    text_unref(cell->text);
    *cell = value;
}

size_t table_builder_rows(const struct table_builder *builder) {
    return builder->n_rows;
}

struct table *table_builder_seal(struct table_builder *builder) {
    struct table *table = table_alloc(builder->def, builder->n_chunks);
    table->n_rows = builder->n_rows;
    for (uint32_t i = 0; i < builder->n_chunks; i++)
        table->chunks[i] = chunk_ref(builder->chunks[i]);
    return table;
}
