// When a stream samples, its ratio, and when it tries again; the high event rate.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collectors/kernel/tracefs/stream_pace.h"

static void begins(void **state) {
    (void)state;
    struct stream_pace pace;
    stream_pace_init(&pace, 0.25);
    for (int i = 0; i < 100; i++)
        assert_false(stream_pace_window(&pace, 0.24, 0)); // below the budget
    assert_false(stream_pace_window(&pace, 0.30, 0));     // one window is ignored
    assert_false(stream_pace_window(&pace, 0.20, 0));
    assert_false(stream_pace_window(&pace, 0.30, 0));
    assert_true(stream_pace_window(&pace, 0.30, 0));
    assert_int_equal(pace.ratio, 2);
    assert_true(pace.share > 0.29 && pace.share < 0.31);
    assert_int_equal(pace.lost, 0);
}

// The ratio for the measured share is set at once, not step by step.
static void jumps(void **state) {
    (void)state;
    struct stream_pace pace;
    stream_pace_init(&pace, 0.05);
    stream_pace_window(&pace, 0.9, 0);
    assert_true(stream_pace_window(&pace, 0.9, 0));
    assert_int_equal(pace.ratio, 32); // 0.9 / 32 is below 0.04; 0.9 / 16 is not
    assert_false(stream_pace_window(&pace, 0.9, 5));
    assert_int_equal(pace.ratio, STREAM_RATIO_MAX); // the highest ratio
}

static void loss(void **state) {
    (void)state;
    struct stream_pace pace;
    stream_pace_init(&pace, 0.25);
    assert_true(stream_pace_window(&pace, 0.01, 1));
    assert_int_equal(pace.ratio, 2);
    assert_int_equal(pace.lost, 1);
    assert_true(stream_pace_window(&pace, 0.01, 7));
    assert_int_equal(pace.ratio, 4);
    assert_int_equal(pace.lost, 7);
}

static void comes_back(void **state) {
    (void)state;
    struct stream_pace pace;
    stream_pace_init(&pace, 0.25);
    stream_pace_window(&pace, 0.9, 0);
    stream_pace_window(&pace, 0.9, 0);
    assert_int_equal(pace.ratio, 8);
    for (int i = 0; i < 50; i++)
        assert_false(stream_pace_window(&pace, 0.12, 0)); // twice as much would not fit
    int windows = 0;
    while (pace.ratio > 1 && windows < 1000) {
        stream_pace_window(&pace, 0.001, 0);
        windows++;
    }
    assert_in_range(windows, 12, 60);
    assert_int_equal(pace.ratio, 1);
}

// Under a permanent overload the tries become rare.
static void patience(void **state) {
    (void)state;
    struct stream_pace pace;
    int tries = 0, sampled = 0;
    stream_pace_init(&pace, 0.25);
    for (int i = 0; i < 3000; i++) { // 15 minutes; loss whenever the ratio is 1
        uint32_t was = pace.ratio;
        stream_pace_window(&pace, 0.01, was == 1 ? 100 : 0);
        tries += was > 1 && pace.ratio == 1;
        sampled += pace.ratio > 1;
    }
    assert_in_range(tries, 10, 60);
    assert_true(sampled > 2900);
}

static void high_rate(void **state) {
    (void)state;
    struct stream_rate high_rate = {0};
    for (int i = 0; i < 100; i++)
        assert_false(stream_rate_window(&high_rate, STREAM_RATE_HIGH - 1, false));
    assert_false(stream_rate_window(&high_rate, 9e6, true)); // does not start while sampling
    assert_true(stream_rate_window(&high_rate, STREAM_RATE_HIGH, false));
    for (int i = 0; i < 100; i++)
        assert_true(stream_rate_window(&high_rate, STREAM_RATE_CALM, false)); // lower, but not below CALM
    for (int i = 0; i < 100; i++)
        assert_true(stream_rate_window(&high_rate, 0, true)); // does not end while sampling
    for (int round = 0; round < 10; round++) {                // below CALM, but too briefly
        for (int i = 1; i < STREAM_RATE_WINDOWS; i++)
            assert_true(stream_rate_window(&high_rate, 10, false));
        assert_true(stream_rate_window(&high_rate, round % 2 ? 9e6 : STREAM_RATE_CALM, false));
    }
    for (int i = 1; i < STREAM_RATE_WINDOWS; i++)
        assert_true(stream_rate_window(&high_rate, 10, false));
    assert_false(stream_rate_window(&high_rate, 10, false));
    assert_false(stream_rate_window(&high_rate, STREAM_RATE_CALM, false));
    assert_true(stream_rate_window(&high_rate, 9e6, false)); // starts again
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(begins),   cmocka_unit_test(jumps),
                                       cmocka_unit_test(loss),     cmocka_unit_test(comes_back),
                                       cmocka_unit_test(patience), cmocka_unit_test(high_rate)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
