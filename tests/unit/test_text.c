// Texts: bytes as they are, references, order.
#include "tests/unit/model_test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "model/mem.h"
#include "model/table.h"
#include "model/text.h"

static void bytes(void **state) {
    (void)state;
    size_t before = mem_used();
    const struct text *text = text_new("a\0\xff\x1b", 4);
    assert_int_equal(text_length(text), 4);
    assert_memory_equal(text_bytes(text), "a\0\xff\x1b", 5); // with the NUL behind it
    assert_ptr_equal(text_ref(text), text);
    text_unref(text);
    text_unref(text);
    text = text_from("");
    assert_string_equal(text_bytes(text), "");
    text_unref(text);
    assert_string_equal(text_bytes(NULL), "");
    assert_int_equal(text_length(NULL), 0);
    assert_null(text_ref(NULL));
    text_unref(NULL);
    assert_int_equal(mem_used(), before);
}

static void printed(void **state) {
    (void)state;
    const struct text *text = text_printf("%d of %s", 7, "9");
    assert_string_equal(text_bytes(text), "7 of 9");
    text_unref(text);
    for (int width = 250; width < 260; width++) { // about the size of the first try
        text = text_printf("%*d", width, 1);
        assert_int_equal(text_length(text), width);
        assert_int_equal(strlen(text_bytes(text)), width);
        assert_int_equal(text_bytes(text)[width - 1], '1');
        text_unref(text);
    }
}

static void order(void **state) {
    (void)state;
    const struct text *a = text_from("ab"), *b = text_from("abc"), *c = text_new("ab\0d", 4), *d = text_from("\xff");
    assert_true(text_compare(a, b) < 0);
    assert_true(text_compare(b, a) > 0);
    assert_true(text_compare(a, c) < 0);
    assert_true(text_compare(c, b) < 0);
    assert_true(text_compare(b, d) < 0); // bytes are unsigned
    assert_int_equal(text_compare(a, a), 0);
    assert_true(text_compare(NULL, a) < 0);
    text_unref(a);
    text_unref(b);
    text_unref(c);
    text_unref(d);
}

static void *hold(void *argument) {
    for (int i = 0; i < 10000; i++)
        text_unref(text_ref(argument));
    text_unref(argument);
    return NULL;
}

static void threads(void **state) {
    (void)state;
    size_t before = mem_used();
    const struct text *text = text_from("shared");
    pthread_t all[3];
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&all[i], NULL, hold, (void *)text_ref(text)), 0);
    text_unref(text); // the last thread frees it
    for (int i = 0; i < 3; i++)
        pthread_join(all[i], NULL);
    assert_int_equal(mem_used(), before);
}

// ---- texts that are formatted when they are read ----

struct event_format {
    struct text_formatter formatter;
    atomic_int made, held;
};

static const struct text *event_text(const struct text_formatter *self, const void *blob, size_t size) {
    struct event_format *format = (struct event_format *)self;
    uint64_t values[2];
    assert_int_equal(size, sizeof values);
    assert_int_equal((uintptr_t)blob % 8, 0);
    memcpy(values, blob, sizeof values);
    format->made++;
    return text_printf("prev=%u next=%u", (unsigned)values[0], (unsigned)values[1]);
}

static void event_hold(const struct text_formatter *self) {
    ((struct event_format *)self)->held++;
}

static void event_drop(const struct text_formatter *self) {
    ((struct event_format *)self)->held--;
}

static void *event_reader(void *text) {
    return (void *)(uintptr_t)(strcmp(text_bytes(text), "prev=7 next=14") == 0);
}

static void lazy(void **state) {
    (void)state;
    static const struct column columns[] = {{.name = "time_s"}, {.name = "text", .type = COLUMN_TEXT}};
    size_t before = mem_used();
    struct event_format format = {.formatter = {event_text, event_hold, event_drop}};
    const struct table_def *def =
        table_def_new(&(struct table_def){.name = "events", .help = "", .columns = columns, .n_columns = 2});
    struct table_builder *builder = table_builder_new(def);
    for (uint64_t i = 0; i < 2000; i++) {
        uint32_t slot = table_builder_add(builder);
        table_builder_set_num(builder, slot, 0, (double)i);
        table_builder_set_text(builder, slot, 1, text_lazy(&format.formatter, (uint64_t[]){i, 2 * i}, 16));
    }
    struct table *table = table_builder_seal(builder);
    table_builder_free(builder);
    table_def_unref(def); // the table holds it
    assert_int_equal(format.made, 0);
    assert_int_equal(format.held, 2000);
    size_t cursor = 0;
    const union cell *row = NULL;
    for (int i = 0; i < 8; i++)
        row = table_next(table, &cursor);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, event_reader, (void *)row[1].text), 0);
    for (int i = 0; i < 4; i++) {
        void *good;
        pthread_join(threads[i], &good);
        assert_non_null(good);
    }
    assert_in_range(format.made, 1, 4); // threads that read it at the same time
    int made = format.made;
    char out[40];
    assert_int_equal(column_format(&columns[1], row[1], out, sizeof out), 14);
    assert_string_equal(out, "prev=7 next=14");
    assert_int_equal(text_length(row[1].text), 14);
    assert_int_equal(format.made, made);
    table_free(table);
    assert_int_equal(format.held, 0);
    assert_int_equal(mem_used(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes), cmocka_unit_test(printed), cmocka_unit_test(order),
                                       cmocka_unit_test(threads), cmocka_unit_test(lazy)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
