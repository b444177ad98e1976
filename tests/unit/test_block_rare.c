// I/Os kept besides the newest, against a scan of all.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/block/stat.h"

#define VDA (254u << 20)
#define VDB (254u << 20 | 16)

static uint64_t now;

static struct block_io make(int32_t tid, const char *comm, uint32_t dev, uint8_t op, uint64_t latency) {
    now += 1000;
    struct block_io io = {.arrival_ns = now - 100,
                          .issue_ns = now,
                          .end_ns = now + latency,
                          .sector = now,
                          .dev = dev,
                          .bytes = 4096,
                          .tid = tid,
                          .op = op};
    snprintf(io.rwbs, sizeof(io.rwbs), "%sS", block_op_names[op]);
    snprintf(io.comm, sizeof(io.comm), "%s", comm);
    io.key = io.bio_key = block_key_of(io.rwbs, op);
    return io;
}

static void put(struct block_stat *stat, struct block_io io) {
    block_stat_io(stat, &io);
}

static void load(struct block_stat *stat, uint32_t n) {
    for (uint32_t i = 0; i < n; i++)
        put(stat, make(100, "fio", VDA, BLOCK_READ, 100000 + (uint64_t)(rand() % 50000)));
}

// The I/Os kept for that reason; all are in order, unique and older than the newest.
static uint32_t kept(struct block_stat *stat, int why, const struct block_chosen **out) {
    static struct block_chosen found[BLOCK_RARE_CHOSEN];
    const struct block_chosen *all;
    block_stat_settle(stat);
    uint32_t n = block_stat_rare(stat, &all), n_found = 0;
    assert_true(n <= BLOCK_RARE_CHOSEN);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(all[i].pick->nth < block_stat_left_out(stat));
        assert_true(!i || all[i].pick->nth > all[i - 1].pick->nth);
        if ((int)all[i].why == why || why < 0)
            found[n_found++] = all[i];
    }
    if (out)
        *out = found;
    return n_found;
}

static uint32_t kept_of(struct block_stat *stat, uint32_t dev, int32_t tid, const char *op) {
    const struct block_chosen *found;
    uint32_t n = kept(stat, -1, &found), of = 0;
    for (uint32_t i = 0; i < n; i++)
        of += found[i].pick->task.dev == dev && found[i].pick->task.tid == tid && !strcmp(found[i].pick->io.rwbs, op);
    return of;
}

static struct block_stat *stat;

static int set_up(void **state) {
    (void)state;
    stat = block_stat_new();
    now = 1000000000;
    srand(1);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    block_stat_free(stat);
    return 0;
}

// Nothing is kept while the newest are all.
static void all_are_newest(void **state) {
    (void)state;
    load(stat, BLOCK_EVENTS_KEPT);
    assert_int_equal(kept(stat, -1, NULL), 0);
    load(stat, 1);
    assert_true(kept(stat, -1, NULL) <= 1); // the oldest one
}

static int rank_compare(const void *left, const void *right) {
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? 1 : a > b ? -1 : 0;
}

static uint64_t kth(const uint64_t *values, uint64_t n, uint64_t k) {
    uint64_t *copy = malloc(n * sizeof(*copy));
    memcpy(copy, values, n * sizeof(*copy));
    qsort(copy, n, sizeof(*copy), rank_compare);
    uint64_t value = copy[k - 1];
    free(copy);
    return value;
}

// By service time and by total time: the largest are kept unless among the newest; in the worst orders for sifting, and
// with equal values.
static void the_slowest(void **state) {
    enum { N = 30000 };
    static uint64_t services[N], waits[N];
    static bool is_kept[N];
    (void)state;
    for (int order = 0; order < 4; order++) {
        for (uint64_t i = 0; i < N; i++) {
            uint64_t service = order == 0 ? (uint64_t)rand() % 1000000 : order == 1 ? i : order == 2 ? N - i : 77;
            struct block_io io = make(100, "fio", VDA, BLOCK_READ, 1000 + service);
            io.bio_ns = io.issue_ns - (order == 3 ? 1000 : (uint64_t)rand() % 10000000);
            services[i] = io.end_ns - io.issue_ns;
            waits[i] = io.end_ns - io.bio_ns;
            is_kept[i] = false;
            put(stat, io);
        }
        const struct block_chosen *found;
        uint32_t n = kept(stat, BLOCK_SLOW, &found);
        assert_true(n <= 2 * BLOCK_SLOW_KEPT);
        for (uint32_t i = 0; i < n; i++)
            is_kept[found[i].pick->nth] = true;
        uint64_t service = kth(services, N, BLOCK_SLOW_KEPT), wait = kth(waits, N, BLOCK_SLOW_KEPT);
        for (uint64_t i = 0; i < block_stat_left_out(stat); i++)
            assert_true(is_kept[i] || (services[i] <= service && waits[i] <= wait));
        block_stat_clear(stat);
    }
}

// More devices and operations than sets: all sets are used, within the limits.
static void many_devices(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 50; i++)
        for (uint32_t dev = 0; dev < 100; dev++)
            put(stat, make(100, "fio", VDA + dev, BLOCK_READ, 1000 + (uint64_t)(rand() % 1000)));
    load(stat, 10000);
    uint32_t seen[101] = {0}, n_seen = 0;
    const struct block_chosen *found;
    uint32_t n = kept(stat, -1, &found);
    for (uint32_t i = 0; i < n; i++)
        seen[found[i].pick->task.dev - VDA]++;
    for (int dev = 0; dev < 100; dev++)
        n_seen += seen[dev] > 0;
    assert_true(n <= BLOCK_RARE_CHOSEN);
    assert_true(n_seen >= BLOCK_SLOW_SETS);
}

static void the_failed(void **state) {
    (void)state;
    for (int i = 0; i < 200; i++) {
        struct block_io io = make(100, "fio", VDA, BLOCK_READ, 10);
        io.error = -EIO;
        put(stat, io);
        load(stat, 100);
    }
    const struct block_chosen *found;
    uint32_t n = kept(stat, BLOCK_FAILED, &found);
    // The newest failures, without those among the newest I/Os.
    assert_int_equal(n, BLOCK_FAILED_KEPT - BLOCK_EVENTS_KEPT / 101);
    for (uint32_t i = 0; i < n; i++)
        assert_true(found[i].pick->io.error == -EIO && found[i].pick->nth == (200 - BLOCK_FAILED_KEPT + i) * 101);
    assert_int_equal(stat->devices[0].errors, 200);
}

// A task with few I/Os, another operation, another device: complete, anywhere in the interval, beside 100 busy tasks.
static void tasks_with_few_ios(void **state) {
    char comm[BLOCK_COMM];
    (void)state;
    for (int i = 0; i < 10000; i++) {
        load(stat, 1);
        snprintf(comm, sizeof(comm), "job%d", i % 100);
        put(stat, make(1000 + i % 100, comm, VDA, BLOCK_READ, 200000));
        if (i % 200 == 0)
            put(stat, make(50, "small", VDA, BLOCK_READ, 150));
        if (i % 400 == 0)
            put(stat, make(100, "fio", VDA, BLOCK_DISCARD, 150));
        if (i < 20)
            put(stat, make(51, "other", VDB, BLOCK_WRITE, 150));
    }
    load(stat, BLOCK_EVENTS_KEPT);
    assert_int_equal(kept_of(stat, VDA, 50, "RS"), 50);
    assert_int_equal(kept_of(stat, VDA, 100, "DS"), 25);
    assert_int_equal(kept_of(stat, VDB, 51, "WS"), 20);
    const struct block_chosen *found;
    uint32_t n = kept(stat, BLOCK_FEW, &found), of_load = 0;
    for (uint32_t i = 0; i < n; i++)
        of_load += found[i].pick->task.tid == 100 && found[i].pick->io.rwbs[0] == 'R';
    assert_int_equal(of_load, 0); // thousands are not few
}

// More tasks than room: no overflow, and a later interval keeps the small ones again.
static void more_tasks_than_room(void **state) {
    (void)state;
    for (int32_t i = 0; i < 300000; i++)
        put(stat, make(1000 + i % 6000, "task", VDA, BLOCK_READ, 200000));
    assert_true(kept(stat, -1, NULL) <= BLOCK_RARE_CHOSEN);
    assert_true(stat->rare->n_few <= BLOCK_FEW_KEPT);
    block_stat_clear(stat);
    block_stat_clear(stat); // more room for tasks by now
    for (int i = 0; i < 50; i++)
        put(stat, make(50, "small", VDA, BLOCK_READ, 150));
    load(stat, 50000);
    assert_int_equal(kept_of(stat, VDA, 50, "RS"), 50);
}

// Before recent_from, I/Os are still considered as rare.
static void rare_before_recent_from(void **state) {
    (void)state;
    stat->recent_from = UINT64_MAX;
    put(stat, make(50, "small", VDA, BLOCK_READ, 20000000));
    load(stat, 5000);
    stat->recent_from = 0;
    load(stat, 10);
    assert_int_equal(block_stat_left_out(stat), 5001);
    assert_int_equal(kept_of(stat, VDA, 50, "RS"), 1);
    const struct block_chosen *found;
    assert_true(kept(stat, BLOCK_SLOW, &found) > 0);
    assert_int_equal(found[0].pick->nth, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(all_are_newest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_slowest, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_devices, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_failed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(tasks_with_few_ios, set_up, tear_down),
        cmocka_unit_test_setup_teardown(more_tasks_than_room, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rare_before_recent_from, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
