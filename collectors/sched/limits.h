// The CPU limits of cgroups: a view of the table "cpu_limits", which the collector of that name fills. Valid while a
// reference to its section is held; any thread.
#ifndef COLLECTORS_SCHED_LIMITS_H
#define COLLECTORS_SCHED_LIMITS_H

#include "model/section.h"

struct sched_limits {
    const struct table *table; // NULL: unknown
    int cgroup, limit_pct, throttled_pct;
};

struct sched_limit {
    const char *cgroup; // lives as long as the section
    double limit_pct, throttled_pct;
};

struct sched_limits sched_limits_of(const struct section *section); // NULL is allowed
// The limit that throttled the cgroup when it was last read: its own, or the nearest above it. False: none did.
bool sched_limits_find(const struct sched_limits *limits, const char *cgroup, struct sched_limit *out);

#endif
