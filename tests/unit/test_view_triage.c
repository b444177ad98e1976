// The pane triage on literal screens: what somebody sees in the first five seconds.
#include "tests/unit/forge_triage.h"

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
        "  CPU                           Memory                        I/O per second                Run-queue "
        "latency\n"
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
                 "Run-queue latency                Major faults per second          Switches per second\n"
                 "   151% java \\e[2J\\xff     4242     7.7G postgres            812     195M postgres            812  "
                 "  903ms java \\e[2J\\xff     4242        none                             none\n"
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
                 "- Findings -------------------- 1 of 4 -\n"
                 "!! memory     0.4G of 15.3G available\n"
                 "              (2.5 %), 8800 pages\n"
                 "              swapped out per second:  .\n"
                 "- Resources ----------------------------\n"
                 "CPU       [|||||n##w] 88.8%\n"
                 "Load      [|||||||||] 14.20 9.80 3.10\n"
                 "Run queue [|||||||||] run 11 blocked 6\n"
                 "CPU press [||||||   ] some 72.0%\n"
                 ">Findings  *Resources   Top tasks\n");
    forge_expect(pane, &look, 10, 3, true,
                 "- Findings\n"
                 "!! memory\n"
                 "!! disk\n");
    pane_free(pane);
    for (int i = 0; i < 6; i++)
        frame_unref(frames[i]);
}

// Evidence starts with the culprit, so that a narrow screen cuts off the rest of the sentence.
static void the_culprit_is_not_cut_off(void **state) {
    (void)state;
    static const char found[] =
        "critical|disk|disk_hung|30|dd|loop2|loop2: an I/O by dd (pid 30) in flight for 5.2 s; no completion for "
        "5.0 s|disk|12\n"
        "warning|disk|disk_saturated|51|fio|vda|fio (pid 51) does most of the I/O: vda is 99 % busy with "
        "812 reads/s and 3.0 writes/s, 32 in flight; tasks stalled on I/O 50 % of the time (PSI some)|disk|12\n"
        "warning|cpu|cpu_saturated|-|exp4|-|6 short-lived tasks named exp4 use 198 % of one CPU: 2.0 of 2 CPUs busy "
        "and 14 tasks waiting; tasks stalled on CPU 98 % of the time (PSI some)|tasks|3";
    const struct frame *frame = make(1, busy, busy_tasks, found);
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    struct grid *grid = grid_new(80, 21, true);
    forge_look(&look, &frame, 1);
    forge_expect(pane, &look, 80, 8, true,
                 "- Findings ----------------------------------------------------------------- 3 -\n"
                 "!! disk       loop2: an I/O by dd (pid 30) in flight for 5.2 s; no     > disk\n"
                 "              completion for 5.0 s (for 12s)\n"
                 "!  disk       fio (pid 51) does most of the I/O: vda is 99 % busy with > disk\n"
                 "              812 reads/s and 3.0 writes/s, 32 in flight; tasks\n"
                 "              stalled on I/O 50 % of the time (PSI some) (for 12s)\n"
                 "!  cpu        6 short-lived tasks named exp4 use 198 % of one CPU: 2.. > tasks\n"
                 ">Findings   Resources   Top tasks                             o next  = enlarge\n");
    forge_expect(pane, &look, 80, 5, true,
                 "- Findings ------------------------------------------------------------ 2 of 3 -\n"
                 "!! disk       loop2: an I/O by dd (pid 30) in flight for 5.2 s; no     > disk\n"
                 "              completion for 5.0 s (for 12s)\n"
                 "!  disk       fio (pid 51) does most of the I/O: vda is 99 % busy wit. > disk\n"
                 ">Findings   Resources   Top tasks                             o next  = enlarge\n");
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
    assert_int_equal(answer.go_time.tv_sec, 0);
    answer = forge_key(pane, &look, 'B', true); // within the first frame of the finding, 75 s ago
    assert_int_equal(answer.go_time.tv_sec, frame->wall.tv_sec - 75);
    assert_int_equal(answer.go_time.tv_nsec, 1000000);
    assert_null(answer.jump_pane);
    for (int i = 0; i < 9; i++)
        forge_key(pane, &look, KEY_VIEW_DOWN, true);
    answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "health");
    assert_string_equal(answer.jump_filter, "");
    forge_key(pane, &look, KEY_VIEW_UP, true);
    forge_expect(
        pane, &look, 80, 5, true,
        "- Findings ------------------------------------------------------------ 2 of 4 -\n"
        "!! disk       postgres (812) on vda: vda busy 99 % of the time, reads. > disk\n"
        "!  scheduler  java (4242): somebody waited 72 % of the time for one of > tasks\n"
        "              4 CPUs (for 3s)\n"
        ">Findings   Resources   Top tasks                             o next  = enlarge\n"); // so small that only the
                                                                                              // chosen one is whole
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
                 "TCP, tasks. Not checked: CPU limits, disk latency, file systems.\n"
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
                 "TCP, tasks. Not checked: CPU limits, disk latency, file systems.\n"
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
                 "TCP, tasks. Not checked: CPU limits, disk latency, file systems.\n"
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
                 "Nothing was measured. Not checked: CPU, CPU limits, memory, pressure, disks,\n"
                 "disk latency, network interfaces, TCP, tasks, file systems.\n"
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
                 "Measuring: findings need one whole interval.\n"
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
                 "Measuring: findings need one whole interval.\n"
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

static const char consequences_80[] =
    "─ Findings ───────────────────────────────────────────────────────────────── 3 ─\n"
    "!  disk       fio (pid 7) does most of the I/O: vda is 100 % busy (for → disk\n"
    "              12s)\n"
    "!! process    └ postgres (pid 9) and 40 more tasks are uninterruptibl… → tasks\n"
    "!  process    400 processes and threads created per second (for 3s)    → tasks\n"
    "▸Findings   Resources   Top tasks                             o next  = enlarge\n";

// What a finding explains stands indented below it; h explains the selected one.
static void consequences(void **state) {
    (void)state;
    const struct frame *frame = make(
        1, busy, busy_tasks,
        "warning|disk|disk_saturated|7|fio|vda|fio (pid 7) does most of the I/O: vda is 100 % busy|disk|12|-\n"
        "critical|process|blocked_tasks|9|postgres|-|postgres (pid 9) and 40 more tasks are uninterruptible (state "
        "D)|tasks|9|disk_saturated\n"
        "warning|process|fork_storm|-|-|-|400 processes and threads created per second|tasks|3|-");
    struct look look;
    struct pane *pane = pane_new(&view_triage);
    struct pane_answer answer = {0};
    forge_look(&look, &frame, 1);
    forge_expect(pane, &look, 80, 6, false, consequences_80);
    assert_true(pane_key(pane, &look, KEY_VIEW_DOWN, -1, -1, &answer));
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    pane_help(pane, &look, out);
    fclose(out);
    assert_non_null(strstr(text, "The selected finding: blocked_tasks\n"));
    assert_non_null(strstr(text, "  try          See what they wait for in the pane sched.\n"));
    free(text);
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
        cmocka_unit_test(consequences),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
