// Rules about memory: OOM kills, little left, pressure, swapping, storms of major faults.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

#define KILLED_MAX 64 // tasks that ended with SIGKILL in one frame; of more, the others are not looked at

// "mysqld (pid 12) holds most, 5.1G: ", or "": who it is comes first, for what does not fit is cut off at the end.
static struct culprit rss_culprit(struct rule_ctx *ctx, char *out, size_t size) {
    const struct heaviest *top = &ctx_tasks(ctx)->rss;
    char name[64];
    out[0] = 0;
    if (isnan(top->value))
        return NO_CULPRIT;
    snprintf(out, size, "%s holds most, %s: ", culprit_name(&top->culprit, name, sizeof(name)),
             ctx_format(ctx, UNIT_KIB, top->value));
    return top->culprit;
}

// Who waits for pages from a disk, or else who holds most (or nobody).
static struct culprit fault_culprit(struct rule_ctx *ctx, bool or_holds, char *out, size_t size) {
    const struct heaviest *top = &ctx_tasks(ctx)->faults;
    char name[64];
    out[0] = 0;
    if (isnan(top->value) || top->value < 10)
        return or_holds ? rss_culprit(ctx, out, size) : NO_CULPRIT;
    snprintf(out, size, "%s has %s major faults/s: ", culprit_name(&top->culprit, name, sizeof(name)),
             ctx_format(ctx, UNIT_PER_S, top->value));
    return top->culprit;
}

// The value of the table `memory` in that frame, also when it stood there before.
static double memory_value(const struct frame *frame, const char *name) {
    const struct table *table = frame ? frame_table(frame, IN(tables, memory)) : NULL;
    size_t cursor = 0;
    const union cell *row = table ? table_next(table, &cursor) : NULL;
    return row ? num_at(row, table_column(table_def(table), name)) : NAN;
}

// The machine had memory, and nobody had to free some of its before getting any: what ran out is what a control group
// may have. (What a group has to free of its own is not counted there.) False: not known.
static bool is_group_short(const struct rule_ctx *ctx) {
    static const char *const reclaims[] = {IN(memory, allocation_stalls_per_s), IN(memory, kswapd_scans_per_s)};
    const struct frame *frames[] = {ctx->frame, ctx->previous};
    for (size_t i = 0; i < 2; i++) {
        if (memory_value(ctx->frame, reclaims[i]) != 0 || memory_value(ctx->previous, reclaims[i]) > 0)
            return false;
        if (memory_value(frames[i], IN(memory, available_kib)) < memory_value(frames[i], IN(memory, total_kib)) / 10)
            return false;
    }
    return true;
}

// NULL: it is not there.
static const struct table *tasks_of(const struct frame *frame) {
    return frame ? frame_table(frame, IN(tables, tasks)) : NULL;
}

static bool is_sigkill(double exit_code) {
    return ((unsigned)exit_code & 0x7f) == SIGKILL;
}

struct killed {
    size_t n; // tasks that a SIGKILL ended
    // Of these the one that held most before (value: KiB; NAN: not known, and it is the only one); nobody: which one is
    // not known.
    struct heaviest top;
    const struct text *group; // its control group, or NULL
    bool late;                // the kill was told in the frame before
};

// What a SIGKILL ended in the frame of `now`; before: what stood there in the frame before, or NULL.
static struct killed killed_tasks(const struct table *now, const struct table *before) {
    struct killed killed = {.top = {.value = NAN, .culprit = NO_CULPRIT}};
    if (!now)
        return killed;
    const struct table_def *def = table_def(now);
    int pid = COL(def, tasks, pid), exit_code = COL(def, tasks, exit_code), rss = COL(def, tasks, rss_kib);
    int comm = COL(def, tasks, comm), cgroup = COL(def, tasks, cgroup);
    size_t cursor = 0;
    for (const union cell *row, *old; killed.n < KILLED_MAX && (row = table_next(now, &cursor));) {
        double code = num_at(row, exit_code);
        if (isnan(code) || !is_sigkill(code))
            continue;
        old = before ? task_row(before, num_at(row, pid)) : NULL;
        double kib = old ? num_at(old, rss) : NAN;
        if (++killed.n > 1 && (!(kib > 0) || kib <= killed.top.value)) // a top of NAN loses to anything
            continue;
        killed.top.value = kib > 0 ? kib : NAN;
        killed.top.culprit = (struct culprit){num_at(row, pid), text_at(row, comm), NULL};
        killed.group = text_at(old ? old : row, cgroup);
    }
    if (killed.n > 1 && isnan(killed.top.value)) {
        killed.top.culprit = NO_CULPRIT;
        killed.group = NULL;
    }
    return killed;
}

// The task that held most in the frame before and now holds less than half of it, or is gone. A large one takes its
// time to let go of its memory: its end may be in a later frame than the kill.
static struct heaviest shrunk_task(const struct rule_ctx *ctx) {
    struct heaviest top = {.value = NAN, .culprit = NO_CULPRIT};
    const struct table *now = tasks_of(ctx->frame), *before = tasks_of(ctx->previous);
    if (!now || !before)
        return top;
    const struct table_def *def = table_def(now);
    int pid = COL(def, tasks, pid), exit_code = COL(def, tasks, exit_code), rss = COL(def, tasks, rss_kib);
    size_t cursor = 0;
    for (const union cell *old, *row; (old = table_next(before, &cursor));) {
        double kib = num_at(old, rss);
        if (!(kib > 0) || kib <= top.value)
            continue;
        row = task_row(now, num_at(old, pid));
        double code = row ? num_at(row, exit_code) : NAN; // one that ended otherwise was not killed
        if (row && ((!isnan(code) && !is_sigkill(code)) || !(num_at(row, rss) < kib / 2)))
            continue;
        top = (struct heaviest){.value = kib, .culprit = {num_at(old, pid), text_at(old, COL(def, tasks, comm)), NULL}};
    }
    return top;
}

// How many were killed, and who. The kernel counts a kill before its task ends, and the count and the tasks are not
// read at one moment: who it was may be told in the frame before or in the one after that. Then what it held is not
// known, or what was left of it when that was read.
static double oom_killed(const struct rule_ctx *ctx, struct killed *killed) {
    double kills = ctx_series(ctx, IN(series, oom_kills_per_s)) * ctx->interval_s;
    bool counted = kills >= 0.5;
    if (!counted && ctx->previous)
        kills = ctx_series_before(ctx, IN(series, oom_kills_per_s)) * frame_interval_s(ctx->previous);
    if (!(kills >= 0.5))
        return 0;
    const struct table *now = tasks_of(ctx->frame), *before = tasks_of(ctx->previous);
    const struct killed earlier = killed_tasks(before, NULL);
    *killed = killed_tasks(now, before);
    if (counted && !killed->n)
        *killed = earlier;
    if (counted)
        return kills;
    killed->top.value = NAN;
    killed->late = true;
    return earlier.n || isnan(killed->top.culprit.pid) ? 0 : kills;
}

static void check_oom_kill(struct rule_ctx *ctx) {
    struct killed killed = {0};
    double kills = oom_killed(ctx, &killed);
    if (!(kills >= 0.5))
        return;
    bool group = is_group_short(ctx);
    char why[256] = "memory ran out";
    if (group && killed.group && strcmp(text_bytes(killed.group), "/") != 0) // its own limit, or that of one above it
        snprintf(why, sizeof(why), "control group %s reached a memory limit (the machine itself has memory)",
                 text_bytes(killed.group));
    else if (group)
        snprintf(why, sizeof(why), "a control group reached its memory limit (the machine itself has memory)");
    char cause[128] = "", name[64], more[32] = "", held[48] = "";
    const struct heaviest shrunk = shrunk_task(ctx);
    // Of the machine's tasks a large one that lets go of its memory is more likely than one of which nothing is known.
    if (!isnan(killed.top.culprit.pid) && (killed.late || group || !isnan(killed.top.value) || isnan(shrunk.value))) {
        if (kills >= 1.5)
            snprintf(more, sizeof(more), ", and %.0f more", kills - 1);
        if (!isnan(killed.top.value))
            snprintf(held, sizeof(held), ", which held %s", ctx_format(ctx, UNIT_KIB, killed.top.value));
        ctx_report(ctx, SEVERITY_CRITICAL, "", &killed.top.culprit, "the kernel killed %s%s%s: %s",
                   culprit_name(&killed.top.culprit, name, sizeof(name)), held, more, why);
        return;
    }
    struct culprit culprit = NO_CULPRIT;
    if (!group && !isnan(shrunk.value)) {
        culprit = shrunk.culprit;
        snprintf(cause, sizeof(cause), "%s held %s and no longer does: ", culprit_name(&culprit, name, sizeof(name)),
                 ctx_format(ctx, UNIT_KIB, shrunk.value));
    } else if (!group) {
        culprit = rss_culprit(ctx, cause, sizeof(cause));
        snprintf(more, sizeof(more), "%s", cause[0] ? " before" : "");
    }
    ctx_report(ctx, SEVERITY_CRITICAL, "", &culprit, "%s%s%s, the kernel killed %.0f %s (dmesg names it)", cause, why,
               more, kills, kills < 1.5 ? "process" : "processes");
}

const struct rule rule_oom_kill = {
    .kind = "oom_kill", .resource = "memory", .pane = "memory", .is_event = true, .check = check_oom_kill};

static void check_memory_low(struct rule_ctx *ctx) {
    double available = ctx_series(ctx, IN(series, mem_available_kib)),
           total = ctx_series(ctx, IN(series, mem_total_kib));
    if (!(total > 0) || isnan(available))
        return;
    double pct = 100 * available / total;
    // Below 10 % the page cache shrinks to what is being used; below 4 % reclaim works on every allocation.
    // MemAvailable counts what can be reclaimed already.
    if (pct >= 10)
        return;
    char cause[128];
    struct culprit culprit = rss_culprit(ctx, cause, sizeof(cause));
    ctx_report(ctx, pct < 4 ? SEVERITY_CRITICAL : SEVERITY_WARNING, "", &culprit,
               "%s%s of %s memory available (%.1f %%)", cause, ctx_format(ctx, UNIT_KIB, available),
               ctx_format(ctx, UNIT_KIB, total), pct);
}

const struct rule rule_memory_low = {
    .kind = "memory_low", .resource = "memory", .pane = "memory", .check = check_memory_low};

static void check_memory_pressure(struct rule_ctx *ctx) {
    double full = ctx_series(ctx, IN(series, memory_full_pct)), some = ctx_series(ctx, IN(series, memory_some_pct));
    enum severity severity;
    // Full: nothing but waiting for memory happens in that share of the time. A twentieth is felt, a quarter is
    // thrashing. Some: single tasks wait.
    if (!is_above(full, 5, 25, &severity)) {
        if (!(some >= 20))
            return;
        severity = SEVERITY_WARNING;
    }
    // Who holds most of the machine's memory has no part in a group that is short of its own.
    bool group = is_group_short(ctx);
    char cause[128];
    struct culprit culprit = fault_culprit(ctx, !group, cause, sizeof(cause));
    ctx_report(
        ctx, severity, "", &culprit, "%stasks waited for memory %.0f %% of the time, all of them at once %.0f %%%s",
        cause, some, isnan(full) ? 0 : full,
        group ? ", though the machine had to free none: a control group at its limit? (c in the pane tasks)" : "");
}

const struct rule rule_memory_pressure = {
    .kind = "memory_pressure", .resource = "memory", .pane = "memory", .check = check_memory_pressure};

static void check_swapping(struct rule_ctx *ctx) {
    double in = ctx_series(ctx, IN(series, swap_in_per_s)), out = ctx_series(ctx, IN(series, swap_out_per_s));
    if (isnan(in) || isnan(out))
        return;
    enum severity severity;
    // Pages coming back were needed: each is a wait for a disk, so 100 a second hurt somebody and 2000 keep a disk
    // busy. Pages going out alone hurt less: 1000 a second (4 MB) say that memory is short.
    if (!is_above(in, 100, 2000, &severity)) {
        if (out < 1000)
            return;
        severity = SEVERITY_WARNING;
    }
    char cause[128];
    struct culprit culprit = fault_culprit(ctx, true, cause, sizeof(cause));
    ctx_report(ctx, severity, "", &culprit, "%s%s pages/s come back from swap and %s pages/s go out", cause,
               ctx_format(ctx, UNIT_PER_S, in), ctx_format(ctx, UNIT_PER_S, out));
}

const struct rule rule_swapping = {.kind = "swapping", .resource = "memory", .pane = "memory", .check = check_swapping};

static void check_major_faults(struct rule_ctx *ctx) {
    double faults = ctx_series(ctx, IN(series, major_faults_per_s));
    enum severity severity;
    // Each waits for a disk, 0.1 to 10 ms: from 500 a second on tasks are slowed down beyond a start of a program.
    if (!is_above(faults, 500, 10000, &severity))
        return;
    char cause[128];
    struct culprit culprit = fault_culprit(ctx, true, cause, sizeof(cause));
    ctx_report(ctx, severity, "", &culprit, "%s%s page faults/s wait for a disk", cause,
               ctx_format(ctx, UNIT_PER_S, faults));
}

const struct rule rule_major_faults = {
    .kind = "major_faults", .resource = "memory", .pane = "memory", .check = check_major_faults};
