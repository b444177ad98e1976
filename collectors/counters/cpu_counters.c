// The collector "cpu_counters": hardware and software performance counters of each CPU, as a table, and the ratios over
// all CPUs. Costs two reads per CPU and frame. Counters of tasks: task_counters.c.
#include "collectors/counters/cpu_counters.h"

#include <math.h>
#include <stdlib.h>

#include "model/columns.h"
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
    [CPU] = COLUMN_CPU(.help = HELP_CPU),
    [IPC] = COLUMN_IPC(.help = "Instructions per cycle, user code and kernel; far below 1: the CPU mostly waits."),
    [CYCLES_PER_S] = COLUMN_CYCLES_PER_S(.help = "CPU cycles per second, without those spent asleep."),
    [INSTRUCTIONS_PER_S] = COLUMN_INSTRUCTIONS_PER_S(.help = "Instructions retired per second."),
    [CACHE_REFERENCES_PER_S] = COLUMN_CACHE_REFERENCES_PER_S(
            .help = "Accesses to the cache that the kernel counts as last level: L3 on Intel, L2 on AMD Zen, L1 data "
                    "on most arm64 (perf: cache-references)."),
    [CACHE_MISSES_PER_S] = COLUMN_CACHE_MISSES_PER_S(.help = "Misses of that cache per second (perf: cache-misses)."),
    [CACHE_MISS_PCT] = COLUMN_CACHE_MISS_PCT(.help = "Misses of that cache, in percent of its accesses."),
    [BRANCH_MISS_PCT] = NUMBER_COLUMN("branch_miss_pct", "BRMISS%", UNIT_PCT, 7,
                                      .help = "Mispredicted branches, in percent of all branches."),
    [CONTEXT_SWITCHES_PER_S] = COLUMN_CONTEXT_SWITCHES_PER_S(.help = "Context switches on this CPU per second."),
    [MIGRATIONS_PER_S] = COLUMN_MIGRATIONS_PER_S(.help = "Tasks that migrated to this CPU, per second."),
    [PAGE_FAULTS_PER_S] = NUMBER_COLUMN("page_faults_per_s", "FAULTS/s", UNIT_PER_S, 8,
                                        .help = "Page faults on this CPU per second, minor and major."),
    [MINOR_FAULTS_PER_S] = COLUMN_MINOR_FAULTS_PER_S(.help = "Page faults without I/O, per second."),
    [MAJOR_FAULTS_PER_S] = COLUMN_MAJOR_FAULTS_PER_S(.help = "Page faults that waited for I/O, per second."),
    [COUNTED_PCT] = COLUMN_COUNTED_PCT(
            .help = "Share of the interval in which the hardware counters ran; below 100 the PMU was shared and counts "
                    "are scaled up."),
    [ACTIVE_HZ] =
        NUMBER_COLUMN("active_hz", "ACTIVE", UNIT_HZ, 7,
                      .help = "Frequency of this CPU while not asleep: aperf / mperf, or cycles / ref-cycles, "
                              "times the rate of the time stamp counter."),
    [TURBO_RATIO] = NUMBER_COLUMN("turbo_ratio", "TURBO", UNIT_RATIO, 5,
                                  .help = "Active frequency / nominal frequency (cpufreq's base_frequency, CPPC's "
                                          "nominal_freq, else the time stamp counter's); below 1: throttled."),
    [CACHE_MPKI] = NUMBER_COLUMN("cache_mpki", "MPKI", UNIT_NONE, 6, .help = "Cache misses per 1,000 instructions."),
    [BRANCH_MISSES_PER_S] = COLUMN_BRANCH_MISSES_PER_S(.help = "Mispredicted branches per second."),
    [STALLED_FRONTEND_PCT] = NUMBER_COLUMN("stalled_frontend_pct", "FESTALL%", UNIT_PCT, 8,
                                           .help = "Share of cycles in which the front end delivered no instruction "
                                                   "(stalled-cycles-frontend)."),
    [STALLED_BACKEND_PCT] = NUMBER_COLUMN("stalled_backend_pct", "BESTALL%", UNIT_PCT, 8,
                                          .help = "Share of cycles in which instructions waited for data or an "
                                                  "execution unit (stalled-cycles-backend)."),
    [RETIRING_PCT] = NUMBER_COLUMN("retiring_pct", "RETIRE%", UNIT_PCT, 7,
                                   .help = "Top-down level 1: share of pipeline slots whose work retired."),
    [BAD_SPECULATION_PCT] = NUMBER_COLUMN("bad_speculation_pct", "BADSPEC%", UNIT_PCT, 8,
                                          .help = "Top-down level 1: share of slots lost to discarded work."),
    [FRONTEND_BOUND_PCT] = NUMBER_COLUMN("frontend_bound_pct", "FE%", UNIT_PCT, 5,
                                         .help = "Top-down level 1: share of slots without an instruction."),
    [BACKEND_BOUND_PCT] = NUMBER_COLUMN("backend_bound_pct", "BE%", UNIT_PCT, 5,
                                        .help = "Top-down level 1: share of slots whose instruction waited for data or "
                                                "an execution unit."),
    [BOUND] = {.name = "bound", .title = "BOUND", .help = counter_bound_help, .type = COLUMN_TEXT, .width = 14},
};

static const struct table_def cpu_table = {
    .name = "cpu_counters",
    .help = "Performance counters of each online CPU.",
    .columns = columns,
    .n_columns = N_COLUMNS,
    .n_keys = 1,
};

static const struct series_def series[] = {
    {"ipc", "IPC", "Instructions per cycle, all CPUs.", UNIT_RATIO},
    {"cache_miss_pct", "LLC misses", "Last-level cache misses of all CPUs, in percent of the accesses.", UNIT_PCT},
    {"cache_mpki", "Cache misses", "Cache misses per 1,000 instructions, all CPUs.", UNIT_NONE},
    {"branch_miss_pct", "Branch misses", "Mispredicted branches of all CPUs, in percent of all branches.", UNIT_PCT},
};

struct state {
    struct cpu_counters counters;
    struct table_builder *rows;
    uint32_t *slots; // by CPU; valid for online CPUs
    const struct text *words[N_BOUND];
};

static int collector_open(struct collector_run *run) {
    struct state *state = xcalloc(1, sizeof *state);
    run->state = state;
    int error = cpu_counters_open(&state->counters);
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

static void collector_close(struct collector_run *run) {
    struct state *state = run->state;
    run->state = NULL;
    if (!state)
        return;
    cpu_counters_close(&state->counters);
    if (state->rows)
        table_builder_free(state->rows);
    for (unsigned i = 0; i < N_BOUND; i++)
        text_unref(state->words[i]);
    free(state->slots);
    free(state);
}

static void row_fill(struct state *state, int number) {
    const struct cpu_counters *counters = &state->counters;
    const struct counter_cpu *cpu = &counters->cpus[number];
    struct cpu_derived derived;
    cpu_counters_derive(cpu, &derived);
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
    const struct text *word = state->words[cpu_counters_bound(&derived, counters->facts.last_level)];
    table_builder_set_text(state->rows, state->slots[number], BOUND, word ? text_ref(word) : NULL);
}

static int collector_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    struct cpu_counters *counters = &state->counters;
    section_set_state(out, SECTION_OK);
    cpu_counters_read(counters);
    if (counters->set.changed) { // rows are in CPU order: rebuild all
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
    section_series(out, &series[0], cpu_counters_ratio_all(counters, INSTRUCTIONS, CYCLES));
    section_series(out, &series[1], 100 * cpu_counters_ratio_all(counters, CACHE_MISSES, CACHE_REFERENCES));
    section_series(out, &series[2], 1000 * cpu_counters_ratio_all(counters, CACHE_MISSES, INSTRUCTIONS));
    section_series(out, &series[3], 100 * cpu_counters_ratio_all(counters, BRANCH_MISSES, BRANCHES));
    cpu_counters_notes(counters, out);
    return 0;
}

static const struct table_def *const tables[] = {&cpu_table, NULL};

const struct collector collector_cpu_counters = {
    .name = "cpu_counters",
    .help = "Hardware and software counters of each CPU through perf_event_open: two reads per CPU and frame.",
    .always = true,
    .series = series,
    .n_series = sizeof series / sizeof *series,
    .tables = tables,
    .open = collector_open,
    .sample = collector_sample,
    .close = collector_close,
    .check = cpu_counters_check,
};
