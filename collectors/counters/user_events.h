// The events of -e: what is open on each CPU and what it counted (user_open.c), and the section made of it (extra.c).
#ifndef COLLECTORS_EXTRA_H
#define COLLECTORS_EXTRA_H

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/event/parse.h"

// One event on one CPU.
struct extra_counter {
    size_t event;                     // in the spec
    int fd;                           // -1: not open
    int error;                        // -errno of why not
    bool led;                         // refused only as a member of its group
    uint32_t slot;                    // the caller's: its row
    uint64_t before, total;           // raw: of the last read; since it was opened
    double value, per_s, counted_pct; // of the last interval, scaled; NAN: not measured
};

// Counters that were opened as one group, and are read in one call: of the same moment, over the same time.
struct extra_set {
    size_t first, n; // in the CPU's counters; the first open one leads
    bool has_before;
    uint64_t enabled, running;         // ns, of the last read
    uint64_t all_enabled, all_running; // since opened
};

struct extra_cpu {
    bool online;
    struct extra_counter *counters;
    size_t n_counters;
    struct extra_set *sets;
    size_t n_sets;
    double busy_user_s, busy_system_s; // since opened; kept only while some hardware event stands at 0
    double user_s, system_s;           // of the last look, NAN: none yet
};

struct extra {
    const struct perf_spec *spec;
    int n_cpus; // slots
    struct extra_cpu *cpus;
    struct perf_cpus set; // which of them are open
    uint64_t *words;      // of a read
};

enum extra_state {
    EXTRA_WAITS,   // no interval yet
    EXTRA_COUNTS,  // all of the time
    EXTRA_SHARED,  // part of the time: scaled
    EXTRA_NO_TURN, // never: the hardware was always somebody else's
    EXTRA_STAYS_0, // opens, but has stayed at 0 while its CPU was busy: "opened" is not "counts"
    EXTRA_REFUSED, // the kernel does not open it
};
const char *extra_state_name(enum extra_state state);

void extra_open(struct extra *extra, const struct perf_spec *spec);
void extra_close(struct extra *extra);
// Follows CPUs that come and go, then reads all. Rates are over the time that the kernel had the counters enabled.
void extra_read(struct extra *extra);
enum extra_state extra_counter_state(const struct extra *extra, const struct extra_cpu *cpu,
                                     const struct extra_set *set, const struct extra_counter *counter);

// The pure part, for tests: the words of one read (count, enabled, running, values) put on the counters of a set that
// are open. False: they are not of this set.
bool extra_set_read(struct extra_cpu *cpu, struct extra_set *set, const uint64_t *words, size_t n_words,
                    const struct perf_spec *spec);

#endif
