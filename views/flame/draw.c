// Draws a flame graph: a row per depth, and below it what the selected frame is. A line separates neighbours, so that
// no meaning needs a colour.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "views/escape.h"
#include "views/flame/annotate.h"
#include "views/flame/names.h"
#include "views/flame/state.h"
#include "views/pane_parts.h"

#define SEPARATOR 0x258f // left one eighth block
#define ROWS_ABOVE 3     // of what is zoomed
#define TEXT_MAX 2048

static double share(uint64_t part, uint64_t all) {
    return all ? 100.0 * (double)part / (double)all : 0;
}

// How the share of all samples changed, -1..1.
static double change_of(const struct fold *fold, const struct fold_node *node) {
    return (share(node->total, fold->nodes[0].total) - share(node->base_total, fold->base_total)) / 100;
}

// ---- cells ----

static enum role cell_role(const struct part_context *ctx, const struct flame_picture *picture,
                           const struct flame_cell *cell) {
    const struct fold_node *node = &picture->fold->nodes[cell->node];

    if (cell->above)
        return ROLE_HEADER;
    if (cell->gathered)
        return ROLE_TEXT;
    if (ctx->pane->search[0] && fold_name_contains(node->name, ctx->pane->search))
        return ROLE_MATCH;
    if (picture->difference)
        return flame_change_role(change_of(picture->fold, node));
    return flame_role(node->name, node->depth);
}

static void gathered_text(const struct flame_cell *cell, uint64_t all, char *out, size_t size) {
    int n = snprintf(out, size, "\u2026 %u frames, %.1f%%", cell->gathered, share(cell->total, all));
    if (n - 2 > cell->width) // the ellipsis has three bytes and one cell
        n = snprintf(out, size, "\u2026 %u", cell->gathered);
    if (n - 2 > cell->width)
        snprintf(out, size, "\u2026");
}

static void node_text(const struct fold *fold, const struct flame_cell *cell, char *out, size_t size) {
    const struct fold_node *node = &fold->nodes[cell->node];
    char shown[TEXT_MAX], whole[TEXT_MAX], object[64];
    const char *symbol = cell->node ? shown : "all";

    flame_shown(node->name, shown, sizeof(shown));

    if (cell->node && name_kind(node->name) == NAME_PLAIN && *name_object(node->name)) {
        flame_object(node, false, object, sizeof(object));
        snprintf(whole, sizeof(whole), "%.256s (%s)", symbol, object);
        if (text_width(whole) < cell->width)
            symbol = whole;
    }
    flame_short(symbol, cell->width - 1, out, size);
}

// The blue part of a frame, at its right.
static void draw_cold(struct area area, const struct fold_node *node, int width) {
    int cold = node->total ? (int)lround((double)node->base_total * width / (double)node->total) : 0;

    for (int x = width - cold; x < width; x++) {
        struct grid_cell *cell = area_cell(area, x, 0);
        if (cell)
            cell->role = ROLE_FLAME_OFF_CPU;
    }
}

static void draw_cell(struct part_context *ctx, const struct flame_picture *picture, const struct flame_cell *cell,
                      int y) {
    bool selected = picture->selected && picture->selected == cell;
    enum role role = selected ? ROLE_CURSOR : cell_role(ctx, picture, cell);
    struct area area = area_sub(ctx->area, cell->x, y, cell->width, 1);
    char text[TEXT_MAX];

    area_fill(area, 0, 0, cell->width, role, ' ');
    if (cell->gathered) {
        gathered_text(cell, picture->all, text, sizeof(text));
        area_text(area, 0, 0, role, text);
        return;
    }
    area_char(area, 0, 0, role, SEPARATOR);
    if (cell->width >= 2) {
        node_text(picture->fold, cell, text, sizeof(text));
        area_text(area, 1, 0, role, text);
    }
    if (picture->cold && !cell->above && role != ROLE_CURSOR && role != ROLE_MATCH)
        draw_cold(area, &picture->fold->nodes[cell->node], cell->width);
}

int flame_draw_rows(struct part_context *ctx, const struct flame_picture *picture) {
    const struct flame_layout *layout = picture->layout;
    int drawn = 0;

    for (size_t row = picture->top; row < layout->n_rows && drawn < picture->rows; row++, drawn++)
        for (size_t i = layout->first[row]; i < layout->first[row + 1]; i++)
            draw_cell(ctx, picture, &layout->cells[i],
                      picture->y + (picture->root_below ? picture->rows - 1 - drawn : drawn));
    return drawn;
}

static void scroll(struct flame_state *self, size_t row) {
    const struct flame_layout *layout = &self->layout;
    size_t rows = (size_t)(self->rows > 0 ? self->rows : 1);
    size_t last = layout->n_rows > rows ? layout->n_rows - rows : 0;

    if (self->moved && row == layout->zoom_row)
        self->top = layout->zoom_row > ROWS_ABOVE ? layout->zoom_row - ROWS_ABOVE : 0;
    if (self->is_selected || self->moved) {
        self->top = row < self->top ? row : self->top;
        self->top = row >= self->top + rows ? row - rows + 1 : self->top;
    }
    self->top = self->top > last ? last : self->top;
    self->moved = false;
}

// ---- what is selected ----

static void detail_name(const struct flame_picture *picture, char *out, size_t size) {
    const struct flame_cell *cell = picture->selected;
    const struct fold_node *node = &picture->fold->nodes[cell->node];
    char shown[TEXT_MAX / 2], text[TEXT_MAX / 2];
    const char *symbol = cell->node ? shown : "all";

    flame_shown(node->name, shown, sizeof(shown));
    escape_text(symbol, strlen(symbol), text, sizeof(text));
    if (cell->gathered)
        snprintf(out, size, "%u frames called by %s, each narrower than a cell", cell->gathered, text);
    else
        snprintf(out, size, "%s", text);
}

// Kind, object, and place in the source: "kernel", "library /usr/lib/libc.so.6", "PID 812".
static void detail_object(const struct part_context *ctx, const struct flame_picture *picture, char *out, size_t size) {
    const struct flame_cell *cell = picture->selected;
    const struct fold_node *node = &picture->fold->nodes[cell->node];
    char object[TEXT_MAX / 2], where[TEXT_MAX / 2];
    const char *kind = flame_kind_word(node->name);

    out[0] = '\0';
    if (cell->gathered || !cell->node)
        return;
    flame_object(node, true, object, sizeof(object));
    bool told = !*object || object[0] == '['; // "[kernel]" says no more than the kind
    int n = snprintf(out, size, "  %s%s%s", kind, *kind && !told ? " " : "", told && *kind ? "" : object);
    annotate_where(ctx->look, text_bytes(node->name), node->name ? name_object(node->name) : "", where, sizeof(where));
    if (*where && n >= 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, "  %s", where);
}

static void weight_text(const struct flame_spec *spec, uint64_t weight, bool unit, char *out, size_t size) {
    flame_weight(spec, weight, out, size);
    if (!unit)
        out[strcspn(out, " ")] = '\0';
}

static void detail_numbers(const struct part_context *ctx, const struct flame_picture *picture, char *out,
                           size_t size) {
    const struct flame_spec *spec = ctx->part->spec;
    const struct fold *fold = picture->fold;
    const struct flame_cell *cell = picture->selected;
    const struct fold_node *node = &fold->nodes[cell->node];
    char weight[64], cold[64];
    int n = snprintf(out, size, "%.1f%% of all", share(cell->total, picture->all));

    if (picture->of)
        n += snprintf(out + n, size - (size_t)n, ", %.1f%% of %s", share(cell->total, picture->of_total), picture->of);
    weight_text(spec, cell->total, !picture->cold, weight, sizeof(weight));
    n += snprintf(out + n, size - (size_t)n, "  %s", weight);
    if (cell->gathered)
        return;
    if (picture->cold) {
        weight_text(spec, node->total - node->base_total, false, weight, sizeof(weight));
        weight_text(spec, node->base_total, false, cold, sizeof(cold));
        snprintf(out + n, size - (size_t)n, ": %s on CPU, %s off CPU", weight, cold);
        return;
    }
    weight_text(spec, node->self, false, weight, sizeof(weight));
    if (!picture->inverted)
        n += snprintf(out + n, size - (size_t)n, ", %s self", weight);
    if (picture->difference)
        snprintf(out + n, size - (size_t)n, "  A %.1f%%, B %.1f%%: %+.1f points",
                 share(node->base_total, fold->base_total), share(node->total, fold->nodes[0].total),
                 100 * change_of(fold, node));
}

static const struct {
    enum role role;
    const char *word;
} kinds[] = {{ROLE_FLAME_USER, "program"},
             {ROLE_FLAME_LIBRARY, "library"},
             {ROLE_FLAME_KERNEL, "kernel"},
             {ROLE_FLAME_JIT, "JIT"},
             {ROLE_FLAME_OFF_CPU, "off-CPU"}}, // of hot and cold only
    changes[] = {{ROLE_FLAME_MORE, "red: more in B than in A"}, {ROLE_FLAME_LESS, "blue: less in B than in A"}};

// At the right end of a line that is `used` cells long at the left.
static void draw_legend(struct part_context *ctx, bool difference, bool cold, int y, int used) {
    size_t n = difference ? sizeof(changes) / sizeof(changes[0]) : sizeof(kinds) / sizeof(kinds[0]) - !cold;
    int width = -1;

    for (size_t i = 0; i < n; i++)
        width += (int)strlen(difference ? changes[i].word : kinds[i].word) + 3;
    int x = ctx->area.width - width - 1;
    if (x < used + 2)
        return;
    for (size_t i = 0; i < n; i++) {
        enum role role = difference ? changes[i].role : kinds[i].role;
        x += area_printf(ctx->area, x, y, role, " %s ", difference ? changes[i].word : kinds[i].word) + 1;
    }
}

void flame_draw_detail(struct part_context *ctx, const struct flame_picture *picture, int y, int rows) {
    char name[TEXT_MAX], numbers[256], object[TEXT_MAX], line[2 * TEXT_MAX];

    if (rows < 1 || !picture->selected)
        return;
    detail_name(picture, name, sizeof(name));
    detail_numbers(ctx, picture, numbers, sizeof(numbers));
    detail_object(ctx, picture, object, sizeof(object));
    if (rows < 2) {
        int room = ctx->area.width - text_width(numbers) - 2;
        escape_fit(name, room > 8 ? room : 8, line, sizeof(line));
        int x = area_text(ctx->area, 0, y, ROLE_TITLE, line);
        area_text(ctx->area, x + 2, y, ROLE_TEXT, numbers);
        return;
    }
    int half = ctx->area.width / 2, left = ctx->area.width - text_width(object);
    escape_fit(name, left > half ? left : half, line, sizeof(line));
    int x = area_text(ctx->area, 0, y, ROLE_TITLE, line);
    escape_fit(object, ctx->area.width - x, line, sizeof(line));
    area_text(ctx->area, x, y, ROLE_DIM, line);
    int used = area_text(ctx->area, 0, y + 1, ROLE_TEXT, numbers);
    draw_legend(ctx, picture->difference, picture->cold, rows > 2 ? y + 2 : y + 1, rows > 2 ? -2 : used);
}

void flame_draw_none(struct part_context *ctx, const struct fold *fold) {
    const struct flame_spec *spec = ctx->part->spec;
    const char *unmeasured = part_unmeasured(ctx->part, ctx->look);
    bool filtered = fold && pane_filter(ctx->pane, ctx->part)[0];
    const struct flame_state *self = ctx->state;

    if (!unmeasured && spec->cold && isnan(self->choice.merged.us))
        unmeasured = "samples of an event with a period are no time: use --frequency without --profile-event";
    area_text(ctx->area, 1, 0, ROLE_DIM,
              unmeasured ? unmeasured
              : filtered ? "no stack matches the filter"
                         : spec->empty);
}

void flame_draw(struct part_context *ctx) {
    struct flame_state *self = ctx->state;
    const struct flame_spec *spec = ctx->part->spec;
    bool difference = flame_is_difference(&self->choice);
    int height = ctx->area.height, details = height >= 5 ? 2 : height >= 3 ? 1 : 0;
    size_t row;

    details += (difference || spec->cold) && height >= 8; // the legend
    self->rows = 0;
    if (!flame_load(ctx, ctx->area.width)) {
        flame_draw_none(ctx, self->fold);
        return;
    }
    const struct flame_cell *cell = flame_selected(self, &row);
    if (!cell)
        return;
    self->rows = height - details;
    scroll(self, row);
    const struct fold_node *zoom = &self->fold->nodes[self->layout.zoom.node];
    struct flame_picture picture = {.fold = self->fold,
                                    .layout = &self->layout,
                                    .selected = self->is_selected ? cell : NULL,
                                    .root_below = self->root_below,
                                    .difference = difference,
                                    .cold = spec->cold,
                                    .top = self->top,
                                    .rows = self->rows,
                                    .all = self->fold->nodes[0].total,
                                    .of = zoom->depth ? "zoomed" : NULL,
                                    .of_total = zoom->total};
    int drawn = flame_draw_rows(ctx, &picture);
    // Right below the graph: the eye is there. A flame graph has its root there.
    picture.selected = cell;
    flame_draw_detail(ctx, &picture, self->root_below ? self->rows : drawn, details);
}
