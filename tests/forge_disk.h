// What the tests of the disk pane share: its tables with few columns, and a frame of two disks.
#ifndef TESTS_FORGE_DISK_H
#define TESTS_FORGE_DISK_H

#include "tests/screens.h"

#include "tests/forge_io.h"

extern const struct view view_disk;

static const struct column device_columns[] = {
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8, .ascending = true},
    {.name = "reads_per_s", .title = "R/s", .unit = UNIT_PER_S, .width = 7},
    {.name = "writes_per_s", .title = "W/s", .unit = UNIT_PER_S, .width = 7},
    {.name = "read_bytes_per_s", .title = "RBYTES/s", .unit = UNIT_BYTES_PER_S, .width = 8},
    {.name = "write_bytes_per_s", .title = "WBYTES/s", .unit = UNIT_BYTES_PER_S, .width = 8},
    {.name = "in_flight", .title = "INFLT", .unit = UNIT_COUNT, .width = 5},
    {.name = "util_pct", .title = "UTIL%", .unit = UNIT_PCT, .width = 6},
};
static const struct table_def devices = {.name = "devices", .columns = device_columns, .n_columns = 7, .n_keys = 1};
static const struct column block_columns[] = {
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8, .ascending = true},
    {.name = "queue_us", .title = "QUEUE", .unit = UNIT_US, .width = 7},
    {.name = "service_us", .title = "SERVICE", .unit = UNIT_US, .width = 7},
    {.name = "errors_per_s", .title = "ERR/s", .unit = UNIT_PER_S, .width = 6},
};
static const struct table_def block_devices = {
    .name = "block_devices", .columns = block_columns, .n_columns = 4, .n_keys = 1};
static const struct column process_columns[] = {
    {.name = "pid", .title = "PID", .unit = UNIT_ID, .width = 7, .ascending = true},
    {.name = "comm", .title = "COMMAND", .type = COLUMN_TEXT, .width = 15, .ascending = true},
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8, .ascending = true},
    {.name = "op", .title = "OP", .type = COLUMN_TEXT, .width = 3, .ascending = true},
    {.name = "ios_per_s", .title = "IO/s", .unit = UNIT_PER_S, .width = 7},
    {.name = "bytes_per_s", .title = "BYTES/s", .unit = UNIT_BYTES_PER_S, .width = 8},
    {.name = "latency_us", .title = "SERVICE", .unit = UNIT_US, .width = 7},
    {.name = "total_us", .title = "TOTAL", .unit = UNIT_US, .width = 7},
    {.name = "total_us_per_s", .title = "WAIT/s", .unit = UNIT_US_PER_S, .width = 7},
    {.name = "total_p99_us", .title = "TOT p99", .unit = UNIT_US, .width = 7},
};
static const struct table_def by_process = {
    .name = "by_process", .columns = process_columns, .n_columns = 10, .n_keys = 4};
static const struct column event_columns[] = {
    {.name = "time_s",
     .title = "START",
     .unit = UNIT_S,
     .width = 15,
     .ascending = true,
     .format = column_format_clock_us},
    {.name = "end_s", .title = "END", .unit = UNIT_S, .width = 15, .ascending = true, .format = column_format_clock_us},
    {.name = "comm", .title = "COMMAND", .type = COLUMN_TEXT, .width = 15, .ascending = true},
    {.name = "op", .title = "OP", .type = COLUMN_TEXT, .width = 4, .ascending = true},
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8, .ascending = true},
    {.name = "bytes", .title = "BYTES", .unit = UNIT_BYTES, .width = 6},
    {.name = "latency_us", .title = "SERVICE", .unit = UNIT_US, .width = 8},
};
static const struct table_def io_events = {.name = "io_events", .columns = event_columns, .n_columns = 7, .n_keys = 1};
static const struct hist_def io_queue = {.name = "io_queue",
                                         .title = "Queue time",
                                         .span = "arrival to issue",
                                         .help = "arrival to issue",
                                         .unit_name = "us",
                                         .divisor = 1000,
                                         .unit = UNIT_US,
                                         .keys = forge_io_keys,
                                         .n_keys = 2};

// fio reads from vda in about 200 us, and every 8th frame in 20 ms; it writes to loop0.
static inline const struct frame *make(uint64_t number, bool events) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *block = forge_section("block", number);
    section_table(
        system, forge_table(&devices, "loop0|0|30|0|122880|1|7.5\nvda|812|0.4|3325952|2048|32|98.4\nvdb|0|0|0|0|0|0"));
    frame_add_section(frame, system, 0);
    section_table(block, forge_table(&block_devices, "vda|310|215|0\nloop0|2|80|1"));
    section_table(block, forge_table(&by_process, "4242|fio|vda|R|812|3325952|215|525|426300|890\n"
                                                  "4242|fio|loop0|W|30|122880|80|82|2460|110\n"
                                                  "77|kworker\x1b[31m|vda|W|0.4|2048|900|-|-|-"));
    struct hist_set *latency = hist_set_new(&forge_io_latency), *queue = hist_set_new(&io_queue),
                    *size = hist_set_new(&forge_io_size);
    forge_hist(
        latency, "vda", "R",
        (struct forge_run[]){{180000, 400}, {215000, 300}, {330000, 112}, {20000000, number % 8 ? 0 : 9}, {0, 0}});
    forge_hist(latency, "loop0", "W", (struct forge_run[]){{80000, 30}, {0, 0}});
    forge_hist(queue, "vda", "R", (struct forge_run[]){{310000, 812}, {0, 0}});
    forge_hist(size, "fio", "R", (struct forge_run[]){{4096, 812}, {0, 0}});
    section_hists(block, latency);
    section_hists(block, queue);
    section_hists(block, size);
    section_stream(block,
                   forge_table(&io_events, events ? "1790000000.1|1790000000.10018|fio|R|vda|4096|180\n"
                                                    "1790000000.2|1790000000.200215|fio|RA|vda|4096|215\n"
                                                    "1790000000.3|1790000000.30008|fio|WS|loop0|4096|80"
                                                  : ""),
                   events ? 7 : 0);
    frame_add_section(frame, block, 0);
    return frame;
}

#endif
