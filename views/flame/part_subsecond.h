// The sub-second heat map (FlameScope): a column a second, the time within it downwards, how hot a cell is says how
// many samples fell into it. Enter marks where a range begins, and again where it ends: the flame graph then shows the
// frames of it. spec: struct flame_spec, the flame graph's.
#ifndef VIEWS_PART_SUBSECOND_H
#define VIEWS_PART_SUBSECOND_H

#include "views/flame/span.h"

extern const struct part_kind part_subsecond;

#endif
