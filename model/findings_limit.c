// The rule about limits on CPU time: control groups that their own limit stops, whatever the machine has to spare.
#include <math.h>
#include <stdio.h>

#include "model/findings_private.h"
#include "model/groups.h"

#define STOPPED_PCT 25    // of the periods; less is a burst that a limit is there to cut
#define STOPPED_US 100000 // a tenth of a CPU; a short stop in every period costs next to nothing
#define EXPLAINS_PCT 50   // so often stopped, a group explains that tasks wait for a CPU
#define LIMITS_TOLD 4     // groups, the most stopped ones; a pod and what is in it stop together

struct limit_columns {
    int group, limit, pct, us, processes, pid;
};

struct members {
    struct culprit culprit; // the only one, or the one that waits most
    double others;          // NAN: not known
};

// Of a group with more than one process, from the tasks that are known with a group: a task's group is that of the
// limit, or one below it. What a task waits for a CPU has the time for which its group is stopped.
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
        found.others = fmax(fmax(count, processes) - 1, 0); // processes: of the group itself only
    return found;
}

static void report_limit(struct rule_ctx *ctx, const struct limit_columns *at, const union cell *row) {
    const struct text *group = text_at(row, at->group);
    double processes = num_at(row, at->processes);
    struct members members = limited_tasks(ctx, group, processes, num_at(row, at->pid));
    char cause[128] = "the group", name[64], others[48] = "";
    if (members.others > 0)
        snprintf(others, sizeof(others), " and %.0f other%s", members.others, members.others > 1 ? "s" : "");
    if (!isnan(members.culprit.pid))
        snprintf(cause, sizeof(cause), "%s%s in the group", culprit_name(&members.culprit, name, sizeof(name)), others);
    else if (processes > 1)
        snprintf(cause, sizeof(cause), "%.0f processes in the group", processes);
    ctx_report(ctx, SEVERITY_WARNING, path_tail(text_bytes(group), 47), &members.culprit,
               "%s %s: held to the group's limit of %.0f %% of one CPU, stopped in %.0f %% of the periods, for %s each "
               "second",
               cause, text_bytes(group), num_at(row, at->limit), num_at(row, at->pct),
               ctx_format(ctx, UNIT_US, num_at(row, at->us)));
    if (num_at(row, at->pct) >= EXPLAINS_PCT)
        ctx->cpu_limited = true;
}

static void check_cpu_limit(struct rule_ctx *ctx) {
    const struct table *table = ctx_table(ctx, IN(tables, cpu_limits));
    const union cell *worst[LIMITS_TOLD] = {NULL};
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
        if (!text_at(row, at.group) || !(num_at(row, at.pct) >= STOPPED_PCT) || !(us >= STOPPED_US))
            continue;
        size_t i = n < LIMITS_TOLD ? n++ : LIMITS_TOLD;
        for (; i && us > num_at(worst[i - 1], at.us); i--)
            if (i < LIMITS_TOLD)
                worst[i] = worst[i - 1];
        if (i < LIMITS_TOLD)
            worst[i] = row;
    }
    for (size_t i = 0; i < n; i++)
        report_limit(ctx, &at, worst[i]);
}

const struct rule rule_cpu_limit = {.kind = "cpu_limit", .resource = "cpu", .pane = "sched", .check = check_cpu_limit};
