// perf's ring, forged: records that the ring's end cuts in two come whole, up to 64 KiB; what is no record ends the
// walk.
#include "collectors/kernel/perf/ring.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define RING (1u << 17)

static _Alignas(8) uint8_t ring[RING];
static uint64_t head, tail;
static int seen, refuse_at;

static void put(uint16_t size, uint8_t fill) {
    struct perf_event_header header = {.type = fill, .size = size};
    for (size_t i = 0; i < size; i++)
        ring[head++ % RING] = i < sizeof header ? ((uint8_t *)&header)[i] : (uint8_t)(fill + i);
}

static bool take(void *context, const struct perf_event_header *record) {
    const uint8_t *bytes = (const uint8_t *)record;
    assert_int_equal((uintptr_t)record % 8, 0);
    if (seen == refuse_at)
        return false;
    for (size_t i = sizeof *record; i < record->size; i++)
        if (bytes[i] != (uint8_t)(record->type + i))
            fail_msg("byte %zu of record %d is wrong", i, seen);
    *(uint64_t *)context += record->size;
    seen++;
    return true;
}

static uint64_t walk(bool *good) {
    uint64_t bytes = 0;
    seen = 0;
    *good = perf_ring_walk(ring, RING, &tail, head, take, &bytes);
    return bytes;
}

static void whole(void **state) {
    (void)state;
    static const uint16_t sizes[] = {16, 1016, 1024, 1032, 8200, 32768, 65528};
    bool good;
    refuse_at = -1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (uint64_t before = 8; before <= sizes[i]; before += before < 64 ? 8 : sizes[i] / 8) {
            head = tail = 5 * (uint64_t)RING - (before & ~7ull); // so many bytes before the ring's end
            put(24, 1);
            put(sizes[i], 7);
            put(24, 3);
            assert_int_equal(walk(&good), sizes[i] + 48u);
            assert_true(good);
            assert_int_equal(seen, 3);
            assert_int_equal(tail, head);
        }
}

// A record that is left stays at the tail, also one that is cut in two.
static void left(void **state) {
    (void)state;
    bool good;
    head = tail = RING - 4096;
    put(24, 1);
    put(40000, 7);
    refuse_at = 1;
    assert_int_equal(walk(&good), 24);
    assert_true(good);
    assert_int_equal(tail, RING - 4096 + 24);
    refuse_at = -1;
    assert_int_equal(walk(&good), 40000);
    assert_int_equal(tail, head);
}

static void rubbish(void **state) {
    (void)state;
    static const uint16_t sizes[] = {0, 4, 7, 12, 24};
    bool good;
    refuse_at = -1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        head = tail = 0;
        put(16, 1);
        struct perf_event_header header = {.type = 2, .size = sizes[i]};
        memcpy(ring + 16, &header, sizeof header);
        head = 32; // of 24 bytes only 16 are there
        assert_int_equal(walk(&good), 16);
        assert_false(good);
    }
    head = (uint64_t)RING + 8;
    tail = 0;
    walk(&good);
    assert_false(good);
    assert_int_equal(seen, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(whole), cmocka_unit_test(left), cmocka_unit_test(rubbish)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
