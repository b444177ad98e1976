// The schema without data: the tables, series, histograms and streams that a section lacks, empty.
#ifndef COLLECTORS_BLANK_H
#define COLLECTORS_BLANK_H

#include "collectors/collector.h"

// Adds the parts of the collector's schema that the section lacks: empty tables and histograms, unmeasured series.
// Every frame then has every table, and views need no other schema.
void section_complete(struct section *section, const struct collector *collector);

#endif
