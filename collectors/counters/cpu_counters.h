// The counters collector's parts: what the machine has (cpu_pmu.c), what is open on each CPU and reading it
// (cpu_open.c), what follows from the values (cpu_derive.c), what cannot be measured and why
// (cpu_notes.c), and the section made of it (counters.c). All of it runs in the collector's thread.
#ifndef COLLECTORS_COUNTERS_H
#define COLLECTORS_COUNTERS_H

#include "collectors/collector.h"
#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/perf.h"

enum {
    CYCLES,
    INSTRUCTIONS,
    CACHE_REFERENCES,
    CACHE_MISSES,
    BRANCHES,
    BRANCH_MISSES,
    REF_CYCLES, // from here on: not on every machine, and nothing is degraded without them
    STALLED_FRONTEND,
    STALLED_BACKEND,
    N_GENERIC, // from here on: named by the kernel in /sys/bus/event_source/devices
    SLOTS = N_GENERIC,
    TOPDOWN_RETIRING,
    TOPDOWN_BAD_SPECULATION,
    TOPDOWN_FRONTEND,
    TOPDOWN_BACKEND,
    APERF,
    MPERF,
    TSC,
    N_HARDWARE
};
#define N_BASIC REF_CYCLES // events that a PMU worth the name has
enum { CONTEXT_SWITCHES, MIGRATIONS, PAGE_FAULTS, MINOR_FAULTS, MAJOR_FAULTS, N_SOFTWARE };
extern const struct perf_event hardware_events[N_HARDWARE],
    software_events[N_SOFTWARE]; // type and config: generic ones

// ---- what the machine has (cpu_pmu.c) ----

// CPUs of one kind have one PMU; a hybrid CPU has several kinds. Follows the ABI document of
// /sys/bus/event_source/devices, and "perf-intel-hybrid" for PERF_PMU_TYPE_SHIFT.
struct counter_kind {
    char name[32];                        // "cpu_atom"; "": the machine has only one
    struct perf_event events[N_HARDWARE]; // with its type and configuration
    bool has[N_HARDWARE];                 // false: the kernel does not offer it, no need to try
    bool seen[N_HARDWARE];                // was ever above 0 on a CPU of the kind
    bool *cpus;                           // which CPUs are of the kind; NULL: all
};
#define KINDS_MAX 4
struct counter_facts {
    struct counter_kind kinds[KINDS_MAX];
    unsigned n_kinds;
    bool last_level; // cache-misses are those of the last level, so go to memory (Intel); else of L2 or L1
};
void counters_facts_load(struct counter_facts *facts, int n_cpus);
void counters_facts_free(struct counter_facts *facts);
unsigned counters_kind_of(const struct counter_facts *facts, int cpu);
double counters_base_hz(int cpu); // the frequency that the CPU is sold with; NAN: not known
bool counters_watchdog(void);     // the NMI watchdog is on: it keeps a hardware counter for itself
// "event=0x00,umask=0x81" as the kernel writes it: event in bits 0-7, umask in 8-15. False: something else.
bool counters_event_parse(const char *text, uint64_t *config);

// ---- what is open (cpu_open.c) ----

// How the hardware events are grouped: as many as possible together, so that ratios are exact. A PMU with fewer
// counters, or one that somebody else uses a part of, takes smaller groups.
#define COUNTER_LEVELS 5
#define COUNTER_GROUPS 12

enum counter_state {
    COUNTER_COUNTS,
    COUNTER_MISSING, // cannot be opened
    COUNTER_ZERO,    // opens, but stays at 0 while the CPU works: "opened" is not "counts"
    COUNTER_STARVED, // opens, but never runs: somebody else has the PMU
};

struct cpu_counters {
    bool online;
    uint8_t kind;
    uint8_t n_groups;
    double base_hz;
    struct perf_group software, groups[COUNTER_GROUPS];
    struct perf_rates rates[COUNTER_GROUPS]; // of the last read
    double software_per_s[N_SOFTWARE];       // of the last read; NAN where not measured
    double hardware_per_s[N_HARDWARE];       // the same, of the first group that has the event
    double counted_pct;                      // the least of the PMU's groups
    int missing[N_HARDWARE];                 // -errno: why an event cannot be had
    uint8_t state[N_HARDWARE];               // enum counter_state
};

struct counters {
    struct counter_facts facts;
    int n_cpus; // slots: one more than the highest possible CPU
    struct cpu_counters *cpus;
    struct perf_cpus set; // which of them are open
    int level;            // of grouping, for all CPUs
    int starved;          // reads in a row in which a group did not run at all
    bool squeezed;        // the groups are smaller than the PMU would take, because they starved
    bool watchdog;        // and the NMI watchdog is on
    int retry, retry_in;  // reads until larger groups are tried again
    bool has_hardware;
};

// 0, or the -errno of the software counters, without which there is nothing.
int counters_open(struct counters *counters);
void counters_close(struct counters *counters);
// Follows CPUs that come and go, then reads all.
void counters_read(struct counters *counters);

// The pure parts, for tests.
void counters_merge(struct cpu_counters *cpu, unsigned group);
bool counters_starved(const struct perf_group *group, const struct perf_rates *rates);
void counters_judge(struct counters *counters); // sets states; what does not count becomes NAN

// ---- what follows (cpu_derive.c) ----

// Of two counters of one group, so that both are of the same moments. NAN: not measured together.
double counters_ratio(const struct cpu_counters *cpu, unsigned part, unsigned whole);
double counters_ratio_all(const struct counters *counters, unsigned part, unsigned whole); // of all CPUs
double ratio_of(double part, double whole);                                                // NAN when it has no meaning

enum counter_bound {
    BOUND_UNKNOWN,
    BOUND_IDLE,
    BOUND_COMPUTE,
    BOUND_MEMORY,
    BOUND_BACKEND,
    BOUND_FRONTEND,
    BOUND_BRANCHES,
    N_BOUND
};
extern const char *const counter_bound_words[N_BOUND]; // NULL: nothing to say
extern const char counter_bound_help[];                // the rules, for the column's help

struct cpu_derived { // NAN: not measured
    double ipc, active_hz, turbo_ratio, cache_miss_ratio, cache_mpki, branch_miss_ratio;
    double stalled_frontend, stalled_backend;            // of cycles, 0 to 1
    double retiring, bad_speculation, frontend, backend; // of slots, 0 to 1
    double cache_misses_per_cycle, branch_misses_per_cycle, cycles_per_s;
};
void counters_derive(const struct cpu_counters *cpu, struct cpu_derived *out);
enum counter_bound counters_bound(const struct cpu_derived *cpu, bool last_level);

// ---- what cannot be measured (cpu_notes.c) ----

void counters_notes(const struct counters *counters, struct section *out); // notes, and the section's state
void counters_check(struct check_report *report);

#endif
