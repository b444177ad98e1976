// One set of perf descriptors for each online CPU, which follows CPU hotplug. The caller owns the sets; this decides
// when to open and close them. One thread owns it.
#ifndef COLLECTORS_PERF_CPUS_H
#define COLLECTORS_PERF_CPUS_H

#include <stdbool.h>

#define CPUS_MAX 8192 // NR_CPUS of the largest configuration

struct perf_cpus_ops {
    int (*open)(void *context, int cpu); // 0 or -errno; then nothing of that CPU is open
    void (*close)(void *context, int cpu);
};

struct perf_cpus {
    const struct perf_cpus_ops *ops;
    void *context;
    int n;        // slots: the highest possible CPU + 1
    bool *opened; // by CPU
    bool changed; // a CPU was opened or closed since the caller cleared this
    int poll_fd;  // readable when a watched descriptor is; -1: none is watched
};

// Nothing is open yet: the caller allocates `n` slots of its own, then calls perf_cpus_follow.
void perf_cpus_init(struct perf_cpus *cpus, const struct perf_cpus_ops *ops, void *context);
// Closes the CPUs that went offline and opens those that came online. 0, or -errno when no CPU is open.
int perf_cpus_follow(struct perf_cpus *cpus);
// Closes a CPU, and opens it again: its counters no longer count, because it was offline in between.
void perf_cpus_reopen(struct perf_cpus *cpus, int cpu);
void perf_cpus_shut(struct perf_cpus *cpus);  // closes all; perf_cpus_follow opens them again
void perf_cpus_close(struct perf_cpus *cpus); // closes all for good

// In ops.open: poll_fd is readable when `fd`, of this CPU, is.
int perf_cpus_watch(struct perf_cpus *cpus, int cpu, int fd);
// Closes the CPUs whose watched descriptor hung up: they went offline, and would keep poll_fd readable.
void perf_cpus_drop_hung_up(struct perf_cpus *cpus);

// "0-3,8": sets set[cpu] for each below max, and returns one more than the highest; 0 when there is none.
int cpu_list_parse(const char *text, bool *set, int max);

#endif
