// The block collector: what the disks do, request by request, from a tracefs instance of ktop's own. It opens the
// instance, drains the raw buffers every 10 to 25 ms while there is I/O, matches issue and completion, and delivers the
// sums once per frame. It never writes to the top-level buffer, and touches no tracing that is not its own.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collectors/block/limit.h"
#include "collectors/block/pace.h"
#include "collectors/block/source.h"
#include "collectors/block/table.h"
#include "collectors/block/who.h"
#include "collectors/collector.h"
#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/tracefs/stream.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "model/live.h"
#include "model/mem.h"

#define DRAIN_MS 10         // at least: by then a third of the buffer may be full
#define DRAIN_MOST_MS 25    // while there is I/O: who did it is looked up then
#define DRAIN_TORRENT_MS 50 // each drain takes the CPU from the load, and who does it is known by then
#define DRAIN_IDLE_MS 30    // no I/O: the buffer holds more than 30 ms of any burst
// Events this young wait for the next drain: an event whose writer was interrupted hides the ones after it on its CPU
// until it is finished, and the end of an I/O must not be seen before its issue. Frames begin and end so much earlier.
#define SETTLE_NS 5000000ull
#define FLIGHTS 8192

struct block {
    struct block_source source;
    struct ring *ring;
    struct block_match *match;
    struct tids own; // ktop's threads
    struct block_stat *stat;
    struct block_names *names;
    struct block_who *who;
    struct block_limits *limits;
    struct block_pace pace;
    uint64_t counted;           // completions that were only counted, in this frame
    struct block_counts before; // at the last frame
    uint64_t drained_ns;        // the events before it are
    double ios_per_ns;          // that ended, in the last drain
    uint64_t lost_before, gaps; // gaps: of the sub-buffers, at the last drain
    uint32_t grown;             // buffers that were enlarged when this interval began
    struct block_starts starts; // whether BLOCK_START is recorded beside the bios
    bool starts_gap;            // events are missing since that was looked at last
    bool grow_due;              // looked for after the sample, in the next drain
};

static void on_done(void *ctx, const struct block_io *io) {
    struct block *block = ctx;
    block_stat_io(block->stat, io);
}

static uint64_t gaps_in_all(const struct block *block) {
    const struct ring_stats *stats = ring_stats(block->ring);
    return stats->missed + stats->missed_unknown + stats->damaged;
}

// Until then some events were not recorded, or not read.
static void lost_until(struct block *block, uint64_t ts) {
    block_match_lost(block->match, ts);
    block->starts_gap = true;
}

// What is under way from before a gap may have ended in it: it gives way from now on, not only to what the next drain
// brings. Of the other CPUs there may be more from before the gap's end.
static void gap_check(struct block *block) {
    uint64_t gaps = gaps_in_all(block);
    if (__builtin_expect(gaps == block->gaps, 1))
        return;
    block->gaps = gaps;
    lost_until(block, trace_clock_mono(&block->source.clock, ring_stats(block->ring)->gap_ts));
}

static uint64_t on_pages(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct block *block = ctx;
    gap_check(block);
    return block_match_pages(block->match, &block->source.formats, &block->source.clock, pages, limit);
}

// When it only counts.
static void on_end(void *ctx, const struct ring_event *raw) {
    struct block *block = ctx;
    struct block_event event;
    if (!block_event_decode(&block->source.formats, raw->ts, raw->data, raw->size, &event))
        return;
    if (event.kind == BLOCK_COMPLETE && (event.sectors || block_op_of(event.rwbs) == BLOCK_FLUSH)) {
        block_stat_count(block->stat, &event);
        block->counted++;
    }
}

// ---- opening ----

// What the level records.
static bool event_wanted(const struct block *block, int kind) {
    bool of_bios = kind >= BLOCK_BIO_QUEUE && kind <= BLOCK_REMAP;
    if (kind == BLOCK_COMPLETE)
        return true;
    if (block->pace.level != BLOCK_FULL)
        return block->pace.level == BLOCK_NO_BIOS && !of_bios;
    return kind != BLOCK_START || !block->starts.without;
}

static int block_open(struct collector_run *run) {
    struct block *block = run->state = xcalloc(1, sizeof(*block));
    const char *step = "";
    char detail[96] = "";
    int error = block_source_open(&block->source, "block", &run->options->test, &step, detail, sizeof(detail));
    if (error) {
        block_source_explain(error, step, detail, run->reason, sizeof(run->reason), run->fix, sizeof(run->fix));
        return error;
    }
    const struct ring_source source = ring_pipe_source(block->source.pipe);
    block->ring = ring_new(&source);
    block->match = block_match_new(FLIGHTS, on_done, block);
    block->stat = block_stat_new();
    block->names = block_names_new("/sys/block");
    const char *proc = ktop_numbers_differ() ? NULL : "/proc"; // else it is about others than the events are
    block->who = block_who_new(proc, "/sys/fs/cgroup", run->options);
    block->limits = block_limits_new("/sys/fs/cgroup");
    block_who_limits(block->who, block->limits);
    block_who_threads(block->who, block->match);
    block_who_filter(block->who, block->stat);
    block_fill_disks(block->names, block->stat, block->match, now_ns());
    run->drain_ms = DRAIN_MS;
    return 0;
}

static void block_close(struct collector_run *run) {
    struct block *block = run->state;
    if (!block)
        return;
    ring_free(block->ring);
    block_source_close(&block->source);
    block_match_free(block->match);
    free(block->own.at);
    block_stat_free(block->stat);
    block_names_free(block->names);
    block_who_free(block->who);
    block_limits_free(block->limits);
    free(block);
    run->state = NULL;
}

// ---- events ----

// What leave_ns allows to wait (see ring_leave), is left. Returns whether there was anything.
static bool drain_until(struct block *block, uint64_t horizon, uint64_t due, uint64_t leave_ns) {
    const struct trace_clock *clock = &block->source.clock;
    if (!trace_clock_read(&block->source.clock, ring_reached(block->ring)))
        lost_until(block, now_ns());
    uint64_t begin = now_ns(), ended = block->stat->n_recent, until = trace_clock_time(clock, horizon);
    block->stat->recent_from = block_pace_recent(horizon, due, block->ios_per_ns, BLOCK_EVENTS_KEPT);
    ring_leave(block->ring, trace_clock_span(clock, leave_ns));
    uint64_t n = block->pace.level == BLOCK_COUNT ? ring_drain(block->ring, until, on_end, block)
                                                  : ring_drain_pairs(block->ring, until, on_pages, block);
    bool left = ring_reached(block->ring) < until;
    uint64_t reached = trace_clock_mono(clock, ring_reached(block->ring));
    if (reached > block->drained_ns) {
        block->ios_per_ns = (double)(block->stat->n_recent - ended) / (double)(reached - block->drained_ns);
        block->drained_ns = reached;
    }
    block->pace.busy_ns += now_ns() - begin;
    return n || left;
}

// Takes the kernel a tenth of a second or more: not in sample, where a frame waits for what was counted.
static void grow_when_due(struct block *block) {
    if (!block->grow_due)
        return;
    block->grow_due = false;
    block->grown = ring_pipe_grow(block->source.pipe, block->ring);
    if (block->grown)
        lost_until(block, now_ns());
}

// The start of a request parts what waits for a request (a full queue, a control group's share) from what waits in the
// queue. In a torrent nothing waits for one, and every event costs the program whose I/O it is: there the queue time
// begins with the bio.
static void starts_decide(struct block *block) {
    const struct block_counts *counts = block_match_counts(block->match);
    const struct block_formats *formats = &block->source.formats;
    if (!formats->kinds[BLOCK_START].present || !formats->kinds[BLOCK_BIO_QUEUE].present ||
        block->pace.level != BLOCK_FULL)
        return;
    bool gap = block->starts_gap;
    block->starts_gap = false;
    if (block_starts_drained(&block->starts, block->drained_ns, counts->issued, counts->unannounced, gap))
        block_source_switch(&block->source, BLOCK_START, !block->starts.without);
}

static void block_drain(struct collector_run *run) {
    struct block *block = run->state;
    // By half a drain: then the buffer holds what is left as well.
    bool any = drain_until(block, now_ns() - SETTLE_NS, run->due_ns > SETTLE_NS ? run->due_ns - SETTLE_NS : 0,
                           run->drain_ms * 1000000ull / 2);
    block_who_resolve(block->who, block->stat, now_ns()); // soon, before short-lived processes are gone
    uint32_t most = block->starts.without ? DRAIN_TORRENT_MS : DRAIN_MOST_MS;
    run->drain_ms =
        any ? ring_pipe_pace(block->source.pipe, block->ring, run->drain_ms, DRAIN_MS, most) : DRAIN_IDLE_MS;
    starts_decide(block);
    grow_when_due(block);
}

// ---- frames ----

// ktop's own threads, which come and go with what it looks at.
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

// Switches on what the level records, and off what it does not.
static void apply_level(struct block *block) {
    for (int kind = 0; kind < BLOCK_KINDS; kind++)
        if (block->source.formats.kinds[kind].present)
            block_source_switch(&block->source, kind, event_wanted(block, kind));
    lost_until(block, now_ns());
}

static void put_notes(struct block *block, struct section *out, uint64_t lost) {
    char text[256];
    const struct block_counts *now = block_match_counts(block->match), *was = &block->before;
    if (!block->source.formats.kinds[BLOCK_START].present)
        section_note(out, SEVERITY_INFO, "queue_us",
                     block->source.formats.kinds[BLOCK_INSERT].present
                         ? "queue times begin at the arrival of the bio: this kernel has no block_io_start event"
                         : "queue times begin at the arrival of the bio: this kernel tells no other",
                     "use Linux 6.5 or later");
    else if (block->starts.without)
        section_note(out, SEVERITY_INFO, "queue_us",
                     "queue times begin at the arrival of the bio while there are so many I/Os: block_io_start is off",
                     NULL);
    if (lost) {
        snprintf(text, sizeof(text), "%llu block events were lost: the kernel's buffer was full before ktop came to it",
                 (unsigned long long)lost);
        section_note(out, SEVERITY_WARNING, NULL, text, "the buffer grows by itself, up to 16 MiB per CPU");
    }
    if (block->pace.level != BLOCK_FULL) {
        block_pace_text(&block->pace, text, sizeof(text));
        section_note(out, SEVERITY_WARNING, NULL, text, "none: ktop tries again when it is quieter");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (now->unmatched_completions != was->unmatched_completions) {
        snprintf(text, sizeof(text), "%llu I/Os are not counted: they completed, and their issue was not recorded",
                 (unsigned long long)(now->unmatched_completions - was->unmatched_completions));
        section_note(out, SEVERITY_INFO, "unmatched_completions", text, NULL);
    }
    if (block->grown) {
        snprintf(text, sizeof(text), "the trace buffers of %u CPUs were enlarged: the kernel saw no I/O meanwhile",
                 block->grown);
        section_note(out, SEVERITY_WARNING, "unmatched_completions", text, "none: it happens when the rate jumps");
    }
    if (now->table_full != was->table_full) {
        snprintf(text, sizeof(text), "%llu I/Os were not followed: too many were in flight at once",
                 (unsigned long long)(now->table_full - was->table_full));
        section_note(out, SEVERITY_WARNING, NULL, text, NULL);
    }
    if (block->stat->procs_left_out) {
        snprintf(text, sizeof(text), "%llu I/Os are in no row of by_process: too many tasks did I/O at once",
                 (unsigned long long)block->stat->procs_left_out);
        section_note(out, SEVERITY_WARNING, "ios_per_s", text, NULL);
    }
}

static uint64_t lost_in_all(struct block *block) {
    struct ring_pipe_stats pipe;
    const struct ring_stats *ring = ring_stats(block->ring);
    ring_pipe_refresh(block->source.pipe);
    ring_pipe_stats(block->source.pipe, &pipe);
    // The kernel's counters and the sub-buffers' marks tell of the same events.
    uint64_t marked = ring->missed + ring->missed_unknown + ring->damaged, counted = pipe.overrun + pipe.dropped;
    return marked > counted ? marked : counted;
}

// How busy each disk was, from horizon to horizon. With a gap in the events nobody knows.
static void busy_take(struct block *block, uint64_t horizon, bool whole) {
    for (uint32_t i = 0; i < block->stat->n_devices; i++) {
        struct block_device *device = &block->stat->devices[i];
        uint64_t busy_ns = block_match_busy(block->match, device->dev, horizon);
        device->busy_ns = whole && block->pace.level != BLOCK_COUNT ? busy_ns : BLOCK_NOT_KNOWN;
    }
}

static int block_sample(struct collector_run *run, struct section *out) {
    struct block *block = run->state;
    struct timespec wall, mono;
    refresh_own(block, run->options);
    drain_until(block, run->end_ns - SETTLE_NS, 0, 0);
    uint64_t lost_total = lost_in_all(block), lost = lost_total - block->lost_before;
    block->lost_before = lost_total;
    if (run->first) { // what came before the first interval began belongs to none
        block_stat_clear(block->stat);
        block_who_tidy(block->who, run->end_ns);
    }
    clock_gettime(CLOCK_MONOTONIC, &mono);
    clock_gettime(CLOCK_REALTIME, &wall);
    struct block_waiting waiting[BLOCK_WAITING_MAX];
    size_t n_waiting = block_waiting_find(block->match, run->end_ns - BLOCK_WAITING_NS, waiting, BLOCK_WAITING_MAX);
    block_waiting_resolve(waiting, n_waiting, block->who);
    const struct block_fill fill = {
        .stat = block->stat,
        .names = block->names,
        .begin_ns = run->begin_ns,
        .end_ns = run->end_ns,
        .wall_offset_ns = (wall.tv_sec - mono.tv_sec) * 1000000000ll + (wall.tv_nsec - mono.tv_nsec),
        .who = block->who,
        .waiting = waiting,
        .n_waiting = n_waiting,
    };
    block_fill_disks(block->names, block->stat, block->match, run->end_ns);
    busy_take(block, run->end_ns - SETTLE_NS, !lost && !block->grown);
    block_limits_read(block->limits, now_ns());
    block_fill_section(&fill, out);
    block_limits_fill(block->limits, block->names, run->end_ns, out);
    put_series(block, out, (double)(run->end_ns - run->begin_ns) / 1e9, lost);
    put_notes(block, out, lost);
    if (ktop_numbers_differ())
        stream_note_numbers("its control group, and which I/O is ktop's own", run->options, out);
    const struct block_counts *counts = block_match_counts(block->match);
    section_events(out, counts->events - block->before.events + block->counted, lost);
    block->counted = 0;
    block->before = *counts;
    block_stat_clear(block->stat);
    block_who_tidy(block->who, run->end_ns);
    block_match_tidy(block->match, run->end_ns);
    block->grow_due = true;
    if (!run->first && block_pace_frame(&block->pace, run->end_ns - run->begin_ns, block->grown ? 0 : lost))
        apply_level(block);
    return 0;
}

// ---- the doctor ----

static void block_check(struct check_report *report) {
    struct block_source *source = xcalloc(1, sizeof(*source));
    struct check check = {.capability = "block events"};
    const char *step = "";
    char detail[96] = "";
    int error = block_source_open(source, "doctor-block", &(struct test_options){0}, &step, detail, sizeof(detail));
    check.works = !error;
    if (error) {
        block_source_explain(error, step, detail, check.detail, sizeof(check.detail), check.fix, sizeof(check.fix));
    } else {
        size_t at = (size_t)snprintf(check.detail, sizeof(check.detail), "clock %s, sub-buffers of %u KiB;",
                                     source->clock.name, ring_pipe_source(source->pipe).page_size / 1024);
        for (int kind = 0; kind < BLOCK_KINDS && at < sizeof(check.detail); kind++)
            if (source->formats.kinds[kind].present)
                at += (size_t)snprintf(check.detail + at, sizeof(check.detail) - at, " %s", block_event_names[kind]);
    }
    block_source_close(source);
    free(source);
    report->add(report, &check);
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
    .help = "Every request of the disks from the kernel's block events: latency and queue time of each, by disk, "
            "operation and process. Costs about 0.1 us of CPU per I/O.",
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
