// The dictionary of common columns: one name, title, type, unit and width for each column that several tables have, so
// that a column looks the same on every pane. Each macro expands to an initialiser of struct column; its last arguments
// are what the place adds, as designated initialisers:
//
//     [PID] = COLUMN_PID(.help = "Process ID."),
//     [STATE] = COLUMN_STATE(8, .help = HELP_LINK_STATE),
//     [SINCE] = COLUMN_SINCE_US(.help = "Time in this state.", .lower_bound_flag = "since_at_least"),
//
// A text column whose width depends on the table takes the width first. A column that one table alone has is written
// with NUMBER_COLUMN, ID_COLUMN or TEXT_COLUMN in that table's file, and moves here when a second table gets it.
#ifndef MODEL_COLUMNS_H
#define MODEL_COLUMNS_H

#include "model/column.h"

#define NUMBER_COLUMN(name_, title_, unit_, width_, ...)                                                               \
    { .name = (name_), .title = (title_), .unit = (unit_), .width = (width_), __VA_ARGS__ }
#define ID_COLUMN(name_, title_, width_, ...)                                                                          \
    NUMBER_COLUMN(name_, title_, UNIT_ID, width_, .ascending = true, __VA_ARGS__)
#define TEXT_COLUMN(name_, title_, width_, ...)                                                                        \
    { .name = (name_), .title = (title_), .type = COLUMN_TEXT, .width = (width_), .ascending = true, __VA_ARGS__ }

// Help that is the same in several tables.
#define HELP_DEVICE "Kernel name of the block device."
#define HELP_OP "R read, W write, F flush, D discard, N other."
#define HELP_OP_FLAGS                                                                                                  \
    "R read, W write, F flush, D discard, N other; then flags: F FUA, A read-ahead, S synchronous, M metadata."
#define HELP_PID "Process ID."
#define HELP_TID "Thread ID."
#define HELP_COMM "Name of the thread."
#define HELP_CGROUP "Path of the control group."
#define HELP_CPU "CPU number."
#define HELP_SEQUENTIAL_PCT "Share of I/Os that start where the thread's previous I/O on the device ended."
#define HELP_ARGS "Arguments: paths in quotes, open files of descriptors in angle brackets, flags by name."
#define HELP_SINCE_AT_LEAST "1: since_us is a lower bound (it began before tracing); 0: it is exact."

// What a row is about.
#define COLUMN_PID(...) ID_COLUMN("pid", "PID", 7, __VA_ARGS__)
#define COLUMN_TID(...) ID_COLUMN("tid", "TID", 7, __VA_ARGS__)
#define COLUMN_COMM(...) TEXT_COLUMN("comm", "COMMAND", 15, __VA_ARGS__)
#define COLUMN_CGROUP(width_, ...) TEXT_COLUMN("cgroup", "CGROUP", width_, __VA_ARGS__)
#define COLUMN_CPU(...) ID_COLUMN("cpu", "CPU", 4, __VA_ARGS__)
#define COLUMN_NODE(...) ID_COLUMN("node", "NODE", 4, __VA_ARGS__)
#define COLUMN_DEVICE(...) TEXT_COLUMN("device", "DEVICE", 10, __VA_ARGS__)
#define COLUMN_OP(width_, ...) TEXT_COLUMN("op", "OP", width_, __VA_ARGS__)
#define COLUMN_SYSCALL(width_, ...) TEXT_COLUMN("syscall", "SYSCALL", width_, __VA_ARGS__)
#define COLUMN_KIND(width_, ...) TEXT_COLUMN("kind", "KIND", width_, __VA_ARGS__)
#define COLUMN_NAME(width_, ...) TEXT_COLUMN("name", "NAME", width_, __VA_ARGS__)
#define COLUMN_STATE(width_, ...) TEXT_COLUMN("state", "STATE", width_, __VA_ARGS__)
#define COLUMN_TASK_STATE(width_, ...) TEXT_COLUMN("state", "S", width_, __VA_ARGS__)
#define COLUMN_PRIORITY(...) NUMBER_COLUMN("priority", "PRI", UNIT_ID, 4, __VA_ARGS__)

// CPU time and counters.
#define COLUMN_CPU_PCT(...) NUMBER_COLUMN("cpu_pct", "CPU%", UNIT_PCT, 6, .merge = MERGE_RATE, __VA_ARGS__)
#define COLUMN_USER_PCT(...) NUMBER_COLUMN("user_pct", "USR%", UNIT_PCT, 6, .merge = MERGE_RATE, __VA_ARGS__)
#define COLUMN_SYSTEM_PCT(...) NUMBER_COLUMN("system_pct", "SYS%", UNIT_PCT, 6, .merge = MERGE_RATE, __VA_ARGS__)
#define COLUMN_BUSY_PCT(...) NUMBER_COLUMN("busy_pct", "BUSY%", UNIT_PCT, 6, __VA_ARGS__)
#define COLUMN_UTIL_PCT(...) NUMBER_COLUMN("util_pct", "UTIL%", UNIT_PCT, 6, __VA_ARGS__)
#define COLUMN_IPC(...) NUMBER_COLUMN("ipc", "IPC", UNIT_RATIO, 5, __VA_ARGS__)
#define COLUMN_CYCLES_PER_S(...) NUMBER_COLUMN("cycles_per_s", "CYC/s", UNIT_PER_S, 6, __VA_ARGS__)
#define COLUMN_INSTRUCTIONS_PER_S(...) NUMBER_COLUMN("instructions_per_s", "INSTR/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_CACHE_REFERENCES_PER_S(...)                                                                             \
    NUMBER_COLUMN("cache_references_per_s", "LLCREF/s", UNIT_PER_S, 8, __VA_ARGS__)
#define COLUMN_CACHE_MISSES_PER_S(...) NUMBER_COLUMN("cache_misses_per_s", "LLCMISS/s", UNIT_PER_S, 9, __VA_ARGS__)
#define COLUMN_CACHE_MISS_PCT(...) NUMBER_COLUMN("cache_miss_pct", "LLCMISS%", UNIT_PCT, 8, __VA_ARGS__)
#define COLUMN_BRANCH_MISSES_PER_S(...) NUMBER_COLUMN("branch_misses_per_s", "BRMISS/s", UNIT_PER_S, 8, __VA_ARGS__)
#define COLUMN_COUNTED_PCT(...) NUMBER_COLUMN("counted_pct", "CNT%", UNIT_PCT, 5, __VA_ARGS__)
#define COLUMN_NETNS(...) TEXT_COLUMN("netns", "NETNS", 10, __VA_ARGS__)
#define COLUMN_PER_S(...) NUMBER_COLUMN("per_s", "PER/s", UNIT_PER_S, 8, __VA_ARGS__)

// Scheduler.
#define COLUMN_CONTEXT_SWITCHES_PER_S(...) NUMBER_COLUMN("context_switches_per_s", "CSW/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_SWITCHES_PER_S(...) NUMBER_COLUMN("switches_per_s", "CSW/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_VOLUNTARY_PER_S(...) NUMBER_COLUMN("voluntary_per_s", "VOL/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_INVOLUNTARY_PER_S(...) NUMBER_COLUMN("involuntary_per_s", "INVOL/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_WAKEUPS_PER_S(...) NUMBER_COLUMN("wakeups_per_s", "WAKE/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_MIGRATIONS_PER_S(...) NUMBER_COLUMN("migrations_per_s", "MIGR/s", UNIT_PER_S, 6, __VA_ARGS__)
#define COLUMN_RUN_QUEUE_US(...) NUMBER_COLUMN("run_queue_us", "RUNQ", UNIT_US, 7, __VA_ARGS__)
#define COLUMN_RUN_QUEUE_US_AVG(...) NUMBER_COLUMN("run_queue_us_avg", "RQ AVG", UNIT_US, 7, __VA_ARGS__)
#define COLUMN_RUN_QUEUE_US_MAX(...) NUMBER_COLUMN("run_queue_us_max", "RQ MAX", UNIT_US, 7, __VA_ARGS__)
#define COLUMN_BLOCKED_IN(...) TEXT_COLUMN("blocked_in", "BLOCKED IN", 20, __VA_ARGS__)
#define COLUMN_SINCE_US(...) NUMBER_COLUMN("since_us", "SINCE", UNIT_US, 7, __VA_ARGS__)
#define COLUMN_SINCE_AT_LEAST(...) NUMBER_COLUMN("since_at_least", "LEAST", UNIT_ID, 5, __VA_ARGS__)
#define COLUMN_CPU_LIMIT_PCT(...) NUMBER_COLUMN("cpu_limit_pct", "CPUMAX%", UNIT_PCT, 7, __VA_ARGS__)
#define COLUMN_THROTTLED_PCT(...) NUMBER_COLUMN("throttled_pct", "THROT%", UNIT_PCT, 6, __VA_ARGS__)
#define COLUMN_THROTTLED_US_PER_S(...) NUMBER_COLUMN("throttled_us_per_s", "THROTTLED", UNIT_US_PER_S, 9, __VA_ARGS__)
#define COLUMN_THREADS(...) NUMBER_COLUMN("threads", "THR", UNIT_COUNT, 4, __VA_ARGS__)

// Memory.
#define COLUMN_RSS_KIB(...) NUMBER_COLUMN("rss_kib", "RSS", UNIT_KIB, 6, __VA_ARGS__)
#define COLUMN_VSIZE_KIB(...) NUMBER_COLUMN("vsize_kib", "VIRT", UNIT_KIB, 6, __VA_ARGS__)
#define COLUMN_MINOR_FAULTS_PER_S(...) NUMBER_COLUMN("minor_faults_per_s", "MINFLT/s", UNIT_PER_S, 8, __VA_ARGS__)
#define COLUMN_MAJOR_FAULTS_PER_S(...) NUMBER_COLUMN("major_faults_per_s", "MAJFLT/s", UNIT_PER_S, 8, __VA_ARGS__)
#define COLUMN_TOTAL_KIB(...) NUMBER_COLUMN("total_kib", "TOTAL", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_FREE_KIB(...) NUMBER_COLUMN("free_kib", "FREE", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_USED_KIB(...) NUMBER_COLUMN("used_kib", "USED", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_AVAILABLE_KIB(...) NUMBER_COLUMN("available_kib", "AVAIL", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_ANON_KIB(...) NUMBER_COLUMN("anon_kib", "ANON", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_MAPPED_KIB(...) NUMBER_COLUMN("mapped_kib", "MAPPED", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_SHMEM_KIB(...) NUMBER_COLUMN("shmem_kib", "SHMEM", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_SLAB_KIB(...) NUMBER_COLUMN("slab_kib", "SLAB", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_DIRTY_KIB(...) NUMBER_COLUMN("dirty_kib", "DIRTY", UNIT_KIB, 8, __VA_ARGS__)
#define COLUMN_HUGE_PAGES_TOTAL(...) NUMBER_COLUMN("huge_pages_total", "HUGE", UNIT_COUNT, 8, __VA_ARGS__)
#define COLUMN_HUGE_PAGES_FREE(...) NUMBER_COLUMN("huge_pages_free", "HUGEFREE", UNIT_COUNT, 8, __VA_ARGS__)

// I/O and system calls.
#define COLUMN_READS_PER_S(...) NUMBER_COLUMN("reads_per_s", "R/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_WRITES_PER_S(...) NUMBER_COLUMN("writes_per_s", "W/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_DISCARDS_PER_S(...) NUMBER_COLUMN("discards_per_s", "DISC/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_FLUSHES_PER_S(...) NUMBER_COLUMN("flushes_per_s", "FLUSH/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_IOS_PER_S(...) NUMBER_COLUMN("ios_per_s", "IO/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_READ_BYTES_PER_S(...) NUMBER_COLUMN("read_bytes_per_s", "RBYTES/s", UNIT_BYTES_PER_S, 8, __VA_ARGS__)
#define COLUMN_WRITE_BYTES_PER_S(...) NUMBER_COLUMN("write_bytes_per_s", "WBYTES/s", UNIT_BYTES_PER_S, 8, __VA_ARGS__)
#define COLUMN_BYTES_PER_S(...) NUMBER_COLUMN("bytes_per_s", "BYTES/s", UNIT_BYTES_PER_S, 8, __VA_ARGS__)
#define COLUMN_BYTES(...) NUMBER_COLUMN("bytes", "BYTES", UNIT_BYTES, 7, __VA_ARGS__)
#define COLUMN_SEQUENTIAL_PCT(...) NUMBER_COLUMN("sequential_pct", "SEQ%", UNIT_PCT, 5, __VA_ARGS__)
#define COLUMN_SECTOR(...) ID_COLUMN("sector", "SECTOR", 12, __VA_ARGS__)
#define COLUMN_TIME_S(...) NUMBER_COLUMN("time_s", "TIME", UNIT_S, 15, .ascending = true, __VA_ARGS__)
#define COLUMN_QUEUE_US(...) NUMBER_COLUMN("queue_us", "QUEUE", UNIT_US, 7, __VA_ARGS__)
#define COLUMN_IO_LATENCY_US(...) NUMBER_COLUMN("latency_us", "SERVICE", UNIT_US, 7, __VA_ARGS__)
#define COLUMN_LATENCY_US(...) NUMBER_COLUMN("latency_us", "LATENCY", UNIT_US, 8, __VA_ARGS__)
#define COLUMN_TOTAL_US(...) NUMBER_COLUMN("total_us", "TOTAL", UNIT_US, 7, __VA_ARGS__)
#define COLUMN_TOTAL_US_PER_S(...) NUMBER_COLUMN("total_us_per_s", "TOTAL/s", UNIT_US_PER_S, 8, __VA_ARGS__)
#define COLUMN_SHARE_PCT(...) NUMBER_COLUMN("share_pct", "SHARE%", UNIT_PCT, 6, __VA_ARGS__)
#define COLUMN_WALL_PCT(...) NUMBER_COLUMN("share_pct", "WALL%", UNIT_PCT, 6, .merge = MERGE_RATE, __VA_ARGS__)
#define COLUMN_ERROR(width_, ...) TEXT_COLUMN("error", "ERROR", width_, __VA_ARGS__)
#define COLUMN_ERRORS(...) NUMBER_COLUMN("errors", "ERRORS", UNIT_COUNT, 7, __VA_ARGS__)
#define COLUMN_ERRORS_PER_S(...) NUMBER_COLUMN("errors_per_s", "ERR/s", UNIT_PER_S, 7, __VA_ARGS__)
#define COLUMN_IN_ERRORS_PER_S(...) NUMBER_COLUMN("in_errors_per_s", "INERR/s", UNIT_PER_S, 8, __VA_ARGS__)
#define COLUMN_TIMEOUTS_PER_S(...) NUMBER_COLUMN("timeouts_per_s", "TMOUT/s", UNIT_PER_S, 8, __VA_ARGS__)
#define COLUMN_ARGS(...) TEXT_COLUMN("args", "ARGUMENTS", 0, __VA_ARGS__)

#endif
