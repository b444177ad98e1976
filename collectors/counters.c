// The collector "counters": hardware and software performance counters of each CPU, as a table and the ratios of all.
// Costs two reads per CPU and tick. Counts whole CPUs: tasks are another collector's.
#include "collectors/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "model/mem.h"

enum {
    CPU,
    IPC,
    CYCLES_PER_S,
    INSTRUCTIONS_PER_S,
    CACHE_REFERENCES_PER_S,
    CACHE_MISSES_PER_S,
    CACHE_MISS_PCT,
    BRANCH_MISS_PCT,
    CONTEXT_SWITCHES_PER_S,
    MIGRATIONS_PER_S,
    PAGE_FAULTS_PER_S,
    MINOR_FAULTS_PER_S,
    MAJOR_FAULTS_PER_S,
    COUNTED_PCT,
    N_COLUMNS
};

static const struct column columns[N_COLUMNS] = {
    [CPU] = {.name = "cpu",
             .title = "CPU",
             .help = "Number of the CPU, as the kernel counts them",
             .unit = UNIT_ID,
             .width = 4,
             .ascending = true},
    [IPC] = {.name = "ipc",
             .title = "IPC",
             .help = "Instructions per cycle of this CPU, in user code and kernel; below 1 it mostly waits for memory",
             .unit = UNIT_RATIO,
             .width = 5},
    [CYCLES_PER_S] = {.name = "cycles_per_s",
                      .title = "CYCLES/s",
                      .help = "CPU cycles per second in which the CPU did not sleep",
                      .unit = UNIT_PER_S,
                      .width = 8},
    [INSTRUCTIONS_PER_S] = {.name = "instructions_per_s",
                            .title = "INSTR/s",
                            .help = "Instructions completed per second",
                            .unit = UNIT_PER_S,
                            .width = 8},
    [CACHE_REFERENCES_PER_S] = {.name = "cache_references_per_s",
                                .title = "LLCREF/s",
                                .help = "Accesses to the last-level cache per second",
                                .unit = UNIT_PER_S,
                                .width = 8},
    [CACHE_MISSES_PER_S] = {.name = "cache_misses_per_s",
                            .title = "LLCMISS/s",
                            .help = "Accesses that missed the last-level cache, and went to memory, per second",
                            .unit = UNIT_PER_S,
                            .width = 9},
    [CACHE_MISS_PCT] = {.name = "cache_miss_pct",
                        .title = "LLCMISS%",
                        .help = "Cache misses in percent of the last-level cache's accesses",
                        .unit = UNIT_PCT,
                        .width = 8},
    [BRANCH_MISS_PCT] = {.name = "branch_miss_pct",
                         .title = "BRMISS%",
                         .help = "Mispredicted branches in percent of all branches",
                         .unit = UNIT_PCT,
                         .width = 7},
    [CONTEXT_SWITCHES_PER_S] = {.name = "context_switches_per_s",
                                .title = "CSW/s",
                                .help = "Context switches on this CPU per second (perf: context-switches)",
                                .unit = UNIT_PER_S,
                                .width = 7},
    [MIGRATIONS_PER_S] = {.name = "migrations_per_s",
                          .title = "MIGR/s",
                          .help = "Tasks that came to this CPU from another one, per second (perf: cpu-migrations)",
                          .unit = UNIT_PER_S,
                          .width = 7},
    [PAGE_FAULTS_PER_S] = {.name = "page_faults_per_s",
                           .title = "FAULTS/s",
                           .help = "Page faults on this CPU per second, minor and major (perf: page-faults)",
                           .unit = UNIT_PER_S,
                           .width = 8},
    [MINOR_FAULTS_PER_S] = {.name = "minor_faults_per_s",
                            .title = "MINFLT/s",
                            .help = "Page faults that needed no I/O, per second (perf: minor-faults)",
                            .unit = UNIT_PER_S,
                            .width = 8},
    [MAJOR_FAULTS_PER_S] = {.name = "major_faults_per_s",
                            .title = "MAJFLT/s",
                            .help = "Page faults that waited for I/O, per second (perf: major-faults)",
                            .unit = UNIT_PER_S,
                            .width = 8},
    [COUNTED_PCT] = {.name = "counted_pct",
                     .title = "COUNTED%",
                     .help = "Share of the interval in which the hardware counters ran; below 100 the PMU was shared "
                             "and the numbers are scaled up",
                     .unit = UNIT_PCT,
                     .width = 8},
};

static const struct table_def cpu_table = {
    .name = "cpu_counters",
    .help = "Performance counters of each CPU that is online",
    .columns = columns,
    .n_columns = N_COLUMNS,
    .n_keys = 1,
};

static const struct series_def series[] = {
    {"ipc", "IPC", "Instructions per cycle of all CPUs together", UNIT_RATIO},
    {"cache_miss_pct", "LLC misses", "Last-level cache misses of all CPUs in percent of the accesses", UNIT_PCT},
};

struct state {
    struct counters counters;
    struct table_builder *rows;
    uint32_t *slots; // by CPU; valid for the ones online
};

static int counters_collector_open(struct collector_run *run) {
    struct state *state = xcalloc(1, sizeof *state);
    run->state = state;
    int error = counters_open(&state->counters);
    if (error) {
        perf_explain(error, false, run->reason, sizeof run->reason, run->fix, sizeof run->fix);
        return error;
    }
    state->rows = table_builder_new(&cpu_table);
    state->slots = xcalloc((size_t)state->counters.n_cpus, sizeof *state->slots);
    return 0;
}

static void counters_collector_close(struct collector_run *run) {
    struct state *state = run->state;
    run->state = NULL;
    if (!state)
        return;
    counters_close(&state->counters);
    if (state->rows)
        table_builder_free(state->rows);
    free(state->slots);
    free(state);
}

static double alive(const struct counters *counters, unsigned event, double value) {
    return counters->dead[event] ? NAN : value;
}

static void row_fill(struct state *state, int number) {
    const struct counters *counters = &state->counters;
    const struct cpu_counters *cpu = &counters->cpus[number];
    struct table_builder *rows = state->rows;
    uint32_t slot = state->slots[number];
    double instructions = alive(counters, INSTRUCTIONS, cpu->hardware_per_s[INSTRUCTIONS]);
    double references = alive(counters, CACHE_REFERENCES, cpu->hardware_per_s[CACHE_REFERENCES]);
    double branches = alive(counters, BRANCHES, cpu->hardware_per_s[BRANCHES]);
    double cycles = cpu->hardware_per_s[CYCLES];
    table_builder_set_num(rows, slot, CPU, number);
    table_builder_set_num(rows, slot, IPC, ratio_pct(instructions, cycles) / 100);
    table_builder_set_num(rows, slot, CYCLES_PER_S, cycles);
    table_builder_set_num(rows, slot, INSTRUCTIONS_PER_S, instructions);
    table_builder_set_num(rows, slot, CACHE_REFERENCES_PER_S, references);
    table_builder_set_num(rows, slot, CACHE_MISSES_PER_S, cpu->hardware_per_s[CACHE_MISSES]);
    table_builder_set_num(rows, slot, CACHE_MISS_PCT, ratio_pct(cpu->hardware_per_s[CACHE_MISSES], references));
    table_builder_set_num(rows, slot, BRANCH_MISS_PCT, ratio_pct(cpu->hardware_per_s[BRANCH_MISSES], branches));
    table_builder_set_num(rows, slot, CONTEXT_SWITCHES_PER_S, cpu->software_per_s[CONTEXT_SWITCHES]);
    table_builder_set_num(rows, slot, MIGRATIONS_PER_S, cpu->software_per_s[MIGRATIONS]);
    table_builder_set_num(rows, slot, PAGE_FAULTS_PER_S, cpu->software_per_s[PAGE_FAULTS]);
    table_builder_set_num(rows, slot, MINOR_FAULTS_PER_S, cpu->software_per_s[MINOR_FAULTS]);
    table_builder_set_num(rows, slot, MAJOR_FAULTS_PER_S, cpu->software_per_s[MAJOR_FAULTS]);
    table_builder_set_num(rows, slot, COUNTED_PCT, cpu->counted_pct);
}

// What cannot be counted: one note, whatever the number of columns.
static void notes_add(const struct counters *counters, struct section *out) {
    char reason[256], fix[256], names[160] = "";
    if (!counters->has_hardware) {
        perf_explain(counters->missing[CYCLES], true, reason, sizeof reason, fix, sizeof fix);
        section_note(out, SEVERITY_WARNING, "ipc", reason, fix);
        section_set_state(out, SECTION_DEGRADED);
        return;
    }
    for (unsigned i = 0; i < N_HARDWARE; i++)
        if (counters->missing[i] || counters->dead[i])
            snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", names[0] ? ", " : "",
                     hardware_events[i].name);
    if (names[0]) {
        snprintf(reason, sizeof reason, "this PMU does not count %s", names);
        section_note(out, SEVERITY_INFO, NULL, reason, "nothing to do: the machine does not have it");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (counters->starved) {
        section_note(out, SEVERITY_WARNING, "counted_pct",
                     "some hardware counters did not run at all: somebody else holds the PMU",
                     "stop the other profiler, or: sysctl kernel.nmi_watchdog=0");
        section_set_state(out, SECTION_DEGRADED);
    }
}

static int counters_collector_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    struct counters *counters = &state->counters;
    section_set_state(out, SECTION_OK);
    counters_read(counters);
    if (counters->changed) { // in the order of CPUs, so from the start
        counters->changed = false;
        table_builder_clear(state->rows);
        for (int cpu = 0; cpu < counters->n_cpus; cpu++)
            if (counters->cpus[cpu].online)
                state->slots[cpu] = table_builder_add(state->rows);
    }
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online)
            row_fill(state, cpu);
    section_table(out, table_builder_seal(state->rows));
    double instructions = alive(counters, INSTRUCTIONS, counters_sum(counters, INSTRUCTIONS));
    double references = alive(counters, CACHE_REFERENCES, counters_sum(counters, CACHE_REFERENCES));
    section_series(out, &series[0], ratio_pct(instructions, counters_sum(counters, CYCLES)) / 100);
    section_series(out, &series[1], ratio_pct(counters_sum(counters, CACHE_MISSES), references));
    notes_add(counters, out);
    return 0;
}

// ---- --doctor ----

// Opens it CPU-wide on the CPU at hand and looks whether it moves while there is work. 0, or -errno; *moved.
static int event_try(const struct perf_event *event, bool *moved) {
    int cpu = sched_getcpu();
    struct perf_reading before, after;
    uint64_t words[4];
    int fd = perf_open(event, cpu < 0 ? 0 : cpu, -1);
    if (fd < 0)
        return fd;
    ssize_t n = read(fd, words, sizeof words);
    bool ok = n > 0 && perf_decode(words, (size_t)n, 1, &before);
    const struct timespec pause = {.tv_nsec = 1000 * 1000};
    for (int i = 0; i < 5; i++) { // a sleep is a context switch; the loop is cycles and instructions
        nanosleep(&pause, NULL);
        for (int spin = 0; spin < 20000; spin++)
            __asm__("" ::: "memory"); // so that the compiler leaves it
    }
    n = read(fd, words, sizeof words);
    ok = ok && n > 0 && perf_decode(words, (size_t)n, 1, &after);
    close(fd);
    *moved = ok && after.values[0] > before.values[0];
    return 0;
}

static void check_hardware(struct check_report *report) {
    struct check check = {.capability = "hardware counters"};
    size_t at = 0;
    int error = 0, works = 0;
    for (unsigned i = 0; i < N_HARDWARE; i++) {
        bool moved = false;
        int failed = event_try(&hardware_events[i], &moved);
        error = error ? error : failed;
        works += !failed && moved;
        at += (size_t)snprintf(check.detail + at, sizeof check.detail - at, "%s%s%s", at ? ", " : "",
                               hardware_events[i].name,
                               failed   ? " (missing)"
                               : !moved ? " (opens, but stays 0)"
                                        : "");
    }
    check.works = works > 0;
    if (!works && error)
        perf_explain(error, true, check.detail, sizeof check.detail, check.fix, sizeof check.fix);
    else if (!works)
        snprintf(check.fix, sizeof check.fix,
                 "somebody else may hold the PMU: stop the other profiler, or: sysctl kernel.nmi_watchdog=0");
    report->add(report, &check);
}

static void counters_check(struct check_report *report) {
    check_hardware(report);
    struct check check = {.capability = "software counters of whole CPUs"};
    bool moved = false;
    int error = event_try(&software_events[CONTEXT_SWITCHES], &moved);
    check.works = !error;
    if (error)
        perf_explain(error, false, check.detail, sizeof check.detail, check.fix, sizeof check.fix);
    else
        snprintf(check.detail, sizeof check.detail, "context switches, migrations, page faults");
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&cpu_table, NULL};

const struct collector collector_counters = {
    .name = "counters",
    .help = "Performance counters of each CPU through perf_event_open, hardware and software: two reads per CPU and "
            "frame.",
    .always = true,
    .series = series,
    .n_series = sizeof series / sizeof *series,
    .tables = tables,
    .open = counters_collector_open,
    .sample = counters_collector_sample,
    .close = counters_collector_close,
    .check = counters_check,
};
