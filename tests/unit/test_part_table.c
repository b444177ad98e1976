// The table part: order, selection by key, columns on lines of any width, filter, search and the chooser.
#include "tests/unit/forge.h"

#include <stdio.h>

#include "views/part_table.h"

static unsigned n_formatted; // cells of CPU%

static size_t format_counted(union cell value, char *out, size_t size) {
    n_formatted++;
    return unit_format(UNIT_PCT, value.num, out, size);
}

static const struct column columns[] = {
    {.name = "pid", .title = "PID", .help = "process ID", .unit = UNIT_ID, .width = 5, .ascending = true},
    {.name = "tid", .title = "TID", .help = "thread ID", .unit = UNIT_ID, .width = 5, .ascending = true},
    {.name = "user", .title = "USER", .help = "user", .type = COLUMN_TEXT, .width = 6, .ascending = true},
    {.name = "cpu_pct", .title = "CPU%", .help = "CPU", .unit = UNIT_PCT, .width = 6, .format = format_counted},
    {.name = "reads_per_s", .title = "READ/s", .help = "reads", .unit = UNIT_PER_S, .width = 8},
    {.name = "command", .title = "COMMAND", .help = "command line", .type = COLUMN_TEXT, .ascending = true},
};
static const struct table_def def = {.name = "tasks", .help = "tasks", .columns = columns, .n_columns = 6, .n_keys = 2};

static const struct part parts[] = {{
    .kind = &part_table,
    .name = "tasks",
    .title = "Tasks",
    .spec =
        &(const struct table_spec){
            .source = {.tables = {"tasks"}, .sort = "cpu_pct"},
            .shown = "pid user cpu_pct reads_per_s command",
            .twin = "tid",
            .jump = {.pane = "disk", .columns = "user pid"},
        },
    .min_height = 2,
    .weight = 1,
}};
static const struct view view = {.name = "test", .title = "Test", .question = "?", .parts = parts, .n_parts = 1};

static const struct frame *frame_of(uint64_t number, const char *const *rows) {
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("tasks", number);

    section_table(section, forge_table(&def, rows));
    frame_add_section(frame, section, 0);
    return frame;
}

static const char *const three[] = {
    "pid=10|tid=10|user=root|cpu_pct=1|reads_per_s=5|command=init",
    "pid=20|tid=20|user=anna|cpu_pct=90|command=cc -O2 long.c",
    "pid=30|tid=30|user=bob|cpu_pct=50|reads_per_s=812|command=fio",
    NULL,
};

static bool press(struct pane *pane, const struct look *look, int key) {
    struct pane_answer answer;

    return pane_key(pane, look, key, 0, 0, &answer);
}

static void test_sorted_and_aligned(void **state) {
    struct look look = {.frame = frame_of(1, three)};
    struct pane *pane = pane_new(&view);

    (void)state;
    expect_screen(pane, &look, 48, 6,
                  "─ Tasks ────────────────────────────────────────\n"
                  "  PID USER    ▼CPU%   READ/s COMMAND\n"
                  "   20 anna     90.0        - cc -O2 long.c\n"
                  "   30 bob      50.0      812 fio\n"
                  "   10 root      1.0      5.0 init\n");
    assert_true(pane_sort(pane, &look, "-command"));
    assert_false(pane_sort(pane, &look, "colour"));
    expect_screen(pane, &look, 40, 5,
                  "─ Tasks ────────────────────────────────\n"
                  "  PID USER     CPU% COMMAND▲\n"
                  "   20 anna     90.0 cc -O2 long.c\n"
                  "   30 bob      50.0 fio\n"
                  "   10 root      1.0 init\n");
    // What is not measured stands last in both directions.
    assert_true(pane_sort(pane, &look, "-reads_per_s"));
    expect_screen(pane, &look, 48, 4,
                  "─ Tasks ───────────────────────────── 1-2 of 3 ─\n"
                  "  PID USER     CPU%  ▲READ/s COMMAND\n"
                  "   10 root      1.0      5.0 init\n"
                  "   30 bob      50.0      812 fio\n");
    assert_true(press(pane, &look, 'I'));
    assert_true(press(pane, &look, KEY_VIEW_END));
    expect_screen(pane, &look, 20, 3,
                  "─ Tasks ─ 3-3 of 3 ─\n"
                  "  PID USER     CPU%\n"
                  "   20 anna     90.0\n");
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_threads_show_their_ids(void **state) {
    static const char *const rows[] = {"pid=10|tid=10|cpu_pct=2", "pid=10|tid=11|cpu_pct=3", NULL};
    struct look look = {.frame = frame_of(1, rows)};
    struct pane *pane = pane_new(&view);

    (void)state;
    expect_screen(pane, &look, 40, 4,
                  "─ Tasks ────────────────────────────────\n"
                  "  PID   TID USER    ▼CPU% COMMAND\n"
                  "   10    11 -         3.0 -\n"
                  "   10    10 -         2.0 -\n");
    pane_free(pane);
    frame_unref(look.frame);
}

// The selected row keeps its highlight while the order changes under it; a row that is gone gives way to the next.
static void test_selection_follows_its_row(void **state) {
    static const char *const later[] = {
        "pid=10|tid=10|user=root|cpu_pct=99|command=init",
        "pid=20|tid=20|user=anna|cpu_pct=90|command=cc",
        "pid=30|tid=30|user=bob|cpu_pct=50|command=fio",
        NULL,
    };
    static const char *const gone[] = {"pid=10|tid=10|cpu_pct=1|command=init", "pid=30|tid=30|cpu_pct=5|command=fio",
                                       NULL};
    const struct frame *frames[] = {frame_of(1, three), frame_of(2, later), frame_of(3, gone)};
    static const int rows[] = {1, 2, 1}; // of the highlighted line
    struct pane *pane = pane_new(&view);
    struct look look = {.frame = frames[0]};

    (void)state;
    free(pane_screen(pane, &look, 40, 6, false));
    assert_true(press(pane, &look, KEY_VIEW_DOWN)); // the first row: PID 20
    for (int i = 0; i < 3; i++) {
        struct grid *grid = grid_new(40, 6, false);
        look.frame = frames[i];
        pane_draw(pane, &look, grid_area(grid));
        for (int y = 1; y < 5; y++)
            assert_int_equal(grid->cells[y * 40 + 2].role == ROLE_SELECTED, i < 2 ? y == rows[i] + 1 : y == 3);
        grid_free(grid);
    }
    assert_true(press(pane, &look, KEY_VIEW_BACK)); // nothing selected any more
    assert_false(press(pane, &look, KEY_VIEW_BACK));
    pane_free(pane);
    for (int i = 0; i < 3; i++)
        frame_unref(frames[i]);
}

static void test_filter_and_search(void **state) {
    struct look look = {.frame = frame_of(1, three)};
    struct pane *pane = pane_new(&view);

    (void)state;
    pane_set_filter(pane, "FIO");
    expect_screen(pane, &look, 48, 4,
                  "─ Tasks ─────────────────── 1 of 3, filter FIO ─\n"
                  "  PID USER    ▼CPU%   READ/s COMMAND\n"
                  "   30 bob      50.0      812 fio\n");
    pane_set_filter(pane, "20"); // a key, not the 812 or 90
    char *csv = pane_written(pane, &look, FORMAT_CSV);
    assert_non_null(strstr(csv, "tasks,2026-01-31T12:00:01.123Z,20,20,anna,90,,cc -O2 long.c\n"));
    assert_null(strstr(csv, "fio"));
    free(csv);
    pane_set_filter(pane, "nobody\033");
    expect_screen(pane, &look, 40, 4,
                  "─ Tasks ────── 0 of 3, filter nobody\\e ─\n"
                  "  PID USER    ▼CPU% COMMAND\n"
                  " no row contains \"nobody\\e\"\n");
    // A column's exact value; '=' after anything else is a text.
    static const struct {
        const char *filter;
        int rows;
    } exact[] = {{"pid=20", 1},     {"pid=2", 0},    {"PID=20", 1},       {"user=bob", 1},
                 {"user=bo", 0},    {"cpu_pct=", 3}, {"pid=x", 0},        {"nothing=", 0},
                 {"cpu_pct=90", 1}, {"=", 0},        {"cpu_pct=90.0", 1}, {"reads_per_s=-", 1}};
    for (size_t i = 0; i < sizeof(exact) / sizeof(exact[0]); i++) {
        pane_set_filter(pane, exact[i].filter);
        char *rows = pane_written(pane, &look, FORMAT_CSV);
        int n = 0;
        for (char *at = rows; (at = strstr(at, "tasks,2026")); at++)
            n++;
        if (n != exact[i].rows)
            fail_msg("%s: %d rows", exact[i].filter, n);
        free(rows);
    }
    pane_set_filter(pane, "pid=2");
    expect_screen(pane, &look, 40, 4,
                  "─ Tasks ───────── 0 of 3, filter pid=2 ─\n"
                  "  PID USER    ▼CPU% COMMAND\n"
                  " no row matches pid=2\n");
    assert_true(press(pane, &look, KEY_VIEW_BACK)); // filter off
    strcpy(pane->search, "init");
    assert_true(pane_search(pane, &look, 1));
    assert_true(press(pane, &look, 'n'));
    struct pane_answer answer;
    assert_true(pane_key(pane, &look, KEY_VIEW_ENTER, 0, 0, &answer));
    assert_string_equal(answer.jump_pane, "disk");
    assert_string_equal(answer.jump_filter, "user=root");
    strcpy(pane->search, "no such thing");
    assert_false(pane_search(pane, &look, 1));
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_chooser(void **state) {
    struct look look = {.frame = frame_of(1, three)};
    struct pane *pane = pane_new(&view);

    (void)state;
    assert_true(press(pane, &look, 'f'));
    expect_screen(pane, &look, 60, 8,
                  "─ Tasks ────────────────────────────────────────────────────\n"
                  " Columns: Space shows or hides, < > move, Enter done\n"
                  "[ 1] pid                      process ID\n"
                  "[  ] tid                      thread ID\n"
                  "[ 2] user                     user\n"
                  "[ 3] cpu_pct                  CPU\n"
                  "[ 4] reads_per_s              reads\n"
                  "[ 5] command                  command line\n");
    press(pane, &look, KEY_VIEW_DOWN);
    press(pane, &look, KEY_VIEW_DOWN);
    press(pane, &look, ' '); // user off
    press(pane, &look, KEY_VIEW_DOWN);
    press(pane, &look, '>'); // cpu_pct behind reads_per_s
    press(pane, &look, KEY_VIEW_ENTER);
    expect_screen(pane, &look, 48, 5,
                  "─ Tasks ────────────────────────────────────────\n"
                  "  PID   READ/s  ▼CPU% COMMAND\n"
                  "   20        -   90.0 cc -O2 long.c\n"
                  "   30      812   50.0 fio\n"
                  "   10      5.0    1.0 init\n");
    pane_free(pane);
    frame_unref(look.frame);
}

// What names a row stays where it is: its keys wherever they stand, and what is before the first number.
static void test_columns_scroll(void **state) {
    struct look look = {.frame = frame_of(1, three)};
    struct pane *pane = pane_new(&view);

    (void)state;
    expect_screen(pane, &look, 38, 3,
                  "─ Tasks ─────────────────── 1-1 of 3 ─\n"
                  "  PID USER    ▼CPU% COMMAND\n"
                  "   20 anna     90.0 cc -O2 long.c\n");
    assert_true(press(pane, &look, KEY_VIEW_RIGHT));
    expect_screen(pane, &look, 38, 3,
                  "─ Tasks ─────────────────── 1-1 of 3 ─\n"
                  "  PID USER     READ/s COMMAND\n"
                  "   20 anna          - cc -O2 long.c\n");
    assert_false(press(pane, &look, KEY_VIEW_RIGHT)); // all there
    assert_true(press(pane, &look, KEY_VIEW_LEFT));
    assert_false(press(pane, &look, KEY_VIEW_LEFT));
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_names_stay_while_columns_scroll(void **state) {
    static const struct column calls[] = {
        {.name = "pid", .title = "PID", .help = "p", .unit = UNIT_ID, .width = 5},
        {.name = "op", .title = "OP", .help = "o", .type = COLUMN_TEXT, .width = 4},
        {.name = "comm", .title = "COMM", .help = "c", .type = COLUMN_TEXT, .width = 8},
        {.name = "a_us", .title = "A", .help = "a", .unit = UNIT_US, .width = 8},
        {.name = "b_us", .title = "B", .help = "b", .unit = UNIT_US, .width = 8},
        {.name = "c_us", .title = "C", .help = "c", .unit = UNIT_US, .width = 8},
    };
    static const struct table_def calls_def = {
        .name = "calls", .help = "calls", .columns = calls, .n_columns = 6, .n_keys = 2};
    static const struct table_spec calls_spec = {.source = {.tables = {"calls"}},
                                                 .shown = "pid comm a_us op b_us c_us"};
    static const struct part part = {
        .kind = &part_table,
        .name = "calls",
        .spec = &calls_spec,
        .min_height = 2,
    };
    static const struct view one = {.name = "test", .title = "Test", .question = "?", .parts = &part, .n_parts = 1};
    static const char *const rows[] = {"pid=7|comm=fio|op=R|a_us=1|b_us=2|c_us=3", NULL};
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("calls", 1);
    struct look look = {.frame = frame};
    struct pane *pane = pane_new(&one);

    (void)state;
    section_table(section, forge_table(&calls_def, rows));
    frame_add_section(frame, section, 0);
    expect_screen(pane, &look, 32, 2, "  PID COMM            A OP\n    7 fio         1.0us R\n");
    assert_true(press(pane, &look, KEY_VIEW_RIGHT));
    expect_screen(pane, &look, 32, 2, "  PID COMM     OP          B\n    7 fio      R       2.0us\n");
    assert_true(press(pane, &look, KEY_VIEW_RIGHT));
    expect_screen(pane, &look, 32, 2, "  PID COMM     OP          C\n    7 fio      R       3.0us\n");
    assert_false(press(pane, &look, KEY_VIEW_RIGHT));
    // On a line that the names would fill, the others have a third of it all the same.
    expect_screen(pane, &look, 16, 2, "  PID OP\n    7 R\n");
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_mouse(void **state) {
    struct look look = {.frame = frame_of(1, three)};
    struct pane *pane = pane_new(&view);
    struct pane_answer answer;

    (void)state;
    free(pane_screen(pane, &look, 48, 6, false));
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 7, 1, &answer)); // the header of USER
    expect_screen(pane, &look, 40, 3,
                  "─ Tasks ───────────────────── 1-1 of 3 ─\n"
                  "  PID USER▲    CPU% COMMAND\n"
                  "   20 anna     90.0 cc -O2 long.c\n");
    free(pane_screen(pane, &look, 48, 6, false));
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 7, 3, &answer)); // the second row
    assert_null(answer.jump_pane);
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 7, 3, &answer)); // again: Enter
    assert_string_equal(answer.jump_filter, "user=bob");
    assert_false(pane_key(pane, &look, KEY_VIEW_CLICK, 7, 5, &answer));
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_no_frame_no_table(void **state) {
    struct look look = {0};
    struct pane *pane = pane_new(&view);

    (void)state;
    expect_screen(pane, &look, 40, 3, " waiting for the first frame\n");
    assert_false(press(pane, &look, KEY_VIEW_DOWN));
    assert_false(pane_sort(pane, &look, "pid"));
    look.frame = forge_frame(1);
    expect_screen(pane, &look, 40, 3, "─ Tasks ────────────────────────────────\n not available\n");
    press(pane, &look, 'f');
    press(pane, &look, '>');
    draw_all_sizes(pane, &look);
    pane_free(pane);
    frame_unref(look.frame);
}

// ---- ten thousand rows ----

static const struct frame *many(uint64_t number, uint32_t rows) {
    struct table_builder *builder = table_builder_new(&def);
    struct frame *frame = forge_frame(number);
    struct section *section = forge_section("tasks", number);

    srand((unsigned)number);
    for (uint32_t i = 0; i < rows; i++) {
        uint32_t slot = table_builder_add(builder);
        table_builder_set_num(builder, slot, 0, i + 1);
        table_builder_set_num(builder, slot, 1, i + 1);
        table_builder_set_text(builder, slot, 2, text_from(i % 3 ? "root" : "anna"));
        table_builder_set_num(builder, slot, 3, i % 10 ? 0 : rand() % 100); // most are idle, as on a real box
        table_builder_set_text(builder, slot, 5, text_printf("worker %u", rows - i));
    }
    section_table(section, table_builder_seal(builder));
    table_builder_free(builder);
    frame_add_section(frame, section, 0);
    return frame;
}

// The order that is made piece by piece while somebody scrolls is the one that a whole sort makes.
static void test_order_in_pieces(void **state) {
    static const struct rows_source by_cpu = {.tables = {"tasks"}, .sort = "cpu_pct"};
    static const char *const sorts[] = {"cpu_pct", "user", "command", "pid", "reads_per_s"};
    const struct frame *frame = many(7, 3001);

    (void)state;
    for (size_t s = 0; s < sizeof(sorts) / sizeof(sorts[0]); s++) {
        for (int ascending = 0; ascending < 2; ascending++) {
            struct rows pieces = {0}, whole = {0};
            rows_load(&pieces, &by_cpu, frame, NULL, sorts[s], ascending);
            rows_load(&whole, &by_cpu, frame, NULL, sorts[s], ascending);
            assert_int_equal(pieces.n, 3001);
            rows_at(&whole, 3000);
            int column = join_column(pieces.join, sorts[s]);
            for (size_t i = 0; i < pieces.n; i++) {
                size_t row = rows_at(&pieces, i);
                assert_int_equal(row, rows_at(&whole, i));
                union cell key[2] = {join_cell(pieces.join, row, 0), join_cell(pieces.join, row, 1)};
                assert_int_equal(rows_place(&whole, key, 2), i);
                if (i % 97 == 0)
                    assert_int_equal(rows_place(&pieces, key, 2), i);
                if (!i)
                    continue;
                size_t before = rows_at(&pieces, i - 1);
                const struct column *by = pieces.join->columns[column];
                union cell a = join_cell(pieces.join, before, (uint16_t)column);
                union cell b = join_cell(pieces.join, row, (uint16_t)column);
                if (by->type == COLUMN_NUMBER) { // as exact as they are shown
                    a.num = unit_round(by->unit, a.num);
                    b.num = unit_round(by->unit, b.num);
                }
                int order = column_compare_sorted(by, a, b, !ascending);
                assert_true(order < 0 || (order == 0 && join_cell(pieces.join, before, 0).num < key[0].num));
            }
            rows_done(&pieces);
            rows_done(&whole);
        }
    }
    frame_unref(frame);
}

// The cells that are formatted to draw a new frame of so many rows, and to draw it again.
static void formatted(uint32_t rows, unsigned *first, unsigned *again) {
    struct pane *pane = pane_new(&view);
    struct grid *grid = grid_new(200, 50, false);
    struct look look = {0};
    const struct frame *frames[8];

    *first = *again = 0;
    for (uint64_t i = 0; i < 8; i++) {
        look.frame = frames[i] = many(i + 1, rows);
        n_formatted = 0;
        pane_draw(pane, &look, grid_area(grid));
        *first = n_formatted > *first ? n_formatted : *first;
        n_formatted = 0;
        pane_draw(pane, &look, grid_area(grid));
        *again = n_formatted > *again ? n_formatted : *again;
        press(pane, &look, KEY_VIEW_DOWN);
    }
    for (int i = 0; i < 8; i++)
        frame_unref(frames[i]);
    grid_free(grid);
    pane_free(pane);
}

// Text is made for the rows on the screen only, however many there are.
static void test_ten_thousand_rows(void **state) {
    unsigned few[2], many_rows[2];

    (void)state;
    formatted(1000, &few[0], &few[1]);
    formatted(10000, &many_rows[0], &many_rows[1]);
    assert_in_range(many_rows[0], 40, 2 * 50);
    assert_in_range(many_rows[1], 40, 2 * 50);
    assert_int_equal(many_rows[0], few[0]);
    assert_int_equal(many_rows[1], few[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sorted_and_aligned),
        cmocka_unit_test(test_threads_show_their_ids),
        cmocka_unit_test(test_selection_follows_its_row),
        cmocka_unit_test(test_filter_and_search),
        cmocka_unit_test(test_chooser),
        cmocka_unit_test(test_columns_scroll),
        cmocka_unit_test(test_names_stay_while_columns_scroll),
        cmocka_unit_test(test_mouse),
        cmocka_unit_test(test_no_frame_no_table),
        cmocka_unit_test(test_order_in_pieces),
        cmocka_unit_test(test_ten_thousand_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
