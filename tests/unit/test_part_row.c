// One row over time: opened by Enter from a table and left by Esc, charts and lines of all frames, gaps, a key with a
// new owner, columns of a second table, going to a frame.
#include "views/row/part_row.h"

#include <math.h>
#include <time.h>

#include "tests/unit/forge.h"
#include "views/part_table.h"

static const struct column columns[] = {
    {.name = "id", .title = "ID", .unit = UNIT_ID, .width = 4, .ascending = true},
    {.name = "name", .title = "NAME", .type = COLUMN_TEXT, .width = 8},
    {.name = "born_s", .title = "BORN", .unit = UNIT_S, .width = 8},
    {.name = "load_pct", .title = "LOAD%", .unit = UNIT_PCT, .width = 6},
    {.name = "reads_per_s", .title = "READ/s", .unit = UNIT_PER_S, .width = 7},
    {.name = "ipc", .title = "IPC", .unit = UNIT_RATIO, .width = 5},
};
static const struct table_def things = {
    .name = "things", .help = "Things.", .columns = columns, .n_columns = 6, .n_keys = 1};
static const struct column more_columns[] = {
    {.name = "id", .title = "ID", .unit = UNIT_ID, .width = 4},
    {.name = "misses_per_s", .title = "MISS/s", .unit = UNIT_PER_S, .width = 7},
    {.name = "load_pct", .title = "OTHER", .unit = UNIT_PCT, .width = 6}, // the first table's counts
};
static const struct table_def more = {
    .name = "more", .help = "More of them.", .columns = more_columns, .n_columns = 3, .n_keys = 1};

static const struct part parts[] = {
    {.kind = &part_table,
     .name = "things",
     .title = "Things",
     .spec = &(const struct table_spec){.source = {.tables = {"things", "more"}, .sort = "-id"},
                                        .shown = "id name load_pct",
                                        .opens = "thing"},
     .min_height = 3,
     .weight = 1},
    {.kind = &part_row,
     .name = "thing",
     .title = "One thing",
     .spec = &(const struct row_spec){.source = {.tables = {"things", "more"}},
                                      .same = "born_s",
                                      .heading = "id name",
                                      .shown = "load_pct reads_per_s misses_per_s ipc nowhere",
                                      .lines = "name"}},
};
static const struct view view = {.name = "v", .title = "V", .question = "?", .parts = parts, .n_parts = 2};

#define FRAMES 6

static const struct frame *frames[FRAMES];

static void add_frame(int i, const char *const *rows, const char *const *more_rows) {
    struct frame *frame = forge_frame((uint64_t)i + 1);
    struct section *section = forge_section("s", (uint64_t)i + 1);

    section_table(section, forge_table(&things, rows));
    section_table(section, forge_table(&more, more_rows));
    frame_add_section(frame, section, 0);
    frames[i] = frame;
}

#define R(...)                                                                                                         \
    (const char *const[]) {                                                                                            \
        __VA_ARGS__, NULL                                                                                              \
    }

static int make(void **state) {
    (void)state;
    setenv("TZ", "UTC", 1);
    tzset();
    // Frame 1: number 7 is an older thing. 2: nothing. Then it stands at different places; once unmeasured.
    add_frame(0, R("id=7|name=old|born_s=5|load_pct=99"), R("id=7|misses_per_s=9"));
    add_frame(1, R("id=1|name=a|born_s=1|load_pct=1"), NULL);
    add_frame(2, R("id=1|name=a|born_s=1|load_pct=1", "id=7|name=x|born_s=9|load_pct=25|reads_per_s=0"),
              R("id=1|misses_per_s=1", "id=7|misses_per_s=500"));
    add_frame(3, R("id=7|name=x|born_s=9|load_pct=100|reads_per_s=10", "id=1|name=a|born_s=1|load_pct=1"),
              R("id=7|misses_per_s=1000|load_pct=5"));
    add_frame(4, R("id=7|name=x|born_s=9|reads_per_s=0", "id=1|name=a|born_s=1|load_pct=1"), NULL);
    add_frame(5, R("id=7|name=x\033|born_s=9|load_pct=50|reads_per_s=20", "id=1|name=a|born_s=1|load_pct=1"),
              R("id=7|misses_per_s=250"));
    return 0;
}

static int unmake(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    return 0;
}

static struct look look_at(size_t n) {
    return (struct look){.frame = frames[n - 1], .window = frames, .n_window = n, .live = n == FRAMES};
}

static struct pane_answer press(struct pane *pane, const struct look *look, int key, bool used) {
    struct pane_answer answer;

    assert_int_equal(pane_key(pane, look, key, 0, 0, &answer), used);
    return answer;
}

#define TABLE                                                                                                                                                                \
    "─ Things ───────────────────────────────────────────────────\n" \
    " ▲ID NAME      LOAD%\n"                                                                                                                                               \
    "   1 a           1.0\n"                                                                                                                                                 \
    "   7 x\\e        50.0\n"

static const char opened[] = "─ One thing ─────── 4 of 6 frames, Right: in full, Esc: back ─\n"
                             " ID 7  x\\e\n"
                             "                                              █\n"
                             " LOAD%         50.0                          ▄█ █ max 100\n"
                             "                                                █\n"
                             " READ/s          20                          ▁█▁█ max 20\n"
                             "                                              █\n"
                             " MISS/s         250                          ██ ▄ max 1000\n"
                             " not measured: IPC nowhere\n"
                             " TIME      LOAD%  READ/s  MISS/s\n"
                             " 12:00:06   50.0      20     250\n"
                             " 12:00:05      -       0       -\n"
                             " 12:00:04    100      10    1000\n"
                             " 12:00:03   25.0       0     500\n"
                             " 12:00:02 not there\n"
                             " 12:00:01 not there\n";

static void test_screen(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view);
    struct look live = look_at(FRAMES), back = look_at(4);

    expect_screen(pane, &live, 60, 5, TABLE);
    press(pane, &live, KEY_VIEW_END, true);
    struct pane_answer answer = press(pane, &live, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, 0);
    assert_false(answer.go_live);
    expect_screen(pane, &live, 62, 16, opened);
    expect_screen(pane, &live, 62, 16, opened); // from what was kept
    // An older frame is looked at: what came after it is not told.
    expect_screen(pane, &back, 62, 12,
                  "─ One thing ─────── 2 of 4 frames, Right: in full, Esc: back ─\n"
                  " ID 7  x\\e\n"
                  " LOAD%          100                            ▂█ max 100\n"
                  " READ/s          10                            ▁█ max 10\n"
                  " MISS/s        1000                            ▄█ max 1000\n"
                  " not measured: IPC nowhere\n"
                  " TIME      LOAD%  READ/s  MISS/s\n"
                  " 12:00:04    100      10    1000\n"
                  " 12:00:03   25.0       0     500\n"
                  " 12:00:02 not there\n"
                  " 12:00:01 not there\n");
    expect_screen(pane, &live, 62, 16, opened);
    // What was 0 all the time has no chart and no column.
    struct look before = look_at(3);
    expect_screen(pane, &before, 62, 11,
                  "─ One thing ─────── 1 of 3 frames, Right: in full, Esc: back ─\n"
                  " ID 7  x\\e\n"
                  " LOAD%         25.0                             █ max 25.0\n"
                  " MISS/s         500                             █ max 500\n"
                  " always 0: READ/s\n"
                  " not measured: IPC nowhere\n"
                  " TIME      LOAD%  MISS/s\n"
                  " 12:00:03   25.0     500\n"
                  " 12:00:02 not there\n"
                  " 12:00:01 not there\n");
    draw_all_sizes(pane, &live);
    struct look nothing = {0};
    draw_all_sizes(pane, &nothing);
    // Esc: back, and moves nothing that the user did not ask to be moved back.
    answer = press(pane, &back, KEY_VIEW_BACK, true);
    assert_int_equal(answer.go_frame, 0);
    assert_false(answer.go_live);
    expect_screen(pane, &live, 60, 5, TABLE);
    pane_free(pane);
}

static void test_gone(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view);
    struct look live = look_at(FRAMES), first = look_at(2);

    press(pane, &live, KEY_VIEW_END, true);
    press(pane, &live, KEY_VIEW_ENTER, true);
    expect_screen(pane, &first, 62, 8,
                  "─ One thing ─────── 0 of 2 frames, Right: in full, Esc: back ─\n"
                  " ID 7  x\\e                                    not there (now)\n"
                  " not measured: LOAD% READ/s MISS/s IPC nowhere\n"
                  " TIME\n"
                  " 12:00:02 not there\n"
                  " 12:00:01 not there\n");
    pane_free(pane);
}

static void test_keys(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view);
    struct look live = look_at(FRAMES), back = look_at(4);

    pane_set_filter(pane, "x");
    press(pane, &live, KEY_VIEW_ENTER, true); // without a selection: the first row that is left
    assert_string_equal(pane->filter, "");
    free(pane_screen(pane, &live, 62, 16, false));
    press(pane, &live, 'o', false);
    press(pane, &live, '<', false); // those of what is behind are not there
    press(pane, &live, KEY_VIEW_ENTER, false);
    for (int i = 0; i < 3; i++)
        press(pane, &live, KEY_VIEW_DOWN, true);
    struct pane_answer answer = press(pane, &live, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, 4);
    free(pane_screen(pane, &back, 62, 16, false));
    press(pane, &back, KEY_VIEW_HOME, true);
    press(pane, &back, KEY_VIEW_END, true);
    press(pane, &back, KEY_VIEW_DOWN, true);
    answer = press(pane, &back, KEY_VIEW_ENTER, true);
    assert_int_equal(answer.go_frame, 1);
    press(pane, &back, KEY_VIEW_BACK, true);
    assert_string_equal(pane->filter, "x");
    // A filter from elsewhere (Enter in another pane) is for the table.
    press(pane, &live, KEY_VIEW_ENTER, true);
    pane_set_filter(pane, "");
    expect_screen(pane, &live, 60, 5, TABLE);
    pane_free(pane);
}

// The other page: all of the row in this frame, wherever it stands; not its predecessor.
static void test_full(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view);
    struct look live = look_at(FRAMES), back = look_at(4), first = look_at(1);

    press(pane, &live, KEY_VIEW_END, true);
    press(pane, &live, KEY_VIEW_ENTER, true);
    free(pane_screen(pane, &live, 62, 16, false));
    press(pane, &live, KEY_VIEW_DOWN, true);
    press(pane, &live, KEY_VIEW_RIGHT, true);
    expect_screen(pane, &live, 62, 5,
                  "─ One thing ─────────────────────── Left: history, Esc: back ─\n"
                  " ID          7               BORN        9s\n"
                  " LOAD%       50.0            READ/s      20\n"
                  " MISS/s      250\n"
                  " NAME        x\\e\n");
    draw_all_sizes(pane, &live);
    expect_screen(pane, &back, 62, 3,
                  "─ One thing ─────── Left: history, Up Down scroll, Esc: back ─\n"
                  " ID          7               BORN        9s\n"
                  " LOAD%       100             READ/s      10\n");
    press(pane, &back, KEY_VIEW_DOWN, true);
    expect_screen(pane, &back, 62, 3,
                  "─ One thing ─────── Left: history, Up Down scroll, Esc: back ─\n"
                  " LOAD%       100             READ/s      10\n"
                  " MISS/s      1000\n");
    press(pane, &back, KEY_VIEW_PAGE_UP, true);
    press(pane, &back, KEY_VIEW_ENTER, false); // there is no frame to go to
    expect_screen(pane, &first, 62, 3,
                  "─ One thing ─────────────────────── Left: history, Esc: back ─\n"
                  " ID 7  x\\e\n"
                  " not in this list at this time: Left: its history\n");
    char *text = pane_written(pane, &live, FORMAT_TEXT);
    assert_non_null(strstr(text, "One thing\n  ID          7\n  NAME        x\\e\n  BORN"));
    expect_harmless(text);
    free(text);
    text = pane_written(pane, &first, FORMAT_TEXT);
    assert_non_null(strstr(text, "not in this list"));
    free(text);
    press(pane, &live, KEY_VIEW_LEFT, true);
    text = pane_screen(pane, &live, 62, 16, false);
    assert_string_equal(text, opened); // and the selection is where it was: of the newest frame
    free(text);
    press(pane, &live, KEY_VIEW_RIGHT, true);
    press(pane, &live, KEY_VIEW_BACK, true);
    press(pane, &live, KEY_VIEW_ENTER, true);
    expect_screen(pane, &live, 62, 16, opened); // the first page again
    pane_free(pane);
}

// A long text is wrapped, be it one of the lines below or not; an empty one says nothing.
static void test_long_texts_wrap(void **state) {
    static const struct column long_columns[] = {
        {.name = "id", .title = "ID", .unit = UNIT_ID, .width = 4},
        {.name = "what", .title = "WHAT", .type = COLUMN_TEXT, .width = 8},
        {.name = "load_pct", .title = "LOAD%", .unit = UNIT_PCT, .width = 6},
        {.name = "args", .title = "ARGUMENTS", .type = COLUMN_TEXT, .width = 8},
        {.name = "error", .title = "ERROR", .type = COLUMN_TEXT, .width = 8},
    };
    static const struct table_def long_def = {
        .name = "long", .help = "Long.", .columns = long_columns, .n_columns = 5, .n_keys = 1};
    static const struct table_spec table = {.source = {.tables = {"long"}}, .opens = "row"};
    static const struct row_spec row = {.source = {.tables = {"long"}}, .heading = "id", .lines = "args"};
    static const struct part two[] = {
        {.kind = &part_table, .name = "long", .title = "Long", .spec = &table, .min_height = 3},
        {.kind = &part_row, .name = "row", .title = "Row", .spec = &row},
    };
    static const struct view long_view = {.name = "v", .title = "V", .question = "?", .parts = two, .n_parts = 2};
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("s", 1);
    struct look look = {.frame = frame, .live = true};
    struct pane *pane = pane_new(&long_view);

    (void)state;
    section_table(section, forge_table(&long_def, R("id=1|what=one two three four five six seven eight|load_pct=5|"
                                                    "args=abcdefghijklmnopqrstuvwxyzabcdefghijklmnop, 131072|error=")));
    frame_add_section(frame, section, 0);
    press(pane, &look, KEY_VIEW_ENTER, true);
    expect_screen(pane, &look, 40, 9,
                  "─ Row ────────────────────── Esc: back ─\n"
                  " ID          1\n"
                  " WHAT        one two three four five six\n"
                  "             seven eight\n"
                  " LOAD%       5.0\n"
                  " ARGUMENTS   abcdefghijklmnopqrstuvwxyza\n"
                  "             bcdefghijklmnop, 131072\n");
    pane_free(pane);
    frame_unref(frame);
}

// A number that the second table measures better is that one's, as in the table that led here.
static void test_better(void **state) {
    static const struct column real_columns[] = {
        {.name = "id", .title = "ID", .unit = UNIT_ID, .width = 4},
        {.name = "real_pct", .title = "REAL%", .unit = UNIT_PCT, .width = 6, .overrides = "load_pct"},
    };
    static const struct table_def real = {
        .name = "more", .help = "The same, measured better.", .columns = real_columns, .n_columns = 2, .n_keys = 1};
    const struct frame *two[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct frame *frame = forge_frame((uint64_t)i + 1);
        struct section *section = forge_section("s", (uint64_t)i + 1);
        section_table(section, forge_table(&things, R("id=7|name=x|born_s=9|load_pct=25")));
        section_table(section, forge_table(&real, i ? R("id=7|real_pct=75") : R("id=7")));
        frame_add_section(frame, section, 0);
        two[i] = frame;
    }
    struct look look = {.frame = two[1], .window = two, .n_window = 2, .live = true};
    struct pane *pane = pane_new(&view);
    expect_screen(pane, &look, 60, 4,
                  "─ Things ───────────────────────────────────────────────────\n"
                  " ▲ID NAME      LOAD%\n"
                  "   7 x          75.0\n");
    press(pane, &look, KEY_VIEW_ENTER, true);
    char *text = pane_screen(pane, &look, 62, 12, false);
    assert_non_null(strstr(text, " 12:00:02   75.0\n 12:00:01   25.0\n"));
    free(text);
    pane_free(pane);
    frame_unref(two[0]);
    frame_unref(two[1]);
}

static void test_files(void **state) {
    (void)state;
    struct pane *pane = pane_new(&view);
    struct look live = look_at(FRAMES);

    for (int format = FORMAT_TEXT; format <= FORMAT_JSON; format++) {
        char *text = pane_written(pane, &live, (enum format)format);
        assert_null(strstr(text, "One thing"));
        free(text);
    }
    press(pane, &live, KEY_VIEW_END, true);
    press(pane, &live, KEY_VIEW_ENTER, true);
    char *text = pane_written(pane, &live, FORMAT_TEXT);
    assert_non_null(strstr(text, "One thing\n  ID 7  x\\e\n  TIME      LOAD%  READ/s  MISS/s   IPC nowhere\n"
                                 "  12:00:06   50.0      20     250     -       -\n"));
    expect_harmless(text);
    free(text);
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_screen), cmocka_unit_test(test_gone),
                                       cmocka_unit_test(test_keys),   cmocka_unit_test(test_full),
                                       cmocka_unit_test(test_better), cmocka_unit_test(test_long_texts_wrap),
                                       cmocka_unit_test(test_files)};
    return cmocka_run_group_tests(tests, make, unmake);
}
