// The machine's PMUs: kinds of CPUs, the events that only some kernels name, the base frequency. Read once when the
// collector opens, and for CPUs that come online later. Opens no counter.
#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/counters/cpu_counters.h"
#include "collectors/kernel/proc/file.h"
#include "model/mem.h"

#define DEVICES "/sys/bus/event_source/devices/"
#define TYPE_SHIFT 32 // PERF_PMU_TYPE_SHIFT, 5.13: the PMU of a generic event on a hybrid CPU

const struct perf_event hardware_events[N_HARDWARE] = {
    [CYCLES] = {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    [INSTRUCTIONS] = {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    [CACHE_REFERENCES] = {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
    [CACHE_MISSES] = {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    [BRANCHES] = {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    [BRANCH_MISSES] = {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    [REF_CYCLES] = {"ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES},
    [STALLED_FRONTEND] = {"stalled-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND},
    [STALLED_BACKEND] = {"stalled-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND},
    [SLOTS] = {.name = "slots"},
    [TOPDOWN_RETIRING] = {.name = "topdown-retiring"},
    [TOPDOWN_BAD_SPECULATION] = {.name = "topdown-bad-spec"},
    [TOPDOWN_FRONTEND] = {.name = "topdown-fe-bound"},
    [TOPDOWN_BACKEND] = {.name = "topdown-be-bound"},
    [APERF] = {.name = "aperf"},
    [MPERF] = {.name = "mperf"},
    [TSC] = {.name = "tsc"},
};

bool cpu_counters_event_parse(const char *text, uint64_t *config) {
    *config = 0;
    for (;;) {
        char *end;
        unsigned shift = 0;
        if (!strncmp(text, "event=", strlen("event=")))
            text += strlen("event=");
        else if (!strncmp(text, "umask=", strlen("umask="))) {
            text += strlen("umask=");
            shift = 8;
        } else
            return false;
        unsigned long long value = strtoull(text, &end, 0);
        if (end == text || value > 0xff)
            return false;
        *config |= (uint64_t)value << shift;
        if (*end != ',')
            return *end == '\0' || *end == '\n';
        text = end + 1;
    }
}

static bool device_number(const char *device, const char *file, uint64_t *value) {
    char path[128];
    snprintf(path, sizeof path, DEVICES "%s/%s", device, file);
    return proc_read_number(path, value);
}

// The events from..to with a name in the device's events/ folder.
static void named_events(struct counter_kind *kind, const char *device, unsigned from, unsigned to) {
    uint64_t type;
    if (!device_number(device, "type", &type))
        return;
    for (unsigned i = from; i <= to; i++) {
        char path[128], text[128];
        snprintf(path, sizeof path, DEVICES "%s/events/%s", device, hardware_events[i].name);
        kind->has[i] =
            !proc_read_line(path, text, sizeof text) && cpu_counters_event_parse(text, &kind->events[i].config);
        kind->events[i].type = (uint32_t)type;
    }
}

static void kind_load(struct counter_kind *kind, const char *device) {
    memcpy(kind->events, hardware_events, sizeof kind->events);
    for (unsigned i = 0; i < N_GENERIC; i++)
        kind->has[i] = true;
    named_events(kind, device, SLOTS, TOPDOWN_BACKEND);
    bool level1 = true;
    for (unsigned i = TOPDOWN_RETIRING; i <= TOPDOWN_BACKEND; i++)
        level1 &= kind->has[i];
    for (unsigned i = SLOTS; !level1 && i <= TOPDOWN_BACKEND; i++)
        kind->has[i] = false;
    named_events(kind, "msr", APERF, TSC);
    if (!kind->has[APERF] || !kind->has[MPERF])
        kind->has[APERF] = kind->has[MPERF] = false;
}

// A plain generic event counts on the big cores only: the upper half of config must name each kind's PMU.
static void kind_hybrid(struct counter_facts *facts, const char *device, int n_cpus) {
    char path[128], text[4096];
    uint64_t type;
    snprintf(path, sizeof path, DEVICES "%s/cpus", device);
    if (facts->n_kinds == KINDS_MAX || proc_read_line(path, text, sizeof text) || !device_number(device, "type", &type))
        return;
    struct counter_kind *kind = &facts->kinds[facts->n_kinds++];
    kind_load(kind, device);
    snprintf(kind->name, sizeof kind->name, "%s", device);
    for (unsigned i = 0; i < N_GENERIC; i++)
        kind->events[i].config |= type << TYPE_SHIFT;
    kind->cpus = xcalloc((size_t)n_cpus, sizeof *kind->cpus);
    cpu_list_parse(text, kind->cpus, n_cpus);
}

void cpu_counters_facts_load(struct counter_facts *facts, int n_cpus) {
    static const char *const hybrids[] = {"cpu_core", "cpu_atom", "cpu_lowpower"};
    *facts = (struct counter_facts){0};
    for (size_t i = 0; i < sizeof hybrids / sizeof *hybrids; i++)
        kind_hybrid(facts, hybrids[i], n_cpus);
    if (!facts->n_kinds)
        kind_load(&facts->kinds[facts->n_kinds++], "cpu");
    struct proc_file cpuinfo = PROC_FILE("/proc/cpuinfo");
    struct proc_buffer buffer = {0};
    if (!proc_file_read(&cpuinfo, &buffer))
        facts->last_level = strstr(buffer.bytes, "GenuineIntel") != NULL;
    proc_file_close(&cpuinfo);
    proc_buffer_free(&buffer);
}

void cpu_counters_facts_free(struct counter_facts *facts) {
    for (unsigned i = 0; i < facts->n_kinds; i++)
        free(facts->kinds[i].cpus);
    *facts = (struct counter_facts){0};
}

unsigned cpu_counters_kind_of(const struct counter_facts *facts, int cpu) {
    for (unsigned i = 0; i < facts->n_kinds; i++)
        if (facts->kinds[i].cpus && facts->kinds[i].cpus[cpu])
            return i;
    return 0;
}

double cpu_counters_base_hz(int cpu) {
    char path[128];
    uint64_t value;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpufreq/base_frequency", cpu);
    if (proc_read_number(path, &value) && value)
        return (double)value * 1e3;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/acpi_cppc/nominal_freq", cpu);
    return proc_read_number(path, &value) && value ? (double)value * 1e6 : NAN;
}

bool cpu_counters_watchdog(void) {
    uint64_t value;
    return proc_read_number("/proc/sys/kernel/nmi_watchdog", &value) && value;
}
