// The schema of a recording: every series, table, set of histograms and tree is described once between two key frames,
// by name, and referred to by its place in that list. A reader maps a description to this program's own definition of
// that name, which formats it; a table that was defined at run time is rebuilt from the description.
#ifndef MODEL_RECORD_SCHEMA_H
#define MODEL_RECORD_SCHEMA_H

#include "model/frame.h"
#include "model/record/bytes.h"

enum def_kind { DEF_SERIES, DEF_TABLE, DEF_HISTS, DEF_TREE };

void def_put(struct sink *out, enum def_kind kind, const char *collector, const void *def);

// A description as read from a file.
struct file_def {
    enum def_kind kind;
    const void *own;              // this program's definition; NULL: unknown here, its data is skipped
    const struct table_def *made; // DEF_TABLE: a reference, if `own` was rebuilt from the file
    uint16_t n_columns;           // of a table; the keys of a set of histograms
    uint8_t *types;               // of the columns in the file: enum column_type
    int *to;                      // the column of `own`; -1: unknown here
    size_t unknown;               // how many columns are unknown here; 1 for a whole unknown definition
};

// `schema`: a frame that has every definition of this program. False: damaged.
bool def_get(struct byte_reader *in, const struct frame *schema, struct file_def *out);
void def_done(struct file_def *def);

#endif
