// The pane `tasks`: resource use of each task, and stuck tasks.
#include <string.h>

#include "views/part_fields.h"
#include "views/part_table.h"
#include "views/row/part_row.h"

// Highlights tasks in state D and zombies, dims exited ones (only their command: a row with every number coloured costs
// a terminal twice the bytes, and short-lived tasks are new rows in each frame).
static enum role task_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    int state_column = join_column(join, "state");
    const struct text *state = state_column < 0 ? NULL : join_cell(join, row, (uint16_t)state_column).text;

    (void)value;
    switch (state ? text_bytes(state)[0] : 0) {
    case 'X':
        return !strcmp(column->name, "state") || !strcmp(column->name, "command") ? ROLE_DIM : ROLE_TEXT;
    case 'D':
        return !strcmp(column->name, "state") || !strcmp(column->name, "command") ? ROLE_WARNING : ROLE_TEXT;
    case 'Z':
        return !strcmp(column->name, "state") ? ROLE_WARNING : ROLE_TEXT;
    case 'R':
        return !strcmp(column->name, "state") ? ROLE_GOOD : ROLE_TEXT;
    default:
        return ROLE_TEXT;
    }
}

// Highlights a cgroup that is throttled, stalled, or near its limit.
static enum role group_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    static const struct {
        const char *name;
        double warning, critical;
    } bounds[] = {{"throttled_pct", 1, 25},    {"cpu_pressure_pct", 20, 60},   {"io_pressure_pct", 10, 40},
                  {"memory_used_pct", 90, 97}, {"memory_pressure_pct", 1, 10}, {"memory_full_pct", 1, 10}};

    (void)join;
    (void)row;
    for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
        if (!strcmp(column->name, bounds[i].name))
            return value.num >= bounds[i].critical  ? ROLE_CRITICAL
                   : value.num >= bounds[i].warning ? ROLE_WARNING
                                                    : ROLE_TEXT;
    return ROLE_TEXT;
}

#define GROUP_TABLES                                                                                                   \
    { "cgroups", "cgroup_stats" }

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "summary",
        .spec =
            &(const struct fields_spec){
                .shown = "tasks_total=tasks tasks_running=running tasks_uninterruptible=stuck_in_D "
                         "threads_total=threads tasks_zombie=zombies tasks_ended_per_s=ended/s",
                .width = 18,
            },
        .min_height = 1,
    },
    {
        .kind = &part_table,
        .name = "tasks",
        .title = "Tasks",
        .spec =
            &(const struct table_spec){
                .source = {.tables = {"tasks", "task_counters"}, .sort = "cpu_pct"},
                .shown = "pid user state cpu_pct rss_kib run_queue_us read_bytes_per_s write_bytes_per_s command "
                         "user_pct system_pct threads major_faults_per_s context_switches_per_s minor_faults_per_s "
                         "ppid migrations_per_s vsize_kib cpu ipc cgroup",
                .rest = "command",
                .rest_or = "comm",
                .twin = "tid",
                .opens = "task",
                .role = task_role,
                .empty = "no task",
            },
        .min_height = 4,
        .weight = 1,
    },
    {
        .kind = &part_row,
        .name = "task",
        .title = "Task",
        .spec =
            &(const struct row_spec){
                .source = {.tables = {"tasks", "task_counters"}},
                .same = "started_s",
                .heading = "pid tid user command",
                .shown = "cpu_pct ipc run_queue_us context_switches_per_s minor_faults_per_s major_faults_per_s "
                         "read_bytes_per_s write_bytes_per_s rss_kib cycles_per_s cache_misses_per_s "
                         "branch_misses_per_s cache_miss_pct user_pct system_pct migrations_per_s threads "
                         "counted_pct",
                .lines = "command cgroup",
            },
    },
    {
        .kind = &part_table,
        .name = "cgroups",
        .title = "Cgroups",
        .spec =
            &(const struct table_spec){
                .source = {.tables = GROUP_TABLES, .sort = "cpu_pct"},
                .shown = "tasks cpu_pct throttled_pct cpu_pressure_pct rss_kib io_pressure_pct cgroup "
                         "memory_used_pct memory_pressure_pct ipc cpu_limit_pct read_bytes_per_s write_bytes_per_s "
                         "run_queue_us major_faults_per_s minor_faults_per_s usage_pct throttled_us_per_s "
                         "memory_bytes memory_limit_bytes cycles_per_s cache_misses_per_s context_switches_per_s "
                         "memory_full_pct",
                .rest = "cgroup",
                .role = group_role,
                .opens = "cgroup",
                .empty = "no cgroup has a task",
            },
        .min_height = 4,
        .weight = 1,
        .toggle = 'c',
        .toggle_help = "show or hide the cgroups: sums over their tasks, pressure, throttling, limits",
        .needs = (const char *const[]){"cgroups", NULL},
    },
    {
        .kind = &part_row,
        .name = "cgroup",
        .title = "Cgroup",
        .spec =
            &(const struct row_spec){
                .source = {.tables = GROUP_TABLES},
                .heading = "cgroup",
                .shown = "cpu_pct throttled_pct cpu_pressure_pct io_pressure_pct memory_pressure_pct memory_bytes ipc "
                         "rss_kib tasks minor_faults_per_s major_faults_per_s read_bytes_per_s write_bytes_per_s "
                         "run_queue_us context_switches_per_s cycles_per_s cache_misses_per_s",
                .lines = "cgroup",
            },
        .needs = (const char *const[]){"cgroups", NULL},
    },
};

const struct view view_tasks = {
    .name = "tasks",
    .key = '2',
    .title = "Tasks",
    .question = "Which processes or threads use CPU, memory and disk, wait for a CPU, or are stuck?",
    .needs = (const char *const[]){"tasks", "task_counters", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
};
