// A table: key -> a row of values, immutable once sealed and shared by frames.
//
// Rows are stored in chunks of TABLE_CHUNK_ROWS. A builder keeps its rows across frames, and sealing shares every chunk
// that did not change since the last seal: 10,000 idle tasks cost a few KiB per frame.
#ifndef MODEL_TABLE_H
#define MODEL_TABLE_H

#include "model/column.h"

#define TABLE_CHUNK_ROWS 16

enum table_rows_of {
    ROWS_OF_NOW,        // what is there at the end of the interval
    ROWS_OF_INTERVAL,   // what was there, or did something, in the interval
    ROWS_REPORTED_ONCE, // what ended in the interval: in no other frame (frame_table_repeated)
};

struct table_def {
    const char *name; // the contract's name: "devices"
    const char *help; // one sentence for help and the man page
    const struct column *columns;
    uint16_t n_columns;
    uint16_t n_keys;               // the first n_keys columns identify a row
    struct table_def_count *count; // of a definition made at run time; NULL: static
    enum table_rows_of rows;       // of which time
};

// A definition made at run time (the fields of a tracepoint, a table of a recording): a copy, strings included, with
// one reference for the caller. Builders and tables hold references too. At most UINT16_MAX columns. The text of an
// event in such a table is text_lazy(): formatted only for rows that are drawn or written.
const struct table_def *table_def_new(const struct table_def *values);
const struct table_def *table_def_ref(const struct table_def *def); // static ones are returned unchanged
void table_def_unref(const struct table_def *def);

struct table;

void table_free(struct table *table); // drops the caller's reference to its chunks
const struct table_def *table_def(const struct table *table);
size_t table_rows(const struct table *table);
// Walks the rows: start with *cursor = 0, ends with NULL. The row has n_columns cells and lives as long as the table.
const union cell *table_next(const struct table *table, size_t *cursor);
// The first row whose leading n_keys cells equal key's, or NULL. Linear: for a few look-ups.
const union cell *table_find(const struct table *table, const union cell *key);
// The value of the column `name` in another table (may be NULL) that measures it better (struct column), for the row
// that begins with these keys; else num.
double table_better(const struct table *other, const union cell *keys, const char *name, double num);
// Index of the column of that name, or -1. Resolve once, not per row.
int table_column(const struct table_def *def, const char *name);

// ---- building: one thread owns a builder ----

struct table_builder;

struct table_builder *table_builder_new(const struct table_def *def);
void table_builder_free(struct table_builder *builder);
// A new row of nulls; returns its slot, which stays valid until removed (slots of removed rows are reused).
uint32_t table_builder_add(struct table_builder *builder);
void table_builder_remove(struct table_builder *builder, uint32_t slot);
void table_builder_clear(struct table_builder *builder);
// The row for reading; for writing use the setters, which copy a shared chunk only if the value differs. `text` setters
// take over the caller's reference.
const union cell *table_builder_row(const struct table_builder *builder, uint32_t slot);
void table_builder_set_num(struct table_builder *builder, uint32_t slot, uint16_t column, double value);
void table_builder_set_text(struct table_builder *builder, uint32_t slot, uint16_t column, const struct text *take);
size_t table_builder_rows(const struct table_builder *builder);
// An immutable copy of the rows, owned by the caller. The builder keeps its rows.
struct table *table_builder_seal(struct table_builder *builder);

// ---- joining: columns of the same items from several sources, side by side ----

// Rows of tables[0]; a row of a further table extends it where its key columns equal the columns of the same names in
// tables[0]. A table may be NULL (source missing): its columns (defs[i]) are then null, and without tables[0] there are
// no rows.
#define JOIN_MAX 4
struct join {
    const struct table *tables[JOIN_MAX];
    const struct table_def *defs[JOIN_MAX];
    uint16_t n_tables;
    uint16_t n_columns;            // keys once, then the other columns in order
    const struct column **columns; // n_columns
    size_t n_rows;
    const union cell **rows; // n_rows * n_tables; NULL where a table lacks the row
    struct {
        uint8_t table, better_table; // better_table 0: none
        uint16_t column, better;
    } * at; // n_columns: the source of column i, and the table that measures it better (struct column)
};
// The tables must outlive the join. defs[i] must be set for each i < n_tables.
struct join *join_new(const struct table *const *tables, const struct table_def *const *defs, uint16_t n_tables);
void join_free(struct join *join);
union cell join_cell(const struct join *join, size_t row, uint16_t column);
int join_column(const struct join *join, const char *name);

#endif
