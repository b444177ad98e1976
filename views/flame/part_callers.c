// Callers above, the function, callees below: a flame graph on top of an icicle graph, with one selection.
#include "views/flame/part_callers.h"

#include <stdlib.h>
#include <string.h>

#include "views/escape.h"
#include "views/flame/callers.h"
#include "views/flame/names.h"
#include "views/flame/state.h"
#include "views/pane_parts.h"

#define SYMBOL_SIZE 512
#define BACK 8
#define DETAIL_ROWS 2

struct chosen {
    char symbol[SYMBOL_SIZE]; // as in the name, cut; "": none
    bool process;
};

struct callers_state {
    struct chosen chosen, back[BACK]; // back: functions that were shown before, the latest last
    int n_back;
    struct callers callers;
    uint64_t all; // samples of the span
    struct flame_layout up, down;
    struct flame_path selected; // from the function on
    bool above, gathered;       // it is among the callers; it is what is gathered there
    int middle;                 // line of the function, of the last draw
    int rows;                   // lines of the picture
};

static void forget(struct callers_state *self) {
    callers_free(&self->callers);
    flame_layout_done(&self->up);
    flame_layout_done(&self->down);
}

static void done(void *state, const struct part *part) {
    struct callers_state *self = state;

    (void)part;
    forget(self);
    flame_path_forget(&self->selected);
}

static void choose(struct callers_state *self, struct chosen chosen) {
    self->chosen = chosen;
    flame_path_forget(&self->selected);
    self->above = self->gathered = false;
}

static struct chosen chosen_of(const struct text *name) {
    struct chosen chosen = {.process = name && name_kind(name) == NAME_PLAIN};

    flame_shown(name, chosen.symbol, sizeof(chosen.symbol));
    return chosen;
}

void callers_choose(void *state, const struct text *name) {
    struct callers_state *self = state;

    self->n_back = 0;
    choose(self, chosen_of(name));
}

static bool open_row(void *state, const struct part *part, const struct join *join, size_t row) {
    struct callers_state *self = state;
    int column = join_column(join, "symbol");
    union cell value = column < 0 ? (union cell){.text = NULL} : join_cell(join, row, (uint16_t)column);
    struct chosen chosen = {0};

    (void)part;
    if (!value.text)
        return false;
    snprintf(chosen.symbol, sizeof(chosen.symbol), "%s", text_bytes(value.text));
    self->n_back = 0;
    choose(self, chosen);
    return true;
}

// ---- drawing ----

static bool load(struct part_context *ctx) {
    struct callers_state *self = ctx->state;
    const struct flame_spec *spec = ctx->part->spec;
    struct flame_choice *choice = flame_choice_of(ctx->pane);
    struct flame_trees trees = {0};
    struct fold_filter filter;
    char text[FILTER_SIZE];

    forget(self);
    self->all = 0;
    if (choice)
        flame_trees(choice, ctx->look, spec, &trees);
    if (!trees.tree)
        return false;
    flame_filter(choice, pane_filter(ctx->pane, flame_part_of(ctx->pane)), ctx->look, text, &filter);
    struct fold *fold = fold_new(trees.tree, NULL, &filter);
    self->all = fold->nodes[0].total;
    self->callers = callers_new(fold, self->chosen.symbol, self->chosen.process);
    fold_free(fold);
    if (!self->callers.total)
        return false;
    flame_layout_make(&self->up, self->callers.up, (struct flame_zoom){.node = 1}, ctx->area.width);
    flame_layout_make(&self->down, self->callers.down, (struct flame_zoom){.node = 1}, ctx->area.width);
    self->down.cells[1].above = true; // the function: apart from what it calls
    return true;
}

// The cell of the selection; the function itself when it is nowhere any more.
static const struct flame_cell *selected(const struct callers_state *self, size_t *row) {
    const struct flame_layout *layout = self->above ? &self->up : &self->down;
    const struct fold *fold = self->above ? self->callers.up : self->callers.down;
    uint32_t node = fold_find(fold, self->selected.names, self->selected.n);
    const struct flame_cell *cell = flame_layout_find(layout, fold, node ? node : 1, self->gathered, row);

    if (!cell)
        cell = flame_layout_find(layout, fold, 1, false, row);
    return cell;
}

static void draw(struct part_context *ctx) {
    struct callers_state *self = ctx->state;
    int height = ctx->area.height, details = height >= 5 ? DETAIL_ROWS : height >= 3 ? 1 : 0;
    char symbol[80];

    self->rows = 0;
    if (!load(ctx)) {
        escape_fit(self->chosen.symbol, 60, symbol, sizeof(symbol));
        if (self->all)
            area_printf(ctx->area, 1, 0, ROLE_DIM, "no stack of this span has %s", symbol);
        else
            flame_draw_none(ctx, NULL);
        return;
    }
    // Row 0 of both is "all", row 1 the function. The callers have half of the lines at least if they need them.
    self->rows = height - details;
    int up = (int)self->up.n_rows - 2, down = (int)self->down.n_rows - 2, room = self->rows - 1;
    if (up + down > room)
        up = up < room / 2 ? up : down < room - room / 2 ? room - down : room / 2;
    self->middle = up;
    size_t row;
    const struct flame_cell *cell = selected(self, &row);
    struct flame_picture above = {.fold = self->callers.up,
                                  .layout = &self->up,
                                  .selected = self->above ? cell : NULL,
                                  .root_below = true,
                                  .inverted = true,
                                  .top = 2,
                                  .rows = up,
                                  .all = self->all,
                                  .of = "the function",
                                  .of_total = self->callers.total},
                         below = above;
    below.fold = self->callers.down;
    below.layout = &self->down;
    below.selected = self->above ? NULL : cell;
    below.root_below = below.inverted = false;
    below.top = 1;
    below.y = up;
    below.rows = self->rows - up;
    flame_draw_rows(ctx, &above);
    int drawn = flame_draw_rows(ctx, &below);
    flame_draw_detail(ctx, self->above ? &above : &below, up + drawn, details);
}

static int height(struct part_context *ctx, int width) {
    (void)ctx;
    (void)width;
    return 1 << 14; // all there is
}

// ---- keys ----

static void select_cell(struct callers_state *self, const struct flame_cell *cell, bool above) {
    flame_path_set(&self->selected, above ? self->callers.up : self->callers.down, cell->node);
    self->gathered = cell->gathered;
    self->above = above && (cell->node > 1 || cell->gathered);
}

// The cell at that line of the picture: above the function the callers.
static const struct flame_cell *cell_at(const struct callers_state *self, int line, int x, bool *above) {
    *above = line < self->middle;
    if (line < 0 || line >= self->rows)
        return NULL;
    size_t row = (size_t)(*above ? self->middle - line : line - self->middle) + 1;
    return flame_layout_at(*above ? &self->up : &self->down, row, x);
}

static int line_of(const struct callers_state *self, size_t row) {
    return self->above ? self->middle - (int)row + 1 : self->middle + (int)row - 1;
}

// To the widest cell of the next line that touches this one.
static void move_line(struct callers_state *self, const struct flame_cell *cell, int line) {
    const struct flame_cell *to = NULL;
    bool above = false;

    for (int x = cell->x; x < cell->x + cell->width; x++) {
        bool one;
        const struct flame_cell *next = cell_at(self, line, x, &one);
        if (!next || (to && next->width <= to->width))
            continue;
        to = next;
        above = one;
    }
    if (to)
        select_cell(self, to, above);
}

static void move_side(struct callers_state *self, const struct flame_cell *cell, size_t row, int step) {
    const struct flame_layout *layout = self->above ? &self->up : &self->down;
    long at = cell - layout->cells + step;

    if (at >= (long)layout->first[row] && at < (long)layout->first[row + 1])
        select_cell(self, &layout->cells[at], self->above);
}

// The selected function takes the place in the middle.
static bool enter(struct part_context *ctx) {
    struct callers_state *self = ctx->state;
    const struct flame_cell *cell = selected(self, NULL);
    const struct fold *fold = self->above ? self->callers.up : self->callers.down;

    if (!cell || cell->gathered || cell->node <= 1)
        return true;
    if (self->n_back == BACK) {
        memmove(self->back, self->back + 1, sizeof(self->back) - sizeof(self->back[0]));
        self->n_back--;
    }
    self->back[self->n_back++] = self->chosen;
    choose(self, chosen_of(fold->nodes[cell->node].name));
    return true;
}

static bool clicked(struct part_context *ctx) {
    struct callers_state *self = ctx->state;
    bool above;
    const struct flame_cell *cell = cell_at(self, ctx->mouse_y, ctx->mouse_x, &above);

    if (!cell)
        return false;
    if (cell == selected(self, NULL))
        return enter(ctx);
    select_cell(self, cell, above);
    return true;
}

static bool annotate(struct part_context *ctx, const struct flame_cell *cell) {
    const struct callers_state *self = ctx->state;
    const struct flame_spec *spec = ctx->part->spec;
    const struct fold *fold = self->above ? self->callers.up : self->callers.down;

    if (cell->gathered || !annotate_choose(ctx, fold->nodes[cell->node].name, spec->annotate))
        snprintf(ctx->message, sizeof(ctx->message), "select a function first");
    return true;
}

static bool key(struct part_context *ctx) {
    struct callers_state *self = ctx->state;
    size_t row;
    const struct flame_cell *cell = self->rows && self->callers.total ? selected(self, &row) : NULL;

    if (ctx->key == KEY_VIEW_BACK && self->n_back) {
        choose(self, self->back[--self->n_back]);
        return true;
    }
    if (!cell)
        return false;
    switch (ctx->key) {
    case KEY_VIEW_CLICK:
        return clicked(ctx);
    case KEY_VIEW_ENTER:
        return enter(ctx);
    case KEY_VIEW_UP:
    case KEY_VIEW_DOWN:
        move_line(self, cell, line_of(self, row) + (ctx->key == KEY_VIEW_UP ? -1 : 1));
        return true;
    case KEY_VIEW_LEFT:
    case KEY_VIEW_RIGHT:
        move_side(self, cell, row, ctx->key == KEY_VIEW_LEFT ? -1 : 1);
        return true;
    case KEY_VIEW_HOME:
        choose(self, self->chosen);
        return true;
    case 'a':
        return annotate(ctx, cell);
    default:
        return false;
    }
}

// ---- words ----

static void title(const struct part_context *ctx, char *out, size_t size) {
    const struct callers_state *self = ctx->state;
    char symbol[80];

    flame_short(self->chosen.symbol, 60, symbol, sizeof(symbol));
    snprintf(out, size, "Callers and callees of %s", symbol);
}

static void status(struct part_context *ctx, char *out, size_t size) {
    const struct callers_state *self = ctx->state;
    const struct flame_choice *choice = flame_choice_of(ctx->pane);
    char span[128] = "";

    if (choice)
        flame_span_text(choice, span, sizeof(span));
    if (self->callers.total)
        snprintf(out, size, "%.1f%% of all, %s", 100.0 * (double)self->callers.total / (double)self->all, span);
}

static bool shows(const struct part *part, const void *state, const char *name) {
    (void)part;
    (void)state;
    (void)name;
    return false; // the flame graph and the tables explain their values
}

static const struct part_key keys[] = {
    {KEY_VIEW_UP, "arrows", "callers and callees: select a frame (Home: the function)"},
    {KEY_VIEW_ENTER, "Enter", "callers and callees: those of the selected frame (Esc: back)"},
    {'a', "a", "callers and callees: instructions of the selected function (Esc: back)"},
    {0},
};

const struct part_kind part_callers = {
    .state_size = sizeof(struct callers_state),
    .done = done,
    .open = open_row,
    .height = height,
    .draw = draw,
    .key = key,
    .keys = keys,
    .title = title,
    .status = status,
    .sources = flame_sources,
    .shows = shows,
};
