// The rule about CPU limits: cgroups that their own limit throttles, however idle the machine is.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"
#include "model/groups.h"

#define LIMITS_MAX 4 // the most throttled cgroups; a pod and its containers are throttled together

struct limit_columns {
    int group, limit, pct, us, processes, pid;
};

struct members {
    struct culprit culprit; // the only process, or the one that waits most
    double others;          // NAN: unknown
};

// The tasks in the cgroup and below. Run-queue time includes the time for which the cgroup is throttled.
static struct members limited_tasks(struct rule_ctx *ctx, const struct text *group, double processes, double only) {
    const struct table *table = frame_table(ctx->frame, IN(tables, tasks));
    struct members found = {.culprit.pid = only, .others = NAN};
    double longest = 0, count = 0;
    size_t cursor = 0;
    if (!table)
        return found;
    const struct table_def *def = table_def(table);
    int pid = COL(def, tasks, pid), tid = COL(def, tasks, tid), comm = COL(def, tasks, comm);
    int of = COL(def, tasks, cgroup), run_queue = COL(def, tasks, run_queue_us);
    int state = COL(def, tasks, state);
    for (const union cell *row; (row = table_next(table, &cursor));) {
        const struct text *its = text_at(row, of), *letter = text_at(row, state);
        if (!isnan(only) ? num_at(row, pid) != only : !its || !group_is_below(text_bytes(its), text_bytes(group)))
            continue;
        bool leads = tid < 0 || num_at(row, tid) == num_at(row, pid);
        count += leads && !(letter && text_bytes(letter)[0] == 'X');
        double waits = isnan(only) ? num_at(row, run_queue) : leads;
        if (waits > longest) {
            longest = waits;
            found.culprit = (struct culprit){num_at(row, pid), text_at(row, comm), NULL};
        }
    }
    if (isnan(only) && !isnan(found.culprit.pid))
        found.others = fmax(fmax(count, processes) - 1, 0); // `processes` excludes child cgroups
    return found;
}

static void report_limit(struct rule_ctx *ctx, const struct limit_columns *at, const union cell *row) {
    const struct text *group = text_at(row, at->group);
    double processes = num_at(row, at->processes);
    struct members members = limited_tasks(ctx, group, processes, num_at(row, at->pid));
    char cause[128] = "cgroup", name[64], others[48] = "";
    if (members.others > 0)
        snprintf(others, sizeof(others), " and %.0f other%s", members.others, members.others > 1 ? "s" : "");
    if (!isnan(members.culprit.pid))
        snprintf(cause, sizeof(cause), "%s%s in cgroup", culprit_name(&members.culprit, name, sizeof(name)), others);
    else if (processes > 1)
        snprintf(cause, sizeof(cause), "%.0f processes in cgroup", processes);
    ctx_report(ctx, SEVERITY_WARNING, path_tail(text_bytes(group), 47), &members.culprit,
               "%s %s: throttled in %.0f %% of the periods, %s per second, by its limit of %.0f %% of one CPU", cause,
               text_bytes(group), num_at(row, at->pct), ctx_format(ctx, UNIT_US, num_at(row, at->us)),
               num_at(row, at->limit));
    // This explains cpu_pressure.
    if (num_at(row, at->pct) >= LIMIT(cpu_limit, explains_pct))
        ctx->cpu_limited = true;
}

// Few throttled periods are a burst, which the limit is meant to cut; a short time costs next to nothing.
static void check_cpu_limit(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, cpu_limits));
    const union cell *worst[LIMITS_MAX] = {NULL};
    size_t cursor = 0, n = 0;
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    struct limit_columns at = {
        COL(def, cpu_limits, cgroup),        COL(def, cpu_limits, cpu_limit_pct),
        COL(def, cpu_limits, throttled_pct), COL(def, cpu_limits, throttled_us_per_s),
        COL(def, cpu_limits, processes),     COL(def, cpu_limits, pid),
    };
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double us = num_at(row, at.us);
        if (!text_at(row, at.group) || !(num_at(row, at.pct) >= LIMIT(cpu_limit, throttled_pct)) ||
            !(us >= LIMIT(cpu_limit, throttled_us_per_s)))
            continue;
        size_t i = n < LIMITS_MAX ? n++ : LIMITS_MAX;
        for (; i && us > num_at(worst[i - 1], at.us); i--)
            if (i < LIMITS_MAX)
                worst[i] = worst[i - 1];
        if (i < LIMITS_MAX)
            worst[i] = row;
    }
    for (size_t i = 0; i < n; i++)
        report_limit(ctx, &at, worst[i]);
}

const struct rule rule_cpu_limit = {.kind = "cpu_limit",
                                    .resource = "cpu",
                                    .pane = "sched",
                                    .profiled = "sched",
                                    .level = {.kind = LEVEL_ROW,
                                              .what = "the share of throttled periods",
                                              .of = IN(tables, cpu_limits),
                                              .names = {IN(cpu_limits, throttled_pct)}},
                                    .check = check_cpu_limit};
