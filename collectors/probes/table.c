#include "collectors/probes/table.h"

#include "model/columns.h"

#define COLUMN_PROBE(width_, ...) TEXT_COLUMN("probe", "PROBE", width_, __VA_ARGS__)

static const struct column columns[PROBES_P_ALL] = {
    [PROBES_P_PROBE] = COLUMN_PROBE(24, .help = "Name of the probe: the given one, or one made from its place."),
    [PROBES_P_KIND] = COLUMN_KIND(12, .help = "kprobe, kretprobe, uprobe, uretprobe, USDT, fprobe, fprobe exit, "
                                              "tracepoint, event."),
    [PROBES_P_WHERE] = TEXT_COLUMN("where", "WHERE", 34, .help = "Function, or file and function."),
    [PROBES_P_RATE] = NUMBER_COLUMN("hits_per_s", "HIT/s", UNIT_PER_S, 8, .help = "Recorded hits per second."),
    [PROBES_P_HITS] =
        NUMBER_COLUMN("hits", "HITS", UNIT_COUNT, 8, .merge = MERGE_SUM, .help = "Recorded hits in the interval."),
    [PROBES_P_TOTAL] =
        NUMBER_COLUMN("total", "TOTAL", UNIT_COUNT, 9, .help = "Recorded hits since the probe was added."),
    [PROBES_P_MISSED] =
        NUMBER_COLUMN("missed", "MISSED", UNIT_COUNT, 7, .merge = MERGE_SUM,
                      .help = "Hits in the interval that the kernel did not report. Of a return probe: calls that "
                              "returned without a report, by entries and stack pointers; else the kernel's own count; "
                              "-: unknown."),
    [PROBES_P_MISSED_TOTAL] =
        NUMBER_COLUMN("missed_total", "MISSED+", UNIT_COUNT, 8, .help = "missed since the probes were last changed."),
    [PROBES_P_KERNEL_MISSED] =
        NUMBER_COLUMN("kernel_missed", "NMISSED", UNIT_COUNT, 8,
                      .help = "The kernel's nmissed since the probes were last changed; -: it has none for the kind. "
                              "Kernels before 6.x leave out returns lost by maxactive."),
    [PROBES_P_ENTRIES] = NUMBER_COLUMN("entries", "ENTRIES", UNIT_COUNT, 8, .merge = MERGE_SUM,
                                       .help = "Of a return probe: calls of the function in the interval."),
    [PROBES_P_IN_FLIGHT] =
        NUMBER_COLUMN("in_flight", "INFLT", UNIT_COUNT, 8,
                      .help = "Of a return probe: calls that were entered and neither returned nor were missed."),
    [PROBES_P_STATE] =
        COLUMN_STATE(7, .help = "on; stopped: it was hit too often; refused: so was it in the check before."),
    [PROBES_P_SPEC] = TEXT_COLUMN("spec", "SPECIFICATION", 0, .help = "The probe as it was given."),
};
const struct table_def probes_table = {
    .name = "probes",
    .help = "The probes that are recorded.",
    .columns = columns,
    .n_columns = PROBES_P_ALL,
    .n_keys = 1,
};

static const struct column stream_columns[PROBES_E_ALL] = {
    [PROBES_E_TIME] =
        COLUMN_TIME_S(.help = "Time of the hit, in seconds since 1970.", .format = column_format_clock_us),
    [PROBES_E_CPU] = COLUMN_CPU(.help = "CPU that recorded it."),
    [PROBES_E_COMM] = COLUMN_COMM(.help = "Name of the thread that ran; -: it exited before it was looked up."),
    [PROBES_E_PID] = COLUMN_PID(.help = "Process ID; the thread ID if the thread exited before it was looked up."),
    [PROBES_E_TID] = COLUMN_TID(.help = HELP_TID),
    [PROBES_E_PROBE] = COLUMN_PROBE(20, .help = "Name of the probe."),
    [PROBES_E_ARGS] = COLUMN_ARGS(.help = "Arguments of the probe in the kernel's own format."),
    [PROBES_E_KEY] = GROUP_KEY_COLUMN,
    [PROBES_E_KEY2] = GROUP_KEY2_COLUMN,
    [PROBES_E_VALUE] = GROUP_VALUE_COLUMN,
    [PROBES_E_LATENCY] = GROUP_LATENCY_COLUMN,
    [PROBES_E_STACK] = TEXT_COLUMN("stack", "STACK", 40,
                                   .help = "Kernel functions that led to the hit (--stacks), innermost first; -: the "
                                           "probe is in a file, or the kernel wrote none."),
    [PROBES_E_USER_STACK] = TEXT_COLUMN("user_stack", "USER STACK", 40,
                                        .help = "Functions of the program that led to the hit (--stacks), innermost "
                                                "first: up to 8, by frame pointers; -: the kernel wrote none."),
};
const struct table_def probes_stream_table = {
    .name = "probe_events",
    .help = "The newest hits of the interval, oldest first: at most 2,000, with an equal share for each probe.",
    .columns = stream_columns,
    .n_columns = PROBES_E_ALL,
};

static const struct column groups_columns[G_ALL] =
    GROUPS_COLUMNS(COLUMN_PROBE(24, .help = "Name of the probe."), "Hits");
const struct table_def probes_groups_table = {
    .name = "probe_groups",
    .help = "Hits by arguments (--group): the 200 most frequent keys of the interval, the rest as the row others.",
    .columns = groups_columns,
    .n_columns = G_ALL,
    .n_keys = 3,
    .rows = ROWS_OF_INTERVAL,
};
static const struct column latencies_columns[L_ALL] =
    LATENCIES_COLUMNS(TEXT_COLUMN("pair", "PAIR", 36, .help = "First and second probe of --latency."), "hit");
const struct table_def probes_latencies_table = {
    .name = "probe_latencies",
    .help = "Latency between two probes (--latency), in total and by key: the 200 most frequent keys, the rest as the "
            "row others.",
    .columns = latencies_columns,
    .n_columns = L_ALL,
    .n_keys = 2,
    .rows = ROWS_OF_INTERVAL,
};
const struct hist_def probes_value_hist = {
    .name = "probe_values",
    .title = "Values",
    .help = "Values of the number argument of --group by key; negative ones count as 0.",
    .unit_name = "value",
    .divisor = 1,
    .unit = UNIT_COUNT,
    .keys = groups_columns,
    .n_keys = 3,
};
const struct hist_def probes_latency_hist = {
    .name = "probe_latency",
    .title = "Latency",
    .help = "Time from the first to the second probe of --latency by key.",
    .span = "first to second hit",
    .unit_name = "us",
    .divisor = 1000,
    .unit = UNIT_US,
    .keys = latencies_columns,
    .n_keys = 2,
};
const struct group_tables probes_group_tables = {&probes_groups_table, &probes_latencies_table, &probes_value_hist,
                                                 &probes_latency_hist};

const struct series_def probes_series[PROBES_SERIES] = {
    [PROBES_PER_S] = {"probe_hits_per_s", "Hits/s", "Recorded hits of all probes per second.", UNIT_PER_S},
    [PROBES_LOST] = {"probe_hits_lost", "Lost hits", "Hits dropped because the kernel's buffer was full.", UNIT_COUNT,
                     MERGE_SUM},
    [PROBES_RECORDED] = {"probe_recorded_pct", "Recorded",
                         "Share of the time in which hits were recorded; below 100 if sampled.", UNIT_PCT},
};
