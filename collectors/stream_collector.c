#include "collectors/stream_collector.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/task_identity.h"

#define PRIORITY_MOST_PCT 50 // of one CPU: the limit at realtime priority, whatever the user's budget
// Only programs' speed within the slices is measured.
#define SCALED "counts are scaled, and may be several times too low for programs that do little else"

int stream_collector_open(const struct stream_config *config, bool only_pids, struct collector_run *run,
                          struct stream **out) {
    const struct collect_options *options = run->options;
    struct stream_config own = *config;
    struct stream_failure failure = {.reason = ""};
    if (options) {
        own.buffer_kib = own.max_kib = options->test.buffer_kib;
        own.mono = options->test.clock_mono;
    }
    own.waits_for = &run->waits_for;
    if (options && options->show_self)
        own.on_self = NULL;
    if (options && only_pids) {
        own.pids = options->pids;
        own.n_pids = options->n_pids;
        own.children = options->children;
    }
    if (own.budget_pct) {
        if (options && options->budget_pct)
            own.budget_pct = options->budget_pct;
        // Sampling bounds its cost. At normal priority it could wait 50 ms for a CPU and the buffers would overflow.
        run->priority_pct = own.budget_pct * 5 / 4 < PRIORITY_MOST_PCT ? own.budget_pct * 5 / 4 : PRIORITY_MOST_PCT;
    }
    int error = stream_open(&own, &failure, out);
    if (error) {
        memcpy(run->reason, failure.reason, sizeof(run->reason));
        memcpy(run->fix, failure.fix, sizeof(run->fix));
    }
    run->drain_ms = STREAM_BUSY_MS;
    return error;
}

void stream_collector_next(struct stream *stream, struct collector_run *run, uint32_t most_ms) {
    run->drain_ms = stream_next_ms(stream, most_ms);
    run->poll_fd = stream_poll_fd(stream);
}

uint64_t stream_collector_drain(struct stream *stream, struct collector_run *run, uint32_t most_ms) {
    uint64_t n = stream_drain(stream);
    stream_collector_next(stream, run, most_ms);
    return n;
}

static void note_host_pids(const char *by_host_pid, const struct collect_options *options, struct section *out) {
    static const char fix[] = "run ktop in the first PID namespace (containers: --pid=host)";
    char text[256];
    snprintf(text, sizeof(text),
             "events carry host PIDs, which this PID namespace cannot map to processes; not available: %s",
             by_host_pid);
    section_note(out, SEVERITY_INFO, "pid", text, fix);
    if (thread_filters(options))
        section_note(out, SEVERITY_WARNING, "pid",
                     "no rows: --pid and --user cannot be applied to host PIDs in this PID namespace", fix);
}

void stream_collector_notes(const struct stream *stream, const struct stream_frame *frame, const char *by_host_pid,
                            const struct collect_options *options, struct section *out) {
    const char *what = stream_what(stream);
    char text[256];
    if (frame->ratio > 1) {
        if (frame->reason_lost)
            snprintf(text, sizeof(text), "sampled 1:%u: %s came faster than they could be read; " SCALED, frame->ratio,
                     what);
        else
            snprintf(text, sizeof(text), "sampled 1:%u: reading all %s took %.0f %% of a CPU; " SCALED, frame->ratio,
                     what, frame->reason_pct);
        section_note(out, SEVERITY_WARNING, NULL, text, "allow more CPU with --budget, or choose one process (--pid)");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (frame->lost) {
        snprintf(text, sizeof(text), "%llu %s were lost: a trace buffer was full before ktop read it",
                 (unsigned long long)frame->lost, what);
        section_note(out, SEVERITY_WARNING, NULL, text, "none: buffers grow; then ktop records less");
    }
    if (frame->refused) {
        snprintf(text, sizeof(text),
                 "recording %s could not be switched on or off %u time%s (%s): %.0f %% of the interval is recorded",
                 what, frame->refused, frame->refused > 1 ? "s" : "", strerror(frame->refused_error),
                 isnan(frame->scale) ? 0 : 100 / frame->scale);
        section_note(out, SEVERITY_WARNING, NULL, text, "see the kernel's log (dmesg)");
        section_set_state(out, SECTION_DEGRADED);
    }
    if (ktop_in_child_pidns())
        note_host_pids(by_host_pid, options, out);
    if (frame->sees_self) {
        snprintf(text, sizeof(text), "ktop's own %s are included: its threads are unknown in this PID namespace", what);
        section_note(out, SEVERITY_INFO, NULL, text, NULL);
    }
}

void stream_collector_check(const struct stream_config *config, const char *capability, struct check_report *report) {
    struct check check = {.capability = capability};
    struct stream_failure failure;
    check.works = !stream_try(config, &failure, check.detail, sizeof(check.detail));
    if (!check.works) {
        memcpy(check.detail, failure.reason, sizeof(check.detail));
        memcpy(check.fix, failure.fix, sizeof(check.fix));
    }
    report->add(report, &check);
}
