// The detail part: see the header. It follows its row from frame to frame, rewind included, until the row is gone.
#include "views/part_detail.h"

#include <string.h>

#include "views/escape.h"

#define LABEL_WIDTH 11
#define FIELD_WIDTH 26
#define GAP 2

struct detail_state {
    struct rows rows;
    int top; // first line that is visible
    int n_lines, page;
};

// What a walk over the lines does with them: counts, or draws those that are visible.
struct pen {
    struct part_context *ctx;
    int width, line;
    bool draws;
};

static const struct detail_spec *spec_of(const struct part_context *ctx) {
    return ctx->part->spec;
}

static void done(void *state, const struct part *part) {
    struct detail_state *self = state;

    (void)part;
    rows_done(&self->rows);
}

static bool is_open(const struct part_context *ctx) {
    return ctx->pane->filter_part == ctx->part;
}

static bool load(struct part_context *ctx) {
    struct detail_state *self = ctx->state;

    rows_load(&self->rows, &spec_of(ctx)->source, ctx->look ? ctx->look->frame : NULL, ctx->pane->filter, NULL, false);
    return self->rows.join && self->rows.n;
}

static void put(const struct pen *pen, int x, enum role role, const char *text) {
    const struct detail_state *self = pen->ctx->state;
    int y = pen->line - self->top;

    if (pen->draws && y >= 0 && y < pen->ctx->area.height)
        area_text(pen->ctx->area, x, y, role, text);
}

// One item of a long text: as many bytes as fit, cut at a blank where there is one. Returns how many.
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

static void put_lines(struct pen *pen, const char *title, const char *text) {
    int width = pen->width - LABEL_WIDTH - GAP;
    bool first = true;

    while (*text) {
        const char *end = strstr(text, " < ");
        size_t length = end ? (size_t)(end - text) : strlen(text);
        char item[1024];
        snprintf(item, sizeof(item), "%.*s", (int)length, text);
        text += length + (end ? 3 : 0);
        for (const char *at = item; *at; first = false, pen->line++) {
            size_t n = fitting(at, width > 8 ? width : 8);
            char piece[512];
            snprintf(piece, sizeof(piece), "%.*s", (int)n, at);
            if (first)
                put(pen, 1, ROLE_DIM, title);
            put(pen, LABEL_WIDTH + GAP, ROLE_TEXT, piece);
            at += n;
            at += strspn(at, " ");
        }
    }
}

// Every line of the row, top to bottom.
static void walk(struct pen *pen) {
    struct detail_state *self = pen->ctx->state;
    const char *lines = spec_of(pen->ctx)->lines ? spec_of(pen->ctx)->lines : "";
    const struct join *join = self->rows.join;
    size_t row = rows_at(&self->rows, 0);
    int columns = (pen->width + GAP) / (FIELD_WIDTH + GAP), x = 0;
    char text[2048];

    columns = columns < 1 ? 1 : columns;
    for (uint16_t c = 0; c < join->n_columns; c++) {
        const struct column *column = join->columns[c];
        union cell cell = join_cell(join, row, c);
        if (is_listed(lines, column->name) || cell_is_null(column, cell))
            continue;
        cell_text(column, cell, text, sizeof(text));
        bool wide = text_width(text) > FIELD_WIDTH - LABEL_WIDTH - 1;
        if (wide && x > 0) { // a line of its own
            x = 0;
            pen->line++;
        }
        int at = x * (FIELD_WIDTH + GAP) + 1;
        put(pen, at, ROLE_DIM, column->title ? column->title : column->name);
        put(pen, at + LABEL_WIDTH + 1, ROLE_TEXT, text);
        if (wide || ++x == columns) {
            x = 0;
            pen->line++;
        }
    }
    pen->line += x > 0;
    char names[256], *save;
    snprintf(names, sizeof(names), "%s", lines);
    for (char *name = strtok_r(names, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        int c = join_column(join, name);
        if (c < 0 || cell_is_null(join->columns[c], join_cell(join, row, (uint16_t)c)))
            continue;
        cell_text(join->columns[c], join_cell(join, row, (uint16_t)c), text, sizeof(text));
        put_lines(pen, join->columns[c]->title ? join->columns[c]->title : name, text);
    }
}

static int height(struct part_context *ctx, int width) {
    struct detail_state *self = ctx->state;
    struct pen pen = {.ctx = ctx, .width = width};

    if (!is_open(ctx)) {
        self->top = 0;
        return 0;
    }
    if (!load(ctx))
        return 1;
    walk(&pen);
    return pen.line;
}

static void draw(struct part_context *ctx) {
    struct detail_state *self = ctx->state;
    struct pen pen = {.ctx = ctx, .width = ctx->area.width};

    if (!load(ctx)) {
        area_text(ctx->area, 1, 0, ROLE_DIM, "it is not in this list at this time (Esc: back)");
        return;
    }
    walk(&pen);
    self->n_lines = pen.line;
    self->page = ctx->area.height;
    if (self->top > self->n_lines - self->page)
        self->top = self->n_lines > self->page ? self->n_lines - self->page : 0;
    pen = (struct pen){.ctx = ctx, .width = ctx->area.width, .draws = true};
    walk(&pen);
}

static bool key(struct part_context *ctx) {
    struct detail_state *self = ctx->state;
    int page = self->page > 1 ? self->page - 1 : 1;

    if (!is_open(ctx))
        return false;
    switch (ctx->key) {
    case KEY_VIEW_UP:
        self->top -= 1;
        break;
    case KEY_VIEW_DOWN:
        self->top += 1;
        break;
    case KEY_VIEW_PAGE_UP:
        self->top -= page;
        break;
    case KEY_VIEW_PAGE_DOWN:
        self->top += page;
        break;
    default:
        return false;
    }
    self->top = self->top < 0 ? 0 : self->top;
    return true;
}

static size_t status(struct part_context *ctx, char *out, size_t size) {
    const struct detail_state *self = ctx->state;

    return self->n_lines > self->page ? (size_t)snprintf(out, size, "Up Down scroll, Esc: back")
                                      : (size_t)snprintf(out, size, "Esc: back");
}

static const struct part_key keys[] = {
    {KEY_VIEW_UP, "Up Down", "scroll what does not fit (Esc: back)"},
    {0},
};

static size_t sources(const struct part *part, const char **names, size_t max) {
    const struct detail_spec *spec = part->spec;

    return rows_sources(&spec->source, names, max);
}

const struct part_kind part_detail = {
    .state_size = sizeof(struct detail_state),
    .done = done,
    .height = height,
    .draw = draw,
    .key = key,
    .keys = keys,
    .status = status,
    .sources = sources,
};
