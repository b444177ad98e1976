// What the disk pane makes of every measure: operations with flags, places and utilisation as heat maps, zoom,
// processes and groups, and the way from a cell to its I/Os and back.
#include "tests/unit/screens.h"

#include "tests/unit/forge_io.h"

extern const struct view view_disk;

#define IO_EVENTS "io_events", "time_s|end_s|comm|pid|op|device|sector|bytes|queue_us|latency_us|error"

#define EVENT(ms, comm, pid, op, device, latency, error)                                                               \
    "1790000000." ms "|1790000000.9|" comm "|" pid "|" op "|" device "|2048|4096|3|" latency "|" error "\n"

static void add_process(struct hist_set *set, double pid, const char *comm, const char *op, uint64_t ns) {
    struct hist_acc *acc = xcalloc(1, sizeof *acc);
    hist_acc_add(acc, ns);
    union cell keys[3] = {{.num = pid}, {.text = text_from(comm)}, {.text = text_from(op)}};
    hist_set_add(set, keys, hist_seal(acc));
    free(acc);
}

// vda reads in 200 us, with read-ahead in 800 us, and in frame 8 two take 30 ms and one of them fails; it gets busier.
// The place that is read moves up the disk. loop0 writes.
static const struct frame *make(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number), *block = forge_section("block", number);
    char rows[128];
    snprintf(rows, sizeof rows, "vda|%d\nloop0|3", (int)number * 10 > 100 ? 100 : (int)number * 10);
    section_table(system, forge_real("devices", "device|util_pct", rows));
    frame_add_section(frame, system, 0);
    struct hist_set *latency = hist_set_new(real_hist("io_latency")), *offset = hist_set_new(real_hist("io_offset")),
                    *process = hist_set_new(real_hist("io_latency_by_process")),
                    *group = hist_set_new(real_hist("io_latency_by_cgroup"));
    forge_hist(latency, "vda", "R", (struct forge_run[]){{200000, 50}, {30000000, number == 8 ? 2 : 0}, {0, 0}});
    forge_hist(latency, "vda", "RA", (struct forge_run[]){{800000, 10}, {0, 0}});
    forge_hist(latency, "loop0", "WS", (struct forge_run[]){{90000, 5}, {0, 0}});
    forge_hist(offset, "vda", "R", (struct forge_run[]){{number * 4, 60}, {63, 1}, {0, 0}});
    add_process(process, 9, "dd", "W", 90000);
    add_process(process, 4242, "fio", "R", 200000);
    add_process(process, 10, "dd", "W", 95000);
    forge_hist(group, "/system.slice/db", "R", (struct forge_run[]){{200000, 50}, {0, 0}});
    section_hists(block, latency);
    section_hists(block, offset);
    section_hists(block, process);
    section_hists(block, group);
    section_table(block, forge_real("by_cgroup", "cgroup|device|op|ios_per_s|bytes_per_s|latency_us|total_us",
                                    "/system.slice/db|vda|R|60|245760|300|45000"));
    section_stream(block,
                   forge_real(IO_EVENTS, number == 8 ? EVENT("1", "fio", "4242", "R", "vda", "200",
                                                             "-") EVENT("2", "fio", "4242", "R", "vda", "30000", "-")
                                                           EVENT("3", "fio", "4242", "RA", "vda", "800", "-")
                                                               EVENT("4", "fio", "4242", "R", "vda", "30000", "ENODATA")
                                                                   EVENT("5", "dd", "9", "WS", "loop0", "90", "-")
                                                     : EVENT("1", "fio", "4242", "R", "vda", "200", "-")),
                   0);
    frame_add_section(frame, block, 0);
    return frame;
}

#define FRAMES 12
static const struct frame *frames[FRAMES];

static int setup(void **state) {
    (void)state;
    for (uint64_t i = 0; i < FRAMES; i++)
        frames[i] = make(i + 1);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    return 0;
}

static struct pane *drawn(const struct look *look, int focus) {
    struct pane *pane = pane_new(&view_disk);
    struct grid *grid = grid_new(110, 44, true);
    pane->focus = focus;
    pane_draw(pane, look, grid_area(grid));
    grid_free(grid);
    return pane;
}

static void draw_sizes(struct pane *pane, const struct look *look) {
    for (int width = 0; width < 220; width += 13)
        for (int height = 0; height < 60; height += 7) {
            struct grid *grid = grid_new(width, height, false);
            pane_draw(pane, look, grid_area(grid));
            grid_free(grid);
        }
}

#define HEAT 4
#define HIST 5

static void operations(void **state) {
    (void)state;
    static const char *const ops[] = {"R", "RA", "W", "WS", "all"};
    struct look look;
    forge_look(&look, frames, FRAMES);
    struct pane *pane = drawn(&look, HEAT);
    char want[64];
    forge_key(pane, &look, 'v', true); // not the busiest alone
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        snprintf(want, sizeof want, "device all, op %s", ops[i]);
        assert_string_equal(forge_key(pane, &look, 't', true).message, want);
    }
    assert_string_equal(forge_key(pane, &look, 'T', true).message, "device all, op WS");
    pane_free(pane);
    pane = drawn(&look, HIST);
    forge_key(pane, &look, 't', true); // R: of both kinds
    forge_expect(pane, &look, 80, 18, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN\n"
                 "vda           100       -       -     -        -        -       -       -      -\n"
                 "loop0         3.0       -       -     -        -        -       -       -      -\n"
                 "- By process -------------------------------------------------------------------\n"
                 " not available\n"
                 "- > Latency histogram --------------- Service time, device vda (busiest), op R -\n"
                 "count 60  avg 300us  p50 200us  p90 799us  p95 799us  p99 800us  p99.9 800us\n"
                 "max 800us\n"
                 " 200us - 500us  ##################################################     50  83.3%\n"
                 " 500us - 1ms    ##########                                             10  16.7%\n"
                 "   1ms - 2ms                                                            0   0.0%\n"
                 "   2ms - 5ms                                                            0   0.0%\n"
                 "   5ms - 10ms                                                           0   0.0%\n"
                 "  10ms - 20ms                                                           0   0.0%\n"
                 "  20ms - 50ms                                                           0   0.0%\n"
                 "\n"
                 "*Devices  *By process   Heat map  >Histogram   By cgroup   Recent I/Os\n");
    pane_free(pane);
}

static void measures(void **state) {
    (void)state;
    struct look look;
    forge_look(&look, frames, FRAMES);
    struct pane *pane = drawn(&look, HEAT);
    assert_string_equal(forge_key(pane, &look, 'm', true).message, "I/O offset");
    forge_key(pane, &look, 'l', true);
    forge_expect(pane, &look, 80, 24, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN\n"
                 "vda           100       -       -     -        -        -       -       -      -\n"
                 "loop0         3.0       -       -     -        -        -       -       -      -\n"
                 "- By process -------------------------------------------------------------------\n"
                 " not available\n"
                 "- > Offset heat map ----------------- I/O offset, device vda (busiest), op all -\n"
                 " 87.5%|                                                             ............\n"
                 "   75%|                                                                        @\n"
                 " 62.5%|                                                                      @@\n"
                 "   50%|                                                                    @@\n"
                 " 37.5%|                                                                  @@\n"
                 "   25%|                                                                @@\n"
                 " 12.5%|                                                              @@\n"
                 "    0%|                                                             @\n"
                 "                                                                  -10s       now\n"
                 ".1 :2 -3 =4 +7 *10 #16 %25 @40 most 60 a cell\n"
                 "\n"
                 "\n"
                 "\n"
                 "- By cgroup --------------------------------------------------------------------\n"
                 "DEVICE     OP vTOTAL/s   TOTAL    IO/s  BYTES/s SERVICE CGROUP\n"
                 "vda        R         -  45.0ms      60     240K   300us /system.slice/db\n"
                 "*Devices  *By process  >Heat map   Histogram  *By cgroup   Recent I/Os\n");
    assert_string_equal(forge_key(pane, &look, 'm', true).message, "utilisation");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device all");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device loop0");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "device vda");
    forge_expect(pane, &look, 80, 24, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN\n"
                 "vda           100       -       -     -        -        -       -       -      -\n"
                 "loop0         3.0       -       -     -        -        -       -       -      -\n"
                 "- By process -------------------------------------------------------------------\n"
                 " not available\n"
                 "- > Utilisation heat map ----------------------------- utilisation, device vda -\n"
                 "   90%|                                                                     5555\n"
                 "   80%|                                                                    5\n"
                 "   70%|                                                                   5\n"
                 "   60%|                                                                  5\n"
                 "   50%|                                                                 5\n"
                 "   40%|                                                                5\n"
                 "   30%|                                                               5\n"
                 "   20%|                                                              5\n"
                 "   10%|                                                             5\n"
                 "    0%|\n"
                 "                                                                  -10s       now\n"
                 "@1 most 1 a cell\n"
                 "\n"
                 "- By cgroup --------------------------------------------------------------------\n"
                 "DEVICE     OP vTOTAL/s   TOTAL    IO/s  BYTES/s SERVICE CGROUP\n"
                 "vda        R         -  45.0ms      60     240K   300us /system.slice/db\n"
                 "*Devices  *By process  >Heat map   Histogram  *By cgroup   Recent I/Os\n");
    assert_string_equal(forge_key(pane, &look, 'm', true).message, "Service time by process");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "pid 9 dd, op all");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "pid 10 dd, op all");
    assert_string_equal(forge_key(pane, &look, 'v', true).message, "pid 4242 fio, op all");
    assert_string_equal(forge_key(pane, &look, 'm', true).message, "Service time by cgroup");
    assert_string_equal(forge_key(pane, &look, 'V', true).message, "cgroup /system.slice/db, op all");
    assert_string_equal(forge_key(pane, &look, 'm', true).message, "Service time: issue to complete");
    assert_string_equal(forge_key(pane, &look, 'M', true).message, "Service time by cgroup");
    pane_free(pane);
}

static void zoom(void **state) {
    (void)state;
    struct look look;
    forge_look(&look, frames, FRAMES);
    struct pane *pane = drawn(&look, HEAT);
    assert_string_equal(forge_key(pane, &look, '-', true).message, "2 frames per column; Z: all");
    assert_string_equal(forge_key(pane, &look, '-', true).message, "5 frames per column; Z: all");
    forge_expect(pane, &look, 80, 24, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN\n"
                 "vda           100       -       -     -        -        -       -       -      -\n"
                 "loop0         3.0       -       -     -        -        -       -       -      -\n"
                 "- By process -------------------------------------------------------------------\n"
                 " not available\n"
                 "- > Latency heat map -------------- Service time, device vda (busiest), op all -\n"
                 " 100ms|\n"
                 "  50ms|\n"
                 "  20ms|                                                                       :\n"
                 "  10ms|\n"
                 "   5ms|\n"
                 "   2ms|\n"
                 "   1ms|\n"
                 " 500us|                                                                      *#*\n"
                 " 200us|                                                                      @@@\n"
                 " 100us|\n"
                 "  50us|\n"
                 "                                                                             now\n"
                 ".1 :2 -4 =7 +12 *23 #41 %76 @141 most 250 a cell   p50 200us p99 800us max 800us\n"
                 "- By cgroup --------------------------------------------------------------------\n"
                 "DEVICE     OP vTOTAL/s   TOTAL    IO/s  BYTES/s SERVICE CGROUP\n"
                 "vda        R         -  45.0ms      60     240K   300us /system.slice/db\n"
                 "*Devices  *By process  >Heat map   Histogram  *By cgroup   Recent I/Os\n");
    assert_string_equal(forge_key(pane, &look, '+', true).message, "2 frames per column; Z: all");
    assert_string_equal(forge_key(pane, &look, '+', true).message, "1 frame per column; Z: all");
    assert_string_equal(forge_key(pane, &look, '+', true).message, "1 frame per column (limit)");
    assert_string_equal(forge_key(pane, &look, 'z', true).message, "select a range with the arrow keys first");
    forge_key(pane, &look, 'Z', true);
    struct grid *grid = grid_new(110, 44, true);
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, KEY_VIEW_LEFT, true);
    for (int i = 0; i < 6; i++)
        forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_key(pane, &look, 'z', true);
    forge_expect(pane, &look, 80, 24, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN\n"
                 "vda           100       -       -     -        -        -       -       -      -\n"
                 "loop0         3.0       -       -     -        -        -       -       -      -\n"
                 "- By process -------------------------------------------------------------------\n"
                 " not available\n"
                 "- > Latency heat map ------ Service time, device vda (busiest), op all, zoomed -\n"
                 " 1.6ms|\n"
                 " 1.4ms|\n"
                 " 1.2ms|\n"
                 " 1.1ms|\n"
                 "   1ms|\n"
                 " 900us|\n"
                 " 800us|                                                             @@@@@@@@@@@@\n"
                 " 700us|\n"
                 " 600us|\n"
                 " 560us|\n"
                 " 500us|\n"
                 "                                                                  -10s       now\n"
                 "14:13:32  800us - 900us  10 of 60 (16.7%)  p50 200us p99 800us\n"
                 "- By cgroup --------------------------------------------------------------------\n"
                 "DEVICE     OP vTOTAL/s   TOTAL    IO/s  BYTES/s SERVICE CGROUP\n"
                 "vda        R         -  45.0ms      60     240K   300us /system.slice/db\n"
                 "*Devices  *By process  >Heat map   Histogram  *By cgroup   Recent I/Os\n");
    forge_key(pane, &look, 'Z', true);
    assert_string_equal(forge_key(pane, &look, 'm', true).message, "I/O offset"); // on a linear axis too
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, 'z', true);
    forge_expect(pane, &look, 80, 24, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN\n"
                 "vda           100       -       -     -        -        -       -       -      -\n"
                 "loop0         3.0       -       -     -        -        -       -       -      -\n"
                 "- By process -------------------------------------------------------------------\n"
                 " not available\n"
                 "- > Offset heat map --------- I/O offset, device vda (busiest), op all, zoomed -\n"
                 " 98.4%|                                                             @@@@@@@@@@@@\n"
                 " 96.9%|\n"
                 " 95.3%|\n"
                 " 93.8%|\n"
                 " 92.2%|\n"
                 " 90.6%|\n"
                 " 89.1%|\n"
                 " 87.5%|\n"
                 "                                                                  -10s       now\n"
                 "14:13:32  98.4% - 100%  1 of 61 (1.6%)\n"
                 "\n"
                 "\n"
                 "\n"
                 "- By cgroup --------------------------------------------------------------------\n"
                 "DEVICE     OP vTOTAL/s   TOTAL    IO/s  BYTES/s SERVICE CGROUP\n"
                 "vda        R         -  45.0ms      60     240K   300us /system.slice/db\n"
                 "*Devices  *By process  >Heat map   Histogram  *By cgroup   Recent I/Os\n");
    draw_sizes(pane, &look);
    grid_free(grid);
    pane_free(pane);
}

static void list_of_a_cell(void **state) {
    (void)state;
    struct look look;
    forge_look(&look, frames, FRAMES);
    struct pane *pane = drawn(&look, HEAT);
    struct grid *grid = grid_new(110, 44, true);
    pane_set_filter(pane, "a");
    for (int i = 0; i < 3; i++) // all, loop0, vda
        forge_key(pane, &look, 'v', true);
    forge_key(pane, &look, 't', true);
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, KEY_VIEW_END, true);
    for (int i = 0; i < 40; i++)
        forge_key(pane, &look, KEY_VIEW_UP, true);
    for (int i = 0; i < 4; i++)
        forge_key(pane, &look, KEY_VIEW_LEFT, true);
    assert_string_equal(forge_key(pane, &look, KEY_VIEW_ENTER, true).message, "nothing in this cell; Space: freeze");
    struct pane_answer answer = {0};
    for (int i = 0; i < 40 && !answer.go_frame; i++) { // down to the cell of the slow ones
        forge_key(pane, &look, KEY_VIEW_DOWN, true);
        answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    }
    assert_int_equal(answer.go_frame, 8);
    assert_string_equal(pane->filter, "device=vda op=R latency_us=30ms..40ms");
    assert_string_equal(view_disk.parts[pane->focus].name, "events");
    forge_look(&look, frames, 8);
    look.live = false;
    forge_expect(
        pane, &look, 110, 24, true,

        "- Devices -------------------------------- TOTAL = QUEUE (before issue) + SERVICE (device); 1 of 2, filter a "
        "-\n"
        "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN FLUSH/s  DISC/s  RMRG/s\n"
        "vda          80.0       -       -     -        -        -       -       -      -       -       -       -\n"
        "- By process "
        "-------------------------------------------------------------------------------------------------\n"
        " not available\n"
        "- Latency heat map ---------------------------- Service time (issue to complete), device vda, op R, with "
        "\"a\" -\n"
        " 100ms|\n"
        "  50ms|\n"
        "  20ms|                                                                                                      "
        ":\n"
        "  10ms|\n"
        "   5ms|\n"
        "   2ms|\n"
        "   1ms|\n"
        " 500us|                                                                                               "
        "********\n"
        " 200us|                                                                                               "
        "@@@@@@@@\n"
        " 100us|\n"
        "  50us|\n"
        "                                                                                                      "
        "14:13:28\n"
        "14:13:28  20ms - 50ms  2 of 62 (3.2%)  p50 200us p99 30.0ms\n"
        "- > Recent I/Os --------------------------------------- 2 of 5, filter device=vda op=R latency_us=30ms..40ms "
        "-\n"
        "           TIME   TOTAL   QUEUE SERVICE OP    BYTES DEVICE     COMMAND             PID ERROR\n"
        "14:13:20.400000       -   3.0us  30.0ms R      4.0K vda        fio                4242 ENODATA\n"
        "14:13:20.200000       -   3.0us  30.0ms R      4.0K vda        fio                4242 -\n"
        "*Devices  *By process  *Heat map   Histogram   By cgroup  >Recent I/Os                      o next  = "
        "enlarge\n");
    // The other parts keep the filter that was there.
    answer = forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_true(answer.go_live);
    assert_string_equal(pane->filter, "a");
    assert_int_equal(pane->focus, HEAT);
    // A list is of one frame, a column may be of several.
    forge_look(&look, frames, FRAMES);
    forge_key(pane, &look, '-', true);
    pane_draw(pane, &look, grid_area(grid));
    answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(answer.message, "the newest of 2 frames; [: previous frame; Esc: back");
    assert_string_equal(pane->filter, "device=vda op=R latency_us=30ms..40ms");
    grid_free(grid);
    pane_free(pane);
}

static void list_of_a_range(void **state) {
    (void)state;
    struct look look;
    forge_look(&look, frames, 9);
    look.live = false; // rewound: Esc: back there
    struct pane *pane = drawn(&look, HIST);
    struct grid *grid = grid_new(110, 44, true);
    forge_key(pane, &look, 'a', true); // all the time
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, KEY_VIEW_END, true);
    forge_expect(pane, &look, 80, 18, true,

                 "- Devices -------------------- TOTAL = QUEUE (before issue) + SERVICE (device) -\n"
                 "DEVICE     vUTIL%     R/s     W/s INFLT RBYTES/s WBYTES/s  R SIZE  W SIZE   QLEN\n"
                 "vda          90.0       -       -     -        -        -       -       -      -\n"
                 "loop0         3.0       -       -     -        -        -       -       -      -\n"
                 "- By process -------------------------------------------------------------------\n"
                 " not available\n"
                 "- > Latency histogram ----------------------- Service time, vda, whole history -\n"
                 "count 542  avg 410us  p50 200us  p90 799us  p95 799us  p99 799us  p99.9 30.0ms\n"
                 "max 30.0ms\n"
                 " 200us - 500us  ##################################################    450  83.0%\n"
                 " 500us - 1ms    ##########                                             90  16.6%\n"
                 "   1ms - 2ms                                                            0   0.0%\n"
                 "   2ms - 5ms                                                            0   0.0%\n"
                 "   5ms - 10ms                                                           0   0.0%\n"
                 "  10ms - 20ms                                                           0   0.0%\n"
                 "  20ms - 50ms   .                                                       2   0.4%\n"
                 "\n"
                 "*Devices  *By process   Heat map  >Histogram   By cgroup   Recent I/Os\n");
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, 8); // the newest with one
    assert_string_equal(answer.message, "the newest frame with such values; Esc: back");
    assert_string_equal(pane->filter, "device=vda latency_us=20ms..50ms");
    answer = forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_int_equal(answer.go_frame, 9);
    assert_false(answer.go_live);
    assert_string_equal(pane->filter, "");
    forge_key(pane, &look, KEY_VIEW_BACK, true); // the cursor
    forge_key(pane, &look, KEY_VIEW_BACK, false);
    grid_free(grid);
    pane_free(pane);
}

// From an error to the I/Os that failed so, in the newest frame that has one.
static void list_of_an_error(void **state) {
    const struct frame *list[FRAMES];
    struct look look;
    memcpy(list, frames, sizeof list);
    struct frame *last = (struct frame *)make(FRAMES);
    struct section *section = forge_section("errors", FRAMES);
    section_table(section, forge_real("io_errors", "device|op|error", "vda|R|ENODATA\nvda|W|EIO"));
    frame_add_section(last, section, 0);
    list[FRAMES - 1] = last;
    forge_look(&look, list, FRAMES);
    (void)state;
    struct pane *pane = drawn(&look, 3);
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, 8);
    assert_string_equal(pane->filter, "device=vda op=R error=ENODATA");
    assert_string_equal(view_disk.parts[pane->focus].name, "events");
    answer = forge_key(pane, &look, KEY_VIEW_BACK, true);
    assert_true(answer.go_live);
    forge_key(pane, &look, KEY_VIEW_DOWN, true); // of which none is kept: no empty list
    answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, 0);
    assert_string_equal(answer.message, "no event of this row in any frame of the history");
    assert_string_equal(pane->filter, "");
    assert_string_equal(view_disk.parts[pane->focus].name, "io_errors");
    pane_free(pane);
    frame_unref(last);
}

static void failed_ones_are_red(void **state) {
    (void)state;
    struct look look;
    forge_look(&look, frames, 8);
    struct pane *pane = drawn(&look, 9); // the list
    struct grid *grid = grid_new(80, 24, true);
    pane_draw(pane, &look, grid_area(grid));
    int red = 0, blue = 0;
    for (int y = 0; y < 24; y++) {
        char row[400];
        grid_row_text(grid, y, row, sizeof row);
        bool failed = strstr(row, "14:13:20.400") != NULL;
        for (int x = 0; x < 80; x++) {
            enum role role = grid->cells[y * 80 + x].role;
            if (role == ROLE_CRITICAL && strstr(row, "14:13:20"))
                assert_true(failed);
            red += failed && role == ROLE_CRITICAL;
            blue += strstr(row, "14:13:20") && role == ROLE_READ;
        }
    }
    assert_true(red > 30);
    assert_true(blue > 0);
    grid_free(grid);
    pane_free(pane);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations),       cmocka_unit_test(measures),        cmocka_unit_test(zoom),
        cmocka_unit_test(list_of_a_cell),   cmocka_unit_test(list_of_a_range), cmocka_unit_test(failed_ones_are_red),
        cmocka_unit_test(list_of_an_error),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
