// From rows of the table `code` to lines (see the header).
#include "views/flame/annotate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define INSTRUCTION_MAX 16 // bytes
#define WHERE_FRAMES 8     // the answer to a selection comes with the next frames

enum { SYMBOL, DSO, LINE_ONLY, OFFSET, ADDRESS, INSTRUCTION, FUNCTION, FILE_NAME, LINE, SOURCE, NOTE, COLUMNS };

static bool find_columns(const struct table *table, int columns[COLUMNS]) {
    static const char *const names[COLUMNS] = {"symbol",   "dso",  "line_only", "offset", "address", "instruction",
                                               "function", "file", "line",      "source", "note"};

    for (int i = 0; i < COLUMNS; i++) {
        columns[i] = table_column(table_def(table), names[i]);
        if (columns[i] < 0)
            return false;
    }
    return true;
}

// Whether the table is about the function, and has what is wanted.
static bool is_about(const struct table *table, const char *symbol, const char *object, bool line_only) {
    int columns[COLUMNS];
    size_t cursor = 0;
    const union cell *row = table && find_columns(table, columns) ? table_next(table, &cursor) : NULL;

    if (!row || strcmp(text_bytes(row[columns[SYMBOL]].text), symbol) != 0 ||
        strcmp(text_bytes(row[columns[DSO]].text), object) != 0)
        return false;
    return line_only ? row[columns[FILE_NAME]].text != NULL : !(row[columns[LINE_ONLY]].num > 0);
}

const struct table *annotate_code(const struct look *look, const char *symbol, const char *object, bool line_only,
                                  size_t frames) {
    const struct table *table = look->frame ? frame_table(look->frame, "code") : NULL;

    if (is_about(table, symbol, object, line_only))
        return table;
    for (size_t i = look->n_window; i-- > 0 && look->n_window - i <= frames;) {
        table = frame_table(look->window[i], "code");
        if (is_about(table, symbol, object, line_only))
            return table;
    }
    return NULL;
}

void annotate_range(const struct table *code, double *low, double *high) {
    int columns[COLUMNS];
    const union cell *row;
    size_t cursor = 0;

    *low = *high = NAN;
    if (!code || !find_columns(code, columns))
        return;
    while ((row = table_next(code, &cursor))) {
        double offset = row[columns[OFFSET]].num;
        *low = isnan(*low) ? offset : *low;
        *high = isnan(offset) ? *high : offset + 1;
    }
}

// ---- lines ----

struct making {
    struct annotate annotate;
    size_t capacity;
    size_t source; // the last source line; SIZE_MAX: none
    int columns[COLUMNS];
    const struct hot *hot;
};

static struct annotate_line *add(struct making *making, enum annotate_kind kind) {
    struct annotate *annotate = &making->annotate;

    if (annotate->n == making->capacity) {
        making->capacity = making->capacity ? making->capacity * 2 : 64;
        annotate->lines = xrealloc(annotate->lines, making->capacity * sizeof(*annotate->lines));
    }
    struct annotate_line *line = &annotate->lines[annotate->n++];
    *line = (struct annotate_line){.kind = kind, .offset = NAN, .address = NAN};
    return line;
}

static bool same_line(const struct annotate_line *line, const struct text *file, double number) {
    return (double)line->line == number && !text_compare(line->file, file);
}

static void add_row(struct making *making, const union cell *row, const union cell *next) {
    const int *columns = making->columns;
    double offset = row[columns[OFFSET]].num, number = row[columns[LINE]].num;
    const struct text *file = row[columns[FILE_NAME]].text;
    struct annotate *annotate = &making->annotate;
    double before = annotate->n ? annotate->lines[annotate->n - 1].offset : offset;

    if (offset - before > INSTRUCTION_MAX)
        add(making, ANNOTATE_GAP);
    bool known = file && number > 0;
    bool same = known && making->source != SIZE_MAX && same_line(&annotate->lines[making->source], file, number);
    if (known && !same) {
        struct annotate_line *line = add(making, ANNOTATE_SOURCE);
        line->offset = offset;
        line->text = row[columns[SOURCE]].text;
        line->file = file;
        line->line = (uint32_t)number;
        making->source = annotate->n - 1;
    } else if (!known) {
        making->source = SIZE_MAX;
    }
    double end = next ? next[columns[OFFSET]].num : offset + INSTRUCTION_MAX;
    struct annotate_line *line = add(making, ANNOTATE_CODE);
    line->offset = offset;
    line->address = row[columns[ADDRESS]].num;
    line->text = row[columns[INSTRUCTION]].text;
    line->function = row[columns[FUNCTION]].text;
    line->file = file;
    line->line = known ? (uint32_t)number : 0;
    line->samples = hot_between(making->hot, offset, fmin(end, offset + INSTRUCTION_MAX));
    if (making->source != SIZE_MAX)
        annotate->lines[making->source].samples += line->samples;
}

static void add_code(struct making *making, const struct table *code) {
    size_t cursor = 0;
    const union cell *row = table_next(code, &cursor), *next;

    for (; row; row = next) {
        next = table_next(code, &cursor);
        if (isnan(row[making->columns[OFFSET]].num))
            making->annotate.note = row[making->columns[NOTE]].text;
        else
            add_row(making, row, next);
    }
}

static void find_hottest(struct annotate *annotate) {
    uint64_t most = 0;

    annotate->hottest = annotate->n;
    for (size_t i = 0; i < annotate->n; i++)
        if (annotate->lines[i].kind == ANNOTATE_CODE && annotate->lines[i].samples > most) {
            most = annotate->lines[i].samples;
            annotate->hottest = i;
        }
}

static int by_line(const void *a, const void *b) {
    const struct annotate_line *x = a, *y = b;
    int order = text_compare(x->file, y->file);
    return order ? order : x->line < y->line ? -1 : x->line > y->line;
}

// A line of source may stand at several places.
static void find_line(struct annotate *annotate) {
    struct annotate_line *sources = xcalloc(annotate->n + 1, sizeof(*sources));
    size_t n = 0;

    for (size_t i = 0; i < annotate->n; i++)
        if (annotate->lines[i].kind == ANNOTATE_SOURCE && annotate->lines[i].samples)
            sources[n++] = annotate->lines[i];
    qsort(sources, n, sizeof(*sources), by_line);
    for (size_t i = 0; i < n; i++) {
        if (i && !by_line(&sources[i - 1], &sources[i]))
            sources[i].samples += sources[i - 1].samples;
        if (sources[i].samples > annotate->line.samples)
            annotate->line = sources[i];
    }
    free(sources);
}

struct annotate annotate_make(const struct table *code, const struct hot *hot) {
    struct making making = {.source = SIZE_MAX, .hot = hot};

    if (code && find_columns(code, making.columns))
        add_code(&making, code);
    for (size_t i = 0; !making.annotate.n && i < hot->n; i++) {
        for (; i < hot->n; i++) {
            struct annotate_line *line = add(&making, ANNOTATE_CODE);
            line->offset = line->address = hot->list[i].offset;
            line->samples = hot->list[i].samples;
        }
    }
    find_hottest(&making.annotate);
    find_line(&making.annotate);
    return making.annotate;
}

void annotate_free(struct annotate *annotate) {
    free(annotate->lines);
    *annotate = (struct annotate){0};
}

// ---- words ----

void annotate_place(const struct text *file, uint32_t line, bool whole, char *out, size_t size) {
    const char *path = text_bytes(file), *slash = strrchr(path, '/');
    const char *name = whole || !slash ? path : slash + 1;

    if (!*name)
        snprintf(out, size, "[unknown]");
    else if (line)
        snprintf(out, size, "%.512s:%u", name, line);
    else
        snprintf(out, size, "%.512s", name);
}

void annotate_where(const struct look *look, const char *symbol, const char *object, char *out, size_t size) {
    int columns[COLUMNS];
    size_t cursor = 0;
    const struct table *code = annotate_code(look, symbol, object, true, WHERE_FRAMES);

    out[0] = '\0';
    if (!code || !find_columns(code, columns))
        return;
    const union cell *row = table_next(code, &cursor);
    double line = row[columns[LINE]].num;
    annotate_place(row[columns[FILE_NAME]].text, line > 0 ? (uint32_t)line : 0, false, out, size);
    size_t length = strlen(out);
    if (row[columns[FUNCTION]].text)
        snprintf(out + length, size - length, "; %s", text_bytes(row[columns[FUNCTION]].text));
}
