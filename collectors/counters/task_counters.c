// The collector "task_counters": hardware counters of each thread or process without a descriptor for each. A group on
// every CPU is sampled at each context switch (task_switch.h has the rules and the known error). One row for each that
// ran in the interval; the table extends the tasks table by pid and tid.
//
// Each context switch pays for three records, so it runs only while a pane shows its columns. When ktop's own share of
// that cost exceeds BOUND_PCT of a CPU, only the busiest threads are counted, by descriptors of their own
// (task_busy.h). A short probe of the switches in each frame finds the busiest threads and the switch rate.
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
#include "model/columns.h"
#include "model/live.h"
#include "model/mem.h"

#define DRAIN_MS 250 // longest time between drains; a half-full ring is drained at once
#define FIRST_DRAIN_MS 20
#define RETRY_NS (10 * 1000000000ull)
#define BOUND_PCT 1.0        // of a CPU, for ktop's own thread
#define BOUND_FRAMES 2       // consecutive frames above the bound until only the busiest are counted
#define UNDER_SHARE 0.5      // of the bound, below which all are counted again
#define UNDER_FRAMES 5       // consecutive frames below UNDER_SHARE
#define PROBE_MS 20          // length of the probe in each frame, while only the busiest are counted
#define ZERO_NS 100000000ull // CPU time after which a counter at 0 does not count

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
    [PID] = COLUMN_PID(.help = HELP_PID),
    [TID] = COLUMN_TID(.help = "Thread ID; the PID in the row of a whole process."),
    [IPC] = COLUMN_IPC(.help = "Instructions per cycle, user code and kernel; unknown while the task does not run."),
    [CYCLES_PER_S] = COLUMN_CYCLES_PER_S(.help = "CPU cycles per second."),
    [INSTRUCTIONS_PER_S] = COLUMN_INSTRUCTIONS_PER_S(.help = "Instructions retired per second."),
    [CACHE_REFERENCES_PER_S] = COLUMN_CACHE_REFERENCES_PER_S(.help = "References to the last-level cache per second."),
    [CACHE_MISSES_PER_S] = COLUMN_CACHE_MISSES_PER_S(.help = "Misses of the last-level cache per second."),
    [CACHE_MISS_PCT] = COLUMN_CACHE_MISS_PCT(.help = "Share of the references to the last-level cache that missed."),
    [BRANCH_MISSES_PER_S] = COLUMN_BRANCH_MISSES_PER_S(.help = "Mispredicted branches per second."),
    [COUNTED_PCT] =
        COLUMN_COUNTED_PCT(.help = "Share of its CPU time in which its counters ran; below 100 counts are scaled up."),
};

static const struct table_def counters_table = {
    .name = "task_counters",
    .help = "Hardware counters of each process (or thread) that ran in this interval.",
    .columns = columns,
    .n_columns = N_COLUMNS,
    .n_keys = 2,
    .rows = ROWS_OF_INTERVAL,
};

enum { UNATTRIBUTED_PCT, N_SERIES };

static const struct series_def series[N_SERIES] = {
    [UNATTRIBUTED_PCT] = {"unattributed_pct", "unattributed",
                          "Share of CPU time whose counts are not attributed to a task, because records were lost.",
                          UNIT_PCT},
};

// Counted events, and their columns.
static const struct task_events hardware = {
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
    struct task_events events;
    int rate_event[N_RATES];                         // index of the event; -1: not counted
    int ratio_part[N_RATIOS], ratio_whole[N_RATIOS]; // the same
    struct task_cpus cpus;
    struct switch_totals totals;
    struct task_sums *processes; // of the frame, summed by process
    struct task_sums *counted;   // sparse: by thread
    struct table_builder *rows;
    bool threads;      // rows are threads
    int error;         // -errno of opening the groups; 0: open
    uint64_t tried_ns; // last try
    bool zero[TASK_EVENTS_MAX];
    // ---- cost control ----
    double bound;         // share of a CPU
    uint64_t cpu_ns;      // CPU time of this thread at the last frame
    double ns_per_switch; // measured
    bool sparse;          // only the busiest threads are counted
    bool probing;         // sparse: a probe is running
    unsigned n_over, n_under;
    double switches_per_s; // at the last probe
    double over_share;     // of a CPU, when the bound was exceeded
    struct busy busy;
    char test_names[TASK_EVENTS_MAX][24];
};

static int event_find(const struct task_events *events, const char *name) {
    for (unsigned i = 0; i < events->n; i++)
        if (!strcmp(events->list[i].name, name))
            return (int)i;
    return -1;
}

// For tests on machines without a PMU: "cycles=TYPE:CONFIG,..." replaces the events.
static void test_events(struct state *state, const char *text) {
    struct task_events *events = &state->events;
    int used;
    for (events->n = 0; events->n < TASK_EVENTS_MAX; events->n++, text += used + (text[used] == ',')) {
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
    state->error = task_cpus_open(&state->cpus, &state->events, &state->totals);
    state->tried_ns = run->end_ns;
    run->poll_fd = state->cpus.set.poll_fd;
    run->drain_ms = state->error ? 0 : FIRST_DRAIN_MS;
}

static int task_counters_open(struct collector_run *run) {
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
    try_open(run); // failure is a note, not an error: without a PMU the section stays unavailable
    return 0;
}

static void task_counters_close(struct collector_run *run) {
    struct state *state = run->state;
    run->state = NULL;
    if (!state)
        return;
    busy_close(&state->busy);
    if (!state->error)
        task_cpus_close(&state->cpus);
    task_sums_free(state->totals.sums);
    task_sums_free(state->processes);
    task_sums_free(state->counted);
    table_builder_free(state->rows);
    free(state);
}

static void task_counters_drain(struct collector_run *run) {
    struct state *state = run->state;
    if (state->error)
        return;
    if (state->probing) { // a ring is half full, or the probe's time is over
        state->switches_per_s = task_cpus_stop(&state->cpus);
        state->probing = false;
        run->drain_ms = 0;
    }
    if (state->sparse)
        return;
    if (run->drain_ms == FIRST_DRAIN_MS)
        task_cpus_force_switch(&state->cpus);
    run->drain_ms = DRAIN_MS;
    task_cpus_drain(&state->cpus);
}

// ---- the frame ----

static bool is_missing(const struct state *state, int event) {
    return event < 0 || state->cpus.missing[event] || state->zero[event] || (unsigned)event >= state->cpus.n_wanted;
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

// Finds counters that open but stay 0 while tasks run: some PMUs and emulations accept events they do not implement. A
// count of 0 misses can be true, so misses are exempt.
static void zero_find(struct state *state, const struct task_counts *all) {
    static const char *const basic[] = {"cycles", "instructions", "cache-references"};
    for (size_t i = 0; i < sizeof(basic) / sizeof(*basic); i++) {
        int event = event_find(&state->events, basic[i]);
        if (event >= 0 && (all->values[event] || all->running_ns > ZERO_NS))
            state->zero[event] = !all->values[event];
    }
}

// PID reuse within the interval: the counts of the two tasks cannot be separated.
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
        if (sum->first_ns == UINT64_MAX) // forked, but did not run yet
            continue;
        if (is_mixed(state, sum))
            task_counts_add(&state->totals.unattributed, &sum->counts);
        else
            task_counts_add(&task_sums_get(state->processes, sum->pid, threads ? sum->tid : sum->pid)->counts,
                            &sum->counts);
    }
    for (size_t i = 0; i < task_sums_count(state->processes); i++)
        task_counts_add(&all, &task_sums_at(state->processes, i)->counts);
    zero_find(state, &all);
    rows_fill(state, state->processes, seconds);
    return all;
}

// One note for all events that cannot be counted.
static void notes_add(struct state *state, struct section *out, double unattributed) {
    char text[320], fix[256], names[160] = "";
    if (state->sparse) {
        snprintf(text, sizeof(text),
                 "only the %u busiest threads are counted: recording every context switch cost ktop %.1f %% of a CPU "
                 "(now %.0f switches/s)",
                 state->busy.n, 100 * state->over_share, state->switches_per_s);
        section_note(out, SEVERITY_WARNING, "ipc", text, "none: all threads are counted again at a lower switch rate");
        section_set_state(out, SECTION_DEGRADED);
    }
    for (unsigned i = 0; i < state->events.n; i++)
        if (is_missing(state, (int)i))
            snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s", names[0] ? ", " : "",
                     state->events.list[i].name);
    if (names[0]) {
        snprintf(text, sizeof(text), "this PMU does not count %s for each task", names);
        section_note(out, SEVERITY_INFO, "ipc", text,
                     "none, unless another profiler or the NMI watchdog (sysctl kernel.nmi_watchdog=0) holds counters");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (state->cpus.n_starved) {
        section_note(out, SEVERITY_WARNING, "counted_pct", "task counters did not run: another process holds the PMU",
                     "stop the other profiler, or: sysctl kernel.nmi_watchdog=0");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (!state->sparse && state->totals.lost && unattributed > 0) {
        snprintf(text, sizeof(text),
                 "%llu switch records were lost: counts of %.1f %% of the CPU time are not attributed to a task",
                 (unsigned long long)state->totals.lost, unattributed);
        snprintf(fix, sizeof(fix), "shorten the delay (d), or reduce the load");
        section_note(out, SEVERITY_WARNING, "ipc", text, fix);
    }
}

static void sample_closed(struct state *state, struct section *out) {
    char reason[256], fix[256];
    perf_explain(state->error, true, reason, sizeof(reason), fix, sizeof(fix));
    // A machine without a PMU is not a fault to repair: severity info.
    bool without = state->error == -ENOENT || state->error == -ENODEV || state->error == -EOPNOTSUPP;
    section_note(out, without ? SEVERITY_INFO : SEVERITY_WARNING, "ipc", reason, fix);
    section_set_state(out, SECTION_UNAVAILABLE);
}

static void totals_clear(struct state *state) {
    task_sums_clear(state->totals.sums);
    state->totals = (struct switch_totals){.sums = state->totals.sums};
}

// ---- cost control ----

static void probe_begin(struct state *state, struct collector_run *run) {
    task_cpus_start(&state->cpus);
    state->probing = true;
    run->drain_ms = PROBE_MS;
}

// After a frame with all threads: compares the cost with the bound.
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
    state->over_share = share;
    state->n_over = state->n_under = 0;
    state->switches_per_s = (double)state->totals.seen * 1e9 / (double)(run->end_ns - run->begin_ns);
    task_cpus_stop(&state->cpus);
    busy_choose(&state->busy, state->totals.sums);
}

// ---- the section ----

static void section_finish(struct state *state, struct section *out, const struct task_counts *all) {
    double lost = (double)state->totals.unattributed.time_ns, time = lost + (double)all->time_ns;
    double unattributed = time > 0 && !state->sparse ? 100 * lost / time : NAN;
    section_table(out, table_builder_seal(state->rows));
    section_series(out, &series[UNATTRIBUTED_PCT], unattributed);
    section_events(out, state->totals.seen, state->sparse ? 0 : state->totals.lost); // a probe may lose some
    notes_add(state, out, unattributed);
}

// Adds the threads counted already to the probe's sums: the probe misses a thread that runs without a switch.
static void candidates_add(struct state *state, double seconds) {
    task_sums_reserve(state->totals.sums, task_sums_count(state->counted));
    for (size_t i = 0; i < task_sums_count(state->counted); i++) {
        const struct task_sum *counted = task_sums_at(state->counted, i);
        struct task_sum *sum = task_sums_get(state->totals.sums, counted->pid, counted->tid);
        uint64_t share = (uint64_t)((double)counted->counts.time_ns * (PROBE_MS / 1e3) / seconds);
        if (share > sum->counts.time_ns)
            sum->counts.time_ns = share;
    }
}

// A frame with the busiest threads only; also chooses those of the next frame. Counts are scaled up to all threads of
// the process; counted_pct reports the share of CPU time that was counted.
static void sparse_sample(struct state *state, struct collector_run *run, bool threads, struct section *out) {
    double seconds = (double)(run->end_ns - run->begin_ns) / 1e9;
    struct task_counts none = {0};
    if (state->probing)
        state->switches_per_s = task_cpus_stop(&state->cpus);
    state->probing = false;
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
    bool under = state->switches_per_s * state->ns_per_switch / 1e9 < state->bound * UNDER_SHARE;
    state->n_under = under ? state->n_under + 1 : 0;
    if (state->n_under < UNDER_FRAMES) {
        probe_begin(state, run);
        return;
    }
    busy_close(&state->busy);
    task_cpus_start(&state->cpus);
    state->sparse = false;
    state->cpu_ns = 0;
    run->drain_ms = DRAIN_MS;
}

static int task_counters_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    struct state *state = run->state;
    (void)answer; // the tasks collector answers
    state->threads = request->on;
    return 0;
}

static int task_counters_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    // A missing PMU stays missing; limits and permissions may change.
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
    task_cpus_cut(&state->cpus);
    if (!run->first) { // the first interval starts here, not when the first group was opened
        struct task_counts all = rows_make(state, state->threads, (double)state->cpus.span_ns / 1e9);
        section_finish(state, out, &all);
        cost_judge(state, run);
    }
    totals_clear(state);
    if (state->sparse)
        probe_begin(state, run);
    return 0;
}

// ---- --doctor ----

static void task_counters_check(struct check_report *report) {
    struct check check = {.capability = "hardware counters of each task"};
    struct switch_totals totals = {.sums = task_sums_new()};
    struct task_cpus cpus;
    int error = task_cpus_open(&cpus, &hardware, &totals);
    check.works = !error;
    if (error) {
        perf_explain(error, true, check.detail, sizeof(check.detail), check.fix, sizeof(check.fix));
    } else {
        const struct timespec pause = {.tv_nsec = 1000 * 1000}; // a sleep is a switch
        nanosleep(&pause, NULL);
        task_cpus_cut(&cpus);
        check.works = totals.seen > 0;
        snprintf(check.detail, sizeof(check.detail), "%s",
                 totals.seen ? "read at each context switch, without a descriptor per task"
                             : "the groups open, but no switch is recorded");
        snprintf(check.fix, sizeof(check.fix), "%s", totals.seen ? "" : "stop the profiler that holds the PMU");
        task_cpus_close(&cpus);
    }
    task_sums_free(totals.sums);
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&counters_table, NULL};

const struct collector collector_task_counters = {
    .name = "task_counters",
    .help = "Hardware counters of each task: a perf_event group on every CPU, sampled at each context switch, which "
            "costs the switch about 1 us; only while a pane shows them.",
    .series = series,
    .n_series = N_SERIES,
    .tables = tables,
    .open = task_counters_open,
    .drain = task_counters_drain,
    .requests = 1u << REQUEST_THREADS,
    .request = task_counters_request,
    .sample = task_counters_sample,
    .close = task_counters_close,
    .check = task_counters_check,
};
