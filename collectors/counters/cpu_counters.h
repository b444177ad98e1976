// The parts of the collector cpu_counters: the machine's PMUs (cpu_pmu.c), opening and reading the counters of each CPU
// (cpu_open.c), derived values (cpu_derive.c), notes on missing counters (cpu_notes.c), and the section
// (cpu_counters.c). All of it runs in the collector's thread.
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
    REF_CYCLES, // from here on: optional; the section is not degraded without them
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
#define N_BASIC REF_CYCLES // events expected of every PMU
enum { CONTEXT_SWITCHES, MIGRATIONS, PAGE_FAULTS, MINOR_FAULTS, MAJOR_FAULTS, N_SOFTWARE };
extern const struct perf_event hardware_events[N_HARDWARE],
    software_events[N_SOFTWARE]; // type and config: generic ones

// ---- PMUs (cpu_pmu.c) ----

// CPUs of one kind have one PMU; a hybrid machine has several kinds. Follows the ABI document of
// /sys/bus/event_source/devices, and "perf-intel-hybrid" for PERF_PMU_TYPE_SHIFT.
struct counter_kind {
    char name[32];                        // "cpu_atom"; "": the machine has only one
    struct perf_event events[N_HARDWARE]; // with its type and configuration
    bool has[N_HARDWARE];                 // false: the kernel does not offer it
    bool seen[N_HARDWARE];                // was above 0 on a CPU of the kind
    bool *cpus;                           // CPUs of the kind; NULL: all
};
#define KINDS_MAX 4
struct counter_facts {
    struct counter_kind kinds[KINDS_MAX];
    unsigned n_kinds;
    bool last_level; // cache-misses counts LLC misses, which go to memory (Intel); else misses of L2 or L1
};
void cpu_counters_facts_load(struct counter_facts *facts, int n_cpus);
void cpu_counters_facts_free(struct counter_facts *facts);
unsigned cpu_counters_kind_of(const struct counter_facts *facts, int cpu);
double cpu_counters_base_hz(int cpu); // base frequency; NAN: unknown
bool cpu_counters_watchdog(void);     // the NMI watchdog is on: it holds a hardware counter
// Parses the kernel's "event=0x00,umask=0x81": event in bits 0-7, umask in 8-15. False: another format.
bool cpu_counters_event_parse(const char *text, uint64_t *config);

// ---- open counters (cpu_open.c) ----

// Grouping of the hardware events: the largest groups that work, because a ratio is exact only within one group. A PMU
// with fewer counters, or with counters held by another process, needs smaller groups.
#define COUNTER_LEVELS 5
#define COUNTER_GROUPS 12

enum counter_state {
    COUNTER_COUNTS,
    COUNTER_MISSING, // cannot be opened
    COUNTER_ZERO,    // opens, but stays at 0 while the CPU is busy: the PMU does not implement it
    COUNTER_STARVED, // opens, but never runs: another process holds the counters
};

struct counter_cpu {
    bool online;
    uint8_t kind;
    uint8_t n_groups;
    double base_hz;
    struct perf_group software, groups[COUNTER_GROUPS];
    struct perf_rates rates[COUNTER_GROUPS]; // of the last read
    double software_per_s[N_SOFTWARE];       // of the last read; NAN where not measured
    double hardware_per_s[N_HARDWARE];       // the same, of the first group that has the event
    double counted_pct;                      // the lowest of the PMU's groups
    int missing[N_HARDWARE];                 // -errno of an event that cannot be opened
    uint8_t state[N_HARDWARE];               // enum counter_state
};

struct cpu_counters {
    struct counter_facts facts;
    int n_cpus; // slots: the highest possible CPU + 1
    struct counter_cpu *cpus;
    struct perf_cpus set; // the open ones
    int level;            // of grouping, for all CPUs
    int starved;          // consecutive reads in which a group never ran
    bool squeezed;        // smaller groups than the PMU supports, because larger ones never ran
    bool watchdog;        // and the NMI watchdog is on
    int retry, retry_in;  // reads until larger groups are tried again
    bool has_hardware;
};

// 0, or the -errno of the software counters, which are required.
int cpu_counters_open(struct cpu_counters *counters);
void cpu_counters_close(struct cpu_counters *counters);
// Follows CPU hotplug, then reads all.
void cpu_counters_read(struct cpu_counters *counters);

// The pure parts, for tests.
void cpu_counters_merge(struct counter_cpu *cpu, unsigned group);
bool cpu_counters_starved(const struct perf_group *group, const struct perf_rates *rates);
void cpu_counters_judge(struct cpu_counters *counters); // sets states; counters that do not count become NAN

// ---- derived values (cpu_derive.c) ----

// The ratio of two counters of one group, which cover the same time. NAN: no group measured both.
double cpu_counters_ratio(const struct counter_cpu *cpu, unsigned part, unsigned whole);
double cpu_counters_ratio_all(const struct cpu_counters *counters, unsigned part, unsigned whole); // of all CPUs
double ratio_of(double part, double whole);                                                        // NAN if undefined

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
extern const char *const counter_bound_words[N_BOUND]; // NULL: no bottleneck shown
extern const char counter_bound_help[];                // the rules, for the column's help

struct cpu_derived { // NAN: not measured
    double ipc, active_hz, turbo_ratio, cache_miss_ratio, cache_mpki, branch_miss_ratio;
    double stalled_frontend, stalled_backend;            // of cycles, 0 to 1
    double retiring, bad_speculation, frontend, backend; // of slots, 0 to 1
    double cache_misses_per_cycle, branch_misses_per_cycle, cycles_per_s;
};
void cpu_counters_derive(const struct counter_cpu *cpu, struct cpu_derived *out);
enum counter_bound cpu_counters_bound(const struct cpu_derived *cpu, bool last_level);

// ---- missing counters (cpu_notes.c) ----

void cpu_counters_notes(const struct cpu_counters *counters, struct section *out); // notes, and the section's state
void cpu_counters_check(struct check_report *report);

#endif
