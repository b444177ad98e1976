// The filter language: which texts name a column, and which cells are the value.
#include "tests/unit/forge.h"

#include <math.h>

#include "views/filter.h"

static const struct column columns[] = {
    {.name = "pid", .unit = UNIT_ID},
    {.name = "comm", .type = COLUMN_TEXT},
    {.name = "read_bytes_per_s", .unit = UNIT_BYTES_PER_S},
};
static const struct table_def def = {.name = "tasks", .help = "tasks", .columns = columns, .n_columns = 3, .n_keys = 1};

// With one process.
static struct frame *one_row(void) {
    static const char *const rows[] = {"pid=1|comm=init", NULL};
    struct frame *frame = forge_frame(1);
    struct section *section = forge_section("a", 1);

    section_table(section, forge_table(&def, rows));
    frame_add_section(frame, section, 0);
    return frame;
}

static void naming(void **state) {
    struct frame *frame = one_row();
    struct filter is;
    char longest[200];

    (void)state;
    assert_true(filter_parse("pid=12", frame, &is));
    assert_string_equal(is.terms[0].name, "pid");
    assert_string_equal(filter_value(&is, 0), "12");
    assert_true(filter_parse("Comm=a=b c", frame, &is));
    assert_string_equal(filter_value(&is, 0), "a=b c");
    assert_true(filter_parse("comm=", frame, &is));
    assert_string_equal(filter_value(&is, 0), "");
    static const char *const texts[] = {"", "=", "pid", "root=UUID", "--pid=1", " pid=1", "pid =1", "pid"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_false(filter_parse(texts[i], frame, &is));
    assert_false(filter_parse("pid=1", NULL, &is));
    memset(longest, 'a', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_false(filter_parse(longest, frame, &is));
    frame_unref(frame);
}

// In quotes a text or a value is what it is, whatever it reads like.
static void quotes(void **state) {
    static const struct {
        const char *text;
        size_t n;
        const char *values[2]; // or the text
        enum filter_flaw flaw;
        int flaw_at;
    } filters[] = {
        {"comm=\"a b\" pid=1", 2, {"a b", "1"}, FILTER_WHOLE, 0},
        {"comm=\"a pid=1\"", 1, {"a pid=1"}, FILTER_WHOLE, 0},
        {"comm=\" x \"  pid=1 ", 2, {" x ", "1"}, FILTER_WHOLE, 0},
        {"comm=\"\"", 1, {""}, FILTER_WHOLE, 0},
        {"comm~\"say \\\"hi\\\" C:\\\\ \\x\"", 1, {"say \"hi\" C:\\ \\x"}, FILTER_WHOLE, 0},
        {"comm=a\"b pid=\"1\"", 2, {"a\"b", "1"}, FILTER_WHOLE, 0}, // only where a value begins
        {"comm=\"a b", 1, {"a b"}, FILTER_OPEN, 5},                 // as while it is typed
        {"comm=\"a\\\"", 1, {"a\""}, FILTER_OPEN, 5},
        {"comm=\"a\"b pid=1", 2, {"a", "1"}, FILTER_BEHIND, 8},
        {"comm=\"a\" b", 1, {"a"}, FILTER_BEHIND, 9},
        {"comm=\"a\" pdi=1 pid=1", 2, {"a", "1"}, FILTER_BEHIND, 9},
        {"\"pid=1\"", 0, {"pid=1"}, FILTER_WHOLE, 0},
        {"\" a\"  ", 0, {" a"}, FILTER_WHOLE, 0},
        {"\"", 0, {""}, FILTER_OPEN, 0},
        {"\"a\" pid=1", 0, {"a"}, FILTER_BEHIND, 4},
        {"say \"a b\"", 0, {"say \"a b\""}, FILTER_WHOLE, 0},
    };
    struct frame *frame = one_row();
    struct filter is;

    (void)state;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        filter_parse(filters[i].text, frame, &is);
        if (is.n != filters[i].n || is.flaw != filters[i].flaw || is.flaw_at != filters[i].flaw_at)
            fail_msg("%s: %zu terms, %d at %d", filters[i].text, is.n, is.flaw, is.flaw_at);
        for (size_t k = 0; k < is.n; k++)
            assert_string_equal(filter_value(&is, k), filters[i].values[k]);
        if (!is.n)
            assert_string_equal(is.text, filters[i].values[0]);
    }
    frame_unref(frame);
}

// What ktop writes for a cell is read as that cell and no other one, whatever its name.
static void written(void **state) {
    static const char *const names[] = {"fio",   "Web Content", "a pid=1",   " x ",  "-",  "\"",       "a\"b",
                                        "a b\"", "a b\\",       "C:\\ \"\"", ">5ms", "=5", "comm=fio", "/a b/c,d=1"};
    struct frame *frame = one_row();
    const size_t n = sizeof(names) / sizeof(names[0]);
    struct filter is;
    char text[FILTER_SIZE], again[FILTER_SIZE];

    (void)state;
    for (size_t i = 0; i < n; i++) {
        const struct text *name = text_from(names[i]);
        text[0] = '\0';
        assert_true(filter_add(&columns[1], (union cell){.text = name}, FILTER_EQUAL, text, sizeof(text)));
        assert_true(filter_add(&columns[0], (union cell){.num = 7}, FILTER_EQUAL, text, sizeof(text)));
        assert_true(filter_parse(text, frame, &is));
        assert_int_equal(is.n, 2);
        assert_int_equal(is.flaw, FILTER_WHOLE);
        for (size_t k = 0; k < n; k++) {
            const struct text *other = text_from(names[k]);
            assert_int_equal(filter_holds(&is, 0, &columns[1], (union cell){.text = other}), i == k);
            text_unref(other);
        }
        assert_int_equal(filter_holds(&is, 0, &columns[1], cell_null(COLUMN_TEXT)), false);
        filter_term_text(&is, 0, again, sizeof(again));
        assert_memory_equal(text, again, strlen(again)); // and the term as it was written
        text_unref(name);
    }
    text[0] = '\0';
    assert_true(filter_add(&columns[1], cell_null(COLUMN_TEXT), FILTER_EQUAL, text, sizeof(text)));
    assert_string_equal(text, "comm=-");
    frame_unref(frame);
}

static bool holds(const struct column *column, union cell cell, enum filter_operator op, const char *value) {
    struct filter filter = {.n = 1, .terms = {{.op = op}}};
    snprintf(filter.text, sizeof(filter.text), "%s", value);
    return filter_holds(&filter, 0, column, cell);
}

static void terms(void **state) {
    struct frame *frame = one_row();
    struct filter is;

    (void)state;
    assert_true(filter_parse("pid>=500  comm!=Web Content read_bytes_per_s<4K ", frame, &is));
    assert_int_equal(is.n, 3);
    assert_string_equal(is.terms[0].name, "pid");
    assert_int_equal(is.terms[0].op, FILTER_MORE_EQUAL);
    assert_string_equal(filter_value(&is, 0), "500");
    assert_int_equal(is.terms[1].op, FILTER_UNEQUAL);
    assert_string_equal(filter_value(&is, 1), "Web Content");
    assert_int_equal(is.terms[2].op, FILTER_LESS);
    assert_string_equal(filter_value(&is, 2), "4K");
    assert_true(filter_parse("pid>1 pid>2 pid>3 pid>4 pid>5 pid>6 pid>7 pid>8 pid>9", frame, &is));
    assert_int_equal(is.n, FILTER_TERMS_MAX);
    assert_true(filter_parse("pid<= ", frame, &is));
    assert_int_equal(is.terms[0].op, FILTER_LESS_EQUAL);
    assert_string_equal(filter_value(&is, 0), "");
    frame_unref(frame);
}

static void comparisons(void **state) {
    static const struct column latency = {.name = "latency_us", .unit = UNIT_US},
                               rss = {.name = "rss", .unit = UNIT_KIB}, op = {.name = "op", .type = COLUMN_TEXT};
    const struct text *ahead = text_from("RA");
    static const struct column start = {.name = "time_s", .unit = UNIT_S};
    const union cell clock = {.num = 1790000000.25};
    const union cell us = {.num = 2000}, kib = {.num = 2048}, flags = {.text = ahead};

    (void)state;
    assert_true(holds(&latency, us, FILTER_MORE_EQUAL, "2000"));
    assert_true(holds(&latency, us, FILTER_MORE_EQUAL, "2ms"));
    assert_false(holds(&latency, us, FILTER_MORE, "2ms"));
    assert_true(holds(&latency, us, FILTER_LESS, "1s"));
    assert_true(holds(&latency, us, FILTER_EQUAL, "2ms"));
    assert_false(holds(&latency, us, FILTER_LESS, "2K"));   // no suffix of a time:
    assert_false(holds(&latency, us, FILTER_MORE, "much")); // no row rather than all
    assert_true(holds(&latency, us, FILTER_MORE, ""));
    assert_false(holds(&latency, cell_null(COLUMN_NUMBER), FILTER_LESS, "5"));
    assert_true(holds(&latency, cell_null(COLUMN_NUMBER), FILTER_UNEQUAL, "5"));
    assert_true(holds(&latency, us, FILTER_EQUAL, "2ms..5ms"));  // from the first on,
    assert_false(holds(&latency, us, FILTER_EQUAL, "1ms..2ms")); // to below the second
    assert_false(holds(&latency, us, FILTER_EQUAL, "2000001ns..5ms"));
    assert_true(holds(&latency, us, FILTER_EQUAL, "2000000ns.."));
    assert_true(holds(&latency, us, FILTER_EQUAL, "..2001"));
    assert_false(holds(&latency, us, FILTER_EQUAL, "..2000"));
    assert_true(holds(&latency, us, FILTER_UNEQUAL, "3ms..5ms"));
    assert_false(holds(&latency, us, FILTER_EQUAL, "1K..5ms"));
    assert_true(holds(&rss, kib, FILTER_EQUAL, "1M..4M"));
    assert_true(holds(&start, clock, FILTER_EQUAL, "14:13:20..14:13:20.3")); // by the clock
    assert_false(holds(&start, clock, FILTER_EQUAL, "14:13:20.3..14:13:21"));
    assert_true(holds(&start, clock, FILTER_EQUAL, "14:13..14:14"));
    assert_true(holds(&start, clock, FILTER_LESS, "15:00"));
    assert_false(holds(&start, clock, FILTER_MORE_EQUAL, "14:13:20.5"));
    assert_false(holds(&start, clock, FILTER_MORE_EQUAL, "14:"));
    assert_false(holds(&start, clock, FILTER_MORE_EQUAL, "14:13x"));
    assert_true(holds(&start, clock, FILTER_MORE_EQUAL, "1790000000.2"));
    assert_true(holds(&start, clock, FILTER_EQUAL, "14:13:20")); // to the digits given
    assert_true(holds(&start, clock, FILTER_EQUAL, "14:13"));
    assert_true(holds(&start, clock, FILTER_EQUAL, "14:13:20.2"));
    assert_true(holds(&start, (union cell){.num = 1790000000.3}, FILTER_EQUAL, "14:13:20.3")); // as a double: below
    assert_false(holds(&start, clock, FILTER_EQUAL, "14:13:20.3"));
    assert_false(holds(&start, clock, FILTER_EQUAL, "14:13:21"));
    assert_false(holds(&start, clock, FILTER_UNEQUAL, "14:13:20"));
    assert_false(holds(&start, clock, FILTER_EQUAL, "14:12"));
    assert_true(holds(&start, clock, FILTER_EQUAL, "14:10..0:10")); // over midnight
    assert_true(holds(&start, clock, FILTER_EQUAL, "20:10..14:14"));
    assert_false(holds(&start, clock, FILTER_EQUAL, "20:10..14:10"));
    assert_false(holds(&start, clock, FILTER_EQUAL, "14:13:20..14:13:20"));
    assert_false(holds(&start, clock, FILTER_LESS, "25:99"));
    assert_false(holds(&start, clock, FILTER_LESS, "23:59:60"));
    assert_false(holds(&start, clock, FILTER_LESS, "23:59:1e1"));
    assert_false(holds(&start, us, FILTER_MORE_EQUAL, "14:13")); // no time of the clock
    assert_true(holds(&rss, kib, FILTER_MORE_EQUAL, "2M"));
    assert_true(holds(&rss, kib, FILTER_LESS_EQUAL, "2048"));
    assert_false(holds(&columns[2], kib, FILTER_MORE, "2K"));
    assert_true(holds(&op, flags, FILTER_EQUAL, "R"));
    assert_true(holds(&op, flags, FILTER_EQUAL, "RA"));
    assert_false(holds(&op, flags, FILTER_EQUAL, "RS"));
    assert_false(holds(&op, flags, FILTER_EQUAL, "A"));
    assert_false(holds(&op, flags, FILTER_UNEQUAL, "R"));
    struct filter exact = {.n = 1, .terms = {{.op = FILTER_EQUAL, .quoted = true}}, .text = "R"};
    assert_false(filter_holds(&exact, 0, &op, flags)); // in quotes it is that alone
    exact.text[0] = '\0';
    assert_false(filter_holds(&exact, 0, &op, flags));
    assert_true(holds(&op, flags, FILTER_CONTAINS, "a"));
    assert_false(holds(&op, flags, FILTER_CONTAINS, "W"));
    assert_true(holds(&rss, kib, FILTER_CONTAINS, "2"));
    assert_true(holds(&rss, kib, FILTER_CONTAINS, ".0m")); // as it is shown: 2.0M
    assert_false(holds(&rss, kib, FILTER_CONTAINS, "k"));
    assert_false(holds(&op, (union cell){.text = NULL}, FILTER_CONTAINS, "a"));
    text_unref(ahead);
}

// A row of keys: terms of other columns leave it alone, a text must stand in one of them.
static void rows_of_keys(void **state) {
    const struct text *name = text_from("fio");
    const union cell keys[] = {{.num = 4242}, {.text = name}};
    static const struct {
        const char *text;
        bool lets;
    } filters[] = {
        {"", true},    {"pid=4242", true}, {"pid=1", false},         {"comm~I comm!=dd", true},   {"fIO", true},
        {"424", true}, {"dd", false},      {"pid>1 comm=dd", false}, {"read_bytes_per_s>1", true}};
    struct frame *frame = one_row();
    struct filter is, copy;
    char text[64];

    (void)state;
    for (size_t i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        filter_parse(filters[i].text, frame, &is);
        copy = is;
        memset(&is, 0xff, sizeof(is));
        assert_int_equal(filter_passes(&copy, columns, 2, keys), filters[i].lets);
    }
    assert_true(filter_parse("pid=4..8 comm~a b ", frame, &is));
    filter_term_text(&is, 0, text, sizeof(text));
    assert_string_equal(text, "pid=4..8");
    filter_term_text(&is, 1, text, sizeof(text));
    assert_string_equal(text, "comm~a b");
    text_unref(name);
    frame_unref(frame);
}

static void values(void **state) {
    const struct text *name = text_from("sh\033[2J");
    const union cell comm = {.text = name}, pid = {.num = 1}, rate = {.num = 2048};
    char text[64];

    (void)state;
    assert_true(holds(&columns[0], pid, FILTER_EQUAL, "1"));
    assert_false(holds(&columns[0], pid, FILTER_EQUAL, "10"));
    assert_false(holds(&columns[0], (union cell){.num = 10}, FILTER_EQUAL, "1"));
    assert_true(holds(&columns[0], pid, FILTER_EQUAL, ""));
    assert_false(holds(&columns[0], cell_null(COLUMN_NUMBER), FILTER_EQUAL, "1"));
    assert_true(holds(&columns[2], rate, FILTER_EQUAL, "2048"));
    assert_true(holds(&columns[2], rate, FILTER_EQUAL, "2.0K")); // as it is shown
    assert_true(holds(&columns[1], comm, FILTER_EQUAL, "sh\033[2J"));
    assert_true(holds(&columns[1], comm, FILTER_EQUAL, "sh\\e[2J")); // as it is shown
    assert_false(holds(&columns[1], comm, FILTER_EQUAL, "sh"));
    assert_false(holds(&columns[1], cell_null(COLUMN_TEXT), FILTER_EQUAL, "sh"));
    filter_for(&columns[0], pid, text, sizeof(text));
    assert_string_equal(text, "pid=1");
    filter_for(&columns[1], comm, text, sizeof(text));
    assert_string_equal(text, "comm=sh\033[2J");
    filter_for(&columns[0], cell_null(COLUMN_NUMBER), text, sizeof(text));
    assert_string_equal(text, "");
    text_unref(name);
}

int main(void) {
    setenv("TZ", "UTC", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(naming),      cmocka_unit_test(terms),
                                       cmocka_unit_test(quotes),      cmocka_unit_test(written),
                                       cmocka_unit_test(comparisons), cmocka_unit_test(values),
                                       cmocka_unit_test(rows_of_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
