// The section "groups": what the tasks of each control group use together, summed in one place, by the thread that cuts
// the frames. A group has its own tasks only, not those of the groups below it.
#ifndef MODEL_GROUPS_H
#define MODEL_GROUPS_H

#include "model/frame.h"

// Whether a control group is `above` or one below it, by their paths; "/": the root.
bool group_is_below(const char *group, const char *above);

extern const struct table_def
    groups_table; // "cgroups": key cgroup; null is the group of tasks whose group is not known

struct groups; // remembers the sums of the tasks that did not move
struct groups *groups_new(void);
void groups_free(struct groups *groups);
// The section for this frame (the sections of its tasks and of their counters must be in), owned by the caller.
struct section *groups_section(struct groups *groups, const struct frame *frame);

#endif
