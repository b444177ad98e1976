// The pane triage on literal screens: what somebody sees in the first five seconds.
#include "tests/screens.h"

#include "model/findings.h"

extern const struct view view_triage;

static const struct series_def defs[] = {
    {"load_1", "load", "", UNIT_NONE},
    {"load_5", "load", "", UNIT_NONE},
    {"load_15", "load", "", UNIT_NONE},
    {"cpus_online", "CPUs", "", UNIT_COUNT},
    {"procs_running", "running", "", UNIT_COUNT},
    {"procs_blocked", "blocked", "", UNIT_COUNT},
    {"cpu_user_pct", "user", "", UNIT_PCT},
    {"cpu_nice_pct", "nice", "", UNIT_PCT},
    {"cpu_system_pct", "system", "", UNIT_PCT},
    {"cpu_irq_pct", "irq", "", UNIT_PCT},
    {"cpu_softirq_pct", "softirq", "", UNIT_PCT},
    {"cpu_steal_pct", "steal", "", UNIT_PCT},
    {"cpu_iowait_pct", "iowait", "", UNIT_PCT},
    {"mem_total_kib", "total", "", UNIT_KIB},
    {"mem_available_kib", "available", "", UNIT_KIB},
    {"mem_used_kib", "used", "", UNIT_KIB},
    {"mem_buffers_kib", "buffers", "", UNIT_KIB},
    {"mem_cached_kib", "cached", "", UNIT_KIB},
    {"swap_total_kib", "swap", "", UNIT_KIB},
    {"swap_used_kib", "swap", "", UNIT_KIB},
    {"swap_in_per_s", "in", "", UNIT_PER_S},
    {"swap_out_per_s", "out", "", UNIT_PER_S},
    {"cpu_some_pct", "some", "", UNIT_PCT},
    {"memory_some_pct", "some", "", UNIT_PCT},
    {"memory_full_pct", "full", "", UNIT_PCT},
    {"io_some_pct", "some", "", UNIT_PCT},
    {"io_full_pct", "full", "", UNIT_PCT},
    {"disk_read_bytes_per_s", "read", "", UNIT_BYTES_PER_S},
    {"disk_write_bytes_per_s", "write", "", UNIT_BYTES_PER_S},
    {"net_rx_bytes_per_s", "rx", "", UNIT_BYTES_PER_S},
    {"net_tx_bytes_per_s", "tx", "", UNIT_BYTES_PER_S},
    {"cpu_idle_pct", "idle", "", UNIT_PCT},
};
#define N_SERIES (sizeof defs / sizeof *defs)

static const double calm[N_SERIES] = {0.21,  0.15, 0.08, 4, 1, 0, 1.5, 0, 0.7, 0,   0.1, 0,    0.2,   16e6, 12e6, 3e6,
                                      200e3, 5e6,  8e6,  0, 0, 0, 0.1, 0, 0,   0.2, 0.1, 4096, 20480, 1200, 900,  97.5};
static const double busy[N_SERIES] = {14.2, 9.8,  3.1,  4,     11,     6,     61,    2,    21,    0.2,  3.1,
                                      1.5,  11.2, 16e6, 0.4e6, 15.4e6, 20e3,  180e3, 8e6,  6.5e6, 3100, 8800,
                                      72,   41,   18,   63,    52,     210e6, 88e6,  11e6, 2.4e6, 0};

static const struct column device_columns[] = {
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8},
    {.name = "util_pct", .title = "UTIL%", .unit = UNIT_PCT, .width = 6},
};
static const struct table_def devices = {.name = "devices", .columns = device_columns, .n_columns = 2, .n_keys = 1};
static const struct column task_columns[] = {
    {.name = "pid", .title = "PID", .unit = UNIT_ID, .width = 7},
    {.name = "comm", .title = "COMMAND", .type = COLUMN_TEXT, .width = 15},
    {.name = "cpu_pct", .title = "CPU%", .unit = UNIT_PCT, .width = 6},
    {.name = "rss_kib", .title = "RSS", .unit = UNIT_KIB, .width = 7},
    {.name = "read_bytes_per_s", .title = "READ/s", .unit = UNIT_BYTES_PER_S, .width = 7},
    {.name = "write_bytes_per_s", .title = "WRITE/s", .unit = UNIT_BYTES_PER_S, .width = 7},
    {.name = "run_queue_us", .title = "RUNQ", .unit = UNIT_US, .width = 7},
};
static const struct table_def tasks = {.name = "tasks", .columns = task_columns, .n_columns = 7, .n_keys = 1};

static const struct column interface_columns[] = {{.name = "interface", .type = COLUMN_TEXT}};
static const struct table_def interfaces = {.name = "interfaces", .columns = interface_columns, .n_columns = 1};
static const struct column tcp_columns[] = {{.name = "resets_out_per_s"}};
static const struct table_def tcp = {.name = "tcp", .columns = tcp_columns, .n_columns = 1};

static const char busy_tasks[] = "1|systemd|0.1|12000|0|0|-\n"
                                 "812|postgres|98.7|8123456|201000000|3000000|12000\n"
                                 "813|postgres|12|4200000|-|-|800\n"
                                 "4242|java \x1b[2J\xff|151.3|2100000|0|81000000|903000\n"
                                 "77|kswapd0|34.5|-|0|0|20\n"
                                 "9|rsync|0|9000|4000000|0|-";

static const char busy_findings[] =
    "critical|memory|memory_low|812|postgres|-|0.4G of 15.3G available (2.5 %), 8800 pages swapped out per second: "
    "postgres (pid 812) holds 7.7G|memory|75\n"
    "critical|disk|disk_saturated|812|postgres|vda|vda busy 99 % of the time, reads take 45 ms|disk|12\n"
    "warning|scheduler|cpu_pressure|4242|java|-|somebody waited 72 % of the time for one of 4 CPUs|tasks|3\n"
    "info|kernel|collector_stale|-|-|-|counters has not answered for 5 s|health|0";

static const struct frame *make(uint64_t number, const double *series, const char *task_rows, const char *found) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *section;
    for (size_t i = 0; series && i < N_SERIES; i++)
        section_series(system, &defs[i], series[i]);
    if (series) {
        section_table(system, forge_table(&devices, series == busy ? "vda|99.2\nloop0|0" : "vda|0.4\nloop0|0"));
        section_table(system, forge_table(&interfaces, "eth0"));
        section_table(system, forge_table(&tcp, "0"));
    }
    frame_add_section(frame, system, 0);
    section = forge_section("tasks", number);
    if (task_rows)
        section_table(section, forge_table(&tasks, task_rows));
    frame_add_section(frame, section, 0);
    if (found) {
        section = forge_section("findings", number);
        section_table(section, forge_table(&findings_table, found));
        frame_add_section(frame, section, 0);
    }
    return frame;
}

static void trouble(void **state) {
    (void)state;
    const struct frame *frames[6];
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    for (uint64_t i = 0; i < 6; i++)
        frames[i] = make(i + 1, i < 3 ? calm : busy, busy_tasks, busy_findings);
    forge_look(&look, frames, 6);
    forge_expect(pane, &look, 80, 21, false,
                 "─ ▸ Findings ─────────────────────────────────────────────────────────────── 4 ─\n"
                 "!! memory     0.4G of 15.3G available (2.5 %), 8800 pages swapped out  → memory\n"
                 "              per second: postgres (pid 812) holds 7.7G (for 1m15s)\n"
                 "!! disk       postgres (812) on vda: vda busy 99 % of the time, reads  → disk\n"
                 "              take 45 ms (for 12s)\n"
                 "!  scheduler  java (4242): somebody waited 72 % of the time for one o… → tasks\n"
                 "i  kernel     counters has not answered for 5 s                        → health\n"
                 "─ Resources ────────────────────────────────────────────────────────────────────\n"
                 "CPU       [███████▒] 88.8%               Swapping      ▁▁▁███ in 3100 out 8800\n"
                 "Load      [████████] 14.20 9.80 3.10     Mem press [██   ] some 41.0% full 18.0%\n"
                 "Run queue [████████] run 11 blocked 6    Busy disk [████████] vda 99.2%\n"
                 "CPU press [██████  ] some 72.0%          Disks         ▁▁▁███ r 200M/s w 83.9M/s\n"
                 "Memory    [████████] 14.7G of 15.3G      I/O press [███  ] some 63.0% full 52.0%\n"
                 "Swap      [███████ ] 6.2G of 7.6G        Network     ▁▁▁███ rx 10.5M/s tx 2.3M/s\n"
                 "─ Top tasks ────────────────────────────────────────────────────────────────────\n"
                 "  CPU                        Memory                     I/O per second\n"
                 "   151% java \\e[2J\\x 4242     7.7G postgres      812     195M postgres      812\n"
                 "  98.7% postgres      812     4.0G postgres      813    77.2M java \\e[2J\\x 4242\n"
                 "  34.5% kswapd0        77     2.0G java \\e[2J\\x 4242     3.8M rsync           9\n"
                 "  12.0% postgres      813    11.7M systemd         1\n"
                 "   0.1% systemd         1     8.8M rsync           9\n"); // what 80x24 leaves to a pane
    forge_expect(pane, &look, 80, 24, true,
                 "- > Findings --------------------------------------------------------------- 4 -\n"
                 "!! memory     0.4G of 15.3G available (2.5 %), 8800 pages swapped out  > memory\n"
                 "              per second: postgres (pid 812) holds 7.7G (for 1m15s)\n"
                 "!! disk       postgres (812) on vda: vda busy 99 % of the time, reads  > disk\n"
                 "              take 45 ms (for 12s)\n"
                 "!  scheduler  java (4242): somebody waited 72 % of the time for one of > tasks\n"
                 "              4 CPUs (for 3s)\n"
                 "i  kernel     counters has not answered for 5 s                        > health\n"
                 "- Resources --------------------------------------------------------------------\n"
                 "CPU       [|||||##w] 88.8%               Swapping      ___### in 3100 out 8800\n"
                 "Load      [||||||||] 14.20 9.80 3.10     Mem press [||   ] some 41.0% full 18.0%\n"
                 "Run queue [||||||||] run 11 blocked 6    Busy disk [||||||||] vda 99.2%\n"
                 "CPU press [||||||  ] some 72.0%          Disks         ...### r 200M/s w 83.9M/s\n"
                 "Memory    [||||||||] 14.7G of 15.3G      I/O press [|||  ] some 63.0% full 52.0%\n"
                 "Swap      [||||||| ] 6.2G of 7.6G        Network     ...### rx 10.5M/s tx 2.3M/s\n"
                 "- Top tasks --------------------------------------------------------------------\n"
                 "  CPU                        Memory                     I/O per second\n"
                 "   151% java \\e[2J\\x 4242     7.7G postgres      812     195M postgres      812\n"
                 "  98.7% postgres      812     4.0G postgres      813    77.2M java \\e[2J\\x 4242\n"
                 "  34.5% kswapd0        77     2.0G java \\e[2J\\x 4242     3.8M rsync           9\n"
                 "  12.0% postgres      813    11.7M systemd         1\n"
                 "   0.1% systemd         1     8.8M rsync           9\n"
                 "\n"
                 "\n");
    forge_expect(
        pane, &look, 120, 37, false,
        "─ ▸ Findings "
        "─────────────────────────────────────────────────────────────────────────────────────────────────────── 4 ─\n"
        "!! memory     0.4G of 15.3G available (2.5 %), 8800 pages swapped out per second: postgres (pid 812) holds    "
        " → memory\n"
        "              7.7G (for 1m15s)\n"
        "!! disk       postgres (812) on vda: vda busy 99 % of the time, reads take 45 ms (for 12s)                    "
        " → disk\n"
        "!  scheduler  java (4242): somebody waited 72 % of the time for one of 4 CPUs (for 3s)                        "
        " → tasks\n"
        "i  kernel     counters has not answered for 5 s                                                               "
        " → health\n"
        "─ Resources "
        "────────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "CPU       [████████████▒]         ▁▁▁███ 88.8%               Swapping                          ▁▁▁███ in 3100 "
        "out 8800\n"
        "Load      [█████████████]         ▁▁▁███ 14.20 9.80 3.10     Mem press [█████       ]       ▁▁▁▄▄▄ some 41.0% "
        "full 18.0%\n"
        "Run queue [█████████████]         ▂▂▂███ run 11 blocked 6    Busy disk [█████████████]         ▁▁▁███ vda "
        "99.2%\n"
        "CPU press [█████████    ]         ▁▁▁▆▆▆ some 72.0%          Disks                             ▁▁▁███ r "
        "200M/s w 83.9M/s\n"
        "Memory    [█████████████]         ▂▂▂███ 14.7G of 15.3G      I/O press [████████    ]       ▁▁▁▆▆▆ some 63.0% "
        "full 52.0%\n"
        "Swap      [███████████  ]         ▁▁▁▇▇▇ 6.2G of 7.6G        Network                         ▁▁▁███ rx "
        "10.5M/s tx 2.3M/s\n"
        "─ Top tasks "
        "────────────────────────────────────────────────────────────────────────────────────────────────────────────\n"
        "  CPU                           Memory                        I/O per second                Wait for a CPU\n"
        "   151% java \\e[2J\\xff  4242     7.7G postgres         812     195M postgres         812    903ms java "
        "\\e[2J\\xff  4242\n"
        "  98.7% postgres         812     4.0G postgres         813    77.2M java \\e[2J\\xff  4242   12.0ms postgres  "
        "       812\n"
        "  34.5% kswapd0           77     2.0G java \\e[2J\\xff  4242     3.8M rsync              9    800us postgres  "
        "       813\n"
        "  12.0% postgres         813    11.7M systemd            1                                   20us kswapd0     "
        "      77\n"
        "   0.1% systemd            1     8.8M rsync              9\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "\n");
    forge_expect(pane, &look, 200, 47, false,
                 "─ ▸ Findings "
                 "─────────────────────────────────────────────────────────────────────────────────────────────────────"
                 "────────────────────────────────────────────────────────────────────────────────── 4 ─\n"
                 "!! memory     0.4G of 15.3G available (2.5 %), 8800 pages swapped out per second: postgres (pid 812) "
                 "holds 7.7G (for 1m15s)                                                                    → memory\n"
                 "!! disk       postgres (812) on vda: vda busy 99 % of the time, reads take 45 ms (for 12s)           "
                 "                                                                                          → disk\n"
                 "!  scheduler  java (4242): somebody waited 72 % of the time for one of 4 CPUs (for 3s)               "
                 "                                                                                          → tasks\n"
                 "i  kernel     counters has not answered for 5 s                                                      "
                 "                                                                                          → health\n"
                 "─ Resources "
                 "─────────────────────────────────────────────────────────────────────────────────────────────────────"
                 "───────────────────────────────────────────────────────────────────────────────────────\n"
                 "CPU       [██████████████▒▒]            ▁▁▁███ 88.8%               Memory    [███████████████▒]      "
                 "      ▂▂▂███ 14.7G of 15.3G      Busy disk [████████████████]            ▁▁▁███ vda 99.2%\n"
                 "Load      [████████████████]            ▁▁▁███ 14.20 9.80 3.10     Swap      [█████████████   ]      "
                 "      ▁▁▁▇▇▇ 6.2G of 7.6G        Disks                                   ▁▁▁███ r 200M/s w 83.9M/s\n"
                 "Run queue [████████████████]            ▂▂▂███ run 11 blocked 6    Swapping                          "
                 "      ▁▁▁███ in 3100 out 8800    I/O press [█████████      ]          ▁▁▁▆▆▆ some 63.0% full 52.0%\n"
                 "CPU press [████████████    ]            ▁▁▁▆▆▆ some 72.0%          Mem press [██████         ]       "
                 "   ▁▁▁▄▄▄ some 41.0% full 18.0%  Network                               ▁▁▁███ rx 10.5M/s tx 2.3M/s\n"
                 "─ Top tasks "
                 "─────────────────────────────────────────────────────────────────────────────────────────────────────"
                 "───────────────────────────────────────────────────────────────────────────────────────\n"
                 "  CPU                              Memory                           I/O per second                   "
                 "Wait for a CPU                   Major faults per second          Switches per second\n"
                 "   151% java \\e[2J\\xff     4242     7.7G postgres            812     195M postgres            812  "
                 "  903ms java \\e[2J\\xff     4242        -                                -\n"
                 "  98.7% postgres            812     4.0G postgres            813    77.2M java \\e[2J\\xff     4242  "
                 " 12.0ms postgres            812\n"
                 "  34.5% kswapd0              77     2.0G java \\e[2J\\xff     4242     3.8M rsync                 9  "
                 "  800us postgres            813\n"
                 "  12.0% postgres            813    11.7M systemd               1                                     "
                 " 20us kswapd0              77\n"
                 "   0.1% systemd               1     8.8M rsync                 9\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_expect(pane, &look, 40, 10, true,
                 "- > Findings ------------------ 1 of 4 -\n"
                 "!! memory     0.4G of 15.3G available\n"
                 "              (2.5 %), 8800 pages\n"
                 "              swapped out per second:  .\n"
                 "- Resources ----------------------------\n"
                 "CPU       [|||||n##w] 88.8%\n"
                 "Load      [|||||||||] 14.20 9.80 3.10\n"
                 "Run queue [|||||||||] run 11 blocked 6\n"
                 "CPU press [||||||   ] some 72.0%\n"
                 "Memory    [|||||||||] 14.7G of 15.3G\n");
    forge_expect(pane, &look, 10, 3, true,
                 "- > Findin\n"
                 "!! memory\n"
                 "!! disk\n");
    pane_free(pane);
    for (int i = 0; i < 6; i++)
        frame_unref(frames[i]);
}

// What the rules write begins with who it is: that is read where the rest of the sentence is cut off.
static void the_culprit_is_not_cut_off(void **state) {
    (void)state;
    static const char found[] =
        "critical|disk|disk_hung|30|dd|loop2|loop2: an I/O of dd (pid 30) has not ended for 5.2 s; none ended in the "
        "last "
        "5.0 s|disk|12\n"
        "warning|disk|disk_saturated|51|fio|vda|fio (pid 51) makes most of the I/O: vda is busy 99 % of the time with "
        "812 reads/s and 3.0 writes/s, 32 in flight, tasks waited for I/O 50 % of the time|disk|12\n"
        "warning|cpu|cpu_saturated|-|exp4|-|6 short-lived tasks named exp4 use 198 % of one CPU: 2.0 of 2 CPUs busy "
        "and "
        "14 tasks waiting, somebody waited 98 % of the time|tasks|3";
    const struct frame *frame = make(1, busy, busy_tasks, found);
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    struct grid *grid = grid_new(80, 21, true);
    forge_look(&look, &frame, 1);
    forge_expect(pane, &look, 80, 8, true,
                 "- > Findings --------------------------------------------------------------- 3 -\n"
                 "!! disk       loop2: an I/O of dd (pid 30) has not ended for 5.2 s;    > disk\n"
                 "              none ended in the last 5.0 s (for 12s)\n"
                 "!  disk       fio (pid 51) makes most of the I/O: vda is busy 99 % of  > disk\n"
                 "              the time with 812 reads/s and 3.0 writes/s, 32 in\n"
                 "              flight, tasks waited for I/O 50 % of the time (for 12s)\n"
                 "!  cpu        6 short-lived tasks named exp4 use 198 % of one CPU: 2.0 > tasks\n"
                 "              of 2 CPUs busy and 14 tasks waiting, somebody waited 98.\n");
    forge_expect(pane, &look, 80, 5, true,
                 "- > Findings --------------------------------------------------------------- 3 -\n"
                 "!! disk       loop2: an I/O of dd (pid 30) has not ended for 5.2 s;    > disk\n"
                 "              none ended in the last 5.0 s (for 12s)\n"
                 "!  disk       fio (pid 51) makes most of the I/O: vda is busy 99 % of. > disk\n"
                 "!  cpu        6 short-lived tasks named exp4 use 198 % of one CPU: 2.. > tasks\n");
    // Short-lived ones are gone from the next frame on: their name is what finds the next of them.
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, KEY_VIEW_END, true);
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "comm=exp4");
    grid_free(grid);
    pane_free(pane);
    frame_unref(frame);
}

static void enter_goes_to_the_culprit(void **state) {
    (void)state;
    const struct frame *frame = make(1, busy, busy_tasks, busy_findings);
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    struct grid *grid = grid_new(80, 21, true);
    forge_look(&look, &frame, 1);
    pane_draw(pane, &look, grid_area(grid));
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "memory");
    assert_string_equal(answer.jump_filter, "pid=812");
    for (int i = 0; i < 9; i++)
        forge_key(pane, &look, KEY_VIEW_DOWN, true);
    answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "health");
    assert_string_equal(answer.jump_filter, "");
    forge_key(pane, &look, KEY_VIEW_UP, true);
    forge_expect(pane, &look, 80, 5, true,
                 "- > Findings ---------------------------------------------------------- 3 of 4 -\n"
                 "!! memory     0.4G of 15.3G available (2.5 %), 8800 pages swapped out. > memory\n"
                 "!! disk       postgres (812) on vda: vda busy 99 % of the time, reads. > disk\n"
                 "!  scheduler  java (4242): somebody waited 72 % of the time for one of > tasks\n"
                 "              4 CPUs (for 3s)\n"); // so small that only the chosen one is whole
    forge_key(pane, &look, KEY_VIEW_HOME, true);
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 20, 2, &answer));
    // The next part that takes keys: the top tasks. Second list, second row.
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, 'o', true);
    forge_key(pane, &look, KEY_VIEW_RIGHT, true);
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=4242");
    grid_free(grid);
    pane_free(pane);
    frame_unref(frame);
}

static void filtered(void **state) {
    (void)state;
    const struct frame *frame = make(1, busy, busy_tasks, "");
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    forge_look(&look, &frame, 1);
    pane_set_filter(pane, "POST");
    forge_expect(pane, &look, 80, 21, true,
                 "- > Findings -------------------------------------------------------------------\n"
                 "Nothing wrong found. Looked at CPU, memory, pressure, disks, network interfaces,\n"
                 "TCP, tasks. Not looked at: CPU limits, disk latency.\n"
                 "- Resources --------------------------------------------------------------------\n"
                 "CPU       [|||||##w] 88.8%               Swapping           # in 3100 out 8800\n"
                 "Load      [||||||||] 14.20 9.80 3.10     Mem press [||   ] some 41.0% full 18.0%\n"
                 "Run queue [||||||||] run 11 blocked 6    Busy disk [||||||||] vda 99.2%\n"
                 "CPU press [||||||  ] some 72.0%          Disks              # r 200M/s w 83.9M/s\n"
                 "Memory    [||||||||] 14.7G of 15.3G      I/O press [|||  ] some 63.0% full 52.0%\n"
                 "Swap      [||||||| ] 6.2G of 7.6G        Network          # rx 10.5M/s tx 2.3M/s\n"
                 "- Top tasks --------------------------------------------------------------------\n"
                 "  CPU                        Memory                     I/O per second\n"
                 "  98.7% postgres      812     7.7G postgres      812     195M postgres      812\n"
                 "  12.0% postgres      813     4.0G postgres      813\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    pane_set_filter(pane, "77");
    forge_expect(pane, &look, 80, 21, true,
                 "- > Findings -------------------------------------------------------------------\n"
                 "Nothing wrong found. Looked at CPU, memory, pressure, disks, network interfaces,\n"
                 "TCP, tasks. Not looked at: CPU limits, disk latency.\n"
                 "- Resources --------------------------------------------------------------------\n"
                 "CPU       [|||||##w] 88.8%               Swapping           # in 3100 out 8800\n"
                 "Load      [||||||||] 14.20 9.80 3.10     Mem press [||   ] some 41.0% full 18.0%\n"
                 "Run queue [||||||||] run 11 blocked 6    Busy disk [||||||||] vda 99.2%\n"
                 "CPU press [||||||  ] some 72.0%          Disks              # r 200M/s w 83.9M/s\n"
                 "Memory    [||||||||] 14.7G of 15.3G      I/O press [|||  ] some 63.0% full 52.0%\n"
                 "Swap      [||||||| ] 6.2G of 7.6G        Network          # rx 10.5M/s tx 2.3M/s\n"
                 "- Top tasks --------------------------------------------------------------------\n"
                 "  CPU                        Memory                     I/O per second\n"
                 "  34.5% kswapd0        77        none                       none\n"
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

static void nothing_wrong(void **state) {
    (void)state;
    const struct frame *quiet = make(1, calm, "1|systemd|0.1|12000|0|0|-", ""), *bare = make(1, NULL, NULL, ""),
                       *provisional = make(0, NULL, "1|systemd|-|12000|-|-|-", NULL), *empty = forge_frame(1);
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    forge_look(&look, &quiet, 1);
    forge_expect(pane, &look, 80, 21, false,
                 "─ ▸ Findings ───────────────────────────────────────────────────────────────────\n"
                 "Nothing wrong found. Looked at CPU, memory, pressure, disks, network interfaces,\n"
                 "TCP, tasks. Not looked at: CPU limits, disk latency.\n"
                 "─ Resources ────────────────────────────────────────────────────────────────────\n"
                 "CPU       [▎       ] 2.3%                Swapping           ▁ in 0 out 0\n"
                 "Load      [▍       ] 0.21 0.15 0.08      Mem press [       ] some 0.0% full 0.0%\n"
                 "Run queue [██      ] run 1 blocked 0     Busy disk [▏       ] vda 0.4%\n"
                 "CPU press [▏       ] some 0.1%           Disks              █ r 4.0K/s w 20.0K/s\n"
                 "Memory    [██▒▒    ] 2.9G of 15.3G       I/O press [▏      ] some 0.2% full 0.1%\n"
                 "Swap      [        ] 0 of 7.6G           Network           █ rx 1.2K/s tx 900B/s\n"
                 "─ Top tasks ────────────────────────────────────────────────────────────────────\n"
                 "  CPU                        Memory                     I/O per second\n"
                 "   0.1% systemd         1    11.7M systemd         1        none\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_look(&look, &bare, 1);
    forge_expect(pane, &look, 80, 21, false,
                 "─ ▸ Findings ───────────────────────────────────────────────────────────────────\n"
                 "Nothing was measured. Not looked at: CPU, CPU limits, memory, pressure, disks,\n"
                 "disk latency, network interfaces, TCP, tasks.\n"
                 "─ Resources ────────────────────────────────────────────────────────────────────\n"
                 "CPU       [        ] -                   Swapping             in - out -\n"
                 "Load      [        ] - - -               Mem press [        ] some - full -\n"
                 "Run queue [        ] run - blocked -     Busy disk [        ] -\n"
                 "CPU press [        ] some -              Disks                r - w -\n"
                 "Memory    [        ] -                   I/O press [        ] some - full -\n"
                 "Swap      [        ] -                   Network              rx - tx -\n"
                 "─ Top tasks ────────────────────────────────────────────────────────────────────\n"
                 "  CPU                        Memory                     I/O per second\n"
                 "      -                          -                          -\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_look(&look, &provisional, 1);
    forge_expect(pane, &look, 80, 21, false,
                 "─ ▸ Findings ───────────────────────────────────────────────────────────────────\n"
                 "Measuring: findings come with the first whole interval.\n"
                 "\n"
                 "─ Resources ────────────────────────────────────────────────────────────────────\n"
                 "CPU       [        ] -                   Swapping             in - out -\n"
                 "Load      [        ] - - -               Mem press [        ] some - full -\n"
                 "Run queue [        ] run - blocked -     Busy disk [        ] -\n"
                 "CPU press [        ] some -              Disks                r - w -\n"
                 "Memory    [        ] -                   I/O press [        ] some - full -\n"
                 "Swap      [        ] -                   Network              rx - tx -\n"
                 "─ Top tasks ────────────────────────────────────────────────────────────────────\n"
                 "  CPU                        Memory                     I/O per second\n"
                 "      none                   11.7M systemd         1        none\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_look(&look, &empty, 1);
    forge_expect(pane, &look, 80, 14, false,
                 "─ ▸ Findings ───────────────────────────────────────────────────────────────────\n"
                 "Measuring: findings come with the first whole interval.\n"
                 "\n"
                 "─ Resources ────────────────────────────────────────────────────────────────────\n"
                 "CPU       [        ] -                   Swapping             in - out -\n"
                 "Load      [        ] - - -               Mem press [        ] some - full -\n"
                 "Run queue [        ] run - blocked -     Busy disk [        ] -\n"
                 "CPU press [        ] some -              Disks                r - w -\n"
                 "Memory    [        ] -                   I/O press [        ] some - full -\n"
                 "Swap      [        ] -                   Network              rx - tx -\n"
                 "─ Top tasks ────────────────────────────────────────────────────────────────────\n"
                 "  CPU                        Memory                     I/O per second\n"
                 "      -                          -                          -\n"
                 "\n");
    pane_free(pane);
    frame_unref(quiet);
    frame_unref(bare);
    frame_unref(provisional);
    frame_unref(empty);
}

static void files(void **state) {
    (void)state;
    const struct frame *frame = make(1, busy, busy_tasks, busy_findings);
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    forge_look(&look, &frame, 1);
    forge_text(pane, &look, FORMAT_TEXT,
               "== 2026-09-21T14:13:21.000Z  triage  1.000 s  h ==\n"
               "Findings\n"
               "  critical memory: 0.4G of 15.3G available (2.5 %), 8800 pages swapped out per second: postgres (pid "
               "812) holds 7.7G (for 1m15s) - look at pane memory\n"
               "  critical disk: postgres (812) on vda: vda busy 99 % of the time, reads take 45 ms (for 12s) - look "
               "at pane disk\n"
               "  warning scheduler: java (4242): somebody waited 72 % of the time for one of 4 CPUs (for 3s) - look "
               "at pane tasks\n"
               "  info kernel: counters has not answered for 5 s - look at pane health\n"
               "Resources\n"
               "  CPU       88.8%\n"
               "  Load      14.20 9.80 3.10\n"
               "  Run queue run 11 blocked 6\n"
               "  CPU press some 72.0%\n"
               "  Memory    14.7G of 15.3G\n"
               "  Swap      6.2G of 7.6G\n"
               "  Swapping  in 3100 out 8800\n"
               "  Mem press some 41.0% full 18.0%\n"
               "  Busy disk vda 99.2%\n"
               "  Disks     r 200M/s w 83.9M/s\n"
               "  I/O press some 63.0% full 52.0%\n"
               "  Network   rx 10.5M/s tx 2.3M/s\n"
               "Top tasks\n"
               "  CPU: 151% java \\e[2J\\xff (4242), 98.7% postgres (812), 34.5% kswapd0 (77), 12.0% postgres (813), "
               "0.1% systemd (1)\n"
               "  Memory: 7.7G postgres (812), 4.0G postgres (813), 2.0G java \\e[2J\\xff (4242), 11.7M systemd (1), "
               "8.8M rsync (9)\n"
               "  I/O per second: 195M postgres (812), 77.2M java \\e[2J\\xff (4242), 3.8M rsync (9)\n"
               "  Wait for a CPU: 903ms java \\e[2J\\xff (4242), 12.0ms postgres (812), 800us postgres (813), 20us "
               "kswapd0 (77)\n"
               "  Major faults per second: none\n"
               "  Switches per second: none\n"
               "\n");
    forge_text(
        pane, &look, FORMAT_JSON,
        "{\"ktop\":\"1\",\"schema\":1,\"host\":\"h\",\"kernel\":\"k\",\"time\":\"2026-09-21T14:13:21.000Z\",\"interval_"
        "s\":1,\"pane\":\"triage\",\"lost_events\":0,\"series\":{\"load_1\":14.2,\"load_5\":9.8,\"load_15\":3.1,\"cpus_"
        "online\":4,\"procs_running\":11,\"procs_blocked\":6,\"cpu_user_pct\":61,\"cpu_nice_pct\":2,\"cpu_system_pct\":"
        "21,\"cpu_irq_pct\":0.2,\"cpu_softirq_pct\":3.1,\"cpu_steal_pct\":1.5,\"cpu_iowait_pct\":11.2,\"mem_total_"
        "kib\":16000000,\"mem_available_kib\":400000,\"mem_used_kib\":15400000,\"mem_buffers_kib\":20000,\"mem_cached_"
        "kib\":180000,\"swap_total_kib\":8000000,\"swap_used_kib\":6500000,\"swap_in_per_s\":3100,\"swap_out_per_s\":"
        "8800,\"cpu_some_pct\":72,\"memory_some_pct\":41,\"memory_full_pct\":18,\"io_some_pct\":63,\"io_full_pct\":52,"
        "\"disk_read_bytes_per_s\":210000000,\"disk_write_bytes_per_s\":88000000,\"net_rx_bytes_per_s\":11000000,\"net_"
        "tx_bytes_per_s\":2400000,\"cpu_idle_pct\":0},\"tables\":{\"findings\":[{\"severity\":\"critical\","
        "\"resource\":\"memory\","
        "\"kind\":\"memory_low\",\"culprit_pid\":812,\"culprit_comm\":\"postgres\",\"culprit_device\":null,"
        "\"evidence\":\"0.4G of 15.3G available (2.5 %), 8800 pages swapped out per second: postgres (pid 812) holds "
        "7.7G\",\"pane\":\"memory\",\"since_s\":75},{\"severity\":\"critical\",\"resource\":\"disk\",\"kind\":\"disk_"
        "saturated\",\"culprit_pid\":812,\"culprit_comm\":\"postgres\",\"culprit_device\":\"vda\",\"evidence\":\"vda "
        "busy 99 % of the time, reads take 45 "
        "ms\",\"pane\":\"disk\",\"since_s\":12},{\"severity\":\"warning\",\"resource\":\"scheduler\",\"kind\":\"cpu_"
        "pressure\",\"culprit_pid\":4242,\"culprit_comm\":\"java\",\"culprit_device\":null,\"evidence\":\"somebody "
        "waited 72 % of the time for one of 4 "
        "CPUs\",\"pane\":\"tasks\",\"since_s\":3},{\"severity\":\"info\",\"resource\":\"kernel\",\"kind\":\"collector_"
        "stale\",\"culprit_pid\":null,\"culprit_comm\":null,\"culprit_device\":null,\"evidence\":\"counters has not "
        "answered for 5 "
        "s\",\"pane\":\"health\",\"since_s\":0}]},\"histograms\":{},\"trees\":{},\"events\":[],\"notes\":[]}\n");
    pane_free(pane);
    frame_unref(frame);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trouble),
        cmocka_unit_test(the_culprit_is_not_cut_off),
        cmocka_unit_test(enter_goes_to_the_culprit),
        cmocka_unit_test(filtered),
        cmocka_unit_test(nothing_wrong),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
