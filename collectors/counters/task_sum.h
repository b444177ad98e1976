// Counts of each thread in an interval. One thread owns the sums.
#ifndef COLLECTORS_COUNTERS_TASK_SUM_H
#define COLLECTORS_COUNTERS_TASK_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectors/kernel/perf/perf.h"

#define TASK_EVENTS_MAX (PERF_GROUP_MAX - 1) // the leader takes one

struct task_counts {
    uint64_t time_ns;                 // on a CPU
    uint64_t running_ns;              // the part in which the counters ran
    uint64_t values[TASK_EVENTS_MAX]; // counted during running_ns
};
void task_counts_add(struct task_counts *to, const struct task_counts *more);

struct task_sum {
    pid_t pid, tid;
    uint64_t first_ns;  // start of its first slice by perf's clock; UINT64_MAX: none yet
    uint64_t forked_ns; // fork time, if in this interval; else 0
    struct task_counts counts;
};
// PID reuse in this interval: it ran before it was forked. The counts are of both threads.
bool task_sum_mixed(const struct task_sum *sum);

struct task_sums;

struct task_sums *task_sums_new(void);
void task_sums_free(struct task_sums *sums);
void task_sums_clear(struct task_sums *sums);
// Makes room for `more` sums. task_sums_get allocates nothing: NULL when there is no room.
void task_sums_reserve(struct task_sums *sums, size_t more);
struct task_sum *task_sums_get(struct task_sums *sums, pid_t pid, pid_t tid); // the thread's, or a new one
struct task_sum *task_sums_find(const struct task_sums *sums, pid_t tid);
size_t task_sums_count(const struct task_sums *sums);
struct task_sum *task_sums_at(struct task_sums *sums, size_t i); // in insertion order

#endif
