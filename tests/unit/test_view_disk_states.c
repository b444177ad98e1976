// The pane disk when disks fail, and when there are no block events.
#include "tests/unit/forge_disk.h"

static void no_block_events(void **state) {
    (void)state;
    struct frame *frame = forge_frame(1);
    struct section *system = forge_section("system", 1), *block = forge_section("block", 1);
    section_table(system, forge_real(DEVICES, "vda|812|0.4|3325952|2048|32|98.4"));
    section_set_state(block, SECTION_UNAVAILABLE);
    section_note(block, SEVERITY_WARNING, NULL, "block events need root", "run ktop as root");
    section_table(block, forge_real(BLOCK_DEVICES, ""));
    section_table(block, forge_real(BY_PROCESS, ""));
    section_hists(block, hist_set_new(real_hist("io_latency")));
    section_stream(block, forge_real(IO_EVENTS, ""), 0);
    frame_add_section(frame, system, 0);
    frame_add_section(frame, block, 0);
    const struct frame *list[] = {frame};
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, list, 1);
    forge_expect(pane, &look, 80, 21, false,

                 "─ ▸ Devices ────────────────── TOTAL = QUEUE (before issue) + SERVICE (device) ─\n"
                 "DEVICE     ▼UTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST\n"
                 "vda          98.4       -       -       -     812     0.4       -    32       -\n"
                 "─ By process ─────────────────────────────────────────────────── not available ─\n"
                 "    PID COMMAND         OP ▼TOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE\n"
                 " not measured\n"
                 "─ Latency heat map ─ Service time, device vda (busiest), op all  not available ─\n"
                 "not measured\n"
                 "─ Latency histogram  Service time, device vda (busiest), op all  not available ─\n"
                 "not measured\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "▸Devices  •By process  •Heat map  •Histogram   Recent I/Os    o next  = enlarge\n"
                 "! block events need root - run ktop as root\n"
                 "\n");
    pane_free(pane);
    frame_unref(frame);
}

// Errors stand on the smallest screen; and a list whose filter is too long for its title says that it has one.
// What the filter asks for may be among those that had no room.
static void not_among_the_kept(void **state) {
    (void)state;
    const struct frame *list[] = {make(1, true)};
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, list, 1);
    while (strcmp(view_disk.parts[pane->focus].name, "events") != 0)
        pane->focus++;
    forge_key(pane, &look, KEY_VIEW_HOME, true);
    pane_set_filter(pane, "latency_us=300us..1ms");
    forge_expect(pane, &look, 80, 3, true,
                 "- Recent I/Os --------- 0 of 3, 7 older not kept, filter latency_us=300us..1ms -\n"
                 "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND\n"
                 " no match for latency_us=300us..1ms among the 3 kept events\n");
    pane_set_filter(pane, "mysqld");
    forge_expect(pane, &look, 80, 3, true,
                 "- Recent I/Os ------------------------ 0 of 3, 7 older not kept, filter mysqld -\n"
                 "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND\n"
                 " no match for mysqld among the 3 kept events\n");
    pane_free(pane);
    frame_unref(list[0]);
}

static void errors(void **state) {
    (void)state;
    struct frame *frame = (struct frame *)make(1, true);
    struct section *section = forge_section("errors", 1);
    section_table(section, forge_real("io_errors", "device|op|error|errors_per_s", "vda|W|EIO|3\nvda|R|ENODATA|0.5"));
    section_series(section, real_series("irq_full_pct"), 0);
    section_note(section, SEVERITY_INFO, "irq_full_pct", "about what no part of this pane shows", "none");
    frame_add_section(frame, section, 0);
    const struct frame *list[] = {frame};
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    forge_look(&look, list, 1);
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
                 "- Errors -----------------------------------------------------------------------\n"
                 "DEVICE     OP ERROR       ERRORS  vERR/s       SECTOR\n"
                 "vda        W  EIO              -     3.0            -\n"
                 "vda        R  ENODATA          -     0.5            -\n"
                 "- Recent I/Os ----------------------------------------------- 7 older not kept -\n"
                 "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND\n"
                 "14:13:20.300000    82us   2.0us    80us WS     4.0K loop0      fio\n"
                 "14:13:20.200000   525us   310us   215us RA     4.0K vda        fio\n"
                 "14:13:20.100000   490us   310us   180us R      4.0K vda        fio\n"
                 "\n"
                 ">Devices  *By process  *Errors   Heat map   Histogram  *Recent I/Os\n");
    // With a note or two below: the map with fewer rows, not none.
    forge_expect(pane, &look, 80, 18, true,

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
                 "- Errors -----------------------------------------------------------------------\n"
                 "DEVICE     OP ERROR       ERRORS  vERR/s       SECTOR\n"
                 "vda        W  EIO              -     3.0            -\n"
                 "vda        R  ENODATA          -     0.5            -\n"
                 "\n"
                 "\n"
                 "\n"
                 ">Devices  *By process  *Errors   Heat map   Histogram   Recent I/Os\n");
    forge_expect(pane, &look, 80, 15, true,

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
                 "- Errors -----------------------------------------------------------------------\n"
                 "DEVICE     OP ERROR       ERRORS  vERR/s       SECTOR\n"
                 "vda        W  EIO              -     3.0            -\n"
                 "vda        R  ENODATA          -     0.5            -\n"
                 ">Devices  *By process  *Errors   Heat map   Histogram   Recent I/Os\n");
    forge_key(pane, &look, 'O', true); // from the first to the last: the list of I/Os
    // Enter shows one of them, not the first device, and Esc leads back to the list.
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, 1);
    forge_expect(pane, &look, 80, 12, true,

                 "- I/O ------------------------------------------------ Enter: tasks, Esc: back -\n"
                 " TIME        14:13:20.300000\n"
                 " END         14:13:20.300080\n"
                 " COMMAND     fio             PID         4242\n"
                 " OP          WS              DEVICE      loop0\n"
                 " BYTES       4.0K            QUEUE       2.0us\n"
                 " SERVICE     80us            TOTAL       82us\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    pane_set_filter(pane, "device=vda comm=fio bytes>=4K bytes<=64K latency_us>=200us");
    forge_expect(pane, &look, 80, 21, true,

                 "- Devices - 1 of 3: device=vda comm=fio bytes>=4K bytes<=64K latency_us>=200us -\n"
                 "DEVICE     vUTIL%   TOTAL   QUEUE SERVICE     R/s     W/s   ERR/s INFLT  OLDEST\n"
                 "vda          98.4   525us   310us   215us     812     0.4       0    32     0us\n"
                 "- By process ------ 1 of 3: vda, fio, bytes>=4K, bytes<=64K, latency_us>=200us -\n"
                 "    PID COMMAND         OP vTOTAL/s   TOTAL TOT p99    IO/s  BYTES/s DEVICE\n"
                 "   4242 fio             R     426ms   525us   890us     812     3.2M vda\n"
                 "- Errors --- filter device=vda comm=fio bytes>=4K bytes<=64K latency_us>=200us -\n"
                 "DEVICE     OP ERROR       ERRORS  vERR/s       SECTOR\n"
                 "vda        W  EIO              -     3.0            -\n"
                 "vda        R  ENODATA          -     0.5            -\n"
                 "- > Recent I/Os  1 of 3 kept: vda, fio, bytes>=4K, bytes<=64K, latency_us>=20. -\n"
                 "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND\n"
                 "14:13:20.200000   525us   310us   215us RA     4.0K vda        fio\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "*Devices  *By process  *Errors   Heat map   Histogram  >Recent I/Os\n");
    pane_free(pane);
    frame_unref(frame);
}

// The end of the screen, from the rule above the list to the last row.
static void expect_list(struct pane *pane, const struct look *look, int width, const char *expected) {
    struct grid *grid = grid_new(width, 24, true);
    pane_draw(pane, look, grid_area(grid));
    char *screen = forge_screen(grid), *list = strstr(screen, "Recent I/Os");
    char *end = list ? strstr(list, "\n\n") : NULL; // the part bar is at the end of the screen
    if (end)
        end[1] = '\0';
    assert_string_equal(list ? list : screen, expected);
    free(screen);
    grid_free(grid);
}

// A flood's list: the newest, and what is rare before them. The title says of what it is a part, with a filter too.
static void a_part_of_a_flood(void **state) {
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("block", 1);
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    const struct frame *list[] = {frame};

    (void)state;
    section_stream(
        section,
        forge_real("io_events", "sector|latency_us|kept", "8|20000|slow\n16|180|rare\n800|200|-\n808|210|-\n816|190|-"),
        99995);
    frame_add_section(frame, section, 0);
    forge_look(&look, list, 1);
    forge_key(pane, &look, 'O', true);
    expect_list(pane, &look, 150,
                "Recent I/Os "
                "--------------------------------------------------------------------------------------------------- "
                "newest 3 + 2 slow/rare of 100000 -\n"
                "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND             PID ERROR          "
                "      END       SECTOR   AT% KEPT\n"
                "              -       -       -   190us -         - -          -                     - -              "
                "        -          816     - -\n"
                "              -       -       -   210us -         - -          -                     - -              "
                "        -          808     - -\n"
                "              -       -       -   200us -         - -          -                     - -              "
                "        -          800     - -\n"
                "              -       -       -   180us -         - -          -                     - -              "
                "        -           16     - rare\n"
                "              -       -       -  20.0ms -         - -          -                     - -              "
                "        -            8     - slow\n");
    pane_set_filter(pane, "latency_us>10000");
    expect_list(pane, &look, 80,
                "Recent I/Os ------------------------ 1 of 5 kept of 100k: latency_us>10000 -\n"
                "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND\n"
                "              -       -       -  20.0ms -         - -          -\n");
    pane_free(pane);
    frame_unref(frame);
}

// How full they are, and from one to what its disk does.
static void file_systems(void **state) {
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("filesystems", 1), *block = forge_section("block", 1);
    struct look look;
    struct pane *pane = pane_new(&view_disk);
    const struct frame *list[] = {frame};

    (void)state;
    section_table(section, forge_real("filesystems", "mount|type|device|size_kib|available_kib|used_pct",
                                      "/|ext4|vda|1347500|1048576|22.2\n/var/my data|xfs|vdb|215579|4096|98.1\n"
                                      "/dev/shm|tmpfs|-|1029|1024|0.5"));
    section_stream(block, forge_real("io_events", "device", "vda\nvdb\nvda"), 0);
    frame_add_section(frame, section, 0);
    frame_add_section(frame, block, 0);
    forge_look(&look, list, 1);
    while (strcmp(view_disk.parts[pane->focus].name, "filesystems") != 0)
        pane->focus++;
    struct grid *grid = grid_new(60, 30, true);
    pane_draw(pane, &look, grid_area(grid));
    char *screen = forge_screen(grid), *part = strstr(screen, "- > File systems");
    const char *expected = "- > File systems -------------------------------------------\n"
                           "vUSED%   AVAIL    SIZE DEVICE   TYPE     MOUNT\n"
                           "  98.1    4.0M    211M vdb      xfs      /var/my data\n"
                           "  22.2    1.0G    1.3G vda      ext4     /\n"
                           "   0.5    1.0M    1.0M -        tmpfs    /dev/shm\n";
    assert_non_null(part);
    assert_memory_equal(part, expected, strlen(expected));
    free(screen);
    grid_free(grid);
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(pane->filter, "device=vdb");
    assert_int_equal(answer.go_frame, 1);
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    forge_key(pane, &look, KEY_VIEW_END, true); // in memory
    answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.message, "no I/O of its disk in the history");
    assert_string_equal(pane->filter, "");
    pane_free(pane);
    frame_unref(frame);
}

// What was waited for a minute ago no longer takes room.
static void waited_for(void **state) {
    const struct frame *list[70];
    struct look look;
    struct pane *pane = pane_new(&view_disk);

    (void)state;
    for (uint64_t i = 0; i < 70; i++) {
        struct frame *frame = forge_frame(i + 1);
        struct section *section = forge_section("block", i + 1);
        section_table(section, forge_real("io_in_flight", "device|age_us", i == 3 ? "vda|200000" : ""));
        frame_add_section(frame, section, 0);
        list[i] = frame;
    }
    for (size_t n = 1; n <= 70; n++) {
        forge_look(&look, list, n);
        struct grid *grid = grid_new(80, 24, true);
        pane_draw(pane, &look, grid_area(grid));
        char *screen = forge_screen(grid);
        assert_int_equal(strstr(screen, "In flight over 100 ms") != NULL, n >= 4 && n <= 64);
        free(screen);
        grid_free(grid);
    }
    for (int i = 0; i < 70; i++)
        frame_unref(list[i]);
    pane_free(pane);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(errors),          cmocka_unit_test(not_among_the_kept),
                                       cmocka_unit_test(no_block_events), cmocka_unit_test(a_part_of_a_flood),
                                       cmocka_unit_test(waited_for),      cmocka_unit_test(file_systems)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
