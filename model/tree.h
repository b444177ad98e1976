// A tree: weighted call paths over a string table (CPU profile, off-CPU profile, function graph).
#ifndef MODEL_TREE_H
#define MODEL_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "model/text.h"

struct tree_def {
    const char *name, *title, *help;
    const char *unit_name; // what a weight is: "samples", "us"
};
struct tree;
struct tree_builder;

struct tree_builder *tree_builder_new(const struct tree_def *def);
// Adds weight to the path names[0] (root side) .. names[n-1] (leaf). The texts are referenced, not taken over.
void tree_builder_add(struct tree_builder *builder, const struct text *const *names, size_t n, uint64_t weight);
struct tree *tree_builder_seal(struct tree_builder *builder); // the builder is empty after it
void tree_builder_free(struct tree_builder *builder);

void tree_free(struct tree *tree);
const struct tree_def *tree_def(const struct tree *tree);
// Nodes are in depth-first order, children by falling total; node 0 is the nameless root.
struct tree_node {
    uint32_t parent, n_descendants;
    uint16_t depth;
    const struct text *name; // lives as long as the tree
    uint64_t self, total;
};
size_t tree_nodes(const struct tree *tree);
const struct tree_node *tree_node(const struct tree *tree, size_t i);

#endif
