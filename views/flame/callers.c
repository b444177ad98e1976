// Merges by building two trees of their own, which are then folded by name as every tree.
#include "views/flame/callers.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"
#include "views/flame/names.h"

#define SYMBOL_MAX 4097

struct merging {
    const struct fold *fold;
    struct name_table *names;
    uint32_t *ids; // of the fold's nodes, 0: none yet, else the ID + 1
    uint32_t *path;
    struct tree_builder *up, *down;
};

static uint32_t id_of(struct merging *merging, uint32_t node) {
    const struct fold_node *of = &merging->fold->nodes[node];

    if (!merging->ids[node]) // the PID of one of several processes would be wrong
        merging->ids[node] =
            1 + name_table_add(merging->names, of->processes > 1 ? name_pack(flame_symbol(of->name), NAME_PLAIN, "")
                                                                 : text_ref(of->name));
    return merging->ids[node] - 1;
}

// The stacks of one outermost call.
static void merge_call(struct merging *merging, uint32_t call) {
    const struct fold_node *nodes = merging->fold->nodes;
    uint32_t n = 0, end = fold_after(merging->fold, call);

    for (uint32_t node = call; node; node = nodes[node].parent)
        merging->path[n++] = id_of(merging, node);
    tree_builder_add(merging->up, merging->path, n, nodes[call].total);
    for (uint32_t node = call; node < end; node++) {
        uint32_t depth = nodes[node].depth - nodes[call].depth;
        merging->path[depth] = id_of(merging, node); // depth-first: what stands before it is the way to it
        if (nodes[node].self)
            tree_builder_add(merging->down, merging->path, depth + 1, nodes[node].self);
    }
}

static struct fold *fold_of(struct tree_builder *builder) {
    struct tree *tree = tree_builder_seal(builder);
    struct fold *fold = fold_new(tree, NULL, &(struct fold_filter){.idle = true});

    tree_free(tree);
    tree_builder_free(builder);
    return fold;
}

struct callers callers_new(const struct fold *fold, const char *symbol, bool process) {
    static const struct tree_def def = {.name = "callers", .title = "", .help = "", .unit_name = ""};
    struct merging merging = {.fold = fold, .names = name_table_new()};
    struct callers callers = {0};
    uint32_t deepest = 0;

    for (uint32_t i = 0; i < fold->n; i++)
        deepest = fold->nodes[i].depth > deepest ? fold->nodes[i].depth : deepest;
    merging.ids = xcalloc(fold->n, sizeof(*merging.ids));
    merging.path = xcalloc(deepest + 1, sizeof(*merging.path));
    merging.up = tree_builder_new(&def, merging.names);
    merging.down = tree_builder_new(&def, merging.names);
    for (uint32_t i = 1; i < fold->n;) {
        const struct fold_node *node = &fold->nodes[i];
        bool is_process = node->depth == 1 && node->name && name_kind(node->name) == NAME_PLAIN;
        char shown[SYMBOL_MAX];
        flame_shown(node->name, shown, sizeof(shown));
        if (is_process != process || (strcmp(flame_symbol(node->name), symbol) != 0 && strcmp(shown, symbol) != 0)) {
            i++;
            continue;
        }
        merge_call(&merging, i);
        callers.total += node->total;
        i = fold_after(fold, i);
    }
    callers.up = fold_of(merging.up);
    callers.down = fold_of(merging.down);
    name_table_unref(merging.names);
    free(merging.ids);
    free(merging.path);
    return callers;
}

void callers_free(struct callers *callers) {
    fold_free(callers->up);
    fold_free(callers->down);
    *callers = (struct callers){0};
}
