// The events of -e: what is open on each CPU and what it counted (user_open.c), and the section made of it
// (user_events.c).
#ifndef COLLECTORS_COUNTERS_USER_EVENTS_H
#define COLLECTORS_COUNTERS_USER_EVENTS_H

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/event/parse.h"

// One event on one CPU.
struct user_counter {
    size_t event;                     // in the spec
    int fd;                           // -1: not open
    int error;                        // -errno of why not
    bool led;                         // refused only as a member of its group
    uint32_t slot;                    // the caller's: its row
    uint64_t before, total;           // raw: of the last read; since it was opened
    double value, per_s, counted_pct; // of the last interval, scaled; NAN: not measured
};

// Counters that were opened as one group, and are read in one call: of the same moment, over the same time.
struct user_set {
    size_t first, n; // in the CPU's counters; the first open one leads
    bool has_before;
    uint64_t enabled, running;         // ns, of the last read
    uint64_t all_enabled, all_running; // since opened
};

struct user_cpu {
    bool online;
    struct user_counter *counters;
    size_t n_counters;
    struct user_set *sets;
    size_t n_sets;
    double busy_user_s, busy_system_s; // since opened; kept only while some hardware event stands at 0
    double user_s, system_s;           // of the last look, NAN: none yet
};

struct user_events {
    const struct perf_event_list *spec;
    int n_cpus; // slots
    struct user_cpu *cpus;
    struct perf_cpus set; // which of them are open
    uint64_t *words;      // of a read
};

enum user_state {
    USER_WAITS,   // no interval yet
    USER_COUNTS,  // all of the time
    USER_SHARED,  // part of the time: scaled
    USER_NO_TURN, // never: the hardware was always somebody else's
    USER_STAYS_0, // opens, but has stayed at 0 while its CPU was busy: "opened" is not "counts"
    USER_REFUSED, // the kernel does not open it
};
const char *user_state_name(enum user_state state);

void user_events_open(struct user_events *events, const struct perf_event_list *spec);
void user_events_close(struct user_events *events);
// Follows CPUs that come and go, then reads all. Rates are over the time that the kernel had the counters enabled.
void user_events_read(struct user_events *events);
enum user_state user_counter_state(const struct user_events *events, const struct user_cpu *cpu,
                                   const struct user_set *set, const struct user_counter *counter);

// The pure part, for tests: the words of one read (count, enabled, running, values) put on the counters of a set that
// are open. False: they are not of this set.
bool user_set_read(struct user_cpu *cpu, struct user_set *set, const uint64_t *words, size_t n_words,
                   const struct perf_event_list *spec);

#endif
