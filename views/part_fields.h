// The fields part: a block of "label value" fields that flow in columns, of named columns of one-row tables and of
// series.
#ifndef VIEWS_PART_FIELDS_H
#define VIEWS_PART_FIELDS_H

#include "views/rows.h"

struct fields_spec {
    struct rows_source source; // one-row tables, joined; no table: series only
    // Columns or series by name, separated by blanks, the most important first; a column takes precedence over a series
    // of that name. NULL: all columns. "name=label" replaces the title by a label, "_" for a blank.
    const char *shown;
    enum role (*role)(const char *name, double value); // of a number; NULL: plain
    uint8_t width;                                     // of a field with its value; 0: 26
};

extern const struct part_kind part_fields;

#endif
