// The schema without data: what a section lacks of its collector's tables, series, histograms and streams, empty.
#ifndef COLLECTORS_BLANK_H
#define COLLECTORS_BLANK_H

#include "collectors/collector.h"

// Adds what the collector announces and the section does not have: empty tables and histograms, series that are not
// measured. So that every frame carries every table, and views need no other schema.
void section_complete(struct section *section, const struct collector *collector);

#endif
