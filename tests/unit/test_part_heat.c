// The heat map part on literal screens, its cursor, and what it costs to draw.
#include <time.h>

#include "tests/unit/screens.h"

#include "tests/unit/forge_io.h"
#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"

static const char *const sets[] = {"io_latency", "io_size", NULL};
static const struct hist_spec spec = {.sets = sets};
static const struct part parts[] = {
    {.kind = &part_heat,
     .name = "io_latency",
     .title = "Latency heat map",
     .spec = &spec,
     .min_height = 4,
     .weight = 1},
};
static const struct view view = {.name = "t", .title = "T", .question = "?", .parts = parts, .n_parts = 1};
static const struct part two_parts[] = {
    {.kind = &part_heat,
     .name = "io_latency",
     .title = "Latency heat map",
     .spec = &spec,
     .min_height = 4,
     .weight = 1},
    {.kind = &part_hist,
     .name = "io_latency",
     .title = "Latency histogram",
     .spec = &spec,
     .min_height = 4,
     .weight = 1},
};
static const struct view two = {.name = "t", .title = "T", .question = "?", .parts = two_parts, .n_parts = 2};

#define FRAMES 40
static const struct frame *frames[FRAMES];

static const struct frame *io_frame(uint64_t number, const struct forge_run *reads, const struct forge_run *writes) {
    struct frame *frame = forge_frame(number);
    struct hist_set *latency = hist_set_new(real_hist("io_latency"));
    forge_hist(latency, "vda", "R", reads);
    forge_hist(latency, "loop0", "W", writes);
    struct section *section = forge_section("block", number);
    section_hists(section, latency);
    frame_add_section(frame, section, 0);
    return frame;
}

// Reads of 100 us that become ever more, every fifth frame with slow ones, a pause at 30 to 33; one write of 5 ms
// at 20.
static int make(void **state) {
    (void)state;
    for (uint64_t i = 0; i < FRAMES; i++) {
        bool pause = i >= 30 && i <= 33;
        struct forge_run reads[] = {{100000, pause ? 0 : 1u << (i / 4)}, {2000000, i % 5 ? 0 : 7}, {0, 0}};
        struct forge_run writes[] = {{5000000, i == 20}, {0, 0}};
        frames[i] = io_frame(i + 1, reads, writes);
    }
    return 0;
}

static int unmake(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    return 0;
}

static void screens(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, frames, FRAMES);
    forge_expect(pane, &look, 60, 12, false,

                 "─ Latency heat map ────── Service time, device all, op all ─\n"
                 "  20ms│\n"
                 "  10ms│\n"
                 "   5ms│                                 ░\n"
                 "   2ms│             ▒    ▒    ▒    ▒    ▒    ▒         ▒\n"
                 "   1ms│\n"
                 " 500us│\n"
                 " 200us│\n"
                 " 100us│             ░░░░░░░░░░░░▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓██    ██████\n"
                 "  50us│\n"
                 "                          -30s      -20s      -10s       now\n"
                 "░1 ▒5 ▓23 █110                 p50 100us p99 100us max 100us\n");
    forge_expect(pane, &look, 60, 12, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  20ms|\n"
                 "  10ms|\n"
                 "   5ms|                                 .\n"
                 "   2ms|             -    -    -    -    -    -         -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 "  50us|\n"
                 "                          -30s      -20s      -10s       now\n"
                 ".1 :3 -5 =9 +17 *34 #66 %132 @267 most 512 a cell\n");
    forge_expect(pane, &look, 27, 9, true,

                 "- Latency heat map --------\n"
                 "   5ms|         .\n"
                 "   2ms|  - -  - -  -    -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|.::--==+++**### %@@@\n"
                 "            -20s        now\n"
                 ".1 :3 -5 =11 +23 *49 #104\n"); // two frames a column
    forge_expect(pane, &look, 60, 4, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "   1ms|             -    -    -    -    -    -         -\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 ".1 :3 -5 =9 +17 *34 #66 %132 @267 most 512 a cell\n");
    forge_expect(pane, &look, 60, 2, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 " 100us|             -....=..::=:---=====*+++*#**##    %%@@@@\n");
    forge_expect(pane, &look, 7, 9, true,

                 "- Laten\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    look.live = false;
    forge_expect(pane, &look, 60, 7, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "   3ms|                                 .\n"
                 "   1ms|             -    -    -    -    -    -         -\n"
                 " 300us|\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 "                          -30s      -20s      -10s  14:14:00\n"
                 ".1 :3 -5 =9 +17 *34 #66 %132 @267 most 512 a cell\n");
    forge_look(&look, frames, 1);
    forge_expect(pane, &look, 40, 8, false,

                 "─ Latency heat map ────── Service time ─\n"
                 "   2ms│                                █\n"
                 "   1ms│\n"
                 " 500us│\n"
                 " 200us│\n"
                 " 100us│                                ░\n"
                 "                                     now\n"
                 "░1 ▒2 ▓3 █5 most 7 a cell\n");
    pane_free(pane);
}

static void cursor(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view);
    struct grid *grid = grid_new(60, 10, true);
    forge_look(&look, frames, FRAMES);
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, KEY_VIEW_LEFT, true); // shows it on the newest column
    forge_expect(pane, &look, 60, 10, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  10ms|\n"
                 "   5ms|                                 .\n"
                 "   2ms|             -    -    -    -    -    -         -\n"
                 "   1ms|                                                    +\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 "                          -30s      -20s      -10s       now\n"
                 "14:14:00  1ms - 2ms  0 of 512 (0.0%)  p50 100us p99 100us\n");
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_key(pane, &look, KEY_VIEW_DOWN, true);
    forge_expect(pane, &look, 60, 10, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  10ms|\n"
                 "   5ms|                                 .\n"
                 "   2ms|             -    -    -    -    -    -         -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 "                          -30s      -20s      -10s       now\n"
                 "14:14:00  100us - 200us  512 of 512 (100.0%)  p99 100us\n");
    // Rewound by one frame: the cursor follows the newest column.
    forge_look(&look, frames, FRAMES - 1);
    forge_expect(pane, &look, 60, 10, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  10ms|\n"
                 "   5ms|                                  .\n"
                 "   2ms|              -    -    -    -    -    -         -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|              ........::::----====++++****##    %%@@@\n"
                 "                          -30s      -20s      -10s       now\n"
                 "14:13:59  100us - 200us  512 of 512 (100.0%)  p99 100us\n");
    // On a frame of its own it stays with that frame while the map moves on.
    for (int i = 0; i < 4; i++)
        forge_key(pane, &look, KEY_VIEW_LEFT, true);
    forge_expect(pane, &look, 60, 10, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  10ms|\n"
                 "   5ms|                                  .\n"
                 "   2ms|              -    -    -    -    -    -         -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|              ........::::----====++++****##    %%@@@\n"
                 "                          -30s      -20s      -10s       now\n"
                 "14:13:55  100us - 200us  256 of 256 (100.0%)  p99 100us\n");
    forge_look(&look, frames, FRAMES);
    forge_expect(pane, &look, 60, 10, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  10ms|\n"
                 "   5ms|                                 .\n"
                 "   2ms|             -    -    -    -    -    -         -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 "                          -30s      -20s      -10s       now\n"
                 "14:13:55  100us - 200us  256 of 256 (100.0%)  p99 100us\n");
    forge_key(pane, &look, KEY_VIEW_HOME, true);
    forge_expect(pane, &look, 60, 10, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  10ms|\n"
                 "   5ms|                                 .\n"
                 "   2ms|             -    -    -    -    -    -         -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 "                          -30s      -20s      -10s       now\n"
                 "14:13:21  100us - 200us  1 of 8 (12.5%)  p50 2.0ms p99 2.0ms\n");
    forge_key(pane, &look, KEY_VIEW_UP, true);
    for (int i = 0; i < 20; i++)
        forge_key(pane, &look, KEY_VIEW_UP, true);
    forge_key(pane, &look, KEY_VIEW_END, true);
    forge_key(pane, &look, KEY_VIEW_RIGHT, true);
    forge_expect(pane, &look, 60, 10, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  10ms|                                                    +\n"
                 "   5ms|                                 .\n"
                 "   2ms|             -    -    -    -    -    -         -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 "                          -30s      -20s      -10s       now\n"
                 "14:14:00  10ms - 20ms  0 of 512 (0.0%)  p50 100us p99 100us\n");
    forge_key(pane, &look, KEY_VIEW_BACK, true);
    forge_key(pane, &look, KEY_VIEW_BACK, false);
    grid_free(grid);
    pane_free(pane);
}

static void click(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&view);
    struct grid *grid = grid_new(60, 10, true);
    struct pane_answer answer;
    forge_look(&look, frames, FRAMES);
    pane_draw(pane, &look, grid_area(grid));
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 39, 6, &answer));
    forge_expect(pane, &look, 60, 10, true,

                 "- Latency heat map ------ Service time, device all, op all -\n"
                 "  10ms|\n"
                 "   5ms|                                 .\n"
                 "   2ms|             -    -    -    -    -    -         -\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|                                +\n"
                 " 100us|             ........::::----====++++****##    %%@@@@\n"
                 "                          -30s      -20s      -10s       now\n"
                 "14:13:40  200us - 500us  0 of 16 (0.0%)  p50 100us p99 100us\n");
    assert_false(pane_key(pane, &look, KEY_VIEW_CLICK, 2, 3, &answer));
    grid_free(grid);
    pane_free(pane);
}

static void choice_is_shared(void **state) {
    (void)state;
    struct look look;
    struct pane *pane = pane_new(&two);
    forge_look(&look, frames, 21);
    forge_key(pane, &look, 'v', true);
    forge_expect(pane, &look, 60, 16, true,

                 "- > Latency heat map -- Service time, device loop0, op all -\n"
                 "   6ms|\n"
                 " 5.6ms|\n"
                 "   5ms|                                                    @\n"
                 " 4.5ms|\n"
                 "   4ms|\n"
                 "                                    -20s      -10s       now\n"
                 "@1 most 1 a cell\n"
                 "- Latency histogram --- Service time, device loop0, op all -\n"
                 "count 1  p50 5.0ms  p99 5.0ms  p99.9 5.0ms  max 5.0ms\n"
                 "   5ms - 5.6ms  ##############################      1 100.0%\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n"
                 "\n");
    forge_key(pane, &look, 'l', true);
    forge_key(pane, &look, 'v', true);
    forge_expect(pane, &look, 60, 16, true,

                 "- > Latency heat map ---- Service time, device vda, op all -\n"
                 "   2ms|                                5    5    5    9    9\n"
                 "   1ms|\n"
                 " 500us|\n"
                 " 200us|\n"
                 " 100us|                                .5555:5555=5555555555\n"
                 "                                    -20s      -10s       now\n"
                 ".1 :2 -3 =4 +5 *7 #11 %16 @23 most 32 a cell\n"
                 "- Latency histogram ----- Service time, device vda, op all -\n"
                 "count 39  p50 100us  p99 2.0ms  p99.9 2.0ms  max 2.0ms\n"
                 " 100us - 200us  ##############################     32  82.1%\n"
                 " 200us - 500us                                      0   0.0%\n"
                 " 500us - 1ms                                        0   0.0%\n"
                 "   1ms - 2ms                                        0   0.0%\n"
                 "   2ms - 5ms    #######                             7  17.9%\n"
                 "\n");
    forge_key(pane, &look, 'm', true); // a set that no frame has
    forge_expect(pane, &look, 60, 6, true,

                 "- Latency heat map ------ Service time, device vda, op all -\n"
                 "   1ms|                                5    5    5    9    9\n"
                 " 300us|\n"
                 " 100us|                                .5555:5555=5555555555\n"
                 ".1 :2 -3 =4 +5 *7 #11 %16 @23 most 32 a cell\n"
                 ">Latency heat map   Latency histogram     o next  = enlarge\n");
    pane_free(pane);
}

static void nothing(void **state) {
    (void)state;
    const struct frame *bare = forge_frame(1),
                       *idle = io_frame(1, (struct forge_run[]){{0, 0}}, (struct forge_run[]){{0, 0}});
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, &bare, 1);
    forge_expect(pane, &look, 40, 3, false,

                 "─ Latency heat map ─────────────────────\n"
                 "not measured\n"
                 "\n");
    forge_key(pane, &look, KEY_VIEW_LEFT, false);
    forge_look(&look, &idle, 1);
    forge_expect(pane, &look, 40, 3, false,

                 "─ Latency heat map ────── Service time ─\n"
                 "none in the whole history\n"
                 "\n");
    forge_expect(pane, &look, 0, 0, false, "");
    forge_look(&look, NULL, 0);
    forge_expect(pane, &look, 40, 3, false,

                 " waiting for the first frame\n"
                 "\n"
                 "\n");
    pane_free(pane);
    frame_unref(bare);
    frame_unref(idle);
}

// The character alone tells more from less, and the heat tells it finer.
static void hotter_is_darker(void **state) {
    (void)state;
    const struct frame *ladder[24];
    struct look look;
    for (uint64_t i = 0; i < 24; i++)
        ladder[i] = io_frame(i + 1, (struct forge_run[]){{100000, 1u << i}, {0, 0}}, (struct forge_run[]){{0, 0}});
    forge_look(&look, ladder, 24);
    for (int ascii = 0; ascii < 2; ascii++) {
        static const char ramp[] = ".:-=+*#%@";
        struct pane *pane = pane_new(&view);
        struct grid *grid = grid_new(31, 4, ascii);
        pane_draw(pane, &look, grid_area(grid));
        const struct grid_cell *row = NULL;
        for (int y = 1; y < 4 && !row; y++)
            if (grid->cells[y * 31 + 30].role == ROLE_HEAT)
                row = &grid->cells[y * 31];
        assert_non_null(row);
        int levels = 1;
        for (int x = 8; x < 31; x++) {
            assert_true(row[x].heat > row[x - 1].heat);
            if (ascii)
                assert_true(strchr(ramp, (int)row[x].ch) >= strchr(ramp, (int)row[x - 1].ch));
            else
                assert_true(row[x].ch >= row[x - 1].ch || row[x].ch == 0x2588);
            levels += row[x].ch != row[x - 1].ch;
        }
        assert_int_equal(levels, ascii ? 9 : 4);
        grid_free(grid);
        pane_free(pane);
    }
    for (int i = 0; i < 24; i++)
        frame_unref(ladder[i]);
}

static double now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// 200x50 from 200 frames with six busy histograms each.
static void drawing_is_cheap(void **state) {
    (void)state;
    const struct frame *many[200];
    struct look look;
    for (uint64_t i = 0; i < 200; i++) {
        struct frame *frame = forge_frame(i + 1);
        struct hist_set *latency = hist_set_new(real_hist("io_latency"));
        for (int k = 0; k < 6; k++) {
            struct forge_run runs[161] = {{0, 0}};
            for (uint32_t r = 0; r < 160; r++)
                runs[r] = (struct forge_run){(uint64_t)(20000 * pow(1.05, r)) + 7 * i, 1 + r % 13};
            forge_hist(latency, k < 3 ? "vda" : "vdb", k % 3 == 0 ? "R" : k % 3 == 1 ? "W" : "F", runs);
        }
        struct section *section = forge_section("block", i + 1);
        section_hists(section, latency);
        frame_add_section(frame, section, 0);
        many[i] = frame;
    }
    forge_look(&look, many, 200);
    struct pane *pane = pane_new(&view);
    struct grid *grid = grid_new(200, 50, false);
    pane_draw(pane, &look, grid_area(grid));
    double best = 1e9;
    for (int i = 0; i < 20; i++) {
        double start = now_ms();
        pane_draw(pane, &look, grid_area(grid));
        best = fmin(best, now_ms() - start);
    }
    print_message("heat map 200x50 of 200 frames: %.2f ms\n", best);
    assert_true(best < 50); // far off, so that a sanitizer and a busy machine pass; the figure is above
    grid_free(grid);
    pane_free(pane);
    for (int i = 0; i < 200; i++)
        frame_unref(many[i]);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens),          cmocka_unit_test(cursor),  cmocka_unit_test(click),
        cmocka_unit_test(choice_is_shared), cmocka_unit_test(nothing), cmocka_unit_test(hotter_is_darker),
        cmocka_unit_test(drawing_is_cheap),
    };
    return cmocka_run_group_tests(tests, make, unmake);
}
