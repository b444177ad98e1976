// The heat map part: one histogram over many frames. Time across, newest at the right; log-spaced ranges up; how hot a
// cell is says how many fell into it. For screens only: files get the histograms of each frame (part_hist).
// spec: struct hist_spec.
#ifndef VIEWS_PART_HEAT_H
#define VIEWS_PART_HEAT_H

#include "views/hist/select.h"

extern const struct part_kind part_heat;

#endif
