// The collector "cpu_limits": cgroups with a CPU limit (cpu.max, v1: cpu.cfs_quota_us), and how much it throttles them.
// Runs always: few cgroups have a limit, only those are read in every frame, and the search for them takes at most
// 0.5 % of the time. The collector "sched" reads its section.
#include <math.h>

#include "collectors/cgroups/rows.h"

#define READ_MAX 100   // cgroups read in one frame, in rotation
#define LIST_SHARE 200 // the search takes at most 1/200 of the time

enum { CGROUP, LIMIT, THROTTLED_PCT, THROTTLED_US, THROTTLED, PERIODS, PROCESSES, PID, COLUMNS };

static const struct column columns[COLUMNS] = {
    [CGROUP] = {.name = "cgroup",
                .title = "CGROUP",
                .help = "cgroup with a CPU limit, in the hierarchy of the cpu controller.",
                .type = COLUMN_TEXT,
                .width = 24,
                .ascending = true},
    [LIMIT] = {.name = "cpu_limit_pct",
               .title = "CPUMAX%",
               .help = "CPU limit in percent of one CPU (cpu.max; v1: cpu.cfs_quota_us).",
               .unit = UNIT_PCT,
               .width = 7},
    [THROTTLED_PCT] = {.name = "throttled_pct",
                       .title = "THROT%",
                       .help = "Share of the limit's periods in which the cgroup was throttled.",
                       .unit = UNIT_PCT,
                       .width = 6},
    [THROTTLED_US] = {.name = "throttled_us_per_s",
                      .title = "THROTTLED",
                      .help = "Throttled time, summed over all CPUs, per second.",
                      .unit = UNIT_US_PER_S,
                      .width = 9},
    [THROTTLED] = {.name = "throttled_per_s",
                   .title = "THROT/s",
                   .help = "Periods in which the cgroup was throttled, per second.",
                   .unit = UNIT_PER_S,
                   .width = 7},
    [PERIODS] = {.name = "periods_per_s",
                 .title = "PERIODS/s",
                 .help = "Periods of the limit in which the cgroup ran, per second.",
                 .unit = UNIT_PER_S,
                 .width = 9},
    [PROCESSES] = {.name = "processes",
                   .title = "PROCS",
                   .help = "Processes in the cgroup itself; read only while it is throttled.",
                   .unit = UNIT_COUNT,
                   .width = 5},
    [PID] = {.name = "pid",
             .title = "PID",
             .help = "The process, if it is the only one in the cgroup.",
             .unit = UNIT_ID,
             .width = 7,
             .ascending = true},
};

static const struct table_def limits_table = {
    .name = "cpu_limits",
    .help = "cgroups with a CPU limit, and how often it throttles them.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

static int limits_open(struct collector_run *run) {
    return cgroups_rows_open(run, &limits_table, true, "no cgroup hierarchy with the cpu controller is mounted");
}

static void group_limit(void *context, struct cgroup *group) {
    struct cgroups_rows *rows = context;
    group->limits.cpu_pct = cgroup_read_cpu_limit(&rows->cgroups, group);
    if (isnan(group->limits.cpu_pct))
        cgroups_rows_drop(rows, group);
}

static void group_sample(struct cgroups_rows *rows, struct cgroup *group) {
    struct cgroup_counts now, *before = &group->counts;
    struct table_builder *builder = rows->builder;
    uint64_t ns = cgroup_clock_ns();
    double seconds = (double)(ns - group->read_ns) / 1e9, processes = NAN, pid = NAN;
    cgroup_read_throttling(&rows->cgroups, group, &now);
    if (cgroups_rows_add(rows, group))
        before->periods = before->throttled = before->throttled_us = PROC_MISSING;
    double throttled_pct = cgroup_throttled_pct(before, &now);
    if (throttled_pct > 0)
        processes = cgroup_read_processes(&rows->cgroups, group, &pid);
    table_builder_set_num(builder, group->slot, LIMIT, group->limits.cpu_pct);
    table_builder_set_num(builder, group->slot, THROTTLED_PCT, throttled_pct);
    table_builder_set_num(builder, group->slot, THROTTLED_US,
                          counter_rate(before->throttled_us, now.throttled_us, seconds));
    table_builder_set_num(builder, group->slot, THROTTLED, counter_rate(before->throttled, now.throttled, seconds));
    table_builder_set_num(builder, group->slot, PERIODS, counter_rate(before->periods, now.periods, seconds));
    table_builder_set_num(builder, group->slot, PROCESSES, processes);
    table_builder_set_num(builder, group->slot, PID, pid);
    group->counts = now;
    group->read_ns = ns;
}

static int limits_sample(struct collector_run *run, struct section *out) {
    struct cgroups_rows *rows = run->state;
    cgroups_list_due(&rows->cgroups, LIST_SHARE, cgroups_rows_drop, group_limit, rows);
    size_t n = rows->cgroups.count, limited = 0;
    for (size_t i = 0; i < n; i++)
        limited += !isnan(rows->cgroups.groups[i].limits.cpu_pct);
    size_t left = limited < READ_MAX ? limited : READ_MAX;
    for (size_t i = 0; i < n && left; i++) {
        struct cgroup *group = &rows->cgroups.groups[(rows->turn + i) % n];
        if (isnan(group->limits.cpu_pct))
            continue;
        group_sample(rows, group);
        if (!--left)
            rows->turn = (rows->turn + i + 1) % n;
    }
    section_table(out, table_builder_seal(rows->builder));
    section_set_state(out, SECTION_OK);
    if (limited > READ_MAX)
        section_note(out, SEVERITY_INFO, "throttled_pct",
                     "many cgroups have a CPU limit: each is read every few frames, and its rates cover that time",
                     NULL);
    if (rows->cgroups.left_out)
        section_note(out, SEVERITY_WARNING, "throttled_pct", "too many cgroups: some were not searched for CPU limits",
                     NULL);
    return 0;
}

static const struct table_def *const tables[] = {&limits_table, NULL};

const struct collector collector_cpu_limits = {
    .name = "cpu_limits",
    .help = "Which control groups are stopped by a limit on CPU time: a small file of each group that has one, at most "
            "100 a frame; the search for them takes 0.5 % of a CPU at most.",
    .always = true,
    .tables = tables,
    .open = limits_open,
    .sample = limits_sample,
    .close = cgroups_rows_close,
};
