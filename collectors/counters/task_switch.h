// Turns the perf records of one CPU into counts by thread. Pure: records and readings in, sums out.
//
// Each CPU has a group of counters led by the context-switch event with a period of 1. Each switch writes a sample with
// the previous task and the group's values; the counts since the last sample belong to that task. The switch records
// (PERF_RECORD_SWITCH_CPU_WIDE) between the samples name the next task. They are also written while multiplexing keeps
// the group off the PMU and there are no samples. At a frame's end the group is read, and the running task gets its
// counts up to then.
//
// The leader's count of switches is in samples and readings. It orders a reading among the samples exactly.
//
// Attribution:
// - between two samples, or a sample and a reading, without a switch in between: to the previous or running task;
// - with unsampled switches in between (the group was off): the records give each task its time; the counts stay
//   unattributed, so these tasks' counters ran for a smaller share of their time;
// - across a gap (lost records, found by PERF_RECORD_LOST or by the leader's count): unattributed.
//
// Known error: the kernel's work for the switch after the sample is counted to the next task. In a virtual machine that
// is about 500 cycles per switch, below 0.3 % for a busy thread. It is not corrected.
#ifndef COLLECTORS_COUNTERS_TASK_SWITCH_H
#define COLLECTORS_COUNTERS_TASK_SWITCH_H

#include "collectors/counters/task_sum.h"

struct perf_event_header;

// A reading of the group, or a sample's values.
struct switch_mark {
    uint64_t enabled, running; // ns since the group was enabled, and ns on the PMU
    uint64_t switches;         // the leader's count
    uint64_t values[TASK_EVENTS_MAX];
};
// Decodes a read of the group (PERF_FORMAT_GROUP, both times) with n members besides the leader. False: malformed.
bool switch_mark_decode(const void *bytes, size_t size, unsigned n, struct switch_mark *out);

// Where the counts of all CPUs go.
struct switch_totals {
    struct task_sums *sums;
    struct task_counts idle, unattributed; // of the idle task; of unknown tasks
    uint64_t seen, lost;                   // samples handled, records lost
};

struct switches {
    struct switch_totals *totals;
    unsigned n_values;
    uint8_t which[TASK_EVENTS_MAX];  // value i of the group is counter which[i] of the sums
    const struct switch_mark *until; // stop at records later than this reading; NULL: walk all records
    // ---- private ----
    struct switch_mark mark; // counts up to this mark are attributed
    uint64_t since;          // enabled time up to which time is attributed
    uint64_t cut_at;         // enabled time of the last cut
    int64_t clock;           // the records' time minus the group's enabled time
    pid_t pid, tid;          // the current task
    bool known;              // pid and tid are valid
    bool marked, has_clock;
    bool sampled;         // a switch's sample was handled, its record is next
    bool incomplete;      // the group missed a switch since the mark
    unsigned n_unsampled; // missed switches that the leader may have counted
    bool gap;             // records were lost since the mark
};

// A perf_record_fn, context: struct switches. For events with sample_type TID, TIME and READ, sample_id_all,
// context_switch and task.
bool switches_record(void *context, const struct perf_event_header *record);
// After the walk up to `reading`: attributes the slice of the running task and sets the mark. Returns the ns since the
// previous cut (0: first cut).
uint64_t switches_cut(struct switches *switches, const struct switch_mark *reading);
// The group was disabled and is enabled again: the time and counts in between are dropped.
void switches_restart(struct switches *switches);
// The ring is corrupt: treated as if all its records were lost.
void switches_forget(struct switches *switches);

#endif
