// Groups and latencies of the collector `events`: lines among the specifications of what it records
// (collectors/kernel/groups/group.h), and the line "stacks": every event with its kernel stack.
//
// Their events are recorded without a filter unless another line names them with one.
#ifndef COLLECTORS_EVENTS_GROUP_H
#define COLLECTORS_EVENTS_GROUP_H

#include "collectors/events/choice.h"
#include "collectors/kernel/groups/group.h"

#define EVENTS_STACKS "stacks"

// As choice_resolve, for all kinds of lines: adds the events of groups and latencies to the choice, and resolves their
// fields in the formats below `dir`. *out is NULL if there are none.
int event_groups_resolve(struct event_groups **out, struct choice *choice, const char *text,
                         const struct tracepoints *list, const char *dir, struct choice_error *error);

#endif
