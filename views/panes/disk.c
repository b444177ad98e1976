// The pane `disk`: utilisation of each device, latency of I/Os over time, and the processes that issue them. Only data.
#include <string.h>

#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/part_table.h"
#include "views/row/part_row.h"

static enum role device_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (column->type != COLUMN_NUMBER)
        return ROLE_TEXT;
    if (!strcmp(column->name, "util_pct"))
        return value.num >= 95 ? ROLE_CRITICAL : value.num >= 80 ? ROLE_WARNING : ROLE_TEXT;
    if (!strcmp(column->name, "errors_per_s") || !strcmp(column->name, "timeouts_per_s"))
        return value.num > 0 ? ROLE_CRITICAL : ROLE_DIM;
    return value.num == 0 ? ROLE_DIM : ROLE_TEXT;
}

static const struct table_spec devices = {
    .source = {.tables = {"devices", "block_devices"}, .sort = "util_pct"},
    .shown = "device util_pct total_us queue_us service_us reads_per_s writes_per_s errors_per_s in_flight "
             "oldest_us read_bytes_per_s write_bytes_per_s read_p99_us write_p99_us read_size_bytes write_size_bytes "
             "last_error last_error_sector "
             "timeouts_per_s "
             "queue_length requeues_per_s sequential_pct read_p50_us read_p999_us write_p50_us flushes_per_s "
             "discards_per_s read_merges_per_s write_merges_per_s model",
    .legend = "TOTAL = QUEUE (before issue) + SERVICE (device)",
    .opens = "device",
    .chooses = "device",
    .role = device_role,
    .empty = "no block device",
};

static const struct row_spec device = {
    .source = {.tables = {"devices", "block_devices"}},
    .heading = "device",
    .shown = "util_pct total_us queue_us service_us reads_per_s writes_per_s read_bytes_per_s write_bytes_per_s "
             "read_size_bytes write_size_bytes in_flight queue_length oldest_us errors_per_s read_p99_us write_p99_us "
             "sequential_pct timeouts_per_s "
             "requeues_per_s flushes_per_s discards_per_s read_merges_per_s write_merges_per_s",
};

#define SETS_BY                                                                                                        \
    "io_latency_by_process", "io_queue_by_process", "io_total_by_process", "io_latency_by_cgroup",                     \
        "io_queue_by_cgroup", "io_total_by_cgroup"
static const char *const sets[] = {"io_latency",        "io_queue",  "io_total", "io_size",
                                   "io_size_by_device", "io_offset", SETS_BY,    NULL};
static const char *const heat_sets[] = {"io_latency", "io_queue", "io_total", "io_size", "io_size_by_device",
                                        "io_offset",  "util_pct", SETS_BY,    NULL};

static const struct column util_keys[] = {
    {.name = "device", .title = "DEVICE", .help = "Kernel name of the disk.", .type = COLUMN_TEXT, .width = 10},
};
static const struct hist_def util = {
    .name = "util_pct",
    .title = "utilisation",
    .help = "Share of the interval in which the device was busy: one value per device and interval.",
    .unit_name = "pct",
    .divisor = 1,
    .unit = UNIT_PCT,
    .keys = util_keys,
    .n_keys = 1,
};

static const struct hist_measure measures[] = {
    {.set = "io_latency", .column = "latency_us"},
    {.set = "io_queue", .column = "queue_us"},
    {.set = "io_total", .column = "total_us"},
    {.set = "io_size", .noun = "Size", .column = "bytes"},
    {.set = "io_size_by_device", .noun = "Size", .column = "bytes"},
    {.set = "io_offset", .noun = "Offset", .column = "offset_pct", .linear = 64},
    {.set = "util_pct",
     .noun = "Utilisation",
     .linear = 100,
     .table = "devices",
     .def = &util,
     .better = "block_devices"},
    {.set = "io_latency_by_process", .column = "latency_us"},
    {.set = "io_queue_by_process", .column = "queue_us"},
    {.set = "io_total_by_process", .column = "total_us"},
    {.set = "io_latency_by_cgroup", .column = "latency_us"},
    {.set = "io_queue_by_cgroup", .column = "queue_us"},
    {.set = "io_total_by_cgroup", .column = "total_us"},
    {0},
};
static const struct hist_spec hists = {.sets = sets, .measures = measures, .busiest = "util_pct", .list = "events"};
static const struct hist_spec heat = {.sets = heat_sets, .measures = measures, .busiest = "util_pct", .list = "events"};

static const struct table_spec by_process = {
    .source = {.tables = {"by_process"}, .sort = "total_us_per_s", .then = "bytes_per_s"},
    .shown = "pid comm op total_us_per_s total_us total_p99_us ios_per_s bytes_per_s device latency_us latency_p99_us "
             "avg_bytes sequential_pct cgroup",
    .opens = "events",
    .empty = "no process did I/O",
};

static const struct table_spec by_cgroup = {
    .source = {.tables = {"by_cgroup"}, .sort = "total_us_per_s", .then = "bytes_per_s"},
    .shown = "device op total_us_per_s total_us ios_per_s bytes_per_s latency_us cgroup",
    .rest = "cgroup",
    .opens = "events",
    .optional = true,
    .empty = "no cgroup did I/O",
};

static const struct table_spec errors = {
    .source = {.tables = {"io_errors"}, .sort = "errors_per_s"},
    .shown = "device op error errors errors_per_s sector",
    .opens = "events",
    .optional = true,
    .empty = "no I/O failed",
};

static enum role waiting_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    return strcmp(column->name, "age_us") != 0 ? ROLE_TEXT : value.num >= 5e6 ? ROLE_CRITICAL : ROLE_WARNING;
}

static const struct table_spec waiting = {
    .source = {.tables = {"io_in_flight"}, .sort = "age_us"},
    .shown = "device age_us pid comm op state bytes sector",
    .role = waiting_role,
    .opens = "events",
    .opens_by = "device pid op",
    .opens_note = "still in flight: showing the latest completed I/Os like it; Esc: back",
    .opens_none = "still in flight; no I/O like it completed in the history",
    .optional = true,
    .empty = "no I/O is in flight for more than 100 ms",
};

static enum role limit_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    return !strcmp(column->name, "of_limit_pct") && value.num >= 85 ? ROLE_WARNING : ROLE_TEXT;
}

static const struct table_spec limits = {
    .source = {.tables = {"io_limits"}, .sort = "of_limit_pct"},
    .shown = "device of_limit_pct io_wait_pct reads_per_s read_limit_per_s writes_per_s write_limit_per_s "
             "read_bytes_per_s read_limit_bytes_per_s write_bytes_per_s write_limit_bytes_per_s cgroup",
    .rest = "cgroup",
    .opens = "events",
    .opens_by = "device cgroup~", // a limit also holds for descendant cgroups
    .opens_none = "no I/O of that cgroup on that device completed in the history",
    .role = limit_role,
    .optional = true,
    .empty = "no cgroup has an I/O limit",
};

static enum role filesystem_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    (void)join;
    (void)row;
    if (strcmp(column->name, "used_pct") != 0)
        return ROLE_TEXT;
    return value.num >= 97 ? ROLE_CRITICAL : value.num >= 90 ? ROLE_WARNING : ROLE_TEXT;
}

static const struct table_spec filesystems = {
    .source = {.tables = {"filesystems"}, .sort = "used_pct"},
    .shown = "used_pct available_kib size_kib device type inodes_free inodes mount",
    .rest = "mount",
    .opens = "events",
    .opens_by = "device",
    .opens_none = "no I/O of its disk in the history",
    .role = filesystem_role,
    .optional = true,
    .empty = "no writable file system",
};

// All of a failed I/O's row is red: the error column may be off the screen.
static enum role event_role(const struct join *join, size_t row, const struct column *column, union cell value) {
    int error = join_column(join, "error");
    if (error >= 0 && join_cell(join, row, (uint16_t)error).text)
        return ROLE_CRITICAL;
    if (!strcmp(column->name, "op") && value.text)
        return text_bytes(value.text)[0] == 'R' ? ROLE_READ : text_bytes(value.text)[0] == 'W' ? ROLE_WRITE : ROLE_TEXT;
    return ROLE_TEXT;
}

static const struct table_spec events = {
    .source = {.tables = {"io_events"}, .stream = true, .aside = "kept"},
    .shown = "time_s total_us queue_us latency_us op bytes device comm pid error end_s sector offset_pct kept cgroup",
    .aside = "slow/rare",
    .opens = "one_io",
    .role = event_role,
    .empty = "no I/O in this interval",
};

static const struct jump_alias aliases[] = {
    {"(writeback)", "write_bytes_per_s>0", "(writeback): the kernel writes back pages that these processes dirtied",
     "(writeback): the kernel writes back dirty pages; no process writes now"},
    {"(throttled)", NULL, NULL, "(throttled): delayed by a cgroup limit; its submitter is unknown"},
    {0},
};

static const struct row_spec one_io = {
    .source = {.tables = {"io_events"}, .stream = true},
    .heading = "device op pid comm",
    .jump = {.pane = "tasks", .columns = "pid comm", .names = aliases},
};

static const struct part parts[] = {
    {.kind = &part_table, .name = "devices", .title = "Devices", .spec = &devices, .min_height = 3, .weight = 1},
    {.kind = &part_table,
     .name = "by_process",
     .title = "By process",
     .spec = &by_process,
     .min_height = 3,
     .weight = 1},
    {.kind = &part_table,
     .name = "io_in_flight",
     .title = "In flight over 100 ms",
     .spec = &waiting,
     .min_height = 3,
     .weight = 1},
    {.kind = &part_table, .name = "io_errors", .title = "Errors", .spec = &errors, .min_height = 4, .weight = 1},
    {.kind = &part_heat, .name = "io_latency", .title = "Heat map", .spec = &heat, .min_height = 9, .weight = 3},
    {.kind = &part_hist,
     .name = "io_latency",
     .title = "Histogram",
     .spec = &hists,
     .min_height = 8,
     .weight = 2,
     .right = true},
    {.kind = &part_table, .name = "by_cgroup", .title = "By cgroup", .spec = &by_cgroup, .min_height = 3, .weight = 1},
    {.kind = &part_table, .name = "io_limits", .title = "I/O limits", .spec = &limits, .min_height = 2, .weight = 1},
    {.kind = &part_table,
     .name = "filesystems",
     .title = "File systems",
     .spec = &filesystems,
     .min_height = 2,
     .weight = 1},
    {.kind = &part_table, .name = "events", .title = "Recent I/Os", .spec = &events, .min_height = 5, .weight = 2},
    {.kind = &part_row, .name = "device", .title = "Device", .spec = &device},
    {.kind = &part_row, .name = "one_io", .title = "I/O", .spec = &one_io},
};

static const char *const needs[] = {"system", "block", "filesystems", NULL};

static const struct view_term terms[] = {
    {"TOTAL/s", "sum of TOTAL over all I/Os of a process or cgroup, per second"},
    {"TOTAL", "time that the application waits: bio arrival to bio completion"},
    {"QUEUE", "time before the device: bio arrival to issue, in the I/O scheduler or waiting for a tag"},
    {"SERVICE", "time in the device: issue to completion (latency_us, io_latency in files)"},
    {0},
};

const struct view view_disk = {
    .name = "disk",
    .key = '5',
    .title = "Disk",
    .question = "Which device is slow, how slow, since when, and which process keeps it busy?",
    .terms = terms,
    .needs = needs,
    .parts = parts,
    .n_parts = sizeof parts / sizeof *parts,
    .wide_from = 110,
};
