// The pertask collector's parts: which counters there are, the groups of each CPU (task_cpu.c), what their records
// mean (task_switch.c), and the section made of it (pertask.c). All of it belongs to the collector's thread.
#ifndef COLLECTORS_PERTASK_H
#define COLLECTORS_PERTASK_H

#include "collectors/counters/task_switch.h"
#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/ring.h"

// What is counted, the most important first: a PMU that is too small for all leaves out the last ones.
struct pertask_events {
    struct perf_event list[PERTASK_EVENTS_MAX];
    unsigned n;
};

struct pertask_cpu {
    bool online; // its group is open
    int fds[1 + PERTASK_EVENTS_MAX], n_fds;
    struct perf_ring ring;
    struct switches switches;
    struct switch_mark reading; // of the frame's end
    struct switch_mark started; // when the group was switched on
    bool starved;               // in the last frame its group never ran
    uint64_t running_ns;        // at the frame's end before
};

struct pertask_cpus {
    const struct pertask_events *events;
    unsigned n_wanted; // how many of them are asked for: less than all when they never get the PMU together
    struct switch_totals *totals;
    int n_cpus; // slots: one more than the highest possible CPU
    struct pertask_cpu *cpus;
    struct perf_cpus set;            // which of them are open; its poll_fd is readable when a ring is half full
    int missing[PERTASK_EVENTS_MAX]; // why an event cannot be had; 0: it can
    int n_starved;                   // frames in a row in which a group never ran
    uint64_t span_ns;                // of the last frame, by perf's clock
};

// 0, or the -errno of the first CPU: nothing is open then.
int pertask_cpus_open(struct pertask_cpus *cpus, const struct pertask_events *events, struct switch_totals *totals);
void pertask_cpus_close(struct pertask_cpus *cpus);
// Handles what is in the rings.
void pertask_cpus_drain(struct pertask_cpus *cpus);
// The end of a frame: reads each group, and handles the records up to there. CPUs that come and go are followed.
void pertask_cpus_cut(struct pertask_cpus *cpus);
// Switches the groups off, and on again as if they had just been opened: what passed in between is not counted.
// pertask_cpus_stop returns how often a second the CPUs have switched since the start.
double pertask_cpus_stop(struct pertask_cpus *cpus);
void pertask_cpus_start(struct pertask_cpus *cpus);
// Forces a switch on the CPUs where none has been seen since the opening, so that it is known who runs there.
void pertask_cpus_ask(struct pertask_cpus *cpus);

#endif
