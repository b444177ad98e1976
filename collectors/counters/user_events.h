// The events of -e: opening and reading them on each CPU (user_open.c), and the section (user_events.c).
#ifndef COLLECTORS_COUNTERS_USER_EVENTS_H
#define COLLECTORS_COUNTERS_USER_EVENTS_H

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/event/parse.h"

// One event on one CPU.
struct user_counter {
    size_t event;                     // in the spec
    int fd;                           // -1: not open
    int error;                        // -errno of the open
    bool led;                         // refused only as a group member
    uint32_t slot;                    // its row, used by the caller
    uint64_t before, total;           // raw: at the last read; since it was opened
    double value, per_s, counted_pct; // of the last interval, scaled; NAN: not measured
};

// Counters opened as one group and read in one call: the same instant, the same enabled and running time.
struct user_set {
    size_t first, n; // in the CPU's counters; the first open one is the leader
    bool has_before;
    uint64_t enabled, running;         // ns, at the last read
    uint64_t all_enabled, all_running; // ns since opened
};

struct user_cpu {
    bool online;
    struct user_counter *counters;
    size_t n_counters;
    struct user_set *sets;
    size_t n_sets;
    double busy_user_s, busy_system_s; // since opened; updated only while a hardware event is at 0
    double user_s, system_s;           // at the last read of /proc/stat; NAN: none yet
};

struct user_events {
    const struct perf_event_list *spec;
    int n_cpus; // slots
    struct user_cpu *cpus;
    struct perf_cpus set; // the open ones
    uint64_t *words;      // read buffer
};

enum user_state {
    USER_WAITS,   // no interval yet
    USER_COUNTS,  // counts all the time
    USER_SHARED,  // counts part of the time: scaled
    USER_NO_TURN, // never ran: other events held the hardware counters
    USER_STAYS_0, // opens, but stays at 0 while its CPU is busy: the PMU does not implement it
    USER_REFUSED, // the kernel refuses to open it
};
const char *user_state_name(enum user_state state);

void user_events_open(struct user_events *events, const struct perf_event_list *spec);
void user_events_close(struct user_events *events);
// Follows CPU hotplug, then reads all. Rates are over the enabled time.
void user_events_read(struct user_events *events);
enum user_state user_counter_state(const struct user_events *events, const struct user_cpu *cpu,
                                   const struct user_set *set, const struct user_counter *counter);

// The pure part, for tests: stores the words of one read (count, enabled, running, values) in the open counters of a
// group. False: the words do not fit the group.
bool user_set_read(struct user_cpu *cpu, struct user_set *set, const uint64_t *words, size_t n_words,
                   const struct perf_event_list *spec);

#endif
