// The tree as a flame graph shows it: trees of a span of frames merged, nodes of equal name folded together (a symbol
// that was found late stood under several IDs; a shell script starts a hundred processes of one name), filtered,
// siblings in order of name so that a live graph does not jump.
#ifndef VIEWS_FLAME_FOLD_H
#define VIEWS_FLAME_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/tree.h"

struct fold_node {
    uint32_t parent;            // node 0 is the root
    uint32_t first_child, next; // siblings in order of name; 0: none
    uint32_t depth;             // 0: the root
    const struct text *name;    // borrowed from the fold; NULL for the root and for unknown names
    uint64_t self, total;
    uint64_t base_self, base_total; // of the base: the span it is compared with, or the off-CPU time; 0 without one
    uint32_t processes;             // of a process's name: how many have it; 0: it is none
};

struct fold_filter {
    const char *text;  // only stacks that have a name with this text, case ignored; "" or NULL: all
    long pid;          // only this process (name_object of the first level); 0: all
    bool user, kernel; // only user or only kernel frames: the samples of the others count for the frame that is left
    bool idle;         // keep the idle task's stacks (process 0)
    bool addresses;    // keep addresses without a symbol apart: "[lib+0x12ab]", "[lib+0x12b0]"; else one node per file
    bool processes;    // keep processes of one name apart, and addresses as well
    // Hot and cold: the tree's weights times `scale` and those of the base, which is off-CPU time, are added. Stacks of
    // the base get an innermost frame "[off-CPU]".
    bool add;
    double scale;
};

struct fold {
    struct fold_node *nodes; // depth-first, siblings in order of name; a node without samples is left out
    uint32_t n;
    uint64_t base_total;         // of the base
    const struct text *off_cpu;  // the frame of off-CPU stacks, or NULL
    struct name_table *names[2]; // references, or NULL: keep the names
};

// `tree` may be NULL (an empty one); `base` is the tree it is compared with, or that is added, or NULL. Owned by the
// caller; the trees may go before it. `filter` may be NULL: everything but the idle task.
struct fold *fold_new(const struct tree *tree, const struct tree *base, const struct fold_filter *filter);
void fold_free(struct fold *fold);
// The node at the end of a path of names from the root, or the deepest one that is there.
uint32_t fold_find(const struct fold *fold, const struct text *const *path, uint32_t n);
// The names from the root to the node, the root left out. Returns how many: the depth; at most max are written.
uint32_t fold_path(const struct fold *fold, uint32_t node, const struct text **path, uint32_t max);
// The node that follows all descendants of this one; fold->n after the last.
uint32_t fold_after(const struct fold *fold, uint32_t node);
// The samples of stacks that have a name with this text, each counted once, below (and in) the node. A stack counts
// too when the text is in a name between the root and the node.
uint64_t fold_matched(const struct fold *fold, uint32_t node, const char *text);
// As nodes are folded: names without text are equal, processes of one name, and addresses without a symbol in one file.
bool fold_same_name(const struct text *a, const struct text *b);
// The length of the symbol without an address: of "[lib+0x12ab]" that of "[lib", of "[0x12ab]" 1. 0: it is no address.
size_t fold_address_stem(const struct text *name);
bool fold_name_contains(const struct text *name, const char *text); // the symbol, case ignored

#endif
