// The pane disk on literal screens and in files.
#include "tests/screens.h"

#include <json-c/json.h>

#include "tests/forge_io.h"
#include "tests/forge_wider.h"

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
};
static const struct table_def by_process = {
    .name = "by_process", .columns = process_columns, .n_columns = 8, .n_keys = 4};
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
static const struct frame *make(uint64_t number, bool events) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *block = forge_section("block", number);
    section_table(
        system, forge_table(&devices, "loop0|0|30|0|122880|1|7.5\nvda|812|0.4|3325952|2048|32|98.4\nvdb|0|0|0|0|0|0"));
    frame_add_section(frame, system, 0);
    section_table(block, forge_table(&block_devices, "vda|310|215|0\nloop0|2|80|1"));
    section_table(block,
                  forge_table(&by_process, "4242|fio|vda|R|812|3325952|215|525\n4242|fio|loop0|W|30|122880|80|82\n"
                                           "77|kworker\x1b[31m|vda|W|0.4|2048|900|-"));
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

#define FRAMES 60
static const struct frame *frames[FRAMES];

static int setup(void **state) {
    (void)state;
    for (uint64_t i = 0; i < FRAMES; i++)
        frames[i] = make(i + 1, true);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    return 0;
}

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, frames, FRAMES);
    forge_expect(pane, &look, 80, 21, false,

                 "─ ▸ Devices ──────────── TOTAL for programs: QUEUE before, SERVICE in the disk ─\n"
                 "DEVICE   ▼UTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5   2.0us    80us       0      30    1.0     1        0     120K\n"
                 "vdb         0.0       -       -       0       0      -     0        0        0\n"
                 "─ By process ───────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         OP    TOTAL SERVICE    IO/s ▼BYTES/s DEVICE\n"
                 "   4242 fio             R     525us   215us     812     3.2M vda\n"
                 "   4242 fio             W      82us    80us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W         -   900us     0.4     2.0K vda\n"
                 "─ Over time ─── Service time (issue to complete), device vda (busiest), op all ─\n"
                 "  20ms│                    ▒       ▒       ▒       ▒       ▒       ▒       ▒\n"
                 "  10ms│\n"
                 "   5ms│\n"
                 "   2ms│\n"
                 "   1ms│\n"
                 " 500us│\n"
                 " 200us│             ████████████████████████████████████████████████████████████\n"
                 " 100us│             ████████████████████████████████████████████████████████████\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 "░1 ▒5 ▓21 █94 most 412 a cell                      p50 214us p99 330us max 330us\n");
    forge_expect(pane, &look, 80, 24, true,

                 "- > Devices -- TOTAL for programs: QUEUE before, SERVICE in the disk; 1-2 of 3 -\n"
                 "DEVICE   vUTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5   2.0us    80us       0      30    1.0     1        0     120K\n"
                 "- By process -------------------------------------------------------- 1-2 of 3 -\n"
                 "    PID COMMAND         OP    TOTAL SERVICE    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R     525us   215us     812     3.2M vda\n"
                 "   4242 fio             W      82us    80us      30     120K loop0\n"
                 "- Over time --- Service time (issue to complete), device vda (busiest), op all -\n"
                 "  30ms|\n"
                 "  10ms|                    =       =       =       =       =       =       =\n"
                 "   3ms|\n"
                 "   1ms|\n"
                 " 300us|             ############################################################\n"
                 " 100us|             @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
                 "  30us|\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 ".1 :3 -5 =9 +19 *40 #81 %169 @353 most 700 a cell  p50 214us p99 330us max 330us\n"
                 "- How long ---- Service time (issue to complete), device vda (busiest), op all -\n"
                 "count 812  avg 214us  p50 214us  p90 330us  p99 330us  p99.9 330us  max 330us\n"
                 " 150us - 200us  ##################################################    400  49.3%\n"
                 " 200us - 250us  ######################################                300  36.9%\n"
                 " 250us - 300us                                                          0   0.0%\n"
                 " 300us - 400us  ##############                                        112  13.8%\n");
    forge_expect(
        pane, &look, 120, 37, false,

        "─ ▸ Devices ──────────────────────────────────────────────────── TOTAL for programs: QUEUE before, SERVICE in "
        "the disk ─\n"
        "DEVICE   ▼UTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
        "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
        "loop0       7.5   2.0us    80us       0      30    1.0     1        0     120K\n"
        "vdb         0.0       -       -       0       0      -     0        0        0\n"
        "─ By process "
        "───────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "    PID COMMAND         OP    TOTAL SERVICE    IO/s ▼BYTES/s DEVICE\n"
        "   4242 fio             R     525us   215us     812     3.2M vda\n"
        "   4242 fio             W      82us    80us      30     120K loop0\n"
        "     77 kworker\\e[31m   W         -   900us     0.4     2.0K vda\n"
        "─ Over time ── Service time, device vda (busiest), op all ─ ─ How long ──── Service time, device vda "
        "(busiest), op all ─\n"
        "  70ms│                                                     count 812  avg 214us  p50 214us  p90 330us  p95 "
        "330us\n"
        "      │                                                     p99 330us  p99.9 330us  max 330us\n"
        "  30ms│                                                      180us - 200us  ██████████████████████████████    "
        "400  49.3%\n"
        "      │                         ▒   ▒   ▒   ▒   ▒   ▒   ▒    200us - 220us  ██████████████████████▌           "
        "300  36.9%\n"
        "  15ms│                                                      220us - 250us                                    "
        "  0   0.0%\n"
        "      │                                                      250us - 280us                                    "
        "  0   0.0%\n"
        "   7ms│                                                      280us - 320us                                    "
        "  0   0.0%\n"
        "      │                                                      320us - 360us  ████████▍                         "
        "112  13.8%\n"
        "   3ms│\n"
        "      │\n"
        " 1.5ms│\n"
        "      │\n"
        " 700us│\n"
        "      │\n"
        " 300us│                     ▓█████████████████████████████▓\n"
        "      │                     ███████████████████████████████\n"
        " 150us│                     ███████████████████████████████\n"
        "      │\n"
        "  70us│\n"
        "                                  -40s      -20s        now\n"
        "░1 ▒6 ▓29 █154                p50 214us p99 330us max 330us\n"
        "─ I/Os, newest first ──────────────────────────────────────────────────────────────────────────────── 7 older "
        "not kept ─\n"
        "          START  SERVICE OP    BYTES DEVICE   COMMAND                     END\n"
        "14:13:20.300000     80us WS     4.0K loop0    fio             14:13:20.300080\n"
        "14:13:20.200000    215us RA     4.0K vda      fio             14:13:20.200215\n"
        "14:13:20.100000    180us R      4.0K vda      fio             14:13:20.100180\n");
    forge_expect(
        pane, &look, 200, 47, false,

        "─ ▸ Devices "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "────────────────────── TOTAL for programs: QUEUE before, SERVICE in the disk ─\n"
        "DEVICE   ▼UTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
        "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
        "loop0       7.5   2.0us    80us       0      30    1.0     1        0     120K\n"
        "vdb         0.0       -       -       0       0      -     0        0        0\n"
        "─ By process "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────────────────────────────────────────────────────────────\n"
        "    PID COMMAND         OP    TOTAL SERVICE    IO/s ▼BYTES/s DEVICE\n"
        "   4242 fio             R     525us   215us     812     3.2M vda\n"
        "   4242 fio             W      82us    80us      30     120K loop0\n"
        "     77 kworker\\e[31m   W         -   900us     0.4     2.0K vda\n"
        "─ Over time ────────────────────── Service time (issue to complete), device vda (busiest), op all ─ ─ How "
        "long ──────────────────────── Service time (issue to complete), device vda (busiest), op all ─\n"
        "      │                                                                                             count 812 "
        " avg 214us  p50 214us  p90 330us  p95 330us  p99 330us  p99.9 330us  max 330us\n"
        "  30ms│                                                                                              180us - "
        "200us  ██████████████████████████████████████████████████████████████████████    400  49.3%\n"
        "      │                                                                                              200us - "
        "220us  ████████████████████████████████████████████████████▌                     300  36.9%\n"
        "  20ms│                                       ▒       ▒       ▒       ▒       ▒       ▒       ▒      220us - "
        "250us                                                                              0   0.0%\n"
        "      │                                                                                              250us - "
        "280us                                                                              0   0.0%\n"
        "  12ms│                                                                                              280us - "
        "320us                                                                              0   0.0%\n"
        "      │                                                                                              320us - "
        "360us  ███████████████████▋                                                      112  13.8%\n"
        "   8ms│\n"
        "      │\n"
        "   5ms│\n"
        "      │\n"
        "   3ms│\n"
        "      │\n"
        "   2ms│\n"
        "      │\n"
        " 1.2ms│\n"
        "      │\n"
        " 800us│\n"
        "      │\n"
        " 500us│\n"
        "      │\n"
        " 300us│                                ████████████████████████████████████████████████████████████\n"
        "      │\n"
        " 200us│                                ████████████████████████████████████████████████████████████\n"
        "      │                                ████████████████████████████████████████████████████████████\n"
        " 120us│\n"
        "      │\n"
        "  80us│\n"
        "                                             -50s      -40s      -30s      -20s      -10s       now\n"
        "░1 ▒5 ▓21 █92 most 400 a cell                                         p50 214us p99 330us max 330us\n"
        "─ I/Os, newest first "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "────────────────────────────────────────────────── 7 older not kept ─\n"
        "          START  SERVICE OP    BYTES DEVICE   COMMAND                     END\n"
        "14:13:20.300000     80us WS     4.0K loop0    fio             14:13:20.300080\n"
        "14:13:20.200000    215us RA     4.0K vda      fio             14:13:20.200215\n"
        "14:13:20.100000    180us R      4.0K vda      fio             14:13:20.100180\n"
        "\n");
    forge_expect(pane, &look, 40, 10, true,

                 "- > Devices ----------------------------\n"
                 "DEVICE   vUTIL%   QUEUE SERVICE     R/s\n"
                 "vda        98.4   310us   215us     812\n"
                 "loop0       7.5   2.0us    80us       0\n"
                 "vdb         0.0       -       -       0\n"
                 "- By process ---------------------------\n"
                 "    PID COMMAND         OP    TOTAL\n"
                 "   4242 fio             R     525us\n"
                 "   4242 fio             W      82us\n"
                 "     77 kworker\\e[31m   W         -\n");
    forge_look(&look, frames, 1);
    forge_expect(pane, &look, 80, 21, true,

                 "- > Devices ------------ TOTAL for programs: QUEUE before, SERVICE in the disk -\n"
                 "DEVICE   vUTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5   2.0us    80us       0      30    1.0     1        0     120K\n"
                 "vdb         0.0       -       -       0       0      -     0        0        0\n"
                 "- By process -------------------------------------------------------------------\n"
                 "    PID COMMAND         OP    TOTAL SERVICE    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R     525us   215us     812     3.2M vda\n"
                 "   4242 fio             W      82us    80us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W         -   900us     0.4     2.0K vda\n"
                 "- Over time --- Service time (issue to complete), device vda (busiest), op all -\n"
                 " 360us|\n"
                 " 320us|                                                                        %\n"
                 " 280us|\n"
                 " 250us|\n"
                 " 220us|\n"
                 " 200us|                                                                        @\n"
                 " 180us|                                                                        @\n"
                 " 160us|\n"
                 "                                                                             now\n"
                 ".1 :2 -4 =8 +15 *29 #56 %109 @214 most 400 a cell  p50 214us p99 330us max 330us\n");
    pane_free(pane);
}

static void keys(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    struct grid *grid = grid_new(80, 24, true);
    forge_look(&look, frames, FRAMES);
    pane_draw(pane, &look, grid_area(grid));
    assert_string_equal(forge_key(pane, &look, 't', true).message, "device vda (busiest), op R");
    // Not loop0: nothing reads from it.
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device all, op R");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device vda, op R");
    forge_key(pane, &look, 'o', true); // by process
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=4242");
    forge_key(pane, &look, 'o', true); // the heat map
    forge_key(pane, &look, KEY_VIEW_LEFT, true);
    forge_expect(pane, &look, 80, 24, true,

                 "- Devices ---- TOTAL for programs: QUEUE before, SERVICE in the disk; 1-2 of 3 -\n"
                 "DEVICE   vUTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5   2.0us    80us       0      30    1.0     1        0     120K\n"
                 "- By process -------------------------------------------------------- 1-2 of 3 -\n"
                 "    PID COMMAND         OP    TOTAL SERVICE    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R     525us   215us     812     3.2M vda\n"
                 "   4242 fio             W      82us    80us      30     120K loop0\n"
                 "- > Over time ------------- Service time (issue to complete), device vda, op R -\n"
                 "  30ms|\n"
                 "  10ms|                    =       =       =       =       =       =       =\n"
                 "   3ms|\n"
                 "   1ms|                                                                        +\n"
                 " 300us|             ############################################################\n"
                 " 100us|             @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
                 "  30us|\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 "14:14:20  1ms - 3ms  0 of 812 (0.0%)  p50 214us p99 330us\n"
                 "- How long ---------------- Service time (issue to complete), device vda, op R -\n"
                 "count 812  avg 214us  p50 214us  p90 330us  p99 330us  p99.9 330us  max 330us\n"
                 " 150us - 200us  ##################################################    400  49.3%\n"
                 " 200us - 250us  ######################################                300  36.9%\n"
                 " 250us - 300us                                                          0   0.0%\n"
                 " 300us - 400us  ##############                                        112  13.8%\n");
    forge_key(pane, &look, 'o', true); // the histogram, for which there was no room
    forge_expect(pane, &look, 80, 20, true,

                 "- Devices -------------- TOTAL for programs: QUEUE before, SERVICE in the disk -\n"
                 "DEVICE   vUTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5   2.0us    80us       0      30    1.0     1        0     120K\n"
                 "vdb         0.0       -       -       0       0      -     0        0        0\n"
                 "- By process -------------------------------------------------------------------\n"
                 "    PID COMMAND         OP    TOTAL SERVICE    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R     525us   215us     812     3.2M vda\n"
                 "   4242 fio             W      82us    80us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W         -   900us     0.4     2.0K vda\n"
                 "- > How long -------------- Service time (issue to complete), device vda, op R -\n"
                 "count 812  avg 214us  p50 214us  p90 330us  p95 330us  p99 330us  p99.9 330us\n"
                 "max 330us\n"
                 " 180us - 200us  ##################################################    400  49.3%\n"
                 " 200us - 220us  ######################################                300  36.9%\n"
                 " 220us - 250us                                                          0   0.0%\n"
                 " 250us - 280us                                                          0   0.0%\n"
                 " 280us - 320us                                                          0   0.0%\n"
                 " 320us - 360us  ##############                                        112  13.8%\n"
                 "\n");
    grid_free(grid);
    pane_free(pane);
}

// The words at the right end of the heat map's title.
static void expect_choice(struct pane *pane, const struct look *look, const char *choice) {
    struct grid *grid = grid_new(80, 24, true);
    pane_draw(pane, look, grid_area(grid));
    char *screen = forge_screen(grid), want[128];
    snprintf(want, sizeof want, "Service time (issue to complete), %s -\n", choice);
    char *title = strstr(screen, "Over time -");
    assert_non_null(title);
    assert_non_null(strchr(title, '\n'));
    title[strcspn(title, "\n") + 1] = '\0';
    char *end = strlen(title) > strlen(want) ? title + strlen(title) - strlen(want) : title;
    assert_string_equal(end, want);
    free(screen);
    grid_free(grid);
}

static const struct frame *busy_frame(uint64_t number, double vda, double loop0) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *block = forge_section("block", number);
    char rows[128];
    snprintf(rows, sizeof rows, "vda|0|0|0|0|0|%g\nloop0|0|0|0|0|0|%g", vda, loop0);
    section_table(system, forge_table(&devices, rows));
    frame_add_section(frame, system, 0);
    struct hist_set *latency = hist_set_new(&forge_io_latency);
    forge_hist(latency, "vda", "R", (struct forge_run[]){{180000, 4}, {0, 0}});
    forge_hist(latency, "loop0", "W", (struct forge_run[]){{80000, 3}, {0, 0}});
    section_hists(block, latency);
    frame_add_section(frame, block, 0);
    return frame;
}

// vda is busy, then both take turns, then loop0 alone is: the map goes there once, after seconds.
static void busiest(void **state) {
    (void)state;
    enum { ALL = 60 };
    const struct frame *list[ALL];
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    for (int i = 0; i < ALL; i++)
        list[i] = i < 10   ? busy_frame((uint64_t)i + 1, 50, 1)
                  : i < 30 ? busy_frame((uint64_t)i + 1, i % 2 ? 90 : 10, i % 2 ? 10 : 90)
                           : busy_frame((uint64_t)i + 1, 0, 70);
    int changes = 0, at = 0;
    for (int i = 0; i < ALL; i++) {
        forge_look(&look, list, (size_t)i + 1);
        look.live = true;
        struct grid *grid = grid_new(80, 24, true);
        pane_draw(pane, &look, grid_area(grid));
        char *screen = forge_screen(grid);
        bool loop0 = strstr(screen, "device loop0 (busiest)") != NULL;
        assert_true(loop0 || strstr(screen, "device vda (busiest)"));
        if (loop0 == (changes % 2 == 0)) {
            changes++;
            at = i;
        }
        free(screen);
        grid_free(grid);
    }
    assert_int_equal(changes, 1);
    assert_in_range(at, 35, 45);
    // Looking back moves nothing.
    forge_look(&look, list, 5);
    look.live = false;
    expect_choice(pane, &look, "device loop0 (busiest), op all");
    forge_look(&look, list, ALL);
    // The selected row, from there by key to the others, and back to what is busiest.
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    expect_choice(pane, &look, "device loop0, op all");
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    expect_choice(pane, &look, "device vda, op all");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device all, op all");
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    expect_choice(pane, &look, "device loop0 (busiest), op all");
    // The device that the pane is filtered for, as long as it is.
    pane_set_filter(pane, "device=vda");
    expect_choice(pane, &look, "device vda (filter), op all");
    pane_set_filter(pane, "");
    expect_choice(pane, &look, "device loop0 (busiest), op all");
    for (int i = 0; i < ALL; i++)
        frame_unref(list[i]);
    pane_free(pane);
}

static void wider(void **state) {
    (void)state;
    static const char *const titles[] = {"Devices", "By process", NULL};
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, frames, FRAMES);
    forge_wider(pane, &look, titles);
    pane_free(pane);
}

static void no_block_events(void **state) {
    (void)state;
    struct frame *frame = forge_frame(1);
    struct section *system = forge_section("system", 1), *block = forge_section("block", 1);
    section_table(system, forge_table(&devices, "vda|812|0.4|3325952|2048|32|98.4"));
    section_set_state(block, SECTION_UNAVAILABLE);
    section_note(block, SEVERITY_WARNING, NULL, "block events need root", "run ktop as root");
    section_table(block, forge_table(&block_devices, ""));
    section_table(block, forge_table(&by_process, ""));
    section_hists(block, hist_set_new(&forge_io_latency));
    section_stream(block, forge_table(&io_events, ""), 0);
    frame_add_section(frame, system, 0);
    frame_add_section(frame, block, 0);
    const struct frame *list[] = {frame};
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, list, 1);
    forge_expect(pane, &look, 80, 21, false,

                 "─ ▸ Devices ──────────── TOTAL for programs: QUEUE before, SERVICE in the disk ─\n"
                 "DEVICE   ▼UTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4       -       -     812     0.4      -    32     3.2M     2.0K\n"
                 "─ By process ─────────────────────────────────────────────────── not available ─\n"
                 "    PID COMMAND         OP    TOTAL SERVICE    IO/s ▼BYTES/s DEVICE\n"
                 " not measured\n"
                 "─ Over time ──────── Service time, device vda (busiest), op all  not available ─\n"
                 "not measured\n"
                 "─ How long ───────── Service time, device vda (busiest), op all  not available ─\n"
                 "not measured\n"
                 "─ I/Os, newest first ─────────────────────────────────────────── not available ─\n"
                 "          START  SERVICE OP    BYTES DEVICE   COMMAND                     END\n"
                 " not measured\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "! block events need root - run ktop as root\n"
                 "\n");
    pane_free(pane);
    frame_unref(frame);
}

static struct json_object *member(struct json_object *object, const char *name) {
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(object, name, &value))
        fail_msg("no %s", name);
    return value;
}

static const struct column error_columns[] = {
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8},
    {.name = "op", .title = "OP", .type = COLUMN_TEXT, .width = 2},
    {.name = "error", .title = "ERROR", .type = COLUMN_TEXT, .width = 10},
    {.name = "errors_per_s", .title = "ERR/s", .unit = UNIT_PER_S, .width = 7},
};
static const struct table_def io_errors = {.name = "io_errors", .columns = error_columns, .n_columns = 4, .n_keys = 3};

// Errors stand on the smallest screen; and a list whose filter is too long for its title says that it has one.
static void errors(void **state) {
    (void)state;
    struct frame *frame = (struct frame *)make(1, true);
    struct section *section = forge_section("errors", 1);
    section_table(section, forge_table(&io_errors, "vda|W|EIO|3\nvda|R|ENODATA|0.5"));
    frame_add_section(frame, section, 0);
    const struct frame *list[] = {frame};
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, list, 1);
    forge_expect(pane, &look, 80, 21, true,
                 "- > Devices -- TOTAL for programs: QUEUE before, SERVICE in the disk; 1-2 of 3 -\n"
                 "DEVICE   vUTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5   2.0us    80us       0      30    1.0     1        0     120K\n"
                 "- By process -------------------------------------------------------- 1-2 of 3 -\n"
                 "    PID COMMAND         OP    TOTAL SERVICE    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R     525us   215us     812     3.2M vda\n"
                 "   4242 fio             W      82us    80us      30     120K loop0\n"
                 "- Errors ------------------------------------------------------------ 1-1 of 2 -\n"
                 "DEVICE   OP ERROR       vERR/s\n"
                 "vda      W  EIO            3.0\n"
                 "- Over time --- Service time (issue to complete), device vda (busiest), op all -\n"
                 " 360us|\n"
                 " 320us|                                                                        %\n"
                 " 280us|\n"
                 " 250us|\n"
                 " 220us|\n"
                 " 200us|                                                                        @\n"
                 " 180us|                                                                        @\n"
                 "                                                                             now\n"
                 ".1 :2 -4 =8 +15 *29 #56 %109 @214 most 400 a cell  p50 214us p99 330us max 330us\n");
    forge_key(pane, &look, 'O', true); // from the first to the last: the list of I/Os
    // Enter shows one of them, not the first device, and Esc leads back to the list.
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, 1);
    forge_expect(pane, &look, 80, 12, true,
                 "- One I/O ---------------------------------------------------------- Esc: back -\n"
                 " START       14:13:20.300000\n"
                 " END         14:13:20.300080\n"
                 " COMMAND     fio             OP          WS\n"
                 " DEVICE      loop0           BYTES       4.0K\n"
                 " SERVICE     80us\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    pane_set_filter(pane, "device=vda comm=fio bytes>=4K bytes<=64K latency_us>=200us");
    forge_expect(pane, &look, 80, 21, true,
                 "- Devices -- filter device=vda comm=fio bytes>=4K bytes<=64K latency_us>=200us -\n"
                 "DEVICE   vUTIL%   QUEUE SERVICE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   310us   215us     812     0.4      0    32     3.2M     2.0K\n"
                 "- By process ------------------------------------------------ 1 of 3, filtered -\n"
                 "    PID COMMAND         OP    TOTAL SERVICE    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R     525us   215us     812     3.2M vda\n"
                 "- Errors --- filter device=vda comm=fio bytes>=4K bytes<=64K latency_us>=200us -\n"
                 "DEVICE   OP ERROR       vERR/s\n"
                 "vda      W  EIO            3.0\n"
                 "vda      R  ENODATA        0.5\n"
                 "- > I/Os, newest first -------------------- 1 of 3, 7 older not kept, filtered -\n"
                 "          START  SERVICE OP    BYTES DEVICE   COMMAND                     END\n"
                 "14:13:20.200000    215us RA     4.0K vda      fio             14:13:20.200215\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    pane_free(pane);
    frame_unref(frame);
}

// The help says what the words of the titles mean, before anything else.
static void help(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    char *text;
    size_t size;
    forge_look(&look, frames, 1);
    FILE *out = open_memstream(&text, &size);
    pane_help(pane, &look, out);
    fclose(out);
    const char *total = strstr(text, "\n  TOTAL        the time that a program waits: "),
               *queue = strstr(text, "\n  QUEUE        the part before the disk: "),
               *service = strstr(text, "\n  SERVICE      the part in the disk: "),
               *keys = strstr(text, "Keys of this pane");
    assert_true(total && queue && service && keys);
    assert_true(total < queue && queue < service && service < keys);
    free(text);
    pane_free(pane);
}

static void contract_names(void **state) {
    (void)state;
    const struct write_info info = {.version = "1", .host = "h", .kernel = "k"};
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    char *text;
    size_t size;
    forge_look(&look, frames, 1);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(pane_write(pane, &look, FORMAT_JSON, &info, out), 0);
    fclose(out);
    struct json_object *json = json_tokener_parse(text), *tables = member(json, "tables"), *row;
    assert_non_null(json);
    row = json_object_array_get_idx(member(tables, "devices"), 0);
    const char *names[] = {"device",    "reads_per_s", "writes_per_s", "read_bytes_per_s", "write_bytes_per_s",
                           "in_flight", "queue_us",    "service_us",   "util_pct",         "errors_per_s"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        member(row, names[i]);
    assert_int_equal(json_object_array_length(member(tables, "by_process")), 3);
    assert_int_equal(json_object_array_length(member(json, "events")), 3);
    struct json_object *histograms = member(json, "histograms");
    assert_int_equal(json_object_array_length(member(histograms, "io_latency")), 2);
    assert_int_equal(json_object_array_length(member(histograms, "io_queue")), 1);
    assert_int_equal(json_object_array_length(member(histograms, "io_size")), 1);
    json_object_put(json);
    free(text);
    pane_free(pane);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens),         cmocka_unit_test(keys),           cmocka_unit_test(busiest),
        cmocka_unit_test(errors),          cmocka_unit_test(help),           cmocka_unit_test(wider),
        cmocka_unit_test(no_block_events), cmocka_unit_test(contract_names),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
