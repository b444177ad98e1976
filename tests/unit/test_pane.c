// Panes: where the parts stand, whose keys are whose, and that stale, lost and missing data is said.
#include "tests/unit/forge.h"

#include <stdio.h>

#include "views/pane_parts.h"
#include "views/part_table.h"

static const struct column columns[] = {
    {.name = "device", .title = "DEVICE", .help = "device", .type = COLUMN_TEXT, .width = 8, .ascending = true},
    {.name = "reads_per_s", .title = "READ/s", .help = "reads", .unit = UNIT_PER_S, .width = 8},
};
static const struct table_def
    left_def = {.name = "left", .help = "left", .columns = columns, .n_columns = 2, .n_keys = 1},
    right_def = {.name = "right", .help = "right", .columns = columns, .n_columns = 2, .n_keys = 1};

#define TABLE(name_, title_, weight_, ...)                                                                             \
    {                                                                                                                  \
        .kind = &part_table, .name = name_, .title = title_,                                                           \
        .spec = &(const struct table_spec){.source = {.tables = {name_}}}, .min_height = 2, .weight = weight_,         \
        __VA_ARGS__                                                                                                    \
    }
static const struct part parts[] = {TABLE("left", "Left", 1), TABLE("right", "Right", 1, .right = true),
                                    TABLE("nowhere", "Nowhere", 0)};
static const struct view view = {
    .name = "test",
    .title = "Test",
    .question = "?",
    .needs = (const char *const[]){"one", "two", NULL},
    .parts = parts,
    .n_parts = 3,
    .wide_from = 60,
};

static struct section *section_of(const char *collector, const struct table_def *def) {
    static const char *const rows[] = {"device=vda|reads_per_s=812", "device=vdb|reads_per_s=5", NULL};
    struct section *section = forge_section(collector, 1);

    section_table(section, forge_table(def, rows));
    return section;
}

static const struct frame *frame_of(struct section *one, struct section *two, uint64_t stale_ns) {
    struct frame *frame = forge_frame(1);

    frame_add_section(frame, one, 0);
    frame_add_section(frame, two, stale_ns);
    return frame;
}

static void test_one_below_the_other(void **state) {
    struct look look = {.frame = frame_of(section_of("one", &left_def), section_of("two", &right_def), 0)};
    struct pane *pane = pane_new(&view);

    (void)state;
    expect_screen(pane, &look, 40, 8,
                  "─ ▸ Left ──────────────────── 1-1 of 2 ─\n"
                  "DEVICE     READ/s\n"
                  "vda           812\n"
                  "─ Right ───────────────────── 1-1 of 2 ─\n"
                  "DEVICE     READ/s\n"
                  "vda           812\n"
                  "─ Nowhere ──────────────────────────────\n"
                  " not available\n");
    pane_free(pane);
    frame_unref(look.frame);
}

static int one_row(struct part_context *ctx, int width) {
    (void)ctx;
    (void)width;
    return 1;
}

static void says_filter(struct part_context *ctx, char *out, size_t size) {
    (void)ctx;
    snprintf(out, size, "a pump that has a long name, filter of it");
}

// What a part says stands there whole or not at all, whatever its words are.
static void test_status_is_not_cut(void **state) {
    static const struct part_kind kind = {.height = one_row, .status = says_filter};
    static const struct part pump[] = {{.kind = &kind, .name = "left", .title = "Pump", .min_height = 1}};
    static const struct view water = {.name = "water", .title = "Water", .parts = pump, .n_parts = 1};
    struct look look = {.frame = frame_of(section_of("one", &left_def), section_of("two", &right_def), 0)};
    struct pane *pane = pane_new(&water);

    (void)state;
    expect_screen(pane, &look, 60, 2, "─ Pump ───────── a pump that has a long name, filter of it ─\n");
    expect_screen(pane, &look, 40, 2, "─ Pump ─────────────────────────────────\n");
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_focus_gets_the_keys(void **state) {
    struct look look = {.frame = frame_of(section_of("one", &left_def), section_of("two", &right_def), 0)};
    struct pane *pane = pane_new(&view);
    struct pane_answer answer;

    (void)state;
    assert_int_equal(pane->focus, 0);
    assert_true(pane_key(pane, &look, 'o', 0, 0, &answer));
    assert_int_equal(pane->focus, 1);
    assert_true(pane_key(pane, &look, 'o', 0, 0, &answer));
    assert_true(pane_key(pane, &look, 'o', 0, 0, &answer));
    assert_int_equal(pane->focus, 0);
    assert_true(pane_key(pane, &look, 'O', 0, 0, &answer));
    assert_int_equal(pane->focus, 2);
    assert_true(pane_key(pane, &look, KEY_VIEW_DOWN, 0, 0, &answer)); // no rows there: another part takes it
    free(pane_screen(pane, &look, 80, 12, false));
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 50, 2, &answer)); // a row of the right part
    assert_int_equal(pane->focus, 1);
    assert_true(pane_key(pane, &look, KEY_VIEW_CLICK, 5, 0, &answer)); // the title of the left one
    assert_int_equal(pane->focus, 0);
    assert_false(pane_key(pane, &look, KEY_VIEW_CLICK, 500, 500, &answer));
    assert_false(pane_key(pane, &look, 'Z', 0, 0, &answer));
    pane_free(pane);
    frame_unref(look.frame);
}

static int parts_hidden(const struct pane *pane) {
    return __builtin_popcount(pane->layout->listed & ~pane->layout->drawn);
}

// The parts that a key leads to though they have no room.
static void test_more_parts(void **state) {
    struct look look = {.frame = frame_of(section_of("one", &left_def), section_of("two", &right_def), 0)};
    struct pane *pane = pane_new(&view);
    struct pane_answer answer;

    (void)state;
    free(pane_screen(pane, &look, 40, 20, false));
    assert_int_equal(parts_hidden(pane), 0);
    free(pane_screen(pane, &look, 40, 6, false));
    assert_int_equal(parts_hidden(pane), 1);
    free(pane_screen(pane, &look, 40, 3, false));
    assert_int_equal(parts_hidden(pane), 2);
    assert_true(pane_key(pane, &look, 'o', 0, 0, &answer));
    char *screen = pane_screen(pane, &look, 40, 3, false);
    assert_non_null(strstr(screen, "Right"));
    assert_int_equal(parts_hidden(pane), 2);
    free(screen);
    struct look nothing = {0};
    free(pane_screen(pane, &nothing, 40, 3, false));
    assert_int_equal(parts_hidden(pane), 0);
    pane_free(pane);
    frame_unref(look.frame);
}

static const struct part left_and_optional[] = {
    TABLE("left", "Left", 1),
    {.kind = &part_table,
     .name = "right",
     .title = "Right",
     .spec = &(const struct table_spec){.source = {.tables = {"right"}}, .optional = true},
     .min_height = 2,
     .weight = 1},
};

// What had the keys and has nothing left to show gives them back, but not while its columns are being chosen.
static void test_focus_is_in_sight(void **state) {
    static const struct view both = {.name = "two", .title = "Two", .parts = left_and_optional, .n_parts = 2};
    struct look full = {.frame = frame_of(section_of("one", &left_def), section_of("two", &right_def), 0)};
    struct section *none = forge_section("two", 1);
    section_table(none, forge_table(&right_def, NULL));
    struct look empty = {.frame = frame_of(section_of("one", &left_def), none, 0)};
    struct pane *pane = pane_new(&both);
    struct pane_answer answer;

    (void)state;
    free(pane_screen(pane, &full, 40, 12, false));
    assert_true(pane_key(pane, &full, 'o', 0, 0, &answer));
    assert_true(pane_key(pane, &full, 'f', 0, 0, &answer));
    free(pane_screen(pane, &empty, 40, 12, false));
    assert_int_equal(pane->focus, 1);
    assert_true(pane_key(pane, &empty, KEY_VIEW_BACK, 0, 0, &answer));
    free(pane_screen(pane, &empty, 40, 12, false));
    assert_int_equal(pane->focus, 0);
    free(pane_screen(pane, &full, 40, 12, false));
    assert_int_equal(pane->focus, 0);
    pane_free(pane);
    frame_unref(full.frame);
    frame_unref(empty.frame);
}

// A minute, and a few frames where they are long.
static void test_optional_keeps_room(void **state) {
    static const struct view alone = {.name = "one", .title = "One", .parts = left_and_optional + 1, .n_parts = 1};
    const struct frame *window[70];

    (void)state;
    for (uint64_t i = 0; i < 70; i++) {
        struct frame *frame = forge_frame(i);
        struct section *section = forge_section("two", i);
        section_table(section, forge_table(&right_def, i ? NULL : (const char *const[]){"device=vda", NULL}));
        frame_add_section(frame, section, 0);
        window[i] = frame;
    }
    for (size_t length = 1; length <= 70; length += 23) { // 1, 24, 47, 70 s
        struct pane *pane = pane_new(&alone);
        struct look look = {.frame = window[length - 1], .window = window, .n_window = length};
        char *text = pane_screen(pane, &look, 40, 4, false);
        assert_int_equal(strstr(text, "Right") != NULL, length <= 60);
        free(text);
        pane_free(pane);
    }
    const struct frame *slow[] = {window[0], window[65], window[69]};
    struct look look = {.frame = window[69], .window = slow, .n_window = 3};
    struct pane *pane = pane_new(&alone);
    char *text = pane_screen(pane, &look, 40, 4, false);
    assert_non_null(strstr(text, "Right"));
    free(text);
    pane_free(pane);
    for (size_t i = 0; i < 70; i++)
        frame_unref(window[i]);
}

static void test_stale_lost_and_notes(void **state) {
    struct section *one = section_of("one", &left_def);

    (void)state;
    section_events(one, 1000, 12);
    section_note(one, SEVERITY_INFO, NULL, "by the way", NULL);
    section_note(one, SEVERITY_CRITICAL, NULL, "disk gone\033[31m", "plug it in");
    struct look look = {.frame = frame_of(one, section_of("two", &right_def), 3200000000ull)};
    struct pane *pane = pane_new(&view);
    expect_screen(pane, &look, 80, 20,
                  "─ ▸ Left ───────────── 12 events lost ─ ─ Right ────────────────── stale 3.2 s ─\n"
                  "DEVICE     READ/s                       DEVICE     READ/s\n"
                  "vda           812                       vda           812\n"
                  "vdb           5.0                       vdb           5.0\n"
                  "─ Nowhere ──────────────────────────────────────────────────────────────────────\n"
                  " not available\n"
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
                  "! disk gone\\e[31m - plug it in\n"
                  "! two is stale: its data is 3.2 s old\n"
                  "! by the way\n");
    draw_all_sizes(pane, &look);
    pane_free(pane);
    frame_unref(look.frame);
}

// A note about a series that no part shows is nobody's here; a table that shows all its columns shows no series.
static void test_note_of_a_series(void **state) {
    static const struct series_def series = {.name = "aside_pct"};
    struct section *one = section_of("one", &left_def);
    struct pane_notes notes;

    (void)state;
    section_series(one, &series, 1);
    section_note(one, SEVERITY_INFO, "aside_pct", "aside is not measured", NULL);
    section_note(one, SEVERITY_INFO, "reads_per_s", "reads are not measured", NULL);
    struct look look = {.frame = frame_of(one, section_of("two", &right_def), 0), .live = true};
    struct pane *pane = pane_new(&view);
    pane_notes(pane, &look, NOTES_OF_PANE, &notes);
    assert_int_equal(notes.n, 1);
    assert_string_equal(notes.notes[0].text, "reads are not measured");
    pane_notes(pane, &look, NOTES_OF_ALL, &notes);
    assert_int_equal(notes.n, 2);
    pane_free(pane);
    frame_unref(look.frame);
}

static struct section *blank_of(const char *collector, const struct table_def *def, enum section_state state) {
    struct section *section = forge_section(collector, 1);

    section_set_state(section, state);
    section_table(section, forge_table(def, NULL));
    return section;
}

// A note about a column that has no room takes no line from what has; the help has it.
static void test_note_of_a_column_without_room(void **state) {
    struct section *one = section_of("one", &left_def);
    struct pane_notes notes;

    (void)state;
    section_note(one, SEVERITY_INFO, "reads_per_s", "reads are not measured", NULL);
    struct look look = {.frame = frame_of(one, section_of("two", &right_def), 0), .live = true};
    struct pane *pane = pane_new(&view);
    free(pane_screen(pane, &look, 60, 12, false));
    pane_notes(pane, &look, NOTES_OF_DRAWN, &notes);
    assert_int_equal(notes.n, 1);
    free(pane_screen(pane, &look, 12, 12, false));
    pane_notes(pane, &look, NOTES_OF_DRAWN, &notes);
    assert_int_equal(notes.n, 0);
    pane_notes(pane, &look, NOTES_OF_PANE, &notes);
    assert_int_equal(notes.n, 1);
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_missing_source(void **state) {
    struct section *one = section_of("one", &left_def);

    (void)state;
    section_set_state(one, SECTION_UNAVAILABLE);
    section_note(one, SEVERITY_WARNING, NULL, "no tracefs here", "mount it");
    struct look look = {.frame = frame_of(one, section_of("two", &right_def), 0)};
    struct pane *pane = pane_new(&view);
    char *text = pane_screen(pane, &look, 60, 20, false);
    assert_non_null(strstr(text, "not available ─"));
    assert_non_null(strstr(text, "! no tracefs here - mount it"));
    free(text);
    pane_free(pane);
    frame_unref(look.frame);
    // Without a row, it is not "nothing": on the screen, in files, and whatever the filter.
    look.frame = frame_of(blank_of("one", &left_def, SECTION_UNAVAILABLE), section_of("two", &right_def), 0);
    pane = pane_new(&view);
    for (int filtered = 0; filtered < 2; filtered++) {
        pane_set_filter(pane, filtered ? "vd" : "");
        text = pane_screen(pane, &look, 57, 20, false);
        assert_non_null(strstr(text, "DEVICE     READ/s\n not measured\n"));
        free(text);
        text = pane_written(pane, &look, FORMAT_TEXT);
        assert_non_null(strstr(text, "Left\n  not measured\n"));
        free(text);
    }
    pane_free(pane);
    frame_unref(look.frame);
}

// An older frame without a collector that runs only while it is looked at: nothing may sound like a measured nothing.
static void test_not_recorded_then(void **state) {
    struct look look = {.frame = frame_of(blank_of("one", &left_def, SECTION_STARTING),
                                          blank_of("two", &right_def, SECTION_STARTING), 0)};
    struct look half = {.frame =
                            frame_of(section_of("one", &left_def), blank_of("two", &right_def, SECTION_STARTING), 0)};
    struct pane *pane = pane_new(&view);

    (void)state;
    expect_screen(pane, &look, 80, 9, " not recorded then: this collector runs only while shown (p pins the pane)\n");
    draw_all_sizes(pane, &look);
    expect_screen(pane, &half, 57, 9,
                  "─ ▸ Left ────────────────────────────────────────────────\n"
                  "DEVICE     READ/s\n"
                  "vda           812\n"
                  "vdb           5.0\n"
                  "─ Right ───────────────────────────── not recorded then ─\n"
                  "DEVICE     READ/s\n"
                  " not recorded then: this collector runs only while shown\n"
                  "─ Nowhere ───────────────────────────────────────────────\n"
                  " not available\n");
    char *text = pane_written(pane, &look, FORMAT_TEXT);
    assert_null(strstr(text, "nothing"));
    assert_null(strstr(text, "has delivered no data yet"));
    assert_non_null(strstr(text, "  not recorded then: this collector runs only while shown (p pins the pane)\n"));
    free(text);
    look.live = true; // there it has only begun
    text = pane_screen(pane, &look, 80, 9, false);
    assert_non_null(strstr(text, " starting ─"));
    assert_non_null(strstr(text, " not measured yet\n"));
    assert_non_null(strstr(text, "! one has delivered no data yet"));
    free(text);
    struct section *waits = blank_of("one", &left_def, SECTION_STARTING); // which it tells itself
    section_note(waits, SEVERITY_WARNING, NULL, "one has delivered nothing for 3 s: it waits for its trace buffers",
                 NULL);
    struct look why = {.frame = frame_of(waits, blank_of("two", &right_def, SECTION_OK), 0), .live = true};
    text = pane_screen(pane, &why, 80, 9, false);
    assert_null(strstr(text, "anything yet"));
    assert_non_null(strstr(text, "! one has delivered nothing for 3 s: it waits for its trace buffers"));
    free(text);
    frame_unref(why.frame);
    pane_free(pane);
    frame_unref(look.frame);
    frame_unref(half.frame);
}

// The list to choose columns from has eight rows on a small screen, whatever the part has else.
static void test_chooser_has_room(void **state) {
    static const struct column many[] = {
        {.name = "a", .help = "1"}, {.name = "b", .help = "2"}, {.name = "c", .help = "3"},
        {.name = "d", .help = "4"}, {.name = "e", .help = "5"}, {.name = "f", .help = "6"},
        {.name = "g", .help = "7"}, {.name = "h", .help = "8"}, {.name = "i", .help = "9"},
    };
    static const struct table_def many_def = {
        .name = "many", .help = "many", .columns = many, .n_columns = 9, .n_keys = 1};
    const struct part crowd[] = {TABLE("left", "Left", 1), TABLE("many", "Many", 1), TABLE("right", "Right", 1)};
    const struct view crowded = {.name = "test", .title = "Test", .question = "?", .parts = crowd, .n_parts = 3};
    static const char *const rows[] = {"a=1|b=2", NULL};
    struct section *section = forge_section("many", 1);
    struct frame *frame = forge_frame(1);
    struct look look = {.frame = frame};
    struct pane *pane = pane_new(&crowded);
    struct pane_answer answer;

    (void)state;
    section_table(section, forge_table(&many_def, rows));
    frame_add_section(frame, section_of("one", &left_def), 0);
    frame_add_section(frame, section, 0);
    frame_add_section(frame, section_of("two", &right_def), 0);
    assert_true(pane_key(pane, &look, 'o', 0, 0, &answer));
    assert_true(pane_key(pane, &look, 'f', 0, 0, &answer));
    expect_screen(pane, &look, 56, 14,
                  "─ Left ────────────────────────────────────── 1-1 of 2 ─\n"
                  "DEVICE     READ/s\n"
                  "vda           812\n"
                  "─ ▸ Many ───────────────────────────────────────────────\n"
                  " Columns: Space shows or hides, < > move, Enter done\n"
                  "[ 1] a                        1\n"
                  "[ 2] b                        2\n"
                  "[ 3] c                        3\n"
                  "[ 4] d                        4\n"
                  "[ 5] e                        5\n"
                  "[ 6] f                        6\n"
                  "[ 7] g                        7\n"
                  "[ 8] h                        8\n"
                  "•Left  ▸Many   Right                  o next  = enlarge\n");
    assert_true(pane_key(pane, &look, 'f', 0, 0, &answer)); // done: the others have their room again
    char *text = pane_screen(pane, &look, 56, 14, false);
    assert_non_null(strstr(text, "─ Right ─"));
    free(text);
    pane_free(pane);
    frame_unref(look.frame);
}

static void test_sharing_of_rows(void **state) {
    struct need needs[] = {{3, 10, 0}, {3, 100, 1}, {3, 6, 3}};
    int heights[3];

    (void)state;
    layout_share(needs, 3, 40, 0, heights);
    assert_int_equal(heights[0], 10); // without a weight: what it wants
    assert_int_equal(heights[2], 6);  // no more than it wants
    assert_int_equal(heights[1], 24); // the rest
    layout_share(needs, 3, 7, 0, heights);
    assert_int_equal(heights[0] + heights[1], 7);
    assert_int_equal(heights[2], 0); // no room for the last,
    layout_share(needs, 3, 7, 2, heights);
    assert_int_equal(heights[2], 3); // but not the one with the keys
    layout_share(needs, 3, 2, 2, heights);
    assert_int_equal(heights[0] + heights[1], 0);
    assert_int_equal(heights[2], 2);
    layout_share(needs, 3, 0, 1, heights);
    for (int i = 0; i < 3; i++)
        assert_int_equal(heights[i], 0);
    // height, expected heights, the part to keep
    struct need three[] = {{4, 4, 1}, {8, 20, 1}, {5, 5, 1}};
    static const int expected[][5] = {{17, 4, 8, 5, 9}, {13, 4, 9, 0, 9},  {12, 4, 8, 0, 9}, {10, 4, 0, 5, 9},
                                      {2, 0, 0, 0, 9},  {10, 0, 10, 0, 1}, {7, 0, 7, 0, 1},  {8, 4, 0, 0, 0},
                                      {5, 0, 5, 0, 1},  {10, 4, 0, 5, 2}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        layout_share(three, 3, expected[i][0], (size_t)expected[i][4], heights);
        for (int k = 0; k < 3; k++)
            assert_int_equal(heights[k], expected[i][k + 1]);
    }
}

// No size and no sharing ever gives out more rows than there are.
static void test_sharing_never_overdraws(void **state) {
    (void)state;
    srand(3);
    for (int round = 0; round < 5000; round++) {
        struct need needs[6];
        int heights[6], height = rand() % 60, sum = 0;
        size_t n = (size_t)(rand() % 6) + 1;
        for (size_t i = 0; i < n; i++) {
            needs[i].min = rand() % 10;
            needs[i].want = needs[i].min + rand() % 30;
            needs[i].weight = rand() % 4;
        }
        layout_share(needs, n, height, (size_t)rand() % n, heights);
        for (size_t i = 0; i < n; i++) {
            assert_true(heights[i] >= 0);
            sum += heights[i];
        }
        assert_true(sum <= height);
    }
}

static void test_parts_and_steps(void **state) {
    (void)state;
    assert_ptr_equal(view_part(&view, "right"), &parts[1]);
    assert_null(view_part(&view, "righ"));
    assert_null(view_part(&view, NULL));
    assert_int_equal(view_key_step(KEY_VIEW_UP, 10), -1);
    assert_int_equal(view_key_step(KEY_VIEW_DOWN, 10), 1);
    assert_int_equal(view_key_step(KEY_VIEW_PAGE_UP, 10), -9); // a row of the page before stays
    assert_int_equal(view_key_step(KEY_VIEW_PAGE_DOWN, 10), 9);
    for (long page = 0; page < 2; page++) // too small for that: it must move all the same
        assert_int_equal(view_key_step(KEY_VIEW_PAGE_DOWN, page), 1);
    assert_int_equal(view_key_step(KEY_VIEW_HOME, 10), 0);
    assert_int_equal(view_key_step('j', 10), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_below_the_other),  cmocka_unit_test(test_status_is_not_cut),
        cmocka_unit_test(test_focus_gets_the_keys),  cmocka_unit_test(test_more_parts),
        cmocka_unit_test(test_stale_lost_and_notes), cmocka_unit_test(test_note_of_a_series),
        cmocka_unit_test(test_missing_source),       cmocka_unit_test(test_not_recorded_then),
        cmocka_unit_test(test_chooser_has_room),     cmocka_unit_test(test_note_of_a_column_without_room),
        cmocka_unit_test(test_sharing_of_rows),      cmocka_unit_test(test_sharing_never_overdraws),
        cmocka_unit_test(test_parts_and_steps),      cmocka_unit_test(test_focus_is_in_sight),
        cmocka_unit_test(test_optional_keeps_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
