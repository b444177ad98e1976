#include "collectors/functions/table.h"

#include "model/columns.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define COLUMN_FUNCTION TEXT_COLUMN("function", "FUNCTION", 24, .help = "Name of the function, without parameters.")
#define COLUMN_OBJECT TEXT_COLUMN("object", "OBJECT", 18, .help = "File with the function; [kernel] or [module].")
#define MEASURES                                                                                                       \
    NUMBER_COLUMN("calls_per_s", "CALLS/s", UNIT_PER_S, 7, .help = "Calls per second."),                               \
        COLUMN_TOTAL_US_PER_S(.help = "Time in the function and what it calls, of all threads, per second, as of the " \
                                      "calls that returned in the interval."),                                         \
        NUMBER_COLUMN("avg_us", "AVG", UNIT_US, 7,                                                                     \
                      .help = "Mean time of a call; includes some us of the probes themselves."),                      \
        NUMBER_COLUMN("p99_us", "p99", UNIT_US, 7, .help = "99th percentile of the time of a call."),                  \
        NUMBER_COLUMN("max_us", "MAX", UNIT_US, 7, .merge = MERGE_MAX,                                                 \
                      .help = "Longest call that returned in the interval."),                                          \
        NUMBER_COLUMN("missed", "MISSED", UNIT_COUNT, 7, .merge = MERGE_SUM,                                           \
                      .help = "Calls without a reported return, found in the interval: unwound (longjmp, an "          \
                              "exception), or more than 64 nested ones of a thread, which the kernel does not "        \
                              "follow. They are counted, and not timed."),                                             \
        NUMBER_COLUMN("in_flight", "INFLT", UNIT_COUNT, 6,                                                             \
                      .help = "Calls that were entered and have neither returned nor been found missed."),             \
        NUMBER_COLUMN("calls", "CALLS", UNIT_COUNT, 9, .merge = MERGE_SUM, .help = "Calls in the interval.")

static const struct column columns[] = {
    COLUMN_FUNCTION,
    COLUMN_OBJECT,
    MEASURES,
    NUMBER_COLUMN("processes", "PROCS", UNIT_COUNT, 5, .help = "Processes in which it is counted."),
    TEXT_COLUMN(
        "timed", "TIMED", 9,
        .help = "yes; else why it is counted only: Go (a return probe would crash the program), unwinds (an "
                "exception through it would end the program), unsafe (it returns twice or leaves the stack), start or "
                "stop (it switches counting)."),
    TEXT_COLUMN("pattern", "PATTERN", 24, .help = "The pattern as it was given."),
};
_Static_assert(COUNT(columns) == FUNCTIONS_F_ALL, "one index for each column");
const struct table_def functions_table = {
    .name = "functions",
    .help = "The functions that are counted.",
    .columns = columns,
    .n_columns = COUNT(columns),
    .n_keys = 2,
};

static const struct column process_columns[] = {
    COLUMN_PID(.help = HELP_PID), COLUMN_COMM(.help = "Name of the process."), COLUMN_FUNCTION, COLUMN_OBJECT, MEASURES,
};
_Static_assert(COUNT(process_columns) == FUNCTIONS_P_ALL, "one index for each column");
const struct table_def functions_process_table = {
    .name = "functions_by_process",
    .help = "Functions by process: those that were called in the interval.",
    .columns = process_columns,
    .n_columns = COUNT(process_columns),
    .n_keys = 4,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column slow_columns[] = {
    COLUMN_TIME_S(.help = "Entry of the call, in seconds since 1970.", .format = column_format_clock_us),
    COLUMN_LATENCY_US(.help = "From entry to return."),
    COLUMN_COMM(.help = HELP_COMM),
    COLUMN_PID(.help = HELP_PID),
    COLUMN_TID(.help = HELP_TID),
    COLUMN_FUNCTION,
    TEXT_COLUMN("caller", "CALLER", 24, .help = "Function that called it."),
    TEXT_COLUMN("args", "ARGUMENTS", 28,
                .help = "The registers of its first six arguments, as unsigned numbers; the function may have fewer."),
    TEXT_COLUMN("stack", "STACK", 0, .help = "Call path to it by frame pointers, the caller first."),
};
_Static_assert(COUNT(slow_columns) == FUNCTIONS_S_ALL, "one index for each column");
const struct table_def functions_slow_table = {
    .name = "slow_calls",
    .help = "Calls that took longer than the limit of their pattern (GLOB > TIME), in the order of their return.",
    .columns = slow_columns,
    .n_columns = COUNT(slow_columns),
};

static const struct column hist_keys[] = {COLUMN_FUNCTION};
const struct hist_def functions_latency_hist = {
    .name = "function_latency",
    .title = "Function latency",
    .help = "Time from entry to return of each function; functions of equal name are one.",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .keys = hist_keys,
    .n_keys = COUNT(hist_keys),
};

const struct series_def functions_series[FUNCTIONS_SERIES] = {
    [FUNCTIONS_CALLS] = {"function_calls_per_s", "Calls/s", "Calls of all chosen functions per second.", UNIT_PER_S},
    [FUNCTIONS_COST] =
        {"function_cost_pct", "Cost",
         "Estimated cost of the probes to the programs, in % of a CPU: calls times the cost of one, which "
         "is measured in ktop itself at the start.",
         UNIT_PCT},
    [FUNCTIONS_MISSED] = {"function_returns_missed", "Missed", "Calls without a reported return.", UNIT_COUNT,
                          MERGE_SUM},
    [FUNCTIONS_PLACES] = {"function_probes", "Probes", "Functions times processes that are probed.", UNIT_COUNT},
};
