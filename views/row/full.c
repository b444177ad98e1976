// Draws a row in full (see the header).
#include "views/row/full.h"

#include <string.h>

#define LABEL_WIDTH 11
#define FIELD_WIDTH 26
#define GAP 2
#define TEXT_MAX 2048

// A walk over the lines either counts them or draws the visible ones.
struct pen {
    struct area area;
    int top, line;
    bool draws;
};

void row_full_done(struct row_full *self) {
    rows_done(&self->rows);
}

// The row of the join, or -1.
static long row_of(struct row_full *self, const struct rows_source *source, const struct row_key *key,
                   const struct frame *frame) {
    rows_load(&self->rows, source, frame, NULL, NULL, false);
    long place = self->rows.join ? row_key_place(key, &self->rows) : -1;
    return place < 0 ? -1 : (long)rows_at(&self->rows, (size_t)place);
}

static void put(const struct pen *pen, int x, enum role role, const char *text) {
    int y = pen->line - pen->top;

    if (pen->draws && y >= 0 && y < pen->area.height)
        area_text(pen->area, x, y, role, text);
}

// One line of a long text: as many bytes as fit, cut at a blank if possible. Returns how many.
static size_t fitting(const char *text, int width) {
    size_t fits = 0, blank = 0;
    char piece[512];

    for (size_t i = 1; i < sizeof(piece); i++) {
        bool whole = ((unsigned char)text[i] & 0xc0) != 0x80; // between two characters
        if (whole) {
            memcpy(piece, text, i);
            piece[i] = '\0';
            if (text_width(piece) > width)
                break;
            fits = i;
            blank = text[i] == ' ' ? i : blank;
        }
        if (!text[i])
            return i;
    }
    return blank ? blank : fits ? fits : 1;
}

// Draws as many lines as necessary, with the title before the first.
static void put_wrapped(struct pen *pen, const char *title, const char *text) {
    int width = pen->area.width - LABEL_WIDTH - GAP;

    for (const char *at = text; *at; pen->line++) {
        size_t n = fitting(at, width > 8 ? width : 8);
        char piece[512];
        snprintf(piece, sizeof(piece), "%.*s", (int)n, at);
        if (at == text)
            put(pen, 1, ROLE_DIM, title);
        put(pen, LABEL_WIDTH + GAP, ROLE_TEXT, piece);
        at += n;
        at += strspn(at, " ");
    }
}

static void put_lines(struct pen *pen, const char *title, const char *text) {
    while (*text) {
        const char *end = strstr(text, " < ");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        char item[TEXT_MAX];
        snprintf(item, sizeof(item), "%.*s", (int)length, text);
        text += length + (end ? 3 : 0);
        put_wrapped(pen, title, item);
        title = "";
    }
}

// Whether the column is only the lower-bound flag of another one, which shows it.
static bool is_bound(const struct join *join, const char *name) {
    for (uint16_t c = 0; c < join->n_columns; c++)
        if (join->columns[c]->lower_bound_flag && !strcmp(join->columns[c]->lower_bound_flag, name))
            return true;
    return false;
}

static void put_fields(struct pen *pen, const struct join *join, size_t row, const char *lines) {
    int columns = (pen->area.width + GAP) / (FIELD_WIDTH + GAP), x = 0;
    char text[TEXT_MAX];

    columns = columns < 1 ? 1 : columns;
    for (uint16_t c = 0; c < join->n_columns; c++) {
        const struct column *column = join->columns[c];
        union cell cell = join_cell(join, row, c);
        if (is_listed(lines, column->name) || cell_is_null(column, cell) || is_bound(join, column->name))
            continue;
        row_text(join, row, c, text, sizeof(text));
        if (!text[0]) // empty: the error of a call that succeeded
            continue;
        bool wide = text_width(text) > FIELD_WIDTH - LABEL_WIDTH - 1;
        if (wide && x > 0) { // on its own line
            x = 0;
            pen->line++;
        }
        if (wide) {
            put_wrapped(pen, column_title(column), text);
            continue;
        }
        int at = x * (FIELD_WIDTH + GAP) + 1;
        put(pen, at, ROLE_DIM, column_title(column));
        put(pen, at + LABEL_WIDTH + 1, ROLE_TEXT, text);
        if (++x == columns) {
            x = 0;
            pen->line++;
        }
    }
    pen->line += x > 0;
}

// Every line of the row, top to bottom.
static void walk(struct pen *pen, const struct join *join, size_t row, const char *lines) {
    char names[256], *save, text[TEXT_MAX];

    put_fields(pen, join, row, lines);
    snprintf(names, sizeof(names), "%s", lines);
    for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        int c = join_column(join, name);
        if (c < 0 || cell_is_null(join->columns[c], join_cell(join, row, (uint16_t)c)))
            continue;
        cell_text(join->columns[c], join_cell(join, row, (uint16_t)c), text, sizeof(text));
        put_lines(pen, column_title(join->columns[c]), text);
    }
}

bool row_full_draw(struct row_full *self, const struct rows_source *source, const struct row_key *key,
                   const char *lines, const struct frame *frame, struct area area) {
    struct pen pen = {.area = area};
    long row = row_of(self, source, key, frame);

    self->n_lines = self->page = 0;
    if (row < 0)
        return false;
    walk(&pen, self->rows.join, (size_t)row, lines ? lines : "");
    self->n_lines = pen.line;
    self->page = area.height;
    if (self->top > self->n_lines - self->page)
        self->top = self->n_lines > self->page ? self->n_lines - self->page : 0;
    pen = (struct pen){.area = area, .top = self->top, .draws = true};
    walk(&pen, self->rows.join, (size_t)row, lines ? lines : "");
    return true;
}

bool row_full_scrolls(const struct row_full *self) {
    return self->n_lines > self->page;
}

bool row_full_key(struct row_full *self, int key) {
    int step = (int)view_key_step(key, self->page);

    self->top = self->top + step < 0 ? 0 : self->top + step; // the draw clamps the other end
    return step != 0;
}

void row_full_write(struct row_full *self, const struct rows_source *source, const struct row_key *key,
                    const struct frame *frame, FILE *out) {
    long row = row_of(self, source, key, frame);
    char text[TEXT_MAX];

    if (row < 0)
        fputs("  not in this list at this time\n", out);
    for (uint16_t c = 0; row >= 0 && c < self->rows.join->n_columns; c++) {
        const struct column *column = self->rows.join->columns[c];
        union cell cell = join_cell(self->rows.join, (size_t)row, c);
        if (cell_is_null(column, cell))
            continue;
        cell_text(column, cell, text, sizeof(text));
        fprintf(out, "  %-*s %s\n", LABEL_WIDTH, column_title(column), text);
    }
}
