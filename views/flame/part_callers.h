// The callers and callees of one function, each merged over all stacks of the span that have it: callers above it,
// callees below. It is there only after Enter on a row of a table with a column `symbol`, or a key of the flame graph.
// spec: struct flame_spec, the flame graph's.
#ifndef VIEWS_PART_CALLERS_H
#define VIEWS_PART_CALLERS_H

#include "views/flame/span.h"

extern const struct part_kind part_callers;

// `state`: of a part of this kind. The function of that name from now on.
void callers_choose(void *state, const struct text *name);

#endif
