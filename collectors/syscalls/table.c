// The syscalls collector's definitions: tables, histogram, series and the stream. Data only.
#include "collectors/syscalls/table.h"

#include "model/columns.h"

#define COUNT(array_) (sizeof(array_) / sizeof((array_)[0]))

#define PROCESS_COLUMNS COLUMN_PID(.help = HELP_PID), COLUMN_COMM(.help = "Name of the process.")
#define THREAD_COMM_COLUMN COLUMN_COMM(.help = HELP_COMM)
#define SYSCALL_COLUMN                                                                                                 \
    COLUMN_SYSCALL(16, .help = "System call; i386:NAME if made by a 32-bit program, #NUMBER if the name is unknown.")
#define MEASURES                                                                                                       \
    NUMBER_COLUMN("calls_per_s", "CALLS/s", UNIT_PER_S, 8,                                                             \
                  .help = "Returned calls per second (exit and exit_group count at entry)."),                          \
        COLUMN_ERRORS_PER_S(.help = "Failed calls per second."),                                                       \
        NUMBER_COLUMN("avg_us", "AVG", UNIT_US, 7, .help = "Average latency, entry to return."),                       \
        NUMBER_COLUMN("max_us", "MAX", UNIT_US, 7, .merge = MERGE_MAX, .help = "Longest latency, entry to return."),   \
        COLUMN_TOTAL_US_PER_S(.help = "Time in returned calls, waits included, summed over threads, per second."),     \
        COLUMN_WALL_PCT(.help = "The same in percent of wall time: 100 is one thread always in these calls."),         \
        TEXT_COLUMN("error_names", "ERRORS", 24, .help = "Returned errors and their counts, most frequent first.")
#define CALLS_COLUMN                                                                                                   \
    NUMBER_COLUMN("calls", "CALLS", UNIT_COUNT, 8, .merge = MERGE_SUM, .help = "Calls in the interval.")

static const struct column syscall_columns[] = {
    SYSCALL_COLUMN,
    MEASURES,
    NUMBER_COLUMN("p50_us", "p50", UNIT_US, 7, .help = "Median latency."),
    NUMBER_COLUMN("p99_us", "p99", UNIT_US, 7, .help = "99th percentile of latency."),
    CALLS_COLUMN,
};
const struct table_def syscalls_table = {
    .name = "syscalls",
    .help = "System calls by name.",
    .columns = syscall_columns,
    .n_columns = COUNT(syscall_columns),
    .n_keys = 1,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column process_columns[] = {PROCESS_COLUMNS, MEASURES, CALLS_COLUMN};
const struct table_def syscalls_process_table = {
    .name = "syscalls_processes",
    .help = "System calls by process.",
    .columns = process_columns,
    .n_columns = COUNT(process_columns),
    .n_keys = 2,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column both_columns[] = {PROCESS_COLUMNS, SYSCALL_COLUMN, MEASURES, CALLS_COLUMN};
const struct table_def syscalls_both_table = {
    .name = "syscalls_by_process",
    .help = "System calls by process and name.",
    .columns = both_columns,
    .n_columns = COUNT(both_columns),
    .n_keys = 3,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column error_columns[] = {
    COLUMN_PID(.help = HELP_PID),
    SYSCALL_COLUMN,
    COLUMN_ERROR(14, .help = "Name of the error."),
    COLUMN_COMM(.help = "Name of the process."),
    COLUMN_ERRORS_PER_S(.help = "Calls that failed with this error, per second."),
    COLUMN_ERRORS(.merge = MERGE_SUM, .help = "Calls that failed with this error in the interval."),
};
const struct table_def syscalls_errors_table = {
    .name = "syscall_errors",
    .help = "Failed system calls by process, name and error.",
    .columns = error_columns,
    .n_columns = COUNT(error_columns),
    .n_keys = 3, // comm: a single call has its thread's, a row the process's
    .rows = ROWS_OF_INTERVAL,
};

#define IDLE_COLUMN                                                                                                    \
    ID_COLUMN("idle", "IDLE", 4,                                                                                       \
              .help = "1: idle by nature (waits for events, a child, a signal, a connection, a futex, a terminal, a "  \
                      "pipe or a time); listed last. 0: any other call.")

static const struct column progress_columns[] = {
    COLUMN_TID(.help = HELP_TID),
    COLUMN_PID(.help = HELP_PID),
    THREAD_COMM_COLUMN,
    SYSCALL_COLUMN,
    COLUMN_SINCE_US(.lower_bound_flag = "since_at_least",
                    .help = "Time in the call so far; > if it began before tracing."),
    COLUMN_ARGS(.help = HELP_ARGS),
    COLUMN_SINCE_AT_LEAST(.help = HELP_SINCE_AT_LEAST),
    IDLE_COLUMN,
};
const struct table_def syscalls_progress_table = {
    .name = "in_progress",
    .help = "Threads in a system call at the end of the interval.",
    .columns = progress_columns,
    .n_columns = COUNT(progress_columns),
    .n_keys = 1,
};

static const struct column slow_columns[] = {
    COLUMN_TIME_S(.help = "Entry of the call, in seconds since 1970."),
    COLUMN_PID(.help = HELP_PID),
    COLUMN_TID(.help = HELP_TID),
    THREAD_COMM_COLUMN,
    SYSCALL_COLUMN,
    COLUMN_LATENCY_US(.help = "From entry to return."),
    NUMBER_COLUMN("result", "RESULT", UNIT_ID, 8, .help = "Return value, if the call succeeded."),
    COLUMN_ERROR(10, .help = "Name of the error, if the call failed."),
    COLUMN_ARGS(.help = "Arguments: paths in quotes, open files of descriptors in angle brackets, flags by name. They "
                        "are read some ms after the call: ~ marks a path that the program may have overwritten by then "
                        "(before Linux 6.11 every path), ? a path that is gone, an address memory that is gone."),
    IDLE_COLUMN,
};
const struct table_def syscalls_slow_table = {
    .name = "slow_syscalls",
    .help = "The slowest calls of each system call, and the latest failed ones of each thread, call and error, in the "
            "order of their entry.",
    .columns = slow_columns,
    .n_columns = COUNT(slow_columns),
};

static const struct column hist_keys[] = {SYSCALL_COLUMN};
const struct hist_def syscalls_latency_hist = {
    .name = "syscall_latency",
    .title = "System call latency",
    .help = "Time from entry to return of each system call; of recorded calls only, if sampled.",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .keys = hist_keys,
    .n_keys = COUNT(hist_keys),
};

const struct series_def syscalls_series[SYSCALLS_SERIES] = {
    [SYSCALLS_CALLS] = {"syscalls_per_s", "Syscalls/s", "System calls of all processes per second.", UNIT_PER_S},
    [SYSCALLS_ERRORS] = {"syscall_errors_per_s", "Errors/s", "Failed system calls per second.", UNIT_PER_S},
    [SYSCALLS_IN_PROGRESS] = {"syscalls_in_progress", "In progress",
                              "Threads in a system call at the end of the interval.", UNIT_COUNT},
    [SYSCALLS_SAMPLED] =
        {"syscalls_sampled", "Sampled 1:",
         "1: every call was recorded; n: one time slice in n, and counts are scaled (too low for programs "
         "that do little but system calls).",
         UNIT_COUNT},
    [SYSCALLS_RECORDED] = {"syscalls_recorded_pct", "Recorded",
                           "Share of the time in which calls were recorded; below 100 if sampled.", UNIT_PCT},
    [SYSCALLS_UNPAIRED] =
        {"syscalls_unpaired", "Unpaired",
         "Returns without a recorded entry (before tracing, or lost): counted as calls, without a latency.", UNIT_COUNT,
         MERGE_SUM},
    [SYSCALLS_LOST] = {"syscalls_lost_events", "Lost events", "Events dropped because the kernel's buffer was full.",
                       UNIT_COUNT, MERGE_SUM},
};
