// The syscalls collector's definitions: tables, histogram, series and the stream. Data only.
#include "collectors/syscalls/table.h"

#define COUNT(array_) (sizeof(array_) / sizeof((array_)[0]))

#define PID_COLUMN                                                                                                     \
    { .name = "pid", .title = "PID", .unit = UNIT_ID, .width = 7, .ascending = true, .help = "The process." }
#define COMM_COLUMN                                                                                                    \
    {                                                                                                                  \
        .name = "comm", .title = "COMMAND", .type = COLUMN_TEXT, .width = 15, .ascending = true,                       \
        .help = "Name of the process (of the thread, where single calls are listed)."                                  \
    }
#define SYSCALL_COLUMN                                                                                                 \
    {                                                                                                                  \
        .name = "syscall", .title = "SYSCALL", .type = COLUMN_TEXT, .width = 16, .ascending = true,                    \
        .help =                                                                                                        \
            "Name of the system call; i386:NAME when a 32-bit program made it, #NUMBER when the number has no name."   \
    }
#define MEASURES                                                                                                       \
    {.name = "calls_per_s",                                                                                            \
     .title = "CALLS/s",                                                                                               \
     .unit = UNIT_PER_S,                                                                                               \
     .width = 8,                                                                                                       \
     .help = "Calls that returned, per second (exit and exit_group: that began)."},                                    \
        {.name = "errors_per_s",                                                                                       \
         .title = "ERR/s",                                                                                             \
         .unit = UNIT_PER_S,                                                                                           \
         .width = 7,                                                                                                   \
         .help = "Calls that returned an error, per second."},                                                         \
        {.name = "avg_us",                                                                                             \
         .title = "AVG",                                                                                               \
         .unit = UNIT_US,                                                                                              \
         .width = 7,                                                                                                   \
         .help = "Average time from entry to return, in us, of the calls whose entry was seen."},                      \
        {.name = "max_us",                                                                                             \
         .title = "MAX",                                                                                               \
         .unit = UNIT_US,                                                                                              \
         .width = 7,                                                                                                   \
         .help = "Longest time from entry to return, in us."},                                                         \
        {.name = "total_us_per_s",                                                                                     \
         .title = "TOTAL/s",                                                                                           \
         .unit = UNIT_US_PER_S,                                                                                        \
         .width = 8,                                                                                                   \
         .help = "Time spent in the calls that returned, waiting included, of all threads together, in us per "        \
                 "second."},                                                                                           \
        {.name = "share_pct",                                                                                          \
         .title = "WALL%",                                                                                             \
         .unit = UNIT_PCT,                                                                                             \
         .width = 6,                                                                                                   \
         .help = "The same as a share of wall time: 100 is one thread that was in these calls all the time."},         \
    {                                                                                                                  \
        .name = "error_names", .title = "ERRORS", .type = COLUMN_TEXT, .width = 24, .ascending = true,                 \
        .help = "The errors that were returned, by name, with how many of each in the interval, the most frequent "    \
                "first."                                                                                               \
    }
#define COUNT_COLUMN                                                                                                   \
    {                                                                                                                  \
        .name = "calls", .title = "CALLS", .unit = UNIT_COUNT, .width = 8,                                             \
        .help = "The calls as a number, in the interval."                                                              \
    }

static const struct column syscall_columns[] = {
    SYSCALL_COLUMN,
    MEASURES,
    {.name = "p50_us",
     .title = "p50",
     .unit = UNIT_US,
     .width = 7,
     .help = "Half of the calls took at most so long, in us."},
    {.name = "p99_us",
     .title = "p99",
     .unit = UNIT_US,
     .width = 7,
     .help = "99 % of the calls took at most so long, in us."},
    COUNT_COLUMN,
};
const struct table_def syscalls_table = {
    .name = "syscalls",
    .help = "Every system call that was made in the interval.",
    .columns = syscall_columns,
    .n_columns = COUNT(syscall_columns),
    .n_keys = 1,
};

static const struct column process_columns[] = {PID_COLUMN, COMM_COLUMN, MEASURES, COUNT_COLUMN};
const struct table_def syscalls_process_table = {
    .name = "syscalls_processes",
    .help = "Who makes system calls, all of a process together.",
    .columns = process_columns,
    .n_columns = COUNT(process_columns),
    .n_keys = 2,
};

static const struct column both_columns[] = {PID_COLUMN, COMM_COLUMN, SYSCALL_COLUMN, MEASURES, COUNT_COLUMN};
const struct table_def syscalls_both_table = {
    .name = "syscalls_by_process",
    .help = "Who makes which system call.",
    .columns = both_columns,
    .n_columns = COUNT(both_columns),
    .n_keys = 3,
};

static const struct column error_columns[] = {
    PID_COLUMN,
    SYSCALL_COLUMN,
    {.name = "error",
     .title = "ERROR",
     .type = COLUMN_TEXT,
     .width = 14,
     .ascending = true,
     .help = "Name of the error."},
    COMM_COLUMN,
    {.name = "errors_per_s",
     .title = "ERR/s",
     .unit = UNIT_PER_S,
     .width = 7,
     .help = "Calls that returned this error, per second."},
    {.name = "errors",
     .title = "ERRORS",
     .unit = UNIT_COUNT,
     .width = 7,
     .help = "The same as a number, in the interval."},
};
const struct table_def syscalls_errors_table = {
    .name = "syscall_errors",
    .help = "Who gets which error from which system call.",
    .columns = error_columns,
    .n_columns = COUNT(error_columns),
    .n_keys = 3, // a single call names its thread, not the process
};

#define IDLE_COLUMN                                                                                                    \
    {                                                                                                                  \
        .name = "idle", .title = "IDLE", .unit = UNIT_ID, .width = 4, .ascending = true,                               \
        .help = "1: a wait that is idle by nature (for events, a child, a signal, a connection, a futex, a terminal, " \
                "a pipe, "                                                                                             \
                "a time); such stand behind the others; 0: any other call."                                            \
    }
#define TID_COLUMN                                                                                                     \
    { .name = "tid", .title = "TID", .unit = UNIT_ID, .width = 7, .ascending = true, .help = "The thread." }

static const struct column progress_columns[] = {
    TID_COLUMN,
    PID_COLUMN,
    COMM_COLUMN,
    SYSCALL_COLUMN,
    {.name = "since_us",
     .title = "SINCE",
     .unit = UNIT_US,
     .width = 8,
     .at_least = "since_at_least",
     .help = "How long the thread has been in the call, in us; > when the call began before ktop looked at system "
             "calls: at least so long."},
    {.name = "args",
     .title = "ARGUMENTS",
     .type = COLUMN_TEXT,
     .width = 0,
     .ascending = true,
     .help = "The arguments: paths in quotes, descriptors with what is open there in angle brackets, flags by name."},
    {.name = "since_at_least",
     .title = "LEAST",
     .unit = UNIT_ID,
     .width = 5,
     .help = "1: since_us is only a lower bound, for the call began before ktop looked; 0: it is the whole time."},
    IDLE_COLUMN,
};
const struct table_def syscalls_progress_table = {
    .name = "in_progress",
    .help = "Threads that were in a system call at the end of the interval, and for how long.",
    .columns = progress_columns,
    .n_columns = COUNT(progress_columns),
    .n_keys = 1,
};

static const struct column slow_columns[] = {
    {.name = "time_s",
     .title = "TIME",
     .unit = UNIT_S,
     .width = 12,
     .ascending = true,
     .help = "When the call began: seconds since 1970."},
    PID_COLUMN,
    TID_COLUMN,
    COMM_COLUMN,
    SYSCALL_COLUMN,
    {.name = "latency_us", .title = "LATENCY", .unit = UNIT_US, .width = 8, .help = "From entry to return, in us."},
    {.name = "result",
     .title = "RESULT",
     .unit = UNIT_ID,
     .width = 8,
     .help = "What the call returned, when no error."},
    {.name = "error",
     .title = "ERROR",
     .type = COLUMN_TEXT,
     .width = 10,
     .ascending = true,
     .help = "Name of the error when it failed."},
    {.name = "args",
     .title = "ARGUMENTS",
     .type = COLUMN_TEXT,
     .width = 0,
     .ascending = true,
     .help = "The arguments: paths in quotes, descriptors with what is open there in angle brackets, flags by name. "
             "Paths and descriptors are looked at some ms after the call: ~ stands before a path that the program may "
             "have written over by then (before Linux 6.11 before every path), ? where a path had gone, an address "
             "where memory had."},
    IDLE_COLUMN,
};
const struct table_def syscalls_slow_table = {
    .name = "slow_syscalls",
    .help = "The slowest calls of the interval, a few of each system call, and the latest that failed, a few of each "
            "thread, call and error; in the order of their beginning.",
    .columns = slow_columns,
    .n_columns = COUNT(slow_columns),
};

static const struct column hist_keys[] = {SYSCALL_COLUMN};
const struct hist_def syscalls_latency_hist = {
    .name = "syscall_latency",
    .title = "System call latency",
    .help = "Time from entry to return of each system call; of what was recorded, when the stream is sampled.",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .keys = hist_keys,
    .n_keys = COUNT(hist_keys),
};

const struct series_def syscalls_series[SYSCALLS_SERIES] = {
    [SYSCALLS_CALLS] = {"syscalls_per_s", "Syscalls/s", "System calls of all processes per second.", UNIT_PER_S},
    [SYSCALLS_ERRORS] = {"syscall_errors_per_s", "Errors/s", "System calls that returned an error, per second.",
                         UNIT_PER_S},
    [SYSCALLS_IN_PROGRESS] = {"syscalls_in_progress", "In progress",
                              "Threads that were in a system call at the end of the interval.", UNIT_COUNT},
    [SYSCALLS_SAMPLED] = {"syscalls_sampled", "Sampled 1:",
                          "1: every system call was recorded; n: only one time slice in n, and counts are scaled, "
                          "and too low for programs that do little but system calls.",
                          UNIT_COUNT},
    [SYSCALLS_RECORDED] = {"syscalls_recorded_pct", "Recorded",
                           "Share of the time in which system calls were recorded: 100 unless they are sampled.",
                           UNIT_PCT},
    [SYSCALLS_UNPAIRED] =
        {"syscalls_unpaired", "Unpaired",
         "Returns in the interval whose entry was not seen (it was before ktop looked, or lost): they "
         "count as calls, without a time.",
         UNIT_COUNT},
    [SYSCALLS_LOST] = {"syscalls_lost_events", "Lost events",
                       "Events of system calls that were lost in the interval because the kernel's buffer was full.",
                       UNIT_COUNT},
};
