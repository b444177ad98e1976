// Rules about the kernel: errors that it logs, steps of its clock, and tracing that is left on.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

#define SHOWN_MAX 3 // in a frame: what follows is often the consequence

// Other rules say more about these.
static bool is_known(const char *text) {
    static const char *const known[] = {"Out of memory", "Memory cgroup out of memory", "oom-kill"};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (!strncmp(text, known[i], strlen(known[i])))
            return true;
    return false;
}

static void check_kernel_error(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, kernel_errors));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0, shown = 0;
    for (const union cell *row; table && shown < SHOWN_MAX && (row = table_next(table, &cursor));) {
        const struct text *text = text_at(row, COL(def, kernel_errors, text)),
                          *level = text_at(row, COL(def, kernel_errors, level));
        if (!text || !level || is_known(text_bytes(text)))
            continue;
        double count = num_at(row, COL(def, kernel_errors, count));
        char comm[32], times[48] = "";
        int pid;
        struct culprit culprit = NO_CULPRIT;
        const struct text *named = NULL;
        // "INFO: task dd:812 blocked for more than 120 seconds."
        const char *task = strstr(text_bytes(text), "task ");
        if (task && sscanf(task, "task %31[^:]:%d blocked", comm, &pid) == 2) {
            culprit.pid = pid;
            culprit.comm = named = text_from(comm);
        }
        if (count > 1)
            snprintf(times, sizeof(times), " (%.0f times)", count);
        ctx_report(ctx, strcmp(text_bytes(level), "err") ? SEVERITY_CRITICAL : SEVERITY_WARNING, text_bytes(text),
                   &culprit, "the kernel logs (%s): %s%s", text_bytes(level), text_bytes(text), times);
        text_unref(named);
        shown++;
    }
}

const struct rule rule_kernel_error = {
    .kind = "kernel_error", .resource = "kernel", .pane = "events", .is_event = true, .check = check_kernel_error};

// ---- the clock ----

static double wall_minus_monotonic_s(const struct frame *frame) {
    return (double)frame->wall.tv_sec - (double)(frame->end_ns / 1000000000u) + (double)frame->wall.tv_nsec / 1e9 -
           (double)(frame->end_ns % 1000000000u) / 1e9;
}

// NTP slews small errors. CLOCK_MONOTONIC does not count the time of a suspend, so that looks the same.
static void check_clock_step(struct rule_ctx *ctx) {
    // Frames of another recording have another clock.
    if (!ctx->previous || ctx->previous->origin != ctx->frame->origin || !ctx->frame->wall.tv_sec ||
        !ctx->previous->wall.tv_sec)
        return;
    double step = wall_minus_monotonic_s(ctx->frame) - wall_minus_monotonic_s(ctx->previous);
    if (fabs(step) < LIMIT(clock_step, step_s))
        return;
    ctx_report(ctx, fabs(step) >= LIMIT(clock_step, warning_step_s) ? SEVERITY_WARNING : SEVERITY_INFO, "", &NO_CULPRIT,
               "the clock was set %s by %.1f s%s: timers, logs and certificates may be wrong",
               step < 0 ? "back" : "forward", fabs(step), step > 0 ? ", or the machine was suspended" : "");
}

const struct rule rule_clock_step = {
    .kind = "clock_step", .resource = "kernel", .pane = "events", .is_event = true, .check = check_clock_step};

// ---- tracing ----

static void check_tracing_left_on(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, tracing_left));
    const struct table_def *def = table ? table_def(table) : NULL;
    size_t cursor = 0;
    for (const union cell *row; table && (row = table_next(table, &cursor));) {
        const struct text *instance = text_at(row, COL(def, tracing_left, instance)),
                          *traces = text_at(row, COL(def, tracing_left, traces));
        if (instance && traces)
            ctx_report(ctx, SEVERITY_INFO, text_bytes(instance), &NO_CULPRIT,
                       "tracing is on in tracefs (instance %s: %s), but no process has its files open",
                       text_bytes(instance), text_bytes(traces));
    }
}

const struct rule rule_tracing_left_on = {
    .kind = "tracing_left_on", .resource = "kernel", .pane = "events", .check = check_tracing_left_on};
