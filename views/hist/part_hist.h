// The histogram part: the distribution of a quantity with its percentiles, over one interval or the whole window. spec:
// struct hist_spec; files get every set of it, the screen shows one at a time.
#ifndef VIEWS_PART_HIST_H
#define VIEWS_PART_HIST_H

#include "views/hist/select.h"

extern const struct part_kind part_hist;

#endif
