// The pane `functions`: how often chosen functions are called, and how long they take. Only data.
#include <string.h>

#include "views/flame/part_callers.h"
#include "views/flame/part_flame.h"
#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/part_fields.h"
#include "views/part_table.h"
#include "views/row/part_row.h"

static enum role function_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (!strcmp(column->name, "missed"))
        return value.num > 0 ? ROLE_WARNING : ROLE_DIM;
    return column->type == COLUMN_NUMBER && value.num == 0 ? ROLE_DIM : ROLE_TEXT;
}

static const struct table_spec functions = {
    .source = {.tables = {"functions"}, .sort = "total_us_per_s", .then = "calls_per_s"},
    .shown = "function calls_per_s total_us_per_s avg_us p99_us max_us missed object in_flight processes timed calls "
             "pattern",
    .chooses = "function",
    .removes = "pattern",
    .removes_function = true,
    .opens = "by_process",
    .role = function_role,
    .empty = "no function is chosen: E adds a pattern",
};
static const struct table_spec by_process = {
    .source = {.tables = {"functions_by_process"}, .sort = "total_us_per_s", .then = "calls_per_s"},
    .shown = "pid comm function calls_per_s total_us_per_s avg_us p99_us max_us missed object in_flight calls",
    .role = function_role,
    .jump = {.pane = "tasks", .columns = "pid comm"},
    .empty = "no process called one of the functions",
};

static const char *const sets[] = {"function_latency", NULL};
static const struct table_spec slow = {
    .source = {.tables = {"slow_calls"}, .stream = true},
    .shown = "time_s latency_us function comm caller args pid tid stack",
    .rest = "stack",
    .opens = "call",
    .left_out = "other slow calls",
    .optional = true,
    .empty = "no call took longer than its limit",
};
static const struct row_spec call = {
    .source = {.tables = {"slow_calls"}, .stream = true},
    .heading = "function tid pid comm",
    .lines = "args stack",
    .jump = {.pane = "tasks", .columns = "pid comm"},
};
static const struct hist_measure measures[] = {{.set = "function_latency", .column = "latency_us"}, {0}};
static const struct hist_spec hists = {.untyped = true, .sets = sets, .measures = measures, .list = "slow_calls"};

static const char *const graph_needs[] = {"call_graph", NULL};
static const struct flame_spec graph = {
    .tree = "graph",
    .source = "graph_functions",
    .unit = "ns",
    .callers = "graph_callers",
    .empty = "no chosen function returned",
};
static const struct table_spec graph_functions = {
    .source = {.tables = {"graph_functions"}, .sort = "-line"},
    .shown = "calls total_us self_us avg_us max_us function calls_all total_us_all max_us_all cut depth line",
    .rest = "function",
    .rest_wants = 40,
    .text_rows = 100,
    .empty = "no chosen function returned",
};
static const struct table_spec graph_calls = {
    .source = {.tables = {"graph_calls"}, .sort = "-line"},
    .shown = "total_us self_us function comm tid time_s pid cpu call depth line",
    .rest = "function",
    .rest_wants = 40,
    .text_rows = 100,
    .empty = "no call took as long",
};

#define GRAPH_TOGGLE                                                                                                   \
    .toggle = 'G', .toggle_help = "show or hide the call graph of kernel functions (--graph)", .on_request = true,     \
    .needs = graph_needs

static const struct part parts[] = {
    {
        .kind = &part_fields,
        .name = "summary",
        .spec =
            &(const struct fields_spec){
                .shown = "function_calls_per_s=calls/s function_cost_pct=cost_% function_returns_missed=missed "
                         "function_probes=probes",
                .width = 18,
            },
        .min_height = 1,
    },
    {.kind = &part_table,
     .name = "graph_functions",
     .title = "Call tree",
     .spec = &graph_functions,
     .min_height = 4,
     .weight = 3,
     GRAPH_TOGGLE},
    {.kind = &part_table,
     .name = "graph_calls",
     .title = "Slow calls",
     .spec = &graph_calls,
     .min_height = 4,
     .weight = 2,
     .right = true,
     GRAPH_TOGGLE},
    {.kind = &part_flame,
     .name = "graph",
     .title = "Call graph",
     .spec = &graph,
     .min_height = 7,
     .weight = 3,
     GRAPH_TOGGLE},
    {.kind = &part_table, .name = "functions", .title = "Functions", .spec = &functions, .min_height = 4, .weight = 3},
    {.kind = &part_table,
     .name = "by_process",
     .title = "By process",
     .spec = &by_process,
     .min_height = 3,
     .weight = 1},
    {.kind = &part_table, .name = "slow_calls", .title = "Slow calls", .spec = &slow, .min_height = 3, .weight = 1},
    {.kind = &part_row, .name = "call", .title = "Call", .spec = &call},
    {.kind = &part_heat, .name = "function_latency", .title = "Heat map", .spec = &hists, .min_height = 9, .weight = 2},
    {.kind = &part_hist,
     .name = "function_latency",
     .title = "Histogram",
     .spec = &hists,
     .min_height = 8,
     .weight = 2,
     .right = true},
    {.kind = &part_callers,
     .name = "graph_callers",
     .title = "Callers and callees",
     .spec = &graph,
     .on_request = true, // with the call graph
     .needs = graph_needs},
};

static const struct view_term terms[] = {
    {"TOTAL/s", "time in a function and what it calls, of all threads, per second"},
    {"cost %", "estimated cost of the probes to the programs, in % of a CPU"},
    {"MISSED", "calls whose return the kernel did not report: counted, not timed"},
    {"call graph", "kernel functions and what they call, by call path; times are from entry to return, also asleep"},
    {0},
};

const struct view view_functions = {
    .name = "functions",
    .key = 'F',
    .title = "Functions",
    .question = "How often are these functions of programs and of the kernel called, how long do they take, and what "
                "do they call?",
    .terms = terms,
    .needs = (const char *const[]){"functions", NULL},
    .alone = true,
    .parts = parts,
    .n_parts = sizeof(parts) / sizeof(parts[0]),
    .wide_from = 110,
};
