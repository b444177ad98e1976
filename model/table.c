// Sealed tables, their chunks, and definitions made at run time. Nothing here changes a shared chunk.
#include "model/table.h"

#include <string.h>

#include "model/mem.h"
#include "model/table_private.h"

// ---- definitions made at run time ----

// In one block: the count, the columns, the strings.
struct table_def_count {
    struct table_def def;
    atomic_uint refs;
    size_t size;
    struct column columns[];
};

static size_t string_size(const char *string) {
    return string ? strlen(string) + 1 : 0;
}

static const char *string_put(char **end, const char *string) {
    if (!string)
        return NULL;
    char *at = *end;
    *end = stpcpy(at, string) + 1;
    return at;
}

const struct table_def *table_def_new(const struct table_def *values) {
    size_t columns = sizeof(struct column) * values->n_columns;
    size_t size = sizeof(struct table_def_count) + columns + string_size(values->name) + string_size(values->help);
    for (uint16_t i = 0; i < values->n_columns; i++) {
        const struct column *from = &values->columns[i];
        size += string_size(from->name) + string_size(from->title) + string_size(from->help) +
                string_size(from->overrides) + string_size(from->lower_bound_flag);
    }
    struct table_def_count *made = mem_alloc(size);
    char *end = (char *)made->columns + columns;
    atomic_init(&made->refs, 1);
    made->size = size;
    made->def = *values;
    made->def.columns = made->columns;
    made->def.count = made;
    made->def.name = string_put(&end, values->name);
    made->def.help = string_put(&end, values->help);
    for (uint16_t i = 0; i < values->n_columns; i++) {
        struct column *to = &made->columns[i];
        *to = values->columns[i];
        to->name = string_put(&end, to->name);
        to->title = string_put(&end, to->title);
        to->help = string_put(&end, to->help);
        to->overrides = string_put(&end, to->overrides);
        to->lower_bound_flag = string_put(&end, to->lower_bound_flag);
    }
    return &made->def;
}

const struct table_def *table_def_ref(const struct table_def *def) {
    if (def && def->count)
        atomic_fetch_add_explicit(&def->count->refs, 1, memory_order_relaxed);
    return def;
}

void table_def_unref(const struct table_def *def) {
    if (def && def->count && atomic_fetch_sub_explicit(&def->count->refs, 1, memory_order_acq_rel) == 1)
        mem_free(def->count, def->count->size);
}

// ---- chunks and tables ----

static size_t chunk_size(const struct table_def *def) {
    return sizeof(struct chunk) + sizeof(union cell) * TABLE_CHUNK_ROWS * def->n_columns;
}

struct chunk *chunk_new(const struct table_def *def) {
    struct chunk *chunk = mem_alloc(chunk_size(def));
    atomic_init(&chunk->refs, 1);
    return chunk;
}

void chunk_unref(const struct table_def *def, struct chunk *chunk) {
    // Release by all, acquire by the last: all reads are complete before the memory is freed.
    if (!chunk || atomic_fetch_sub_explicit(&chunk->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (uint16_t column = 0; column < def->n_columns; column++) {
        if (def->columns[column].type != COLUMN_TEXT)
            continue;
        for (uint32_t row = 0; row < TABLE_CHUNK_ROWS; row++)
            if (chunk->live & (1u << row))
                text_unref(chunk_row(def, chunk, row)[column].text);
    }
    mem_free(chunk, chunk_size(def));
}

void table_free(struct table *table) {
    if (!table)
        return;
    for (uint32_t i = 0; i < table->n_chunks; i++)
        chunk_unref(table->def, table->chunks[i]);
    table_def_unref(table->def);
    mem_free(table, sizeof(*table) + sizeof(table->chunks[0]) * table->n_chunks);
}

struct table *table_alloc(const struct table_def *def, uint32_t n_chunks) {
    struct table *table = mem_alloc(sizeof(*table) + sizeof(table->chunks[0]) * n_chunks);
    table->def = table_def_ref(def);
    table->n_chunks = n_chunks;
    return table;
}

struct chunk *chunk_ref(struct chunk *chunk) {
    // Relaxed: the caller already holds a reference.
    if (chunk)
        atomic_fetch_add_explicit(&chunk->refs, 1, memory_order_relaxed);
    return chunk;
}

const struct table_def *table_def(const struct table *table) {
    return table->def;
}

size_t table_rows(const struct table *table) {
    return table->n_rows;
}

const union cell *table_next(const struct table *table, size_t *cursor) {
    for (size_t index = *cursor / TABLE_CHUNK_ROWS; index < table->n_chunks; index++) {
        struct chunk *chunk = table->chunks[index];
        uint32_t first = index == *cursor / TABLE_CHUNK_ROWS ? (uint32_t)(*cursor % TABLE_CHUNK_ROWS) : 0;
        uint32_t left = chunk ? chunk->live & (~0u << first) : 0;
        if (left) {
            uint32_t row = (uint32_t)__builtin_ctz(left);
            *cursor = index * TABLE_CHUNK_ROWS + row + 1;
            return chunk_row(table->def, chunk, row);
        }
    }
    *cursor = (size_t)table->n_chunks * TABLE_CHUNK_ROWS;
    return NULL;
}

const union cell *table_find(const struct table *table, const union cell *key) {
    const struct table_def *def = table->def;
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        uint16_t i = 0;
        while (i < def->n_keys && cells_equal(def->columns[i].type, row[i], key[i]))
            i++;
        if (i == def->n_keys)
            return row;
    }
    return NULL;
}

double table_better(const struct table *other, const union cell *keys, const char *name, double num) {
    for (uint16_t i = 0; other && i < other->def->n_columns; i++) {
        if (!other->def->columns[i].overrides || strcmp(other->def->columns[i].overrides, name))
            continue;
        const union cell *row = table_find(other, keys);
        return row && row[i].num == row[i].num ? row[i].num : num;
    }
    return num;
}

int table_column(const struct table_def *def, const char *name) {
    for (int i = 0; i < def->n_columns; i++)
        if (!strcmp(def->columns[i].name, name))
            return i;
    return -1;
}
