// A tree: weighted call paths (CPU profile, off-CPU profile, function graph). Nodes hold IDs into a name table, so a
// symbol that is found late shows in older trees too.
#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "model/names.h"

struct tree_def {
    const char *name, *title, *help;
    const char *unit_name; // of a weight: "samples", "us"
};
struct tree;
struct tree_builder;

// The builder and its trees each hold a reference to the name table.
struct tree_builder *tree_builder_new(const struct tree_def *def, struct name_table *names);
// Adds weight to the path ids[0] (root side) .. ids[n-1] (leaf). Returns the path's number in this builder.
uint32_t tree_builder_add(struct tree_builder *builder, const uint32_t *ids, size_t n, uint64_t weight);
struct tree *tree_builder_seal(struct tree_builder *builder); // the builder is empty after it
// The same; *nodes: the node of each path's number, which the caller frees.
struct tree *tree_builder_seal_nodes(struct tree_builder *builder, uint32_t **nodes);
void tree_builder_free(struct tree_builder *builder);

// The sum of n >= 1 trees, owned by the caller. NULL if they differ in definition or name table.
struct tree *tree_merge(const struct tree *const *trees, size_t n);
// A part of a tree, owned by the caller: the paths to n of its nodes, each with a weight of 1, as often as they are
// there. Nodes that it does not have are left out.
struct tree *tree_pick(const struct tree *tree, const uint32_t *nodes, size_t n);
void tree_free(struct tree *tree);
const struct tree_def *tree_def(const struct tree *tree);
// Nodes are in depth-first order, children by falling total; node 0 is the root, with NAME_NONE.
struct tree_node {
    uint32_t parent, n_descendants;
    uint16_t depth;
    uint32_t name; // ID: see tree_node_text()
    uint64_t self, total;
};
struct name_table *tree_names(const struct tree *tree); // lives as long as the tree
size_t tree_nodes(const struct tree *tree);
const struct tree_node *tree_node(const struct tree *tree, size_t i);
// The node's name as of now, valid as long as the tree. NULL: no name yet.
const struct text *tree_node_text(const struct tree *tree, size_t i);

#endif
