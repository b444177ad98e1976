// Writing values to files: the rules that all parts share. Numbers are short, exact when whole, and null when not
// measured; texts are escaped (escape.h) before they are quoted.
#ifndef VIEWS_WRITE_H
#define VIEWS_WRITE_H

#include <stdio.h>
#include <time.h>

#include "model/column.h"
#include "views/view.h"

struct json_object;

// The plain number as files carry it; "" when not measured. Returns the length; 32 bytes are enough.
size_t number_write(enum unit unit, double value, char *out, size_t size);

// A new JSON number or string, or NULL (JSON null) when not measured.
struct json_object *json_number(enum unit unit, double value);
struct json_object *json_text(const struct text *text);
struct json_object *json_string(const char *string); // escaped too
// The member of the pane that holds a group ("tables", "histograms", …); created if missing.
struct json_object *json_group(struct json_object *pane, const char *group);

// A part with many rows attaches this to its array (json_object_set_userdata), which stays empty: pane_write calls
// `write`, which writes the whole array, instead of serialising it. For arrays directly in a group, and for "events".
struct json_stream {
    void (*write)(struct json_stream *stream, FILE *out);
};

// CSV. A line is csv_begin, then a call per field (each writes its leading comma), then csv_end. Each table has one
// header line per run: see csv_wants_header. Its first fields are "table" and "time".
bool csv_wants_header(const struct part_context *ctx);
void csv_begin_header(FILE *out);
void csv_begin(const struct part_context *ctx, const char *table, FILE *out);
void csv_string(const char *string, FILE *out); // quoted as RFC 4180 requires, escaped
void csv_text(const struct text *text, FILE *out);
void csv_number(enum unit unit, double value, FILE *out);
void csv_end(FILE *out);

// "2026-01-31T12:00:00.123Z"
void time_write(const struct timespec *wall, char out[32]);
// The local time of day: "12:00:00"
#define CLOCK_SIZE 16
void clock_write(time_t wall, char out[CLOCK_SIZE]);

#endif
