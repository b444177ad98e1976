// The pane `sched`: run-queue latency, off-CPU time and its reasons, and wakers. Only data.
#include <string.h>

#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/part_fields.h"
#include "views/part_table.h"
#include "views/row/part_row.h"

static const char *text_of(const struct join *join, size_t row, const char *name) {
    int column = join_column(join, name);
    const struct text *text = column < 0 ? NULL : join_cell(join, row, (uint16_t)column).text;

    return text ? text_bytes(text) : "";
}

static enum role wait_role(double us) {
    return us >= 100000 ? ROLE_CRITICAL : us >= 10000 ? ROLE_WARNING : ROLE_TEXT;
}

static enum role task_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    const char *state = text_of(join, row, "state");

    if (column->type == COLUMN_NUMBER && !strncmp(column->name, "run_queue_us_", 13) &&
        strcmp(column->name, "run_queue_us_per_s"))
        return wait_role(value.num);
    if (!strcmp(column->name, "state"))
        return state[0] == 'D' ? ROLE_WARNING : !strcmp(state, "running") ? ROLE_GOOD : ROLE_TEXT;
    if (!strcmp(column->name, "disk_us_per_s") && value.num >= 100000)
        return ROLE_WARNING;
    return state[0] == 'X' ? ROLE_DIM : ROLE_TEXT;
}

static enum role stuck_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (!strcmp(column->name, "since_us"))
        return value.num >= 10e6 ? ROLE_CRITICAL : value.num >= 1e6 ? ROLE_WARNING : ROLE_TEXT;
    return !strcmp(column->name, "kind") ? ROLE_WARNING : ROLE_TEXT;
}

static enum role cpu_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (column->type != COLUMN_NUMBER)
        return ROLE_TEXT;
    if (!strcmp(column->name, "run_queue"))
        return value.num >= 4 ? ROLE_CRITICAL : value.num >= 2 ? ROLE_WARNING : ROLE_TEXT;
    return !strncmp(column->name, "run_queue_us_", 13) ? wait_role(value.num) : ROLE_TEXT;
}

static enum role cgroup_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    return !strcmp(column->name, "throttled_pct") && value.num > 0 ? ROLE_CRITICAL : ROLE_TEXT;
}

static const struct table_spec stuck = {
    .source = {.tables = {"sched_stuck"}, .sort = "since_us"},
    .shown = "pid comm since_us waits_for kind blocked_in syscall state cgroup",
    .rest = "waits_for",
    .rest_or = "blocked_in",
    .rest_wants = 60,
    .twin = "tid",
    .opens = "stuck_row",
    .role = stuck_role,
    .optional = true,
    .empty = "no task is stuck",
};
static const struct row_spec stuck_row = {
    .source = {.tables = {"sched_stuck"}},
    .heading = "pid tid comm",
    .lines = "waits_for cgroup stack",
};

static const struct table_spec tasks = {
    .source = {.tables = {"sched_tasks"}, .sort = "run_queue_us_max", .floor = 200},
    .shown = "pid comm state run_queue_us_max off_cpu_us_per_s switches_per_s blocked_in waker run_queue_us_avg "
             "disk_us_per_s preempted_us_per_s syscall cpu priority",
    .twin = "tid",
    .opens = "task",
    .role = task_role,
    .empty = "no task ran or waited",
};
static const struct row_spec task = {.source = {.tables = {"sched_tasks"}}, .heading = "pid tid comm"};

static const struct table_spec cpus = {
    .source = {.tables = {"sched_cpus"}, .sort = "-cpu"},
    .shown = "cpu run_queue run_queue_us_p99 run_queue_us_max busy_pct switches_per_s comm run_queue_max "
             "run_queue_us_avg involuntary_per_s wakeups_per_s migrations_per_s tid",
    .role = cpu_role,
};

static const struct table_spec cgroups = {
    .source = {.tables = {"cpu_limits"}, .sort = "throttled_us_per_s"},
    .shown = "cpu_limit_pct throttled_pct throttled_us_per_s throttled_per_s periods_per_s cgroup processes pid",
    .rest = "cgroup",
    .role = cgroup_role,
    .optional = true,
    .empty = "no cgroup has a CPU limit",
};

static const char *const sets[] = {"run_queue_latency", "off_cpu", "run_queue_by_process", NULL};
// The same waits, by CPU and by thread: a filter for a thread moves to the second.
static const struct hist_measure measures[] = {
    {.set = "run_queue_latency", .column = "run_queue_us"},
    {.set = "run_queue_by_process", .column = "run_queue_us"},
    {0},
};
static const struct hist_spec hists = {.untyped = true, .sets = sets, .measures = measures};

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "summary",
        .spec =
            &(const struct fields_spec){
                .shown = "sched_run_queue_us_p99=wait_p99 sched_run_queue_us_max=wait_max sched_runnable=runnable "
                         "sched_blocked=in_D sched_switches_per_s=switches/s sched_involuntary_per_s=preempted/s "
                         "sched_wakeups_per_s=wakeups/s sched_migrations_per_s=migrations/s "
                         "sched_sampled_pct=recorded_%",
                .width = 18,
            },
        .min_height = 1,
    },
    {.kind = &part_table, .name = "stuck", .title = "Stuck tasks", .spec = &stuck, .min_height = 5, .weight = 3},
    {.kind = &part_table, .name = "tasks", .title = "Threads", .spec = &tasks, .min_height = 4, .weight = 3},
    {.kind = &part_heat,
     .name = "run_queue_latency",
     .title = "Heat map",
     .spec = &hists,
     .min_height = 9,
     .weight = 2},
    {.kind = &part_hist,
     .name = "run_queue_latency",
     .title = "Histogram",
     .spec = &hists,
     .min_height = 8,
     .weight = 2,
     .right = true},
    {.kind = &part_table, .name = "cpus", .title = "Run queues", .spec = &cpus, .min_height = 2, .weight = 1},
    {.kind = &part_table, .name = "cgroups", .title = "CPU limits", .spec = &cgroups, .min_height = 2, .weight = 1},
    {.kind = &part_row, .name = "stuck_row", .title = "Wait reason", .spec = &stuck_row},
    {.kind = &part_row, .name = "task", .title = "Thread", .spec = &task},
};

const struct view view_sched = {
    .name = "sched",
    .key = '7',
    .title = "Sched",
    .question = "Which threads wait for a CPU, what do the others wait for, and what wakes them?",
    .needs = (const char *const[]){"sched", "cpu_limits", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
    .wide_from = 110,
};
