// The section "groups": the resource use of each cgroup, summed over its tasks by the thread that builds frames. The
// tasks of child cgroups are not included.
#ifndef MODEL_GROUPS_H
#define MODEL_GROUPS_H

#include "model/frame.h"

// True if the cgroup is `above` or a descendant of it, by path; "/" is the root.
bool group_is_below(const char *group, const char *above);

extern const struct table_def groups_table; // "cgroups", key cgroup; null: tasks whose cgroup is unknown

struct groups; // caches the sums of unchanged tasks
struct groups *groups_new(void);
void groups_free(struct groups *groups);
// The section for this frame, which has its sections of tasks and counters; owned by the caller.
struct section *groups_section(struct groups *groups, const struct frame *frame);

#endif
