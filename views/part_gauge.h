// The gauge part: labelled meters, one per row and as many side by side as the width holds. A meter is a bar of stacked
// segments, its value as text, and where there is room a sparkline of the frames before.
#ifndef VIEWS_PART_GAUGE_H
#define VIEWS_PART_GAUGE_H

#include "views/view.h"

#define GAUGE_VALUES 8

// A value of a frame: a series, or a column of a table taken together over its rows.
struct gauge_value {
    const char *series;         // or, when NULL:
    const char *table, *column; // the contract's names
    bool largest;               // of a table: the largest row, and its key is shown; else the sum
    const char *better;         // another table that may measure the column better (table_better); or NULL
    const char *name;           // in the text: "some", "r"; NULL: none
    enum role role;             // of its segment
    char ascii;                 // of its segment; 0: '|'
    bool quiet;                 // a segment that does not count as used: cached memory, iowait
};

enum gauge_text {
    GAUGE_TOTAL, // the sum of what is not quiet, and of what: "12.3G of 31.2G", "37.2%"
    GAUGE_EACH,  // every value with its name: "some 1.2% full 0.3%"
};

struct gauge {
    const char *label; // at most 8 columns
    const char *help;
    struct gauge_value values[GAUGE_VALUES]; // the first without series and table ends it
    const char *of;                          // the series that is a full bar; NULL: `full`
    double full;                             // 0: nothing is full: no bar but a sparkline against its own largest value
    enum gauge_text text;
    bool apart;               // the values are not parts of a whole: the bar shows the first one alone
    double warning, critical; // shares of the full bar from which on the text is coloured; 0: never
};

struct gauge_spec {
    const struct gauge *gauges; // ends with label NULL
};

extern const struct part_kind part_gauge;

#endif
