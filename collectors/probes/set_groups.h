// Groups and latencies of the probes of a set.
#ifndef COLLECTORS_PROBES_SET_GROUPS_H
#define COLLECTORS_PROBES_SET_GROUPS_H

#include "collectors/probes/set.h"

// A line at that place of the list. False: it is a probe. *result as of probe_set_parse.
bool probe_set_group_line(struct probe_set *set, const char *list, size_t place, size_t length, int *result,
                          struct choice_error *error);
// Resolves the fields of all; the probes are defined.
int probe_set_resolve_groups(struct probe_set *set, struct choice_error *error);

#endif
