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
    struct culprit who; // the only one, or the one that waits most
    double others;      // NAN: not known
};

// Of a group with more than one process, from the tasks that are known with a group: a task's group is that of the
// limit, or one below it. What a task waits for a CPU has the time for which its group is stopped.
static struct members limited_tasks(struct scan *scan, const struct text *group, double processes, double only) {
    const struct table *table = frame_table(scan->frame, "tasks");
    struct members found = {.who.pid = only, .others = NAN};
    double longest = 0, count = 0;
    size_t cursor = 0;
    if (!table)
        return found;
    const struct table_def *def = table_def(table);
    int pid = table_column(def, "pid"), tid = table_column(def, "tid"), comm = table_column(def, "comm");
    int of = table_column(def, "cgroup"), run_queue = table_column(def, "run_queue_us");
    int state = table_column(def, "state");
    for (const union cell *row; (row = table_next(table, &cursor));) {
        const struct text *its = scan_text(row, of), *letter = scan_text(row, state);
        if (!isnan(only) ? scan_num(row, pid) != only : !its || !group_is_below(text_bytes(its), text_bytes(group)))
            continue;
        bool leads = tid < 0 || scan_num(row, tid) == scan_num(row, pid);
        count += leads && !(letter && text_bytes(letter)[0] == 'X');
        double waits = isnan(only) ? scan_num(row, run_queue) : leads;
        if (waits > longest) {
            longest = waits;
            found.who = (struct culprit){scan_num(row, pid), scan_text(row, comm), NULL};
        }
    }
    if (isnan(only) && !isnan(found.who.pid))
        found.others = fmax(fmax(count, processes) - 1, 0); // processes: of the group itself only
    return found;
}

static void report_limit(struct scan *scan, const struct limit_columns *at, const union cell *row) {
    const struct text *group = scan_text(row, at->group);
    double processes = scan_num(row, at->processes);
    struct members members = limited_tasks(scan, group, processes, scan_num(row, at->pid));
    char who[128] = "the group", name[64], others[48] = "";
    if (members.others > 0)
        snprintf(others, sizeof(others), " and %.0f other%s", members.others, members.others > 1 ? "s" : "");
    if (!isnan(members.who.pid))
        snprintf(who, sizeof(who), "%s%s in the group", scan_name(scan, &members.who, name, sizeof(name)), others);
    else if (processes > 1)
        snprintf(who, sizeof(who), "%.0f processes in the group", processes);
    scan_report(
        scan, SEVERITY_WARNING, scan_tail(text_bytes(group), 47), &members.who,
        "%s %s: held to the group's limit of %.0f %% of one CPU, stopped in %.0f %% of the periods, for %s each "
        "second",
        who, text_bytes(group), scan_num(row, at->limit), scan_num(row, at->pct),
        scan_show(scan, UNIT_US, scan_num(row, at->us)));
    if (scan_num(row, at->pct) >= EXPLAINS_PCT)
        scan->cpu_limited = true;
}

void check_cpu_limit(struct scan *scan) {
    const struct table *table = scan_table(scan, "cpu_limits");
    const union cell *worst[LIMITS_TOLD] = {NULL};
    size_t cursor = 0, n = 0;
    if (!table)
        return;
    const struct table_def *def = table_def(table);
    struct limit_columns at = {
        table_column(def, "cgroup"),        table_column(def, "cpu_limit_pct"),
        table_column(def, "throttled_pct"), table_column(def, "throttled_us_per_s"),
        table_column(def, "processes"),     table_column(def, "pid"),
    };
    for (const union cell *row; (row = table_next(table, &cursor));) {
        double us = scan_num(row, at.us);
        if (!scan_text(row, at.group) || !(scan_num(row, at.pct) >= STOPPED_PCT) || !(us >= STOPPED_US))
            continue;
        size_t i = n < LIMITS_TOLD ? n++ : LIMITS_TOLD;
        for (; i && us > scan_num(worst[i - 1], at.us); i--)
            if (i < LIMITS_TOLD)
                worst[i] = worst[i - 1];
        if (i < LIMITS_TOLD)
            worst[i] = row;
    }
    for (size_t i = 0; i < n; i++)
        report_limit(scan, &at, worst[i]);
}
