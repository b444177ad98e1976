// The stacks that have a function, merged at it: its callers, the nearest first, and its callees. A stack counts once,
// from the outermost call of the function on.
#ifndef VIEWS_FLAME_CALLERS_H
#define VIEWS_FLAME_CALLERS_H

#include "views/flame/fold.h"

struct callers {
    struct fold *up;   // node 1 is the function, below it its callers, up to the process
    struct fold *down; // node 1 is the function, below it its callees
    uint64_t total;    // samples of stacks that have it; 0: none has
};

// `process`: the name is a process's, else a function's.
struct callers callers_new(const struct fold *fold, const char *symbol, bool process);
void callers_free(struct callers *callers);

#endif
