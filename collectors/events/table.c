#include "collectors/events/table.h"

#include "model/columns.h"

#define COLUMN_EVENT(width_, ...) TEXT_COLUMN("event", "EVENT", width_, __VA_ARGS__)

static const struct column counts_columns[EVENTS_C_ALL] = {
    [EVENTS_C_EVENT] = COLUMN_EVENT(30, .help = "Tracepoint: its system, a colon, its name."),
    [EVENTS_C_FILTER] = TEXT_COLUMN("filter", "FILTER", 0,
                                    .help = "Filter in the kernel's syntax: other events of the "
                                            "tracepoint are not recorded."),
    [EVENTS_C_RATE] = COLUMN_PER_S(.help = "Events per second."),
    [EVENTS_C_COUNT] = NUMBER_COLUMN("count", "COUNT", UNIT_COUNT, 8, .help = "Events in the interval."),
    [EVENTS_C_TOTAL] =
        NUMBER_COLUMN("total", "TOTAL", UNIT_COUNT, 9, .help = "Events since the choice was last changed."),
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
    [EVENTS_E_FIELDS] = TEXT_COLUMN("fields", "FIELDS", 0, .help = "Fields of the event in the kernel's own format."),
    [EVENTS_E_ARGS] =
        COLUMN_ARGS(.help = "Arguments of a program that is started (sched:sched_process_exec), read from "
                            "its new stack; \" ...\": cut; -: another event, or unknown."),
};
const struct table_def events_stream_table = {
    .name = "events",
    .help = "The newest 2,000 events of the interval, oldest first.",
    .columns = stream_columns,
    .n_columns = EVENTS_E_ALL,
};

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
    [EVENTS_LOST] = {"events_lost", "Lost events", "Events dropped because the kernel's buffer was full.", UNIT_COUNT},
    [EVENTS_RECORDED] = {"events_recorded_pct", "Recorded",
                         "Share of the time in which events were recorded; below 100 if sampled.", UNIT_PCT},
};
