// The block collector's tables, series and stream (histograms: hists.c). Data only.
#include "collectors/block/table.h"

#include "model/columns.h"

#define US_COLUMN(name, title, text) NUMBER_COLUMN(name, title, UNIT_US, 7, .help = (text))
#define HELP_SERVICE "Average service time: issue to completion."
#define HELP_TOTAL "Average total time: bio arrival to bio completion; what the program waits for."
#define HELP_TOTAL_PER_S "Total time of all completed I/Os, per second; above 1 s when several wait at once."
#define HELP_CGROUP_OF "cgroup v2 path of the process, else that of the v1 blkio controller; none: unknown."

static const struct column device_columns[] = {
    COLUMN_DEVICE(.help = HELP_DEVICE),
    COLUMN_QUEUE_US(.help = "Average queue time of completed I/Os: arrival in the block layer to issue."),
    US_COLUMN("service_us", "SERVICE", "Average service time of completed I/Os: issue to completion."),
    COLUMN_ERRORS_PER_S(.help = "I/Os that completed with an error, per second."),
    US_COLUMN("read_p50_us", "R p50", "p50 of the service time of reads."),
    US_COLUMN("read_p99_us", "R p99", "p99 of the service time of reads."),
    US_COLUMN("write_p50_us", "W p50", "p50 of the service time of writes."),
    US_COLUMN("write_p99_us", "W p99", "p99 of the service time of writes."),
    US_COLUMN("read_p999_us", "R p99.9", "p99.9 of the service time of reads."),
    COLUMN_TOTAL_US(.help = HELP_TOTAL " On partitions it includes cgroup throttling."),
    COLUMN_SEQUENTIAL_PCT(.help = HELP_SEQUENTIAL_PCT),
    COLUMN_TIMEOUTS_PER_S(.help = "I/Os that completed with ETIMEDOUT, per second."),
    NUMBER_COLUMN("requeues_per_s", "REQUE/s", UNIT_PER_S, 7, .help = "Requests requeued by the driver, per second."),
    COLUMN_FLUSHES_PER_S(.help = "Cache flushes completed per second."),
    COLUMN_DISCARDS_PER_S(.help = "Discards completed per second."),
    TEXT_COLUMN("last_error", "LAST ERROR", 10,
                .help = "Last error since ktop started: ENODATA is a medium error, EREMOTEIO a target error, ETIMEDOUT "
                        "a timeout."),
    NUMBER_COLUMN("last_error_sector", "AT SECTOR", UNIT_ID, 12,
                  .help = "First sector (512 bytes) of the I/O with the last error."),
    NUMBER_COLUMN("busy_pct", "BUSY%", UNIT_PCT, 6, .overrides = "util_pct",
                  .help = "Share of the time with at least one request in service, from the request events."),
    US_COLUMN("oldest_us", "OLDEST", "Age of the oldest I/O in flight; 0: none is older than 0.1 s."),
    NUMBER_COLUMN("oldest_pid", "OF PID", UNIT_ID, 7, .help = "Process that submitted the oldest I/O in flight."),
    TEXT_COLUMN("oldest_comm", "OF", 15, .help = "Thread that submitted the oldest I/O in flight."),
};

const struct table_def block_devices_table = {
    .name = "block_devices",
    .help = "Latencies of every block device, from its request events.",
    .columns = device_columns,
    .n_columns = sizeof(device_columns) / sizeof(device_columns[0]),
    .n_keys = 1,
};

static const struct column process_columns[] = {
    COLUMN_PID(.help = "Process that submitted the I/O (a kworker for a loop device); 0: kernel writeback or "
                       "throttled I/O."),
    COLUMN_COMM(.help = "Thread that submitted the I/O; (writeback): kernel writeback; (throttled): delayed by a "
                        "cgroup limit on a whole disk, where bios are traced only after the delay."),
    COLUMN_DEVICE(.help = HELP_DEVICE),
    COLUMN_OP(2, .help = HELP_OP),
    COLUMN_IOS_PER_S(.help = "I/Os completed per second."),
    COLUMN_BYTES_PER_S(.help = "Bytes of completed I/Os per second."),
    COLUMN_IO_LATENCY_US(.help = HELP_SERVICE " On a device without requests: bio arrival to bio completion."),
    US_COLUMN("latency_p99_us", "SVC p99", "p99 of the service time."),
    COLUMN_TOTAL_US(.help = HELP_TOTAL),
    COLUMN_TOTAL_US_PER_S(.help = HELP_TOTAL_PER_S),
    US_COLUMN("total_p99_us", "TOT p99", "p99 of the total time."),
    COLUMN_SEQUENTIAL_PCT(.help = HELP_SEQUENTIAL_PCT),
    NUMBER_COLUMN("avg_bytes", "SIZE", UNIT_BYTES, 7, .help = "Average size of an I/O."),
    COLUMN_CGROUP(20, .help = HELP_CGROUP_OF " Of (throttled): the cgroup with the limit, if it is unique."),
};

const struct table_def block_process_table = {
    .name = "by_process",
    .help = "I/O by process, device and operation.",
    .columns = process_columns,
    .n_columns = sizeof(process_columns) / sizeof(process_columns[0]),
    .n_keys = 4,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column cgroup_columns[] = {
    COLUMN_CGROUP(24, .help = HELP_CGROUP_OF),
    COLUMN_DEVICE(.help = HELP_DEVICE),
    COLUMN_OP(2, .help = HELP_OP),
    COLUMN_IOS_PER_S(.help = "I/Os completed per second."),
    COLUMN_BYTES_PER_S(.help = "Bytes of completed I/Os per second."),
    COLUMN_IO_LATENCY_US(.help = HELP_SERVICE),
    COLUMN_TOTAL_US(.help = HELP_TOTAL " On partitions it includes cgroup throttling."),
    COLUMN_TOTAL_US_PER_S(.help = HELP_TOTAL_PER_S),
};

const struct table_def block_cgroup_table = {
    .name = "by_cgroup",
    .help = "I/O by cgroup, device and operation.",
    .columns = cgroup_columns,
    .n_columns = sizeof(cgroup_columns) / sizeof(cgroup_columns[0]),
    .n_keys = 3,
    .rows = ROWS_OF_INTERVAL,
};

static const struct column error_columns[] = {
    COLUMN_DEVICE(.help = HELP_DEVICE),
    COLUMN_OP(2, .help = HELP_OP),
    COLUMN_ERROR(10, .help = "Name of the error."),
    COLUMN_ERRORS_PER_S(.help = "I/Os that failed with this error, per second."),
    COLUMN_ERRORS(.help = "I/Os that failed with this error since ktop started."),
    NUMBER_COLUMN("sector", "SECTOR", UNIT_ID, 12, .help = "First sector (512 bytes) of the last one."),
};

const struct table_def block_errors_table = {
    .name = "io_errors",
    .help = "I/O errors by device, operation and error, since ktop started.",
    .columns = error_columns,
    .n_columns = sizeof(error_columns) / sizeof(error_columns[0]),
    .n_keys = 3,
};

static const struct column event_columns[] = {
    COLUMN_TIME_S(.help = "Time of issue, to the microsecond; in files in seconds since 1970.",
                  .format = column_format_clock_us),
    NUMBER_COLUMN("end_s", "END", UNIT_S, 15, .ascending = true,
                  .help = "Time of completion, to the microsecond; in files in seconds since 1970.",
                  .format = column_format_clock_us),
    COLUMN_COMM(.help = "Thread that submitted it."),
    COLUMN_PID(.help = "Process that submitted it."),
    COLUMN_OP(4, .help = HELP_OP_FLAGS),
    COLUMN_DEVICE(.help = HELP_DEVICE),
    COLUMN_SECTOR(.help = "First sector (512 bytes); none for a flush."),
    NUMBER_COLUMN("bytes", "BYTES", UNIT_BYTES, 6, .help = "Size."),
    COLUMN_QUEUE_US(.help = "Queue time: arrival in the block layer to issue; unknown if the arrival was not traced."),
    COLUMN_IO_LATENCY_US(.help = "Service time: issue to completion."),
    COLUMN_ERROR(8, .help = "Name of the error, if it failed."),
    COLUMN_TOTAL_US(.help = "Total time: arrival of its first bio to completion; unknown for a split bio."),
    COLUMN_CGROUP(24, .help = "cgroup of the submitter, or of the writeback (v2, else v1 blkio); none: unknown."),
    NUMBER_COLUMN("offset_pct", "AT%", UNIT_PCT, 5, .ascending = true,
                  .help = "First sector, in % of the size of the device."),
    TEXT_COLUMN("kept", "KEPT", 6,
                .help = "Why it is listed although it is not among the newest: failed, slow (of its device and "
                        "operation), or rare (its thread did few I/Os)."),
};

const struct table_def block_events_table = {
    .name = "io_events",
    .help = "Individual I/Os in order of completion: the newest, and those that failed, the slowest of each device and "
            "operation, and those of threads with few I/Os.",
    .columns = event_columns,
    .n_columns = sizeof(event_columns) / sizeof(event_columns[0]),
};

const struct series_def block_series[BLOCK_S_ALL] = {
    [BLOCK_S_IOS] = {"block_ios_per_s", "I/O per second", "I/Os completed per second, all devices.", UNIT_PER_S},
    [BLOCK_S_IN_FLIGHT] = {"block_in_flight", "I/O in flight", "Requests issued and not completed.", UNIT_COUNT},
    [BLOCK_S_QUEUED] = {"block_queued", "I/O queued", "Requests that wait to be issued.", UNIT_COUNT},
    [BLOCK_S_UNMATCHED] = {"unmatched_completions", "unmatched completions",
                           "Completions without a matching issue event.", UNIT_COUNT, MERGE_SUM},
    [BLOCK_S_ABANDONED] = {"abandoned_ios", "abandoned I/Os", "Requests whose completion was never traced.", UNIT_COUNT,
                           MERGE_SUM},
    [BLOCK_S_REQUEUES] = {"block_requeues_per_s", "requeues per second", "Requests requeued by the driver, per second.",
                          UNIT_PER_S},
    [BLOCK_S_MERGES] = {"block_merges_per_s", "merges per second", "Requests merged into another, per second.",
                        UNIT_PER_S},
    [BLOCK_S_ERRORS] = {"block_errors_per_s", "I/O errors per second", "I/Os that failed, per second.", UNIT_PER_S},
    [BLOCK_S_LOST] = {"block_lost_events", "lost block events", "Block events lost in the trace buffers.", UNIT_COUNT,
                      MERGE_SUM},
};
