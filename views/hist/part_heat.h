// The heat map part: one histogram over many frames. x: time, newest at the right; y: log-spaced ranges; heat: count.
// For screens only: files get the histograms of each frame (part_hist). spec: struct hist_spec.
#ifndef VIEWS_PART_HEAT_H
#define VIEWS_PART_HEAT_H

#include "views/hist/select.h"

extern const struct part_kind part_heat;

#endif
