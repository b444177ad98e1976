// The rule about limits on CPU time: control groups that their own limit stops, whatever the machine has to spare.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/findings_private.h"

#define STOPPED_PCT 25    // of the periods; less is a burst that a limit is there to cut
#define STOPPED_US 100000 // a tenth of a CPU; a short stop in every period costs next to nothing
#define EXPLAINS_PCT 50   // so often stopped, a group explains that tasks wait for a CPU
#define LIMITS_TOLD 4     // groups, the most stopped ones; a pod and what is in it stop together

struct limit_columns {
    int group, limit, pct, us, processes, pid;
};

static bool is_below(const char *group, const char *above) {
    size_t length = strlen(above);
    if (length && above[length - 1] == '/') // the root
        length--;
    return !strncmp(group, above, length) && (group[length] == '/' || !group[length]);
}

// The busiest task of the group: its only process, or by the groups that the tasks are known with (with v1 those may be
// of another hierarchy, and then say nothing).
static struct culprit limited_task(struct scan *scan, const struct text *group, double only) {
    const struct table *table = frame_table(scan->frame, "tasks");
    struct culprit found = {.pid = only};
    double most = 0;
    size_t cursor = 0;
    if (!table)
        return found;
    const struct table_def *def = table_def(table);
    int pid = table_column(def, "pid"), comm = table_column(def, "comm"), of = table_column(def, "cgroup");
    int cpu = table_column(def, "cpu_pct");
    for (const union cell *row; (row = table_next(table, &cursor));) {
        bool its = !isnan(only) ? scan_num(row, pid) == only
                                : scan_text(row, of) && is_below(text_bytes(scan_text(row, of)), text_bytes(group));
        double use = isnan(only) ? scan_num(row, cpu) : 1;
        if (its && use > most) {
            most = use;
            found = (struct culprit){scan_num(row, pid), scan_text(row, comm), NULL};
        }
    }
    return found;
}

// The end of a path tells groups apart, and a key is short.
static const char *key_of(const char *group) {
    size_t length = strlen(group);
    return length > 47 ? group + length - 47 : group;
}

static void report_limit(struct scan *scan, const struct limit_columns *at, const union cell *row) {
    const struct text *group = scan_text(row, at->group);
    double processes = scan_num(row, at->processes);
    struct culprit culprit = limited_task(scan, group, scan_num(row, at->pid));
    char who[128] = "the group", name[64];
    if (!isnan(culprit.pid))
        snprintf(who, sizeof(who), "%s in the group", scan_name(scan, &culprit, name, sizeof(name)));
    else if (processes > 1)
        snprintf(who, sizeof(who), "%.0f processes in the group", processes);
    scan_report(
        scan, SEVERITY_WARNING, key_of(text_bytes(group)), &culprit,
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
