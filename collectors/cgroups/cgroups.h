// What the kernel says of control groups, shared by the files of the collector (cgroups*.c) and their tests: v1, v2, or
// both beside each other. Kernel documents: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/,
// scheduler/sched-bwc.rst. One thread owns all of it.
#ifndef COLLECTORS_CGROUPS_H
#define COLLECTORS_CGROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/kernel/proc/file.h"

// The hierarchies that say something; a directory may be two of them (v1: cpu,cpuacct).
enum { CGROUP_V2, CGROUP_V1_CPU, CGROUP_V1_CPUACCT, CGROUP_V1_MEMORY, CGROUP_HIERARCHIES };

struct cgroup_mount {
    char path[512]; // "": not mounted
    char root[512]; // what of the hierarchy is mounted there: "/", or a container's group
};
// The text of /proc/self/mountinfo. Of several mounts of one hierarchy the first counts.
void cgroup_mounts_parse(const char *text, struct cgroup_mount mounts[CGROUP_HIERARCHIES]);

// Since the group was made; PROC_MISSING: not there.
struct cgroup_counts {
    uint64_t usage_us; // CPU time, of the groups below it too, as all of these
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
    uint32_t slot; // of its row; UINT32_MAX: it has none, and nothing was read of it yet
    uint64_t read_ns;
    struct cgroup_counts counts;
    struct cgroup_limits limits;
};

struct cgroups {
    int fds[CGROUP_HIERARCHIES]; // of the mounts; -1
    struct cgroup_mount mounts[CGROUP_HIERARCHIES];
    struct cgroup *groups; // ascending by path
    size_t count, room;
    size_t left_out; // groups beyond the most that are looked at
    uint64_t listed_ns, list_cost_ns;
    struct proc_buffer buffer;
};

// `root`: "" or a directory that stands for "/" (tests). 0, or -ENOENT: no hierarchy that says something is mounted.
int cgroups_open(struct cgroups *cgroups, const char *root);
void cgroups_close(struct cgroups *cgroups);
// Only the hierarchy that limits CPU time is looked at from now on: v1's with the cpu controller, else v2.
// 0, or -ENOENT: there is none.
int cgroups_keep_cpu(struct cgroups *cgroups);
// Looks which groups there are; `gone` is told of each one that is no more, before its memory goes.
void cgroups_list(struct cgroups *cgroups, void (*gone)(void *context, struct cgroup *group), void *context);
typedef void cgroup_fn(void *context, struct cgroup *group);
// The same when it is time, which is every two seconds, or `share` times what it took, whichever is more: then `each`
// is called for every group, whose limits may be others.
void cgroups_list_due(struct cgroups *cgroups, uint64_t share, cgroup_fn *gone, cgroup_fn *each, void *context);
// Of the periods between the two in which it was throttled, in percent; NAN: not known.
double cgroup_throttled_pct(const struct cgroup_counts *before, const struct cgroup_counts *now);
uint64_t cgroup_clock_ns(void); // CLOCK_MONOTONIC
void cgroup_read(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_counts *out);
void cgroup_read_limits(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_limits *out);
// One or two small files each: usage_us and the throttling, as far as cpu.stat has it; the limit on CPU time, NAN:
// none.
void cgroup_read_throttling(struct cgroups *cgroups, const struct cgroup *group, struct cgroup_counts *out);
double cgroup_read_cpu_limit(struct cgroups *cgroups, const struct cgroup *group);
// Its own processes, those of groups below it not, and the PID when it is one; NAN: not known.
double cgroup_read_processes(struct cgroups *cgroups, const struct cgroup *group, double *pid);

#endif
