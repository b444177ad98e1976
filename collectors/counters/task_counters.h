// The parts of the collector task_counters: the counters, the groups of each CPU (task_cpu.c), the attribution of their
// records (task_switch.c), and the section (task_counters.c). All of it belongs to the collector's thread.
#ifndef COLLECTORS_COUNTERS_TASK_H
#define COLLECTORS_COUNTERS_TASK_H

#include "collectors/counters/task_switch.h"
#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/ring.h"

// The counted events, most important first: on a PMU with too few counters the last ones are dropped.
struct task_events {
    struct perf_event list[TASK_EVENTS_MAX];
    unsigned n;
};

struct task_cpu {
    bool online; // its group is open
    int fds[1 + TASK_EVENTS_MAX], n_fds;
    struct perf_ring ring;
    struct switches switches;
    struct switch_mark reading; // at the frame's end
    struct switch_mark started; // when the group was enabled
    bool starved;               // the group never ran in the last frame
    uint64_t running_ns;        // at the previous frame's end
};

struct task_cpus {
    const struct task_events *events;
    unsigned n_wanted; // the first of them that are opened: fewer than all when the PMU never runs all together
    struct switch_totals *totals;
    int n_cpus; // slots: the highest possible CPU + 1
    struct task_cpu *cpus;
    struct perf_cpus set;         // the open ones; its poll_fd is readable when a ring is half full
    int missing[TASK_EVENTS_MAX]; // -errno of an event that cannot be opened; 0: open
    int n_starved;                // consecutive frames in which a group never ran
    uint64_t span_ns;             // the last frame's length by perf's clock
};

// 0, or the first CPU's -errno, with nothing open.
int task_cpus_open(struct task_cpus *cpus, const struct task_events *events, struct switch_totals *totals);
void task_cpus_close(struct task_cpus *cpus);
// Handles the rings' records.
void task_cpus_drain(struct task_cpus *cpus);
// Ends a frame: reads each group and handles the records up to the reading. Follows CPU hotplug.
void task_cpus_cut(struct task_cpus *cpus);
// Disables the groups, and enables them as if just opened: nothing in between is counted. task_cpus_stop returns the
// context switches per second since the start.
double task_cpus_stop(struct task_cpus *cpus);
void task_cpus_start(struct task_cpus *cpus);
// Forces a context switch on CPUs without one since the opening, which makes their current task known.
void task_cpus_force_switch(struct task_cpus *cpus);

#endif
