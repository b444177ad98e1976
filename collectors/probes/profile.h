// The kernel's own counts of probes: kprobe_profile, "  EVENT  HITS  MISSED" a line.
#ifndef COLLECTORS_PROBES_PROFILE_H
#define COLLECTORS_PROBES_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

// From its text. False: the event is not there, or twice (the file has no groups).
bool probe_profile_find(const char *text, const char *event, uint64_t *missed);

#endif
