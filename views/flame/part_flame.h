// The flame graph part: the call paths of a span of time as a picture. Width is samples, siblings stand in order of
// name. A view gives a struct flame_spec (views/flame/span.h).
#ifndef VIEWS_PART_FLAME_H
#define VIEWS_PART_FLAME_H

#include "views/flame/span.h"

extern const struct part_kind part_flame;

#endif
