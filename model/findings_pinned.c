// Rule about tasks that wait for the CPUs on which they may run, while others are idle.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/findings_private.h"

// "0-1,4" has the CPU.
static bool list_has(const char *list, double cpu) {
    for (const char *at = list; *at;) {
        char *end;
        double low = (double)strtoul(at, &end, 10), high = low;
        if (*end == '-')
            high = (double)strtoul(end + 1, &end, 10);
        if (cpu >= low && cpu <= high)
            return true;
        if (*end != ',')
            return false;
        at = end + 1;
    }
    return false;
}

struct mask_use {
    double busy, n;     // of the CPUs in the mask: busy ones; all
    double idle, least; // outside of it: idle ones; of the mask the least busy one, in %
};

static struct mask_use mask_use(const struct table *cpus, const char *list) {
    const struct table_def *def = table_def(cpus);
    struct mask_use use = {.least = 100};
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(cpus, &cursor));) {
        double iowait = num_at(row, COL(def, cpus, iowait_pct)),
               idle = num_at(row, COL(def, cpus, idle_pct)) + (isnan(iowait) ? 0 : iowait);
        if (isnan(idle))
            continue;
        if (!list_has(list, num_at(row, COL(def, cpus, cpu)))) {
            use.idle += idle >= LIMIT(pinned_tasks, idle_pct);
            continue;
        }
        use.n++;
        use.busy += 100 - idle >= LIMIT(pinned_tasks, busy_pct);
        use.least = fmin(use.least, 100 - idle);
    }
    return use;
}

// The tasks with one mask.
struct pinned_group {
    const struct text *list;
    struct culprit heaviest;
    double tasks, cpu_pct, most_pct, wait_pct;
};

static struct pinned_group group_of(struct rule_ctx *ctx, const struct table *pinned, const struct text *list) {
    const struct table_def *def = table_def(pinned);
    struct pinned_group group = {.list = list, .heaviest = NO_CULPRIT, .most_pct = -1};
    double seconds = ctx_table_s(ctx, IN(tables, pinned));
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(pinned, &cursor));) {
        double cpu = num_at(row, COL(def, pinned, cpu_pct)),
               wait = num_at(row, COL(def, pinned, run_queue_us)) / 1e4 / seconds;
        if (text_compare(text_at(row, COL(def, pinned, allowed_cpus)), list) != 0)
            continue;
        group.tasks += num_at(row, COL(def, pinned, pinned_threads));
        group.cpu_pct += cpu;
        group.wait_pct = fmax(group.wait_pct, wait);
        if (cpu > group.most_pct) {
            group.most_pct = cpu;
            group.heaviest =
                (struct culprit){num_at(row, COL(def, pinned, pid)), text_at(row, COL(def, pinned, comm)), NULL};
        }
    }
    return group;
}

// PSI shows the waits of threads that the table of processes does not show.
static void group_report(struct rule_ctx *ctx, const struct pinned_group *group, const struct table *cpus) {
    const char *list = text_bytes(group->list);
    struct mask_use use = mask_use(cpus, list);
    double pressure = ctx_series(ctx, IN(series, cpu_some_pct));
    if (!use.n || use.busy < use.n || !use.idle || group->tasks < LIMIT(pinned_tasks, tasks) ||
        group->cpu_pct < LIMIT(pinned_tasks, use_pct) * use.n ||
        !(group->wait_pct >= LIMIT(pinned_tasks, waits_pct) || pressure >= LIMIT(pinned_tasks, pressure_pct)))
        return;
    char name[64];
    ctx_report(
        ctx, SEVERITY_WARNING, list, &group->heaviest,
        "%.0f busy tasks may run only on CPU %s (affinity or cpuset), most of all %s with %.0f %%: it is %.0f %% "
        "busy, tasks wait %.0f %% of the time, and %.0f other CPU%s idle",
        group->tasks, list, culprit_name(&group->heaviest, name, sizeof(name)), group->most_pct, use.least,
        fmin(100, fmax(group->wait_pct, isnan(pressure) ? 0 : pressure)), use.idle, use.idle > 1 ? "s are" : " is");
}

static void check_pinned_tasks(struct rule_ctx *ctx) {
    const struct table *pinned = ctx_table(ctx, IN(tables, pinned)), *cpus = ctx_table(ctx, IN(tables, cpus));
    const struct table_def *def = pinned ? table_def(pinned) : NULL;
    size_t cursor = 0;
    for (const union cell *row; pinned && cpus && (row = table_next(pinned, &cursor));) {
        const struct text *list = text_at(row, COL(def, pinned, allowed_cpus));
        struct pinned_group group = list ? group_of(ctx, pinned, list) : (struct pinned_group){0};
        // Once per mask.
        if (list && group.heaviest.pid == num_at(row, COL(def, pinned, pid)))
            group_report(ctx, &group, cpus);
    }
}

const struct rule rule_pinned_tasks = {.kind = "pinned_tasks",
                                       .resource = "scheduler",
                                       .pane = "sched",
                                       .profiled = "profile",
                                       .check = check_pinned_tasks};
