// Meters on literal screens: stacked bars, values, sparklines, and what is missing or stale. Bars alone as well.
#include "tests/unit/screens.h"

#include "views/bar.h"
#include "views/part_gauge.h"

static const struct series_def defs[] = {
    {"user_pct", "user", "", UNIT_PCT},     {"system_pct", "system", "", UNIT_PCT},
    {"wait_pct", "wait", "", UNIT_PCT},     {"used_kib", "used", "", UNIT_KIB},
    {"cached_kib", "cached", "", UNIT_KIB}, {"total_kib", "total", "", UNIT_KIB},
    {"read", "read", "", UNIT_BYTES_PER_S}, {"load", "load", "", UNIT_NONE},
    {"cpus", "cpus", "", UNIT_COUNT},
};
static const struct column device_columns[] = {
    {.name = "device", .title = "DEVICE", .type = COLUMN_TEXT, .width = 8},
    {.name = "util_pct", .title = "UTIL%", .unit = UNIT_PCT, .width = 6},
};
static const struct table_def devices = {.name = "devices", .columns = device_columns, .n_columns = 2, .n_keys = 1};

static const struct gauge gauges[] = {
    {.label = "CPU",
     .help = "busy",
     .values = {{.series = "user_pct", .role = ROLE_USER},
                {.series = "system_pct", .role = ROLE_SYSTEM, .ascii = '#'},
                {.series = "wait_pct", .role = ROLE_IOWAIT, .ascii = 'w', .quiet = true}},
     .full = 100,
     .warning = 0.5,
     .critical = 0.9},
    {.label = "Memory",
     .help = "used",
     .values = {{.series = "used_kib", .role = ROLE_USER},
                {.series = "cached_kib", .role = ROLE_IOWAIT, .ascii = 'c', .quiet = true}},
     .of = "total_kib"},
    {.label = "Disk",
     .help = "busiest",
     .values =
         {{.table = "devices", .column = "util_pct", .better = "block_devices", .largest = true, .role = ROLE_READ}},
     .full = 100},
    {.label = "Reads",
     .help = "reads",
     .values = {{.series = "read", .name = "r", .role = ROLE_READ}},
     .text = GAUGE_EACH},
    {.label = "Load",
     .help = "load",
     .values = {{.series = "load", .name = "now", .role = ROLE_USER}, {.series = "user_pct", .name = "and"}},
     .of = "cpus",
     .text = GAUGE_EACH,
     .apart = true},
    {0},
};
static const struct gauge_spec spec = {.gauges = gauges};
static const struct part parts[] = {{.kind = &part_gauge, .name = "meters", .spec = &spec, .min_height = 1}};
static const struct view view = {.name = "t", .title = "T", .question = "?", .parts = parts, .n_parts = 1};

static const struct frame *make(uint64_t number, const double values[9], const char *rows, uint64_t stale_ns) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("system", number);
    for (int i = 0; i < 9; i++)
        section_series(section, &defs[i], values[i]);
    section_table(section, forge_table(&devices, rows));
    frame_add_section(frame, section, stale_ns);
    return frame;
}

// Where another table measures it better, that counts: the busiest one may then be another one.
static void better_measure(void **state) {
    static const struct column columns[] = {
        {.name = "device", .type = COLUMN_TEXT},
        {.name = "busy_pct", .unit = UNIT_PCT, .overrides = "util_pct"},
    };
    static const struct table_def def = {.name = "block_devices", .columns = columns, .n_columns = 2, .n_keys = 1};
    const double values[9] = {0};
    const struct frame *frame = make(1, values, "vda|4.8\nvdb|30\nvdc|0", 0);
    struct section *section = forge_section("block", 1);
    struct look look;
    struct pane *pane = pane_new(&view);

    (void)state;
    section_table(section, forge_table(&def, "vda|32.6\nvdb|-"));
    frame_add_section((struct frame *)frame, section, 0);
    forge_look(&look, &frame, 1);
    forge_expect(pane, &look, 30, 3, true,
                 "CPU       0.0%\n"
                 "Memory    none\n"
                 "Disk      vda 32.6%\n");
    pane_free(pane);
    frame_unref(frame);
}

static void screens(void **state) {
    (void)state;
    const struct frame *frames[12];
    struct look look;
    struct pane *pane = pane_new(&view);
    for (int i = 0; i < 12; i++) {
        double values[] = {5.0 * i, 2.0 * i, 10, 4e6, 8e6, 16e6, i * i * 1e6, 0.25 * i, 4};
        frames[i] = make((uint64_t)i + 1, values, "vda|12.5\nvdb|93\nvdc|-", 0);
    }
    forge_look(&look, frames, 12);
    forge_expect(pane, &look, 80, 4, false,

                 "CPU       [██████▒ ] 77.0%               Reads     ▁▁▂▂▃▄▅▆▇█ r 115M/s\n"
                 "Memory    [██▒▒▒▒  ] 3.8G of 15.3G       Load      [██████  ] now 2.75 and 55.0%\n"
                 "Disk      [███████ ] vdb 93.0%\n"
                 "\n");
    forge_expect(pane, &look, 80, 4, true,

                 "CPU       [||||##w ] 77.0%               Reads     ...--==*## r 115M/s\n"
                 "Memory    [||cccc  ] 3.8G of 15.3G       Load      [||||||  ] now 2.75 and 55.0%\n"
                 "Disk      [||||||| ] vdb 93.0%\n"
                 "\n");
    forge_expect(pane, &look, 40, 6, true,

                 "CPU       [|||||##w ] 77.0%\n"
                 "Memory    [||ccccc  ] 3.8G of 15.3G\n"
                 "Disk      [|||||||| ] vdb 93.0%\n"
                 "Reads     ....--==*## r 115M/s\n"
                 "Load      [||||||   ] now 2.75 and 55.0%\n"
                 "\n");
    forge_expect(
        pane, &look, 110, 3, false,

        "CPU       [████████▒▒ ] ▁▂▂▃▃▄▄▅▆▆▇ 77.0%               Reads                  ▁▁▁▁▂▂▃▄▅▆▇█ r 115M/s\n"
        "Memory    [███▒▒▒▒▒   ] ▂▂▂▂▂▂▂▂▂▂▂ 3.8G of 15.3G       Load      [████████   ] ▁▁▂▂▃▃▄▄▅▅▆ now 2.75 and "
        "55.0%\n"
        "Disk      [██████████ ] ███████████ vdb 93.0%\n");
    forge_expect(pane, &look, 30, 6, true,

                 "CPU       77.0%\n"
                 "Memory    3.8G of 15.3G\n"
                 "Disk      vdb 93.0%\n"
                 "Reads     r 115M/s\n"
                 "Load      now 2.75 and 55.0%\n"
                 "\n");
    forge_expect(pane, &look, 5, 6, true,

                 "CPU\n"
                 "Memor\n"
                 "Disk\n"
                 "Reads\n"
                 "Load\n"
                 "\n");
    forge_expect(
        pane, &look, 168, 3, false,

        "CPU       [████████▒▒ ] ▁▂▂▃▃▄▄▅▆▆▇ 77.0%               Disk      [██████████ ] ███████████ vdb 93.0%         "
        "  Load      [████████   ] ▁▁▂▂▃▃▄▄▅▅▆ now 2.75 and 55.0%\n"
        "Memory    [███▒▒▒▒▒   ] ▂▂▂▂▂▂▂▂▂▂▂ 3.8G of 15.3G       Reads                  ▁▁▁▁▂▂▃▄▅▆▇█ r 115M/s\n"
        "\n");
    forge_text(pane, &look, FORMAT_TEXT,

               "== 2026-09-21T14:13:32.000Z  t  1.000 s  h ==\n"
               "  CPU       77.0%\n"
               "  Memory    3.8G of 15.3G\n"
               "  Disk      vdb 93.0%\n"
               "  Reads     r 115M/s\n"
               "  Load      now 2.75 and 55.0%\n"
               "\n");
    pane_free(pane);
    for (int i = 0; i < 12; i++)
        frame_unref(frames[i]);
}

static void missing(void **state) {
    (void)state;
    double nothing[] = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    double zero[] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    double some[] = {NAN, 3, NAN, 1e6, NAN, 16e6, 1e15, 1e9, 4};
    const struct frame *frames[] = {make(1, nothing, "", 0), make(2, zero, "vda|0", 0), make(3, some, "", 2000000000)};
    const struct frame *bare = forge_frame(4);
    struct look look;
    struct pane *pane = pane_new(&view);
    forge_look(&look, frames, 1);
    forge_expect(pane, &look, 80, 4, true,

                 "CPU       [        ] -                   Reads                r -\n"
                 "Memory    [        ] -                   Load      [        ] now - and -\n"
                 "Disk      [        ] -\n"
                 "\n");
    forge_look(&look, frames, 2);
    forge_expect(pane, &look, 80, 4, true,

                 "CPU       [        ] 0.0%                Reads              _ r 0/s\n"
                 "Memory    [        ] none                Load      [        ] now 0 and 0.0%\n"
                 "Disk      [        ] 0.0%\n"
                 "\n");
    forge_look(&look, frames, 3);
    forge_expect(pane, &look, 120, 6, true,

                 "CPU       [.            ]             _. 3.0%                Reads                                 "
                 "_# r 909 stale 2.0 s\n"
                 "Memory    [|            ]              . 977M of 15.3G       Load      [||||||||||||]             # "
                 "now 1000000000 and -\n"
                 "Disk      [             ]             _  -\n"
                 "\n"
                 "\n"
                 "! system is stale: its data is 2.0 s old\n");
    forge_look(&look, &bare, 1);
    forge_expect(pane, &look, 40, 6, true,

                 "CPU       [         ] -\n"
                 "Memory    [         ] -\n"
                 "Disk      [         ] -\n"
                 "Reads                 r -\n"
                 "Load      [         ] now - and -\n"
                 "\n");
    forge_look(&look, NULL, 0);
    forge_expect(pane, &look, 40, 2, true,

                 " waiting for the first frame\n"
                 "\n");
    pane_free(pane);
    for (int i = 0; i < 3; i++)
        frame_unref(frames[i]);
    frame_unref(bare);
}

static void colours_follow_the_share(void **state) {
    (void)state;
    static const enum role roles[] = {ROLE_TEXT, ROLE_WARNING, ROLE_CRITICAL, ROLE_STALE};
    for (int i = 0; i < 4; i++) {
        double values[] = {40 + i * 30 - (i == 3) * 50, 0, 0, 0, 0, 0, 0, 0, 0};
        const struct frame *frame = make(1, values, "", i == 3);
        struct look look;
        struct pane *pane = pane_new(&view);
        struct grid *grid = grid_new(40, 6, true);
        forge_look(&look, &frame, 1);
        pane_draw(pane, &look, grid_area(grid));
        assert_int_equal(grid->cells[22].role, roles[i]);
        assert_int_equal(grid->cells[11].role, i == 3 ? ROLE_STALE : ROLE_USER);
        grid_free(grid);
        pane_free(pane);
        frame_unref(frame);
    }
}

static void expect_bar(bool ascii, int width, double share, const char *expected) {
    struct grid *grid = grid_new(width, 1, ascii);
    bar_draw(grid_area(grid), 0, 0, width, share, ROLE_GRAPH);
    char text[64];
    grid_row_text(grid, 0, text, sizeof text);
    assert_string_equal(text, expected);
    grid_free(grid);
}

static void bars(void **state) {
    (void)state;
    expect_bar(false, 4, 0, "");
    expect_bar(false, 4, NAN, "");
    expect_bar(false, 4, -1, "");
    expect_bar(false, 4, 1, "████");
    expect_bar(false, 4, 7, "████");
    expect_bar(false, 4, 0.5, "██");
    expect_bar(false, 4, 0.40625, "█▋");
    expect_bar(false, 4, 1e-9, "▏");
    expect_bar(true, 4, 0.6, "##");
    expect_bar(true, 4, 1e-9, ".");
    expect_bar(true, 4, 1, "####");
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(screens), cmocka_unit_test(better_measure),
        cmocka_unit_test(missing), cmocka_unit_test(colours_follow_the_share),
        cmocka_unit_test(bars),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
