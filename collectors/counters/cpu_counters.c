// The collector "counters": hardware and software performance counters of each CPU, as a table and the ratios of all.
// Costs two reads per CPU and tick. Counts whole CPUs: tasks are another collector's.
#include "collectors/counters/cpu_counters.h"

#include <math.h>
#include <stdlib.h>

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
    ACTIVE_HZ,
    TURBO_RATIO,
    CACHE_MPKI,
    BRANCH_MISSES_PER_S,
    STALLED_FRONTEND_PCT,
    STALLED_BACKEND_PCT,
    RETIRING_PCT,
    BAD_SPECULATION_PCT,
    FRONTEND_BOUND_PCT,
    BACKEND_BOUND_PCT,
    BOUND,
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
             .help = "Instructions per cycle of this CPU, in user code and kernel; far below 1 it mostly waits",
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
    [CACHE_REFERENCES_PER_S] =
        {.name = "cache_references_per_s",
         .title = "LLCREF/s",
         .help =
             "Accesses to the cache that the kernel takes for the last level: it is that on Intel, L2 on AMD Zen, L1 "
             "data on most arm64 (perf: cache-references)",
         .unit = UNIT_PER_S,
         .width = 8},
    [CACHE_MISSES_PER_S] = {.name = "cache_misses_per_s",
                            .title = "LLCMISS/s",
                            .help = "Accesses that missed that cache, per second (perf: cache-misses)",
                            .unit = UNIT_PER_S,
                            .width = 9},
    [CACHE_MISS_PCT] = {.name = "cache_miss_pct",
                        .title = "LLCMISS%",
                        .help = "Cache misses in percent of the accesses to that cache",
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
    [ACTIVE_HZ] = {.name = "active_hz",
                   .title = "ACTIVE",
                   .help = "Frequency at which this CPU ran while it did not sleep: aperf against mperf, or cycles "
                           "against ref-cycles, times the rate of the time stamp counter",
                   .unit = UNIT_HZ,
                   .width = 7},
    [TURBO_RATIO] = {.name = "turbo_ratio",
                     .title = "TURBO",
                     .help = "That frequency against the one that the CPU is sold with (base_frequency of cpufreq, "
                             "nominal_freq of CPPC, else the time stamp counter): below 1 it is held back",
                     .unit = UNIT_RATIO,
                     .width = 5},
    [CACHE_MPKI] = {.name = "cache_mpki",
                    .title = "MPKI",
                    .help = "Cache misses per 1,000 instructions",
                    .unit = UNIT_NONE,
                    .width = 6},
    [BRANCH_MISSES_PER_S] = {.name = "branch_misses_per_s",
                             .title = "BRMISS/s",
                             .help = "Mispredicted branches per second",
                             .unit = UNIT_PER_S,
                             .width = 8},
    [STALLED_FRONTEND_PCT] = {.name = "stalled_frontend_pct",
                              .title = "FESTALL%",
                              .help = "Cycles in percent in which no instruction came to be executed "
                                      "(stalled-cycles-frontend)",
                              .unit = UNIT_PCT,
                              .width = 8},
    [STALLED_BACKEND_PCT] = {.name = "stalled_backend_pct",
                             .title = "BESTALL%",
                             .help = "Cycles in percent in which instructions waited for data or for a unit of the CPU "
                                     "(stalled-cycles-backend)",
                             .unit = UNIT_PCT,
                             .width = 8},
    [RETIRING_PCT] = {.name = "retiring_pct",
                      .title = "RETIRE%",
                      .help = "Top-down level 1: pipeline slots in percent that did work which counted",
                      .unit = UNIT_PCT,
                      .width = 7},
    [BAD_SPECULATION_PCT] = {.name = "bad_speculation_pct",
                             .title = "BADSPEC%",
                             .help = "Top-down level 1: slots in percent lost to work that was thrown away",
                             .unit = UNIT_PCT,
                             .width = 8},
    [FRONTEND_BOUND_PCT] = {.name = "frontend_bound_pct",
                            .title = "FE%",
                            .help = "Top-down level 1: slots in percent that got no instruction",
                            .unit = UNIT_PCT,
                            .width = 5},
    [BACKEND_BOUND_PCT] = {.name = "backend_bound_pct",
                           .title = "BE%",
                           .help = "Top-down level 1: slots in percent whose instruction waited for data or a unit",
                           .unit = UNIT_PCT,
                           .width = 5},
    [BOUND] = {.name = "bound", .title = "BOUND", .help = counter_bound_help, .type = COLUMN_TEXT, .width = 14},
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
    {"cache_mpki", "Cache misses", "Cache misses of all CPUs per 1,000 instructions", UNIT_NONE},
    {"branch_miss_pct", "Branch misses", "Mispredicted branches of all CPUs in percent of the branches", UNIT_PCT},
};

struct state {
    struct counters counters;
    struct table_builder *rows;
    uint32_t *slots; // by CPU; valid for the ones online
    const struct text *words[N_BOUND];
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
    for (unsigned i = 0; i < N_BOUND; i++)
        state->words[i] = counter_bound_words[i] ? text_from(counter_bound_words[i]) : NULL;
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
    for (unsigned i = 0; i < N_BOUND; i++)
        text_unref(state->words[i]);
    free(state->slots);
    free(state);
}

static void row_fill(struct state *state, int number) {
    const struct counters *counters = &state->counters;
    const struct cpu_counters *cpu = &counters->cpus[number];
    struct cpu_derived derived;
    counters_derive(cpu, &derived);
    const double values[N_COLUMNS] = {
        [CPU] = number,
        [IPC] = derived.ipc,
        [CYCLES_PER_S] = cpu->hardware_per_s[CYCLES],
        [INSTRUCTIONS_PER_S] = cpu->hardware_per_s[INSTRUCTIONS],
        [CACHE_REFERENCES_PER_S] = cpu->hardware_per_s[CACHE_REFERENCES],
        [CACHE_MISSES_PER_S] = cpu->hardware_per_s[CACHE_MISSES],
        [CACHE_MISS_PCT] = 100 * derived.cache_miss_ratio,
        [BRANCH_MISS_PCT] = 100 * derived.branch_miss_ratio,
        [CONTEXT_SWITCHES_PER_S] = cpu->software_per_s[CONTEXT_SWITCHES],
        [MIGRATIONS_PER_S] = cpu->software_per_s[MIGRATIONS],
        [PAGE_FAULTS_PER_S] = cpu->software_per_s[PAGE_FAULTS],
        [MINOR_FAULTS_PER_S] = cpu->software_per_s[MINOR_FAULTS],
        [MAJOR_FAULTS_PER_S] = cpu->software_per_s[MAJOR_FAULTS],
        [COUNTED_PCT] = cpu->counted_pct,
        [ACTIVE_HZ] = derived.active_hz,
        [TURBO_RATIO] = derived.turbo_ratio,
        [CACHE_MPKI] = derived.cache_mpki,
        [BRANCH_MISSES_PER_S] = cpu->hardware_per_s[BRANCH_MISSES],
        [STALLED_FRONTEND_PCT] = 100 * derived.stalled_frontend,
        [STALLED_BACKEND_PCT] = 100 * derived.stalled_backend,
        [RETIRING_PCT] = 100 * derived.retiring,
        [BAD_SPECULATION_PCT] = 100 * derived.bad_speculation,
        [FRONTEND_BOUND_PCT] = 100 * derived.frontend,
        [BACKEND_BOUND_PCT] = 100 * derived.backend,
    };
    for (uint16_t i = 0; i < N_COLUMNS; i++)
        if (columns[i].type == COLUMN_NUMBER)
            table_builder_set_num(state->rows, state->slots[number], i, values[i]);
    const struct text *word = state->words[counters_bound(&derived, counters->facts.last_level)];
    table_builder_set_text(state->rows, state->slots[number], BOUND, word ? text_ref(word) : NULL);
}

static int counters_collector_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    struct counters *counters = &state->counters;
    section_set_state(out, SECTION_OK);
    counters_read(counters);
    if (counters->set.changed) { // in the order of CPUs, so from the start
        counters->set.changed = false;
        table_builder_clear(state->rows);
        for (int cpu = 0; cpu < counters->n_cpus; cpu++)
            if (counters->cpus[cpu].online)
                state->slots[cpu] = table_builder_add(state->rows);
    }
    for (int cpu = 0; cpu < counters->n_cpus; cpu++)
        if (counters->cpus[cpu].online)
            row_fill(state, cpu);
    section_table(out, table_builder_seal(state->rows));
    section_series(out, &series[0], counters_ratio_all(counters, INSTRUCTIONS, CYCLES));
    section_series(out, &series[1], 100 * counters_ratio_all(counters, CACHE_MISSES, CACHE_REFERENCES));
    section_series(out, &series[2], 1000 * counters_ratio_all(counters, CACHE_MISSES, INSTRUCTIONS));
    section_series(out, &series[3], 100 * counters_ratio_all(counters, BRANCH_MISSES, BRANCHES));
    counters_notes(counters, out);
    return 0;
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
