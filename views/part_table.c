// The table part: see the header. Only visible rows are formatted. The selection is a row's key, not its index, so that
// it stays on its row when the order changes.
#include "views/part_table.h"

#include <math.h>
#include <string.h>

#include "views/escape.h"
#include "views/filter.h"
#include "views/hist/select.h"
#include "views/pane_parts.h"
#include "views/row/key.h"
#include "views/table_columns.h"
#include "views/table_enter.h"
#include "views/table_status.h"

// An optional table that has become empty keeps its room for this time and number of frames.
#define RECENT_NS (60 * 1000000000ull)
#define RECENT_FRAMES 5
#define CHOOSER_ROWS 9 // its heading, and eight columns to choose from

struct table_state {
    struct rows rows;
    struct table_columns columns;
    char sort[64]; // chosen by the user; "": the view's
    bool ascending;
    bool selected;
    struct row_key key; // of the selected row
    long place;         // of the selected row, when last found
    long top;           // place of the first visible row
    int page;           // rows visible
    struct table_line line;
};

static const struct table_spec *spec_of(const struct part_context *ctx) {
    return ctx->part->spec;
}

static void init(void *state, const struct part *part) {
    struct table_state *self = state;

    columns_init(&self->columns, part->spec);
}

static void select_none(struct table_state *self) {
    row_key_forget(&self->key);
    self->selected = false;
}

static void done(void *state, const struct part *part) {
    struct table_state *self = state;

    (void)part;
    select_none(self);
    columns_done(&self->columns);
    rows_done(&self->rows);
}

static const char *filter_of(const struct part_context *ctx) {
    return pane_filter(ctx->pane, ctx->part);
}

static bool load(struct part_context *ctx) {
    struct table_state *self = ctx->state;
    const struct frame *frame = ctx->look ? ctx->look->frame : NULL;

    rows_load(&self->rows, &spec_of(ctx)->source, frame, filter_of(ctx), self->sort, self->ascending);
    return self->rows.join != NULL;
}

// ---- selection ----

static void select_place(struct table_state *self, long place) {
    if (!self->rows.n) {
        select_none(self);
        return;
    }
    place = place >= (long)self->rows.n ? (long)self->rows.n - 1 : place < 0 ? 0 : place;
    row_key_take(&self->key, self->rows.join, rows_at(&self->rows, (size_t)place), NULL);
    self->selected = true;
    self->place = place;
}

// Finds the selected row again. If it is gone, the row now at its place is selected.
static void follow_selection(struct table_state *self) {
    if (!self->selected)
        return;
    long place = self->key.n ? row_key_place(&self->key, &self->rows) : self->place;
    if (place < 0 || place >= (long)self->rows.n)
        select_place(self, self->place);
    else
        self->place = place;
}

static void scroll_to_selection(struct table_state *self, int page) {
    long last = (long)self->rows.n - page;

    if (self->selected) {
        if (self->place < self->top)
            self->top = self->place;
        if (self->place >= self->top + page)
            self->top = self->place - page + 1;
    }
    self->top = self->top > last ? last : self->top;
    self->top = self->top < 0 ? 0 : self->top;
}

// ---- drawing ----

// Over the whole window, so that the parts of a pane do not move with every pause.
static bool any_rows(const struct part_context *ctx) {
    const struct look *look = ctx->look;

    for (size_t i = 0; i <= look->n_window; i++) {
        const struct frame *frame = i ? look->window[look->n_window - i] : look->frame;
        if (i > RECENT_FRAMES && frame && look->frame && frame->end_ns + RECENT_NS < look->frame->end_ns)
            return false;
        if (frame && rows_any(&spec_of(ctx)->source, frame))
            return true;
    }
    return false;
}

static int height(struct part_context *ctx, int width) {
    struct table_state *self = ctx->state;

    self->line.n = 0;
    if (spec_of(ctx)->optional && !self->columns.choosing && !any_rows(ctx))
        return 0;
    if (!load(ctx))
        return 1;
    columns_line(&self->columns, spec_of(ctx), &self->rows, width, &self->line);
    if (self->columns.choosing)
        return (int)self->rows.join->n_columns + 1;
    return self->rows.n ? (int)self->rows.n + 1 : 2;
}

// A chooser of two columns would be useless.
static int least(struct part_context *ctx) {
    const struct table_state *self = ctx->state;

    return self->columns.choosing ? CHOOSER_ROWS : 0;
}

static bool is_right(const struct column *column) {
    return column->type == COLUMN_NUMBER;
}

static void draw_header(struct part_context *ctx) {
    struct table_state *self = ctx->state;
    const struct join *join = self->rows.join;

    area_fill(ctx->area, 0, 0, ctx->area.width, ROLE_HEADER, ' ');
    for (size_t i = 0; i < self->line.n; i++) {
        const struct table_slot *slot = &self->line.slots[i];
        const struct column *column = join->columns[slot->column];
        const char *title = column_title(column);
        bool sorted = (int)slot->column == self->rows.sort_column;
        enum role role = sorted ? ROLE_HEADER_SORTED : ROLE_HEADER;
        int width = text_width(title);
        int x = slot->x + (is_right(column) ? slot->width - width : 0);
        area_text(area_sub(ctx->area, 0, 0, slot->x + slot->width, 1), x, 0, role, title);
        if (sorted)
            area_char(ctx->area, is_right(column) ? x - 1 : x + width, 0, role, self->rows.ascending ? 0x25b2 : 0x25bc);
    }
}

static void draw_cell(struct part_context *ctx, int y, const struct table_slot *slot, size_t row) {
    struct table_state *self = ctx->state;
    const struct table_spec *spec = spec_of(ctx);
    const struct join *join = self->rows.join;
    uint16_t at = slot_column(slot, spec, join, row);
    const struct column *column = join->columns[at];
    union cell value = join_cell(join, row, at);
    enum role role = ROLE_TEXT;
    char text[1024];

    row_text(join, row, at, text, sizeof(text));
    if (spec->role)
        role = spec->role(join, row, column, value);
    if (role == ROLE_TEXT && cell_is_null(column, value))
        role = ROLE_DIM;
    struct area area = area_sub(ctx->area, slot->x, y, slot->width, 1);
    int width = text_width(text);
    area_text(area, is_right(column) && width < area.width ? area.width - width : 0, 0, role, text);
    if (width > area.width && area.width > 1)
        area_char(area, area.width - 1, 0, ROLE_DIM, 0x2026);
}

static void draw_empty(struct part_context *ctx, int y) {
    const struct table_state *self = ctx->state;
    const struct table_spec *spec = spec_of(ctx);
    const char *unmeasured = part_unmeasured(ctx->part, ctx->look);
    char filter[4 * FILTER_SIZE];

    if (unmeasured) {
        area_text(ctx->area, 1, y, ROLE_DIM, unmeasured);
    } else if (filter_of(ctx)[0] && !self->rows.unfiltered) {
        const char *text = filter_of(ctx);
        struct filter parsed;
        if (!self->rows.terms && !filter_parse(text, ctx->look->frame, &parsed))
            text = parsed.text; // without its quotes
        escape_text(text, strlen(text), filter, sizeof(filter));
        if (self->rows.left_out) // those may match
            area_printf(ctx->area, 1, y, ROLE_DIM, "no match for %s among the %zu kept events", filter,
                        self->rows.n_all);
        else
            area_printf(ctx->area, 1, y, ROLE_DIM, self->rows.terms ? "no row matches %s" : "no row contains \"%s\"",
                        filter);
    } else {
        area_text(ctx->area, 1, y, ROLE_DIM, spec->empty ? spec->empty : "nothing");
    }
}

static void draw(struct part_context *ctx) {
    struct table_state *self = ctx->state;
    int head = ctx->area.height >= 2 ? 1 : 0;

    if (!load(ctx)) {
        area_text(ctx->area, 1, 0, ROLE_DIM, "not available");
        return;
    }
    self->page = ctx->area.height - head;
    if (self->columns.choosing) {
        columns_draw_chooser(&self->columns, self->rows.join, ctx->area);
        return;
    }
    follow_selection(self);
    scroll_to_selection(self, self->page);
    columns_line(&self->columns, spec_of(ctx), &self->rows, ctx->area.width, &self->line);
    if (head)
        draw_header(ctx);
    for (int y = 0; y < self->page && self->top + y < (long)self->rows.n; y++) {
        size_t row = rows_at(&self->rows, (size_t)(self->top + y));
        for (size_t i = 0; i < self->line.n; i++)
            draw_cell(ctx, y + head, &self->line.slots[i], row);
        if (self->selected && self->top + y == self->place)
            area_role(ctx->area, 0, y + head, ctx->area.width, ctx->focused ? ROLE_SELECTED : ROLE_HEADER);
    }
    if (!self->rows.n)
        draw_empty(ctx, head);
}

static void status(struct part_context *ctx, char *out, size_t size) {
    struct table_state *self = ctx->state;

    const struct table_about *about = spec_of(ctx)->about;

    if (!self->rows.join || self->columns.choosing)
        return;
    if (about && self->selected && self->place < (long)self->rows.n)
        about->text(ctx, self->rows.join, rows_at(&self->rows, (size_t)self->place), out, size);
    if (!out[0])
        table_status(ctx, &self->rows, self->top, self->page, out, size);
}

static const struct code_ask *ask(struct part_context *ctx) {
    struct table_state *self = ctx->state;
    const struct table_about *about = spec_of(ctx)->about;

    if (!about || !self->selected || !self->rows.join || self->place >= (long)self->rows.n)
        return NULL;
    return about->ask(ctx, self->rows.join, rows_at(&self->rows, (size_t)self->place));
}

// ---- keys ----

static void set_sort(struct table_state *self, const char *name, bool ascending) {
    snprintf(self->sort, sizeof(self->sort), "%s", name);
    self->ascending = ascending;
}

static void move_sort(struct part_context *ctx, int direction) {
    struct table_state *self = ctx->state;
    const struct join *join = self->rows.join;
    long n = (long)self->line.n, at = -1;

    for (long i = 0; i < n; i++)
        if ((int)self->line.slots[i].column == self->rows.sort_column)
            at = i;
    if (!n)
        return;
    at = at < 0 ? (direction > 0 ? 0 : n - 1) : (at + direction + n) % n;
    const struct column *column = join->columns[self->line.slots[at].column];
    set_sort(self, column->name, column->ascending);
    self->top = 0;
    snprintf(ctx->message, sizeof(ctx->message), "sorted by %s", column->name);
}

static void invert_sort(struct table_state *self) {
    if (self->rows.sort_column >= 0)
        set_sort(self, self->rows.join->columns[self->rows.sort_column]->name, !self->rows.ascending);
}

static bool enter(struct part_context *ctx) {
    struct table_state *self = ctx->state;

    if (!self->rows.n && ctx->focused && (spec_of(ctx)->opens || spec_of(ctx)->jump.pane)) {
        // Rows come and go: Enter must not open a row of another table instead.
        snprintf(ctx->message, sizeof(ctx->message), "no rows%s", ctx->look->live ? "; Space: freeze" : "");
        return true;
    }
    if (!self->rows.n)
        return false;
    size_t row = rows_at(&self->rows, (size_t)(self->selected ? self->place : 0));
    return table_enter(ctx, self->rows.join, row);
}

static bool clicked(struct part_context *ctx) {
    struct table_state *self = ctx->state;
    int head = ctx->area.height >= 2 ? 1 : 0;

    if (ctx->mouse_y < head) {
        for (size_t i = 0; i < self->line.n; i++) {
            const struct table_slot *slot = &self->line.slots[i];
            const struct column *column = self->rows.join->columns[slot->column];
            if (ctx->mouse_x < slot->x || ctx->mouse_x > slot->x + slot->width)
                continue;
            if ((int)slot->column == self->rows.sort_column)
                invert_sort(self);
            else
                set_sort(self, column->name, column->ascending);
            return true;
        }
        return false;
    }
    long place = self->top + ctx->mouse_y - head;
    if (place >= (long)self->rows.n)
        return false;
    if (self->selected && place == self->place && enter(ctx))
        return true;
    select_place(self, place);
    return true;
}

static bool move_selection(struct table_state *self, int key) {
    long step = view_key_step(key, self->page), place = self->selected ? self->place : self->top - 1;

    if (key == KEY_VIEW_PAGE_UP || key == KEY_VIEW_PAGE_DOWN)
        self->top += step;
    if (step)
        select_place(self, place + step);
    else if (key == KEY_VIEW_END)
        select_place(self, (long)self->rows.n - 1);
    else if (key != KEY_VIEW_HOME)
        return false;
    else { // no selection: the top stays the top when new rows arrive
        select_none(self);
        self->top = 0;
    }
    return true;
}

static bool scroll_columns(struct table_state *self, int direction) {
    if (direction > 0 ? !self->line.n_left_out : self->columns.left <= 0)
        return false;
    self->columns.left += direction;
    return true;
}

// The histograms of the pane follow the selection; without one they use their default.
static void share_choice(struct part_context *ctx) {
    struct table_state *self = ctx->state;
    const struct join *join = self->rows.join;
    int column = join_column(join, spec_of(ctx)->chooses);

    if (column < 0)
        return;
    union cell value = cell_null(join->columns[column]->type);
    if (self->selected)
        value = join_cell(join, rows_at(&self->rows, (size_t)self->place), (uint16_t)column);
    hist_select_choose(ctx->pane, join->columns[column], value);
}

// The row of the parent in this table, else in the pane of tasks.
static bool go_to_parent(struct part_context *ctx) {
    struct table_state *self = ctx->state;
    const struct join *join = self->rows.join;
    int pid = join_column(join, "pid"), ppid = join_column(join, spec_of(ctx)->parent);
    char filter[40] = "";

    if (pid < 0 || ppid < 0)
        return false;
    double parent =
        join_cell(join, rows_at(&self->rows, (size_t)(self->selected ? self->place : 0)), (uint16_t)ppid).num;
    if (isnan(parent) || parent < 1) {
        snprintf(ctx->message, sizeof(ctx->message), "the parent is unknown");
        return true;
    }
    for (size_t i = 0; i < self->rows.n; i++)
        if (join_cell(join, rows_at(&self->rows, i), (uint16_t)pid).num == parent) {
            select_place(self, (long)i);
            return true;
        }
    filter_add(join->columns[pid], (union cell){.num = parent}, FILTER_EQUAL, filter, sizeof(filter));
    jump_to(ctx, "tasks", filter, NULL);
    return true;
}

static bool key_rows(struct part_context *ctx) {
    struct table_state *self = ctx->state;

    switch (ctx->key) {
    case KEY_VIEW_CLICK:
        return clicked(ctx);
    case KEY_VIEW_LEFT:
        return scroll_columns(self, -1);
    case KEY_VIEW_RIGHT:
        return scroll_columns(self, 1);
    case KEY_VIEW_ENTER:
        return enter(ctx);
    case 'a':
        return spec_of(ctx)->annotates && self->rows.n && ctx->focused &&
               table_annotate(ctx, self->rows.join, rows_at(&self->rows, (size_t)(self->selected ? self->place : 0)));
    case 'u':
        return spec_of(ctx)->parent && self->rows.n && ctx->focused && go_to_parent(ctx);
    case 'R':
        return spec_of(ctx)->toggles && self->rows.n && ctx->focused &&
               table_count(ctx, self->rows.join, rows_at(&self->rows, (size_t)(self->selected ? self->place : 0)));
    case 'D':
        return spec_of(ctx)->removes && self->selected && ctx->focused &&
               table_remove(ctx, self->rows.join, rows_at(&self->rows, (size_t)self->place));
    case KEY_VIEW_BACK:
        if (!self->selected)
            return false;
        select_none(self);
        return true;
    case '<':
        move_sort(ctx, -1);
        return true;
    case '>':
        move_sort(ctx, 1);
        return true;
    case 'I':
        invert_sort(self);
        return true;
    case 'f':
        self->columns.choosing = ctx->focus_take = true;
        return true;
    default:
        return move_selection(self, ctx->key);
    }
}

static bool key(struct part_context *ctx) {
    struct table_state *self = ctx->state;

    if (!load(ctx))
        return false;
    if (self->columns.choosing)
        return columns_key(&self->columns, self->rows.join, ctx->key, self->page);
    follow_selection(self);
    bool selected = self->selected;
    long place = self->place;
    bool used = key_rows(ctx);
    if (spec_of(ctx)->chooses &&
        (self->selected != selected || (selected && self->place != place) || ctx->key == KEY_VIEW_HOME))
        share_choice(ctx);
    return used;
}

static bool search(struct part_context *ctx, int direction) {
    struct table_state *self = ctx->state;

    if (!load(ctx) || !self->rows.n)
        return false;
    follow_selection(self);
    long n = (long)self->rows.n, from = self->selected ? self->place : direction > 0 ? -1 : n;
    for (long step = 1; step <= n; step++) {
        long place = ((from + direction * step) % n + n) % n;
        size_t row = rows_at(&self->rows, (size_t)place);
        if (!row_contains(self->rows.join, rows_n_keys(&self->rows), row, ctx->pane->search))
            continue;
        select_place(self, place);
        if (spec_of(ctx)->chooses)
            share_choice(ctx);
        return true;
    }
    return false;
}

static bool sort(struct part_context *ctx, const char *column, bool ascending) {
    struct table_state *self = ctx->state;

    if (!load(ctx) || join_column(self->rows.join, column) < 0)
        return false;
    set_sort(self, column, ascending);
    return true;
}

static bool takes(const struct part *part, int key) {
    const struct table_spec *spec = part->spec;

    return key == 'a'   ? spec->annotates != NULL
           : key == 'R' ? spec->toggles != NULL
           : key == 'u' ? spec->parent != NULL
           : key == 'D' ? spec->removes != NULL
                        : key != KEY_VIEW_ENTER || spec->opens || spec->toggles || spec->jump.pane;
}

static const struct part_key keys[] = {
    {'<', "< >", "sort by the column to the left or right"},
    {'I', "I", "invert the order"},
    {'f', "f", "choose and order the columns"},
    {KEY_VIEW_LEFT, "Left Right", "scroll the columns"},
    {KEY_VIEW_UP, "Up Down", "select a row; the selection follows the row (Home: none)"},
    {KEY_VIEW_ENTER, "Enter", "open the row: its events, its history or its task (Esc: back)"},
    {'R', "R", "count all events of the selected system for one interval, to see which are frequent"},
    {'u', "u", "go to the row of the parent process"},
    {'D', "D", "remove the selected probe"},
    {'a', "a", "instructions and source lines of the selected function (Esc: back)"},
    {0},
};

// ---- files ----

static void write_text(struct part_context *ctx, FILE *out) {
    struct table_state *self = ctx->state;
    bool loaded = load(ctx);
    const char *unmeasured = part_unmeasured(ctx->part, ctx->look);
    const char *empty = unmeasured                                    ? unmeasured
                        : !filter_of(ctx)[0] || self->rows.unfiltered ? spec_of(ctx)->empty
                        : self->rows.terms                            ? "no row matches the filter"
                                                                      : "no row contains the filter";

    if (loaded)
        columns_write_text(&self->columns, spec_of(ctx), &self->rows, empty, out);
    else
        fputs("  not available\n", out);
}

// CSV and JSON have a table once, with all rows: of the parts that share it, the one with the rest of them writes it.
static bool load_for_data(struct part_context *ctx) {
    struct table_state *self = ctx->state;
    struct rows_source source = spec_of(ctx)->source;
    if (source.only && source.only[0] != '-')
        return false;
    source.only = NULL;
    rows_load(&self->rows, &source, ctx->look ? ctx->look->frame : NULL, filter_of(ctx), self->sort, self->ascending);
    return self->rows.join != NULL;
}

static void write_csv(struct part_context *ctx, FILE *out) {
    struct table_state *self = ctx->state;

    if (load_for_data(ctx))
        rows_write_csv(&self->rows, ctx, ctx->part->name, out);
}

static void write_json(struct part_context *ctx, struct json_object *pane) {
    struct table_state *self = ctx->state;

    if (load_for_data(ctx))
        rows_write_json(&self->rows, ctx, ctx->part->name, spec_of(ctx)->source.stream, pane);
}

static void describe(const struct part *part, const struct frame *schema, FILE *out) {
    const struct table_spec *spec = part->spec;

    rows_describe(&spec->source, schema, part->name, out);
}

static bool shows(const struct part *part, const void *state, const char *name) {
    const struct table_spec *spec = part->spec;
    const struct table_state *self = state;

    if (self && self->rows.join && self->line.n) {
        for (size_t i = 0; i < self->line.n; i++)
            if (!strcmp(self->rows.join->columns[self->line.slots[i].column]->name, name))
                return true;
        return false;
    }
    return !spec->shown || is_listed(spec->shown, name);
}

const struct part_kind part_table = {
    .state_size = sizeof(struct table_state),
    .init = init,
    .done = done,
    .height = height,
    .least = least,
    .draw = draw,
    .key = key,
    .keys = keys,
    .takes = takes,
    .write_text = write_text,
    .write_csv = write_csv,
    .write_json = write_json,
    .describe = describe,
    .search = search,
    .sort = sort,
    .status = status,
    .ask = ask,
    .sources = rows_sources,
    .shows = shows,
    .no_series = true,
};
