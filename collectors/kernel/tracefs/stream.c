// Opening a stream of kernel events, draining it, and its slices. It never writes to the top-level buffer, and touches
// no tracing that is not its own.
#include "collectors/kernel/tracefs/stream.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/ring_pipe.h"
#include "collectors/kernel/tracefs/stream_clock.h"
#include "collectors/kernel/tracefs/stream_pace.h"
#include "collectors/kernel/tracefs/stream_self.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/task_identity.h"
#include "model/live.h"
#include "model/mem.h"

#define NS_PER_MS 1000000ull
#define DRAIN_MS 10
#define PRIORITY_MOST_PCT 50 // of one CPU, that it may take before others whatever the user allows
#define DRAIN_IDLE_MS 30
// Events this young wait for the next drain: one whose writer was interrupted hides the ones after it on its CPU, and
// CPUs are not read at the same moment.
#define SETTLE_NS (5 * NS_PER_MS)
#define CLOCK_NEAR_NS 200000 // a reading of the stream's clock takes 20 to 60 us
#define CLOCK_TRIES 3
#define WINDOW_NS (300 * NS_PER_MS) // for the budget
// A slice measures programs at the speed that they have in it.
#define SCALED "scaled, and may be several times too low for programs that do little else: recording slows them down"
#define PERIOD_NS (96 * NS_PER_MS) // of slices: each holds one, at a place of its own

struct stream {
    struct stream_config config;
    char instance[256];
    bool created;
    struct ring_pipe *pipe;
    struct ring *ring;
    struct stream_own *own;
    struct stream_clock clock;
    struct stream_pace pace;
    struct stream_torrent torrent;
    uint64_t window_ns, window_busy_ns, window_lost; // since when; CPU time; marks of lost events at its begin
    uint64_t window_events;
    bool on;
    uint64_t mark_ns;           // since when `on` is not accounted yet
    uint64_t slice_ns, next_ns; // end of the slice or of the pause; begin of the next period
    uint64_t on_ns, off_ns;     // of the frame
    uint64_t busy_ns, events;   // of the frame
    uint64_t lost_before, gaps; // at the last frame; marks at the last drain
    uint32_t ratio_most, grown; // of the frame
    uint32_t refused;           // of the frame: how often the kernel did not switch on or off
    int refused_error;          // the last
    uint32_t random;
};

// ---- opening ----

// The scheduler's clock costs 13 ns less an event. It is the same on all CPUs where it is the TSC, or ARM's timer.
static const char *clock_of(const struct stream_config *config) {
    char source[64];
    if (config->exact_clock || (config->options && config->options->test.clock_mono))
        return "mono";
#ifdef __aarch64__
    return "local";
#endif
    if (format_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source)) <= 0)
        return "mono";
    return strcmp(source, "tsc\n") ? "mono" : "local";
}

static uint32_t least(uint64_t a, uint64_t b) {
    return (uint32_t)(a < b ? a : b);
}

// Small machines get room for a torrent at once, for growing makes a gap; many CPUs share what they need little of
// each.
static struct ring_pipe_config pipe_config(const struct stream_config *config, const char *instance) {
    uint64_t cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t ram_kib = (uint64_t)sysconf(_SC_PHYS_PAGES) * ((uint64_t)sysconf(_SC_PAGESIZE) / 1024);
    uint64_t start = config->torrent ? least(65536, ram_kib / 64) / cpus : 0;
    uint32_t small = cpus <= 16 ? 1024 : 512;
    uint32_t fixed = config->options ? config->options->test.buffer_kib : 0;
    struct ring_pipe_config out = {.instance = instance, .clock = clock_of(config), .subbuf_kib = cpus <= 16 ? 64 : 16};
    if (fixed) {
        out.buffer_kib = out.max_kib = fixed;
        out.subbuf_kib = 4;
        return out;
    }
    out.buffer_kib = start < small ? small : least(start, 16384);
    out.max_kib = least(ram_kib / 32 / cpus, 16384);
    if (out.max_kib < out.buffer_kib)
        out.max_kib = out.buffer_kib;
    return out;
}

static int read_formats(struct stream *stream, const char **step, char *detail, size_t size) {
    for (size_t i = 0; i < stream->config.n_events; i++) {
        struct stream_event *event = &stream->config.events[i];
        const char *missing = NULL;
        int error = format_read(stream->instance, event->system, event->name, event->fields, event->n_fields,
                                &event->id, &missing);
        event->present = !error;
        if (!error || event->optional)
            continue;
        *step = "reading the format of the event";
        snprintf(detail, size, "%s:%s%s%s", event->system, event->name, missing ? " has no field " : "",
                 missing ? missing : "");
        return error;
    }
    return 0;
}

// The last step of both is the quick one, so that slices have sharp edges. An error: it is not as it was wanted to be;
// either of the two keeps everything from being recorded.
static int events_switch(struct stream *stream, bool on, char *detail, size_t size) {
    int result = 0;
    bool stopped = !on && !instance_write(stream->instance, "tracing_on", "0");
    for (size_t i = 0; i < stream->config.n_events; i++) {
        const struct stream_event *event = &stream->config.events[i];
        char file[160];
        snprintf(file, sizeof(file), "events/%s/%s/enable", event->system, event->name);
        int error = event->present ? instance_write(stream->instance, file, on ? "1" : "0") : 0;
        if (!error || event->optional || result)
            continue;
        snprintf(detail, size, "%s:%s", event->system, event->name);
        result = error;
    }
    if (on && !result) {
        snprintf(detail, size, "tracing_on");
        result = instance_write(stream->instance, "tracing_on", "1");
    }
    return stopped ? 0 : result;
}

// The statistics tell the stream's time. False: not a reading, or one that took long.
static bool clock_compare(struct stream *stream) {
    uint64_t before = now_ns();
    const char *text = ring_pipe_stats_text(stream->pipe, 0);
    if (!text)
        return false;
    uint64_t after = now_ns();
    const char *at = strstr(text, "\nnow ts:");
    unsigned long long seconds = 0, us = 0;
    if (!at || sscanf(at + 8, " %llu.%llu", &seconds, &us) != 2)
        return false;
    stream_clock_reading(&stream->clock, before, seconds * 1000000 + us, after);
    return after - before < CLOCK_NEAR_NS;
}

static void clock_keep(struct stream *stream) {
    for (int i = 0; i < CLOCK_TRIES && !stream->config.exact_clock && !clock_compare(stream); i++)
        ;
}

static int set_up(struct stream *stream, struct collector_run *run, const char **step, char *detail, size_t size) {
    *step = "making a tracefs instance";
    atomic_store(&run->waits_for, "a tracefs instance of its own");
    int error = instance_create(stream->config.name, stream->instance, sizeof(stream->instance));
    if (error)
        return error;
    stream->created = true;
    const struct ring_pipe_config config = pipe_config(&stream->config, stream->instance);
    error = read_formats(stream, step, detail, size);
    atomic_store(&run->waits_for, "its trace buffers");
    if (!error)
        error = ring_pipe_open(&config, &stream->pipe, step);
    atomic_store(&run->waits_for, "the filters of its events");
    if (!error)
        error = stream_own_new(&stream->config, stream->instance, &stream->own, step);
    if (error)
        return error;
    clock_keep(stream);
    *step = "switching on the event";
    atomic_store(&run->waits_for, "its events to be switched on");
    return events_switch(stream, true, detail, size);
}

static void explain(const struct stream_config *config, int error, const char *step, const char *detail,
                    struct collector_run *run) {
    char built_with[80];
    const struct tracefs_failure failure = {
        .events = config->what, .error = error, .step = step, .detail = detail, .built_with = built_with};
    snprintf(built_with, sizeof(built_with), "CONFIG_EVENT_TRACING and its %.40s", detail);
    tracefs_explain_events(&failure, run->reason, sizeof(run->reason), run->fix, sizeof(run->fix));
}

int stream_open(const struct stream_config *config, struct collector_run *run, struct stream **out) {
    struct stream *stream = xcalloc(1, sizeof(*stream));
    const char *step = "";
    char detail[96] = "";
    *out = NULL;
    stream->config = *config;
    int error = set_up(stream, run, &step, detail, sizeof(detail));
    if (error) {
        explain(config, error, step, detail, run);
        stream_close(stream);
        return error;
    }
    const struct ring_source source = ring_pipe_source(stream->pipe);
    const struct collect_options *options = config->options;
    stream->ring = ring_new(&source);
    uint32_t budget_pct = options && options->budget_pct ? options->budget_pct : STREAM_BUDGET_PCT;
    stream_pace_init(&stream->pace, budget_pct / 100.0);
    // Sampling bounds it; behind others' turns of 50 ms the buffers of a torrent would overflow.
    run->priority_pct = budget_pct * 5 / 4 < PRIORITY_MOST_PCT ? budget_pct * 5 / 4 : PRIORITY_MOST_PCT;
    stream->on = true;
    stream->ratio_most = 1;
    stream->mark_ns = stream->window_ns = now_ns();
    stream->random = (uint32_t)stream->mark_ns | 1;
    run->drain_ms = DRAIN_MS;
    *out = stream;
    return 0;
}

void stream_close(struct stream *stream) {
    if (!stream)
        return;
    ring_free(stream->ring);
    ring_pipe_free(stream->pipe); // open pipes keep the instance busy
    stream_own_free(stream->own);
    if (stream->created)
        instance_remove(stream->instance);
    free(stream);
}

uint64_t stream_mono(const struct stream *stream, uint64_t ts) {
    return ts + (uint64_t)stream->clock.offset_ns;
}

uint64_t stream_time(const struct stream *stream, uint64_t mono_ns) {
    return mono_ns - (uint64_t)stream->clock.offset_ns;
}

uint32_t stream_cpus(const struct stream *stream) {
    return ring_pipe_source(stream->pipe).n_cpus;
}

// ---- draining ----

static uint64_t marks_of_loss(const struct stream *stream) {
    const struct ring_stats *stats = ring_stats(stream->ring);
    return stats->missed + stats->missed_unknown + stats->damaged;
}

static void gap(struct stream *stream) {
    if (stream->config.on_gap)
        stream->config.on_gap(stream->config.ctx);
}

// The horizon is from before the call, or events are off: then the threads of ktop that wrote these events are known.
static uint64_t drain_until(struct stream *stream, uint64_t horizon) {
    const struct stream_config *config = &stream->config;
    stream_own_poll(stream->own);
    uint64_t before = thread_cpu_ns();
    uint64_t n = config->on_run ? ring_drain_runs(stream->ring, horizon, config->slack_ns, config->on_run, config->ctx)
                                : ring_drain(stream->ring, horizon, config->on_event, config->ctx);
    uint64_t marks = marks_of_loss(stream);
    if (marks != stream->gaps)
        gap(stream);
    stream->gaps = marks;
    stream->events += n;
    stream->window_events += n;
    // Without what slices themselves cost: that ends when the sampling does.
    stream->window_busy_ns += thread_cpu_ns() - before;
    return n;
}

static void account(struct stream *stream, uint64_t until) {
    if (until <= stream->mark_ns)
        return;
    *(stream->on ? &stream->on_ns : &stream->off_ns) += until - stream->mark_ns;
    stream->mark_ns = until;
}

// ---- slices ----

// When the kernel refuses, it stays as it was, which is what is accounted; the next drain tries again.
static void switch_to(struct stream *stream, bool on) {
    char detail[96];
    if (on == stream->on)
        return;
    if (on)
        gap(stream);
    int error = events_switch(stream, on, detail, sizeof(detail));
    account(stream, now_ns());
    if (!error) {
        stream->on = on;
        return;
    }
    if (on)
        events_switch(stream, false, detail, sizeof(detail)); // not even some of the events
    stream->refused++;
    stream->refused_error = -error;
    stream->slice_ns = 0;
}

// Opens and closes slices, when their time has come.
static uint64_t slices(struct stream *stream) {
    uint64_t now = now_ns(), n = 0;
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
        n = drain_until(stream, UINT64_MAX);
        // Somewhere in the next period, so that nothing periodic keeps step with the slices.
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

// Within a window as soon as enough has come for all of it.
static void keep_lists(struct stream *stream, uint64_t now) {
    uint64_t length = now - stream->window_ns;
    double per_s = 1e9 * (double)stream->window_events / (double)(length < WINDOW_NS ? WINDOW_NS : length);
    bool sampled = !stream->on || stream->pace.ratio > 1;
    if (length >= WINDOW_NS || per_s >= STREAM_TORRENT_FROM)
        stream_own_torrent(stream->own, stream_torrent_window(&stream->torrent, per_s, sampled));
}

static void keep_budget(struct stream *stream, uint64_t now) {
    keep_lists(stream, now);
    if (now - stream->window_ns < WINDOW_NS)
        return;
    uint64_t marks = marks_of_loss(stream), lost = marks - stream->window_lost;
    uint32_t grown = stream->on ? ring_pipe_grow(stream->pipe, stream->ring) : 0;
    stream->grown += grown;
    if (grown) {
        gap(stream);
        lost = 0;
    }
    double share = (double)stream->window_busy_ns / (double)(now - stream->window_ns);
    stream_pace_window(&stream->pace, share, lost);
    if (stream->pace.ratio > stream->ratio_most)
        stream->ratio_most = stream->pace.ratio;
    stream->window_ns = now;
    stream->window_busy_ns = stream->window_events = 0;
    stream->window_lost = marks;
}

static uint32_t next_drain_ms(const struct stream *stream, uint64_t events) {
    uint64_t now = now_ns();
    uint32_t ms = !stream->on ? UINT32_MAX : events ? DRAIN_MS : DRAIN_IDLE_MS;
    if (!stream->slice_ns)
        return stream->on ? ms : DRAIN_IDLE_MS;
    uint64_t left = stream->slice_ns > now ? (stream->slice_ns - now + NS_PER_MS / 2) / NS_PER_MS : 0;
    return left < 1 ? 1 : left < ms ? (uint32_t)left : ms;
}

uint64_t stream_drain(struct stream *stream, struct collector_run *run) {
    uint64_t before = thread_cpu_ns(), n = 0;
    if (stream->on)
        n = drain_until(stream, stream_time(stream, now_ns() - SETTLE_NS));
    n += slices(stream);
    stream->busy_ns += thread_cpu_ns() - before;
    keep_budget(stream, now_ns());
    run->drain_ms = next_drain_ms(stream, n);
    return n;
}

// ---- frames ----

static uint64_t lost_in_all(struct stream *stream) {
    struct ring_pipe_stats pipe;
    ring_pipe_refresh(stream->pipe);
    ring_pipe_stats(stream->pipe, &pipe);
    // The kernel's counters and the sub-buffers' marks tell of the same events.
    uint64_t marked = marks_of_loss(stream), counted = pipe.overrun + pipe.dropped;
    return marked > counted ? marked : counted;
}

void stream_frame(struct stream *stream, struct collector_run *run, struct stream_frame *out) {
    uint64_t lost = lost_in_all(stream), now = now_ns();
    stream_own_refresh(stream->own);
    clock_keep(stream);
    // What is not drained yet belongs to the next frame.
    account(stream, stream->on ? now - SETTLE_NS : now);
    uint64_t length = run->end_ns - run->begin_ns;
    *out = (struct stream_frame){
        .events = stream->events,
        .lost = lost - stream->lost_before,
        .ratio = stream->ratio_most,
        .scale = !stream->off_ns ? 1
                 : stream->on_ns ? 1 + (double)stream->off_ns / (double)stream->on_ns
                                 : NAN,
        .on_ns = stream->on_ns,
        .upto_ns = stream->on ? now - SETTLE_NS : stream->mark_ns,
        .grown = stream->grown,
        .refused = stream->refused,
        .refused_error = stream->refused_error,
        .cpu_pct = length ? 100.0 * (double)stream->busy_ns / (double)length : 0,
        .sees_self = !stream_own_excluded(stream->own),
        .reason_lost = stream->pace.lost,
        .reason_pct = 100 * stream->pace.share,
    };
    stream->lost_before = lost;
    stream->events = stream->on_ns = stream->off_ns = stream->busy_ns = 0;
    stream->grown = stream->refused = 0;
    stream->ratio_most = stream->pace.ratio;
}

void stream_note_numbers(const char *by_number, const struct collect_options *options, struct section *out) {
    static const char fix[] = "run ktop in the first PID namespace (containers: --pid=host)";
    char text[256];
    snprintf(text, sizeof(text),
             "threads have the numbers of the kernel's events, which are not those of this PID namespace: to which "
             "process they belong is not known, nor %s",
             by_number);
    section_note(out, SEVERITY_INFO, "pid", text, fix);
    if (thread_filters(options))
        section_note(out, SEVERITY_WARNING, "pid",
                     "nobody is shown: whom --pid and --user mean is not known among the kernel's events", fix);
}

void stream_notes(const struct stream *stream, const struct stream_frame *frame, struct section *out) {
    const char *what = stream->config.what;
    char text[256];
    if (frame->ratio > 1) {
        if (frame->reason_lost)
            snprintf(text, sizeof(text), "sampled 1:%u: %s came faster than they could be read; counts are " SCALED,
                     frame->ratio, what);
        else
            snprintf(text, sizeof(text), "sampled 1:%u: reading all %s took %.0f %% of a CPU; counts are " SCALED,
                     frame->ratio, what, frame->reason_pct);
        section_note(out, SEVERITY_WARNING, NULL, text, "allow more CPU with --budget, or look at one process (--pid)");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (frame->lost) {
        snprintf(text, sizeof(text), "%llu %s were lost: the kernel's buffer was full before ktop came to it",
                 (unsigned long long)frame->lost, what);
        section_note(out, SEVERITY_WARNING, NULL, text, "none: ktop samples when it goes on");
    }
    if (frame->refused) {
        snprintf(text, sizeof(text),
                 "recording %s could not be switched on or off %u time%s (%s): %.0f %% of the interval is recorded",
                 what, frame->refused, frame->refused > 1 ? "s" : "", strerror(frame->refused_error),
                 isnan(frame->scale) ? 0 : 100 / frame->scale);
        section_note(out, SEVERITY_WARNING, NULL, text, "see the kernel's log (dmesg)");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (frame->grown) {
        snprintf(text, sizeof(text), "the trace buffers of %u CPUs were enlarged: the kernel recorded no %s meanwhile",
                 frame->grown, what);
        section_note(out, SEVERITY_WARNING, NULL, text, "none: it happens when the rate jumps");
    }
    if (ktop_numbers_differ())
        stream_note_numbers(stream->config.by_number, stream->config.options, out);
    if (frame->sees_self) {
        snprintf(text, sizeof(text), "ktop's own %s are among these: the kernel could not be told to leave them out",
                 what);
        section_note(out, SEVERITY_INFO, NULL, text, NULL);
    }
}

// ---- the doctor ----

void stream_check(const struct stream_config *config, const char *capability, struct check_report *report) {
    struct stream *stream = xcalloc(1, sizeof(*stream));
    struct collector_run run = {0};
    struct check check = {.capability = capability};
    const char *step = "";
    char detail[96] = "", name[64];
    snprintf(name, sizeof(name), "doctor-%s", config->name);
    stream->config = *config;
    stream->config.name = name;
    int error = set_up(stream, &run, &step, detail, sizeof(detail));
    check.works = !error;
    if (error) {
        explain(config, error, step, detail, &run);
        memcpy(check.detail, run.reason, sizeof(check.detail));
        memcpy(check.fix, run.fix, sizeof(check.fix));
    } else {
        size_t at = (size_t)snprintf(check.detail, sizeof(check.detail), "clock %s, sub-buffers of %u KiB%s;",
                                     clock_of(config), ring_pipe_source(stream->pipe).page_size / 1024,
                                     stream_own_excluded(stream->own) ? "" : ", with ktop's own");
        for (size_t i = 0; i < config->n_events && at < sizeof(check.detail); i++)
            if (config->events[i].present)
                at += (size_t)snprintf(check.detail + at, sizeof(check.detail) - at, " %s", config->events[i].name);
    }
    stream_close(stream);
    report->add(report, &check);
}
