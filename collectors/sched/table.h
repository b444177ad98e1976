// What the sched collector puts into a section: its tables, histograms and series. The order of the enums is the order
// of the columns. Data only; defined in collectors/sched/table.c.
#ifndef COLLECTORS_SCHED_TABLE_H
#define COLLECTORS_SCHED_TABLE_H

#include "model/section.h"

enum {
    SCHED_T_PID,
    SCHED_T_TID,
    SCHED_T_COMM,
    SCHED_T_STATE,
    SCHED_T_SWITCHES,
    SCHED_T_VOLUNTARY,
    SCHED_T_INVOLUNTARY,
    SCHED_T_WAKEUPS,
    SCHED_T_MIGRATIONS,
    SCHED_T_QUEUE_AVG,
    SCHED_T_QUEUE_MAX,
    SCHED_T_QUEUE,
    SCHED_T_ON_CPU,
    SCHED_T_OFF_CPU,
    SCHED_T_SLEEP,
    SCHED_T_DISK,
    SCHED_T_STOPPED,
    SCHED_T_PREEMPTED,
    SCHED_T_BLOCKED_IN,
    SCHED_T_SYSCALL,
    SCHED_T_WAKER,
    SCHED_T_CPU,
    SCHED_T_PRIORITY,
    SCHED_T_SINCE,
    SCHED_T_SWITCHES_ALL,
    SCHED_T_WAKEUPS_ALL,
    SCHED_T_ALL
};
extern const struct table_def sched_tasks_table;

enum {
    SCHED_C_CPU,
    SCHED_C_LENGTH,
    SCHED_C_LENGTH_MAX,
    SCHED_C_BUSY,
    SCHED_C_SWITCHES,
    SCHED_C_VOLUNTARY,
    SCHED_C_INVOLUNTARY,
    SCHED_C_WAKEUPS,
    SCHED_C_MIGRATIONS,
    SCHED_C_QUEUE_AVG,
    SCHED_C_QUEUE_P99,
    SCHED_C_QUEUE_MAX,
    SCHED_C_TID,
    SCHED_C_COMM,
    SCHED_C_UNKNOWN,
    SCHED_C_ALL
};
extern const struct table_def sched_cpus_table;

enum {
    SCHED_W_PID,
    SCHED_W_TID,
    SCHED_W_COMM,
    SCHED_W_STATE,
    SCHED_W_KIND,
    SCHED_W_SINCE,
    SCHED_W_BLOCKED_IN,
    SCHED_W_SYSCALL,
    SCHED_W_WAITS_FOR,
    SCHED_W_STACK,
    SCHED_W_CGROUP,
    SCHED_W_AT_LEAST,
    SCHED_W_ALL
};
extern const struct table_def sched_stuck_table;

// run_queue_latency by `cpu`; run_queue_by_process by `pid`, `tid`, `comm` of the busiest; off_cpu by `kind`.
extern const struct hist_def sched_queue_hist, sched_queue_process_hist, sched_off_hist;

enum {
    SCHED_S_SWITCHES,
    SCHED_S_VOLUNTARY,
    SCHED_S_INVOLUNTARY,
    SCHED_S_WAKEUPS,
    SCHED_S_MIGRATIONS,
    SCHED_S_RUNNABLE,
    SCHED_S_QUEUE_AVG,
    SCHED_S_QUEUE_P99,
    SCHED_S_QUEUE_MAX,
    SCHED_S_BLOCKED,
    SCHED_S_SAMPLED,
    SCHED_S_LOST,
    SCHED_S_ALL
};
extern const struct series_def sched_series[SCHED_S_ALL];

#endif
