// The histogram part: how often a quantity was how large, over one interval or all that are kept, with its percentiles.
// spec: struct hist_spec; the part writes every set of it to files, the screen shows one at a time.
#ifndef VIEWS_PART_HIST_H
#define VIEWS_PART_HIST_H

#include "views/hist/select.h"

extern const struct part_kind part_hist;

#endif
