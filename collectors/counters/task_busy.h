// Counters of the busiest threads, with a group of descriptors for each. Used when the context switch rate makes a
// record per switch too expensive. Other threads are not counted.
#ifndef COLLECTORS_COUNTERS_TASK_BUSY_H
#define COLLECTORS_COUNTERS_TASK_BUSY_H

#include "collectors/counters/task_counters.h"

#define BUSY_FILES 96 // descriptors in all
#define BUSY_MAX (BUSY_FILES / 2)
#define BUSY_PMUS 4 // kinds of cores

struct busy_group {
    int fds[1 + TASK_EVENTS_MAX], n_fds;
    uint8_t which[TASK_EVENTS_MAX];
    struct switch_mark before;
};

struct busy_thread {
    pid_t pid, tid;
    struct busy_group groups[BUSY_PMUS];
    bool wanted;
};

struct busy_process {
    pid_t pid;
    uint64_t cpu_ns; // of all its threads, at the last reading; 0: unknown
};

struct busy {
    const struct task_events *events;
    uint32_t pmus[BUSY_PMUS]; // core PMU types of a hybrid machine; else a single 0
    unsigned n_pmus;
    struct busy_thread threads[BUSY_MAX];
    unsigned n;
    struct busy_process processes[BUSY_MAX];
    unsigned n_processes;
};

void busy_init(struct busy *busy, const struct task_events *events);
void busy_close(struct busy *busy);
// From now on counts the threads with most CPU time in `sums`. No change if `sums` has no CPU time.
void busy_choose(struct busy *busy, struct task_sums *sums);
// Adds each thread's counts since the last reading, or since it was chosen.
void busy_read(struct busy *busy, struct task_sums *sums);
// CPU time of all threads of the process since the last call; 0: unknown.
uint64_t busy_process_ns(struct busy *busy, pid_t pid);

#endif
