// Rules about tasks: stuck ones, zombies, storms of new ones.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"

static void check_blocked_tasks(struct rule_ctx *ctx) {
    double blocked = ctx_series(ctx, IN(series, tasks_uninterruptible));
    if (isnan(blocked))
        blocked = ctx_series(ctx, IN(series, procs_blocked));
    double cpus = ctx->cpus >= 1 ? ctx->cpus : 1;
    enum severity severity;
    // A few wait for a disk at any moment; as many as two per CPU (and 4 at least), frame after frame, wait for
    // something that does not keep up. Eight per CPU (and 32): it hangs.
    if (!is_above(blocked, fmax(4, 2 * cpus), fmax(32, 8 * cpus), &severity))
        return;
    const struct heaviest *top = &ctx_tasks(ctx)->uninterruptible;
    char name[64];
    // Who has waited longest is nearest to what they all wait for. A wait that began in this interval tells nothing.
    if (ctx->longest_blocked_s > ctx->interval_s * 1.5)
        ctx_report(ctx, severity, "", &ctx->longest_blocked,
                   "%s for %.0f s, the longest, and %.0f more tasks wait uninterruptibly (state D)",
                   culprit_name(&ctx->longest_blocked, name, sizeof(name)), ctx->longest_blocked_s,
                   fmax(0, blocked - 1));
    else if (isnan(top->value))
        ctx_report(ctx, severity, "", &NO_CULPRIT, "%.0f tasks wait uninterruptibly (state D)", blocked);
    else
        ctx_report(ctx, severity, "", &top->culprit, "%s and %.0f more tasks wait uninterruptibly (state D)",
                   culprit_name(&top->culprit, name, sizeof(name)), fmax(0, blocked - 1));
}

const struct rule rule_blocked_tasks = {
    .kind = "blocked_tasks", .resource = "process", .pane = "tasks", .check = check_blocked_tasks};

static void check_zombies(struct rule_ctx *ctx) {
    double zombies = ctx_series(ctx, IN(series, tasks_zombie));
    // A zombie costs a PID and nothing else; ten that nobody fetches are a bug worth to know, hundreds will run out of
    // PIDs one day.
    if (!(zombies >= 10))
        return;
    const struct heaviest *parent = &ctx_tasks(ctx)->zombies;
    char cause[128] = "", name[64];
    if (!isnan(parent->value))
        snprintf(cause, sizeof(cause),
                 "%s does not wait for %.0f of its children: ", culprit_name(&parent->culprit, name, sizeof(name)),
                 parent->value);
    ctx_report(ctx, zombies >= 200 ? SEVERITY_WARNING : SEVERITY_INFO, "", &parent->culprit,
               "%s%.0f ended processes are zombies", cause, zombies);
}

const struct rule rule_zombies = {.kind = "zombies", .resource = "process", .pane = "tasks", .check = check_zombies};

static void check_fork_storm(struct rule_ctx *ctx) {
    double forks = ctx_series(ctx, IN(series, forks_per_s));
    enum severity severity;
    // A fork and its end cost about a millisecond of CPU in all: 300 a second are a third of a CPU, and more than a
    // build on a small machine makes; 3000 keep several CPUs busy.
    if (!is_above(forks, 300, 3000, &severity))
        return;
    const struct heaviest *parent = &ctx_tasks(ctx)->ended;
    char cause[160] = "", name[64];
    struct culprit culprit = NO_CULPRIT;
    // The parent must have made a good share of what ended, or it is just one of many.
    if (!isnan(parent->value) && parent->value >= 10) {
        culprit = parent->culprit;
        snprintf(cause, sizeof(cause),
                 "%s is the parent of %.0f that ended in this interval: ", culprit_name(&culprit, name, sizeof(name)),
                 parent->value);
    }
    ctx_report(ctx, severity, "", &culprit, "%s%.0f processes and threads are created a second", cause, forks);
}

const struct rule rule_fork_storm = {
    .kind = "fork_storm", .resource = "process", .pane = "tasks", .check = check_fork_storm};
