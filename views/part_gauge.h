// The gauge part: labelled meters, one per row and as many side by side as the width holds. A meter is a bar of stacked
// segments, its value as text, and with enough room a sparkline of the previous frames.
#ifndef VIEWS_PART_GAUGE_H
#define VIEWS_PART_GAUGE_H

#include "views/view.h"

#define GAUGE_VALUES 8

// A value of a frame: a series, or an aggregate of a table column over its rows.
struct gauge_value {
    const char *series;         // or, when NULL:
    const char *table, *column; // the contract's names
    bool largest;               // of a table: the largest row, shown with its key; else the sum
    const char *better;         // another table that may measure the column better (table_better); or NULL
    const char *name;           // in the text: "some", "r"; NULL: none
    enum role role;             // of its segment
    char ascii;                 // of its segment; 0: '|'
    bool quiet;                 // a segment that does not count as used: cached memory, iowait
};

enum gauge_text {
    GAUGE_TOTAL, // the sum of the values that are not quiet, and the full scale: "12.3G of 31.2G", "37.2%"
    GAUGE_EACH,  // every value with its name: "some 1.2% full 0.3%"
};

struct gauge {
    const char *label; // on the screen, at most 8 columns
    const char *help;
    struct gauge_value values[GAUGE_VALUES]; // ends with the first without series and table
    const char *of;                          // the series that is the full scale; NULL: `full`
    double full;                             // full scale; 0: none: a sparkline relative to its largest value
    enum gauge_text text;
    bool apart;               // the values are not parts of a whole: the bar shows only the first
    double warning, critical; // shares of the full scale at which the text gets a colour; 0: never
};

struct gauge_spec {
    const struct gauge *gauges; // ends with label NULL
};

extern const struct part_kind part_gauge;

#endif
