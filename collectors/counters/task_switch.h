// From the records of one CPU to counts by thread. Pure: records and readings in, sums out, for tests as for the
// kernel.
//
// A group of counters on the CPU is led by the context-switch event with a period of 1. Each switch gives a sample: the
// thread that leaves, and the group's values. What was counted since the sample before is that thread's. Between the
// samples stand the records of the switches themselves (PERF_RECORD_SWITCH_CPU_WIDE), which name the thread that comes:
// they are written also while the group is off the PMU, when other groups have their turn (multiplexing) and no samples
// come. At a frame's end the group is read; the thread that runs there gets its share up to then.
//
// Where the reading stands among the samples is known exactly: the leader counts the switches, in both.
//
// What belongs to whom:
// - between two samples, or a sample and a reading, with no switch in between: to the thread that leaves, or runs;
// - with switches in between that the group did not tell (it was off): their time is known from the records, and goes
// to
//   each; the counts are nobody's, so that these threads' counters ran for a smaller share of their time;
// - over a gap (records were lost, seen by the kernel's record or by the leader's count): to nobody.
//
// The known error: what the kernel does for the switch itself, after the sample, is counted to the thread that comes.
// In an emulated machine that is some 500 cycles a switch, below 0.3 % for a thread that is busy. Nothing is
// subtracted.
#ifndef COLLECTORS_COUNTERS_TASK_SWITCH_H
#define COLLECTORS_COUNTERS_TASK_SWITCH_H

#include "collectors/counters/task_sum.h"

struct perf_event_header;

// A reading of the group, or what a sample says.
struct switch_mark {
    uint64_t enabled, running; // ns since the group was switched on, and of it on the PMU
    uint64_t switches;         // the leader's own count
    uint64_t values[TASK_EVENTS_MAX];
};
// The bytes of a read of the group (PERF_FORMAT_GROUP, both times), with n members beside the leader. False: not that.
bool switch_mark_decode(const void *bytes, size_t size, unsigned n, struct switch_mark *out);

// Where the counts of all CPUs go.
struct switch_totals {
    struct task_sums *sums;
    struct task_counts idle, nobody; // the idle task; what is of nobody known
    uint64_t seen, lost;             // samples handled, records lost
};

struct switches {
    struct switch_totals *totals;
    unsigned n_values;
    uint8_t which[TASK_EVENTS_MAX];  // value i of the group is the counter which[i] of the sums
    const struct switch_mark *until; // walk no further than this reading; NULL: as far as there are records
    // ---- its own ----
    struct switch_mark mark; // up to here everything is handed out
    uint64_t since;          // enabled time from which on the one that runs now has not been given its time
    uint64_t cut_at;         // enabled time of the last cut
    int64_t clock;           // of the records, less the group's enabled time
    pid_t pid, tid;          // who runs now
    bool known;              // that is so
    bool marked, has_clock;
    bool sampled;         // the sample of a switch came, its record is next
    bool blurred;         // a switch since the mark that the group did not see
    unsigned n_unsampled; // of those, the ones that it may have counted without telling
    bool gap;             // records were lost since the mark
};

// A perf_record_fn, context: struct switches. Of events with sample_type TID, TIME and READ, sample_id_all,
// context_switch and task.
bool switches_record(void *context, const struct perf_event_header *record);
// After the walk up to `reading`: gives the one that runs its share, and begins anew. Returns the time since the cut
// before, ns (0: the first).
uint64_t switches_cut(struct switches *switches, const struct switch_mark *reading);
// The group was off and is on again: nothing is known of what passed, nor is it anybody's.
void switches_restart(struct switches *switches);
// The ring turned out to be no ring: as if all had been lost.
void switches_forget(struct switches *switches);

#endif
