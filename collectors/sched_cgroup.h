// Control groups with a limit on CPU time: which there are, and how often the limit stopped them. Files: cpu.max and
// cpu.stat of version 2, cpu.cfs_quota_us, cpu.cfs_period_us and cpu.stat of version 1. Kernel documents:
// Documentation/scheduler/sched-bwc.rst, Documentation/admin-guide/cgroup-v2.rst. One thread owns it.
#ifndef COLLECTORS_SCHED_CGROUP_H
#define COLLECTORS_SCHED_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sched_group {
    char *path;       // below the hierarchy: "/system.slice/x"
    double quota_pct; // of one CPU
    bool fresh;       // not yet read twice: no difference is known
    bool gone;
    uint32_t reads;
    uint64_t at[3];    // periods, throttled, throttled ns: as they are
    uint64_t delta[3]; // in the interval
};

struct sched_groups;
// mounts: "/proc/self/mountinfo", or a test's.
struct sched_groups *sched_groups_new(const char *mounts);
void sched_groups_free(struct sched_groups *groups);
// Once per frame: reads the known ones, and looks for new ones now and then.
void sched_groups_read(struct sched_groups *groups, uint64_t now_ns);
size_t sched_groups_count(const struct sched_groups *groups);
const struct sched_group *sched_groups_at(const struct sched_groups *groups, size_t i);
// The group itself, or the nearest above it, that was throttled in the interval; NULL.
const struct sched_group *sched_groups_throttled(const struct sched_groups *groups, const char *path);
// How many directories were not looked at, because there are too many.
size_t sched_groups_left_out(const struct sched_groups *groups);

#endif
