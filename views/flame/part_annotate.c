// Annotate: source lines and instructions of one function, the share of its samples at each (see the header).
#include "views/flame/part_annotate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/bar.h"
#include "views/escape.h"
#include "views/flame/annotate.h"
#include "views/flame/names.h"
#include "views/flame/state.h"
#include "views/pane_parts.h"

#define BAR_WIDTH 8
#define BAR_AT 7
#define TEXT_AT (BAR_AT + BAR_WIDTH + 1)
#define HOT_PCT 10.0
#define DETAIL_ROWS 2
#define ASK_FRAMES 60
#define LINE_MAX_BYTES 1024

struct annotate_state {
    const struct text *symbol, *object; // references; NULL: nothing chosen
    struct code_ask ask;
    bool asked;
    struct hot hot;
    const struct frame *code_frame; // a reference: the lines borrow from it
    const struct table *code;       // of that frame; NULL: none yet
    struct annotate annotate;
    uint64_t all;     // samples of the span
    double cursor;    // offset of the selected line; NAN: the hottest
    bool on_source;   // it is the source line before that instruction
    size_t at;        // the selected line
    size_t top, page; // of the last draw
};

static void forget_lines(struct annotate_state *self) {
    annotate_free(&self->annotate);
    hot_free(&self->hot);
}

static void forget(struct annotate_state *self) {
    forget_lines(self);
    text_unref(self->symbol);
    text_unref(self->object);
    frame_unref(self->code_frame);
    *self = (struct annotate_state){.cursor = NAN};
}

static bool names_of(const struct join *join, size_t row, const char **symbol, const char **object) {
    int name = join_column(join, "symbol"), of = join_column(join, "dso");

    if (name < 0 || of < 0 || !join_cell(join, row, (uint16_t)name).text)
        return false;
    *symbol = text_bytes(join_cell(join, row, (uint16_t)name).text);
    *object = text_bytes(join_cell(join, row, (uint16_t)of).text);
    return true;
}

static void done(void *state, const struct part *part) {
    (void)part;
    forget(state);
}

static void choose(struct annotate_state *self, const char *symbol, const char *object) {
    forget(self);
    self->symbol = text_from(symbol);
    self->object = text_from(object);
}

bool annotate_choose(struct part_context *ctx, const struct text *name, const char *part_name) {
    const struct part *part = view_part(ctx->pane->view, part_name);

    if (!part || !name || name_kind(name) == NAME_PLAIN || name_kind(name) == NAME_MARK)
        return false;
    choose(ctx->pane->parts[part - ctx->pane->view->parts], text_bytes(name), name_object(name));
    ctx->go_part = part;
    snprintf(ctx->message, sizeof(ctx->message), "Esc: back");
    return true;
}

static bool open_row(void *state, const struct part *part, const struct join *join, size_t row) {
    const char *symbol, *object;

    (void)part;
    if (!names_of(join, row, &symbol, &object))
        return false;
    choose(state, symbol, object);
    return true;
}

// ---- asking ----

static struct hot hot_of(struct part_context *ctx, const struct hot_wanted *wanted) {
    const struct part *graph = flame_part_of(ctx->pane);
    const struct flame_spec *spec = graph ? graph->spec : NULL;
    struct flame_choice *choice = flame_choice_of(ctx->pane);

    if (!spec || !choice || !ctx->look->frame)
        return (struct hot){.hottest = NAN};
    flame_span_tree(choice, ctx->look, spec);
    return hot_make(ctx->look, choice->merged.from, choice->merged.to, spec->tree, wanted);
}

static void ask_make(struct part_context *ctx, const char *symbol, const char *object, struct code_ask *ask) {
    struct hot hot = hot_of(ctx, &(struct hot_wanted){symbol, object, 0, NAN, NAN, ASK_FRAMES});

    *ask = (struct code_ask){.symbol = symbol, .object = object};
    hot_ask(&hot, ask);
    hot_free(&hot);
}

static const struct code_ask *ask(struct part_context *ctx) {
    struct annotate_state *self = ctx->state;

    if (self->asked || !self->symbol)
        return NULL;
    ask_make(ctx, text_bytes(self->symbol), text_bytes(self->object), &self->ask);
    self->asked = true;
    return &self->ask;
}

void annotate_selected_forget(struct annotate_selected *selected) {
    text_unref(selected->name);
    selected->name = NULL;
}

const struct code_ask *annotate_select(struct part_context *ctx, struct annotate_selected *selected,
                                       const struct text *name) {
    enum name_kind kind = name_kind(name);

    if (!name || selected->name == name || (kind != NAME_USER && kind != NAME_LIBRARY))
        return NULL;
    annotate_selected_forget(selected);
    selected->name = text_ref(name);
    ask_make(ctx, text_bytes(name), name_object(name), &selected->ask);
    selected->ask.line_only = true;
    return &selected->ask;
}

static const struct code_ask *about_ask(struct part_context *ctx, const struct join *join, size_t row) {
    static struct code_ask asked; // the user's thread only, until the next key
    const char *symbol, *object;

    if (!names_of(join, row, &symbol, &object) || object[0] != '/')
        return NULL;
    ask_make(ctx, symbol, object, &asked);
    asked.line_only = true;
    return &asked;
}

static void about_text(const struct part_context *ctx, const struct join *join, size_t row, char *out, size_t size) {
    const char *symbol, *object;
    char place[LINE_MAX_BYTES];

    out[0] = '\0';
    if (!names_of(join, row, &symbol, &object))
        return;
    annotate_where(ctx->look, symbol, object, place, sizeof(place));
    escape_fit(place, ctx->room > 8 ? ctx->room : 8, out, size);
}

const struct table_about annotate_about = {.ask = about_ask, .text = about_text};

// ---- loading ----

static bool is_whole(const struct table *code) {
    return code && table_rows(code) > 1;
}

// The newest frame with the instructions is kept: in an older one, and while they are read again, they are not there.
static void code_load(struct part_context *ctx) {
    struct annotate_state *self = ctx->state;
    const char *symbol = text_bytes(self->symbol), *object = text_bytes(self->object);
    const struct look *look = ctx->look;

    for (size_t i = 0; i <= look->n_window; i++) {
        const struct frame *frame = i ? look->window[look->n_window - i] : look->frame;
        const struct look one = {.frame = frame};
        const struct table *code = frame ? annotate_code(&one, symbol, object, false, 0) : NULL;
        if (code && (!self->code || is_whole(code) || (!is_whole(self->code) && i <= 1))) {
            const struct frame *before = self->code_frame;
            self->code_frame = frame_ref(frame);
            self->code = code;
            frame_unref(before);
        }
        if (is_whole(self->code))
            return;
    }
}

// The line that is selected.
static void find_cursor(struct annotate_state *self) {
    const struct annotate *annotate = &self->annotate;

    self->at = annotate->hottest < annotate->n ? annotate->hottest : 0;
    for (size_t i = 0; i < annotate->n && !isnan(self->cursor); i++)
        if (annotate->lines[i].offset == self->cursor && annotate->lines[i].kind != ANNOTATE_GAP &&
            (annotate->lines[i].kind == ANNOTATE_SOURCE) == self->on_source) {
            self->at = i;
            return;
        }
}

static bool load(struct part_context *ctx) {
    struct annotate_state *self = ctx->state;
    const struct flame_spec *spec = ctx->part->spec;
    struct flame_choice *choice = flame_choice_of(ctx->pane);
    struct fold_filter filter;
    char text[FILTER_SIZE];

    forget_lines(self);
    if (!self->symbol || !choice || !ctx->look->frame)
        return false;
    code_load(ctx);
    flame_filter(choice, pane_filter(ctx->pane, flame_part_of(ctx->pane)), ctx->look, text, &filter);
    struct hot_wanted wanted = {text_bytes(self->symbol), text_bytes(self->object), filter.pid, NAN, NAN, SIZE_MAX};
    if (text_bytes(self->object)[0] != '[') // an offset there is not unique
        annotate_range(self->code, &wanted.low, &wanted.high);
    self->hot = hot_of(ctx, &wanted);
    const struct tree *tree = flame_span_tree(choice, ctx->look, spec);
    self->all = tree ? tree_node(tree, 0)->total : 0;
    self->annotate = annotate_make(self->code, &self->hot);
    find_cursor(self);
    return true;
}

// ---- drawing ----

static double share(const struct annotate_state *self, uint64_t samples) {
    return self->hot.total ? 100.0 * (double)samples / (double)self->hot.total : 0;
}

static void line_text(const struct annotate_line *line, char *out, size_t size) {
    char place[600];

    if (line->kind == ANNOTATE_GAP) {
        snprintf(out, size, "  ...");
    } else if (line->kind == ANNOTATE_SOURCE) {
        annotate_place(line->file, line->line, false, place, sizeof(place));
        snprintf(out, size, "%s  %s", place, text_bytes(line->text));
    } else {
        snprintf(out, size, "  %6llx  %s", (unsigned long long)line->address, text_bytes(line->text));
    }
}

static void draw_line(struct part_context *ctx, size_t i, int y) {
    struct annotate_state *self = ctx->state;
    const struct annotate_line *line = &self->annotate.lines[i];
    double pct = share(self, line->samples);
    bool source = line->kind == ANNOTATE_SOURCE;
    char text[LINE_MAX_BYTES], shown[LINE_MAX_BYTES];
    enum role role = source ? ROLE_INFO : pct >= HOT_PCT ? ROLE_WARNING : ROLE_TEXT;

    if (line->samples && line->kind != ANNOTATE_GAP) {
        area_printf(ctx->area, 0, y, pct >= HOT_PCT ? ROLE_WARNING : ROLE_TEXT, "%5.1f%%", pct);
        if (!source)
            bar_draw(ctx->area, BAR_AT, y, BAR_WIDTH, pct / 100, ROLE_GRAPH);
    }
    line_text(line, text, sizeof(text));
    int room = ctx->area.width - TEXT_AT;
    escape_fit(text, room > 0 ? room : 0, shown, sizeof(shown));
    area_text(ctx->area, TEXT_AT, y, line->kind == ANNOTATE_GAP ? ROLE_DIM : role, shown);
    if (i == self->at)
        area_role(ctx->area, 0, y, ctx->area.width, ROLE_CURSOR);
}

// What is selected: its samples; where it is in the source.
static void draw_detail(struct part_context *ctx, int y, int rows) {
    struct annotate_state *self = ctx->state;
    const struct annotate_line *line = &self->annotate.lines[self->at];
    char place[600], text[LINE_MAX_BYTES + 600], shown[LINE_MAX_BYTES];

    snprintf(text, sizeof(text), "%.1f%% of the function, %llu of %llu samples", share(self, line->samples),
             (unsigned long long)line->samples, (unsigned long long)self->hot.total);
    area_text(ctx->area, 0, y, ROLE_TITLE, text);
    if (rows < 2)
        return;
    if (!line->file) {
        const char *note = text_bytes(self->annotate.note);
        snprintf(text, sizeof(text), "%s", *note ? note : "no source line: the file has no debug info for it");
    } else {
        annotate_place(line->file, line->line, true, place, sizeof(place));
        const char *function = text_bytes(line->function);
        snprintf(text, sizeof(text), "%s%s%s", place, *function ? "  inlined: " : "", function);
    }
    escape_fit(text, ctx->area.width, shown, sizeof(shown));
    area_text(ctx->area, 0, y + 1, ROLE_DIM, shown);
}

static void scroll(struct annotate_state *self, size_t page) {
    size_t n = self->annotate.n, last = n > page ? n - page : 0;

    self->page = page;
    if (self->at < self->top)
        self->top = self->at;
    if (self->at >= self->top + page)
        self->top = self->at - page + 1;
    if (isnan(self->cursor)) // the hottest one in the middle
        self->top = self->at > page / 2 ? self->at - page / 2 : 0;
    self->top = self->top > last ? last : self->top;
}

static const char *missing_text(const struct annotate_state *self) {
    const char *note = text_bytes(self->annotate.note);

    if (!self->code)
        return "no instructions yet: they are read while the profile runs, and are in a recording if they were looked "
               "at then";
    return *note ? note : NULL;
}

static void draw(struct part_context *ctx) {
    struct annotate_state *self = ctx->state;
    int height = ctx->area.height, y = 0;
    int details = height >= 6 ? DETAIL_ROWS : height >= 4 ? 1 : 0;
    char shown[LINE_MAX_BYTES];

    self->page = 0;
    if (!load(ctx)) {
        area_text(ctx->area, 1, 0, ROLE_DIM, "no function is chosen");
        return;
    }
    const char *missing = missing_text(self);
    if (missing && height > 1) {
        escape_fit(missing, ctx->area.width - 1, shown, sizeof(shown));
        area_text(ctx->area, 1, y++, ROLE_STALE, shown);
    }
    if (!self->annotate.n) {
        area_text(ctx->area, 1, y, ROLE_DIM, "no sample of this span is in the function itself");
        return;
    }
    int page = height - details - y;
    scroll(self, page > 0 ? (size_t)page : 1);
    for (size_t i = self->top; i < self->annotate.n && i < self->top + self->page; i++)
        draw_line(ctx, i, y++);
    if (details)
        draw_detail(ctx, height - details, details);
}

static int height(struct part_context *ctx, int width) {
    (void)ctx;
    (void)width;
    return 1 << 14; // all there is
}

// ---- keys ----

static void select_line(struct annotate_state *self, size_t i, int direction) {
    const struct annotate *annotate = &self->annotate;

    while (i < annotate->n && annotate->lines[i].kind == ANNOTATE_GAP)
        i += (size_t)direction;
    if (i >= annotate->n)
        return;
    self->at = i;
    self->cursor = annotate->lines[i].offset;
    self->on_source = annotate->lines[i].kind == ANNOTATE_SOURCE;
}

// Whether line a comes before line b in order of samples.
static bool hotter(const struct annotate *annotate, size_t a, size_t b) {
    uint64_t x = annotate->lines[a].samples, y = annotate->lines[b].samples;
    return x > y || (x == y && a < b);
}

// The instruction with the next fewer (n) or more (N) samples; around at the end.
static void next_hot(struct annotate_state *self, bool down) {
    const struct annotate *annotate = &self->annotate;
    size_t next = annotate->n, end = annotate->n, at = self->at;

    if (annotate->lines[at].kind == ANNOTATE_SOURCE && at + 1 < annotate->n)
        at++;
    for (size_t i = 0; i < annotate->n; i++) {
        if (annotate->lines[i].kind != ANNOTATE_CODE || !annotate->lines[i].samples)
            continue;
        if (end == annotate->n || hotter(annotate, down ? i : end, down ? end : i))
            end = i;
        if (i != at && hotter(annotate, down ? at : i, down ? i : at) &&
            (next == annotate->n || hotter(annotate, down ? i : next, down ? next : i)))
            next = i;
    }
    select_line(self, next < annotate->n ? next : end, 1);
}

static bool key(struct part_context *ctx) {
    struct annotate_state *self = ctx->state;
    long n = (long)self->annotate.n, step = view_key_step(ctx->key, (long)self->page), to = (long)self->at + step;

    if (!n)
        return false;
    if (step) {
        to = to < 0 ? 0 : to >= n ? n - 1 : to;
        select_line(self, (size_t)to, step < 0 ? -1 : 1);
        return true;
    }
    switch (ctx->key) {
    case KEY_VIEW_HOME:
        self->cursor = NAN;
        return true;
    case KEY_VIEW_END:
        select_line(self, (size_t)n - 1, -1);
        return true;
    case KEY_VIEW_CLICK:
        to = (long)self->top + ctx->mouse_y - (missing_text(self) != NULL);
        if (ctx->mouse_y < 0 || to < 0 || to >= n)
            return false;
        select_line(self, (size_t)to, 1);
        return true;
    case 'n':
    case 'N':
        if (ctx->pane->search[0])
            return false;
        next_hot(self, ctx->key == 'n');
        return true;
    default:
        return false;
    }
}

static bool search(struct part_context *ctx, int direction) {
    struct annotate_state *self = ctx->state;
    size_t n = self->annotate.n;
    char text[LINE_MAX_BYTES];

    for (size_t step = 1; step <= n; step++) {
        size_t i = (self->at + (direction > 0 ? step : n - step)) % n;
        line_text(&self->annotate.lines[i], text, sizeof(text));
        if (self->annotate.lines[i].kind == ANNOTATE_GAP || !strcasestr(text, ctx->pane->search))
            continue;
        select_line(self, i, 1);
        return true;
    }
    return false;
}

// ---- words and files ----

static void title(const struct part_context *ctx, char *out, size_t size) {
    const struct annotate_state *self = ctx->state;
    char symbol[80];

    flame_short(text_bytes(self->symbol), 50, symbol, sizeof(symbol));
    snprintf(out, size, "Annotate %s", symbol);
}

static void status(struct part_context *ctx, char *out, size_t size) {
    const struct annotate_state *self = ctx->state;
    const struct flame_choice *choice = flame_choice_of(ctx->pane);
    char span[128] = "", place[600] = "", line[128] = "";

    if (!self->hot.total || !self->all || !choice)
        return;
    flame_span_text(choice, span, sizeof(span));
    snprintf(ctx->brief, sizeof(ctx->brief), "%.1f%% of all, %s", 100.0 * (double)self->hot.total / (double)self->all,
             span);
    if (self->annotate.line.samples) {
        annotate_place(self->annotate.line.file, self->annotate.line.line, false, place, sizeof(place));
        escape_fit(place, 40, line, sizeof(line));
        snprintf(out, size, "hottest %s %.1f%%; %s", line, share(self, self->annotate.line.samples), ctx->brief);
    } else {
        snprintf(out, size, "%s", ctx->brief);
    }
}

static void write_escaped(const char *text, FILE *out) {
    char shown[LINE_MAX_BYTES];

    escape_text(text, strlen(text), shown, sizeof(shown));
    fputs(shown, out);
}

static bool write_lines(struct part_context *ctx, const struct write_info *info, FILE *out) {
    struct annotate_state *self = ctx->state;
    char text[LINE_MAX_BYTES];

    (void)info;
    if (!load(ctx) || !self->annotate.n)
        return false;
    write_escaped(text_bytes(self->symbol), out);
    fputs("  ", out);
    write_escaped(text_bytes(self->object), out);
    fprintf(out, "  %llu of %llu samples\n", (unsigned long long)self->hot.total, (unsigned long long)self->all);
    const char *missing = missing_text(self);
    if (missing)
        fprintf(out, "%s\n", missing);
    for (size_t i = 0; i < self->annotate.n; i++) {
        const struct annotate_line *line = &self->annotate.lines[i];
        if (line->samples)
            fprintf(out, "%5.1f%%  ", share(self, line->samples));
        else
            fputs("        ", out);
        line_text(line, text, sizeof(text));
        write_escaped(text, out);
        if (line->function) {
            fputs("  [inlined: ", out);
            write_escaped(text_bytes(line->function), out);
            fputc(']', out);
        }
        fputc('\n', out);
    }
    return true;
}

static const struct part_file files[] = {{".annotate.txt", "annotated function", write_lines}, {0}};

static bool shows(const struct part *part, const void *state, const char *name) {
    (void)part;
    (void)state;
    (void)name;
    return false; // the flame graph and the tables explain their values
}

static const struct part_key keys[] = {
    {KEY_VIEW_UP, "arrows", "annotate: select a line (Home: the hottest instruction)"},
    {'n', "n N", "annotate: the instruction with the next fewer, more samples"},
    {0},
};

const struct part_kind part_annotate = {
    .state_size = sizeof(struct annotate_state),
    .done = done,
    .open = open_row,
    .height = height,
    .draw = draw,
    .key = key,
    .keys = keys,
    .search = search,
    .title = title,
    .status = status,
    .files = files,
    .sources = flame_sources,
    .shows = shows,
    .ask = ask,
};
