// The collector "cgroups": pressure, throttling, limits and memory of cgroups, as the kernel accounts them. Runs only
// while a pane needs it: a machine may have thousands of cgroups. What their tasks use is summed in model/groups.c.
#include "collectors/cgroups/rows.h"
#include "model/clock.h"

#include <math.h>
#include <stdio.h>

#define READ_MAX 400   // cgroups read in one frame, in rotation
#define LIST_SHARE 100 // the search takes at most 1/100 of the time

enum {
    CGROUP,
    USAGE,
    THROTTLED_PCT,
    THROTTLED_US,
    CPU_LIMIT,
    CPU_PRESSURE,
    IO_PRESSURE,
    MEMORY_PRESSURE,
    MEMORY_FULL,
    MEMORY,
    MEMORY_LIMIT,
    MEMORY_USED,
    COLUMNS
};

static const struct column columns[COLUMNS] = {
    [CGROUP] = {.name = "cgroup",
                .title = "CGROUP",
                .help = "Path of the control group.",
                .type = COLUMN_TEXT,
                .width = 24,
                .ascending = true},
    [USAGE] = {.name = "usage_pct",
               .title = "USAGE%",
               .help = "CPU time of the cgroup and its descendants, in percent of one CPU.",
               .unit = UNIT_PCT,
               .width = 6},
    [THROTTLED_PCT] = {.name = "throttled_pct",
                       .title = "THROT%",
                       .help = "Share of the CPU limit's periods in which the cgroup was throttled.",
                       .unit = UNIT_PCT,
                       .width = 6},
    [THROTTLED_US] = {.name = "throttled_us_per_s",
                      .title = "THROTTLED",
                      .help = "Throttled time, summed over all CPUs, per second.",
                      .unit = UNIT_US_PER_S,
                      .width = 7},
    [CPU_LIMIT] = {.name = "cpu_limit_pct",
                   .title = "CPUMAX%",
                   .help = "CPU limit in percent of one CPU (cpu.max; v1: cpu.cfs_quota_us).",
                   .unit = UNIT_PCT,
                   .width = 7},
    [CPU_PRESSURE] = {.name = "cpu_pressure_pct",
                      .title = "PSICPU%",
                      .help = "Share of the interval in which tasks stalled on CPU (PSI some), descendants included.",
                      .unit = UNIT_PCT,
                      .width = 7},
    [IO_PRESSURE] = {.name = "io_pressure_pct",
                     .title = "PSIIO%",
                     .help = "Share of the interval in which tasks stalled on I/O (PSI some), descendants included.",
                     .unit = UNIT_PCT,
                     .width = 6},
    [MEMORY_PRESSURE] = {.name = "memory_pressure_pct",
                         .title = "PSIMEM%",
                         .help =
                             "Share of the interval in which tasks stalled on memory (PSI some), descendants included.",
                         .unit = UNIT_PCT,
                         .width = 7},
    [MEMORY_FULL] = {.name = "memory_full_pct",
                     .title = "PSIFULL%",
                     .help = "Share of the interval in which all non-idle tasks stalled on memory (PSI full).",
                     .unit = UNIT_PCT,
                     .width = 8},
    [MEMORY] = {.name = "memory_bytes",
                .title = "MEM",
                .help = "Memory charged to the cgroup, page cache and descendants included.",
                .unit = UNIT_BYTES,
                .width = 6},
    [MEMORY_LIMIT] = {.name = "memory_limit_bytes",
                      .title = "MEMMAX",
                      .help = "Memory limit (memory.max; v1: memory.limit_in_bytes).",
                      .unit = UNIT_BYTES,
                      .width = 6},
    [MEMORY_USED] = {.name = "memory_used_pct",
                     .title = "MEM%",
                     .help = "Charged memory in percent of the memory limit.",
                     .unit = UNIT_PCT,
                     .width = 5},
};

static const struct table_def stats_table = {
    .name = "cgroup_stats",
    .help =
        "Control groups by the kernel's own accounts: pressure, throttling, limits, memory; measured while the pane "
        "shows the groups.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

static int groups_open(struct collector_run *run) {
    return cgroups_rows_open(run, &stats_table, false, "no cgroup hierarchy is mounted that this user can read");
}

static void group_limits(void *context, struct cgroup *group) {
    struct cgroups_rows *rows = context;
    cgroup_read_limits(&rows->cgroups, group, &group->limits);
}

static double share(uint64_t before, uint64_t now, double seconds) {
    double pct = counter_rate(before, now, seconds) / 1e4; // us of a second
    return pct > 100 ? 100 : pct;
}

static void group_write(struct table_builder *builder, const struct cgroup *group, const struct cgroup_counts *now,
                        double seconds) {
    const struct cgroup_counts *before = &group->counts;
    const double values[COLUMNS] = {
        [USAGE] = counter_rate(before->usage_us, now->usage_us, seconds) / 1e4,
        [THROTTLED_PCT] = cgroup_throttled_pct(before, now),
        [THROTTLED_US] = counter_rate(before->throttled_us, now->throttled_us, seconds),
        [CPU_LIMIT] = group->limits.cpu_pct,
        [CPU_PRESSURE] = share(before->cpu_some_us, now->cpu_some_us, seconds),
        [IO_PRESSURE] = share(before->io_some_us, now->io_some_us, seconds),
        [MEMORY_PRESSURE] = share(before->memory_some_us, now->memory_some_us, seconds),
        [MEMORY_FULL] = share(before->memory_full_us, now->memory_full_us, seconds),
        [MEMORY] = counter_value(now->memory_bytes),
        [MEMORY_LIMIT] = group->limits.memory_bytes,
        [MEMORY_USED] = 100 * counter_value(now->memory_bytes) / group->limits.memory_bytes,
    };
    for (uint16_t i = USAGE; i < COLUMNS; i++)
        table_builder_set_num(builder, group->slot, i, values[i]);
}

static void group_sample(struct cgroups_rows *rows, struct cgroup *group) {
    struct cgroup_counts now;
    uint64_t ns = now_ns();
    cgroup_read(&rows->cgroups, group, &now);
    if (cgroups_rows_add(rows, group))
        group->counts = (struct cgroup_counts){PROC_MISSING, PROC_MISSING, PROC_MISSING, PROC_MISSING, PROC_MISSING,
                                               PROC_MISSING, PROC_MISSING, PROC_MISSING, PROC_MISSING};
    group_write(rows->builder, group, &now, (double)(ns - group->read_ns) / 1e9);
    group->counts = now;
    group->read_ns = ns;
}

static int groups_sample(struct collector_run *run, struct section *out) {
    struct cgroups_rows *rows = run->state;
    cgroups_list_due(&rows->cgroups, LIST_SHARE, cgroups_rows_drop, group_limits, rows);
    size_t n = rows->cgroups.count, most = n < READ_MAX ? n : READ_MAX;
    for (size_t i = 0; i < most; i++)
        group_sample(rows, &rows->cgroups.groups[rows->turn++ % n]);
    rows->turn = n ? rows->turn % n : 0;
    section_table(out, table_builder_seal(rows->builder));
    section_set_state(out, SECTION_OK);
    if (n > READ_MAX)
        section_note(out, SEVERITY_INFO, "cpu_pressure_pct",
                     "many cgroups: each is read every few frames, and its rates cover that time", NULL);
    if (rows->cgroups.left_out)
        section_note(out, SEVERITY_WARNING, "cpu_pressure_pct", "too many cgroups: some are not shown", NULL);
    if (rows->cgroups.fds[CGROUP_V2] < 0)
        section_note(out, SEVERITY_INFO, "cpu_pressure_pct", "no pressure of cgroups: cgroup v2 is not mounted",
                     "mount -t cgroup2 none /sys/fs/cgroup/unified");
    return 0;
}

static void groups_check(struct check_report *report) {
    struct check check = {.capability = "control groups"};
    struct cgroups cgroups;
    check.works = !cgroups_open(&cgroups, "");
    snprintf(check.detail, sizeof(check.detail), "%s",
             !check.works                     ? "no hierarchy is mounted that this user can read"
             : cgroups.fds[CGROUP_V2] < 0     ? "v1 only: throttling, limits and memory, no pressure"
             : cgroups.fds[CGROUP_V1_CPU] < 0 ? "v2: pressure, throttling, limits and memory"
                                              : "v1 and v2: pressure, throttling, limits and memory");
    snprintf(check.fix, sizeof(check.fix), "%s", check.works ? "" : "mount -t cgroup2 none /sys/fs/cgroup");
    cgroups_close(&cgroups);
    report->add(report, &check);
}

static const struct table_def *const tables[] = {&stats_table, NULL};

const struct collector collector_cgroups = {
    .name = "cgroups",
    .help =
        "Pressure, throttling, limits and memory of cgroups, v1 and v2: about eight small files a cgroup, of at most "
        "400 cgroups a frame.",
    .tables = tables,
    .open = groups_open,
    .sample = groups_sample,
    .close = cgroups_rows_close,
    .check = groups_check,
};
