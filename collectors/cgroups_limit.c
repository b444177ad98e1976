// The collector "cpu_limits": control groups with a limit on CPU time (cpu.max, v1: cpu.cfs_quota_us), and how much it
// stops them. Runs always: few groups have a limit, only they are read in every frame, and the search for them takes a
// two-hundredth of the time at most.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "collectors/cgroups.h"
#include "collectors/collector.h"
#include "model/mem.h"

#define READ_MAX 100   // groups that are read in one frame; the others have their turn in the next
#define LIST_SHARE 200 // of the time it takes to look which groups have a limit

enum { CGROUP, LIMIT, THROTTLED_PCT, THROTTLED_US, PROCESSES, PID, COLUMNS };

static const struct column columns[COLUMNS] = {
    [CGROUP] = {.name = "cgroup",
                .title = "CGROUP",
                .help = "Control group with a limit on CPU time, in the hierarchy of the cpu controller",
                .type = COLUMN_TEXT,
                .width = 24,
                .ascending = true},
    [LIMIT] = {.name = "cpu_limit_pct",
               .title = "CPUMAX%",
               .help = "The limit, in percent of one CPU (cpu.max; v1: cpu.cfs_quota_us)",
               .unit = UNIT_PCT,
               .width = 7},
    [THROTTLED_PCT] = {.name = "throttled_pct",
                       .title = "THROT%",
                       .help = "Share of the periods of the limit in which it was stopped for having used it up",
                       .unit = UNIT_PCT,
                       .width = 6},
    [THROTTLED_US] = {.name = "throttled_us_per_s",
                      .title = "THROT/s",
                      .help = "Time that it was stopped, added up over the CPUs, per second",
                      .unit = UNIT_US_PER_S,
                      .width = 7},
    [PROCESSES] = {.name = "processes",
                   .title = "PROCS",
                   .help = "Processes in the group itself, looked up while it is being stopped",
                   .unit = UNIT_COUNT,
                   .width = 5},
    [PID] = {.name = "pid",
             .title = "PID",
             .help = "The process, when it is the only one in the group",
             .unit = UNIT_ID,
             .width = 7,
             .ascending = true},
};

static const struct table_def limits_table = {
    .name = "cpu_limits",
    .help = "Control groups with a limit on CPU time, and how much it stops them.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct state {
    struct cgroups cgroups;
    struct table_builder *rows;
    size_t turn;
};

static int limits_open(struct collector_run *run) {
    struct state *state = xcalloc(1, sizeof(*state));
    run->state = state;
    state->rows = table_builder_new(&limits_table);
    int rc = cgroups_open(&state->cgroups, "");
    if (!rc)
        rc = cgroups_keep_cpu(&state->cgroups);
    if (rc) {
        snprintf(run->reason, sizeof(run->reason), "no hierarchy of control groups that limits CPU time is mounted");
        snprintf(run->fix, sizeof(run->fix), "mount -t cgroup2 none /sys/fs/cgroup");
    }
    return rc;
}

static void limits_close(struct collector_run *run) {
    struct state *state = run->state;
    run->state = NULL;
    if (!state)
        return;
    cgroups_close(&state->cgroups);
    table_builder_free(state->rows);
    free(state);
}

static void group_gone(void *context, struct cgroup *group) {
    struct state *state = context;
    if (group->slot != UINT32_MAX)
        table_builder_remove(state->rows, group->slot);
    group->slot = UINT32_MAX;
    group->known = false;
}

static void group_limit(void *context, struct cgroup *group) {
    struct state *state = context;
    group->limits.cpu_pct = cgroup_read_cpu_limit(&state->cgroups, group);
    if (isnan(group->limits.cpu_pct))
        group_gone(state, group);
}

static void group_sample(struct state *state, struct cgroup *group) {
    struct cgroup_counts now, *before = &group->counts;
    struct table_builder *rows = state->rows;
    uint64_t ns = cgroup_clock_ns();
    double seconds = (double)(ns - group->read_ns) / 1e9, processes = NAN, pid = NAN;
    cgroup_read_throttling(&state->cgroups, group, &now);
    if (!group->known)
        before->periods = before->throttled = before->throttled_us = PROC_MISSING;
    if (group->slot == UINT32_MAX) {
        group->slot = table_builder_add(rows);
        table_builder_set_text(rows, group->slot, CGROUP, text_from(group->path));
    }
    double throttled_pct = cgroup_throttled_pct(before, &now);
    if (throttled_pct > 0)
        processes = cgroup_read_processes(&state->cgroups, group, &pid);
    table_builder_set_num(rows, group->slot, LIMIT, group->limits.cpu_pct);
    table_builder_set_num(rows, group->slot, THROTTLED_PCT, throttled_pct);
    table_builder_set_num(rows, group->slot, THROTTLED_US,
                          counter_rate(before->throttled_us, now.throttled_us, seconds));
    table_builder_set_num(rows, group->slot, PROCESSES, processes);
    table_builder_set_num(rows, group->slot, PID, pid);
    group->counts = now;
    group->read_ns = ns;
    group->known = true;
}

static int limits_sample(struct collector_run *run, struct section *out) {
    struct state *state = run->state;
    cgroups_list_due(&state->cgroups, LIST_SHARE, group_gone, group_limit, state);
    size_t n = state->cgroups.count, limited = 0;
    for (size_t i = 0; i < n; i++)
        limited += !isnan(state->cgroups.groups[i].limits.cpu_pct);
    size_t left = limited < READ_MAX ? limited : READ_MAX;
    for (size_t i = 0; i < n && left; i++) {
        struct cgroup *group = &state->cgroups.groups[(state->turn + i) % n];
        if (isnan(group->limits.cpu_pct))
            continue;
        group_sample(state, group);
        if (!--left)
            state->turn = (state->turn + i + 1) % n;
    }
    section_table(out, table_builder_seal(state->rows));
    section_set_state(out, SECTION_OK);
    if (limited > READ_MAX)
        section_note(out, SEVERITY_INFO, "throttled_pct",
                     "many control groups have a CPU limit: each is read every few frames, over the time since it was",
                     NULL);
    if (state->cgroups.left_out)
        section_note(out, SEVERITY_WARNING, "throttled_pct", "there are more control groups than are looked at", NULL);
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
    .close = limits_close,
};
