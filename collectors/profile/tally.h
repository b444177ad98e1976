// What an interval's call paths add up to: time by symbol, and which stacks are broken. Names are compared as texts,
// because an address whose file was not read yet had an ID of its own. Works once per interval on the sealed tree, so a
// sample costs nothing here. One thread owns it.
//
// A user stack is whole if the unwind tables say so, or if its outermost frame is where a thread or program begins.
// Frame pointers end in the C library, which has none: its frame that called main, or that called a thread's function,
// counts as such a beginning.
#ifndef COLLECTORS_PROFILE_TALLY_H
#define COLLECTORS_PROFILE_TALLY_H

#include <stdbool.h>

#include "model/tree.h"

struct tally_symbol {                       // one symbol or object of processes of one name
    const struct text *symbol, *dso, *comm; // symbol: NULL for an object
    uint64_t self, total;                   // total: each sample once, also in recursion
};
struct tally_process { // by ID of its name
    uint32_t name;
    uint64_t user, broken; // samples with user frames; with a broken stack
};
struct tally_blame { // broken stacks of processes of one name, by the object of the outermost frame
    const struct text *comm, *dso;
    uint64_t broken, user; // user: of the same processes
};

struct tally;
struct tally *tally_new(void);
void tally_free(struct tally *tally);
struct tally_marks {
    uint32_t broken; // put above the outermost frame of broken stacks
    uint32_t whole;  // above that of stacks that are known to be whole, in `raw` only
};
// Adds up `raw`, and adds its paths to `out` with their marks. Replaces what was added up before.
void tally_tree(struct tally *tally, const struct tree *raw, const struct tally_marks *marks, struct tree_builder *out);

// The number in `out` (tree_builder_add) of each node of `raw` with samples of its own. Valid as long as the results.
const uint32_t *tally_numbers(const struct tally *tally);

uint64_t tally_user(const struct tally *tally, uint64_t *broken); // of all
// Valid until the next tally_tree. Symbols and objects: most samples first; blames: most broken stacks first.
const struct tally_symbol *tally_symbols(struct tally *tally, size_t *n);
const struct tally_symbol *tally_objects(struct tally *tally, size_t *n);
const struct tally_process *tally_process(const struct tally *tally, uint32_t name); // NULL: no samples
const struct tally_blame *tally_blames(struct tally *tally, size_t *n);

// Whether a user stack ends where it should: its outermost frame, and the next one (NULL: the stack has one frame).
bool tally_whole(const struct text *outermost, const struct text *next);

#endif
