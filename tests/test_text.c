// Texts: bytes as they are, references, order.
#include "tests/model_test.h"

#include <pthread.h>
#include <string.h>

#include "model/mem.h"
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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(bytes), cmocka_unit_test(printed), cmocka_unit_test(order),
                                       cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
