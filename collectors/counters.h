// The counters collector's two halves: what is open on each CPU (counters_cpu.c), and the section made of it
// (counters.c).
#ifndef COLLECTORS_COUNTERS_H
#define COLLECTORS_COUNTERS_H

#include "collectors/perf.h"

enum { CYCLES, INSTRUCTIONS, CACHE_REFERENCES, CACHE_MISSES, BRANCHES, BRANCH_MISSES, N_HARDWARE };
enum { CONTEXT_SWITCHES, MIGRATIONS, PAGE_FAULTS, MINOR_FAULTS, MAJOR_FAULTS, N_SOFTWARE };
extern const struct perf_event hardware_events[N_HARDWARE], software_events[N_SOFTWARE];

// How the hardware events are grouped: all together where the PMU can, else by pairs that belong together, else alone.
#define COUNTER_LEVELS 3

struct cpu_counters {
    bool online;
    struct perf_group software, hardware[N_HARDWARE];
    // Of the last read; NAN where not measured.
    double software_per_s[N_SOFTWARE], hardware_per_s[N_HARDWARE];
    double counted_pct; // the least of the hardware groups
};

struct counters {
    int n_cpus; // slots: one more than the highest possible CPU
    struct cpu_counters *cpus;
    bool *online;
    bool changed; // which CPUs are online, since it was last looked at
    int level;    // of grouping, for all CPUs
    int starved;  // reads in a row in which a hardware group did not run at all
    bool has_hardware;
    int missing[N_HARDWARE]; // why an event cannot be had; 0: it can
    bool dead[N_HARDWARE];   // can be opened, but stays 0 while cycles pass: "opened" is not "counts"
    int software_missing[N_SOFTWARE];
};

// 0, or the -errno of the software counters, without which there is nothing.
int counters_open(struct counters *counters);
void counters_close(struct counters *counters);
// Follows CPUs that come and go, then reads all.
void counters_read(struct counters *counters);

// The pure parts, for tests.
void counters_merge(struct cpu_counters *cpu, const struct perf_group *group, const struct perf_rates *rates);
bool counters_starved(const struct perf_group *group, const struct perf_rates *rates);
double counters_sum(const struct counters *counters, unsigned event); // per second, of all CPUs; NAN: measured on none
void counters_find_dead(struct counters *counters);
double ratio_pct(double part, double whole); // NAN when it has no meaning

#endif
