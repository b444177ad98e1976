// The collector "pertask": hardware counters of each thread, or process, without a descriptor for each: groups on every
// CPU that say at each switch what was counted (task_switch.h has the rules, and the known error). A row for each
// one that ran in the interval; the table extends the one of the tasks by pid and tid.
//
// It costs those who switch: three records each time. So it runs only while a pane shows its columns. Where ktop's own
// part of that would be more than BOUND_PCT of a CPU, only the busiest threads are counted, by descriptors of their own
// (task_busy.h); who they are, and whether it has become calm again, is seen in a short look at the switches in each
// frame.
#include "collectors/counters/task_counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/collector.h"
#include "collectors/counters/task_busy.h"
#include "model/live.h"
#include "model/mem.h"

#define DRAIN_MS 250 // at least so often; a ring that is half full is drained at once
#define FIRST_DRAIN_MS 20
#define RETRY_NS (10 * 1000000000ull)
#define BOUND_PCT 1.0        // of a CPU, for ktop's own thread
#define BOUND_FRAMES 2       // above it, until the busiest only
#define CALM_SHARE 0.5       // of the bound, below which all are counted again
#define CALM_FRAMES 5        // when so many frames in a row were below
#define LOOK_MS 20           // of each frame at the switches, while only the busiest are counted
#define DEAD_NS 100000000ull // of CPU time without a single count: that counter does not count

enum {
    PID,
    TID,
    IPC,
    CYCLES_PER_S,
    INSTRUCTIONS_PER_S,
    CACHE_REFERENCES_PER_S,
    CACHE_MISSES_PER_S,
    CACHE_MISS_PCT,
    BRANCH_MISSES_PER_S,
    COUNTED_PCT,
    N_COLUMNS
};

static const struct column columns[N_COLUMNS] = {
    [PID] = {.name = "pid", .title = "PID", .help = "process ID", .unit = UNIT_ID, .width = 7, .ascending = true},
    [TID] = {.name = "tid",
             .title = "TID",
             .help = "thread ID; the PID in a row that stands for a whole process",
             .unit = UNIT_ID,
             .width = 7,
             .ascending = true},
    [IPC] = {.name = "ipc",
             .title = "IPC",
             .help = "instructions per cycle, in user code and kernel; not measured for one that did not run",
             .unit = UNIT_RATIO,
             .width = 5},
    [CYCLES_PER_S] = {.name = "cycles_per_s", .title = "CYC/s", .help = "CPU cycles", .unit = UNIT_PER_S, .width = 6},
    [INSTRUCTIONS_PER_S] = {.name = "instructions_per_s",
                            .title = "INS/s",
                            .help = "instructions retired",
                            .unit = UNIT_PER_S,
                            .width = 6},
    [CACHE_REFERENCES_PER_S] = {.name = "cache_references_per_s",
                                .title = "REF/s",
                                .help = "references to the last-level cache",
                                .unit = UNIT_PER_S,
                                .width = 6},
    [CACHE_MISSES_PER_S] = {.name = "cache_misses_per_s",
                            .title = "MISS/s",
                            .help = "misses of the last-level cache",
                            .unit = UNIT_PER_S,
                            .width = 6},
    [CACHE_MISS_PCT] = {.name = "cache_miss_pct",
                        .title = "MISS%",
                        .help = "share of the references to the last-level cache that missed",
                        .unit = UNIT_PCT,
                        .width = 5},
    [BRANCH_MISSES_PER_S] = {.name = "branch_misses_per_s",
                             .title = "BRM/s",
                             .help = "mispredicted branches",
                             .unit = UNIT_PER_S,
                             .width = 6},
    [COUNTED_PCT] = {.name = "counted_pct",
                     .title = "CNT%",
                     .help = "share of its CPU time in which its counters ran; below 100 the numbers are scaled up",
                     .unit = UNIT_PCT,
                     .width = 5},
};

static const struct table_def counters_table = {
    .name = "task_counters",
    .help = "Hardware counters of each process (or thread) that ran in this interval.",
    .columns = columns,
    .n_columns = N_COLUMNS,
    .n_keys = 2,
};

enum { UNATTRIBUTED_PCT, N_SERIES };

static const struct series_def series[N_SERIES] = {
    [UNATTRIBUTED_PCT] = {"unattributed_pct", "unattributed",
                          "Share of the CPU time whose counts belong to no task known, since records were lost",
                          UNIT_PCT},
};

// What is counted, and where it is shown.
static const struct pertask_events hardware = {
    .list = {{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
             {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
             {"cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES},
             {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
             {"branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES}},
    .n = 5,
};
static const struct {
    const char *event;
    uint16_t column;
} rates[] = {
    {"cycles", CYCLES_PER_S},
    {"instructions", INSTRUCTIONS_PER_S},
    {"cache-references", CACHE_REFERENCES_PER_S},
    {"cache-misses", CACHE_MISSES_PER_S},
    {"branch-misses", BRANCH_MISSES_PER_S},
};
static const struct {
    const char *part, *whole;
    double scale;
    uint16_t column;
} ratios[] = {
    {"instructions", "cycles", 1, IPC},
    {"cache-misses", "cache-references", 100, CACHE_MISS_PCT},
};
#define N_RATES (sizeof(rates) / sizeof(*rates))
#define N_RATIOS (sizeof(ratios) / sizeof(*ratios))

struct state {
    struct pertask_events events;
    int rate_event[N_RATES];                         // index of the event; -1: not counted
    int ratio_part[N_RATIOS], ratio_whole[N_RATIOS]; // the same
    struct pertask_cpus cpus;
    struct switch_totals totals;
    struct task_sums *processes; // of the frame, folded
    struct task_sums *counted;   // sparse: by thread
    struct table_builder *rows;
    bool threads;      // rows are threads
    int error;         // why nothing is open; 0: it is
    uint64_t tried_ns; // when it was tried last
    bool dead[PERTASK_EVENTS_MAX];
    // ---- what it costs ----
    double bound;         // share of a CPU
    uint64_t cpu_ns;      // of this thread, at the last frame
    double ns_per_switch; // measured
    bool sparse;          // only the busiest threads
    bool looking;         // sparse: the groups are on for a moment
    unsigned n_over, n_calm;
    double switches_per_s; // at the last look
    double dear_share;     // of a CPU, that was too much
    struct busy busy;
    char test_names[PERTASK_EVENTS_MAX][24];
};

static int event_find(const struct pertask_events *events, const char *name) {
    for (unsigned i = 0; i < events->n; i++)
        if (!strcmp(events->list[i].name, name))
            return (int)i;
    return -1;
}

// For tests on machines without a PMU: "cycles=TYPE:CONFIG,...", other events under the names of these.
static void test_events(struct state *state, const char *text) {
    struct pertask_events *events = &state->events;
    int used;
    for (events->n = 0; events->n < PERTASK_EVENTS_MAX; events->n++, text += used + (text[used] == ',')) {
        struct perf_event *event = &events->list[events->n];
        char *name = state->test_names[events->n];
        unsigned type;
        unsigned long config;
        if (sscanf(text, "%23[a-z-]=%u:%lu%n", name, &type, &config, &used) != 3)
            return;
        *event = (struct perf_event){name, type, config};
    }
}

static void columns_resolve(struct state *state) {
    for (size_t i = 0; i < N_RATES; i++)
        state->rate_event[i] = event_find(&state->events, rates[i].event);
    for (size_t i = 0; i < N_RATIOS; i++) {
        state->ratio_part[i] = event_find(&state->events, ratios[i].part);
        state->ratio_whole[i] = event_find(&state->events, ratios[i].whole);
    }
}

static void try_open(struct collector_run *run) {
    struct state *state = run->state;
    state->error = pertask_cpus_open(&state->cpus, &state->events, &state->totals);
    state->tried_ns = run->end_ns;
    run->poll_fd = state->cpus.set.poll_fd;
    run->drain_ms = state->error ? 0 : FIRST_DRAIN_MS;
}

static int pertask_open(struct collector_run *run) {
    struct state *state = xcalloc(1, sizeof(*state));
    const struct test_options *test = &run->options->test;
    run->state = state;
    state->events = hardware;
    state->threads = run->options->threads;
    if (test->task_events)
        test_events(state, test->task_events);
    state->bound = (test->task_bound_pct > 0 ? test->task_bound_pct : BOUND_PCT) / 100;
    columns_resolve(state);
    busy_init(&state->busy, &state->events);
    state->totals.sums = task_sums_new();
    state->processes = task_sums_new();
    state->counted = task_sums_new();
    state->rows = table_builder_new(&counters_table);
    try_open(run); // without counters there is a note, and nothing more to do
    return 0;
}

static void pertask_close(struct collector_run *run) {
    struct state *state = run->state;
    run->state = NULL;
    if (!state)
        return;
    busy_close(&state->busy);
    if (!state->error)
        pertask_cpus_close(&state->cpus);
    task_sums_free(state->totals.sums);
    task_sums_free(state->processes);
    task_sums_free(state->counted);
    table_builder_free(state->rows);
    free(state);
}

static void pertask_drain(struct collector_run *run) {
    struct state *state = run->state;
    if (state->error)
        return;
    if (state->looking) { // a ring is half full, or the time is over
        state->switches_per_s = pertask_cpus_stop(&state->cpus);
        state->looking = false;
        run->drain_ms = 0;
    }
    if (state->sparse)
        return;
    if (run->drain_ms == FIRST_DRAIN_MS)
        pertask_cpus_ask(&state->cpus);
    run->drain_ms = DRAIN_MS;
    pertask_cpus_drain(&state->cpus);
}

// ---- the frame ----

static bool is_missing(const struct state *state, int event) {
    return event < 0 || state->cpus.missing[event] || state->dead[event] || (unsigned)event >= state->cpus.n_wanted;
}

static void row_add(struct state *state, pid_t pid, pid_t tid, const struct task_counts *counts, double seconds) {
    struct table_builder *rows = state->rows;
    double time = (double)counts->time_ns, running = (double)counts->running_ns;
    uint32_t slot = table_builder_add(rows);
    table_builder_set_num(rows, slot, PID, pid);
    table_builder_set_num(rows, slot, TID, tid);
    if (time > 0)
        table_builder_set_num(rows, slot, COUNTED_PCT, running < time ? 100 * running / time : 100);
    if (running <= 0 || seconds <= 0)
        return;
    for (size_t i = 0; i < N_RATES; i++)
        if (!is_missing(state, state->rate_event[i]))
            table_builder_set_num(rows, slot, rates[i].column,
                                  (double)counts->values[state->rate_event[i]] * (time / running) / seconds);
    for (size_t i = 0; i < N_RATIOS; i++) {
        if (is_missing(state, state->ratio_part[i]) || is_missing(state, state->ratio_whole[i]))
            continue;
        double whole = (double)counts->values[state->ratio_whole[i]];
        if (whole > 0)
            table_builder_set_num(rows, slot, ratios[i].column,
                                  ratios[i].scale * (double)counts->values[state->ratio_part[i]] / whole);
    }
}

// One that opens but stays 0 while tasks run counts nothing: "opened" is not "counts". Misses may be none.
static void dead_find(struct state *state, const struct task_counts *all) {
    static const char *const basic[] = {"cycles", "instructions", "cache-references"};
    for (size_t i = 0; i < sizeof(basic) / sizeof(*basic); i++) {
        int event = event_find(&state->events, basic[i]);
        if (event >= 0 && (all->values[event] || all->running_ns > DEAD_NS))
            state->dead[event] = !all->values[event];
    }
}

// A number that had two owners in the interval: neither is given what both did.
static bool is_mixed(struct state *state, const struct task_sum *sum) {
    const struct task_sum *main_thread = task_sums_find(state->totals.sums, sum->pid);
    return task_sum_mixed(sum) || (main_thread && task_sum_mixed(main_thread));
}

static void rows_fill(struct state *state, struct task_sums *sums, double seconds) {
    table_builder_clear(state->rows);
    for (size_t i = 0; i < task_sums_count(sums); i++) {
        const struct task_sum *sum = task_sums_at(sums, i);
        row_add(state, sum->pid, sum->tid, &sum->counts, seconds);
    }
}

static struct task_counts rows_make(struct state *state, bool threads, double seconds) {
    struct task_sums *sums = state->totals.sums;
    struct task_counts all = {0};
    task_sums_clear(state->processes);
    task_sums_reserve(state->processes, task_sums_count(sums));
    for (size_t i = 0; i < task_sums_count(sums); i++) {
        struct task_sum *sum = task_sums_at(sums, i);
        if (sum->first_ns == UINT64_MAX) // made, but did not run yet
            continue;
        if (is_mixed(state, sum))
            task_counts_add(&state->totals.nobody, &sum->counts);
        else
            task_counts_add(&task_sums_get(state->processes, sum->pid, threads ? sum->tid : sum->pid)->counts,
                            &sum->counts);
    }
    for (size_t i = 0; i < task_sums_count(state->processes); i++)
        task_counts_add(&all, &task_sums_at(state->processes, i)->counts);
    dead_find(state, &all);
    rows_fill(state, state->processes, seconds);
    return all;
}

// What cannot be counted: one note, whatever the number of columns.
static void notes_add(struct state *state, struct section *out, double unattributed) {
    char text[320], fix[256], names[160] = "";
    if (state->sparse) {
        snprintf(text, sizeof(text),
                 "only the %u busiest threads are counted: to be told of every context switch cost ktop %.1f %% of a "
                 "CPU (now %.0f switches a second)",
                 state->busy.n, 100 * state->dear_share, state->switches_per_s);
        section_note(out, SEVERITY_WARNING, "ipc", text, "nothing to do: all are counted again when it is calmer");
        section_set_state(out, SECTION_DEGRADED);
    }
    for (unsigned i = 0; i < state->events.n; i++)
        if (is_missing(state, (int)i))
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", names[0] ? ", " : "",
                     state->events.list[i].name);
    if (names[0]) {
        snprintf(text, sizeof(text), "this PMU does not count %s for each task", names);
        section_note(out, SEVERITY_INFO, "ipc", text,
                     "nothing to do, unless another profiler or the NMI watchdog "
                     "(sysctl kernel.nmi_watchdog=0) holds counters");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (state->cpus.n_starved) {
        section_note(out, SEVERITY_WARNING, "counted_pct",
                     "the counters of the tasks did not run at all: somebody else holds the PMU",
                     "stop the other profiler, or: sysctl kernel.nmi_watchdog=0");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (!state->sparse && state->totals.lost && unattributed > 0) {
        snprintf(text, sizeof(text),
                 "%llu records of switches were lost: the counters of %.1f %% of the CPU time belong to no task known",
                 (unsigned long long)state->totals.lost, unattributed);
        snprintf(fix, sizeof(fix), "a machine that is less busy, or a shorter delay (d)");
        section_note(out, SEVERITY_WARNING, "ipc", text, fix);
    }
}

static void sample_closed(struct state *state, struct section *out) {
    char reason[256], fix[256];
    perf_explain(state->error, true, reason, sizeof(reason), fix, sizeof(fix));
    // A machine without counters has none: to know, not to mend in an incident.
    bool without = state->error == -ENOENT || state->error == -ENODEV || state->error == -EOPNOTSUPP;
    section_note(out, without ? SEVERITY_INFO : SEVERITY_WARNING, "ipc", reason, fix);
    section_set_state(out, SECTION_UNAVAILABLE);
}

static void totals_clear(struct state *state) {
    task_sums_clear(state->totals.sums);
    state->totals = (struct switch_totals){.sums = state->totals.sums};
}

// ---- what it costs ----

static void look_begin(struct state *state, struct collector_run *run) {
    pertask_cpus_start(&state->cpus);
    state->looking = true;
    run->drain_ms = LOOK_MS;
}

// After a frame with all threads: whether that was too dear.
static void cost_judge(struct state *state, struct collector_run *run) {
    uint64_t now = thread_cpu_ns(), used = now - state->cpu_ns;
    bool known = state->cpu_ns && run->end_ns > run->begin_ns;
    state->cpu_ns = now;
    if (!known)
        return;
    double share = (double)used / (double)(run->end_ns - run->begin_ns);
    if (state->totals.seen)
        state->ns_per_switch = (double)used / (double)state->totals.seen;
    state->n_over = share > state->bound ? state->n_over + 1 : 0;
    if (state->n_over < BOUND_FRAMES)
        return;
    state->sparse = true;
    state->dear_share = share;
    state->n_over = state->n_calm = 0;
    state->switches_per_s = (double)state->totals.seen * 1e9 / (double)(run->end_ns - run->begin_ns);
    pertask_cpus_stop(&state->cpus);
    busy_choose(&state->busy, state->totals.sums);
}

// ---- the section ----

static void section_finish(struct state *state, struct section *out, const struct task_counts *all) {
    double nobody = (double)state->totals.nobody.time_ns, time = nobody + (double)all->time_ns;
    double unattributed = time > 0 && !state->sparse ? 100 * nobody / time : NAN;
    section_table(out, table_builder_seal(state->rows));
    section_series(out, &series[UNATTRIBUTED_PCT], unattributed);
    section_events(out, state->totals.seen, state->sparse ? 0 : state->totals.lost); // a short look may lose some
    notes_add(state, out, unattributed);
}

// The ones that are counted already compete with what the look has seen: one that runs without a switch is not in it.
static void candidates_add(struct state *state, double seconds) {
    task_sums_reserve(state->totals.sums, task_sums_count(state->counted));
    for (size_t i = 0; i < task_sums_count(state->counted); i++) {
        const struct task_sum *counted = task_sums_at(state->counted, i);
        struct task_sum *sum = task_sums_get(state->totals.sums, counted->pid, counted->tid);
        uint64_t share = (uint64_t)((double)counted->counts.time_ns * (LOOK_MS / 1e3) / seconds);
        if (share > sum->counts.time_ns)
            sum->counts.time_ns = share;
    }
}

// A frame with the busiest only, and who they are in the next one. What a process' other threads counted is taken to be
// like what these did: counted_pct says how much was counted.
static void sparse_sample(struct state *state, struct collector_run *run, bool threads, struct section *out) {
    double seconds = (double)(run->end_ns - run->begin_ns) / 1e9;
    struct task_counts none = {0};
    if (state->looking)
        state->switches_per_s = pertask_cpus_stop(&state->cpus);
    state->looking = false;
    task_sums_clear(state->counted);
    task_sums_clear(state->processes);
    busy_read(&state->busy, state->counted);
    task_sums_reserve(state->processes, task_sums_count(state->counted));
    for (size_t i = 0; i < task_sums_count(state->counted); i++) {
        const struct task_sum *sum = task_sums_at(state->counted, i);
        task_counts_add(&task_sums_get(state->processes, sum->pid, threads ? sum->tid : sum->pid)->counts,
                        &sum->counts);
    }
    for (size_t i = 0; !threads && i < task_sums_count(state->processes); i++) {
        struct task_sum *sum = task_sums_at(state->processes, i);
        uint64_t whole = busy_process_ns(&state->busy, sum->pid);
        if (whole > sum->counts.time_ns)
            sum->counts.time_ns = whole;
    }
    rows_fill(state, state->processes, seconds);
    section_finish(state, out, &none);
    candidates_add(state, seconds);
    busy_choose(&state->busy, state->totals.sums);
    totals_clear(state);
    bool calm = state->switches_per_s * state->ns_per_switch / 1e9 < state->bound * CALM_SHARE;
    state->n_calm = calm ? state->n_calm + 1 : 0;
    if (state->n_calm < CALM_FRAMES) {
        look_begin(state, run);
        return;
    }
    busy_close(&state->busy);
    pertask_cpus_start(&state->cpus);
    state->sparse = false;
    state->cpu_ns = 0;
    run->drain_ms = DRAIN_MS;
}

static int pertask_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    struct state *state = run->state;
    (void)answer; // the rows that show it are those of the tasks
    state->threads = request->on;
    return 0;
}

static int pertask_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    // What the machine does not have it will not have later; a limit or a right may change.
    if (state->error && state->error != -ENOENT && run->end_ns > state->tried_ns + RETRY_NS)
        try_open(run);
    if (state->error) {
        sample_closed(state, out);
        return 0;
    }
    section_set_state(out, SECTION_OK);
    if (state->sparse) {
        sparse_sample(state, run, state->threads, out);
        return 0;
    }
    pertask_cpus_cut(&state->cpus);
    if (!run->first) { // else the first interval begins now, not when the first group was opened
        struct task_counts all = rows_make(state, state->threads, (double)state->cpus.span_ns / 1e9);
        section_finish(state, out, &all);
        cost_judge(state, run);
    }
    totals_clear(state);
    if (state->sparse)
        look_begin(state, run);
    return 0;
}

// ---- --doctor ----

static void pertask_check(struct check_report *report) {
    struct check check = {.capability = "hardware counters of each task"};
    struct switch_totals totals = {.sums = task_sums_new()};
    struct pertask_cpus cpus;
    int error = pertask_cpus_open(&cpus, &hardware, &totals);
    check.works = !error;
    if (error) {
        perf_explain(error, true, check.detail, sizeof(check.detail), check.fix, sizeof(check.fix));
    } else {
        const struct timespec pause = {.tv_nsec = 1000 * 1000}; // a sleep is a switch
        nanosleep(&pause, NULL);
        pertask_cpus_cut(&cpus);
        check.works = totals.seen > 0;
        snprintf(check.detail, sizeof(check.detail), "%s",
                 totals.seen ? "told at each context switch, without a descriptor for each task"
                             : "the groups open, but no switch is told");
        snprintf(check.fix, sizeof(check.fix), "%s", totals.seen ? "" : "look for another profiler that holds the PMU");
        pertask_cpus_close(&cpus);
    }
    task_sums_free(totals.sums);
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&counters_table, NULL};

const struct collector collector_pertask = {
    .name = "pertask",
    .help = "Hardware counters of each task: a perf_event group on every CPU that tells at each context switch, about "
            "a microsecond for those who switch; only while a pane shows them.",
    .series = series,
    .n_series = N_SERIES,
    .tables = tables,
    .open = pertask_open,
    .drain = pertask_drain,
    .requests = 1u << REQUEST_THREADS,
    .request = pertask_request,
    .sample = pertask_sample,
    .close = pertask_close,
    .check = pertask_check,
};
