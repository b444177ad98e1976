// The pane disk on literal screens and in files.
#include <json-c/json.h>

#include "tests/unit/forge_disk.h"
#include "tests/unit/forge_wider.h"

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

                 "─ ▸ Devices ────────────────── TOTAL = QUEUE (before issue) + SERVICE (device) ─\n"
                 "DEVICE     ▼UTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST\n"
                 "vda          98.4   525us   310us   215us     812     0.4       0    32     0us\n"
                 "loop0         7.5    82us   2.0us    80us       0      30     1.0     1     0us\n"
                 "vdb           0.0       -       -       -       0       0       -     0       -\n"
                 "─ By process ───────────────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         OP ▼TOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE\n"
                 "   4242 fio             R     426ms   525us   890us     812     3.2M vda\n"
                 "   4242 fio             W     2.5ms    82us   110us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W         -       -       -     0.4     2.0K vda\n"
                 "─ Latency heat map ──────────────── Service time, device vda (busiest), op all ─\n"
                 "  30ms│\n"
                 "  10ms│                    ▒       ▒       ▒       ▒       ▒       ▒       ▒\n"
                 "   3ms│\n"
                 "   1ms│\n"
                 " 300us│             ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
                 " 100us│             ████████████████████████████████████████████████████████████\n"
                 "  30us│\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 "░1 ▒6 ▓27 █139 most 700 a cell                     p50 214us p99 330us max 330us\n"
                 "▸Devices  •By process  •Heat map   Histogram   Recent I/Os    o next  = enlarge\n");
    forge_expect(pane, &look, 80, 24, true,

                 "- > Devices ------------------ TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST\n"
                 "vda          98.4   525us   310us   215us     812     0.4       0    32     0us\n"
                 "loop0         7.5    82us   2.0us    80us       0      30     1.0     1     0us\n"
                 "vdb           0.0       -       -       -       0       0       -     0       -\n"
                 "- By process -------------------------------------------------------------------\n"
                 "    PID COMMAND         OP vTOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE\n"
                 "   4242 fio             R     426ms   525us   890us     812     3.2M vda\n"
                 "   4242 fio             W     2.5ms    82us   110us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W         -       -       -     0.4     2.0K vda\n"
                 "- Latency heat map ---------------- Service time, device vda (busiest), op all -\n"
                 "  50ms|\n"
                 "  20ms|                    =       =       =       =       =       =       =\n"
                 "  10ms|\n"
                 "   5ms|\n"
                 "   2ms|\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|             @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
                 " 100us|             @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
                 "  50us|\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 ".1 :2 -4 =8 +15 *30 #57 %112 @220 most 412 a cell  p50 214us p99 330us max 330us\n"
                 ">Devices  *By process  *Heat map   Histogram   Recent I/Os    o next  = enlarge\n");
    forge_expect(
        pane, &look, 120, 37, false,

        "─ ▸ Devices ────────────────────────────────────────────────────────── TOTAL = QUEUE (before issue) + SERVICE "
        "(device) ─\n"
        "DEVICE     ▼UTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST RBYTES/s WBYTES/s   R p99   W "
        "p99\n"
        "vda          98.4   525us   310us   215us     812     0.4       0    32     0us     3.2M     2.0K   330us     "
        "  -\n"
        "loop0         7.5    82us   2.0us    80us       0      30     1.0     1     0us        0     120K       -     "
        "  -\n"
        "vdb           0.0       -       -       -       0       0       -     0       -        0        0       -     "
        "  -\n"
        "─ By process "
        "───────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "    PID COMMAND         OP ▼TOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE     SERVICE SVC p99    SIZE  "
        "SEQ%\n"
        "   4242 fio             R     426ms   525us   890us     812     3.2M vda          215us       -       -     "
        "-\n"
        "   4242 fio             W     2.5ms    82us   110us      30     120K loop0         80us       -       -     "
        "-\n"
        "     77 kworker\\e[31m   W         -       -       -     0.4     2.0K vda          900us       -       -     "
        "-\n"
        "─ Latency heat map ──────────────────── Service time, vda ─ ─ Latency histogram ──────────────────── Service "
        "time, vda ─\n"
        "  25ms│                                                     count 812  avg 214us  p50 214us  p90 330us  p95 "
        "330us\n"
        "      │                         ▒   ▒   ▒   ▒   ▒   ▒   ▒   p99 330us  p99.9 330us  max 330us\n"
        "  15ms│                                                      100us - 200us  █████████████████████████████▏    "
        "400  49.3%\n"
        "      │                                                      200us - 500us  ██████████████████████████████    "
        "412  50.7%\n"
        "  10ms│                                                      500us - 1ms                                      "
        "  0   0.0%\n"
        "      │                                                        1ms - 2ms                                      "
        "  0   0.0%\n"
        "   6ms│                                                        2ms - 5ms                                      "
        "  0   0.0%\n"
        "      │                                                        5ms - 10ms                                     "
        "  0   0.0%\n"
        "   4ms│                                                       10ms - 20ms                                     "
        "  0   0.0%\n"
        "      │                                                       20ms - 50ms                                     "
        "  0   0.0%\n"
        " 2.5ms│\n"
        "      │\n"
        " 1.5ms│\n"
        "      │\n"
        "   1ms│\n"
        "      │\n"
        " 600us│\n"
        "      │\n"
        " 400us│\n"
        "      │                     ▓█████████████████████████████▓\n"
        " 250us│\n"
        "      │                     ███████████████████████████████\n"
        " 150us│                     ███████████████████████████████\n"
        "                                  -40s      -20s        now\n"
        "░1 ▒6 ▓29 █154                p50 214us p99 330us max 330us\n"
        "▸Devices  •By process  •Heat map  •Histogram   Recent I/Os                                            o next  "
        "= enlarge\n");
    forge_expect(
        pane, &look, 200, 47, false,

        "─ ▸ Devices "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "──────────────────────────── TOTAL = QUEUE (before issue) + SERVICE (device) ─\n"
        "DEVICE     ▼UTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST RBYTES/s WBYTES/s   R p99   W "
        "p99  R SIZE  W SIZE LAST ERROR    AT SECTOR  TMOUT/s   QLEN REQUE/s  SEQ%   R p50 R p99.9\n"
        "vda          98.4   525us   310us   215us     812     0.4       0    32     0us     3.2M     2.0K   330us     "
        "  -       -       - -                     -        -      -       -     -       -       -\n"
        "loop0         7.5    82us   2.0us    80us       0      30     1.0     1     0us        0     120K       -     "
        "  -       -       - -                     -        -      -       -     -       -       -\n"
        "vdb           0.0       -       -       -       0       0       -     0       -        0        0       -     "
        "  -       -       - -                     -        -      -       -     -       -       -\n"
        "─ By process "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────────────────────────────────────────────────────────────\n"
        "    PID COMMAND         OP ▼TOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE     SERVICE SVC p99    SIZE  SEQ% "
        "CGROUP\n"
        "   4242 fio             R     426ms   525us   890us     812     3.2M vda          215us       -       -     - "
        "-\n"
        "   4242 fio             W     2.5ms    82us   110us      30     120K loop0         80us       -       -     - "
        "-\n"
        "     77 kworker\\e[31m   W         -       -       -     0.4     2.0K vda          900us       -       -     "
        "- -\n"
        "─ Latency heat map ─────────────── Service time (issue to complete), device vda (busiest), op all ─ ─ Latency "
        "histogram ─────────────── Service time (issue to complete), device vda (busiest), op all ─\n"
        "      │                                                                                             count 812 "
        " avg 214us  p50 214us  p90 330us  p95 330us  p99 330us  p99.9 330us  max 330us\n"
        "  30ms│                                                                                              100us - "
        "200us  ████████████████████████████████████████████████████████████████████      400  49.3%\n"
        "      │                                                                                              200us - "
        "500us  ██████████████████████████████████████████████████████████████████████    412  50.7%\n"
        "  20ms│                                       ▒       ▒       ▒       ▒       ▒       ▒       ▒      500us - "
        "1ms                                                                                0   0.0%\n"
        "      │                                                                                                1ms - "
        "2ms                                                                                0   0.0%\n"
        "  12ms│                                                                                                2ms - "
        "5ms                                                                                0   0.0%\n"
        "      │                                                                                                5ms - "
        "10ms                                                                               0   0.0%\n"
        "   8ms│                                                                                               10ms - "
        "20ms                                                                               0   0.0%\n"
        "      │                                                                                               20ms - "
        "50ms                                                                               0   0.0%\n"
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
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "▸Devices  •By process  •Heat map  •Histogram   Recent I/Os                                                    "
        "                                                                        o next  = enlarge\n");
    forge_expect(pane, &look, 40, 10, true,

                 "- > Devices ----------------------------\n"
                 "DEVICE     vUTIL%   TOTAL   QUEUE\n"
                 "vda          98.4   525us   310us\n"
                 "loop0         7.5    82us   2.0us\n"
                 "vdb           0.0       -       -\n"
                 "- By process ---------------- 1-2 of 3 -\n"
                 "    PID COMMAND         OP vTOTAL/s\n"
                 "   4242 fio             R     426ms\n"
                 "   4242 fio             W     2.5ms\n"
                 "more: Heat map   Histogram   Recent I.\n");
    forge_look(&look, frames, 1);
    forge_expect(pane, &look, 80, 21, true,

                 "- > Devices ------------------ TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST\n"
                 "vda          98.4   525us   310us   215us     812     0.4       0    32     0us\n"
                 "loop0         7.5    82us   2.0us    80us       0      30     1.0     1     0us\n"
                 "vdb           0.0       -       -       -       0       0       -     0       -\n"
                 "- By process -------------------------------------------------------------------\n"
                 "    PID COMMAND         OP vTOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE\n"
                 "   4242 fio             R     426ms   525us   890us     812     3.2M vda\n"
                 "   4242 fio             W     2.5ms    82us   110us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W         -       -       -     0.4     2.0K vda\n"
                 "- Latency heat map ---------------- Service time, device vda (busiest), op all -\n"
                 " 360us|\n"
                 " 320us|                                                                        %\n"
                 " 280us|\n"
                 " 250us|\n"
                 " 220us|\n"
                 " 200us|                                                                        @\n"
                 " 180us|                                                                        @\n"
                 "                                                                             now\n"
                 ".1 :2 -4 =8 +15 *29 #56 %109 @214 most 400 a cell  p50 214us p99 330us max 330us\n"
                 ">Devices  *By process  *Heat map   Histogram   Recent I/Os    o next  = enlarge\n");
    pane_free(pane);
}

// A copy takes the bytes, small random reads the time that programs wait.
static void who_waits(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view_disk);
    struct look look;
    struct frame *frame = forge_frame(1);
    struct section *system = forge_section("system", 1), *block = forge_section("block", 1);
    section_table(system, forge_real(DEVICES, "vda|3000|900|12288000|943718400|32|100"));
    section_table(block, forge_real(BY_PROCESS, "50|dd|vda|W|900|943718400|1000|1100|990000|2000\n"
                                                "77|kworker|vda|W|5|20480|900|-|-|-\n"
                                                "60|mysqld|vda|R|3000|12288000|900|10500|31500000|41000"));
    frame_add_section(frame, system, 0);
    frame_add_section(frame, block, 0);
    const struct frame *one = frame;
    forge_look(&look, &one, 1);
    forge_expect(pane, &look, 80, 8, true,

                 "- > Devices ------------------ TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN\n"
                 "vda           100    3000     900    32    11.7M     900M       -       -      -\n"
                 "- By process -------------------------------------------------------- 1-2 of 3 -\n"
                 "    PID COMMAND         OP vTOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE\n"
                 "     60 mysqld          R     31.5s  10.5ms  41.0ms    3000    11.7M vda\n"
                 "     50 dd              W     990ms   1.1ms   2.0ms     900     900M vda\n"
                 ">Devices  *By process   Heat map   Histogram   Recent I/Os    o next  = enlarge\n");
    pane_free(pane);
    frame_unref(frame);
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
    forge_key(pane, &look, 'o', true); // the heat map
    forge_key(pane, &look, KEY_VIEW_LEFT, true);
    forge_expect(pane, &look, 80, 24, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST\n"
                 "vda          98.4   525us   310us   215us     812     0.4       0    32     0us\n"
                 "loop0         7.5    82us   2.0us    80us       0      30     1.0     1     0us\n"
                 "vdb           0.0       -       -       -       0       0       -     0       -\n"
                 "- By process -------------------------------------------------------------------\n"
                 "    PID COMMAND         OP vTOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE\n"
                 "   4242 fio             R     426ms   525us   890us     812     3.2M vda\n"
                 "   4242 fio             W     2.5ms    82us   110us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W         -       -       -     0.4     2.0K vda\n"
                 "- > Latency heat map ------ Service time (issue to complete), device vda, op R -\n"
                 "  50ms|\n"
                 "  20ms|                    =       =       =       =       =       =       =\n"
                 "  10ms|\n"
                 "   5ms|\n"
                 "   2ms|                                                                        +\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|             @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
                 " 100us|             @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\n"
                 "  50us|\n"
                 "                          -50s      -40s      -30s      -20s      -10s       now\n"
                 "14:14:20  2ms - 5ms  0 of 812 (0.0%)  p50 214us p99 330us\n"
                 "*Devices  *By process  >Heat map   Histogram   Recent I/Os    o next  = enlarge\n");
    forge_key(pane, &look, 'o', true); // the histogram, for which there was no room
    forge_expect(pane, &look, 80, 20, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST\n"
                 "vda          98.4   525us   310us   215us     812     0.4       0    32     0us\n"
                 "loop0         7.5    82us   2.0us    80us       0      30     1.0     1     0us\n"
                 "vdb           0.0       -       -       -       0       0       -     0       -\n"
                 "- By process -------------------------------------------------------------------\n"
                 "    PID COMMAND         OP vTOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE\n"
                 "   4242 fio             R     426ms   525us   890us     812     3.2M vda\n"
                 "   4242 fio             W     2.5ms    82us   110us      30     120K loop0\n"
                 "     77 kworker\\e[31m   W         -       -       -     0.4     2.0K vda\n"
                 "- > Latency histogram ----- Service time (issue to complete), device vda, op R -\n"
                 "count 812  avg 214us  p50 214us  p90 330us  p95 330us  p99 330us  p99.9 330us\n"
                 "max 330us\n"
                 " 180us - 200us  ##################################################    400  49.3%\n"
                 " 200us - 220us  ######################################                300  36.9%\n"
                 " 220us - 250us                                                          0   0.0%\n"
                 " 250us - 280us                                                          0   0.0%\n"
                 " 280us - 320us                                                          0   0.0%\n"
                 " 320us - 360us  ##############                                        112  13.8%\n"
                 "*Devices  *By process   Heat map  >Histogram   Recent I/Os    o next  = enlarge\n");
    grid_free(grid);
    pane_free(pane);
}

// The words at the right end of the heat map's title.
static void expect_choice(struct pane *pane, const struct look *look, const char *choice) {
    struct grid *grid = grid_new(80, 24, true);
    pane_draw(pane, look, grid_area(grid));
    char *screen = forge_screen(grid), want[128];
    snprintf(want, sizeof want, ", %s -\n", choice);
    char *title = strstr(screen, "Latency heat map -");
    assert_non_null(title);
    assert_non_null(strchr(title, '\n'));
    title[strcspn(title, "\n") + 1] = '\0';
    assert_non_null(strstr(title, " Service time"));
    char *end = strlen(title) > strlen(want) ? title + strlen(title) - strlen(want) : title;
    assert_string_equal(end, want);
    free(screen);
    grid_free(grid);
}

static const struct frame *busy_frame(uint64_t number, double vda, double loop0) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *block = forge_section("block", number);
    char rows[128];
    int n = vda < 0 ? 0 : snprintf(rows, sizeof rows, "vda|0|0|0|0|0|%g\n", vda); // less than 0: it is not there
    snprintf(rows + n, sizeof rows - (size_t)n, "loop0|0|0|0|0|0|%g", loop0);
    section_table(system, forge_real(DEVICES, rows));
    frame_add_section(frame, system, 0);
    struct hist_set *latency = hist_set_new(real_hist("io_latency"));
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

// The busiest device is pulled out of a machine that does nothing else: all are shown, then the one that works at all.
static void unplugged(void **state) {
    (void)state;
    enum { ALL = 9 };
    const struct frame *list[ALL];
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    for (int i = 0; i < ALL; i++)
        list[i] = busy_frame((uint64_t)i + 1, i < 3 ? 50 : -1, i < 6 ? 0 : 0.1);
    for (size_t i = 1; i <= ALL; i++) {
        forge_look(&look, list, i);
        look.live = true;
        expect_choice(pane, &look,
                      i <= 3   ? "device vda (busiest), op all"
                      : i <= 6 ? "device all, op all"
                               : "device loop0 (busiest), op all");
    }
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

static struct json_object *member(struct json_object *object, const char *name) {
    struct json_object *value = NULL;
    if (!json_object_object_get_ex(object, name, &value))
        fail_msg("no %s", name);
    return value;
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
    const char *total = strstr(text, "\n  TOTAL        time that the application waits: "),
               *queue = strstr(text, "\n  QUEUE        time before the device: "),
               *service = strstr(text, "\n  SERVICE      time in the device: "),
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
        cmocka_unit_test(screens),   cmocka_unit_test(keys),           cmocka_unit_test(busiest),
        cmocka_unit_test(unplugged), cmocka_unit_test(help),           cmocka_unit_test(who_waits),
        cmocka_unit_test(wider),     cmocka_unit_test(contract_names),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
