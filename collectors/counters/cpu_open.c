// Opens and reads the counters of each CPU. One system call per group, CPU and tick; none between ticks.
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/counters/cpu_counters.h"
#include "model/mem.h"

#define RETRY_FIRST 300 // reads until larger groups are tried again; doubles each time
#define RETRY_MOST 9600

const struct perf_event software_events[N_SOFTWARE] = {
    [CONTEXT_SWITCHES] = {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    [MIGRATIONS] = {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    [PAGE_FAULTS] = {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    [MINOR_FAULTS] = {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    [MAJOR_FAULTS] = {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
};

static const uint8_t all_software[] = {CONTEXT_SWITCHES, MIGRATIONS, PAGE_FAULTS, MINOR_FAULTS, MAJOR_FAULTS};

// The groups of each level. The two events of a ratio stay in one group as long as possible.
struct level {
    uint8_t n;
    struct {
        uint8_t n, which[PERF_GROUP_MAX];
    } groups[N_GENERIC];
};
static const struct level levels[COUNTER_LEVELS] = {
    {1,
     {{9,
       {CYCLES, INSTRUCTIONS, CACHE_REFERENCES, CACHE_MISSES, BRANCHES, BRANCH_MISSES, REF_CYCLES, STALLED_FRONTEND,
        STALLED_BACKEND}}}},
    {2,
     {{6, {CYCLES, INSTRUCTIONS, CACHE_REFERENCES, CACHE_MISSES, BRANCHES, BRANCH_MISSES}},
      {4, {CYCLES, REF_CYCLES, STALLED_FRONTEND, STALLED_BACKEND}}}},
    {3,
     {{4, {CYCLES, INSTRUCTIONS, CACHE_REFERENCES, CACHE_MISSES}},
      {4, {CYCLES, INSTRUCTIONS, BRANCHES, BRANCH_MISSES}},
      {4, {CYCLES, REF_CYCLES, STALLED_FRONTEND, STALLED_BACKEND}}}},
    {6,
     {{2, {CYCLES, INSTRUCTIONS}},
      {3, {INSTRUCTIONS, CACHE_REFERENCES, CACHE_MISSES}},
      {2, {BRANCHES, BRANCH_MISSES}},
      {2, {CYCLES, REF_CYCLES}},
      {2, {CYCLES, STALLED_FRONTEND}},
      {2, {CYCLES, STALLED_BACKEND}}}},
    {9,
     {{1, {CYCLES}},
      {1, {INSTRUCTIONS}},
      {1, {CACHE_REFERENCES}},
      {1, {CACHE_MISSES}},
      {1, {BRANCHES}},
      {1, {BRANCH_MISSES}},
      {1, {REF_CYCLES}},
      {1, {STALLED_FRONTEND}},
      {1, {STALLED_BACKEND}}}},
};
// SLOTS must lead: the hardware reports the four top-down metrics only in its group.
static const uint8_t topdown[] = {SLOTS, TOPDOWN_RETIRING, TOPDOWN_BAD_SPECULATION, TOPDOWN_FRONTEND, TOPDOWN_BACKEND};
// Not on the core PMU: they take no counter and always run.
static const uint8_t clocks[] = {APERF, MPERF, TSC};

static void rates_clear(struct counter_cpu *cpu) {
    for (unsigned i = 0; i < N_SOFTWARE; i++)
        cpu->software_per_s[i] = NAN;
    for (unsigned i = 0; i < N_HARDWARE; i++)
        cpu->hardware_per_s[i] = NAN;
    cpu->counted_pct = NAN;
}

static void hardware_close(struct counter_cpu *cpu) {
    while (cpu->n_groups)
        perf_group_close(&cpu->groups[--cpu->n_groups]);
}

static bool has_event(const struct counter_cpu *cpu, unsigned event) {
    for (unsigned g = 0; g < cpu->n_groups; g++)
        for (unsigned i = 0; i < cpu->groups[g].n; i++)
            if (cpu->groups[g].which[i] == event)
                return true;
    return false;
}

// Opens the events that this kind of CPU has. -E2BIG: the PMU cannot count them together.
static int group_add(struct cpu_counters *counters, int number, const uint8_t *which, unsigned n) {
    struct counter_cpu *cpu = &counters->cpus[number];
    const struct counter_kind *kind = &counters->facts.kinds[cpu->kind];
    struct perf_group *group = &cpu->groups[cpu->n_groups];
    uint8_t wanted[PERF_GROUP_MAX];
    unsigned n_wanted = 0;
    for (unsigned i = 0; i < n; i++)
        if (kind->has[which[i]])
            wanted[n_wanted++] = which[i];
        else
            cpu->missing[which[i]] = -ENOENT;
    int error = perf_group_open(group, kind->events, wanted, n_wanted, number, cpu->missing);
    if (error)
        return error;
    bool any_new = false; // else the group holds only reference events of ratios whose other event is missing
    for (unsigned i = 0; i < group->n; i++)
        any_new |= !has_event(cpu, group->which[i]);
    if (any_new)
        cpu->n_groups++;
    else
        perf_group_close(group);
    return 0;
}

// -E2BIG: the groups of this level are too large.
static int hardware_open_level(struct cpu_counters *counters, int number) {
    struct counter_cpu *cpu = &counters->cpus[number];
    const struct level *level = &levels[counters->level];
    memset(cpu->missing, 0, sizeof cpu->missing);
    for (unsigned i = 0; i < level->n; i++) {
        int error = group_add(counters, number, level->groups[i].which, level->groups[i].n);
        if (error) {
            hardware_close(cpu);
            return error;
        }
    }
    if (cpu->n_groups) {
        counters->has_hardware = true;
        group_add(counters, number, topdown, sizeof topdown);
    }
    const struct counter_kind *kind = &counters->facts.kinds[cpu->kind];
    if (kind->has[APERF] || (kind->has[TSC] && has_event(cpu, REF_CYCLES)))
        group_add(counters, number, clocks, sizeof clocks);
    for (unsigned i = 0; i < N_HARDWARE; i++) // still starved until the new groups have run
        if (!has_event(cpu, i))
            cpu->state[i] = COUNTER_MISSING;
        else if (cpu->state[i] == COUNTER_MISSING)
            cpu->state[i] = COUNTER_COUNTS;
    return 0;
}

static void hardware_open_all(struct cpu_counters *counters);

// All CPUs use the same level, which keeps their values comparable. If it is too large for this CPU, all reopen.
static bool hardware_open_one(struct cpu_counters *counters, int number) {
    hardware_close(&counters->cpus[number]);
    if (hardware_open_level(counters, number) != -E2BIG || counters->level + 1 == COUNTER_LEVELS)
        return true;
    counters->level++;
    hardware_open_all(counters);
    return false;
}

static void hardware_open_all(struct cpu_counters *counters) {
    counters->starved = 0;
    counters->has_hardware = false;
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online && !hardware_open_one(counters, cpu))
            return;
}

static void cpu_close(void *context, int number) {
    struct cpu_counters *counters = context;
    struct counter_cpu *cpu = &counters->cpus[number];
    perf_group_close(&cpu->software);
    hardware_close(cpu);
    cpu->online = false;
}

static int cpu_open(void *context, int number) {
    struct cpu_counters *counters = context;
    struct counter_cpu *cpu = &counters->cpus[number];
    int missing[N_SOFTWARE] = {0};
    rates_clear(cpu);
    cpu->kind = (uint8_t)cpu_counters_kind_of(&counters->facts, number);
    cpu->base_hz = cpu_counters_base_hz(number);
    perf_group_open(&cpu->software, software_events, all_software, N_SOFTWARE, number, missing);
    if (!cpu->software.n)
        return missing[0];
    memset(cpu->state, 0, sizeof cpu->state);
    cpu->online = true;
    hardware_open_one(counters, number);
    return 0;
}

int cpu_counters_open(struct cpu_counters *counters) {
    static const struct perf_cpus_ops ops = {cpu_open, cpu_close};
    *counters = (struct cpu_counters){.retry = RETRY_FIRST};
    perf_cpus_init(&counters->set, &ops, counters);
    counters->n_cpus = counters->set.n;
    counters->cpus = xcalloc((size_t)counters->n_cpus, sizeof *counters->cpus);
    cpu_counters_facts_load(&counters->facts, counters->n_cpus);
    int error = perf_cpus_follow(&counters->set);
    if (error)
        cpu_counters_close(counters);
    return error;
}

void cpu_counters_close(struct cpu_counters *counters) {
    perf_cpus_close(&counters->set);
    free(counters->cpus);
    cpu_counters_facts_free(&counters->facts);
    *counters = (struct cpu_counters){0};
}

static bool of_pmu(unsigned event) {
    return event < APERF;
}

void cpu_counters_merge(struct counter_cpu *cpu, unsigned g) {
    const struct perf_group *group = &cpu->groups[g];
    const struct perf_rates *rates = &cpu->rates[g];
    for (unsigned i = 0; i < group->n; i++)
        if (isnan(cpu->hardware_per_s[group->which[i]]))
            cpu->hardware_per_s[group->which[i]] = rates->per_s[i];
    if (group->n && of_pmu(group->which[0]) && !isnan(rates->counted_pct) && !(rates->counted_pct >= cpu->counted_pct))
        cpu->counted_pct = rates->counted_pct;
}

bool cpu_counters_starved(const struct perf_group *group, const struct perf_rates *rates) {
    return group->n > 0 && rates->counted_pct == 0;
}

// After a CPU went offline and online between two ticks its counters no longer count: the read fails, or the enabled
// time stands still.
static void software_read(struct cpu_counters *counters, int number) {
    struct counter_cpu *cpu = &counters->cpus[number];
    struct perf_rates rates;
    bool had_before = cpu->software.has_before;
    if (perf_group_read(&cpu->software, &rates) || (had_before && isnan(rates.counted_pct))) {
        perf_cpus_reopen(&counters->set, number);
        if (cpu->online)
            perf_group_read(&cpu->software, &rates);
        return;
    }
    for (unsigned i = 0; i < cpu->software.n; i++)
        cpu->software_per_s[cpu->software.which[i]] = rates.per_s[i];
}

static bool hardware_read(struct counter_cpu *cpu) {
    bool starved = false;
    for (unsigned g = 0; g < cpu->n_groups; g++) {
        if (perf_group_read(&cpu->groups[g], &cpu->rates[g])) {
            for (unsigned i = 0; i < PERF_GROUP_MAX; i++)
                cpu->rates[g].per_s[i] = NAN;
            cpu->rates[g].counted_pct = NAN;
            continue;
        }
        cpu_counters_merge(cpu, g);
        starved |= cpu_counters_starved(&cpu->groups[g], &cpu->rates[g]);
    }
    return starved;
}

// A CPU is busy if it counts cycles; without a cycle count, if it switches tasks.
static bool works(const struct counter_cpu *cpu, double cycles) {
    return cpu->hardware_per_s[CYCLES] > 0 ? cpu->hardware_per_s[CYCLES] >= cycles
                                           : cpu->software_per_s[CONTEXT_SWITCHES] >= 10;
}

// A busy CPU counts instructions, branches, slots and reference cycles. The other events may stay at 0 on one CPU (all
// of its data may be cached), but not from the start on all CPUs of a kind.
static bool stays_zero(const struct counter_kind *kind, const struct counter_cpu *cpu, unsigned event) {
    if (event == INSTRUCTIONS || event == BRANCHES || event == REF_CYCLES || event == SLOTS)
        return works(cpu, 1e6);
    if (event == CYCLES || event >= APERF)
        return cpu->software_per_s[CONTEXT_SWITCHES] >= 10;
    return !kind->seen[event] && works(cpu, 1e7);
}

// The largest running share of the groups with the event; NAN: unknown yet.
static double ran_pct(const struct counter_cpu *cpu, unsigned event) {
    double most = NAN;
    for (unsigned g = 0; g < cpu->n_groups; g++)
        for (unsigned i = 0; i < cpu->groups[g].n; i++)
            if (cpu->groups[g].which[i] == event && (isnan(most) || cpu->rates[g].counted_pct > most))
                most = cpu->rates[g].counted_pct;
    return most;
}

void cpu_counters_judge(struct cpu_counters *counters) {
    for (int number = 0; number < counters->n_cpus; number++) {
        const struct counter_cpu *cpu = &counters->cpus[number];
        for (unsigned i = 0; cpu->online && i < N_HARDWARE; i++)
            if (cpu->hardware_per_s[i] > 0)
                counters->facts.kinds[cpu->kind].seen[i] = true;
    }
    for (int number = 0; number < counters->n_cpus; number++) {
        struct counter_cpu *cpu = &counters->cpus[number];
        const struct counter_kind *kind = &counters->facts.kinds[cpu->kind];
        for (unsigned i = N_HARDWARE; cpu->online && i-- > 0;) { // cycles last: the others depend on them
            double value = cpu->hardware_per_s[i], ran = ran_pct(cpu, i);
            if (cpu->state[i] == COUNTER_MISSING)
                continue;
            if (ran == 0)
                cpu->state[i] = COUNTER_STARVED;
            else if (value > 0 || (ran > 0 && cpu->state[i] == COUNTER_STARVED))
                cpu->state[i] = COUNTER_COUNTS;
            if (value == 0 && stays_zero(kind, cpu, i))
                cpu->state[i] = COUNTER_ZERO;
            if (cpu->state[i] != COUNTER_COUNTS)
                cpu->hardware_per_s[i] = NAN;
        }
    }
}

// A group that never gets the PMU (the NMI watchdog holds a counter) is split into smaller ones. Larger groups are
// tried again when the watchdog is off, and from time to time: another user of the PMU may have exited.
static void level_follow(struct cpu_counters *counters, bool starved) {
    counters->starved = starved ? counters->starved + 1 : 0;
    if (counters->starved >= 2) {
        counters->watchdog = cpu_counters_watchdog();
        if (counters->level + 1 == COUNTER_LEVELS)
            return;
        counters->squeezed = true;
        counters->retry_in = counters->retry;
        counters->level++;
        hardware_open_all(counters);
    } else if (counters->squeezed && !starved) {
        bool gone = counters->watchdog && !cpu_counters_watchdog();
        if (!gone && (counters->watchdog || --counters->retry_in > 0))
            return;
        counters->retry = counters->retry * 2 > RETRY_MOST ? RETRY_MOST : counters->retry * 2;
        counters->squeezed = counters->watchdog = false;
        counters->level = 0;
        hardware_open_all(counters);
    }
}

void cpu_counters_read(struct cpu_counters *counters) {
    bool starved = false;
    perf_cpus_follow(&counters->set);
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online)
            rates_clear(&counters->cpus[cpu]);
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online)
            software_read(counters, cpu);
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online)
            starved |= hardware_read(&counters->cpus[cpu]);
    cpu_counters_judge(counters);
    level_follow(counters, starved);
}
