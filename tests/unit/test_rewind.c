// Which frame is looked at: freezing, stepping, times, and that no reference is lost or kept.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/mem.h"
#include "tui/rewind.h"

static const struct frame *frame(uint64_t number) {
    return frame_new(number, (number - 1) * 1000000000, number * 1000000000,
                     (struct timespec){1700000000 + (time_t)number, 0});
}

static void fill(struct rewind *rewind, uint64_t from, uint64_t to) {
    for (uint64_t i = from; i <= to; i++) {
        const struct frame *f = frame(i);
        rewind_newest(rewind, frame_ref(f));
        history_push(rewind->history, f);
    }
}

static uint64_t shown(struct rewind *rewind) {
    const struct look *look = rewind_look(rewind);
    uint64_t number = look->frame ? look->frame->number : 0;
    if (look->n_window)
        assert_int_equal(look->window[look->n_window - 1]->number, number);
    rewind_unlook(rewind);
    return number;
}

static void test_steps(void **state) {
    struct rewind *r = xcalloc(1, sizeof *r);
    (void)state;
    r->history = history_new(1 << 20, NULL);
    assert_false(rewind_step(r, -1));
    rewind_freeze(r);
    assert_true(rewind_live(r));
    assert_int_equal(shown(r), 0);
    fill(r, 1, 30);
    assert_int_equal(shown(r), 30);
    assert_false(rewind_step(r, 1));
    assert_true(rewind_step(r, -1));
    assert_false(rewind_live(r));
    assert_int_equal(shown(r), 29);
    assert_true(rewind_step(r, -10));
    assert_int_equal(shown(r), 19);
    fill(r, 31, 32);
    assert_int_equal(shown(r), 19);
    assert_true(rewind_age_s(r) == 13);
    assert_true(rewind_step(r, 1));
    assert_int_equal(shown(r), 20);
    assert_true(rewind_step(r, -100));
    assert_int_equal(shown(r), 1);
    assert_false(rewind_step(r, -1));
    assert_true(rewind_to_time(r, (struct timespec){1700000011, 500000000}));
    assert_int_equal(shown(r), 12);
    assert_true(rewind_to_frame(r, 9));
    assert_int_equal(shown(r), 9);
    assert_false(rewind_live(r));
    assert_false(rewind_to_frame(r, 1000)); // not there: stays
    assert_int_equal(shown(r), 9);
    assert_true(rewind_to_frame(r, 12));
    assert_true(rewind_step(r, 100));
    assert_true(rewind_live(r));
    assert_int_equal(shown(r), 32);
    rewind_freeze(r);
    fill(r, 33, 33);
    assert_int_equal(shown(r), 32);
    rewind_to_live(r);
    assert_int_equal(shown(r), 33);
    rewind_done(r);
    history_free(r->history);
    free(r);
    assert_int_equal(mem_used(), 0);
}

static void test_times(void **state) {
    struct timespec out, now = {1700000000, 5};
    struct tm local;
    (void)state;
    assert_true(rewind_parse_time("-90", now, &out) && out.tv_sec == now.tv_sec - 90);
    assert_true(rewind_parse_time("-5m", now, &out) && out.tv_sec == now.tv_sec - 300);
    assert_true(rewind_parse_time("-1h", now, &out) && out.tv_sec == now.tv_sec - 3600);
    localtime_r(&now.tv_sec, &local);
    char text[16];
    strftime(text, sizeof text, "%H:%M:%S", &local);
    assert_true(rewind_parse_time(text, now, &out) && out.tv_sec == now.tv_sec);
    strftime(text, sizeof text, "%H:%M", &local);
    assert_true(rewind_parse_time(text, now, &out) && out.tv_sec == now.tv_sec - local.tm_sec);
    // Later today is yesterday's.
    local.tm_sec++;
    struct tm next = local;
    mktime(&next);
    strftime(text, sizeof text, "%H:%M:%S", &next);
    assert_true(rewind_parse_time(text, now, &out) && out.tv_sec < now.tv_sec);
    static const char *const wrong[] = {"",  "12", "25:00", "12:60",  "12:00:61", "12:00x",
                                        "-", "-x", "-5q",   "12:30:", "-1mm"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        if (rewind_parse_time(wrong[i], now, &out))
            fail_msg("taken for a time: %s", wrong[i]);
}

// Frames that the history kept for a finding stand alone: steps lead over the gap in both directions.
static void test_gap(void **state) {
    struct rewind *r = xcalloc(1, sizeof *r);
    (void)state;
    r->history = history_new(1 << 20, NULL);
    fill(r, 3, 5);
    fill(r, 40, 50);
    assert_true(rewind_to_frame(r, 41));
    assert_true(rewind_step(r, -1) && rewind_step(r, -1));
    assert_int_equal(shown(r), 5);
    assert_true(rewind_step(r, 1));
    assert_int_equal(shown(r), 40);
    assert_true(rewind_to_time(r, (struct timespec){1700000003, 500000000}));
    assert_int_equal(shown(r), 4);
    assert_true(rewind_shows(r, (struct timespec){1700000003, 500000000}));
    assert_true(rewind_to_time(r, (struct timespec){1700000001, 500000000}));
    assert_false(rewind_shows(r, (struct timespec){1700000001, 500000000}));
    assert_int_equal(shown(r), 3);
    rewind_done(r);
    history_free(r->history);
    free(r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_gap),
        cmocka_unit_test(test_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
