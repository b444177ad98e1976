// The collector task_counters's parts: which counters there are, the groups of each CPU (task_cpu.c), what their
// records mean (task_switch.c), and the section made of it (task_counters.c). All of it belongs to the collector's
// thread.
#ifndef COLLECTORS_COUNTERS_TASK_H
#define COLLECTORS_COUNTERS_TASK_H

#include "collectors/counters/task_switch.h"
#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/ring.h"

// What is counted, the most important first: a PMU that is too small for all leaves out the last ones.
struct task_events {
    struct perf_event list[TASK_EVENTS_MAX];
    unsigned n;
};

struct task_cpu {
    bool online; // its group is open
    int fds[1 + TASK_EVENTS_MAX], n_fds;
    struct perf_ring ring;
    struct switches switches;
    struct switch_mark reading; // of the frame's end
    struct switch_mark started; // when the group was switched on
    bool starved;               // in the last frame its group never ran
    uint64_t running_ns;        // at the frame's end before
};

struct task_cpus {
    const struct task_events *events;
    unsigned n_wanted; // how many of them are asked for: less than all when they never get the PMU together
    struct switch_totals *totals;
    int n_cpus; // slots: one more than the highest possible CPU
    struct task_cpu *cpus;
    struct perf_cpus set;         // which of them are open; its poll_fd is readable when a ring is half full
    int missing[TASK_EVENTS_MAX]; // why an event cannot be had; 0: it can
    int n_starved;                // frames in a row in which a group never ran
    uint64_t span_ns;             // of the last frame, by perf's clock
};

// 0, or the -errno of the first CPU: nothing is open then.
int task_cpus_open(struct task_cpus *cpus, const struct task_events *events, struct switch_totals *totals);
void task_cpus_close(struct task_cpus *cpus);
// Handles what is in the rings.
void task_cpus_drain(struct task_cpus *cpus);
// The end of a frame: reads each group, and handles the records up to there. CPUs that come and go are followed.
void task_cpus_cut(struct task_cpus *cpus);
// Switches the groups off, and on again as if they had just been opened: what passed in between is not counted.
// task_cpus_stop returns how often a second the CPUs have switched since the start.
double task_cpus_stop(struct task_cpus *cpus);
void task_cpus_start(struct task_cpus *cpus);
// Forces a switch on the CPUs where none has been seen since the opening, so that it is known who runs there.
void task_cpus_ask(struct task_cpus *cpus);

#endif
