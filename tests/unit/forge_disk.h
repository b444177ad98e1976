// What the tests of the disk pane share: its tables, and a frame of two disks.
#ifndef TESTS_UNIT_FORGE_DISK_H
#define TESTS_UNIT_FORGE_DISK_H

#include "tests/unit/screens.h"

#include "tests/unit/forge_io.h"

extern const struct view view_disk;

// A table, and those of its columns that these tests fill.
#define DEVICES "devices", "device|reads_per_s|writes_per_s|read_bytes_per_s|write_bytes_per_s|in_flight|util_pct"
#define BLOCK_DEVICES "block_devices", "device|queue_us|service_us|errors_per_s|total_us|oldest_us|read_p99_us"
#define BY_PROCESS                                                                                                     \
    "by_process", "pid|comm|device|op|ios_per_s|bytes_per_s|latency_us|total_us|total_us_per_s|total_p99_us"
#define IO_EVENTS "io_events", "time_s|end_s|comm|op|device|bytes|latency_us|queue_us|total_us|pid"

// fio reads from vda in about 200 us, and every 8th frame in 20 ms; it writes to loop0.
static inline const struct frame *make(uint64_t number, bool events) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *block = forge_section("block", number);
    section_table(system,
                  forge_real(DEVICES, "loop0|0|30|0|122880|1|7.5\nvda|812|0.4|3325952|2048|32|98.4\nvdb|0|0|0|0|0|0"));
    frame_add_section(frame, system, 0);
    section_table(block, forge_real(BLOCK_DEVICES, "vda|310|215|0|525|0|330\nloop0|2|80|1|82|0|-"));
    section_table(block, forge_real(BY_PROCESS, "4242|fio|vda|R|812|3325952|215|525|426300|890\n"
                                                "4242|fio|loop0|W|30|122880|80|82|2460|110\n"
                                                "77|kworker\x1b[31m|vda|W|0.4|2048|900|-|-|-"));
    struct hist_set *latency = hist_set_new(real_hist("io_latency")), *queue = hist_set_new(real_hist("io_queue")),
                    *size = hist_set_new(real_hist("io_size"));
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
                   forge_real(IO_EVENTS, events ? "1790000000.1|1790000000.10018|fio|R|vda|4096|180|310|490|4242\n"
                                                  "1790000000.2|1790000000.200215|fio|RA|vda|4096|215|310|525|4242\n"
                                                  "1790000000.3|1790000000.30008|fio|WS|loop0|4096|80|2|82|4242"
                                                : ""),
                   events ? 7 : 0);
    frame_add_section(frame, block, 0);
    return frame;
}

#endif
