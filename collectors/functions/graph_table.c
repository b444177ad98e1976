// The call graph's tree, tables and series; see the header.
#include "collectors/functions/graph_table.h"

#include "model/columns.h"

#define HELP_LINE "Number of the line, which is its key."
#define HELP_FUNCTION "Function of the kernel, indented by its depth; [0x...]: it has no symbol."

const struct tree_def graph_tree_def = {
    .name = "graph",
    .title = "Call graph",
    .help = "Functions of the kernel by call path, weighted by their own time.",
    .unit_name = "ns",
};

static const struct column function_columns[GRAPH_F_ALL] = {
    [GRAPH_F_LINE] = ID_COLUMN("line", "LINE", 5, .help = HELP_LINE),
    [GRAPH_F_DEPTH] = ID_COLUMN("depth", "DEPTH", 5, .help = "Calls above it; 0: a function that was chosen."),
    [GRAPH_F_CALLS] =
        NUMBER_COLUMN("calls", "CALLS", UNIT_COUNT, 8, .help = "Calls on this path that ended in the interval."),
    [GRAPH_F_TOTAL_US] = NUMBER_COLUMN("total_us", "TOTAL", UNIT_US, 8,
                                       .help = "Their time from entry to return, with what they called, and asleep."),
    [GRAPH_F_SELF_US] =
        NUMBER_COLUMN("self_us", "SELF", UNIT_US, 8, .help = "The same without the functions below them in this tree."),
    [GRAPH_F_AVG_US] = NUMBER_COLUMN("avg_us", "AVG", UNIT_US, 8, .help = "Average time of a call."),
    [GRAPH_F_MAX_US] = NUMBER_COLUMN("max_us", "MAX", UNIT_US, 8, .help = "Longest call."),
    [GRAPH_F_CUT] = NUMBER_COLUMN("cut", "CUT", UNIT_COUNT, 6,
                                  .help = "Calls whose return was not recorded: they are in no time of this row."),
    [GRAPH_F_CALLS_ALL] =
        NUMBER_COLUMN("calls_all", "CALLS+", UNIT_COUNT, 8, .help = "calls since the functions were chosen."),
    [GRAPH_F_TOTAL_US_ALL] =
        NUMBER_COLUMN("total_us_all", "TOTAL+", UNIT_US, 8, .help = "total_us since the functions were chosen."),
    [GRAPH_F_MAX_US_ALL] =
        NUMBER_COLUMN("max_us_all", "MAX+", UNIT_US, 8, .help = "max_us since the functions were chosen."),
    [GRAPH_F_FUNCTION] = TEXT_COLUMN("function", "FUNCTION", 0, .help = HELP_FUNCTION),
};
const struct table_def graph_functions_table = {
    .name = "graph_functions",
    .help = "The call tree, depth first, the most time first: a row for each function on each call path since the "
            "functions were chosen, at most 1,000.",
    .columns = function_columns,
    .n_columns = GRAPH_F_ALL,
    .n_keys = 1,
};

static const struct column call_columns[GRAPH_C_ALL] = {
    [GRAPH_C_LINE] = ID_COLUMN("line", "LINE", 5, .help = HELP_LINE),
    [GRAPH_C_CALL] = ID_COLUMN("call", "CALL", 4, .help = "Number of the outermost call."),
    [GRAPH_C_DEPTH] = ID_COLUMN("depth", "DEPTH", 5, .help = "Calls above it; 0: the outermost call."),
    [GRAPH_C_TIME] =
        COLUMN_TIME_S(.help = "Return of the outermost call, in seconds since 1970.", .format = column_format_clock_us),
    [GRAPH_C_TOTAL_US] =
        NUMBER_COLUMN("total_us", "TOTAL", UNIT_US, 8, .help = "From entry to return; -: its return was not recorded."),
    [GRAPH_C_SELF_US] = NUMBER_COLUMN("self_us", "SELF", UNIT_US, 8, .help = "The same without what it called."),
    [GRAPH_C_PID] = COLUMN_PID(.help = HELP_PID),
    [GRAPH_C_TID] = COLUMN_TID(.help = HELP_TID),
    [GRAPH_C_CPU] = COLUMN_CPU(.help = "CPU of the return."),
    [GRAPH_C_COMM] = COLUMN_COMM(.help = HELP_COMM),
    [GRAPH_C_FUNCTION] = TEXT_COLUMN("function", "FUNCTION", 0, .help = HELP_FUNCTION),
};
const struct table_def graph_calls_table = {
    .name = "graph_calls",
    .help = "The newest 10 calls that took at least the time of --graph, or the slowest 10 of the interval; each with "
            "the calls below it in the order of time, at most 256.",
    .columns = call_columns,
    .n_columns = GRAPH_C_ALL,
    .n_keys = 1,
};

const struct series_def graph_series[GRAPH_SERIES] = {
    [GRAPH_S_CALLS] = {"graph_calls_per_s", "Calls/s", "Recorded calls of all functions per second.", UNIT_PER_S},
    [GRAPH_S_LOST] = {"graph_lost", "Lost records", "Entries and returns dropped because the buffer was full.",
                      UNIT_COUNT, MERGE_SUM},
    [GRAPH_S_INCOMPLETE] = {"graph_incomplete", "Incomplete",
                            "Calls without an entry or return, too deep calls, and records left out after a loss.",
                            UNIT_COUNT, MERGE_SUM},
};
