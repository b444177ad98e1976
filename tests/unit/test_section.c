// Sections: what goes in comes out, references, and taking in what no frame has shown.
#include "tests/unit/model_test.h"

#include <stdlib.h>

#include "model/mem.h"
#include "model/section.h"

static const struct series_def load_def = {"load_1", "load", "", UNIT_NONE}, ipc_def = {"ipc", "IPC", "", UNIT_RATIO};
static const struct column event_columns[] = {{.name = "n"}, {.name = "comm", .type = COLUMN_TEXT}};
static const struct table_def events_def = {.name = "io_events", .columns = event_columns, .n_columns = 2};
static const struct table_def rows_def = {.name = "rows", .columns = event_columns, .n_columns = 2, .n_keys = 1};
static const struct table_def once_def = {
    .name = "ended", .columns = event_columns, .n_columns = 2, .n_keys = 1, .rows = ROWS_REPORTED_ONCE};
// What was active in the interval: each kind of column, of the key n in an interval of 10 or 30.
static const struct column active_columns[] = {
    {.name = "n"},
    {.name = "comm", .type = COLUMN_TEXT},
    {.name = "n_per_s", .unit = UNIT_PER_S},
    {.name = "share_pct", .unit = UNIT_PCT},
    {.name = "count", .unit = UNIT_COUNT, .merge = MERGE_SUM},
    {.name = "max_us", .unit = UNIT_US, .merge = MERGE_MAX},
    {.name = "min_us", .unit = UNIT_US, .merge = MERGE_MIN},
    {.name = "now", .unit = UNIT_COUNT},
};
enum { A_N, A_COMM, A_RATE, A_PCT, A_COUNT, A_MAX, A_MIN, A_NOW, A_ALL };
static const struct table_def active_def = {
    .name = "active", .columns = active_columns, .n_columns = A_ALL, .n_keys = 1, .rows = ROWS_OF_INTERVAL};
static const struct column gauge_columns[] = {{.name = "used_kib", .unit = UNIT_KIB},
                                              {.name = "in_per_s", .unit = UNIT_PER_S}};
static const struct table_def one_row_def = {.name = "memory", .columns = gauge_columns, .n_columns = 2},
                              no_key_def = {.name = "in_flight", .columns = gauge_columns, .n_columns = 2};
static const struct series_def rate_def = {"n_per_s", "n", "", UNIT_PER_S},
                               lost_def = {"lost", "lost", "", UNIT_COUNT, MERGE_SUM};
static const struct column hist_keys[] = {{.name = "op", .type = COLUMN_TEXT}};
static const struct hist_def hist_def = {.name = "io_latency", .divisor = 1000, .keys = hist_keys, .n_keys = 1};
static const struct tree_def tree_def_cpu = {.name = "cpu"};
static const struct tree_def tree_def_offcpu = {.name = "offcpu", .unit_name = "us"};

static struct table *table_of(const struct table_def *def, int from, int to) {
    struct table_builder *builder = table_builder_new(def);
    for (int i = from; i < to; i++) {
        uint32_t slot = table_builder_add(builder);
        table_builder_set_num(builder, slot, 0, i);
        table_builder_set_text(builder, slot, 1, text_printf("%d", i));
    }
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

static void hist_into(struct hist_set *set, const char *op, uint64_t value, int n) {
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    for (int i = 0; i < n; i++)
        hist_acc_add(acc, value);
    union cell key = TEXT(op);
    hist_set_add(set, &key, hist_seal(acc));
    free(acc);
}

// One node of that name ID and weight, or none.
static struct tree *tree_of(const struct tree_def *def, struct name_table *names, uint64_t weight) {
    struct name_table *own = names ? NULL : name_table_new();
    struct tree_builder *builder = tree_builder_new(def, names ? names : own);
    if (weight)
        tree_builder_add(builder, &(uint32_t){0}, 1, weight);
    struct tree *tree = tree_builder_seal(builder);
    tree_builder_free(builder);
    name_table_unref(own);
    return tree;
}

static void all_kinds(void **state) {
    (void)state;
    size_t before = mem_used();
    char name[] = "block", text[] = "no PMU";
    struct section *section = section_new(name, 10, 20);
    assert_int_equal(section_state(section), SECTION_STARTING);
    section_set_state(section, SECTION_DEGRADED);
    section_note(section, SEVERITY_WARNING, "ipc", text, "use bare metal");
    section_note(section, SEVERITY_INFO, NULL, "second", NULL);
    for (int i = 0; i < 20; i++)
        section_series(section, i == 13 ? &ipc_def : &load_def, i == 13 ? NAN : i);
    section_table(section, table_of(&rows_def, 0, 3));
    section_stream(section, table_of(&events_def, 0, 2), 99);
    struct hist_set *set = hist_set_new(&hist_def);
    hist_into(set, "R", 1000, 3);
    section_hists(section, set);
    section_tree(section, tree_of(&tree_def_cpu, NULL, 0));
    section_events(section, 1000, 7);
    section_cost(section, 55);
    memset(name, 'x', 5); // strings are copies
    memset(text, 'x', 6);

    assert_string_equal(section_collector(section), "block");
    assert_int_equal(section_begin(section), 10);
    assert_int_equal(section_end(section), 20);
    assert_int_equal(section_ns(section), 10);
    assert_int_equal(section_seen(section), 1000);
    assert_int_equal(section_lost(section), 7);
    assert_int_equal(section_cpu_ns(section), 55);
    assert_int_equal(section_notes(section), 2);
    assert_string_equal(section_note_at(section, 0)->text, "no PMU");
    assert_string_equal(section_note_at(section, 0)->column, "ipc");
    assert_null(section_note_at(section, 1)->fix);
    assert_int_equal(section_n_series(section), 20);
    const struct series_def *def;
    assert_true(isnan(section_series_at(section, 13, &def)));
    assert_ptr_equal(def, &ipc_def);
    assert_number(section_series_at(section, 19, NULL), 19);
    assert_int_equal(table_rows(section_find_table(section, "rows")), 3);
    assert_null(section_find_table(section, "io_events")); // a stream is no table
    uint64_t left_out;
    assert_int_equal(table_rows(section_find_stream(section, "io_events", &left_out)), 2);
    assert_int_equal(left_out, 99);
    assert_null(section_find_stream(section, "rows", NULL));
    assert_int_equal(hist_set_count(section_find_hists(section, "io_latency")), 1);
    assert_null(section_find_hists(section, "io_queue"));
    assert_non_null(section_find_tree(section, "cpu"));
    assert_null(section_find_tree(section, "offcpu"));

    section_ref(section);
    section_unref(section);
    assert_string_equal(section_collector(section), "block");
    section_unref(section);
    section_unref(NULL);
    assert_int_equal(mem_used(), before);
    assert_string_equal(section_state_name(SECTION_UNAVAILABLE), "unavailable");
    assert_string_equal(severity_name(SEVERITY_CRITICAL), "critical");
}

static void absorbing(void **state) {
    (void)state;
    size_t before = mem_used();
    struct section *old = section_new("block", 10, 20), *new = section_new("block", 20, 30);
    struct hist_set *set = hist_set_new(&hist_def);
    hist_into(set, "R", 1000, 3);
    hist_into(set, "W", 5000, 2);
    section_hists(old, set);
    set = hist_set_new(&hist_def);
    hist_into(set, "R", 3000, 4);
    hist_into(set, "F", 7000, 1);
    section_hists(new, set);
    section_stream(old, table_of(&events_def, 0, 20), 5);
    section_stream(new, table_of(&events_def, 20, 22), 1);
    section_table(old, table_of(&rows_def, 0, 9));
    section_table(new, table_of(&rows_def, 0, 3));
    section_table(old, table_of(&once_def, 5, 9));
    section_table(new, table_of(&once_def, 8, 12));
    struct name_table *names = name_table_new();
    name_table_add(names, text_from("main"));
    section_tree(old, tree_of(&tree_def_cpu, names, 30));
    section_tree(old, tree_of(&tree_def_offcpu, names, 7)); // the new section has none
    section_tree(new, tree_of(&tree_def_cpu, names, 4));
    name_table_unref(names);
    section_events(old, 25, 2);
    section_events(new, 7, 1);
    section_cost(old, 3);
    section_cost(new, 4);
    section_absorb(new, old);
    section_unref(old);
    assert_int_equal(tree_node(section_find_tree(new, "cpu"), 1)->total, 34);
    assert_text(tree_node_text(section_find_tree(new, "cpu"), 1), "main");
    assert_int_equal(tree_node(section_find_tree(new, "offcpu"), 0)->total, 7);

    assert_int_equal(section_begin(new), 10);
    assert_int_equal(section_end(new), 30);
    assert_int_equal(section_ns(new), 20);
    assert_int_equal(section_seen(new), 32);
    assert_int_equal(section_lost(new), 3);
    assert_int_equal(section_cpu_ns(new), 7);
    assert_int_equal(table_rows(section_find_table(new, "rows")), 3); // tables are of now
    const struct table *ended = section_find_table(new, "ended");     // 8 is in both
    assert_int_equal(table_rows(ended), 7);
    for (int i = 5; i < 12; i++)
        assert_non_null(table_find(ended, &(union cell){.num = i}));
    uint64_t left_out;
    const struct table *events = section_find_stream(new, "io_events", &left_out);
    assert_int_equal(left_out, 6);
    size_t cursor = 0;
    for (int i = 0; i < 22; i++) { // the oldest first
        const union cell *row = table_next(events, &cursor);
        assert_number(row[0].num, i);
    }
    static const struct {
        const char *op;
        uint64_t count, min, max;
    } expected[] = {{"R", 7, 1000, 3000}, {"F", 1, 7000, 7000}, {"W", 2, 5000, 5000}};
    const struct hist_set *merged = section_find_hists(new, "io_latency");
    assert_int_equal(hist_set_count(merged), 3);
    for (size_t i = 0; i < 3; i++) {
        const union cell *key;
        const struct hist *hist = hist_set_at(merged, i, &key);
        assert_text(key->text, expected[i].op);
        assert_int_equal(hist->count, expected[i].count);
        assert_int_equal(hist->min, expected[i].min);
        assert_int_equal(hist->max, expected[i].max);
    }
    section_unref(new);
    assert_int_equal(mem_used(), before);
}

// Rows of n to to - 1, with the same values.
static struct table *active(int from, int to, const double *values) {
    struct table_builder *builder = table_builder_new(&active_def);
    for (int n = from; n < to; n++) {
        uint32_t slot = table_builder_add(builder);
        table_builder_set_num(builder, slot, A_N, n);
        table_builder_set_text(builder, slot, A_COMM, text_printf("%d of %d", n, from));
        for (uint16_t c = A_RATE; c < A_ALL; c++)
            table_builder_set_num(builder, slot, c, values[c]);
    }
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

static struct table *gauges(const struct table_def *def, int rows, double used, double in) {
    struct table_builder *builder = table_builder_new(def);
    for (int n = 0; n < rows; n++) {
        uint32_t slot = table_builder_add(builder);
        table_builder_set_num(builder, slot, 0, used);
        table_builder_set_num(builder, slot, 1, in);
    }
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

// Intervals of 10 and 30: a count is a rate times the interval, before and after.
static void numbers_of_both(void **state) {
    (void)state;
    size_t before = mem_used();
    struct section *old = section_new("block", 10, 20), *new = section_new("block", 20, 50);
    static const double
        olds[A_ALL] = {[A_RATE] = 8, [A_PCT] = 40, [A_COUNT] = 80, [A_MAX] = 9, [A_MIN] = 2, [A_NOW] = 5},
        news[A_ALL] = {[A_RATE] = 4, [A_PCT] = 20, [A_COUNT] = 120, [A_MAX] = 7, [A_MIN] = 3, [A_NOW] = 6};
    section_table(old, active(0, 4, olds)); // 2 and 3 are in both
    section_table(new, active(2, 6, news));
    section_table(old, gauges(&one_row_def, 1, 70, 8));
    section_table(new, gauges(&one_row_def, 1, 60, 4));
    section_table(old, gauges(&no_key_def, 2, 70, 8));
    section_table(new, gauges(&no_key_def, 3, 60, 4));
    section_series(old, &rate_def, 8);
    section_series(old, &load_def, 8);
    section_series(old, &ipc_def, 2);
    section_series(old, &lost_def, 3);
    section_series(new, &lost_def, NAN);
    section_series(new, &ipc_def, NAN);
    section_series(new, &load_def, 4);
    section_series(new, &rate_def, 4);
    section_absorb(new, old);
    section_unref(old);

    static const double first[A_ALL] = {0, 0, 2, 40, 80, 9, 2, 5}, both[A_ALL] = {0, 0, 5, 25, 200, 9, 2, 6},
                        last[A_ALL] = {0, 0, 3, 20, 120, 7, 3, 6};
    static const double *const expected[] = {first, first, both, both, last, last};
    const struct table *rows = section_find_table(new, "active");
    assert_int_equal(table_rows(rows), 6);
    for (int n = 0; n < 6; n++) {
        const union cell *row = table_find(rows, &(union cell){.num = n});
        assert_non_null(row);
        for (uint16_t c = A_RATE; c < A_ALL; c++)
            assert_number(row[c].num, expected[n][c]);
    }
    assert_text(table_find(rows, &(union cell){.num = 3})[A_COMM].text, "3 of 2"); // the newer one
    size_t cursor = 0;
    const union cell *row = table_next(section_find_table(new, "memory"), &cursor);
    assert_number(row[0].num, 60);
    assert_number(row[1].num, 5);
    // Rows without a key cannot be found again.
    cursor = 0;
    row = table_next(section_find_table(new, "in_flight"), &cursor);
    assert_int_equal(table_rows(section_find_table(new, "in_flight")), 3);
    assert_number(row[1].num, 4);
    assert_number(section_series_at(new, 0, NULL), 3); // lost: not measured in the newer one
    assert_true(isnan(section_series_at(new, 1, NULL)));
    assert_number(section_series_at(new, 2, NULL), 4);
    assert_number(section_series_at(new, 3, NULL), 5);
    section_unref(new);
    assert_int_equal(mem_used(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_kinds), cmocka_unit_test(absorbing),
                                       cmocka_unit_test(numbers_of_both)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
