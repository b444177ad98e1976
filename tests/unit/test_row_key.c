// A row named by its keys: found wherever it stands, not mistaken for its successor, and as a filter.
#include "tests/unit/forge.h"

#include "views/row/key.h"

static const struct column columns[] = {
    {.name = "id", .title = "ID", .unit = UNIT_ID, .width = 4},
    {.name = "name", .title = "NAME", .type = COLUMN_TEXT, .width = 8},
    {.name = "born_s", .title = "BORN", .unit = UNIT_S, .width = 8},
};
static const struct table_def things = {
    .name = "things", .help = "Things.", .columns = columns, .n_columns = 3, .n_keys = 2};
static const struct table_def loose = {
    .name = "things", .help = "Without keys.", .columns = columns, .n_columns = 3, .n_keys = 0};
static const struct rows_source source = {.tables = {"things"}, .sort = "-id"};

static const struct frame *frame_of(const struct table_def *def, const char *const *rows) {
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("s", 1);

    section_table(section, forge_table(def, rows));
    frame_add_section(frame, section, 0);
    return frame;
}

static long place_in(const struct row_key *key, const char *const *rows, bool by_table) {
    const struct frame *frame = frame_of(&things, rows);
    struct rows list = {0};
    int at[ROW_KEY_MAX];
    long found = -1, i = 0;
    const union cell *row;

    rows_load(&list, &source, frame, NULL, NULL, false);
    found = row_key_place(key, &list);
    if (by_table) {
        const struct table *table = frame_table(frame, "things");
        row_key_columns(key, table_def(table), at);
        found = -1;
        for (size_t cursor = 0; (row = table_next(table, &cursor)); i++)
            if (row_key_is(key, at, row))
                found = i;
    }
    rows_done(&list);
    frame_unref(frame);
    return found;
}

static void test_found(void **state) {
    static const char *const first[] = {"id=7|name=a b|born_s=5", "id=9|born_s=6", NULL};
    static const char *const moved[] = {"id=1|name=x", "id=7|name=b|born_s=5", "id=7|name=a b|born_s=5", NULL};
    static const char *const reused[] = {"id=7|name=a b|born_s=8", NULL};
    const struct frame *frame = frame_of(&things, first);
    struct rows rows = {0};
    struct row_key key = {0}, other = {0};
    char filter[64], narrow[8];

    (void)state;
    rows_load(&rows, &source, frame, NULL, NULL, false);
    assert_true(row_key_take(&key, rows.join, 1, "born_s"));
    assert_true(row_key_filter(&key, filter, sizeof(filter)));
    assert_string_equal(filter, "id=9 name=- born_s=6"); // as it is shown
    assert_true(row_key_take(&key, rows.join, 0, "born_s"));
    assert_true(row_key_take(&other, rows.join, 0, NULL));
    rows_done(&rows);
    frame_unref(frame); // the names live on
    row_key_filter(&other, filter, sizeof(filter));
    assert_string_equal(filter, "id=7 name=\"a b\"");
    assert_false(row_key_filter(&other, narrow, sizeof(narrow)));
    assert_string_equal(narrow, "id=7");
    for (int by_table = 0; by_table < 2; by_table++) {
        assert_int_equal(place_in(&key, first, by_table), 0);
        assert_int_equal(place_in(&key, moved, by_table), by_table ? 2 : 1);
        assert_int_equal(place_in(&other, reused, by_table), 0);
        assert_int_equal(place_in(&key, reused, by_table), -1);
        assert_int_equal(place_in(&key, NULL, by_table), -1);
    }
    row_key_forget(&key);
    assert_int_equal(place_in(&key, first, false), -1);
    row_key_forget(&other);
}

static void test_without_keys(void **state) {
    static const char *const one[] = {"id=7|name=a|born_s=5", NULL};
    const struct frame *frame = frame_of(&loose, one);
    struct rows rows = {0};
    struct row_key key = {0};
    char filter[64];

    (void)state;
    rows_load(&rows, &source, frame, NULL, NULL, false);
    assert_false(row_key_take(&key, rows.join, 0, NULL));
    assert_int_equal(row_key_place(&key, &rows), -1);
    row_key_filter(&key, filter, sizeof(filter));
    assert_string_equal(filter, "");
    rows_done(&rows);
    frame_unref(frame);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_found), cmocka_unit_test(test_without_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
