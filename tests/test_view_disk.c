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
    {.name = "latency_us", .title = "LATENCY", .unit = UNIT_US, .width = 8},
};
static const struct table_def by_process = {
    .name = "by_process", .columns = process_columns, .n_columns = 7, .n_keys = 4};
static const struct column event_columns[] = {
    {.name = "time_s", .title = "TIME", .unit = UNIT_S, .width = 12, .ascending = true},
    {.name = "comm", .title = "COMMAND", .type = COLUMN_TEXT, .width = 15, .ascending = true},
    {.name = "op", .title = "OP", .type = COLUMN_TEXT, .width = 4, .ascending = true},
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8, .ascending = true},
    {.name = "bytes", .title = "BYTES", .unit = UNIT_BYTES, .width = 7},
    {.name = "latency_us", .title = "LATENCY", .unit = UNIT_US, .width = 8},
};
static const struct table_def io_events = {.name = "io_events", .columns = event_columns, .n_columns = 6, .n_keys = 1};
static const struct hist_def io_queue = {.name = "io_queue",
                                         .title = "I/O queue time",
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
    section_table(block, forge_table(&by_process, "4242|fio|vda|R|812|3325952|215\n4242|fio|loop0|W|30|122880|80\n"
                                                  "77|kworker\x1b[31m|vda|W|0.4|2048|900"));
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
                   forge_table(&io_events, events
                                               ? "1790000000.1|fio|R|vda|4096|180\n1790000000.2|fio|RA|vda|4096|215\n"
                                                 "1790000000.3|fio|WS|loop0|4096|80"
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

                 "─ ▸ Devices ────────────────────────────────────────────────────────────────────\n"
                 "DEVICE   ▼UTIL% SERVICE   QUEUE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   215us   310us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5    80us   2.0us       0      30    1.0     1        0     120K\n"
                 "vdb         0.0       -       -       0       0      -     0        0        0\n"
                 "─ By process ───────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         OP   LATENCY    IO/s ▼BYTES/s DEVICE\n"
                 "   4242 fio             R      215us     812     3.2M vda\n"
                 "   4242 fio             W       80us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W      900us     0.4     2.0K vda\n"
                 "─ Over time ────────────────────────────────── I/O latency, device all, op all ─\n"
                 "  30ms│\n"
                 "  10ms│                    ▒       ▒       ▒       ▒       ▒       ▒       ▒\n"
                 "   3ms│\n"
                 "   1ms│\n"
                 " 300us│             ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
                 " 100us│             ████████████████████████████████████████████████████████████\n"
                 "  30us│             ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
                 "  10us│\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 "░1 ▒6 ▓27 █139 most 700 a cell                     p50 179us p99 330us max 330us\n");
    forge_expect(pane, &look, 80, 24, true,

                 "- > Devices --------------------------------------------------------- 1-2 of 3 -\n"
                 "DEVICE   vUTIL% SERVICE   QUEUE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   215us   310us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5    80us   2.0us       0      30    1.0     1        0     120K\n"
                 "- By process -------------------------------------------------------- 1-2 of 3 -\n"
                 "    PID COMMAND         OP   LATENCY    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R      215us     812     3.2M vda\n"
                 "   4242 fio             W       80us      30     120K loop0\n"
                 "- Over time ---------------------------------- I/O latency, device all, op all -\n"
                 "  30ms|\n"
                 "  10ms|                    =       =       =       =       =       =       =\n"
                 "   3ms|\n"
                 "   1ms|\n"
                 " 300us|             ############################################################\n"
                 " 100us|             @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
                 "  30us|             ++++++++++++++++++++++++++++++++++++++++++++++++++++++++++++\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 ".1 :3 -5 =9 +19 *40 #81 %169 @353 most 700 a cell  p50 179us p99 330us max 330us\n"
                 "- How long ----------------------------------- I/O latency, device all, op all -\n"
                 "count 842  avg 209us  p50 179us  p90 330us  p99 330us  p99.9 330us  max 330us\n"
                 "  50us - 100us  ####                                                   30   3.6%\n"
                 " 100us - 200us  #################################################     400  47.5%\n"
                 " 200us - 500us  ##################################################    412  48.9%\n"
                 "\n");
    forge_expect(
        pane, &look, 120, 37, false,

        "─ ▸ Devices "
        "────────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "DEVICE   ▼UTIL% SERVICE   QUEUE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
        "vda        98.4   215us   310us     812     0.4      0    32     3.2M     2.0K\n"
        "loop0       7.5    80us   2.0us       0      30    1.0     1        0     120K\n"
        "vdb         0.0       -       -       0       0      -     0        0        0\n"
        "─ By process "
        "───────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "    PID COMMAND         OP   LATENCY    IO/s ▼BYTES/s DEVICE\n"
        "   4242 fio             R      215us     812     3.2M vda\n"
        "   4242 fio             W       80us      30     120K loop0\n"
        "     77 kworker\\e[31m   W      900us     0.4     2.0K vda\n"
        "─ Over time ───────────── I/O latency, device all, op all ─ ─ How long ─────────────── I/O latency, device "
        "all, op all ─\n"
        "  50ms│                                                     count 842  avg 209us  p50 179us  p90 330us  p95 "
        "330us\n"
        "      │                                                     p99 330us  p99.9 330us  max 330us\n"
        "  20ms│                         ▒   ▒   ▒   ▒   ▒   ▒   ▒     80us - 100us  ██▎                               "
        " 30   3.6%\n"
        "      │                                                      100us - 120us                                    "
        "  0   0.0%\n"
        "  10ms│                                                      120us - 150us                                    "
        "  0   0.0%\n"
        "      │                                                      150us - 200us  ██████████████████████████████    "
        "400  47.5%\n"
        "   5ms│                                                      200us - 250us  ██████████████████████▌           "
        "300  35.6%\n"
        "      │                                                      250us - 300us                                    "
        "  0   0.0%\n"
        "   2ms│                                                      300us - 400us  ████████▍                         "
        "112  13.3%\n"
        "      │\n"
        "   1ms│\n"
        "      │\n"
        " 500us│\n"
        "      │                     ▓█████████████████████████████▓\n"
        " 200us│                     ███████████████████████████████\n"
        "      │                     ███████████████████████████████\n"
        " 100us│\n"
        "      │                     ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
        "  50us│\n"
        "                                  -40s      -20s        now\n"
        "░1 ▒6 ▓29 █154                p50 179us p99 330us max 330us\n"
        "─ I/Os, newest first ──────────────────────────────────────────────────────────────────────────────── 7 older "
        "not kept ─\n"
        "        TIME  LATENCY OP     BYTES DEVICE   COMMAND\n"
        "14:13:20.300     80us WS      4.0K loop0    fio\n"
        "14:13:20.200    215us RA      4.0K vda      fio\n"
        "14:13:20.100    180us R       4.0K vda      fio\n");
    forge_expect(
        pane, &look, 200, 47, false,

        "─ ▸ Devices "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "──────────────────────────────────────────────────────────────────────────────\n"
        "DEVICE   ▼UTIL% SERVICE   QUEUE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
        "vda        98.4   215us   310us     812     0.4      0    32     3.2M     2.0K\n"
        "loop0       7.5    80us   2.0us       0      30    1.0     1        0     120K\n"
        "vdb         0.0       -       -       0       0      -     0        0        0\n"
        "─ By process "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────────────────────────────────────────────────────────────\n"
        "    PID COMMAND         OP   LATENCY    IO/s ▼BYTES/s DEVICE\n"
        "   4242 fio             R      215us     812     3.2M vda\n"
        "   4242 fio             W       80us      30     120K loop0\n"
        "     77 kworker\\e[31m   W      900us     0.4     2.0K vda\n"
        "─ Over time ───────────────────────────────────────────────────── I/O latency, device all, op all ─ ─ How "
        "long ─────────────────────────────────────────────────────── I/O latency, device all, op all ─\n"
        "      │                                                                                             count 842 "
        " avg 209us  p50 179us  p90 330us  p95 330us  p99 330us  p99.9 330us  max 330us\n"
        "  25ms│                                                                                               80us - "
        "90us   █████▎                                                                     30   3.6%\n"
        "      │                                       ▒       ▒       ▒       ▒       ▒       ▒       ▒       90us - "
        "100us                                                                              0   0.0%\n"
        "  15ms│                                                                                              100us - "
        "110us                                                                              0   0.0%\n"
        "      │                                                                                              110us - "
        "120us                                                                              0   0.0%\n"
        "  10ms│                                                                                              120us - "
        "140us                                                                              0   0.0%\n"
        "      │                                                                                              140us - "
        "160us                                                                              0   0.0%\n"
        "   6ms│                                                                                              160us - "
        "180us                                                                              0   0.0%\n"
        "      │                                                                                              180us - "
        "200us  ██████████████████████████████████████████████████████████████████████    400  47.5%\n"
        "   4ms│                                                                                              200us - "
        "220us  ████████████████████████████████████████████████████▌                     300  35.6%\n"
        "      │                                                                                              220us - "
        "250us                                                                              0   0.0%\n"
        " 2.5ms│                                                                                              250us - "
        "280us                                                                              0   0.0%\n"
        "      │                                                                                              280us - "
        "320us                                                                              0   0.0%\n"
        " 1.5ms│                                                                                              320us - "
        "360us  ███████████████████▋                                                      112  13.3%\n"
        "      │\n"
        "   1ms│\n"
        "      │\n"
        " 600us│\n"
        "      │\n"
        " 400us│\n"
        "      │                                ████████████████████████████████████████████████████████████\n"
        " 250us│\n"
        "      │                                ████████████████████████████████████████████████████████████\n"
        " 150us│                                ████████████████████████████████████████████████████████████\n"
        "      │\n"
        " 100us│\n"
        "      │                                ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
        "  60us│\n"
        "                                             -50s      -40s      -30s      -20s      -10s       now\n"
        "░1 ▒5 ▓21 █92 most 400 a cell                                         p50 179us p99 330us max 330us\n"
        "─ I/Os, newest first "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "────────────────────────────────────────────────── 7 older not kept ─\n"
        "        TIME  LATENCY OP     BYTES DEVICE   COMMAND\n"
        "14:13:20.300     80us WS      4.0K loop0    fio\n"
        "14:13:20.200    215us RA      4.0K vda      fio\n"
        "14:13:20.100    180us R       4.0K vda      fio\n"
        "\n");
    forge_expect(pane, &look, 40, 10, true,

                 "- > Devices ----------------------------\n"
                 "DEVICE   vUTIL% SERVICE   QUEUE     R/s\n"
                 "vda        98.4   215us   310us     812\n"
                 "loop0       7.5    80us   2.0us       0\n"
                 "vdb         0.0       -       -       0\n"
                 "- By process ---------------------------\n"
                 "    PID COMMAND         OP   LATENCY\n"
                 "   4242 fio             R      215us\n"
                 "   4242 fio             W       80us\n"
                 "     77 kworker\\e[31m   W      900us\n");
    forge_look(&look, frames, 1);
    forge_expect(pane, &look, 80, 21, true,

                 "- > Devices --------------------------------------------------------------------\n"
                 "DEVICE   vUTIL% SERVICE   QUEUE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   215us   310us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5    80us   2.0us       0      30    1.0     1        0     120K\n"
                 "vdb         0.0       -       -       0       0      -     0        0        0\n"
                 "- By process -------------------------------------------------------------------\n"
                 "    PID COMMAND         OP   LATENCY    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R      215us     812     3.2M vda\n"
                 "   4242 fio             W       80us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W      900us     0.4     2.0K vda\n"
                 "- Over time ---------------------------------- I/O latency, device all, op all -\n"
                 " 400us|\n"
                 " 300us|                                                                        %\n"
                 " 250us|\n"
                 " 200us|                                                                        @\n"
                 " 150us|                                                                        @\n"
                 " 120us|\n"
                 " 100us|\n"
                 "  80us|                                                                        *\n"
                 "                                                                             now\n"
                 ".1 :2 -4 =8 +15 *29 #56 %109 @214 most 400 a cell  p50 179us p99 330us max 330us\n");
    pane_free(pane);
}

static void keys(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    struct grid *grid = grid_new(80, 24, true);
    forge_look(&look, frames, FRAMES);
    pane_draw(pane, &look, grid_area(grid));
    assert_string_equal(forge_key(pane, &look, 't', true).message, "device all, op R");
    // Not loop0: nothing reads from it.
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device vda, op R");
    forge_key(pane, &look, 'o', true); // by process
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=4242");
    forge_key(pane, &look, 'o', true); // the heat map
    forge_key(pane, &look, KEY_VIEW_LEFT, true);
    forge_expect(pane, &look, 80, 24, true,

                 "- Devices ----------------------------------------------------------- 1-2 of 3 -\n"
                 "DEVICE   vUTIL% SERVICE   QUEUE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   215us   310us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5    80us   2.0us       0      30    1.0     1        0     120K\n"
                 "- By process -------------------------------------------------------- 1-2 of 3 -\n"
                 "    PID COMMAND         OP   LATENCY    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R      215us     812     3.2M vda\n"
                 "   4242 fio             W       80us      30     120K loop0\n"
                 "- > Over time ---------------------------------- I/O latency, device vda, op R -\n"
                 "  30ms|\n"
                 "  10ms|                    =       =       =       =       =       =       =\n"
                 "   3ms|\n"
                 "   1ms|                                                                        +\n"
                 " 300us|             ############################################################\n"
                 " 100us|             @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
                 "  30us|\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 "14:14:20  1ms - 3ms  0 of 812 (0.0%)  p50 214us p99 330us\n"
                 "- How long ------------------------------------- I/O latency, device vda, op R -\n"
                 "count 812  avg 214us  p50 214us  p90 330us  p99 330us  p99.9 330us  max 330us\n"
                 " 150us - 200us  ##################################################    400  49.3%\n"
                 " 200us - 250us  ######################################                300  36.9%\n"
                 " 250us - 300us                                                          0   0.0%\n"
                 " 300us - 400us  ##############                                        112  13.8%\n");
    forge_key(pane, &look, 'o', true); // the histogram, for which there was no room
    forge_expect(pane, &look, 80, 20, true,

                 "- Devices ----------------------------------------------------------------------\n"
                 "DEVICE   vUTIL% SERVICE   QUEUE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4   215us   310us     812     0.4      0    32     3.2M     2.0K\n"
                 "loop0       7.5    80us   2.0us       0      30    1.0     1        0     120K\n"
                 "vdb         0.0       -       -       0       0      -     0        0        0\n"
                 "- By process -------------------------------------------------------------------\n"
                 "    PID COMMAND         OP   LATENCY    IO/s vBYTES/s DEVICE\n"
                 "   4242 fio             R      215us     812     3.2M vda\n"
                 "   4242 fio             W       80us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W      900us     0.4     2.0K vda\n"
                 "- > How long ----------------------------------- I/O latency, device vda, op R -\n"
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

                 "─ ▸ Devices ────────────────────────────────────────────────────────────────────\n"
                 "DEVICE   ▼UTIL% SERVICE   QUEUE     R/s     W/s  ERR/s INFLT RBYTES/s WBYTES/s\n"
                 "vda        98.4       -       -     812     0.4      -    32     3.2M     2.0K\n"
                 "─ By process ─────────────────────────────────────────────────── not available ─\n"
                 "    PID COMMAND         OP   LATENCY    IO/s ▼BYTES/s DEVICE\n"
                 " not measured\n"
                 "─ Over time ─────────────────── I/O latency, device all, op all  not available ─\n"
                 "not measured\n"
                 "─ How long ──────────────────── I/O latency, device all, op all  not available ─\n"
                 "not measured\n"
                 "─ I/Os, newest first ─────────────────────────────────────────── not available ─\n"
                 "        TIME  LATENCY OP     BYTES DEVICE   COMMAND\n"
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
        cmocka_unit_test(screens),         cmocka_unit_test(keys),           cmocka_unit_test(wider),
        cmocka_unit_test(no_block_events), cmocka_unit_test(contract_names),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
