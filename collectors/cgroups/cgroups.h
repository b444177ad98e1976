// Reads cgroups, v1, v2 or both, for the collectors of this folder and their tests. Kernel documents:
// Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/, scheduler/sched-bwc.rst. One thread owns all of it.
#ifndef COLLECTORS_CGROUPS_H
#define COLLECTORS_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/kernel/proc/file.h"

// The hierarchies that are read; one directory may be two of them (v1: cpu,cpuacct).
enum { CGROUP_V2, CGROUP_V1_CPU, CGROUP_V1_CPUACCT, CGROUP_V1_MEMORY, CGROUP_HIERARCHIES };

struct cgroup_mount {
    char path[512]; // "": not mounted
    char root[512]; // the part of the hierarchy that is mounted there: "/", or a container's cgroup
};
// Parses /proc/self/mountinfo. The first mount of each hierarchy counts.
void cgroup_mounts_parse(const char *text, struct cgroup_mount mounts[CGROUP_HIERARCHIES]);

// Since the cgroup was created; PROC_MISSING: not available.
struct cgroup_counts {
    uint64_t usage_us; // CPU time; like all of these, descendants included
    uint64_t periods, throttled, throttled_us;
    uint64_t cpu_some_us, io_some_us, memory_some_us, memory_full_us; // pressure
    uint64_t memory_bytes;                                            // in use now
};
struct cgroup_limits { // NAN: none
    double cpu_pct;    // of one CPU
    double memory_bytes;
};

struct cgroup {
    char *path;    // as in /proc/PID/cgroup
    uint8_t in;    // bit per hierarchy
    bool seen;     // by the listing
    uint32_t slot; // of its row; UINT32_MAX: none, and never read
    uint64_t read_ns;
    struct cgroup_counts counts;
    struct cgroup_limits limits;
};

struct cgroups {
    int fds[CGROUP_HIERARCHIES]; // of the mounts; -1
    struct cgroup_mount mounts[CGROUP_HIERARCHIES];
    struct cgroup *groups; // ascending by path
    size_t count, room;
    size_t left_out; // cgroups beyond the maximum
    uint64_t listed_ns, list_cost_ns;
    struct proc_buffer buffer;
};

// `root`: "", or a test's directory in place of "/". 0, or -ENOENT: no usable hierarchy is mounted.
int cgroups_open(struct cgroups *cgroups, const char *root);
void cgroups_close(struct cgroups *cgroups);
// Keeps only the hierarchy with CPU limits: v1's with the cpu controller, else v2. 0, or -ENOENT: none.
int cgroups_keep_cpu(struct cgroups *cgroups);
// Lists the cgroups; calls `gone` for each one that was removed, before its memory is freed.
void cgroups_list(struct cgroups *cgroups, void (*gone)(void *context, struct cgroup *group), void *context);
typedef void cgroup_fn(void *context, struct cgroup *group);
// The same if it is due: every two seconds, or `share` times its cost, whichever is longer. Then calls `each` for every
// cgroup, whose limits may have changed.
void cgroups_list_due(struct cgroups *cgroups, uint64_t share, cgroup_fn *gone, cgroup_fn *each, void *context);
// Share of the periods between the two in which it was throttled, in percent; NAN: unknown.
double cgroup_throttled_pct(const struct cgroup_counts *before, const struct cgroup_counts *now);
void cgroup_read(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_counts *out);
void cgroup_read_limits(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_limits *out);
// One or two small files each: usage_us and throttling, as far as cpu.stat has them; the CPU limit, NAN: none.
void cgroup_read_throttling(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_counts *out);
double cgroup_read_cpu_limit(struct cgroups *cgroups, const struct cgroup *group);
// Its processes without those of descendants, and the PID if there is one only; NAN: unknown.
double cgroup_read_processes(struct cgroups *cgroups, const struct cgroup *group, double *pid);

#endif
