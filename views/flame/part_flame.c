// The flame graph part: its keys and its words. load.c folds what it shows, draw.c draws it, write.c writes it.
#include "views/flame/part_flame.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/escape.h"
#include "views/flame/names.h"
#include "views/flame/part_callers.h"
#include "views/flame/state.h"
#include "views/pane_parts.h"

#define FLAME_ROWS_WANTED 60
#define FLAME_ROWS_LEAST 7
#define DETAIL_ROWS 2

static const struct flame_spec *spec_of(const struct part_context *ctx) {
    return ctx->part->spec;
}

static void init(void *state, const struct part *part) {
    struct flame_state *self = state;

    (void)part;
    flame_choice_init(&self->choice);
}

static void done(void *state, const struct part *part) {
    struct flame_state *self = state;

    (void)part;
    flame_path_forget(&self->zoom);
    flame_path_forget(&self->selected);
    annotate_selected_forget(&self->line);
    flame_layout_done(&self->layout);
    fold_free(self->fold);
    flame_choice_done(&self->choice);
}

static void select_cell(struct flame_state *self, const struct flame_cell *cell) {
    flame_path_set(&self->selected, self->fold, cell->node);
    self->gathered = cell->gathered;
    self->is_selected = self->moved = true;
}

static int height(struct part_context *ctx, int width) {
    struct flame_state *self = ctx->state;

    if (!flame_load(ctx, width))
        return 1;
    size_t rows = self->layout.n_rows + DETAIL_ROWS + (flame_is_difference(&self->choice) || spec_of(ctx)->cold);
    return rows < FLAME_ROWS_WANTED ? (int)rows : FLAME_ROWS_WANTED;
}

static int least(struct part_context *ctx) {
    struct flame_state *self = ctx->state;

    return self->layout.n_rows ? FLAME_ROWS_LEAST : 0;
}

// ---- keys ----

static void zoom_set(struct flame_state *self, const struct flame_cell *cell) {
    uint32_t depth = self->fold->nodes[cell->node].depth, was = self->layout.zoom.rest;
    bool same = cell->node == self->layout.zoom.node;
    uint32_t rest = cell->gathered ? (same ? was + 1 : 1) : 0;

    while (self->n_back && (self->back[self->n_back - 1].depth > depth ||
                            (self->back[self->n_back - 1].depth == depth && self->back[self->n_back - 1].rest >= rest)))
        self->n_back--;
    bool down = depth > self->zoom.n || (same && rest > was);
    if (down && self->n_back < FLAME_BACK_MAX) {
        self->back[self->n_back].depth = self->zoom.n;
        self->back[self->n_back++].rest = self->rest;
    }
    flame_path_set(&self->zoom, self->fold, cell->node);
    self->rest = rest;
    self->moved = true;
}

static bool zoom_back(struct flame_state *self) {
    if (!self->n_back && !self->zoom.n && !self->rest)
        return false;
    uint32_t depth = 0, rest = 0;
    if (self->n_back) {
        depth = self->back[--self->n_back].depth;
        rest = self->back[self->n_back].rest;
    }
    while (self->zoom.n > depth)
        text_unref(self->zoom.names[--self->zoom.n]);
    self->rest = rest;
    self->moved = true;
    return true;
}

static bool enter(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    const struct flame_cell *cell = flame_selected(self, NULL);

    if (!cell)
        return false;
    if (cell->node == self->layout.zoom.node && !cell->above && (!cell->gathered || cell->width == ctx->area.width)) {
        snprintf(ctx->message, sizeof(ctx->message), "it has the whole width: Esc: back");
        return true;
    }
    zoom_set(self, cell);
    return true;
}

// To the widest cell below, or the one above: `down` is away from the root.
static void move_rows(struct flame_state *self, const struct flame_cell *cell, size_t row, bool down) {
    const struct flame_layout *layout = &self->layout;
    const struct flame_cell *to = NULL;

    if (!down && row > 0)
        to = flame_layout_at(layout, row - 1, cell->x);
    for (size_t i = down && row + 1 < layout->n_rows ? layout->first[row + 1] : layout->n;
         i < layout->n && i < layout->first[row + 2]; i++) {
        const struct flame_cell *below = &layout->cells[i];
        if (below->x >= cell->x && below->x < cell->x + cell->width && (!to || below->width > to->width))
            to = below;
    }
    if (to)
        select_cell(self, to);
}

static bool move(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    const struct flame_layout *layout = &self->layout;
    size_t row;
    const struct flame_cell *cell = flame_selected(self, &row);
    long at = cell ? cell - layout->cells : 0, page = self->rows > 1 ? self->rows - 1 : 1;

    if (!cell)
        return false;
    switch (ctx->key) {
    case KEY_VIEW_LEFT:
    case KEY_VIEW_RIGHT:
        at += ctx->key == KEY_VIEW_LEFT ? -1 : 1;
        if (at >= (long)layout->first[row] && at < (long)layout->first[row + 1])
            select_cell(self, &layout->cells[at]);
        return true;
    case KEY_VIEW_UP:
    case KEY_VIEW_DOWN:
        if (self->is_selected)
            move_rows(self, cell, row, (ctx->key == KEY_VIEW_DOWN) != self->root_below);
        else
            select_cell(self, cell);
        return true;
    case KEY_VIEW_PAGE_UP:
    case KEY_VIEW_PAGE_DOWN:
        for (long i = 0; i < page; i++) {
            cell = flame_selected(self, &row);
            move_rows(self, cell, row, (ctx->key == KEY_VIEW_PAGE_DOWN) != self->root_below);
        }
        return true;
    case KEY_VIEW_HOME:
        select_cell(self, &layout->cells[layout->first[layout->zoom_row]]);
        return true;
    default:
        return false;
    }
}

static bool clicked(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    int y = self->root_below ? self->rows - 1 - ctx->mouse_y : ctx->mouse_y;

    if (ctx->mouse_y < 0 || ctx->mouse_y >= self->rows)
        return false;
    const struct flame_cell *cell = flame_layout_at(&self->layout, self->top + (size_t)y, ctx->mouse_x);
    if (!cell)
        return false;
    if (self->is_selected && cell == flame_selected(self, NULL))
        return enter(ctx);
    select_cell(self, cell);
    return true;
}

static bool key_span(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    struct flame_choice *choice = &self->choice;
    char text[100];

    flame_unmark(choice);
    if (choice->to)
        flame_choice_range(choice, 0, 0, 0, 0);
    else
        choice->span = (choice->span + (ctx->key == 's' ? 1 : FLAME_SPANS - 1)) % FLAME_SPANS;
    flame_span_tree(choice, ctx->look, spec_of(ctx));
    flame_span_text(choice, text, sizeof(text));
    snprintf(ctx->message, sizeof(ctx->message), "flame graph of the %s", text);
    return true;
}

static void key_mark(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    struct flame_choice *choice = &self->choice;
    int which = ctx->key - 'A';

    if (which && !choice->mark[0].tree)
        snprintf(ctx->message, sizeof(ctx->message), "mark A first: the span that B is compared with");
    else if (!flame_mark(choice, ctx->look, spec_of(ctx), which))
        snprintf(ctx->message, sizeof(ctx->message), "this span has no samples");
    else
        snprintf(ctx->message, sizeof(ctx->message), "%c: %s%s", ctx->key, choice->mark[which].label,
                 which || choice->mark[1].tree ? "; x: end the comparison"
                                               : "; go to the other time, and mark B there");
}

// The next higher or lower frequency. None divides 100 or 250, so that samples do not run in step with timers.
static bool key_frequency(struct part_context *ctx) {
    static const uint32_t steps[] = {49, 99, 199, 999};
    const int n = sizeof(steps) / sizeof(steps[0]);
    const char *series = spec_of(ctx)->hz;
    double hz = series ? frame_series(ctx->look->frame, series, NULL) : NAN;
    int i = 0;

    if (!(hz > 0))
        return false;
    while (i < n && (ctx->key == '+' ? steps[i] <= hz : steps[i] < hz))
        i++;
    i -= ctx->key == '-';
    if (i < 0 || i == n) {
        snprintf(ctx->message, sizeof(ctx->message), "%.0f Hz is the %s frequency of this key; see --frequency", hz,
                 i < 0 ? "lowest" : "highest");
        return true;
    }
    ctx->frequency_hz = steps[i];
    snprintf(ctx->message, sizeof(ctx->message), "sampling at %u Hz per CPU", steps[i]);
    return true;
}

// Time needs no marks, no idle task, and has no such callers.
static bool takes(const struct part *part, int key) {
    const struct flame_spec *spec = part->spec;

    return (key != 'c' || spec->callers) && (key != 'a' || spec->annotate) && (key != 'W' || spec->wakers) &&
           ((key != '+' && key != '-') || (spec->hz && !spec->cold)) && !(spec->cold && key && strchr("ABxe", key));
}

static bool key_choice(struct part_context *ctx) {
    static const char *const frames[] = {"user and kernel frames", "user frames only", "kernel frames only"};
    struct flame_state *self = ctx->state;
    struct flame_choice *choice = &self->choice;

    switch (ctx->key) {
    case 's':
    case 'S':
        return key_span(ctx);
    case '+':
    case '-':
        return key_frequency(ctx);
    case 'W':
        return ctx->wakers = true;
    case 'i':
        self->root_below = !self->root_below;
        self->moved = true;
        snprintf(ctx->message, sizeof(ctx->message),
                 self->root_below ? "flame: the root is at the bottom" : "icicle: the root is at the top");
        return true;
    case 'u':
        choice->frames = (choice->frames + 1) % FLAME_FRAMES;
        snprintf(ctx->message, sizeof(ctx->message), "%s", frames[choice->frames]);
        return true;
    case 'A':
    case 'B':
        key_mark(ctx);
        return true;
    case 'x':
        if (!choice->mark[0].tree)
            return false;
        flame_unmark(choice);
        snprintf(ctx->message, sizeof(ctx->message), "comparison off");
        return true;
    case 'e':
        choice->idle = !choice->idle;
        snprintf(ctx->message, sizeof(ctx->message), choice->idle ? "with the idle task" : "without the idle task");
        return true;
    default:
        return false;
    }
}

// To the part that shows what calls the selected function, and what it calls.
static bool callers(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    const struct part *part = view_part(ctx->pane->view, spec_of(ctx)->callers);
    const struct flame_cell *cell = flame_selected(self, NULL);

    if (!part || !cell)
        return false;
    if (!cell->node || cell->gathered) {
        snprintf(ctx->message, sizeof(ctx->message), "select a function first");
        return true;
    }
    callers_choose(ctx->pane->parts[part - ctx->pane->view->parts], self->fold->nodes[cell->node].name);
    ctx->go_part = part;
    snprintf(ctx->message, sizeof(ctx->message), "Esc: back");
    return true;
}

// The key itself goes on to the pane, which shows that part.
static void hot_cold_choose(struct part_context *ctx) {
    const struct part *part = view_part(ctx->pane->view, spec_of(ctx)->hot_cold);
    const struct flame_state *self = ctx->state;
    struct flame_state *other = part ? ctx->pane->parts[part - ctx->pane->view->parts] : NULL;

    if (!other || part->toggle != ctx->key)
        return;
    const struct flame_path *path = self->is_selected && self->selected.n ? &self->selected : &self->zoom;
    flame_path_forget(&other->zoom);
    other->rest = other->n_back = 0;
    other->started = self->fold && path->n;
    if (other->started)
        flame_path_set(&other->zoom, self->fold, fold_find(self->fold, path->names, 1));
}

// To the part that shows the instructions of the selected function.
static bool annotate(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    const struct flame_cell *cell = flame_selected(self, NULL);

    if (!spec_of(ctx)->annotate || !cell)
        return false;
    if (!cell->node || cell->gathered ||
        !annotate_choose(ctx, self->fold->nodes[cell->node].name, spec_of(ctx)->annotate))
        snprintf(ctx->message, sizeof(ctx->message), "select a function first");
    return true;
}

// Where the selected function is in the source.
static const struct code_ask *ask(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    const struct flame_cell *cell = self->is_selected ? flame_selected(self, NULL) : NULL;

    if (!spec_of(ctx)->annotate || !cell || cell->gathered)
        return NULL;
    return annotate_select(ctx, &self->line, self->fold->nodes[cell->node].name);
}

static bool key(struct part_context *ctx) {
    struct flame_state *self = ctx->state;

    if (takes(ctx->part, ctx->key) && key_choice(ctx))
        return true;
    hot_cold_choose(ctx);
    if (!self->fold || !self->layout.n_rows)
        return false;
    if (ctx->key == KEY_VIEW_CLICK)
        return clicked(ctx);
    if (!ctx->focused)
        return false;
    if (ctx->key == KEY_VIEW_ENTER)
        return enter(ctx);
    if (ctx->key == 'c')
        return callers(ctx);
    if (ctx->key == 'a')
        return annotate(ctx);
    if (ctx->key == KEY_VIEW_BACK) {
        if (zoom_back(self))
            return true;
        bool was = self->is_selected;
        self->is_selected = false;
        flame_path_forget(&self->selected);
        return was;
    }
    return move(ctx);
}

// ---- search ----

enum {
    SEARCH_CELLS,  // what has a cell of its own
    SEARCH_NARROW, // what is gathered
    SEARCH_ALL,    // what stands outside of the zoom
    SEARCHES
};

// In a cell of its own, or in one with others. When the zoom shows only what was gathered, its node has other children.
static bool is_laid_out(const struct flame_state *self, uint32_t node) {
    const struct flame_layout *layout = &self->layout;

    for (uint32_t parent; node && node != layout->zoom.node; node = parent) {
        parent = self->fold->nodes[node].parent;
        if (parent != layout->zoom.node || !layout->zoom.rest)
            continue;
        const struct flame_cell *cell = flame_layout_find(layout, self->fold, node, false, NULL);
        return cell && !cell->above;
    }
    return node == layout->zoom.node;
}

static bool is_found(const struct part_context *ctx, uint32_t node, int where) {
    const struct flame_state *self = ctx->state;

    if (!node || !fold_name_contains(self->fold->nodes[node].name, ctx->pane->search))
        return false;
    if (where == SEARCH_CELLS)
        return flame_layout_find(&self->layout, self->fold, node, false, NULL);
    return where == SEARCH_ALL || is_laid_out(self, node);
}

// To the next node in depth-first order that matches.
static bool search(struct part_context *ctx, int direction) {
    struct flame_state *self = ctx->state;

    if (!self->fold || !self->layout.n_rows || !flame_load(ctx, self->layout.cells[0].width))
        return false;
    uint32_t n = self->fold->n, from = direction > 0 ? 0 : n - 1;
    if (self->is_selected)
        from = flame_path_node(self, &self->selected);
    for (int where = 0; where < SEARCHES; where++)
        for (uint32_t step = self->is_selected ? 1 : 0; step <= n; step++) {
            uint32_t node = direction > 0 ? (from + step) % n : (from + n - step % n) % n;
            if (!is_found(ctx, node, where))
                continue;
            if (where == SEARCH_ALL) {
                self->n_back = 0;
                zoom_back(self);
            }
            flame_path_set(&self->selected, self->fold, node);
            self->gathered = false;
            self->is_selected = self->moved = true;
            return true;
        }
    return false;
}

// ---- words ----

static void title(const struct part_context *ctx, char *out, size_t size) {
    const struct flame_state *self = ctx->state;
    const char *frames = self->choice.frames == FLAME_USER     ? ", user frames"
                         : self->choice.frames == FLAME_KERNEL ? ", kernel frames"
                                                               : "";
    snprintf(out, size, "%s%s%s", flame_is_difference(&self->choice) ? "Difference" : ctx->part->title, frames,
             self->choice.idle || spec_of(ctx)->cold ? "" : ", without idle");
}

static void status(struct part_context *ctx, char *out, size_t size) {
    const struct flame_state *self = ctx->state;
    char span[128], more[192] = "", weight[64];

    flame_span_text(&self->choice, span, sizeof(span));
    if (!self->fold || !self->layout.n_rows) {
        snprintf(out, size, "%s", span);
        return;
    }
    const struct fold_node *root = &self->fold->nodes[0];
    if (ctx->pane->search[0]) {
        char shown[64];
        uint32_t zoom = self->layout.zoom.node;
        escape_fit(ctx->pane->search, 24, shown, sizeof(shown));
        snprintf(more, sizeof(more), "\"%s\" %.1f%%, ", shown,
                 100.0 * (double)fold_matched(self->fold, zoom, ctx->pane->search) /
                     (double)self->fold->nodes[zoom].total);
    }
    size_t rows = self->layout.n_rows;
    char seen[48] = "";
    if (self->rows > 0 && rows > (size_t)self->rows)
        snprintf(seen, sizeof(seen), ", rows %zu-%zu of %zu", self->top + 1, self->top + (size_t)self->rows, rows);
    flame_weight(spec_of(ctx), root->total, weight, sizeof(weight));
    int n = snprintf(out, size, "%s%s, %s", more, span, weight);
    if (n >= 0 && n + (int)strlen(seen) <= ctx->room)
        snprintf(out + n, size - (size_t)n, "%s", seen);
    snprintf(ctx->brief, sizeof(ctx->brief), "%s%s", more, span);
}

static void describe(const struct part *part, const struct frame *schema, FILE *out) {
    const struct flame_spec *spec = part->spec;

    bool traced = !strcmp(spec->unit, "ns"), time = traced || !strcmp(spec->unit, "us");

    (void)schema;
    if (spec->cold) {
        fprintf(out,
                "  %s (tree, in us): samples as on-CPU time, and off-CPU time, added by call path.\n"
                "  Off-CPU time ends in a frame [off-CPU]; the blue part of a frame is its share of it.\n"
                "  At first it is zoomed to the selected process, else to the one that runs most; Esc: all.\n",
                part->name);
        return;
    }
    fprintf(out,
            "  %s (tree, in %s): a row per call depth, callers above the functions that they call (key i turns it).\n"
            "  The width of a frame is its share of the %s: a wide frame at the far end %s itself.\n"
            "  Siblings stand in order of name, not of time. \u2026 gathers frames too narrow for a cell; Enter opens "
            "it.\n",
            spec->tree, spec->unit,
            traced ? "time"
            : time ? "blocked time"
                   : "samples",
            traced ? "takes the time"
            : time ? "blocks"
                   : "uses the CPU");
}

static const struct part_key keys[] = {
    {KEY_VIEW_UP, "arrows", "flame graph: select a frame; its name, shares and samples stand below"},
    {KEY_VIEW_ENTER, "Enter", "flame graph: zoom: the frame takes the whole width (Esc: back)"},
    {'i', "i", "flame graph: root at the top (icicle) or at the bottom (flame)"},
    {'s', "s S", "flame graph: span of time: the last 1, 10, 60 s, the whole history"},
    {'+', "+ -", "flame graph: sample more, or less often: 49, 99, 199, 999 Hz"},
    {'W', "W", "off-CPU flame graph: with, without the stack of the waker; with it, wakeups cost more"},
    {'u', "u", "flame graph: user and kernel frames, user only, kernel only"},
    {'e', "e", "flame graph: with, without the idle task (which --profile-idle samples)"},
    {'A', "A B x", "flame graph: mark this span as A, another one as B: how B differs from A; x: off"},
    {'c', "c", "flame graph: callers and callees of the selected function (Esc: back)"},
    {'a', "a", "flame graph: instructions and source lines of the selected function (Esc: back)"},
    {0},
};

const struct part_kind part_flame = {
    .state_size = sizeof(struct flame_state),
    .init = init,
    .done = done,
    .height = height,
    .least = least,
    .draw = flame_draw,
    .key = key,
    .keys = keys,
    .takes = takes,
    .write_text = flame_write_text,
    .write_csv = flame_write_csv,
    .write_json = flame_write_json,
    .write_folded = flame_write_folded,
    .files = flame_files,
    .describe = describe,
    .search = search,
    .title = title,
    .status = status,
    .sources = flame_sources,
    .ask = ask,
};
