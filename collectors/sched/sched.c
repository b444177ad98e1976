// The sched collector: run-queue latency and off-CPU time of every thread, from the kernel's scheduler events. It runs
// only while a pane needs it: an event costs the kernel about 0.2 us.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/sched/fill.h"
#include "collectors/sched/seed.h"
#include "collectors/stream_collector.h"
#include "model/live.h"
#include "model/mem.h"

#define LOOK_NS 100000000ull        // between two rounds of queries
#define SEED_STEP 200               // threads of /proc in one drain: some ms
#define SEED_AGAIN_NS 5000000000ull // shortest time between listings of /proc after losses
#define RESOLVE_STEP 64
// Below this rate the drain interval grows: a drain costs as much as a thousand events, as it copies whole sub-buffers.
// With few CPUs their buffers are large enough for a burst that begins meanwhile.
#define FEW_PER_MS 1000
#define DRAIN_QUIET_MS 80
#define BY_HOST_PID "what threads wait for, and which of them are ktop's own"

struct sched {
    struct format_field fields[SCHED_KINDS][SCHED_FIELDS];
    struct stream_event events[SCHED_KINDS];
    uint8_t kinds[SCHED_KINDS]; // of the events
    struct stream *stream;
    struct sched_machine *machine;
    struct sched_threads *threads;
    struct blocked_prober *prober;
    struct sched_seed *seed; // NULL: /proc has been listed
    const char *proc;        // NULL: in this PID namespace it has other IDs than the events
    struct table_builder *rows;
    uint64_t seeded_ns, looked_ns;
    uint32_t drain_ms; // at the last drain
    bool seed_due, has_waking;
};

static uint64_t on_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    struct sched *sched = ctx;
    return sched_machine_run(sched->machine, cpu, page, limit);
}

static uint64_t seed_now(void *ctx) {
    (void)ctx;
    return now_ns();
}

static void on_gap(void *ctx, uint64_t until_ns) {
    struct sched *sched = ctx;
    (void)until_ns;
    sched_machine_lost(sched->machine, now_ns());
    sched->seed_due = true;
}

// ---- opening ----

// Switches and wakeups are required; without the other events less is known.
static bool needed(const struct sched *sched, enum sched_kind kind) {
    return kind == SCHED_SWITCH || kind == SCHED_WAKING || (kind == SCHED_WAKEUP && !sched->has_waking);
}

static bool kernel_has(const char *event) {
    const char *reason, *fix, *root = tracing_dir(&reason, &fix);
    char path[512];
    snprintf(path, sizeof(path), "%s/events/sched/%s", root ? root : "", event);
    return root && !access(path, F_OK);
}

static size_t event_add(struct sched *sched, size_t n, enum sched_kind kind) {
    sched->kinds[n] = (uint8_t)kind;
    sched->events[n] = (struct stream_event){
        .system = "sched",
        .name = sched_event_names[kind],
        .optional = !needed(sched, kind),
        .fields = sched->fields[kind],
        .n_fields = sched_event_fields(kind, sched->fields[kind]),
    };
    return n + 1;
}

// Every event costs the traced programs about 0.1 us, so sched_wakeup is recorded only where it is needed: on kernels
// without sched_waking, and with --pid, where migrations by other tasks are not recorded.
static struct stream_config config_of(struct sched *sched, const struct collect_options *options) {
    size_t n = 0;
    sched->has_waking = kernel_has("sched_waking");
    if (sched->has_waking)
        n = event_add(sched, n, SCHED_WAKING);
    if (!sched->has_waking || (options && options->pids))
        n = event_add(sched, n, SCHED_WAKEUP);
    n = event_add(sched, n, SCHED_WAKEUP_NEW);
    n = event_add(sched, n, SCHED_MIGRATE);
    n = event_add(sched, n, SCHED_SWITCH);
    return (struct stream_config){
        .name = "sched",
        .what = "scheduler events",
        .events = sched->events,
        .n_events = n,
        .budget_pct = STREAM_BUDGET_PCT,
        .with_self = true, // the CPUs cannot be followed without. The decoder hides them
        .high_rate = true, // a burst must outlast a busy machine: 1 MiB is full in 20 ms
        .on_run = on_run,
        .on_gap = on_gap,
        .ctx = sched,
    };
}

static int take_formats(struct sched *sched, struct collector_run *run) {
    for (size_t i = 0; i < SCHED_KINDS && sched->events[i].name; i++) {
        const struct stream_event *event = &sched->events[i];
        enum sched_kind kind = (enum sched_kind)sched->kinds[i];
        const char *missing = NULL;
        if (!event->present || !sched_format_take(&sched->machine->formats, kind, event->fields, event->id, &missing))
            continue;
        if (!needed(sched, kind))
            continue;
        snprintf(run->reason, sizeof(run->reason), "unsupported scheduler event: field %s of %s differs on this kernel",
                 missing, event->name);
        snprintf(run->fix, sizeof(run->fix), "use a newer ktop");
        return -EPROTO;
    }
    return sched_formats_index(&sched->machine->formats);
}

static void seed_start(struct sched *sched) {
    sched_seed_free(sched->seed);
    sched->seed = sched->proc ? sched_seed_new(sched->proc) : NULL;
    sched->seeded_ns = now_ns();
    sched->seed_due = false;
}

static int sched_open(struct collector_run *run) {
    struct sched *sched = xcalloc(1, sizeof(*sched));
    run->state = sched;
    const struct stream_config config = config_of(sched, run->options);
    sched->machine = sched_machine_new((uint32_t)sysconf(_SC_NPROCESSORS_CONF));
    sched->machine->partial = run->options && run->options->pids;
    sched->machine->old_wakeups = !sched->has_waking;
    int error = stream_collector_open(&config, true, run, &sched->stream);
    if (!error)
        error = take_formats(sched, run);
    if (error)
        return error;
    sched->machine->clock = stream_clock(sched->stream);
    sched->machine->begin = now_ns();
    sched_machine_lost(sched->machine, sched->machine->begin); // times begin now
    sched->proc = ktop_in_child_pidns() ? NULL : "/proc";
    sched->prober = sched->proc ? blocked_prober_new(sched->proc, blocked_explain) : NULL;
    sched->threads = sched_threads_new(sched->proc, run->options, sched->prober);
    sched->machine->filtered = sched_threads_filters(sched->threads);
    sched->rows = table_builder_new(&sched_tasks_table);
    seed_start(sched);
    return 0;
}

static void sched_close(struct collector_run *run) {
    struct sched *sched = run->state;
    if (!sched)
        return;
    stream_close(sched->stream);
    sched_seed_free(sched->seed);
    blocked_prober_free(sched->prober);
    sched_threads_free(sched->threads);
    table_builder_free(sched->rows);
    sched_machine_free(sched->machine);
    free(sched);
    run->state = NULL;
}

// ---- between frames ----

static void update_threads(struct sched *sched, uint32_t threads) {
    if (sched->seed_due && !sched->seed && now_ns() - sched->seeded_ns >= SEED_AGAIN_NS)
        seed_start(sched);
    if (sched->seed && !sched_seed_step(sched->seed, sched->machine, sched->threads, threads, seed_now, NULL)) {
        sched_seed_free(sched->seed);
        sched->seed = NULL;
    }
    sched_threads_resolve(sched->threads, sched->machine, RESOLVE_STEP);
    uint64_t now = now_ns();
    if (now - sched->looked_ns < LOOK_NS)
        return;
    sched->looked_ns = now;
    sched_threads_probe(sched->threads, sched->machine, now);
}

static void sched_drain(struct collector_run *run) {
    struct sched *sched = run->state;
    sched_machine_grow(sched->machine);
    uint64_t events = stream_drain(sched->stream);
    bool few = events < (uint64_t)FEW_PER_MS * (sched->drain_ms ? sched->drain_ms : STREAM_BUSY_MS);
    stream_collector_next(sched->stream, run, few && sched->machine->n_cpus <= 16 ? DRAIN_QUIET_MS : STREAM_BUSY_MS);
    sched->drain_ms = run->drain_ms;
    update_threads(sched, SEED_STEP);
}

// ---- frames ----

static void put_notes(struct sched *sched, const struct collect_options *options, const struct stream_frame *frame,
                      const struct sched_fill *fill, struct section *out) {
    char text[256];
    stream_collector_notes(sched->stream, frame, BY_HOST_PID, options, out);
    if (!sched->has_waking)
        section_note(
            out, SEVERITY_INFO, "waker",
            "wakers are unknown and run-queue latency starts at sched_wakeup: this kernel has no sched_waking event",
            "use Linux 4.3 or later");
    if (sched->machine->partial)
        section_note(out, SEVERITY_INFO, "run_queue",
                     "run-queue lengths are unknown: with --pid only events of these processes are recorded", NULL);
    if (sched->proc && !sched->prober)
        section_note(out, SEVERITY_WARNING, "blocked_in", "waits are not explained: no thread could be created",
                     "raise the limit on tasks (ulimit -u, pids.max)");
    if (frame->ratio > 1)
        section_note(out, SEVERITY_INFO, "since_us",
                     "stuck threads are unknown: events are recorded in time slices only",
                     "allow more CPU with --budget, or look at one process (--pid)");
    if (sched->machine->counts.left_out) {
        snprintf(text, sizeof(text), "%llu events dropped: thread table full",
                 (unsigned long long)sched->machine->counts.left_out);
        section_note(out, SEVERITY_WARNING, NULL, text, NULL);
    }
    sched_fill_unseen(fill, out);
}

static int sched_sample(struct collector_run *run, struct section *out) {
    struct sched *sched = run->state;
    struct sched_machine *machine = sched->machine;
    struct stream_frame frame;
    double values[SCHED_S_ALL];
    sched_machine_grow(machine);
    uint64_t end = now_ns() - STREAM_SETTLE_NS;
    stream_collector_drain(sched->stream, run, STREAM_BUSY_MS);
    update_threads(sched, run->first ? SEED_STEP : 0);
    stream_frame(sched->stream, &frame);
    bool whole = frame.ratio == 1 && frame.scale == 1;
    if (!whole && machine->last_ts < end) // the end may lie between two slices
        end = machine->last_ts > machine->begin ? machine->last_ts : machine->begin;
    const struct sched_limits limits = sched_limits_of(run->inputs[0]);
    sched_threads_mark_throttled(sched->threads, machine, &limits);
    sched_machine_flush(machine, end);
    double recorded = (double)frame.on_ns / 1e9;
    if (whole && end > machine->begin)
        recorded = (double)(end - machine->begin) / 1e9; // exactly the time that was summed
    const struct sched_fill fill = {
        .machine = machine,
        .threads = sched->threads,
        .limits = &limits,
        .rows = sched->rows,
        .end = end,
        .seconds = run->first || recorded <= 0 ? NAN : recorded,
    };
    sched_fill_tasks(&fill, out);
    sched_fill_cpus(&fill, out);
    sched_fill_stuck(&fill, out);
    sched_fill_hists(&fill, out);
    sched_fill_series(&fill, values);
    values[SCHED_S_SAMPLED] = 100 / frame.scale;
    values[SCHED_S_LOST] = (double)frame.lost;
    for (int i = 0; i < SCHED_S_ALL; i++)
        section_series(out, &sched_series[i], run->first ? NAN : values[i]);
    put_notes(sched, run->options, &frame, &fill, out);
    section_events(out, frame.events, frame.lost);
    sched_machine_next(machine, end);
    return 0;
}

static void sched_check(struct check_report *report) {
    struct sched *sched = xcalloc(1, sizeof(*sched));
    const struct stream_config config = config_of(sched, NULL);
    stream_collector_check(&config, "scheduler events", report);
    free(sched);
}

static const struct table_def *const tables[] = {&sched_tasks_table, &sched_cpus_table, &sched_stuck_table, NULL};
static const struct hist_def *const hists[] = {&sched_queue_hist, &sched_off_hist, &sched_queue_process_hist, NULL};

const struct collector collector_sched = {
    .name = "sched",
    .inputs = {"cpu_limits"},
    .help = "Run-queue latency, off-CPU time and stuck threads, from every context switch and wakeup. Costs the kernel "
            "about "
            "0.2 us an event; runs only while a pane needs it.",
    .always = false,
    .series = sched_series,
    .n_series = SCHED_S_ALL,
    .tables = tables,
    .hists = hists,
    .open = sched_open,
    .drain = sched_drain,
    .sample = sched_sample,
    .close = sched_close,
    .check = sched_check,
};
