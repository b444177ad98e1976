// Rows in files: CSV, JSON and the description of columns, from the same columns as on the screen. Every column is
// written, shown or not. JSON rows are written one by one, so that ten thousand of them need no extra memory.
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/rows.h"
#include "views/write.h"

void rows_write_csv(struct rows *rows, struct part_context *ctx, const char *name, FILE *out) {
    const struct join *join = rows->join;

    if (!join)
        return;
    if (csv_wants_header(ctx)) {
        csv_begin_header(out);
        for (uint16_t i = 0; i < join->n_columns; i++)
            csv_string(join->columns[i]->name, out);
        csv_end(out);
    }
    for (size_t place = 0; place < rows->n && !rows->repeated; place++) {
        size_t row = rows_at(rows, place);
        csv_begin(ctx, name, out);
        for (uint16_t i = 0; i < join->n_columns; i++) {
            union cell value = join_cell(join, row, i);
            if (join->columns[i]->type == COLUMN_TEXT)
                csv_text(value.text, out);
            else
                csv_number(join->columns[i]->unit, value.num, out);
        }
        csv_end(out);
    }
}

// ---- JSON ----

struct json_rows {
    struct json_stream stream;
    struct rows *rows;
    char **names; // the columns' names as JSON, with the colon
};

static void text_to_json(const struct text *text, FILE *out) {
    struct json_object *string = json_text(text);

    fputs(json_object_to_json_string_ext(string, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), out);
    json_object_put(string);
}

static void rows_to_json(struct json_stream *stream, FILE *out) {
    struct json_rows *self = (struct json_rows *)stream;
    const struct join *join = self->rows->join;
    char text[64];

    fputc('[', out);
    for (size_t place = 0; place < self->rows->n && !self->rows->repeated; place++) {
        size_t row = rows_at(self->rows, place);
        fputs(place ? ",{" : "{", out);
        for (uint16_t i = 0; i < join->n_columns; i++) {
            union cell value = join_cell(join, row, i);
            fputs(self->names[i] + (i ? 0 : 1), out);
            if (cell_is_null(join->columns[i], value)) {
                fputs("null", out);
            } else if (join->columns[i]->type == COLUMN_TEXT) {
                text_to_json(value.text, out);
            } else {
                size_t n = number_write(join->columns[i]->unit, value.num, text, sizeof(text));
                if (n)
                    fwrite(text, 1, n, out);
                else
                    fputs("null", out);
            }
        }
        fputc('}', out);
    }
    fputc(']', out);
}

static void rows_json_free(struct json_object *object, void *stream) {
    struct json_rows *self = stream;

    (void)object;
    for (uint16_t i = 0; i < self->rows->join->n_columns; i++)
        free(self->names[i]);
    free(self->names);
    free(self);
}

void rows_write_json(struct rows *rows, struct part_context *ctx, const char *name, bool events,
                     struct json_object *pane) {
    const struct join *join = rows->join;
    struct json_object *array;

    (void)ctx;
    if (!join)
        return;
    if (events) {
        array = json_group(pane, "events");
        json_object_object_add(pane, "events_left_out",
                               json_object_new_int64(rows->repeated ? 0 : (int64_t)rows->left_out));
    } else {
        array = json_object_new_array();
        json_object_object_add(json_group(pane, "tables"), name, array);
    }
    struct json_rows *self = xcalloc(1, sizeof(*self));
    self->stream.write = rows_to_json;
    self->rows = rows;
    self->names = xcalloc(join->n_columns, sizeof(*self->names));
    for (uint16_t i = 0; i < join->n_columns; i++) {
        size_t size = strlen(join->columns[i]->name) + 5;
        self->names[i] = xmalloc(size);
        snprintf(self->names[i], size, ",\"%s\":", join->columns[i]->name);
    }
    json_object_set_userdata(array, self, rows_json_free);
}

// ---- the description ----

static const char *unit_word(const struct column *column) {
    static const char *const words[] = {
        [UNIT_NONE] = "number", [UNIT_ID] = "id",     [UNIT_COUNT] = "count",         [UNIT_PER_S] = "per second",
        [UNIT_BYTES] = "bytes", [UNIT_KIB] = "KiB",   [UNIT_BYTES_PER_S] = "bytes/s", [UNIT_PCT] = "percent",
        [UNIT_US] = "us",       [UNIT_S] = "seconds", [UNIT_US_PER_S] = "us/s",       [UNIT_HZ] = "Hz",
        [UNIT_RATIO] = "ratio",
    };

    return column->type == COLUMN_TEXT ? "text" : words[column->unit];
}

static const struct table *source_table(const struct rows_source *source, const struct frame *schema, int i) {
    uint64_t left_out;

    return source->stream ? frame_stream(schema, source->tables[i], &left_out) : frame_table(schema, source->tables[i]);
}

void rows_describe(const struct rows_source *source, const struct frame *schema, const char *name, FILE *out) {
    const struct table_def *first = NULL;

    for (int i = 0; schema && i < JOIN_MAX && source->tables[i]; i++) {
        const struct table *table = source_table(source, schema, i);
        if (!table)
            continue;
        const struct table_def *def = table_def(table);
        if (!first) {
            first = def;
            fprintf(out, "%s: %s\n", name, def->help ? def->help : "");
        }
        for (uint16_t c = 0; c < def->n_columns; c++) {
            const struct column *column = &def->columns[c];
            if (def != first && table_column(first, column->name) >= 0)
                continue;
            fprintf(out, "  %-26s %-8s %-10s  %s\n", column->name, column->title ? column->title : "",
                    unit_word(column), column->help ? column->help : "");
        }
    }
}

size_t rows_sources(const struct part *part, const char **names, size_t max) {
    const struct rows_source *source = part->spec;
    size_t n = 0;

    while (n < max && n < JOIN_MAX && source->tables[n]) {
        names[n] = source->tables[n];
        n++;
    }
    return n;
}

bool is_listed(const char *list, const char *name) {
    size_t length = strlen(name);

    for (const char *at = list; (at = strstr(at, name)); at += length) {
        char after = at[length];
        if ((at == list || at[-1] == ' ') && (after == ' ' || after == '=' || after == '\0'))
            return true;
    }
    return false;
}
