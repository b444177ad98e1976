// The counters of each CPU: what is open, and reading it. One system call per group and CPU and tick; nothing between
// ticks.
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "collectors/counters.h"
#include "model/mem.h"

#define CPUS_MAX 8192 // NR_CPUS of the largest configuration
#define SPARE_FILES 256

const struct perf_event hardware_events[N_HARDWARE] = {
    [CYCLES] = {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [INSTRUCTIONS] = {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [CACHE_REFERENCES] = {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    [CACHE_MISSES] = {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [BRANCHES] = {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [BRANCH_MISSES] = {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};

const struct perf_event software_events[N_SOFTWARE] = {
    [CONTEXT_SWITCHES] = {"context-switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
    [MIGRATIONS] = {"cpu-migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS},
    [PAGE_FAULTS] = {"page-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    [MINOR_FAULTS] = {"minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN},
    [MAJOR_FAULTS] = {"major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ},
};

static const uint8_t all_software[] = {CONTEXT_SWITCHES, MIGRATIONS, PAGE_FAULTS, MINOR_FAULTS, MAJOR_FAULTS};
static const uint8_t all_hardware[] = {CYCLES, INSTRUCTIONS, CACHE_REFERENCES, CACHE_MISSES, BRANCHES, BRANCH_MISSES};
// Events of one group: 6, 2 or 1. What a ratio is made of stays together as long as possible.
static const unsigned group_size[COUNTER_LEVELS] = {6, 2, 1};

static void online_read(struct counters *counters) {
    char text[4096];
    memset(counters->online, 0, (size_t)counters->n_cpus);
    int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    if (cpu_list_parse(text, counters->online, counters->n_cpus) == 0) // no sysfs: then as the library counts them
        for (int cpu = 0; cpu < counters->n_cpus && cpu < (int)sysconf(_SC_NPROCESSORS_ONLN); cpu++)
            counters->online[cpu] = true;
}

// The limit that a login has is often 1,024; a large machine needs eleven descriptors for each CPU.
static void files_allow(int n_cpus) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)n_cpus * (N_HARDWARE + N_SOFTWARE) + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit); // what is still too few shows when a counter cannot be opened
}

static void rates_clear(struct cpu_counters *cpu) {
    for (unsigned i = 0; i < N_SOFTWARE; i++)
        cpu->software_per_s[i] = NAN;
    for (unsigned i = 0; i < N_HARDWARE; i++)
        cpu->hardware_per_s[i] = NAN;
    cpu->counted_pct = NAN;
}

static void hardware_close(struct cpu_counters *cpu) {
    for (unsigned i = 0; i < N_HARDWARE; i++)
        perf_group_close(&cpu->hardware[i]);
}

// -E2BIG: not at this level.
static int hardware_open_level(struct counters *counters, int number) {
    struct cpu_counters *cpu = &counters->cpus[number];
    unsigned size = group_size[counters->level];
    for (unsigned i = 0; i < N_HARDWARE / size; i++) {
        int error = perf_group_open(&cpu->hardware[i], hardware_events, all_hardware + i * size, size, number,
                                    counters->missing);
        if (error) {
            hardware_close(cpu);
            return error;
        }
        counters->has_hardware |= cpu->hardware[i].n > 0;
    }
    return 0;
}

static void hardware_open_all(struct counters *counters) {
    memset(counters->missing, 0, sizeof counters->missing);
    counters->starved = 0;
    counters->has_hardware = false;
    for (int cpu = 0; cpu < counters->n_cpus; cpu++) {
        if (!counters->cpus[cpu].online)
            continue;
        hardware_close(&counters->cpus[cpu]);
        if (hardware_open_level(counters, cpu) == -E2BIG && counters->level + 1 < COUNTER_LEVELS) {
            counters->level++; // the same on all CPUs, so that their numbers compare: begin again
            hardware_open_all(counters);
            return;
        }
    }
}

static void cpu_close(struct cpu_counters *cpu) {
    perf_group_close(&cpu->software);
    hardware_close(cpu);
    cpu->online = false;
}

static int cpu_open(struct counters *counters, int number) {
    struct cpu_counters *cpu = &counters->cpus[number];
    int missing[N_SOFTWARE] = {0};
    rates_clear(cpu);
    perf_group_open(&cpu->software, software_events, all_software, N_SOFTWARE, number, missing);
    if (!cpu->software.n)
        return missing[0];
    memcpy(counters->software_missing, missing, sizeof missing);
    cpu->online = true;
    counters->changed = true;
    return 0;
}

int counters_open(struct counters *counters) {
    *counters = (struct counters){0};
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    counters->n_cpus = configured < 1 ? 1 : configured > CPUS_MAX ? CPUS_MAX : (int)configured;
    bool possible[CPUS_MAX] = {false};
    char text[4096] = "";
    int fd = open("/sys/devices/system/cpu/possible", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) { // numbers may have gaps
        ssize_t n = read(fd, text, sizeof text - 1);
        text[n > 0 ? n : 0] = '\0';
        close(fd);
        int top = cpu_list_parse(text, possible, CPUS_MAX);
        counters->n_cpus = top > counters->n_cpus ? top : counters->n_cpus;
    }
    counters->cpus = xcalloc((size_t)counters->n_cpus, sizeof *counters->cpus);
    counters->online = xcalloc((size_t)counters->n_cpus, sizeof *counters->online);
    online_read(counters);
    int n_online = 0, opened = 0, error = -ENODEV;
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        n_online += counters->online[cpu];
    files_allow(n_online);
    for (int cpu = 0; cpu < counters->n_cpus; cpu++) {
        if (!counters->online[cpu])
            continue;
        int failed = cpu_open(counters, cpu);
        opened += !failed;
        error = failed ? failed : error;
    }
    if (!opened) {
        counters_close(counters);
        return error;
    }
    hardware_open_all(counters);
    return 0;
}

void counters_close(struct counters *counters) {
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        cpu_close(&counters->cpus[cpu]);
    free(counters->cpus);
    free(counters->online);
    *counters = (struct counters){0};
}

static void hotplug_follow(struct counters *counters) {
    online_read(counters);
    for (int cpu = 0; cpu < counters->n_cpus; cpu++) {
        if (counters->cpus[cpu].online && !counters->online[cpu]) {
            cpu_close(&counters->cpus[cpu]);
            counters->changed = true;
        } else if (!counters->cpus[cpu].online && counters->online[cpu] && !cpu_open(counters, cpu)) {
            hardware_open_level(counters, cpu);
        }
    }
}

void counters_merge(struct cpu_counters *cpu, const struct perf_group *group, const struct perf_rates *rates) {
    for (unsigned i = 0; i < group->n; i++)
        cpu->hardware_per_s[group->which[i]] = rates->per_s[i];
    if (!isnan(rates->counted_pct) && !(rates->counted_pct >= cpu->counted_pct))
        cpu->counted_pct = rates->counted_pct;
}

bool counters_starved(const struct perf_group *group, const struct perf_rates *rates) {
    return group->n > 0 && rates->counted_pct == 0;
}

// A CPU that went away and came back between two ticks has counters that count no more: a read that says so, or time
// that stands still.
static void software_read(struct counters *counters, int number) {
    struct cpu_counters *cpu = &counters->cpus[number];
    struct perf_rates rates;
    bool had_before = cpu->software.has_before;
    if (perf_group_read(&cpu->software, &rates) || (had_before && isnan(rates.counted_pct))) {
        cpu_close(cpu);
        if (!cpu_open(counters, number)) {
            hardware_open_level(counters, number);
            perf_group_read(&cpu->software, &rates);
        }
        return;
    }
    for (unsigned i = 0; i < cpu->software.n; i++)
        cpu->software_per_s[cpu->software.which[i]] = rates.per_s[i];
}

static bool hardware_read(struct cpu_counters *cpu) {
    bool starved = false;
    for (unsigned i = 0; i < N_HARDWARE; i++) {
        struct perf_rates rates;
        if (!cpu->hardware[i].n || perf_group_read(&cpu->hardware[i], &rates))
            continue;
        counters_merge(cpu, &cpu->hardware[i], &rates);
        starved |= counters_starved(&cpu->hardware[i], &rates);
    }
    return starved;
}

double counters_sum(const struct counters *counters, unsigned event) {
    double total = NAN;
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online && !isnan(counters->cpus[cpu].hardware_per_s[event]))
            total = (isnan(total) ? 0 : total) + counters->cpus[cpu].hardware_per_s[event];
    return total;
}

// Of all CPUs, a million cycles without one instruction, cache reference or branch do not happen.
void counters_find_dead(struct counters *counters) {
    static const uint8_t basic[] = {INSTRUCTIONS, CACHE_REFERENCES, BRANCHES};
    bool busy = counters_sum(counters, CYCLES) > 1e6;
    for (unsigned i = 0; i < sizeof basic; i++)
        if (busy)
            counters->dead[basic[i]] = counters_sum(counters, basic[i]) == 0;
}

void counters_read(struct counters *counters) {
    bool starved = false;
    hotplug_follow(counters);
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online)
            rates_clear(&counters->cpus[cpu]);
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online)
            software_read(counters, cpu);
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online)
            starved |= hardware_read(&counters->cpus[cpu]);
    counters_find_dead(counters);
    // A group that never gets the PMU (the NMI watchdog holds a counter of it) may get it in smaller pieces.
    counters->starved = starved ? counters->starved + 1 : 0;
    if (counters->starved >= 2 && counters->level + 1 < COUNTER_LEVELS) {
        counters->level++;
        hardware_open_all(counters);
    }
}

double ratio_pct(double part, double whole) {
    return whole > 0 && part >= 0 ? 100 * part / whole : NAN;
}
