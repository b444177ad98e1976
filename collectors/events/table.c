#include "collectors/events/table.h"

#include "model/columns.h"

#define COLUMN_EVENT(width_, ...) TEXT_COLUMN("event", "EVENT", width_, __VA_ARGS__)

static const struct column counts_columns[EVENTS_C_ALL] = {
    [EVENTS_C_EVENT] = COLUMN_EVENT(30, .help = "Tracepoint: its system, a colon, its name."),
    [EVENTS_C_FILTER] = TEXT_COLUMN("filter", "FILTER", 0,
                                    .help = "Filter in the kernel's syntax: other events of the "
                                            "tracepoint are not recorded."),
    [EVENTS_C_RATE] = COLUMN_PER_S(.help = "Events per second."),
    [EVENTS_C_COUNT] =
        NUMBER_COLUMN("count", "COUNT", UNIT_COUNT, 8, .merge = MERGE_SUM, .help = "Events in the interval."),
    [EVENTS_C_TOTAL] =
        NUMBER_COLUMN("total", "TOTAL", UNIT_COUNT, 9, .help = "Events since it was chosen, with this filter."),
    [EVENTS_C_ACTION] = TEXT_COLUMN("action", "ACTION", 6, .help = "What an event of it does (--on); -: nothing."),
};
const struct table_def events_counts_table = {
    .name = "counts",
    .help = "Events of each chosen tracepoint.",
    .columns = counts_columns,
    .n_columns = EVENTS_C_ALL,
    .n_keys = 1,
};

static const struct column stream_columns[EVENTS_E_ALL] = {
    [EVENTS_E_TIME] =
        COLUMN_TIME_S(.help = "Time of the event, in seconds since 1970.", .format = column_format_clock_us),
    [EVENTS_E_CPU] = COLUMN_CPU(.help = "CPU that recorded it."),
    [EVENTS_E_COMM] = COLUMN_COMM(.help = "Name of the thread that ran; -: it exited before it was looked up."),
    [EVENTS_E_PID] = COLUMN_PID(.help = "Process ID; the thread ID if the thread exited before it was looked up."),
    [EVENTS_E_TID] = COLUMN_TID(.help = HELP_TID),
    [EVENTS_E_EVENT] = COLUMN_EVENT(24, .help = "Tracepoint: its system, a colon, its name."),
    [EVENTS_E_FIELDS] = TEXT_COLUMN("fields", "FIELDS", 0,
                                    .help = "Fields of the event in the kernel's own format; arguments and result of "
                                            "a system call."),
    [EVENTS_E_ARGS] =
        TEXT_COLUMN("args", "DETAILS", 0,
                    .help = "Arguments of a program that is started (sched:sched_process_exec), read from "
                            "its new stack; \" ...\": cut; -: another event, or unknown."),
    [EVENTS_E_PATH] = TEXT_COLUMN("path", "PATH", 40,
                                  .help = "Path of a system call, resolved against the working directory or the "
                                          "directory's descriptor; ?/PATH: that directory is unknown."),
    [EVENTS_E_FLAGS] = TEXT_COLUMN("flags", "FLAGS", 20, .help = "Flags of a system call by name."),
    [EVENTS_E_RESULT] =
        TEXT_COLUMN("result", "RESULT", 8, .help = "Result of a system call: a number, or the error's name."),
    [EVENTS_E_KEY] = GROUP_KEY_COLUMN,
    [EVENTS_E_KEY2] = GROUP_KEY2_COLUMN,
    [EVENTS_E_VALUE] = GROUP_VALUE_COLUMN,
    [EVENTS_E_LATENCY] = GROUP_LATENCY_COLUMN,
    [EVENTS_E_PPID] =
        ID_COLUMN("ppid", "PPID", 7, .help = "Process ID of the parent; -: the thread exited before it was looked up."),
    [EVENTS_E_STACK] = TEXT_COLUMN(
        "stack", "STACK", 40,
        .help = "Kernel functions that led to the event (--stacks), innermost first; -: the kernel wrote none."),
};
const struct table_def events_stream_table = {
    .name = "events",
    .help = "The newest 2,000 events of the interval, oldest first.",
    .columns = stream_columns,
    .n_columns = EVENTS_E_ALL,
};

static const struct column groups_columns[G_ALL] =
    GROUPS_COLUMNS(COLUMN_EVENT(24, .help = "Tracepoint: its system, a colon, its name."), "Events");
const struct table_def events_groups_table = {
    .name = "groups",
    .help = "Events by fields (--group): the 200 most frequent keys of the interval, the rest as the row others.",
    .columns = groups_columns,
    .n_columns = G_ALL,
    .n_keys = 3,
    .rows = ROWS_OF_INTERVAL,
};

#define COLUMN_PAIR                                                                                                    \
    TEXT_COLUMN("pair", "PAIR", 36,                                                                                    \
                .help = "First and second event of --latency; the second one's system is left out if it is the same.")
static const struct column latencies_columns[L_ALL] = LATENCIES_COLUMNS(COLUMN_PAIR, "event");
const struct table_def events_latencies_table = {
    .name = "event_latencies",
    .help = "Latency between two events with an equal field (--latency), in total and by key: the 200 most frequent "
            "keys, the rest as the row others.",
    .columns = latencies_columns,
    .n_columns = L_ALL,
    .n_keys = 2,
    .rows = ROWS_OF_INTERVAL,
};

const struct hist_def events_value_hist = {
    .name = "event_values",
    .title = "Values",
    .help = "Values of the number field of --group by key; negative ones count as 0.",
    .unit_name = "value",
    .divisor = 1,
    .unit = UNIT_COUNT,
    .keys = groups_columns,
    .n_keys = 3,
};
const struct hist_def events_latency_hist = {
    .name = "event_latency",
    .title = "Latency",
    .help = "Time from the first to the second event of --latency by key.",
    .span = "first to second event",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .keys = latencies_columns,
    .n_keys = 2,
};
const struct group_tables events_group_tables = {&events_groups_table, &events_latencies_table, &events_value_hist,
                                                 &events_latency_hist};

static const struct column tracepoint_columns[EVENTS_T_ALL] = {
    [EVENTS_T_EVENT] = COLUMN_EVENT(48, .help = "Tracepoint: its system, a colon, its name."),
    [EVENTS_T_CHOSEN] = TEXT_COLUMN("chosen", "CHOSEN", 6, .help = "yes: its events are recorded."),
    [EVENTS_T_RATE] =
        COLUMN_PER_S(.help = "Events per second when its system was last counted (key R); -: it was not."),
};
const struct table_def events_tracepoints_table = {
    .name = "tracepoints",
    .help = "Tracepoints of this kernel.",
    .columns = tracepoint_columns,
    .n_columns = EVENTS_T_ALL,
    .n_keys = 1,
};

const struct series_def events_series[EVENTS_SERIES] = {
    [EVENTS_PER_S] = {"events_per_s", "Events/s", "Events of the chosen tracepoints per second.", UNIT_PER_S},
    [EVENTS_LOST] = {"events_lost", "Lost events", "Events dropped because the kernel's buffer was full.", UNIT_COUNT,
                     MERGE_SUM},
    [EVENTS_RECORDED] = {"events_recorded_pct", "Recorded",
                         "Share of the time in which events were recorded; below 100 if sampled.", UNIT_PCT},
};
