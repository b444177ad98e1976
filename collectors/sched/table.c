// The sched collector's definitions: tables, histograms and series. Data only.
#include "collectors/sched/table.h"

#include "model/columns.h"

#define HELP_PROCESS "Process ID; the thread's own ID if it ended before it could be looked up."
#define HELP_SYSCALL "System call in which it waits; a number if the name is unknown."

static const struct column tasks_columns[] = {
    COLUMN_PID(.help = HELP_PROCESS),
    COLUMN_TID(.help = HELP_TID),
    COLUMN_COMM(.help = HELP_COMM),
    COLUMN_TASK_STATE(7, .help = "State now: running, waiting (for a CPU), R (running or waiting), S sleeping, D "
                                 "uninterruptible, T stopped, X ended in the interval."),
    COLUMN_SWITCHES_PER_S(.help = "Switches away from a CPU per second."),
    COLUMN_VOLUNTARY_PER_S(.help = "Voluntary switches per second: it began to wait for something."),
    COLUMN_INVOLUNTARY_PER_S(.help = "Involuntary switches (preempted or yielded) per second."),
    COLUMN_WAKEUPS_PER_S(.help = "Wakeups per second."),
    COLUMN_MIGRATIONS_PER_S(.help = "Migrations to another CPU per second."),
    COLUMN_RUN_QUEUE_US_AVG(.help = "Average run-queue latency: from sched_waking, or from preemption, to running. Of "
                                    "waits that ended in the interval; else of the current wait so far."),
    COLUMN_RUN_QUEUE_US_MAX(.merge = MERGE_MAX, .help = "Longest run-queue latency, the current wait included."),
    NUMBER_COLUMN("run_queue_us_per_s", "RQ/s", UNIT_US_PER_S, 7, .help = "Time runnable but not running, per second."),
    NUMBER_COLUMN("on_cpu_us_per_s", "CPU/s", UNIT_US_PER_S, 7, .help = "Time running, per second."),
    NUMBER_COLUMN("off_cpu_us_per_s", "OFFCPU/s", UNIT_US_PER_S, 8,
                  .help = "Time not running (sleeping, D, stopped or runnable), per second."),
    NUMBER_COLUMN("sleep_us_per_s", "SLEEP/s", UNIT_US_PER_S, 7, .help = "Time in interruptible sleep (S) per second."),
    NUMBER_COLUMN("disk_us_per_s", "DISK/s", UNIT_US_PER_S, 7,
                  .help = "Time in uninterruptible sleep (D) per second: disks, network file systems, kernel locks."),
    NUMBER_COLUMN("stopped_us_per_s", "STOP/s", UNIT_US_PER_S, 7,
                  .help = "Time stopped by a signal or a debugger, per second."),
    NUMBER_COLUMN("preempted_us_per_s", "PREEMPT", UNIT_US_PER_S, 7,
                  .help = "Time preempted or throttled, per second."),
    COLUMN_BLOCKED_IN(.help =
                          "Kernel function in which it waits, or last waited (/proc/PID/wchan); read now and then."),
    COLUMN_SYSCALL(12, .help = HELP_SYSCALL),
    TEXT_COLUMN("waker", "WAKER", 18, .help = "Last waker: a thread, or (hardirq), (softirq), (nmi) for an interrupt."),
    COLUMN_CPU(.help = "CPU on which it last ran, or for which it waits."),
    COLUMN_PRIORITY(.ascending = true,
                    .help = "Kernel priority: -1 deadline, 0 (highest) to 98 real-time, 100 to 139 nice -20 to 19."),
    COLUMN_SINCE_US(.help = "Time in this state; a lower bound if it began before tracing."),
    NUMBER_COLUMN("switches", "CSW", UNIT_COUNT, 7, .help = "Switches away from a CPU since tracing began."),
    NUMBER_COLUMN("wakeups", "WAKE", UNIT_COUNT, 7, .help = "Wakeups since tracing began."),
};

const struct table_def sched_tasks_table = {
    .name = "sched_tasks",
    .help = "Every thread: context switches, run-queue latency, off-CPU time.",
    .columns = tasks_columns,
    .n_columns = SCHED_T_ALL,
    .n_keys = 2,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column cpus_columns[] = {
    COLUMN_CPU(.help = HELP_CPU),
    NUMBER_COLUMN("run_queue", "RUNQ", UNIT_RATIO, 6, .help = "Average run-queue length: tasks running or waiting."),
    NUMBER_COLUMN("run_queue_max", "MAXQ", UNIT_COUNT, 5, .merge = MERGE_MAX,
                  .help = "Longest run queue in the interval."),
    COLUMN_BUSY_PCT(.help = "Share of the known time in which a task ran; none if more than half is unknown."),
    COLUMN_SWITCHES_PER_S(.help = "Context switches per second, including those to and from idle."),
    COLUMN_VOLUNTARY_PER_S(.help = "Voluntary switches per second: the task began to wait for something."),
    COLUMN_INVOLUNTARY_PER_S(.help = "Involuntary switches (preempted or yielded) per second."),
    COLUMN_WAKEUPS_PER_S(.help = "Wakeups of tasks on this CPU per second."),
    COLUMN_MIGRATIONS_PER_S(.help = "Migrations of tasks to this CPU per second."),
    COLUMN_RUN_QUEUE_US_AVG(.help = "Average run-queue latency of tasks that began to run here."),
    NUMBER_COLUMN("run_queue_us_p99", "RQ p99", UNIT_US, 7, .help = "99th percentile of run-queue latency."),
    COLUMN_RUN_QUEUE_US_MAX(.merge = MERGE_MAX, .help = "Longest run-queue latency."),
    COLUMN_TID(.help = "Thread running at the end of the interval; 0: idle."),
    COLUMN_COMM(.help = HELP_COMM),
    NUMBER_COLUMN("unknown_pct", "UNKNOWN%", UNIT_PCT, 8,
                  .help = "Share of the interval in which it is unknown what ran: lost events, no switch yet, or "
                          "switches that the kernel did not report."),
};

const struct table_def sched_cpus_table = {
    .name = "sched_cpus",
    .help = "The run queue of every CPU.",
    .columns = cpus_columns,
    .n_columns = SCHED_C_ALL,
    .n_keys = 1,
};

static const struct column stuck_columns[] = {
    COLUMN_PID(.help = HELP_PROCESS),
    COLUMN_TID(.help = HELP_TID),
    COLUMN_COMM(.help = HELP_COMM),
    COLUMN_TASK_STATE(7, .help = "D uninterruptible, S sleeping, or waiting (for a CPU)."),
    COLUMN_KIND(15, .help =
                        "Why it is stuck: uninterruptible (in the kernel), server (of a file system), lock, "
                        "throttled (by its cgroup), realtime (a real-time task uses its CPU), cpu (other tasks do)."),
    COLUMN_SINCE_US(.lower_bound_flag = "since_at_least",
                    .help = "Duration of the wait; > if it began before tracing."),
    COLUMN_BLOCKED_IN(.help = "Kernel function in which it waits (/proc/PID/wchan)."),
    COLUMN_SYSCALL(12, .help = HELP_SYSCALL),
    TEXT_COLUMN("waits_for", "WAITS FOR", 40,
                .help = "What it waits for: the holder of the lock, the server of the file system, the cgroup's limit, "
                        "the task that uses the CPU, or the file and its device."),
    TEXT_COLUMN("stack", "STACK", 0, .help = "Kernel stack (/proc/PID/stack), innermost function first."),
    COLUMN_CGROUP(20, .help = "cgroup in the v1 hierarchy of the cpu controller, else in v2."),
    COLUMN_SINCE_AT_LEAST(.help = HELP_SINCE_AT_LEAST),
};

const struct table_def sched_stuck_table = {
    .name = "sched_stuck",
    .help = "Threads that have been blocked for 100 ms or more, and what they wait for.",
    .columns = stuck_columns,
    .n_columns = SCHED_W_ALL,
    .n_keys = 2,
};

static const struct column queue_keys[] = {COLUMN_CPU(.help = "CPU on which the task began to run.")};
static const struct column queue_process_keys[] = {
    COLUMN_PID(.help = "Process ID; none for (others)."),
    COLUMN_TID(.help = "Thread ID; none for (others)."),
    COLUMN_COMM(.help = "Name of the thread, or (others)."),
};
static const struct column off_keys[] = {COLUMN_KIND(10, .help = "sleep (S), disk (D), stopped (T) or preempted (R).")};

const struct hist_def sched_queue_hist = {
    .name = "run_queue_latency",
    .title = "Run-queue latency",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .help = "Time from sched_waking, or from preemption, to running, of waits that ended in the interval.",
    .keys = queue_keys,
    .n_keys = 1,
};
const struct hist_def sched_queue_process_hist = {
    .name = "run_queue_by_process",
    .title = "Run-queue latency by thread",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .help = "The same for the threads with the most waits; all others are merged.",
    .keys = queue_process_keys,
    .n_keys = 3,
};
const struct hist_def sched_off_hist = {
    .name = "off_cpu",
    .title = "Off-CPU time",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .help = "Time from leaving the CPU to wakeup (sleep, disk, stopped) or to running (preempted), of waits that began "
            "during tracing and ended in the interval.",
    .keys = off_keys,
    .n_keys = 1,
};
const struct series_def sched_series[SCHED_S_ALL] = {
    [SCHED_S_SWITCHES] = {.name = "sched_switches_per_s",
                          .title = "Switches",
                          .help = "Context switches of all CPUs per second.",
                          .unit = UNIT_PER_S},
    [SCHED_S_VOLUNTARY] = {.name = "sched_voluntary_per_s",
                           .title = "Voluntary",
                           .help = "Voluntary switches per second: the task began to wait.",
                           .unit = UNIT_PER_S},
    [SCHED_S_INVOLUNTARY] = {.name = "sched_involuntary_per_s",
                             .title = "Involuntary",
                             .help = "Involuntary switches (preempted or yielded) per second.",
                             .unit = UNIT_PER_S},
    [SCHED_S_WAKEUPS] = {.name = "sched_wakeups_per_s",
                         .title = "Wakeups",
                         .help = "Wakeups per second.",
                         .unit = UNIT_PER_S},
    [SCHED_S_MIGRATIONS] = {.name = "sched_migrations_per_s",
                            .title = "Migrations",
                            .help = "Migrations to another CPU per second.",
                            .unit = UNIT_PER_S},
    [SCHED_S_RUNNABLE] = {.name = "sched_runnable",
                          .title = "Runnable",
                          .help = "Average number of tasks running or waiting for a CPU.",
                          .unit = UNIT_RATIO},
    [SCHED_S_QUEUE_AVG] = {.name = "sched_run_queue_us_avg",
                           .title = "Run-queue latency",
                           .help = "Average run-queue latency.",
                           .unit = UNIT_US},
    [SCHED_S_QUEUE_P99] = {.name = "sched_run_queue_us_p99",
                           .title = "p99",
                           .help = "99th percentile of run-queue latency.",
                           .unit = UNIT_US},
    [SCHED_S_QUEUE_MAX] = {.name = "sched_run_queue_us_max",
                           .title = "max",
                           .help = "Longest run-queue latency of waits that ended in the interval.",
                           .unit = UNIT_US,
                           .merge = MERGE_MAX},
    [SCHED_S_BLOCKED] = {.name = "sched_blocked",
                         .title = "In D",
                         .help = "Tasks in uninterruptible sleep (D) at the end of the interval.",
                         .unit = UNIT_COUNT},
    [SCHED_S_SAMPLED] = {.name = "sched_sampled_pct",
                         .title = "Recorded",
                         .help = "Share of the time in which events were recorded; below 100 under overload.",
                         .unit = UNIT_PCT},
    [SCHED_S_LOST] = {.name = "sched_lost_events",
                      .title = "Lost",
                      .help = "Events dropped by the kernel.",
                      .unit = UNIT_COUNT,
                      .merge = MERGE_SUM},
};
