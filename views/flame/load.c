// What the flame graph part shows: folded and laid out; the paths of names that are zoomed and selected.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/flame/state.h"
#include "views/pane_parts.h"

// ---- paths ----

void flame_path_forget(struct flame_path *path) {
    for (uint32_t i = 0; i < path->n; i++)
        text_unref(path->names[i]);
    free(path->names);
    *path = (struct flame_path){0};
}

void flame_path_set(struct flame_path *path, const struct fold *fold, uint32_t node) {
    uint32_t n = fold->nodes[node].depth;
    const struct text **names = xcalloc(n + 1, sizeof(*names));

    fold_path(fold, node, names, n);
    for (uint32_t i = 0; i < n; i++)
        text_ref(names[i]);
    flame_path_forget(path);
    *path = (struct flame_path){names, n};
}

uint32_t flame_path_node(const struct flame_state *self, const struct flame_path *path) {
    return fold_find(self->fold, path->names, path->n);
}

// ---- loading ----

static bool same_filter(const struct fold_filter *a, const struct fold_filter *b) {
    return a->pid == b->pid && a->user == b->user && a->kernel == b->kernel && a->idle == b->idle &&
           !strcmp(a->text, b->text);
}

// The layout is of the nodes of the fold.
static void fold_forget(struct flame_state *self) {
    flame_layout_done(&self->layout);
    fold_free(self->fold);
    self->fold = NULL;
}

// Where the hot and cold graph begins: at the process that uses the CPUs most.
static void start(struct flame_state *self) {
    const struct fold *fold = self->fold;
    uint32_t most = 0;
    uint64_t hot = 0;

    for (uint32_t i = fold->nodes[0].first_child; i; i = fold->nodes[i].next)
        if (fold->nodes[i].total - fold->nodes[i].base_total > hot) {
            hot = fold->nodes[i].total - fold->nodes[i].base_total;
            most = i;
        }
    self->started = most;
    if (most)
        flame_path_set(&self->zoom, fold, most);
}

// Folds anew only what is not folded yet: a key that moves the selection must not wait for it.
const struct fold *flame_fold(struct part_context *ctx) {
    const struct flame_spec *spec = ctx->part->spec;
    struct flame_state *self = ctx->state;
    struct flame_trees trees;
    struct fold_filter filter;
    char text[FILTER_SIZE];
    uint64_t changes = 0;

    flame_trees(&self->choice, ctx->look, spec, &trees);
    if ((!trees.tree && !trees.base) || isnan(trees.scale)) {
        fold_forget(self);
        return NULL;
    }
    // Read before the names: a name that is replaced meanwhile makes this old.
    changes += trees.tree ? name_table_changes(tree_names(trees.tree)) : 0;
    changes += trees.base ? name_table_changes(tree_names(trees.base)) : 0;
    flame_filter(&self->choice, pane_filter(ctx->pane, ctx->part), ctx->look, text, &filter);
    flame_filter_trees(spec, &trees, &filter);
    if (!self->fold || self->folded.version != self->choice.version || self->folded.changes != changes ||
        !same_filter(&self->folded.filter, &filter)) {
        fold_forget(self);
        self->fold = fold_new(trees.tree, trees.base, &filter);
        self->folded.version = self->choice.version;
        self->folded.changes = changes;
        memcpy(self->folded.text, text, sizeof(text));
        self->folded.filter = filter;
        self->folded.filter.text = self->folded.text;
    }
    if (spec->cold && !self->started)
        start(self);
    return self->fold;
}

bool flame_load(struct part_context *ctx, int width) {
    struct flame_state *self = ctx->state;
    const struct fold *fold = flame_fold(ctx);

    flame_layout_done(&self->layout);
    if (!fold || !fold->nodes[0].total)
        return false;
    uint32_t zoom = flame_path_node(self, &self->zoom);
    bool whole = self->fold->nodes[zoom].depth == self->zoom.n;
    flame_layout_make(&self->layout, self->fold, (struct flame_zoom){.node = zoom, .rest = whole ? self->rest : 0},
                      width);
    return true;
}

const struct flame_cell *flame_selected(const struct flame_state *self, size_t *row) {
    const struct flame_layout *layout = &self->layout;
    const struct flame_cell *cell = NULL;

    if (!self->fold || !layout->n_rows)
        return NULL;
    if (self->is_selected) {
        uint32_t node = flame_path_node(self, &self->selected);
        bool whole = self->fold->nodes[node].depth == self->selected.n;
        cell = flame_layout_find(layout, self->fold, node, whole && self->gathered, row);
        cell = cell || !self->gathered ? cell : flame_layout_find(layout, self->fold, node, false, row);
        // Without a cell of its own it is among those that are gathered somewhere above it.
        for (; !cell && node; node = self->fold->nodes[node].parent) {
            uint32_t parent = self->fold->nodes[node].parent;
            cell = flame_layout_find(layout, self->fold, parent, true, row);
            cell = cell ? cell : flame_layout_find(layout, self->fold, parent, false, row);
        }
    }
    if (!cell) {
        cell = &layout->cells[layout->first[layout->zoom_row]];
        if (row)
            *row = layout->zoom_row;
    }
    return cell;
}
