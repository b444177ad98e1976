// The default formats and orders of values. Independent of the locale, and at most about ten cells long: a column that
// needs more has its own format function.
#include "model/column.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

bool cell_is_null(const struct column *column, union cell value) {
    return column->type == COLUMN_TEXT ? value.text == NULL : isnan(value.num);
}

bool cells_equal(enum column_type type, union cell a, union cell b) {
    if (type == COLUMN_NUMBER)
        return a.num == b.num || (isnan(a.num) && isnan(b.num));
    if (!a.text || !b.text)
        return a.text == b.text;
    return text_compare(a.text, b.text) == 0;
}

// snprintf that returns the length really written.
static size_t __attribute__((format(printf, 3, 4))) put(char *out, size_t size, const char *format, ...) {
    if (!size)
        return 0;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(out, size, format, args);
    va_end(args);
    if (length < 0) {
        out[0] = 0;
        return 0;
    }
    return (size_t)length < size ? (size_t)length : size - 1;
}

// At least two significant digits, at most one decimal: 1.2, 12.3, 123. `round` guards the edges: 9.96 is 10.0.
static size_t scaled(double value, const char *suffix, char *out, size_t size) {
    return fabs(value) < 99.95 ? put(out, size, "%.1f%s", value, suffix) : put(out, size, "%.0f%s", value, suffix);
}

// Divides by `step` until the number is below it; suffixes[0] is for the first division.
static size_t stepped(double value, double step, const char *const *suffixes, size_t n, char *out, size_t size) {
    size_t i = 0;
    value /= step;
    while (i + 1 < n && fabs(value) >= step * 0.9995) {
        value /= step;
        i++;
    }
    return scaled(value, suffixes[i], out, size);
}

static size_t format_decimal(double value, char *out, size_t size) {
    static const char *const suffixes[] = {"k", "M", "G", "T", "P", "E"};
    return stepped(value, 1000, suffixes, 6, out, size);
}

static size_t format_bytes(double bytes, char *out, size_t size) {
    static const char *const suffixes[] = {"K", "M", "G", "T", "P", "E"};
    if (bytes == 0)
        return put(out, size, "0");
    if (fabs(bytes) < 1023.5)
        return put(out, size, "%.0fB", bytes);
    return stepped(bytes, 1024, suffixes, 6, out, size);
}

static size_t format_us(double us, char *out, size_t size) {
    double magnitude = fabs(us);
    if (us == 0)
        return put(out, size, "0us");
    if (magnitude < 9.95)
        return put(out, size, "%.1fus", us);
    if (magnitude < 999.5)
        return put(out, size, "%.0fus", us);
    if (magnitude < 999.5e3)
        return scaled(us / 1e3, "ms", out, size);
    return scaled(us / 1e6, "s", out, size);
}

static size_t format_clock(double s, int decimals, char *out, size_t size) {
    long long parts_per_s = decimals == 6 ? 1000000 : 1000;
    long long parts = llround(s * (double)parts_per_s); // first, or 0.123 comes out as .122
    time_t when = (time_t)(parts / parts_per_s);
    struct tm tm;
    if (!localtime_r(&when, &tm))
        return put(out, size, "%.*f", decimals, s);
    return put(out, size, "%02d:%02d:%02d.%0*lld", tm.tm_hour, tm.tm_min, tm.tm_sec, decimals, parts % parts_per_s);
}

size_t column_format_clock_us(union cell value, char *out, size_t size) {
    return format_clock(value.num, 6, out, size);
}

static size_t format_seconds(double s, char *out, size_t size) {
    if (s >= 1e9) // a time since 1970, not a duration
        return format_clock(s, 3, out, size);
    double magnitude = fabs(s);
    if (magnitude < 59.95)
        return magnitude == floor(magnitude) ? put(out, size, "%.0fs", s) : put(out, size, "%.1fs", s);
    unsigned long long whole = (unsigned long long)(magnitude + 0.5);
    const char *sign = s < 0 ? "-" : "";
    if (whole < 3600)
        return put(out, size, "%s%llum%02llus", sign, whole / 60, whole % 60);
    if (whole < 86400)
        return put(out, size, "%s%lluh%02llum", sign, whole / 3600, whole / 60 % 60);
    return put(out, size, "%s%llud%02lluh", sign, whole / 86400, whole / 3600 % 24);
}

static size_t format_hz(double hz, char *out, size_t size) {
    static const char *const suffixes[] = {"kHz", "MHz", "GHz"};
    if (fabs(hz) < 1000)
        return put(out, size, "%.0fHz", hz);
    return stepped(hz, 1000, suffixes, 3, out, size);
}

static size_t format_plain(double value, char *out, size_t size) {
    double magnitude = fabs(value);
    if (value == floor(value) && magnitude < 1e15)
        return put(out, size, "%.0f", value);
    return put(out, size, magnitude < 99.995 ? "%.2f" : magnitude < 999.95 ? "%.1f" : "%.0f", value);
}

size_t unit_format(enum unit unit, double value, char *out, size_t size) {
    if (isnan(value))
        return put(out, size, "-");
    if (isinf(value))
        return put(out, size, value > 0 ? "inf" : "-inf");
    if (value == 0)
        value = 0; // no "-0"
    switch (unit) {
    case UNIT_NONE:
        return format_plain(value, out, size);
    case UNIT_ID:
        return put(out, size, "%.0f", value);
    case UNIT_COUNT:
        return fabs(value) < 9999.5 ? put(out, size, "%.0f", value) : format_decimal(value, out, size);
    case UNIT_PER_S:
        if (value == 0)
            return put(out, size, "0");
        if (fabs(value) < 9.95)
            return put(out, size, "%.1f", value);
        return fabs(value) < 9999.5 ? put(out, size, "%.0f", value) : format_decimal(value, out, size);
    case UNIT_BYTES:
    case UNIT_BYTES_PER_S:
        return format_bytes(value, out, size);
    case UNIT_KIB:
        return format_bytes(value * 1024, out, size);
    case UNIT_PCT:
        return put(out, size, fabs(value) < 99.95 ? "%.1f" : "%.0f", value);
    case UNIT_US:
    case UNIT_US_PER_S:
        return format_us(value, out, size);
    case UNIT_S:
        return format_seconds(value, out, size);
    case UNIT_HZ:
        return format_hz(value, out, size);
    case UNIT_RATIO:
        return put(out, size, "%.2f", value);
    }
    return put(out, size, "%g", value);
}

// One decimal below 100 in the scale shown, none above: as in scaled().
static double round_scaled(double value, double step) {
    double magnitude = fabs(value), scale = 1;
    while (magnitude >= step * scale * 0.9995)
        scale *= step;
    if (scale == 1)
        return round(value);
    scale /= magnitude < 99.95 * scale ? 10 : 1;
    return round(value / scale) * scale;
}

double unit_round(enum unit unit, double value) {
    double magnitude = fabs(value);
    if (!isfinite(value))
        return value;
    switch (unit) {
    case UNIT_PCT:
        return magnitude < 99.95 ? round(value * 10) / 10 : round(value);
    case UNIT_PER_S:
        return magnitude < 9.95     ? round(value * 10) / 10
               : magnitude < 9999.5 ? round(value)
                                    : round_scaled(value, 1000);
    case UNIT_BYTES_PER_S:
        return round_scaled(value, 1024);
    case UNIT_US:
    case UNIT_US_PER_S:
        if (magnitude < 9.95)
            return round(value * 10) / 10;
        if (magnitude < 999.5e3)
            return round_scaled(value, 1000);
        return magnitude < 99.95e6 ? round(value / 1e5) * 1e5 : round(value / 1e6) * 1e6;
    default:
        return value;
    }
}

size_t column_format(const struct column *column, union cell value, char *out, size_t size) {
    if (cell_is_null(column, value))
        return put(out, size, "-");
    if (column->format)
        return column->format(value, out, size);
    if (column->type == COLUMN_NUMBER)
        return unit_format(column->unit, value.num, out, size);
    if (!size)
        return 0;
    size_t length = text_length(value.text);
    if (length > size - 1)
        length = size - 1;
    memcpy(out, text_bytes(value.text), length);
    out[length] = 0;
    return length;
}

int column_compare_sorted(const struct column *column, union cell a, union cell b, bool descending) {
    bool null_a = cell_is_null(column, a), null_b = cell_is_null(column, b);
    if (null_a || null_b)
        return (int)null_a - (int)null_b;
    int order;
    if (column->compare)
        order = column->compare(a, b);
    else if (column->type == COLUMN_TEXT)
        order = text_compare(a.text, b.text);
    else
        order = (a.num > b.num) - (a.num < b.num);
    return descending ? (order < 0) - (order > 0) : order;
}

int column_compare(const struct column *column, union cell a, union cell b) {
    return column_compare_sorted(column, a, b, false);
}
