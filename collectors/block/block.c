// The block collector: latencies per request, from block events. While there is I/O it drains them every 10 to 25 ms,
// matches issue and completion, and delivers the sums once per frame.
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/block/limit.h"
#include "collectors/block/pace.h"
#include "collectors/block/submitter.h"
#include "collectors/block/table.h"
#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/stream_collector.h"
#include "model/live.h"
#include "model/mem.h"

#define DRAIN_MOST_MS 25      // while there is I/O: submitters are looked up at each drain
#define DRAIN_HIGH_RATE_MS 50 // each drain takes CPU time from the load, and the submitters are known by then
#define FLIGHTS 8192
#define BY_HOST_PID "cgroups of I/Os, and which I/Os are ktop's own"

struct block {
    struct stream_event events[BLOCK_KINDS];
    struct format_field fields[BLOCK_KINDS][BLOCK_FIELDS];
    struct block_formats formats; // of the events that exist
    struct stream *stream;
    struct block_match *match;
    struct tids own; // ktop's own threads
    struct block_stat *stat;
    struct block_names *names;
    struct block_tasks *submitters;
    struct block_limits *limits;
    struct block_pace pace;
    uint64_t counted;           // completions counted without matching, in this frame
    struct block_counts before; // at the last frame
    uint64_t drained_ns;        // all events before this time are drained
    double ios_per_ns;          // completions, in the last drain
    struct block_starts starts; // whether BLOCK_START is recorded
    bool starts_gap;            // events were lost since the last starts_decide
};

static void on_done(void *ctx, const struct block_io *io) {
    struct block *block = ctx;
    block_stat_io(block->stat, io);
}

// Events before this time were lost. What was in flight may have completed meanwhile: its flights become suspect.
static void on_gap(void *ctx, uint64_t until_ns) {
    struct block *block = ctx;
    block->starts_gap = true;
    if (block->match)
        block_match_lost(block->match, until_ns);
}

// At BLOCK_COUNT: counts completions.
static void count_run(struct block *block, struct ring_page *page, uint64_t limit, uint64_t *n) {
    struct block_event event;
    for (; page->data && page->ts < limit; ring_page_next(page)) {
        ++*n;
        if (!block_event_decode(&block->formats, trace_clock_mono(stream_clock(block->stream), page->ts), page->data,
                                page->size, &event))
            continue;
        if (event.kind == BLOCK_COMPLETE && (event.sectors || block_op_of(event.rwbs) == BLOCK_FLUSH)) {
            block_stat_count(block->stat, &event);
            block->counted++;
        }
    }
}

static uint64_t on_pair(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct block *block = ctx;
    uint64_t n = 0;
    if (block->pace.level != BLOCK_COUNT)
        return block_match_pages(block->match, &block->formats, stream_clock(block->stream), pages, limit);
    count_run(block, pages[0], limit, &n);
    count_run(block, pages[1], limit, &n);
    return n;
}

// ---- opening ----

// Whether the current level records this kind.
static bool event_wanted(const struct block *block, int kind) {
    bool of_bios = kind >= BLOCK_BIO_QUEUE && kind <= BLOCK_REMAP;
    if (kind == BLOCK_COMPLETE)
        return true;
    if (block->pace.level != BLOCK_FULL)
        return block->pace.level == BLOCK_NO_BIOS && !of_bios;
    return kind != BLOCK_START || !block->starts.off;
}

static struct stream_config config_of(struct block *block) {
    for (int kind = 0; kind < BLOCK_KINDS; kind++) {
        block_format_fields((enum block_kind)kind, block->fields[kind]);
        block->events[kind] = (struct stream_event){
            .system = block_event_systems[kind],
            .name = block_event_names[kind],
            .optional = !block_event_needed((enum block_kind)kind),
            .fields = block->fields[kind],
            .n_fields = BLOCK_FIELDS,
        };
    }
    // Trace thread creation only, so that fork costs nothing.
    _Static_assert(CLONE_THREAD == 65536, "the flag of the filter");
    block->events[BLOCK_THREAD].filter = "clone_flags & 65536";
    return (struct stream_config){
        .name = "block",
        .high_rate = true, // a million small I/Os fill 4 MiB in 60 ms, the time that a busy machine may hold ktop off
        .what = "block events",
        .events = block->events,
        .n_events = BLOCK_KINDS,
        .with_self = true, // the matcher excludes them
        .on_pair = on_pair,
        .on_gap = on_gap,
        .ctx = block,
    };
}

static int block_open(struct collector_run *run) {
    struct block *block = run->state = xcalloc(1, sizeof(*block));
    const struct stream_config config = config_of(block);
    int error = stream_collector_open(&config, false, run, &block->stream);
    if (error)
        return error;
    for (int kind = 0; kind < BLOCK_KINDS; kind++)
        if (block->events[kind].present)
            block_format_take(&block->formats.kinds[kind], block->fields[kind], block->events[kind].id);
    block_formats_index(&block->formats);
    block->match = block_match_new(FLIGHTS, on_done, block);
    block->stat = block_stat_new();
    block->names = block_names_new("/sys/block");
    const char *proc = ktop_in_child_pidns() ? NULL : "/proc"; // /proc shows other PIDs than the events
    block->submitters = block_tasks_new(proc, "/sys/fs/cgroup", run->options);
    block->limits = block_limits_new("/sys/fs/cgroup");
    block_tasks_limits(block->submitters, block->limits);
    block_tasks_threads(block->submitters, block->match);
    block_tasks_filter(block->submitters, block->stat);
    block_fill_disks(block->names, block->stat, block->match, now_ns());
    return 0;
}

static void block_close(struct collector_run *run) {
    struct block *block = run->state;
    if (!block)
        return;
    stream_close(block->stream);
    block_match_free(block->match);
    free(block->own.at);
    block_stat_free(block->stat);
    block_names_free(block->names);
    block_tasks_free(block->submitters);
    block_limits_free(block->limits);
    free(block);
    run->state = NULL;
}

// ---- events ----

// leave_ns: a sub-buffer that fills within that time is left to the next drain (see ring_leave).
static void drain_until(struct block *block, uint64_t horizon, uint64_t due, uint64_t leave_ns) {
    uint64_t begin = now_ns(), completed = block->stat->n_recent;
    block->stat->recent_from = block_pace_recent(horizon, due, block->ios_per_ns, BLOCK_EVENTS_KEPT);
    stream_drain_until(block->stream, horizon, leave_ns);
    uint64_t reached = stream_reached(block->stream);
    if (reached > block->drained_ns) {
        block->ios_per_ns = (double)(block->stat->n_recent - completed) / (double)(reached - block->drained_ns);
        block->drained_ns = reached;
    }
    block->pace.busy_ns += now_ns() - begin;
}

// BLOCK_START separates the wait for a request (full queue, cgroup share) from the wait in the queue. At a high event
// rate requests do not wait for a tag, and each event costs CPU time in the submitter: there the event is off, and
// queue time starts at bio arrival.
static void starts_decide(struct block *block) {
    const struct block_counts *counts = block_match_counts(block->match);
    const struct block_formats *formats = &block->formats;
    if (!formats->kinds[BLOCK_START].present || !formats->kinds[BLOCK_BIO_QUEUE].present ||
        block->pace.level != BLOCK_FULL)
        return;
    bool gap = block->starts_gap;
    block->starts_gap = false;
    if (block_starts_drained(&block->starts, block->drained_ns, counts->issued, counts->unannounced, gap))
        stream_event_switch(block->stream, BLOCK_START, !block->starts.off);
}

static void block_drain(struct collector_run *run) {
    struct block *block = run->state;
    uint64_t due = run->due_ns > STREAM_SETTLE_NS ? run->due_ns - STREAM_SETTLE_NS : 0;
    // At most half a drain interval, so that the buffer has room for what is left.
    uint64_t leave_ns = (run->drain_ms < DRAIN_HIGH_RATE_MS ? run->drain_ms : DRAIN_HIGH_RATE_MS) * 1000000ull / 2;
    drain_until(block, now_ns() - STREAM_SETTLE_NS, due, leave_ns);
    block_tasks_resolve(block->submitters, block->stat, now_ns()); // soon, while short-lived processes exist
    stream_collector_next(block->stream, run, block->starts.off ? DRAIN_HIGH_RATE_MS : DRAIN_MOST_MS);
    starts_decide(block);
}

// ---- frames ----

// ktop starts and stops threads with the panes shown, so list them once per frame.
static void refresh_own(struct block *block, const struct collect_options *options) {
    block->own.n = 0;
    if (!(options && options->show_self))
        self_threads(&block->own);
    block_match_own(block->match, block->own.at, block->own.n);
}

static void put_series(struct block *block, struct section *out, double seconds, uint64_t lost) {
    const struct block_counts *now = block_match_counts(block->match), *was = &block->before;
    bool measured = seconds > 0;
    double values[BLOCK_S_ALL] = {
        [BLOCK_S_IOS] = (double)(now->completed - was->completed + block->counted) / seconds,
        [BLOCK_S_IN_FLIGHT] = block_match_in_flight(block->match),
        [BLOCK_S_QUEUED] = block_match_queued(block->match),
        [BLOCK_S_UNMATCHED] = (double)(now->unmatched_completions - was->unmatched_completions),
        [BLOCK_S_ABANDONED] = (double)(now->abandoned - was->abandoned),
        [BLOCK_S_REQUEUES] = (double)(now->requeues - was->requeues) / seconds,
        [BLOCK_S_MERGES] = (double)(now->merges - was->merges) / seconds,
        [BLOCK_S_ERRORS] = (double)(now->errors - was->errors) / seconds,
        [BLOCK_S_LOST] = (double)lost,
    };
    for (int i = 0; i < BLOCK_S_ALL; i++)
        section_series(out, &block_series[i], measured ? values[i] : __builtin_nan(""));
}

// Enables the events of the level, disables the others.
static void apply_level(struct block *block) {
    for (int kind = 0; kind < BLOCK_KINDS; kind++)
        if (block->formats.kinds[kind].present)
            stream_event_switch(block->stream, (size_t)kind, event_wanted(block, kind));
    on_gap(block, now_ns());
}

static void put_notes(struct block *block, struct section *out) {
    char text[256];
    const struct block_counts *now = block_match_counts(block->match), *was = &block->before;
    if (!block->formats.kinds[BLOCK_START].present)
        section_note(out, SEVERITY_INFO, "queue_us",
                     "queue time starts at bio arrival: this kernel has no block_io_start event",
                     "use Linux 6.5 or later");
    else if (block->starts.off)
        section_note(out, SEVERITY_INFO, "queue_us",
                     "queue time starts at bio arrival at this I/O rate: block_io_start is off", NULL);
    if (block->pace.level != BLOCK_FULL) {
        block_pace_text(&block->pace, text, sizeof(text));
        section_note(out, SEVERITY_WARNING, NULL, text, "none: ktop tries again when the I/O rate is lower");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (now->unmatched_completions != was->unmatched_completions) {
        snprintf(text, sizeof(text), "%llu completions not counted: their issue was not recorded",
                 (unsigned long long)(now->unmatched_completions - was->unmatched_completions));
        section_note(out, SEVERITY_INFO, "unmatched_completions", text, NULL);
    }
    if (now->table_full != was->table_full) {
        snprintf(text, sizeof(text), "%llu I/Os not followed: table of I/Os in flight full",
                 (unsigned long long)(now->table_full - was->table_full));
        section_note(out, SEVERITY_WARNING, NULL, text, NULL);
    }
    if (block->stat->procs_left_out) {
        snprintf(text, sizeof(text), "%llu I/Os missing in by_process: thread table full",
                 (unsigned long long)block->stat->procs_left_out);
        section_note(out, SEVERITY_WARNING, "ios_per_s", text, NULL);
    }
}

// Busy time of each disk between horizons; unknown after a gap in the events.
static void busy_take(struct block *block, uint64_t horizon, bool whole) {
    for (uint32_t i = 0; i < block->stat->n_devices; i++) {
        struct block_device *device = &block->stat->devices[i];
        uint64_t busy_ns = block_match_busy(block->match, device->dev, horizon);
        device->busy_ns = whole && block->pace.level != BLOCK_COUNT ? busy_ns : BLOCK_BUSY_UNKNOWN;
    }
}

static int block_sample(struct collector_run *run, struct section *out) {
    struct block *block = run->state;
    refresh_own(block, run->options);
    struct stream_frame frame;
    drain_until(block, run->end_ns - STREAM_SETTLE_NS, 0, 0);
    // An idle stream is drained only here.
    block_tasks_resolve(block->submitters, block->stat, now_ns());
    starts_decide(block);
    stream_collector_next(block->stream, run, DRAIN_MOST_MS);
    stream_frame(block->stream, &frame);
    uint64_t lost = frame.lost;
    if (run->first) { // discard what completed before the first interval
        block_stat_clear(block->stat);
        block_tasks_expire(block->submitters, run->end_ns);
    }
    struct block_waiting waiting[BLOCK_WAITING_MAX];
    size_t n_waiting = block_waiting_find(block->match, run->end_ns - BLOCK_WAITING_NS, waiting, BLOCK_WAITING_MAX);
    block_waiting_resolve(waiting, n_waiting, block->submitters);
    const struct block_fill fill = {
        .stat = block->stat,
        .names = block->names,
        .begin_ns = run->begin_ns,
        .end_ns = run->end_ns,
        .wall_offset_ns = wall_offset_ns(),
        .submitters = block->submitters,
        .waiting = waiting,
        .n_waiting = n_waiting,
    };
    block_fill_disks(block->names, block->stat, block->match, run->end_ns);
    busy_take(block, run->end_ns - STREAM_SETTLE_NS, !lost);
    block_limits_read(block->limits, now_ns());
    block_fill_section(&fill, out);
    block_limits_fill(block->limits, block->names, run->end_ns, out);
    put_series(block, out, (double)(run->end_ns - run->begin_ns) / 1e9, lost);
    put_notes(block, out);
    stream_collector_notes(block->stream, &frame, BY_HOST_PID, run->options, out);
    const struct block_counts *counts = block_match_counts(block->match);
    section_events(out, counts->events - block->before.events + block->counted, lost);
    block->counted = 0;
    block->before = *counts;
    block_stat_clear(block->stat);
    block_tasks_expire(block->submitters, run->end_ns);
    block_match_tidy(block->match, run->end_ns);
    if (!run->first && block_pace_frame(&block->pace, run->end_ns - run->begin_ns, frame.growing ? 0 : lost))
        apply_level(block);
    return 0;
}

// ---- doctor ----

static void block_check(struct check_report *report) {
    struct block *block = xcalloc(1, sizeof(*block));
    const struct stream_config config = config_of(block);
    stream_collector_check(&config, "block events", report);
    free(block);
}

static const struct table_def *const tables[] = {&block_devices_table,
                                                 &block_process_table,
                                                 &block_cgroup_table,
                                                 &block_errors_table,
                                                 &block_waiting_table,
                                                 &block_limits_table,
                                                 NULL};
static const struct hist_def *const hists[] = {&block_latency_hist,
                                               &block_queue_hist,
                                               &block_total_hist,
                                               &block_size_hist,
                                               &block_device_size_hist,
                                               &block_offset_hist,
                                               &block_process_hists[BLOCK_OF_LATENCY],
                                               &block_process_hists[BLOCK_OF_QUEUE],
                                               &block_process_hists[BLOCK_OF_TOTAL],
                                               &block_cgroup_hists[BLOCK_OF_LATENCY],
                                               &block_cgroup_hists[BLOCK_OF_QUEUE],
                                               &block_cgroup_hists[BLOCK_OF_TOTAL],
                                               NULL};
static const struct table_def *const streams[] = {&block_events_table, NULL};

const struct collector collector_block = {
    .name = "block",
    .help = "Block events: latency and queue time of every request, by device, operation and process. Costs about 0.1 "
            "us of CPU per I/O.",
    .always = true,
    .series = block_series,
    .n_series = BLOCK_S_ALL,
    .tables = tables,
    .hists = hists,
    .streams = streams,
    .open = block_open,
    .drain = block_drain,
    .sample = block_sample,
    .close = block_close,
    .check = block_check,
};
