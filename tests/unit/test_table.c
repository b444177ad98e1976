// Tables: slots, sharing between sealed tables, what copies and what does not, joining.
#include "tests/unit/model_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "model/mem.h"
#include "model/table.h"

static const struct column columns[] = {
    {.name = "pid"}, {.name = "comm", .type = COLUMN_TEXT}, {.name = "cpu_pct"}, {.name = "rss_kib"}};
static const struct table_def def = {.name = "tasks", .columns = columns, .n_columns = 4, .n_keys = 1};

static uint32_t add(struct table_builder *builder, double pid) {
    uint32_t slot = table_builder_add(builder);
    table_builder_set_num(builder, slot, 0, pid);
    table_builder_set_text(builder, slot, 1, text_printf("task %.0f", pid));
    return slot;
}

static const union cell *find(const struct table *table, double pid) {
    return table_find(table, &NUM(pid));
}

static void rows(void **state) {
    (void)state;
    size_t before = mem_used();
    struct table_builder *builder = table_builder_new(&def);
    struct table *empty = table_builder_seal(builder);
    size_t cursor = 0;
    assert_null(table_next(empty, &cursor));
    assert_int_equal(table_rows(empty), 0);
    uint32_t slots[100];
    for (int i = 0; i < 100; i++)
        slots[i] = add(builder, i);
    assert_true(isnan(table_builder_row(builder, slots[5])[2].num)); // a new row is of nulls
    for (int i = 0; i < 100; i += 3)
        table_builder_remove(builder, slots[i]);
    table_builder_remove(builder, slots[0]); // again: nothing
    table_builder_remove(builder, 100000);
    assert_int_equal(table_builder_rows(builder), 66);
    for (int i = 0; i < 100; i++) // the others' slots stay
        if (i % 3)
            assert_number(table_builder_row(builder, slots[i])[0].num, i);
    struct table *table = table_builder_seal(builder);
    assert_int_equal(table_rows(table), 66);
    size_t n = 0;
    cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor)); n++)
        assert_true((int)row[0].num % 3 != 0);
    assert_int_equal(n, 66);
    assert_null(table_next(table, &cursor)); // stays at the end
    assert_null(find(table, 3));
    assert_text(find(table, 4)[1].text, "task 4");
    for (int i = 0; i < 34; i++) // slots are used again before the table grows
        assert_true(add(builder, 1000 + i) < 112);
    assert_int_equal(table_column(&def, "rss_kib"), 3);
    assert_int_equal(table_column(&def, "rss"), -1);
    table_builder_free(builder); // sealed tables live on
    assert_text(find(table, 4)[1].text, "task 4");
    table_free(table);
    table_free(empty);
    table_free(NULL);
    table_builder_free(NULL);
    assert_int_equal(mem_used(), before);
}

static void sealed_never_change(void **state) {
    (void)state;
    size_t before = mem_used();
    struct table_builder *builder = table_builder_new(&def);
    uint32_t slots[40];
    for (int i = 0; i < 40; i++)
        slots[i] = add(builder, i);
    struct table *first = table_builder_seal(builder);
    table_builder_set_num(builder, slots[7], 2, 50);
    table_builder_set_text(builder, slots[8], 1, text_from("renamed"));
    table_builder_remove(builder, slots[39]);
    table_builder_set_text(builder, slots[9], 1, NULL);
    add(builder, 99);
    struct table *second = table_builder_seal(builder);
    table_builder_clear(builder);
    assert_int_equal(table_builder_rows(builder), 0);
    add(builder, 5);
    assert_int_equal(table_rows(first), 40);
    assert_true(isnan(find(first, 7)[2].num));
    assert_text(find(first, 8)[1].text, "task 8");
    assert_non_null(find(first, 39));
    assert_null(find(first, 99));
    table_free(first);
    assert_number(find(second, 7)[2].num, 50);
    assert_text(find(second, 8)[1].text, "renamed");
    assert_null(find(second, 9)[1].text);
    assert_null(find(second, 39));
    assert_int_equal(table_rows(second), 40);
    table_free(second);
    table_builder_free(builder);
    assert_int_equal(mem_used(), before);
}

static void same_values_copy_nothing(void **state) {
    (void)state;
    struct table_builder *builder = table_builder_new(&def);
    for (int i = 0; i < 10000; i++)
        add(builder, i);
    struct table *first = table_builder_seal(builder);
    size_t before = mem_used();
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (uint32_t slot = 0; slot < 10000; slot++) {
        table_builder_set_num(builder, slot, 2, NAN); // as it was
        table_builder_set_num(builder, slot, 0, slot);
    }
    table_builder_set_text(builder, 77, 1, text_from("task 77"));
    struct table *second = table_builder_seal(builder);
    clock_gettime(CLOCK_MONOTONIC, &end);
    assert_true(mem_used() - before < 8192); // a few KiB for 10,000 rows
    double us = (double)(end.tv_sec - begin.tv_sec) * 1e6 + (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
    assert_true(us < 200000); // really some microseconds; nothing like a copy of all, under any sanitizer
    size_t shared = mem_used();
    table_builder_set_num(builder, 5000, 2, 1);
    size_t chunk = mem_used() - shared;
    assert_true(chunk > 0 && chunk < 1024); // one chunk of 16 rows, not the table
    table_builder_set_num(builder, 5001, 2, 1);
    assert_int_equal(mem_used() - shared, chunk); // which is its own now
    table_free(first);
    table_free(second);
    table_builder_free(builder);
}

static void *drop(void *argument) {
    struct table *_Atomic *slot = argument;
    for (int i = 0; i < 2000; i++)
        table_free(atomic_exchange(slot, NULL));
    return NULL;
}

// One thread builds while another reads and drops what was sealed.
static void dropped_elsewhere(void **state) {
    (void)state;
    size_t before = mem_used();
    struct table *_Atomic slot = NULL;
    struct table_builder *builder = table_builder_new(&def);
    for (int i = 0; i < 64; i++)
        add(builder, i);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, drop, &slot), 0);
    for (int i = 0; i < 2000; i++) {
        table_builder_set_num(builder, (uint32_t)(i % 64), 2, i);
        table_builder_set_text(builder, (uint32_t)(i % 64), 1, text_printf("%d", i));
        table_free(atomic_exchange(&slot, table_builder_seal(builder)));
    }
    pthread_join(thread, NULL);
    table_free(atomic_exchange(&slot, NULL));
    table_builder_free(builder);
    assert_int_equal(mem_used(), before);
}

// ---- joins ----

static const struct column more_columns[] = {
    {.name = "comm", .type = COLUMN_TEXT}, {.name = "pid"}, {.name = "ipc"}, {.name = "rss_kib"}};
static const struct table_def more_def = {.name = "more", .columns = more_columns, .n_columns = 4, .n_keys = 2};
static const struct column other_columns[] = {{.name = "irq"}, {.name = "x"}};
static const struct table_def other_def = {.name = "other", .columns = other_columns, .n_columns = 2, .n_keys = 1};

static struct table *tasks_table(int n) {
    struct table_builder *builder = table_builder_new(&def);
    for (int i = 0; i < n; i++)
        add(builder, i);
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    return table;
}

static void joins(void **state) {
    (void)state;
    enum { N = 20000 };
    struct table *tasks = tasks_table(N);
    struct table_builder *builder = table_builder_new(&more_def);
    for (int i = N - 1; i >= 0; i -= 2) { // every second one, the other way round
        uint32_t slot = table_builder_add(builder);
        table_builder_set_text(builder, slot, 0, text_printf("task %d", i));
        table_builder_set_num(builder, slot, 1, i);
        table_builder_set_num(builder, slot, 2, i / 2.0);
        table_builder_set_num(builder, slot, 3, 777);
    }
    struct table *more = table_builder_seal(builder);
    table_builder_free(builder);
    builder = table_builder_new(&other_def);
    table_builder_add(builder);
    struct table *other = table_builder_seal(builder);
    table_builder_free(builder);
    const struct table *tables[] = {tasks, more, other};
    const struct table_def *defs[] = {&def, &more_def, &other_def};
    struct join *join = join_new(tables, defs, 3);
    assert_int_equal(join->n_rows, N);
    // Keys once, and of other columns of the same name the first.
    static const char *const names[] = {"pid", "comm", "cpu_pct", "rss_kib", "ipc", "irq", "x"};
    assert_int_equal(join->n_columns, 7);
    for (int i = 0; i < 7; i++) {
        assert_string_equal(join->columns[i]->name, names[i]);
        assert_int_equal(join_column(join, names[i]), i);
    }
    assert_int_equal(join_column(join, "nothing"), -1);
    for (size_t r = 0; r < N; r++) {
        double pid = join_cell(join, r, 0).num, ipc = join_cell(join, r, 4).num;
        assert_number(pid, (double)r);
        assert_true(r % 2 ? ipc == (double)r / 2 : isnan(ipc));
        assert_true(isnan(join_cell(join, r, 3).num));
        assert_true(isnan(join_cell(join, r, 6).num)); // its key is not in the first table
    }
    join_free(join);
    table_free(tasks);
    table_free(more);
    table_free(other);
}

static void joins_of_missing(void **state) {
    (void)state;
    const struct table_def *defs[] = {&def, &more_def};
    const struct table *none[] = {NULL, NULL};
    struct join *join = join_new(none, defs, 2);
    assert_int_equal(join->n_rows, 0);
    assert_int_equal(join->n_columns, 5);
    join_free(join);
    struct table *tasks = tasks_table(3);
    const struct table *first[] = {tasks, NULL};
    join = join_new(first, defs, 2);
    assert_int_equal(join->n_rows, 3);
    assert_true(isnan(join_cell(join, 2, 4).num));
    assert_text(join_cell(join, 2, 1).text, "task 2");
    join_free(join);
    join_free(NULL);
    table_free(tasks);
    join = join_new(NULL, NULL, 0);
    assert_int_equal(join->n_rows, 0);
    join_free(join);
}

// Two sources of one quantity: the better one stands in the place of the other, where it knows.
static void better_measured(void **state) {
    (void)state;
    static const struct column rough_columns[] = {{.name = "device", .type = COLUMN_TEXT}, {.name = "util_pct"}};
    static const struct column exact_columns[] = {{.name = "device", .type = COLUMN_TEXT},
                                                  {.name = "busy_pct", .overrides = "util_pct"}};
    static const struct table_def rough = {.name = "rough", .columns = rough_columns, .n_columns = 2, .n_keys = 1};
    static const struct table_def exact = {.name = "exact", .columns = exact_columns, .n_columns = 2, .n_keys = 1};
    static const char *const names[] = {"vda", "vdb", "vdc"};
    static const double values[][2] = {{10, 20}, {30, NAN}, {50, NAN}}, want[] = {20, 30, 50};
    struct table_builder *builders[2] = {table_builder_new(&rough), table_builder_new(&exact)};
    struct table *tables[2];
    for (int t = 0; t < 2; t++) {
        for (int i = 0; i < 3 - t; i++) { // the second table has no vdc
            uint32_t row = table_builder_add(builders[t]);
            table_builder_set_text(builders[t], row, 0, text_from(names[i]));
            table_builder_set_num(builders[t], row, 1, values[i][t]);
        }
        tables[t] = table_builder_seal(builders[t]);
    }
    struct join *join = join_new((const struct table *const *)tables, NULL, 2);
    size_t cursor = 0;
    for (size_t i = 0; i < 3; i++) {
        const union cell *row = table_next(tables[0], &cursor);
        assert_float_equal(join_cell(join, i, 1).num, want[i], 0);
        assert_float_equal(table_better(tables[1], row, "util_pct", row[1].num), want[i], 0);
        assert_float_equal(table_better(NULL, row, "util_pct", row[1].num), values[i][0], 0);
        assert_float_equal(table_better(tables[1], row, "other", 7), 7, 0);
    }
    assert_true(isnan(join_cell(join, 1, 2).num));
    join_free(join);
    join =
        join_new((const struct table *const[]){tables[0], NULL}, (const struct table_def *const[]){&rough, &exact}, 2);
    assert_float_equal(join_cell(join, 0, 1).num, 10, 0);
    join_free(join);
    for (int t = 0; t < 2; t++) {
        table_free(tables[t]);
        table_builder_free(builders[t]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows),
        cmocka_unit_test(sealed_never_change),
        cmocka_unit_test(same_values_copy_nothing),
        cmocka_unit_test(dropped_elsewhere),
        cmocka_unit_test(joins),
        cmocka_unit_test(joins_of_missing),
        cmocka_unit_test(better_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
