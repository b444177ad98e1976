// Whether a process is in a cgroup. /proc/PID/cgroup has a line for each hierarchy: cgroups(7).
#ifndef COLLECTORS_PROFILE_CGROUP_H
#define COLLECTORS_PROFILE_CGROUP_H

#include <stdbool.h>
#include <sys/types.h>

// In it, or below it, in any hierarchy. proc: "/proc". A process that has ended was where its parent is (0: unknown).
bool cgroup_has(const char *proc, pid_t pid, pid_t parent, const char *cgroup);

#endif
