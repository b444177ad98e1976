// Draws the few rows with the largest values. Walks the table once per frame: ten thousand rows cost a fraction of a
// millisecond. A value that was not measured is never listed.
#include "views/part_top.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "views/escape.h"
#include "views/filter.h"

#define TOP_ROWS_MAX 32
#define TOP_ROWS_IN_TEXT 5
#define TOP_LISTS_MAX 8
#define TOP_WIDTH 25 // minimum columns of a list
#define VALUE_WIDTH 7

struct top_row {
    double value;
    const union cell *cells;
};

struct top_state {
    int list, row;            // selected
    int width, height, bands; // of a list, at the last draw
    int drawn[TOP_LISTS_MAX]; // rows of each list, at the last draw
    // The largest rows of each list in this frame with this filter; holds the frame.
    const struct frame *frame;
    char filter[FILTER_SIZE];
    struct top_row rows[TOP_LISTS_MAX][TOP_ROWS_MAX];
    int n[TOP_LISTS_MAX];
};

static int list_count(const struct top_spec *spec) {
    int n = 0;
    while (n < TOP_LISTS_MAX && spec->lists[n].title)
        n++;
    return n;
}

static void name_of(const struct table *table, const union cell *row, int column, char *out, size_t size) {
    char text[256];
    out[0] = '\0';
    if (column < 0)
        return;
    size_t n = column_format(&table_def(table)->columns[column], row[column], text, sizeof text);
    escape_text(text, n, out, size);
}

// The rule of a table's filter: the name contains its bytes, or the ID is equal.
static bool passes_filter(const struct part_context *ctx, const struct table *table, const union cell *row) {
    const struct top_spec *spec = ctx->part->spec;
    int column = table_column(table_def(table), spec->name);
    struct filter filter;
    char id[32];
    if (filter_parse(ctx->pane->filter, ctx->look->frame, &filter)) {
        for (size_t i = 0; i < filter.n; i++) {
            int wanted = table_column(table_def(table), filter.terms[i].name);
            if (wanted >= 0 && !filter_holds(&filter, i, &table_def(table)->columns[wanted], row[wanted]))
                return false;
        }
        return true;
    }
    name_of(table, row, table_column(table_def(table), spec->id), id, sizeof id);
    return (column >= 0 && strcasestr(text_bytes(row[column].text), filter.text)) || !strcmp(id, filter.text);
}

// Inserts a row among the largest above 0. Equal rows keep the order of the table.
static int top_insert(struct top_row *rows, int n, double value, const union cell *cells) {
    int at = n < TOP_ROWS_MAX ? n++ : n - 1;
    for (; at > 0 && rows[at - 1].value < value; at--)
        rows[at] = rows[at - 1];
    rows[at] = (struct top_row){value, cells};
    return n;
}

// Fills the lists: one walk over the table for all of them, once per frame.
static const struct table *top_load(const struct part_context *ctx) {
    const struct top_spec *spec = ctx->part->spec;
    struct top_state *state = ctx->state;
    const struct frame *frame = ctx->look->frame;
    const struct table *table = frame ? frame_table(frame, spec->table) : NULL;
    int columns[TOP_LISTS_MAX][2], n = list_count(spec);
    const union cell *row;

    if (frame && frame == state->frame && !strcmp(state->filter, ctx->pane->filter))
        return table;
    frame_unref(state->frame);
    state->frame = frame ? frame_ref(frame) : NULL;
    snprintf(state->filter, sizeof state->filter, "%s", ctx->pane->filter);
    memset(state->n, 0, sizeof state->n);
    for (int i = 0; table && i < n; i++)
        for (int k = 0; k < 2; k++)
            columns[i][k] = spec->lists[i].columns[k] ? table_column(table_def(table), spec->lists[i].columns[k]) : -1;
    for (size_t cursor = 0; table && (row = table_next(table, &cursor));) {
        bool wanted = !ctx->pane->filter[0] || passes_filter(ctx, table, row);
        for (int i = 0; wanted && i < n; i++) {
            double value = columns[i][0] < 0 ? NAN : row[columns[i][0]].num;
            double second = columns[i][1] < 0 ? NAN : row[columns[i][1]].num;
            if (!isnan(second))
                value = isnan(value) ? second : value + second;
            if (value > 0 && (state->n[i] < TOP_ROWS_MAX || value > state->rows[i][TOP_ROWS_MAX - 1].value))
                state->n[i] = top_insert(state->rows[i], state->n[i], value, row);
        }
    }
    return table;
}

static void top_done(void *state, const struct part *part) {
    (void)part;
    struct top_state *top = state;
    frame_unref(top->frame);
    top->frame = NULL;
}

static int list_columns(const struct top_spec *spec, int width) {
    int columns = (width + 2) / (TOP_WIDTH + 2), n = list_count(spec);
    return columns < 1 ? 1 : columns > n ? n : columns;
}

// The number of lists at that width.
static int list_shown(const struct top_spec *spec, int width) {
    int n = list_count(spec), columns = list_columns(spec, width),
        most = columns > spec->essential ? columns : spec->essential;
    return n < most ? n : most;
}

static int top_height(struct part_context *ctx, int width) {
    const struct top_spec *spec = ctx->part->spec;
    struct top_state *state = ctx->state;
    int n = list_shown(spec, width), columns = list_columns(spec, width), bands = (n + columns - 1) / columns, most = 1;
    top_load(ctx);
    for (int i = 0; i < n; i++)
        most = state->n[i] > most ? state->n[i] : most;
    return bands * (1 + most);
}

static void value_text(const struct table *table, const struct top_list *list, double value, char *out, size_t size) {
    enum unit unit = table_def(table)->columns[table_column(table_def(table), list->columns[0])].unit;
    size_t length = unit_format(unit, value, out, size);
    if (unit == UNIT_PCT && length + 1 < size)
        strcpy(out + length, "%");
}

static void draw_list(struct part_context *ctx, struct area area, const struct table *table, int index) {
    const struct top_spec *spec = ctx->part->spec;
    struct top_state *state = ctx->state;
    const struct top_list *list = &spec->lists[index];
    const struct top_row *rows = state->rows[index];
    int height = area.height - 1;

    area_fill(area, 0, 0, area.width, ROLE_HEADER, ' ');
    area_text(area, 2, 0, ROLE_HEADER, list->title);
    int column = table ? table_column(table_def(table), list->columns[0]) : -1;
    int n = state->n[index] < height ? state->n[index] : height;
    state->drawn[index] = n;
    if (!n && height > 0)
        area_text(area, VALUE_WIDTH - 1, 1, ROLE_DIM, column < 0 ? "-" : "none");
    for (int i = 0; i < n; i++) {
        char value[32], name[256], id[32];
        value_text(table, list, rows[i].value, value, sizeof value);
        name_of(table, rows[i].cells, table_column(table_def(table), spec->name), name, sizeof name);
        name_of(table, rows[i].cells, table_column(table_def(table), spec->id), id, sizeof id);
        area_printf(area, 0, i + 1, ROLE_TEXT, "%*s", VALUE_WIDTH, value);
        int end = area.width - (int)strlen(id);
        area_text(area, end, i + 1, ROLE_DIM, id);
        area_text(area_sub(area, 0, 0, end - 1, area.height), VALUE_WIDTH + 1, i + 1, ROLE_TEXT, name);
        if (ctx->focused && index == state->list && i == state->row)
            area_role(area, 0, i + 1, area.width, ROLE_SELECTED);
    }
}

static void top_draw(struct part_context *ctx) {
    const struct top_spec *spec = ctx->part->spec;
    struct top_state *state = ctx->state;
    const struct table *table = top_load(ctx);
    int n = list_shown(spec, ctx->area.width), columns = list_columns(spec, ctx->area.width),
        bands = (n + columns - 1) / columns;

    // Without room for all below each other: the first ones, with at least one row each.
    while (bands > 1 && ctx->area.height / bands < 2)
        bands--;
    state->width = (ctx->area.width + 2) / columns;
    state->height = ctx->area.height / bands;
    state->bands = bands;
    memset(state->drawn, 0, sizeof state->drawn);
    for (int i = 0; i < n && i < columns * bands; i++)
        draw_list(ctx,
                  area_sub(ctx->area, i % columns * state->width, i / columns * state->height, state->width - 2,
                           state->height),
                  table, i);
}

static bool top_key(struct part_context *ctx) {
    const struct top_spec *spec = ctx->part->spec;
    struct top_state *state = ctx->state;
    const struct table *table = top_load(ctx);
    int n = list_shown(spec, ctx->area.width);

    if (!ctx->focused && ctx->key != KEY_VIEW_CLICK)
        return false;
    switch (ctx->key) {
    case KEY_VIEW_UP:
        state->row--;
        break;
    case KEY_VIEW_DOWN:
        state->row++;
        break;
    case KEY_VIEW_LEFT:
        state->list--;
        break;
    case KEY_VIEW_RIGHT:
        state->list++;
        break;
    case KEY_VIEW_CLICK: {
        if (state->width < 1 || state->height < 1)
            return false;
        int columns = list_columns(spec, ctx->area.width);
        int list = ctx->mouse_y / state->height * columns + ctx->mouse_x / state->width;
        int row = ctx->mouse_y % state->height - 1;
        if (list < 0 || list >= n || row < 0 || row >= state->drawn[list])
            return false;
        state->list = list;
        state->row = row;
        return true;
    }
    case KEY_VIEW_ENTER: {
        if (!table || state->row >= state->n[state->list] || !spec->jump_pane)
            return true;
        int column = table_column(table_def(table), spec->id);
        const union cell *cells = state->rows[state->list][state->row].cells;
        if (column >= 0)
            filter_for(&table_def(table)->columns[column], cells[column], ctx->jump_filter, sizeof ctx->jump_filter);
        ctx->jump_pane = spec->jump_pane;
        return true;
    }
    default:
        return false;
    }
    state->list = state->list < 0 ? 0 : state->list >= n ? n - 1 : state->list;
    int last = state->drawn[state->list] - 1;
    state->row = state->row > last ? last : state->row;
    state->row = state->row < 0 ? 0 : state->row;
    return true;
}

static const struct part_key keys[] = {
    {KEY_VIEW_ENTER, "Enter", "open the task in the tasks pane"},
    {0},
};

static void top_write_text(struct part_context *ctx, FILE *out) {
    const struct top_spec *spec = ctx->part->spec;
    struct top_state *state = ctx->state;
    const struct table *table = top_load(ctx);
    for (int k = 0; k < list_count(spec); k++) {
        fprintf(out, "  %s:", spec->lists[k].title);
        for (int i = 0; i < state->n[k] && i < TOP_ROWS_IN_TEXT; i++) {
            char value[32], name[256], id[32];
            value_text(table, &spec->lists[k], state->rows[k][i].value, value, sizeof value);
            name_of(table, state->rows[k][i].cells, table_column(table_def(table), spec->name), name, sizeof name);
            name_of(table, state->rows[k][i].cells, table_column(table_def(table), spec->id), id, sizeof id);
            fprintf(out, "%s %s %s (%s)", i ? "," : "", value, name, id);
        }
        fprintf(out, "%s\n", state->n[k] ? "" : table ? " none" : " -");
    }
}

static size_t top_sources(const struct part *part, const char **names, size_t max) {
    const struct top_spec *spec = part->spec;
    if (max)
        names[0] = spec->table;
    return max ? 1 : 0;
}

static bool top_shows(const struct part *part, const void *state, const char *name) {
    const struct top_spec *spec = part->spec;

    (void)state;
    for (const struct top_list *list = spec->lists; list->title; list++)
        for (size_t i = 0; i < 2 && list->columns[i]; i++)
            if (!strcmp(list->columns[i], name))
                return true;
    return !strcmp(spec->name, name) || !strcmp(spec->id, name);
}

const struct part_kind part_top = {
    .state_size = sizeof(struct top_state),
    .done = top_done,
    .height = top_height,
    .draw = top_draw,
    .key = top_key,
    .keys = keys,
    .write_text = top_write_text,
    .sources = top_sources,
    .shows = top_shows,
};
