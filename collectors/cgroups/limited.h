// Which control groups a limit on CPU time stops, as the collector "cpu_limits" last found it: for whoever asks while
// it searches and reads them, so that they are searched for once. A list is never changed after it was shared: whoever
// has a reference may read it, in any thread.
#ifndef COLLECTORS_CGROUPS_LIMITED_H
#define COLLECTORS_CGROUPS_LIMITED_H

#include "collectors/cgroups/cgroups.h"

struct cgroup_limited {
    char *path; // as in /proc/PID/cgroup
    double limit_pct;
    struct cgroup_stops stops;
};

struct cgroups_limited;
struct cgroups_limited *cgroups_limited_new(size_t most, size_t left_out); // left_out: groups that were not looked at
void cgroups_limited_add(struct cgroups_limited *list, const struct cgroup *group); // until it is shared
// What is found from now on; takes the caller's reference. NULL: nothing is known.
void cgroups_limited_share(struct cgroups_limited *list);

// The newest list, and a reference to it; NULL. The other functions take NULL for an empty one.
const struct cgroups_limited *cgroups_limited_get(void);
void cgroups_limited_unref(const struct cgroups_limited *list);
size_t cgroups_limited_count(const struct cgroups_limited *list);
const struct cgroup_limited *cgroups_limited_at(const struct cgroups_limited *list, size_t i);
size_t cgroups_limited_left_out(const struct cgroups_limited *list);
// The group itself, or the nearest above it, that was stopped between the last two looks at it; NULL.
const struct cgroup_limited *cgroups_limited_stopped(const struct cgroups_limited *list, const char *path);

#endif
