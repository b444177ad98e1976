// The pane syscalls on literal screens: calls, who makes them, what is in progress, the slowest.
#include "tests/unit/forge_frames.h"

#include "collectors/syscalls/table.h"

static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("syscalls", number);
    const double series[SYSCALLS_SERIES] = {[SYSCALLS_CALLS] = 812000,
                                            [SYSCALLS_ERRORS] = 1200,
                                            [SYSCALLS_IN_PROGRESS] = 212,
                                            [SYSCALLS_SAMPLED] = 1,
                                            [SYSCALLS_RECORDED] = 100};
    forge_series(section, syscalls_series, series, SYSCALLS_SERIES);
    section_table(section, forge_table(&syscalls_table, "read|800000|0|0.4|90|320000|32|-|0.3|2\n"
                                                        "openat|2400|1200|12|900|28800|2.9|ENOENT 1200|9|40\n"
                                                        "futex|9600|0|2000|990000|19200000|1920|-|100|20000"));
    section_table(section, forge_table(&syscalls_both_table, "101|dd|read|799000|0|0.4|80|319600|32|-\n"
                                                             "200|cc1|openat|2400|1200|12|900|28800|2.9|ENOENT 1200\n"
                                                             "300|java|futex|9600|0|2000|990000|19200000|1920|-"));
    section_table(section,
                  forge_table(&syscalls_process_table,
                              "101|dd|799000|0|0.4|80|319600|32|-\n200|cc1|2400|1200|12|900|28800|2.9|ENOENT 1200"));
    section_table(section, forge_table(&syscalls_errors_table, "200|openat|ENOENT|cc1|1200|1200"));
    section_table(section, forge_table(&syscalls_progress_table,
                                       "301|300|java|futex|3200000|0x7f1234, FUTEX_WAIT_PRIVATE, 2|0|1\n"
                                       "500|500|sshd|ppoll|900000000|0x7ffc, 3, NULL|1|1\n"
                                       "410|410|cp|fsync|2200000|4</mnt/slow/new>|1|0\n"
                                       "400|400|cp|read|2100000|3</mnt/slow/disk>, 0x7ffe10, 131072|0|0"));
    struct hist_set *latency = hist_set_new(&syscalls_latency_hist);
    forge_hist_of(latency, "read", 0, (struct forge_run[]){{300, 700000}, {40000, 100}, {0, 0}});
    forge_hist_of(latency, "openat", 0, (struct forge_run[]){{9000, 2300}, {900000, 1}, {0, 0}});
    section_hists(section, latency);
    section_stream(
        section,
        forge_table(&syscalls_slow_table,
                    "1790000000.1|300|301|java|futex|990000|0|-|0x7f1234, FUTEX_WAIT_PRIVATE, 2|1\n"
                    "1790000000.2|200|200|cc1|openat|900|-|ENOENT|AT_FDCWD, \"/usr/include/none.h\", O_RDONLY|0"),
        2);
    frame_add_section(frame, section, 0);
    return frame;
}

extern const struct view view_syscalls;

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_syscalls, &look);
    forge_expect(pane, &look, 80, 21, false,
                 "calls/s       812k  errors/s      1200  in progress    212  recorded %     100\n"
                 "─ ▸ System calls ───────────────────────────────────────────────────────────────\n"
                 "SYSCALL          ▼CALLS/s   ERR/s     AVG     p99     MAX  TOTAL/s\n"
                 "read                 800k       0   0.4us   2.0us    90us    320ms\n"
                 "futex                9600       0   2.0ms  20.0ms   990ms    19.2s\n"
                 "openat               2400    1200    12us    40us   900us   28.8ms\n"
                 "─ By process and call ──────────────────────────────────────────────────────────\n"
                 "    PID COMMAND         SYSCALL          ▼CALLS/s   ERR/s     AVG     MAX\n"
                 "    101 dd              read                 799k       0   0.4us    80us\n"
                 "    300 java            futex                9600       0   2.0ms   990ms\n"
                 "    200 cc1             openat               2400    1200    12us   900us\n"
                 "─ Latency histogram ───────────────────────── System call latency, syscall all ─\n"
                 "count 702k  avg 0.3us  p50 0.3us  p90 0.3us  p95 0.3us  p99 0.3us  p99.9 9.0us\n"
                 "max 900us\n"
                 " 100ns - 1us    ██████████████████████████████████████████████████   700k  99.7%\n"
                 "   1us - 10us   ▏                                                    2300   0.3%\n"
                 "  10us - 100us  ▏                                                     100   0.0%\n"
                 " 100us - 1ms    ▏                                                       1   0.0%\n"
                 "\n"
                 "\n"
                 "more: Heat map   In progress   Errors   Slow and failed   By process\n");
    forge_expect(
        pane, &look, 160, 47, false,
        "calls/s       812k  errors/s      1200  in progress    212  recorded %     100\n"
        "─ ▸ System calls "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "─────────────────────────────────\n"
        "SYSCALL          ▼CALLS/s   ERR/s     AVG     p99     MAX  TOTAL/s ERRORS                       p50  WALL%\n"
        "read                 800k       0   0.4us   2.0us    90us    320ms -                          0.3us   32.0\n"
        "futex                9600       0   2.0ms  20.0ms   990ms    19.2s -                          100us   1920\n"
        "openat               2400    1200    12us    40us   900us   28.8ms ENOENT 1200                9.0us    2.9\n"
        "─ By process and call "
        "──────────────────────────────────────────────────────────────────────────────────────────────────────────────"
        "────────────────────────────\n"
        "    PID COMMAND         SYSCALL          ▼CALLS/s   ERR/s     AVG     MAX  TOTAL/s ERRORS                    "
        "WALL%\n"
        "    101 dd              read                 799k       0   0.4us    80us    320ms -                          "
        "32.0\n"
        "    300 java            futex                9600       0   2.0ms   990ms    19.2s -                          "
        "1920\n"
        "    200 cc1             openat               2400    1200    12us   900us   28.8ms ENOENT 1200                "
        " 2.9\n"
        "─ Latency heat map ───────────────────────── System call latency, syscall all ─ ─ Latency histogram "
        "───────────────────────── System call latency, syscall all ─\n"
        "      │                                                                         count 702k  avg 0.3us  p50 "
        "0.3us  p90 0.3us  p95 0.3us  p99 0.3us  p99.9 9.0us\n"
        "   2ms│                                                                         max 900us\n"
        "      │                                                                          200ns - 500ns  "
        "██████████████████████████████████████████████████   700k  99.7%\n"
        "   1ms│                                                                          500ns - 1us                  "
        "                                          0   0.0%\n"
        "      │                                          ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░    1us - 2us                  "
        "                                          0   0.0%\n"
        " 500us│                                                                            2us - 5us                  "
        "                                          0   0.0%\n"
        "      │                                                                            5us - 10us   ▏             "
        "                                       2300   0.3%\n"
        " 200us│                                                                           10us - 20us                 "
        "                                          0   0.0%\n"
        "      │                                                                           20us - 50us   ▏             "
        "                                        100   0.0%\n"
        " 100us│                                                                           50us - 100us                "
        "                                          0   0.0%\n"
        "      │                                                                          100us - 200us                "
        "                                          0   0.0%\n"
        "  50us│                                                                          200us - 500us                "
        "                                          0   0.0%\n"
        "      │                                          ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒  500us - 1ms    ▏             "
        "                                          1   0.0%\n"
        "  20us│\n"
        "      │\n"
        "  10us│\n"
        "      │                                          ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓\n"
        "   5us│\n"
        "      │\n"
        "   2us│\n"
        "      │\n"
        "   1us│\n"
        "      │\n"
        " 500ns│\n"
        "      │                                          ██████████████████████████████\n"
        " 200ns│\n"
        "      │\n"
        " 100ns│\n"
        "                                                       -20s      -10s       now\n"
        "░1 ▒30 ▓861 █25.2k most 700k a cell               p50 0.3us p99 0.3us max 900us\n"
        "\n"
        "\n"
        "\n"
        "\n"
        "▸System calls  •By process and call  •Heat map  •Histogram   In progress   Errors   Slow and failed   By "
        "process                              o next  = enlarge\n");
    forge_expect(pane, &look, 40, 8, true,
                 "calls/s       812k  in progress    212\n"
                 "errors/s      1200  recorded %     100\n"
                 "- System calls -------------------------\n"
                 "SYSCALL          vCALLS/s   ERR/s\n"
                 "read                 800k       0\n"
                 "futex                9600       0\n"
                 "openat               2400    1200\n"
                 "more: By pr.   Heat .   Histo.   In pr.\n");
    pane_free(pane);
}

// Enter on a call: who makes it; Esc: back. Enter on a thread that is in a call: the call in full.
static void ways(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_syscalls, &look);
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(pane->filter, "syscall=futex");
    forge_expect(pane, &look, 80, 14, false,
                 "calls/s       812k  errors/s      1200  in progress    212  recorded %     100\n"
                 "─ System calls ─────────────────────────────────────────────────────────────────\n"
                 "SYSCALL          ▼CALLS/s   ERR/s     AVG     p99     MAX  TOTAL/s\n"
                 "read                 800k       0   0.4us   2.0us    90us    320ms\n"
                 "futex                9600       0   2.0ms  20.0ms   990ms    19.2s\n"
                 "openat               2400    1200    12us    40us   900us   28.8ms\n"
                 "─ ▸ By process and call ───────────────────────── 1 of 3, filter syscall=futex ─\n"
                 "    PID COMMAND         SYSCALL          ▼CALLS/s   ERR/s     AVG     MAX\n"
                 "    300 java            futex                9600       0   2.0ms   990ms\n"
                 "─ In progress ─────────────────────────────────────────────────────── 1-2 of 4 ─\n"
                 "    PID COMMAND           SINCE SYSCALL          ARGUMENTS\n"
                 "    410 cp                >2.2s fsync            4</mnt/slow/new>\n"
                 "    400 cp                 2.1s read             3</mnt/slow/disk>, 0x7ffe10, 1…\n"
                 "more: Heat map   Histogram   Errors   Slow and failed   By process\n");
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=300");
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_string_equal(pane->filter, "");
    for (int i = 0; i < 4; i++)
        forge_key(pane, &look, 'o', true);
    forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(pane->filter, "");
    forge_expect(pane, &look, 80, 6, false,
                 "─ System call ────────────────────────────────────────────────────── Esc: back ─\n"
                 " TID         410             PID         410\n"
                 " COMMAND     cp              SYSCALL     fsync\n"
                 " SINCE       >2.2s           IDLE        0\n"
                 " ARGUMENTS   4</mnt/slow/new>\n"
                 "\n");
    forge_key(pane, &look, KEY_VIEW_RIGHT, false); // there is no other page
    pane_free(pane);
}

// Enter on an error: the latest calls that failed with it, and of one of them all.
static void failed_calls(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view_syscalls);
    forge_look(&look, frames, FRAMES);
    for (int i = 0; i < 5; i++)
        forge_key(pane, &look, 'o', true);
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_null(answer.jump_pane);
    assert_string_equal(pane->filter, "pid=200 syscall=openat error=ENOENT");
    assert_int_equal(answer.go_frame, FRAMES); // the process may be gone in the next
    look.live = false;
    forge_expect(pane, &look, 120, 5, false,
                 "calls/s       812k  errors/s      1200  in progress    212  recorded %     100\n"
                 "─ Slow and failed ───────────────────────── 1 of 2, 2 other calls not kept, filter pid=200 "
                 "syscall=openat error=ENOENT ─\n"
                 " LATENCY COMMAND         SYSCALL              PID ERROR        RESULT            TIME ARGUMENTS\n"
                 "   900us cc1             openat               200 ENOENT            -    14:13:20.200 AT_FDCWD, "
                 "\"/usr/include/none.h\", …\n"
                 " System calls   By process and call   Heat map   Histogram   In progress   Errors  ▸Slow and failed  "
                 " By process\n");
    forge_expect(pane, &look, 80, 5, false, // of the title's right end the filter has room
                 "calls/s       812k  errors/s      1200  in progress    212  recorded %     100\n"
                 "─ Slow and failed ────── 1 of 2 kept of 4: pid=200 syscall=openat error=ENOENT ─\n"
                 " LATENCY COMMAND         SYSCALL              PID ARGUMENTS\n"
                 "   900us cc1             openat               200 AT_FDCWD, \"/usr/include/none.…\n"
                 "more: System …   By proc…   Heat map   Histogr…   In prog…   Errors   By proc…\n");
    answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, FRAMES);
    answer = forge_key(pane, &look, KEY_VIEW_BACK, true); // to the list
    assert_false(answer.go_live);
    assert_string_equal(pane->filter, "pid=200 syscall=openat error=ENOENT");
    answer = forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_true(answer.go_live);
    assert_string_equal(pane->filter, "");
    pane_free(pane);
}

// A call that has ended stands in one frame only: Enter goes there, and shows all of it however narrow the screen is.
static void one_slow_call(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = forge_pane(&view_syscalls, &look);
    strcpy(pane->search, "none.h");
    assert_true(pane_search(pane, &look, 1));
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, FRAMES);
    look.live = false;
    forge_expect(pane, &look, 80, 7, false,
                 "─ System call ────────────────────────────────────────────────────── Esc: back ─\n"
                 " TIME        14:13:20.200    PID         200\n"
                 " TID         200             COMMAND     cc1\n"
                 " SYSCALL     openat          LATENCY     900us\n"
                 " ERROR       ENOENT          IDLE        0\n"
                 " ARGUMENTS   AT_FDCWD, \"/usr/include/none.h\", O_RDONLY\n"
                 "\n");
    forge_expect(pane, &look, 40, 12, false,
                 "─ System call ────────────── Esc: back ─\n"
                 " TIME        14:13:20.200\n"
                 " PID         200\n"
                 " TID         200\n"
                 " COMMAND     cc1\n"
                 " SYSCALL     openat\n"
                 " LATENCY     900us\n"
                 " ERROR       ENOENT\n"
                 " IDLE        0\n"
                 " ARGUMENTS   AT_FDCWD,\n"
                 "             \"/usr/include/none.h\",\n"
                 "             O_RDONLY\n");
    answer = forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_true(answer.go_live);
    pane_free(pane);
}

static void wider(void **state) {
    (void)state;
    static const char *const titles[] = {"System calls",    "By process and call", "In progress", "Errors",
                                         "Slow and failed", "By process",          NULL};
    struct look look;
    struct pane *pane = forge_pane(&view_syscalls, &look);
    forge_wider(pane, &look, titles);
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens),       cmocka_unit_test(ways),  cmocka_unit_test(failed_calls),
        cmocka_unit_test(one_slow_call), cmocka_unit_test(wider),
    };
    return cmocka_run_group_tests(tests, frames_make, frames_drop);
}
