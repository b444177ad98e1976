// Counters of perf_event_open(2): opening, groups, what a read says, and why one cannot be had. No state of its own.
#ifndef COLLECTORS_PERF_H
#define COLLECTORS_PERF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PERF_GROUP_MAX 10

struct perf_event {
    const char *name; // as perf(1) calls it
    uint32_t type;
    uint64_t config;
};

struct perf_event_attr;
// perf_event_open(2): a descriptor or -errno. Raises the soft limit of open files when it comes near. A PMU that cannot
// exclude guests is opened without that, and attr says so.
int perf_open_attr(struct perf_event_attr *attr, int pid, int cpu, int group_fd);
// On a CPU of the smaller kind: what config of a generic hardware event needs in its high half; else 0.
uint64_t perf_hybrid_type(int cpu);
// A CPU-wide counter that counts what `perf stat -a` counts, alone (group_fd -1) or in a group. A descriptor or -errno.
int perf_open(const struct perf_event *event, int cpu, int group_fd);

// One read of a group: all values are of the same moment and the same running time.
struct perf_reading {
    uint64_t enabled, running; // ns
    uint64_t values[PERF_GROUP_MAX];
};
// The bytes of a read with PERF_FORMAT_GROUP, TOTAL_TIME_ENABLED and TOTAL_TIME_RUNNING. False: not a group of n.
bool perf_decode(const void *bytes, size_t size, unsigned n, struct perf_reading *out);

struct perf_rates {
    double per_s[PERF_GROUP_MAX]; // scaled to the whole interval; NAN: not measured
    double counted_pct;           // share of the interval in which the group counted; NAN: there was no interval
};
// What happened between two reads. Never negative: a counter that went back was not measured.
void perf_rates(const struct perf_reading *before, const struct perf_reading *after, unsigned n,
                struct perf_rates *out);

// A group as it is open on one CPU. Events that the machine does not have are left out.
struct perf_group {
    int fds[PERF_GROUP_MAX];
    uint8_t which[PERF_GROUP_MAX]; // index of the event in the caller's list
    uint8_t n;
    bool has_before;
    struct perf_reading before;
};
// Opens events[which[i]] as one group. `missing[event]` gets the error of each one that cannot be had at all. 0 (also
// when none could be opened: n is 0), or -E2BIG: the PMU cannot count them together, nothing is open then.
int perf_group_open(struct perf_group *group, const struct perf_event *events, const uint8_t *which, unsigned n,
                    int cpu, int *missing);
void perf_group_close(struct perf_group *group);
// Reads it: the rates since the read before, NAN the first time. 0 or -errno (-ENODATA: its CPU is gone).
int perf_group_read(struct perf_group *group, struct perf_rates *out);

// kernel.perf_event_paranoid, or -2 when it cannot be read.
int perf_paranoid(void);
struct perf_refusal {
    int error;      // of perf_open
    bool hardware;  // it was a hardware event
    int paranoid;   // perf_paranoid()
    bool sys_admin; // capabilities
    bool perfmon;
};
// One plain sentence why, and one what to do. perf_explain asks the machine for the rest.
void perf_word(const struct perf_refusal *refusal, char *reason, size_t reason_size, char *fix, size_t fix_size);
void perf_explain(int error, bool hardware, char *reason, size_t reason_size, char *fix, size_t fix_size);

#endif
