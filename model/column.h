// A column: the one description that drives a header, the sort, the field chooser, the help, the CSV header and the
// JSON key. A value that could not be measured is NAN (numbers) or NULL (texts), never 0 or "".
#ifndef MODEL_COLUMN_H
#define MODEL_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/text.h"

// The unit of a number; decides its format on a screen. Files have the plain number in the unit of the column's name.
enum unit {
    UNIT_NONE,        // a plain number with as many digits as it needs: load 1.25
    UNIT_ID,          // an identifier: PID, CPU, sector; never scaled or averaged
    UNIT_COUNT,       // a whole number of things: 1234, 56.7k
    UNIT_PER_S,       // things per second: 0.3, 812, 1.2M
    UNIT_BYTES,       // 4.0K, 1.2G (powers of 1024)
    UNIT_BYTES_PER_S, // the same, per second
    UNIT_KIB,         // KiB: shown like bytes
    UNIT_PCT,         // percent of one CPU or of the whole: see the column's help
    UNIT_US,          // microseconds: shown as 12us, 3.4ms, 1.2s
    UNIT_US_PER_S,    // microseconds per second: shown as a time
    UNIT_S,           // seconds: a time of day, a duration
    UNIT_HZ,          // 3.2GHz
    UNIT_RATIO,       // 1.25
};

// What a number is when two intervals become one, as when no frame has shown the first (section_absorb).
enum merge {
    MERGE_BY_UNIT, // things, bytes and us per second: MERGE_RATE; percent: MERGE_MEAN; any other: MERGE_NEWEST
    MERGE_NEWEST,  // it is of now, or of the newer interval
    MERGE_RATE,    // the mean by the length of the intervals; 0 in an interval that has no such row
    MERGE_MEAN,    // the same, of the intervals that have the row
    MERGE_SUM,     // a count of the interval
    MERGE_MAX,
    MERGE_MIN,
};

enum column_type { COLUMN_NUMBER, COLUMN_TEXT };

union cell {
    double num;              // NAN: not measured
    const struct text *text; // NULL: not measured
};

struct column {
    const char *name;  // the contract's name, snake_case with the unit: "cpu_pct"
    const char *title; // its heading on a screen: "CPU%"
    const char *help;  // one sentence: what it measures, per what, from which source
    enum column_type type;
    enum unit unit;
    uint8_t width;    // cells on a screen; for the last text column 0: the rest of the line
    bool ascending;   // the default sort order: names and IDs ascending, quantities descending
    enum merge merge; // of a number
    // Replaces the format of the unit; returns the length, writes at most size - 1 bytes and a NUL.
    size_t (*format)(union cell value, char *out, size_t size);
    // Replaces the order of the type: < 0, 0, > 0. Never called for a value that is not measured, which sorts last.
    int (*compare)(union cell a, union cell b);
    // This column measures the same more exactly than the column of that name in another table: where the two tables
    // are joined, its value is shown in that column.
    const char *overrides;
    // A number column of the same table: where it is above 0, this column's value is a lower bound, shown as ">12ms".
    const char *lower_bound_flag;
};

static inline union cell cell_null(enum column_type type) {
    return type == COLUMN_TEXT ? (union cell){.text = NULL} : (union cell){.num = __builtin_nan("")};
}
bool cell_is_null(const struct column *column, union cell value);

// For times of day that need microseconds; the default shows milliseconds.
size_t column_format_clock_us(union cell value, char *out, size_t size);

// "812", "3.4ms", or "-" when not measured. A text is copied unchanged: escape it before it is shown.
// Returns the length; never writes more than size - 1 bytes and a NUL.
size_t column_format(const struct column *column, union cell value, char *out, size_t size);
size_t unit_format(enum unit unit, double value, char *out, size_t size);
// The value as rounded on a screen, for sorting: rows that look equal must not swap places. Identifiers, times of day
// and counts are not rounded.
double unit_round(enum unit unit, double value);

// NAN equals NAN, and NULL equals NULL.
bool cells_equal(enum column_type type, union cell a, union cell b);

// Ascending order. Not measured sorts last, in column_compare_sorted() for both directions.
int column_compare(const struct column *column, union cell a, union cell b);
int column_compare_sorted(const struct column *column, union cell a, union cell b, bool descending);

#endif
