// The pane `syscalls`: system calls by type and process, their latency and errors. Only data.
#include <string.h>

#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/part_fields.h"
#include "views/part_table.h"
#include "views/row/part_row.h"

// Calls that fail often are highlighted; calls without errors are dimmed.
static enum role call_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (!strcmp(column->name, "errors_per_s"))
        return value.num >= 100 ? ROLE_WARNING : value.num > 0 ? ROLE_TEXT : ROLE_DIM;
    return ROLE_TEXT;
}

static enum role slow_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    return !strcmp(column->name, "error") && value.text ? ROLE_WARNING : ROLE_TEXT;
}

static const struct table_spec syscalls = {
    .source = {.tables = {"syscalls"}, .sort = "calls_per_s", .then = "total_us_per_s"},
    .shown = "syscall calls_per_s errors_per_s avg_us p99_us max_us total_us_per_s error_names p50_us share_pct",
    .opens = "by_process",
    .role = call_role,
    .empty = "no system call returned",
};
static const struct table_spec by_process = {
    .source = {.tables = {"syscalls_by_process"}, .sort = "calls_per_s", .then = "total_us_per_s"},
    .shown = "pid comm syscall calls_per_s errors_per_s avg_us max_us total_us_per_s error_names share_pct",
    .jump = {.pane = "tasks", .columns = "pid comm"},
    .role = call_role,
    .empty = "no process made such a call",
};
static const struct table_spec processes = {
    .source = {.tables = {"syscalls_processes"}, .sort = "calls_per_s", .then = "total_us_per_s"},
    .shown = "pid comm calls_per_s errors_per_s total_us_per_s avg_us max_us error_names share_pct",
    .opens = "by_process",
    .role = call_role,
    .empty = "no process made a call",
};
static const struct table_spec errors = {
    .source = {.tables = {"syscall_errors"}, .sort = "errors_per_s"},
    .shown = "comm syscall error errors_per_s pid errors",
    .opens = "slow_syscalls",
    .optional = true,
    .empty = "no call failed",
};
static const struct table_spec progress = {
    .source = {.tables = {"in_progress"}, .sort = "-idle", .then = "since_us"},
    .shown = "pid comm since_us syscall args",
    .rest = "args",
    .opens = "call",
    .empty = "no thread is in a system call",
};
static const struct row_spec call = {
    .source = {.tables = {"in_progress"}},
    .heading = "tid pid comm syscall",
    .lines = "args",
};
static const struct table_spec slow = {
    .source = {.tables = {"slow_syscalls"}, .stream = true, .sort = "-idle", .then = "latency_us"},
    .shown = "latency_us comm syscall args pid error result time_s tid",
    .rest = "args",
    .opens = "slow_call",
    .role = slow_role,
    .left_out = "other calls",
    .empty = "no call returned",
};
static const struct row_spec slow_call = {
    .source = {.tables = {"slow_syscalls"}, .stream = true},
    .heading = "tid pid comm syscall",
    .lines = "args",
};

static const char *const sets[] = {"syscall_latency", NULL};
static const struct hist_measure measures[] = {{.set = "syscall_latency", .column = "latency_us"}, {0}};
static const struct hist_spec hists = {.untyped = true, .sets = sets, .measures = measures, .list = "slow_syscalls"};

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "summary",
        .spec =
            &(const struct fields_spec){
                .shown = "syscalls_per_s=calls/s syscall_errors_per_s=errors/s syscalls_in_progress=in_progress "
                         "syscalls_recorded_pct=recorded_%",
                .width = 18,
            },
        .min_height = 1,
    },
    {.kind = &part_table, .name = "syscalls", .title = "System calls", .spec = &syscalls, .min_height = 4, .weight = 3},
    {.kind = &part_table,
     .name = "by_process",
     .title = "By process and call",
     .spec = &by_process,
     .min_height = 4,
     .weight = 3},
    {.kind = &part_heat, .name = "syscall_latency", .title = "Heat map", .spec = &hists, .min_height = 9, .weight = 2},
    {.kind = &part_hist,
     .name = "syscall_latency",
     .title = "Histogram",
     .spec = &hists,
     .min_height = 8,
     .weight = 2,
     .right = true},
    {.kind = &part_table,
     .name = "in_progress",
     .title = "In progress",
     .spec = &progress,
     .min_height = 3,
     .weight = 1},
    {.kind = &part_table, .name = "errors", .title = "Errors", .spec = &errors, .min_height = 3, .weight = 1},
    {.kind = &part_table,
     .name = "slow_syscalls",
     .title = "Slow and failed",
     .spec = &slow,
     .min_height = 3,
     .weight = 1},
    {.kind = &part_table, .name = "processes", .title = "By process", .spec = &processes, .min_height = 3, .weight = 1},
    {.kind = &part_row, .name = "call", .title = "System call", .spec = &call},
    {.kind = &part_row, .name = "slow_call", .title = "System call", .spec = &slow_call},
};

const struct view view_syscalls = {
    .name = "syscalls",
    .key = '8',
    .title = "Syscalls",
    .question = "Which system calls are made, by which processes, how long do they take, and how do they fail?",
    .needs = (const char *const[]){"syscalls", NULL},
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
    .wide_from = 110,
};
