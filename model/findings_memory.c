// Rules about memory: OOM kills, little available, pressure, swapping, major faults.
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

#define KILLED_MAX 64 // tasks killed in one frame that are considered

// "mysqld (pid 12) uses most memory, 5.1G: ", or "". The culprit comes first, since the end is cut on a narrow screen.
static struct culprit rss_culprit(struct rule_ctx *ctx, char *out, size_t size) {
    const struct heaviest *top = &ctx_tasks(ctx)->rss;
    char name[64];
    out[0] = 0;
    if (isnan(top->value))
        return NO_CULPRIT;
    snprintf(out, size, "%s uses most memory, %s: ", culprit_name(&top->culprit, name, sizeof(name)),
             ctx_format(ctx, UNIT_KIB, top->value));
    return top->culprit;
}

// The task with most major faults; without one, if or_holds, the task with most memory.
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

// From the single row of `memory`, also of a repeated section.
static double memory_value(const struct frame *frame, const char *name) {
    const struct table *table = frame ? frame_table(frame, IN(tables, memory)) : NULL;
    size_t cursor = 0;
    const union cell *row = table ? table_next(table, &cursor) : NULL;
    return row ? num_at(row, table_column(table_def(table), name)) : NAN;
}

// The machine had available memory and did not reclaim any, so a cgroup reached its limit. (Reclaim within a cgroup is
// not counted there.) False also if unknown.
static bool is_cgroup_short(const struct rule_ctx *ctx) {
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

static const struct table *tasks_of(const struct frame *frame) {
    return frame ? frame_table(frame, IN(tables, tasks)) : NULL;
}

static bool is_sigkill(double exit_code) {
    return !isnan(exit_code) && ((unsigned)exit_code & 0x7f) == SIGKILL;
}

struct killed {
    size_t n;       // tasks that a SIGKILL ended
    size_t zombies; // killed zombies that may be older than the frame
    // The one of n with the largest RSS before (value: KiB; NAN: unknown). Several of unknown RSS: no culprit.
    struct heaviest top;
    const struct text *group; // its cgroup, or NULL
    bool late;                // the kill was counted in the previous frame
};

// Tasks killed in the frame of `now`: ended rows, and zombies that had no exit code in `before`, the frame before it
// (NULL: unknown, so zombies are only counted).
static struct killed killed_tasks(const struct table *now, const struct table *before) {
    struct killed killed = {.top = {.value = NAN, .culprit = NO_CULPRIT}};
    if (!now)
        return killed;
    const struct table_def *def = table_def(now);
    int pid = COL(def, tasks, pid), exit_code = COL(def, tasks, exit_code), rss = COL(def, tasks, rss_kib);
    int comm = COL(def, tasks, comm), cgroup = COL(def, tasks, cgroup), state = COL(def, tasks, state);
    size_t cursor = 0;
    for (const union cell *row, *old; killed.n < KILLED_MAX && (row = table_next(now, &cursor));) {
        if (!is_sigkill(num_at(row, exit_code)))
            continue;
        old = before ? task_row(before, num_at(row, pid)) : NULL;
        if (text_bytes(text_at(row, state))[0] == 'Z' && (!before || (old && !isnan(num_at(old, exit_code))))) {
            killed.zombies += !before;
            continue;
        }
        double kib = old ? num_at(old, rss) : NAN;
        if (++killed.n > 1 && (!(kib > 0) || kib <= killed.top.value)) // <= is false for a top of NAN
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

// The task that used most memory in the previous frame and now uses less than half of that, or is gone. A large task
// needs time to free its memory: its end may be in a later frame than the kill.
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
        double code = row ? num_at(row, exit_code) : NAN; // a task that exited otherwise was not killed
        if (row && ((!isnan(code) && !is_sigkill(code)) || !(num_at(row, rss) < kib / 2)))
            continue;
        top = (struct heaviest){.value = kib, .culprit = {num_at(old, pid), text_at(old, COL(def, tasks, comm)), NULL}};
    }
    return top;
}

// How many tasks were killed, and which. The kernel counts a kill before the task ends, and ktop does not read the
// count and the tasks at the same moment: the end may be in the frame before or after the count. Then the RSS is
// unknown or partly freed.
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
    return earlier.n || earlier.zombies || isnan(killed->top.culprit.pid) ? 0 : kills;
}

static void check_oom_kill(struct rule_ctx *ctx) {
    struct killed killed = {0};
    double kills = oom_killed(ctx, &killed);
    if (!(kills >= 0.5))
        return;
    bool group = is_cgroup_short(ctx);
    char why[256] = "out of memory";
    if (group && killed.group && strcmp(text_bytes(killed.group), "/") != 0) // its own limit, or that of a parent
        snprintf(why, sizeof(why), "cgroup %s reached a memory limit (the machine has free memory)",
                 text_bytes(killed.group));
    else if (group)
        snprintf(why, sizeof(why), "a cgroup reached its memory limit (the machine has free memory)");
    char cause[128] = "", name[64], more[32] = "", rss[48] = "";
    const struct heaviest shrunk = shrunk_task(ctx);
    // Machine-wide, a large task that freed its memory is more likely the victim than a killed one of unknown RSS.
    if (!isnan(killed.top.culprit.pid) && (killed.late || group || !isnan(killed.top.value) || isnan(shrunk.value))) {
        if (kills >= 1.5)
            snprintf(more, sizeof(more), ", and %.0f more", kills - 1);
        if (!isnan(killed.top.value))
            snprintf(rss, sizeof(rss), ", RSS %s", ctx_format(ctx, UNIT_KIB, killed.top.value));
        ctx_report(ctx, SEVERITY_CRITICAL, "", &killed.top.culprit, "the OOM killer killed %s%s%s: %s",
                   culprit_name(&killed.top.culprit, name, sizeof(name)), rss, more, why);
        return;
    }
    struct culprit culprit = NO_CULPRIT;
    if (!group && !isnan(shrunk.value)) {
        culprit = shrunk.culprit;
        snprintf(cause, sizeof(cause), "%s released %s: ", culprit_name(&culprit, name, sizeof(name)),
                 ctx_format(ctx, UNIT_KIB, shrunk.value));
    } else if (!group) {
        culprit = rss_culprit(ctx, cause, sizeof(cause));
    }
    ctx_report(ctx, SEVERITY_CRITICAL, "", &culprit, "%s%s; the OOM killer killed %.0f %s (see dmesg)", cause, why,
               kills, kills < 1.5 ? "process" : "processes");
}

const struct rule rule_oom_kill = {
    .kind = "oom_kill", .resource = "memory", .pane = "memory", .is_event = true, .check = check_oom_kill};

static void check_memory_low(struct rule_ctx *ctx) {
    double available = ctx_series(ctx, IN(series, mem_available_kib)),
           total = ctx_series(ctx, IN(series, mem_total_kib));
    if (!(total > 0) || isnan(available))
        return;
    double pct = 100 * available / total;
    // MemAvailable includes reclaimable memory. Below 10 % the page cache shrinks to its working set; below 4 % every
    // allocation reclaims.
    if (pct >= LIMIT(memory_low, available_pct))
        return;
    char cause[128];
    struct culprit culprit = rss_culprit(ctx, cause, sizeof(cause));
    ctx_report(ctx, pct < LIMIT(memory_low, critical_available_pct) ? SEVERITY_CRITICAL : SEVERITY_WARNING, "",
               &culprit, "%s%s of %s memory available (%.1f %%)", cause, ctx_format(ctx, UNIT_KIB, available),
               ctx_format(ctx, UNIT_KIB, total), pct);
}

const struct rule rule_memory_low = {.kind = "memory_low",
                                     .resource = "memory",
                                     .pane = "memory",
                                     .level = {.kind = LEVEL_SERIES,
                                               .what = "available memory",
                                               .names = {IN(series, mem_available_kib)},
                                               .falls = true},
                                     .check = check_memory_low};

// The process that causes half of the direct reclaims: its allocations find no free page, in its cgroup or in the
// machine, so that it frees some itself.
static struct culprit reclaim_culprit(const struct rule_ctx *ctx, bool group, double *per_s) {
    struct storm_row source;
    if (!ctx_storm(ctx, group ? "limit_reclaims" : "reclaims", false, &source) ||
        source.per_s < fmax(source.all_per_s / 2, LIMIT(memory_pressure, reclaims_per_s)))
        return NO_CULPRIT;
    *per_s = source.per_s;
    return source.culprit;
}

// Without a culprit so far (of a cgroup), it is the one that reclaims. Returns the words about it, "" if it is unknown.
static const char *reclaim_words(struct rule_ctx *ctx, bool group, struct culprit *culprit, char *out, size_t size) {
    double per_s = 0;
    struct culprit reclaims = reclaim_culprit(ctx, group, &per_s);
    const struct table *tasks = ctx_table(ctx, IN(tables, tasks));
    const union cell *row = tasks && group ? task_row(tasks, reclaims.pid) : NULL;
    const struct text *cgroup = row ? text_at(row, COL(table_def(tasks), tasks, cgroup)) : NULL;
    char name[64];
    out[0] = '\0';
    if (isnan(reclaims.pid))
        return group ? "; no machine-wide reclaim: a cgroup at its limit? (c in the tasks pane)" : out;
    culprit_name(&reclaims, name, sizeof(name));
    if (group)
        snprintf(out, size, "; %s reclaims memory for the limit of its cgroup%s%s %s times per second", name,
                 cgroup ? " " : "", cgroup ? path_tail(text_bytes(cgroup), 48) : "",
                 ctx_format(ctx, UNIT_PER_S, per_s));
    else
        snprintf(out, size, "; %s waits for direct reclaim %s times per second", name,
                 ctx_format(ctx, UNIT_PER_S, per_s));
    if (isnan(culprit->pid))
        *culprit = reclaims;
    return out;
}

static void check_memory_pressure(struct rule_ctx *ctx) {
    double full = ctx_series(ctx, IN(series, memory_full_pct)), some = ctx_series(ctx, IN(series, memory_some_pct));
    enum severity severity;
    // Full: all non-idle tasks stall. 5 % is noticeable, 25 % is thrashing. Some: single tasks stall.
    if (!is_above(full, LIMIT(memory_pressure, full_pct), LIMIT(memory_pressure, critical_full_pct), &severity)) {
        if (!(some >= LIMIT(memory_pressure, some_pct)))
            return;
        severity = SEVERITY_WARNING;
    }
    // The machine's largest task is not the cause in another cgroup that is short of memory.
    bool group = is_cgroup_short(ctx);
    char cause[128], reclaim[224];
    struct culprit culprit = fault_culprit(ctx, !group, cause, sizeof(cause));
    const char *words = reclaim_words(ctx, group, &culprit, reclaim, sizeof(reclaim));
    ctx_report(ctx, severity, "", &culprit,
               "%stasks stalled on memory %.0f %% of the time (PSI some), all tasks %.0f %% (PSI full)%s", cause, some,
               isnan(full) ? 0 : full, words);
}

const struct rule rule_memory_pressure = {
    .kind = "memory_pressure",
    .resource = "memory",
    .pane = "memory",
    .level = {.kind = LEVEL_SERIES, .what = "PSI some", .names = {IN(series, memory_some_pct)}},
    .check = check_memory_pressure};

static void check_swapping(struct rule_ctx *ctx) {
    double in = ctx_series(ctx, IN(series, swap_in_per_s)), out = ctx_series(ctx, IN(series, swap_out_per_s));
    if (isnan(in) || isnan(out))
        return;
    enum severity severity;
    // Each page swapped in is a wait for a disk: 100/s slow some task down, 2000/s keep a disk busy. Swapping out alone
    // hurts less: 1000/s (4 MB/s) mean that memory is short.
    if (!is_above(in, LIMIT(swapping, in_per_s), LIMIT(swapping, critical_in_per_s), &severity)) {
        if (out < LIMIT(swapping, out_per_s))
            return;
        severity = SEVERITY_WARNING;
    }
    char cause[128];
    struct culprit culprit = fault_culprit(ctx, true, cause, sizeof(cause));
    ctx_report(ctx, severity, "", &culprit, "%sswap-in %s pages/s, swap-out %s pages/s", cause,
               ctx_format(ctx, UNIT_PER_S, in), ctx_format(ctx, UNIT_PER_S, out));
}

const struct rule rule_swapping = {.kind = "swapping",
                                   .resource = "memory",
                                   .pane = "memory",
                                   .level = {.kind = LEVEL_SERIES,
                                             .what = "the rate",
                                             .names = {IN(series, swap_in_per_s), IN(series, swap_out_per_s)}},
                                   .check = check_swapping};

static void check_major_faults(struct rule_ctx *ctx) {
    double faults = ctx_series(ctx, IN(series, major_faults_per_s));
    enum severity severity;
    // Each waits 0.1 to 10 ms for a disk. The start of a program causes fewer than 500/s.
    if (!is_above(faults, LIMIT(major_faults, faults_per_s), LIMIT(major_faults, critical_faults_per_s), &severity))
        return;
    char cause[128];
    struct culprit culprit = fault_culprit(ctx, true, cause, sizeof(cause));
    ctx_report(ctx, severity, "", &culprit, "%s%s major faults/s on the machine", cause,
               ctx_format(ctx, UNIT_PER_S, faults));
}

const struct rule rule_major_faults = {
    .kind = "major_faults",
    .resource = "memory",
    .pane = "memory",
    .level = {.kind = LEVEL_SERIES, .what = "the rate", .names = {IN(series, major_faults_per_s)}},
    .check = check_major_faults};
