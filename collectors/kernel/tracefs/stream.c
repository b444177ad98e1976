// Opening a stream of kernel events, draining it, and its slices. It never writes to the top-level buffer or to another
// tool's tracing.
#include "collectors/kernel/tracefs/stream.h"

#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/tracefs/stream_capture.h"
#include "collectors/kernel/tracefs/stream_grow.h"
#include "collectors/kernel/tracefs/stream_pace.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/live.h"
#include "model/mem.h"

#define NS_PER_MS 1000000ull
#define IDLE_MS 30                  // between two drains of a stream that has no events, and no poll_fd
#define WINDOW_NS (300 * NS_PER_MS) // for the budget
#define PERIOD_NS (96 * NS_PER_MS)  // of slices: each holds one, at a random place

struct stream {
    struct stream_config config;
    struct trace_clock clock;
    struct capture capture;
    struct stream_grow grow;
    struct stream_pace pace;
    struct stream_rate rate;
    uint32_t wanted;                                 // events: a bit each
    uint64_t window_ns, window_busy_ns, window_lost; // begin; CPU time; marks of lost events at the begin
    uint64_t window_events;
    bool on;
    uint64_t mark_ns;            // since when `on` is not accounted yet
    uint64_t slice_ns, next_ns;  // end of the slice or of the pause; begin of the next period
    uint64_t on_ns, off_ns;      // of the frame
    uint64_t events;             // of the frame
    uint32_t drain_ms;           // interval to the next drain
    bool any;                    // the last drain found something
    bool idle;                   // the first event wakes the owner
    uint64_t lost_of_old;        // of instances that were replaced
    uint64_t lost_before, marks; // at the last frame; marks at the last look
    uint32_t ratio_most;         // of the frame
    bool growing;                // in the frame
    uint32_t refused;            // of the frame: how often the kernel did not switch on or off
    int refused_error;           // the last
    uint32_t random;
};

// ---- opening ----

static int set_up(struct stream *stream, struct capture_step *failed) {
    const struct stream_config *config = &stream->config;
    const struct capture_size size = {0};
    stream->clock = config->mono ? TRACE_CLOCK_MONO : trace_clock_choose();
    int error = capture_open(&stream->capture, config, stream->clock.name, &size, failed);
    if (error)
        return error;
    failed->step = "enabling the event";
    if (config->waits_for)
        atomic_store(config->waits_for, "its events to be enabled");
    stream->wanted = (uint32_t)((1ull << config->n_events) - 1);
    error = capture_switch(&stream->capture, stream->wanted, true, failed);
    for (size_t i = 0; i < config->n_events && !error; i++)
        config->events[i].present &= stream->capture.enabled >> i & 1;
    trace_clock_read(&stream->clock, 0);
    return error;
}

static void explain(const struct stream_config *config, int error, const struct capture_step *failed,
                    struct stream_failure *out) {
    char built_with[160];
    const struct tracing_failure failure = {.events = config->what,
                                            .error = error,
                                            .step = failed->step,
                                            .detail = failed->detail,
                                            .built_with = built_with};
    snprintf(built_with, sizeof(built_with), "CONFIG_EVENT_TRACING and its %.90s", failed->detail);
    tracing_explain_events(&failure, out->reason, sizeof(out->reason), out->fix, sizeof(out->fix));
}

int stream_open(const struct stream_config *config, struct stream_failure *failure, struct stream **out) {
    struct stream *stream = xcalloc(1, sizeof(*stream));
    struct capture_step failed = {.step = ""};
    *out = NULL;
    stream->config = *config;
    int error = set_up(stream, &failed);
    if (error) {
        explain(config, error, &failed, failure);
        stream_close(stream);
        return error;
    }
    stream_pace_init(&stream->pace, config->budget_pct / 100.0);
    stream->on = true;
    stream->ratio_most = 1;
    stream->mark_ns = stream->window_ns = now_ns();
    stream->random = (uint32_t)stream->mark_ns | 1;
    stream->drain_ms = STREAM_BUSY_MS;
    *out = stream;
    return 0;
}

void stream_close(struct stream *stream) {
    if (!stream)
        return;
    stream_grow_end(&stream->grow);
    capture_close(&stream->capture);
    free(stream);
}

const struct trace_clock *stream_clock(const struct stream *stream) {
    return &stream->clock;
}

uint64_t stream_cpu_lost(const struct stream *stream, uint32_t cpu) {
    return ring_pipe_lost(stream->capture.pipe, cpu);
}

uint32_t stream_cpus(const struct stream *stream) {
    return ring_pipe_source(stream->capture.pipe).n_cpus;
}

const char *stream_instance(const struct stream *stream) {
    return stream->capture.dir;
}

const char *stream_what(const struct stream *stream) {
    return stream->config.what;
}

// ---- draining ----

static void gap(struct stream *stream, uint64_t until_ns) {
    if (stream->config.on_gap)
        stream->config.on_gap(stream->config.ctx, until_ns);
}

static void gap_check(struct stream *stream) {
    uint64_t marks = capture_marks(&stream->capture);
    if (__builtin_expect(marks == stream->marks, 1))
        return;
    stream->marks = marks;
    gap(stream, trace_clock_mono(&stream->clock, ring_stats(stream->capture.ring)->gap_ts));
}

// Before what follows the gap is decoded: two CPUs' runs are long, and this costs nothing.
static uint64_t on_pair(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct stream *stream = ctx;
    gap_check(stream);
    return stream->config.on_pair(stream->config.ctx, pages, limit);
}

static uint64_t drain_ring(struct stream *stream, uint64_t until) {
    const struct stream_config *config = &stream->config;
    struct ring *ring = stream->capture.ring;
    uint64_t n = config->on_pair  ? ring_drain_pairs(ring, until, on_pair, stream)
                 : config->on_run ? ring_drain_runs(ring, until, config->slack_ns, config->on_run, config->ctx)
                                  : ring_drain(ring, until, config->on_event, config->ctx);
    gap_check(stream);
    return n;
}

// The horizon is before the call, or events are off: the ktop threads that wrote these events are then known.
static uint64_t drain_all(struct stream *stream, uint64_t horizon_ns, uint64_t leave_ns) {
    struct trace_clock *clock = &stream->clock;
    struct capture *capture = &stream->capture;
    bool filters_change = stream_self_poll(capture->self);
    uint64_t before = stream->config.budget_pct ? thread_cpu_ns() : 0, n = 0;
    uint64_t reached = ring_reached(capture->ring);
    if (!trace_clock_read(clock, reached == UINT64_MAX ? 0 : reached)) // all of a slice was read
        gap(stream, now_ns());
    if (stream_grow_due(&stream->grow, capture, stream->on, clock, horizon_ns)) {
        ring_leave(capture->ring, 0);
        n = drain_ring(stream, stream->grow.cut);
        stream->lost_of_old += stream_grow_hand_over(&stream->grow, capture);
        stream->marks = stream->window_lost = 0;
    }
    ring_leave(capture->ring, trace_clock_span(clock, leave_ns));
    uint64_t until = horizon_ns == UINT64_MAX ? UINT64_MAX : trace_clock_time(clock, horizon_ns);
    n += drain_ring(stream, until);
    if (stream->pace.ratio == 1 && !filters_change)
        stream_grow_look(&stream->grow, capture, clock->name);
    stream->growing |= stream->grow.state == GROW_MAKE || stream->grow.state == GROW_CUT;
    stream->any = n || ring_reached(capture->ring) < until;
    stream->events += n;
    stream->window_events += n;
    // Excludes the cost of slices: it ends when sampling ends.
    stream->window_busy_ns += stream->config.budget_pct ? thread_cpu_ns() - before : 0;
    return n;
}

static void account(struct stream *stream, uint64_t until) {
    if (until <= stream->mark_ns)
        return;
    *(stream->on ? &stream->on_ns : &stream->off_ns) += until - stream->mark_ns;
    stream->mark_ns = until;
}

// ---- slices ----

// If the kernel refuses, the state stays and is accounted as it is; the next drain tries again.
static void switch_to(struct stream *stream, bool on) {
    struct capture_step failed;
    if (on == stream->on)
        return;
    if (on)
        gap(stream, now_ns());
    int error = capture_switch(&stream->capture, on ? stream->wanted : 0, on, &failed);
    account(stream, now_ns());
    if (!error) {
        stream->on = on;
        return;
    }
    if (on)
        capture_switch(&stream->capture, 0, false, &failed); // not even some of the events
    stream->refused++;
    stream->refused_error = -error;
    stream->slice_ns = 0;
}

// Opens and closes slices when due.
static uint64_t slices(struct stream *stream) {
    uint64_t now = now_ns(), n = 0;
    if (stream->grow.state == GROW_CUT && stream->grow.cut) // two instances record: soon it is one
        return 0;
    if (stream->pace.ratio == 1) {
        switch_to(stream, true);
        stream->slice_ns = stream->next_ns = 0;
        return 0;
    }
    if (stream->slice_ns && now < stream->slice_ns)
        return 0;
    uint64_t length = PERIOD_NS / stream->pace.ratio;
    if (stream->on) {
        switch_to(stream, false);
        if (stream->on)
            return 0;
        n = drain_all(stream, UINT64_MAX, 0);
        // At a random time in the next period, so that slices do not alias with periodic work.
        stream->random = stream->random * 1664525u + 1013904223u;
        uint64_t begin = stream->next_ns > now ? stream->next_ns : now;
        stream->slice_ns = begin + (stream->random >> 8) % (PERIOD_NS - length + 1);
        stream->next_ns = begin + PERIOD_NS;
    } else {
        switch_to(stream, true);
        if (stream->on)
            stream->slice_ns = stream->mark_ns + length;
    }
    return n;
}

// Does not wait for the window's end once its events alone make a high rate.
static void keep_filters(struct stream *stream, uint64_t now) {
    uint64_t length = now - stream->window_ns;
    double per_s = 1e9 * (double)stream->window_events / (double)(length < WINDOW_NS ? WINDOW_NS : length);
    bool sampled = !stream->on || stream->pace.ratio > 1;
    if ((length >= WINDOW_NS || per_s >= STREAM_RATE_HIGH) && stream->grow.state == GROW_IDLE)
        stream_self_rate(stream->capture.self, stream_rate_window(&stream->rate, per_s, sampled));
}

static void keep_budget(struct stream *stream, uint64_t now) {
    keep_filters(stream, now);
    if (now - stream->window_ns < WINDOW_NS)
        return;
    uint64_t marks = capture_marks(&stream->capture), lost = stream->growing ? 0 : marks - stream->window_lost;
    double share = (double)stream->window_busy_ns / (double)(now - stream->window_ns);
    stream_pace_window(&stream->pace, share, lost);
    if (stream->pace.ratio > stream->ratio_most)
        stream->ratio_most = stream->pace.ratio;
    stream->window_ns = now;
    stream->window_busy_ns = stream->window_events = 0;
    stream->window_lost = marks;
}

uint64_t stream_drain_until(struct stream *stream, uint64_t horizon_ns, uint64_t leave_ns) {
    return drain_all(stream, horizon_ns, leave_ns);
}

uint64_t stream_drain(struct stream *stream) {
    uint64_t n = 0;
    if (stream->on)
        n = stream_drain_until(stream, now_ns() - STREAM_SETTLE_NS, 0);
    n += slices(stream);
    if (stream->config.budget_pct)
        keep_budget(stream, now_ns());
    return n;
}

uint64_t stream_reached(const struct stream *stream) {
    return trace_clock_mono(&stream->clock, ring_reached(stream->capture.ring));
}

// Of a stream that samples: the end of the slice or of the pause.
static uint32_t slice_ms(const struct stream *stream, uint32_t most_ms) {
    uint64_t now = now_ns();
    uint64_t left = stream->slice_ns > now ? (stream->slice_ns - now + NS_PER_MS / 2) / NS_PER_MS : 0;
    return left < 1 ? 1 : left < most_ms ? (uint32_t)left : most_ms;
}

// Nothing is recorded that is too young yet.
static bool is_empty(const struct stream *stream) {
    struct pollfd fd = {.fd = ring_pipe_poll_fd(stream->capture.pipe), .events = POLLIN};
    return !stream->any && !ring_holds(stream->capture.ring) && fd.fd >= 0 && poll(&fd, 1, 0) == 0;
}

uint32_t stream_next_ms(struct stream *stream, uint32_t most_ms) {
    const struct capture *capture = &stream->capture;
    bool changes = stream->grow.side.running || stream->grow.state == GROW_CUT || stream_self_poll(capture->self);
    stream->idle = stream->on && !stream->slice_ns && !changes && is_empty(stream);
    if (stream->slice_ns || !stream->on)
        stream->drain_ms = slice_ms(stream, stream->on ? STREAM_BUSY_MS : IDLE_MS);
    else if (stream->idle)
        stream->drain_ms = STREAM_IDLE_MS;
    else if (stream->any)
        stream->drain_ms = ring_pipe_pace(capture->pipe, capture->ring, stream->drain_ms, STREAM_BUSY_MS, most_ms);
    else
        stream->drain_ms = ring_pipe_poll_fd(capture->pipe) < 0 ? IDLE_MS : STREAM_BUSY_MS;
    return stream->drain_ms;
}

int stream_poll_fd(const struct stream *stream) {
    return stream->idle ? ring_pipe_poll_fd(stream->capture.pipe) : -1;
}

void stream_event_switch(struct stream *stream, size_t event, bool on) {
    struct capture_step failed;
    stream->wanted = on ? stream->wanted | 1u << event : stream->wanted & ~(1u << event);
    if (!stream->on)
        return;
    capture_switch(&stream->capture, stream->wanted, true, &failed);
    if (stream->grow.state == GROW_CUT)
        capture_switch(&stream->grow.next, stream->wanted, true, &failed);
}

// ---- frames ----

void stream_frame(struct stream *stream, struct stream_frame *out) {
    uint64_t lost = stream->lost_of_old + capture_lost(&stream->capture), now = now_ns();
    stream_self_refresh(stream->capture.self);
    // What is not drained yet belongs to the next frame.
    account(stream, stream->on ? now - STREAM_SETTLE_NS : now);
    *out = (struct stream_frame){
        .events = stream->events,
        .lost = lost - stream->lost_before,
        .ratio = stream->ratio_most,
        .scale = !stream->off_ns ? 1
                 : stream->on_ns ? 1 + (double)stream->off_ns / (double)stream->on_ns
                                 : NAN,
        .on_ns = stream->on_ns,
        .upto_ns = stream->on ? now - STREAM_SETTLE_NS : stream->mark_ns,
        .growing = stream->growing,
        .refused = stream->refused,
        .refused_error = stream->refused_error,
        .sees_self = stream->config.on_self && !stream->config.with_self && ktop_in_child_pidns(),
        .reason_lost = stream->pace.lost,
        .reason_pct = 100 * stream->pace.share,
    };
    stream->lost_before = lost;
    stream->events = stream->on_ns = stream->off_ns = 0;
    stream->refused = 0;
    stream->growing = false;
    stream->ratio_most = stream->pace.ratio;
}

// ---- the doctor ----

int stream_try(const struct stream_config *config, struct stream_failure *failure, char *text, size_t size) {
    char name[64];
    struct stream *stream;
    struct stream_config own = *config;
    snprintf(name, sizeof(name), "doctor-%s", config->name);
    own.name = name;
    int error = stream_open(&own, failure, &stream);
    if (error)
        return error;
    size_t at = (size_t)snprintf(text, size, "clock %s, sub-buffers of %u KiB;", stream->clock.name,
                                 ring_pipe_source(stream->capture.pipe).page_size / 1024);
    for (size_t i = 0; i < config->n_events && at < size; i++)
        if (config->events[i].present)
            at += (size_t)snprintf(text + at, size - at, " %s", config->events[i].name);
    stream_close(stream);
    return 0;
}
