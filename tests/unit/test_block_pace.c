// When the block collector omits events, and when it records them again.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "collectors/block/pace.h"

static bool frame(struct block_pace *pace, double busy_pct, uint64_t lost) {
    pace->busy_ns = (uint64_t)(busy_pct * 1e7);
    return block_pace_frame(pace, 1000000000, lost);
}

static void down_and_up(void **state) {
    (void)state;
    struct block_pace pace = {0};
    char text[256];
    for (int i = 0; i < 10; i++)
        assert_false(frame(&pace, 40, 0)); // busy, but it keeps up
    assert_false(frame(&pace, 10, 1000));  // one bad frame is tolerated
    assert_false(frame(&pace, 10, 0));
    assert_false(frame(&pace, 60, 0));
    block_pace_text(&pace, text, sizeof(text));
    assert_string_equal(text, "");
    assert_true(frame(&pace, 70, 0));
    assert_int_equal(pace.level, BLOCK_NO_BIOS);
    block_pace_text(&pace, text, sizeof(text));
    assert_non_null(strstr(text, "took 70 % of the time"));
    assert_false(frame(&pace, 10, 5));
    assert_true(frame(&pace, 10, 7));
    assert_int_equal(pace.level, BLOCK_COUNT);
    block_pace_text(&pace, text, sizeof(text));
    assert_non_null(strstr(text, "only counted"));
    assert_non_null(strstr(text, "7 were lost"));
    assert_false(frame(&pace, 90, 7)); // lowest level
    assert_false(frame(&pace, 90, 7));
    int frames = 0;
    while (pace.level != BLOCK_FULL && frames < 100) {
        frame(&pace, 1, 0);
        frames++;
    }
    assert_in_range(frames, 6, 40);
}

// Under permanent overload the retries become rarer.
static void patience(void **state) {
    (void)state;
    struct block_pace pace = {0};
    int tries = 0;
    for (int i = 0; i < 1000; i++) {
        enum block_level was = pace.level;
        frame(&pace, pace.level == BLOCK_FULL ? 80 : 5, 0);
        tries += was != BLOCK_FULL && pace.level == BLOCK_FULL;
    }
    assert_in_range(tries, 5, 25);
}

// At a high rate, only candidates for the newest of the frame are remembered, and some of each drain.
static void the_newest(void **state) {
    (void)state;
    const uint64_t ms = 1000000, now = 1000000 * ms;
    assert_int_equal(block_pace_recent(now, now + 900 * ms, 0, 2048), 0);
    assert_int_equal(block_pace_recent(now, now + 900 * ms, 8000e-9, 2048), 0);  // 7,200 to come
    assert_int_equal(block_pace_recent(now, 0, 200000e-9, 2048), 0);             // end of the frame
    assert_int_equal(block_pace_recent(now, now + 40 * ms, 200000e-9, 2048), 0); // 8,000 to come
    assert_in_range(block_pace_recent(now, now + 900 * ms, 200000e-9, 2048), now - 3 * ms, now - 2 * ms);
    assert_in_range(block_pace_recent(now, now + 900 * ms, 1000000e-9, 2048), now - ms, now - ms / 2);
    assert_int_equal(block_pace_recent(5 * ms, 900 * ms, 10000e-9, 2048), 0); // would be before time 0
}

struct drains {
    struct block_starts starts;
    uint64_t ns, issued, unannounced;
    unsigned changes;
};

// Drains every 25 ms.
static void drain_for(struct drains *drains, unsigned ms, uint64_t issued_per_ms, uint64_t unannounced_per_ms,
                      bool gap) {
    for (unsigned at = 0; at < ms; at += 25) {
        drains->ns += 25000000;
        drains->issued += 25 * issued_per_ms;
        drains->unannounced += 25 * unannounced_per_ms;
        drains->changes += block_starts_drained(&drains->starts, drains->ns, drains->issued, drains->unannounced, gap);
    }
}

static void starts(void **state) {
    (void)state;
    struct drains drains = {.ns = 1000000000};
    drain_for(&drains, 3000, 49, 0, false);
    assert_false(drains.starts.off);
    drain_for(&drains, 3000, 300, 0, true); // with gaps
    assert_false(drains.starts.off);
    drain_for(&drains, 400, 300, 0, false);
    assert_true(drains.starts.off);
    drain_for(&drains, 5000, 35, 0, false); // lower, but above HIGH_RATE_OFF
    drain_for(&drains, 900, 10, 0, true);
    assert_true(drains.starts.off);
    assert_int_equal(drains.changes, 1);
    drain_for(&drains, 2000, 10, 0, false);
    assert_false(drains.starts.off);
    drain_for(&drains, 100, 100, 0, false); // a burst
    drain_for(&drains, 1000, 1, 0, false);
    assert_int_equal(drains.changes, 2);
    assert_false(drains.starts.needed);
}

// Without block_io_start md's requests are unannounced: it stays on.
static void starts_needed(void **state) {
    (void)state;
    struct drains drains = {.ns = 1000000000};
    drain_for(&drains, 700, 300, 0, false);
    assert_true(drains.starts.off);
    drain_for(&drains, 2000, 300, 100, false);
    assert_true(drains.starts.needed);
    drain_for(&drains, 5000, 300, 0, false);
    assert_false(drains.starts.off);
    assert_int_equal(drains.changes, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(down_and_up), cmocka_unit_test(patience),
                                       cmocka_unit_test(the_newest), cmocka_unit_test(starts),
                                       cmocka_unit_test(starts_needed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
