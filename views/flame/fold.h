// The tree as a flame graph shows it: trees of a span of frames merged, nodes of equal names folded together (a symbol
// that was found late stood under several IDs), filtered, siblings in order of name so that a live graph does not jump.
#ifndef VIEWS_FLAME_FOLD_H
#define VIEWS_FLAME_FOLD_H

#include <stdbool.h>
#include <stdint.h>

#include "model/tree.h"

struct fold_node {
    uint32_t parent;            // node 0 is the root
    uint32_t first_child, next; // siblings in order of name; 0: none
    uint32_t depth;             // 0: the root
    const struct text *name;    // borrowed from the tree's name table; NULL for the root and for unknown names
    uint64_t self, total;
    uint64_t base_self, base_total; // of the span it is compared with; 0 without one
};

struct fold_filter {
    const char *text;  // only stacks that have a name with this text; "" or NULL: all
    long pid;          // only this process (name_object of the first level); 0: all
    bool user, kernel; // only user or only kernel frames; both false: all
    bool idle;         // keep the idle task's stacks
};

struct fold {
    struct fold_node *nodes;
    uint32_t n;
    uint64_t base_total; // of the span it is compared with
};

// `tree` may be NULL (an empty fold); `base` is the tree of the span it is compared with, or NULL. Owned by the caller;
// names are borrowed from `tree` and `base`, which must outlive it.
struct fold *fold_new(const struct tree *tree, const struct tree *base, const struct fold_filter *filter);
void fold_free(struct fold *fold);
// The node at the end of a path of names from the root, or the deepest one that is there.
uint32_t fold_find(const struct fold *fold, const struct text *const *path, uint32_t n);

#endif
