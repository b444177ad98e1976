// Off-CPU times: forged switches of threads, their stacks, and how the time is divided; the records; the cost.
#include "collectors/profile/offcpu.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/forge_profile.h"

#define MS 1000000ull

static struct blocks *blocks;
static uint64_t us[100], unknown_us; // by the leaf's ID; without a stack
static size_t n_given;

static int begin(void **state) {
    (void)state;
    blocks = blocks_new();
    return 0;
}

static int end(void **state) {
    (void)state;
    blocks_free(blocks);
    return 0;
}

static void given(void *context, pid_t pid, const uint32_t *ids, size_t n, uint64_t time) {
    (void)context;
    assert_int_equal(pid, 10);
    n_given++;
    if (n)
        us[ids[n - 1]] += time;
    else
        unknown_us += time;
}

static void settle(uint64_t ms, double scale) {
    memset(us, 0, sizeof us);
    unknown_us = n_given = 0;
    blocks_settle(blocks, ms * MS, scale, given, NULL);
}

static void stack(pid_t tid, uint32_t leaf) {
    const uint32_t ids[] = {1, 2, leaf};
    blocks_stack(blocks, 10, tid, ids, 3);
}

static void block(pid_t tid, uint64_t from_ms, uint64_t to_ms) {
    blocks_out(blocks, 10, tid, from_ms * MS, false);
    blocks_in(blocks, tid, to_ms * MS);
}

static void pairs(void **state) {
    (void)state;
    stack(11, 50);
    block(11, 100, 130);
    stack(11, 51);
    block(11, 131, 141);
    settle(1000, 1);
    assert_int_equal(us[50], 30000);
    assert_int_equal(us[51], 10000);
    settle(2000, 1); // each block once
    assert_int_equal(n_given, 0);
}

static void preempted(void **state) {
    (void)state;
    stack(11, 50);
    blocks_out(blocks, 10, 11, 100 * MS, true);
    blocks_in(blocks, 11, 200 * MS);
    block(11, 210, 220); // the stack was of the other switch, but it is the last that is known
    settle(1000, 1);
    assert_int_equal(us[50], 10000);
    assert_int_equal(n_given, 1);
}

// 100 blocks of 2 ms, of which 10 have a stack, 3 : 2; and one of 300 ms.
static void sampled(void **state) {
    (void)state;
    uint64_t at = 0;
    for (int i = 0; i < 100; i++, at += 3) {
        if (i % 10 == 0)
            stack(11, i < 60 ? 50 : 51);
        block(11, at, at + 2);
    }
    stack(11, 52);
    block(11, 400, 700);
    settle(1000, 1);
    assert_int_equal(us[50], 120000);
    assert_int_equal(us[51], 80000);
    assert_int_equal(us[52], 300000); // long blocks are not divided among short ones
}

static void not_sampled(void **state) {
    (void)state;
    block(11, 100, 130);
    settle(1000, 1);
    assert_int_equal(unknown_us, 30000);
    stack(11, 50);
    block(11, 1100, 1105);
    block(11, 1200, 1230); // a long one, of which no stack was taken: the last stack of the thread
    settle(2000, 1);
    assert_int_equal(us[50], 35000);
    assert_int_equal(unknown_us, 0);
}

static void over_intervals(void **state) {
    (void)state;
    stack(11, 50);
    blocks_out(blocks, 10, 11, 900 * MS, false);
    settle(1000, 1);
    assert_int_equal(us[50], 100000);
    settle(2000, 1);
    assert_int_equal(us[50], 1000000);
    blocks_in(blocks, 11, 2250 * MS);
    settle(3000, 1);
    assert_int_equal(us[50], 250000);
}

static void migrated(void **state) {
    (void)state;
    static const uint32_t cpus[] = {0, 3};
    struct profile_record record;
    struct forged forged;
    const struct profile_format format = {0};
    stack(0x1234, 50);
    for (int i = 0; i < 2; i++) { // it leaves CPU 0, and wakes up on CPU 3
        forged_begin(&forged, PERF_RECORD_SWITCH_CPU_WIDE, i ? 0 : PERF_RECORD_MISC_SWITCH_OUT);
        forged_u64(&forged, 0x7700000077); // the other thread
        forged_u32(&forged, 10);
        forged_u32(&forged, 0x1234);
        forged_u64(&forged, i ? 170 * MS : 100 * MS);
        forged_u64(&forged, cpus[i]);
        assert_true(profile_record_decode(&format, forged_end(&forged), &record));
        assert_int_equal(record.type, RECORD_SWITCH);
        assert_int_equal(record.tid, 0x1234);
        assert_int_equal(record.change.cpu, cpus[i]);
        assert_int_equal(record.change.out, !i);
        assert_false(record.change.preempted);
        if (record.change.out)
            blocks_out(blocks, record.pid, record.tid, record.time, record.change.preempted);
        else
            blocks_in(blocks, record.tid, record.time);
    }
    settle(1000, 1);
    assert_int_equal(us[50], 70000);
}

static void preempted_record(void **state) {
    (void)state;
    struct profile_record record;
    struct forged forged;
    const struct profile_format format = {0};
    forged_begin(&forged, PERF_RECORD_SWITCH, PERF_RECORD_MISC_SWITCH_OUT | 1 << 14);
    assert_true(profile_record_decode(&format, forged_trailed(&forged, 777), &record));
    assert_int_equal(record.type, RECORD_SWITCH);
    assert_true(record.change.out && record.change.preempted);
    assert_int_equal(record.time, 777);
}

// A sample without its period has the callchain where the period would be.
static void no_period(void **state) {
    (void)state;
    const uint64_t ips[] = {(uint64_t)PERF_CONTEXT_USER, 0x1000, 0x2000};
    const struct profile_format format = {.period = 31};
    struct profile_record record;
    struct forged with, without;
    const struct perf_event_header *header = forged_sample(&with, PERF_RECORD_MISC_USER, ips, 3);
    forged_begin(&without, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    forged_put(&without, with.bytes + 8, 32);
    forged_put(&without, with.bytes + 48, header->size - 48);
    assert_true(profile_record_decode(&format, forged_end(&without), &record));
    assert_int_equal(record.sample.n_ips, 3);
    assert_int_equal(record.sample.ips[2], 0x2000);
    assert_int_equal(record.sample.period, 31);
}

static void lost(void **state) {
    (void)state;
    stack(11, 50);
    blocks_out(blocks, 10, 11, 100 * MS, false);
    blocks_lost(blocks); // it may have run since
    blocks_in(blocks, 11, 900 * MS);
    stack(11, 51);
    block(11, 910, 920);
    settle(1000, 1);
    assert_int_equal(us[50], 0);
    assert_int_equal(us[51], 10000);
}

static void exited(void **state) {
    (void)state;
    stack(11, 50);
    blocks_out(blocks, 10, 11, 100 * MS, false);
    blocks_exit(blocks, 11, 150 * MS);           // killed; the record of its wakeup is missing
    blocks_out(blocks, 10, 11, 151 * MS, false); // its last switch is no block
    settle(1000, 1);
    assert_int_equal(us[50], 50000);
    settle(2000, 1);
    assert_int_equal(n_given, 0);
    settle(3000, 1);
    assert_int_equal(blocks_threads(blocks), 0);
    blocks_exit(blocks, 11, 3000 * MS);
    blocks_fork(blocks, 11); // the ID again
    stack(11, 51);
    block(11, 3100, 3110);
    settle(4000, 1);
    assert_int_equal(us[51], 10000);
    assert_int_equal(us[50], 0);
}

static void forked_again(void **state) {
    (void)state;
    stack(11, 50);
    block(11, 100, 110);
    blocks_exit(blocks, 11, 120 * MS);
    blocks_fork(blocks, 11);
    block(11, 200, 210); // without a stack: that of the thread before is not its
    settle(1000, 1);
    assert_int_equal(us[50], 10000);
    assert_int_equal(unknown_us, 10000);
}

static size_t asked(void *context, pid_t pid, pid_t tid, uint32_t *ids, size_t n_max) {
    (void)n_max;
    ++*(int *)context;
    assert_int_equal(pid, 10);
    ids[0] = 1;
    ids[1] = 60;
    return tid == 11 ? 2 : 0;
}

static void asleep(void **state) {
    (void)state;
    int n = 0;
    blocks_asleep(blocks, 10, 11, 200 * MS);
    blocks_asleep(blocks, 10, 12, 300 * MS);
    stack(13, 50);
    blocks_out(blocks, 10, 13, 500 * MS, false); // has a stack
    blocks_out(blocks, 10, 14, 990 * MS, false); // has none, but is no long block yet
    blocks_asleep(blocks, 10, 13, 600 * MS);     // has a record: that counts
    blocks_ask(blocks, 900 * MS, 100, asked, &n);
    assert_int_equal(n, 2);
    settle(1000, 1);
    assert_int_equal(us[60], 800000);
    assert_int_equal(us[50], 500000);
    assert_int_equal(unknown_us, 700000 + 10000);
    blocks_ask(blocks, 900 * MS, 100, asked, &n); // each block once
    assert_int_equal(n, 2);
}

static void windows(void **state) {
    (void)state;
    stack(11, 50);
    block(11, 10, 40);
    stack(12, 51);
    blocks_out(blocks, 10, 12, 20 * MS, false); // sleeps on
    blocks_pause(blocks, 50 * MS);
    blocks_resume(blocks, 450 * MS);
    blocks_in(blocks, 12, 470 * MS);
    blocks_pause(blocks, 500 * MS);
    settle(1000, 10); // 100 ms of 1,000 were recorded
    assert_int_equal(us[50], 300000);
    assert_int_equal(us[51], 10 * (30000 + 20000));
}

static bool sleeps(void *context, pid_t pid, pid_t tid) {
    ++*(int *)context;
    return pid == 10 && tid == 11;
}

static void looked_at(void **state) {
    (void)state;
    int n = 0;
    stack(11, 50);
    blocks_out(blocks, 10, 11, 100 * MS, false);
    block(12, 100, 110);
    blocks_exit(blocks, 12, 120 * MS);
    block(13, 100, 110);
    blocks_lost(blocks);
    blocks_look(blocks, 400 * MS, 100, sleeps, &n);
    assert_int_equal(n, 2);          // not the one that ended
    blocks_in(blocks, 11, 350 * MS); // of the time before
    blocks_look(blocks, 500 * MS, 100, sleeps, &n);
    settle(1000, 1);
    assert_int_equal(us[50], 500000);
    assert_int_equal(unknown_us, 20000);
    blocks_look(blocks, 1000 * MS, 100, sleeps, &n);
    assert_int_equal(n, 5); // 11 is known to be blocked
}

// The last leaf: the waker's.
static void waker(pid_t tid, uint32_t last) {
    const uint32_t ids[] = {3, 4, last};
    blocks_waker(blocks, tid, ids, 3);
}

static void wakers(void **state) {
    (void)state;
    stack(11, 50);
    blocks_out(blocks, 10, 11, 100 * MS, false);
    assert_false(blocks_asks_waker(blocks, 11)); // off
    waker(11, 70);
    blocks_in(blocks, 11, 110 * MS);
    settle(1000, 1);
    assert_int_equal(us[50], 10000);
    blocks_set_wakers(blocks, true, 99);
    stack(11, 50);
    assert_false(blocks_asks_waker(blocks, 11)); // it runs
    waker(11, 70);
    blocks_out(blocks, 10, 11, 1100 * MS, false);
    assert_true(blocks_asks_waker(blocks, 11));
    waker(11, 71);
    waker(11, 72); // replaces it
    blocks_in(blocks, 11, 1130 * MS);
    stack(11, 50);
    block(11, 1200, 1205); // the waker before is not its
    block(12, 1200, 1207); // no stack
    assert_false(blocks_asks_waker(blocks, 12));
    settle(2000, 1);
    assert_int_equal(us[72], 30000);
    assert_int_equal(us[99], 5000);
    assert_int_equal(us[50] + us[70] + us[71], 0);
    assert_int_equal(unknown_us, 7000);
    block(11, 2100, 2103); // its last stack, without a waker
    settle(3000, 1);
    assert_int_equal(us[99], 3000);
    stack(11, 50);
    blocks_out(blocks, 10, 11, 3100 * MS, false);
    waker(11, 74);
    blocks_in(blocks, 11, 3104 * MS);
    settle(4000, 1);
    block(11, 4100, 4105); // its last stack has one
    settle(5000, 1);
    assert_int_equal(us[74], 5000);
}

static void wakers_end(void **state) {
    (void)state;
    blocks_set_wakers(blocks, true, 99);
    stack(11, 50);
    blocks_out(blocks, 10, 11, 100 * MS, false);
    waker(11, 70);
    blocks_exit(blocks, 11, 140 * MS); // killed
    waker(11, 71);
    blocks_fork(blocks, 11); // another thread
    stack(11, 50);
    block(11, 200, 210);
    stack(12, 50);
    blocks_out(blocks, 10, 12, 300 * MS, false); // sleeps on
    settle(1000, 1);
    assert_int_equal(us[70], 40000);
    assert_int_equal(us[99], 10000 + 700000);
    waker(12, 73);
    blocks_in(blocks, 12, 1010 * MS);
    stack(13, 50);
    blocks_out(blocks, 10, 13, 1100 * MS, false);
    waker(13, 74);
    blocks_set_wakers(blocks, false, 0);
    blocks_in(blocks, 13, 1120 * MS);
    settle(2000, 1);
    assert_int_equal(us[73], 10000);
    assert_int_equal(us[50], 20000);
    assert_int_equal(us[74] + us[99], 0);
}

static void waking_paths(void **state) {
    (void)state;
    const struct waking_names names = {.woken_by = 90, .interrupt = 91, .unknown = 92};
    static struct stacks_path path = {.ids = {1, 2, 3, 4, 5}, .n = 5, .n_user = 2};
    uint32_t ids[WAKING_FRAMES_MAX + 2];
    static const uint32_t thread[] = {90, 5, 4, 3, 2, 1}, interrupt[] = {90, 5, 4, 91};
    assert_int_equal(waking_path(&names, &path, false, ids), 6);
    assert_memory_equal(ids, thread, sizeof thread);
    assert_int_equal(waking_path(&names, &path, true, ids), 4); // not the user frames of what it interrupted
    assert_memory_equal(ids, interrupt, sizeof interrupt);
    path.n = STACKS_PATH_MAX;
    assert_int_equal(waking_path(&names, &path, false, ids), WAKING_FRAMES_MAX + 2);
    assert_int_equal(ids[WAKING_FRAMES_MAX + 1], 1);
}

static void waking_record(void **state) {
    (void)state;
    const struct waking waking = {.id = 5, .pid = {.name = "pid", .offset = 24, .size = 4, .is_signed = true}};
    const struct profile_format format = {.raw = true, .period = 31};
    uint8_t data[36] = {0}; // of 4 + 36 bytes
    struct profile_record record;
    struct forged forged;
    bool interrupt;
    const uint32_t pid = 4711;
    memcpy(data + 24, &pid, sizeof pid);
    for (int i = 0; i < 3; i++) { // a wakeup, one by a soft interrupt, a switch
        data[2] = i == 1 ? 0x10 : 0x01;
        forged_begin(&forged, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
        forged_u64(&forged, 0x1000);
        forged_u32(&forged, 42);
        forged_u32(&forged, 43);
        forged_u64(&forged, 777);
        forged_u64(&forged, 5);
        forged_u64(&forged, 0); // no frames
        forged_u32(&forged, i < 2 ? sizeof data : 4);
        forged_put(&forged, data, i < 2 ? sizeof data : 4);
        assert_true(profile_record_decode(&format, forged_end(&forged), &record));
        assert_int_equal(record.sample.raw != NULL, i < 2);
        assert_int_equal(waking_thread(&waking, record.sample.raw, record.sample.raw_size, &interrupt),
                         i < 2 ? 4711 : 0);
        assert_int_equal(interrupt, i == 1);
    }
    forged.n -= 4; // ends within it
    assert_false(profile_record_decode(&format, forged_end(&forged), &record));
}

static void many(void **state) {
    (void)state;
    for (int i = 1; i <= BLOCKS_THREADS_MAX + 5; i++)
        block(i, 10, 11);
    assert_int_equal(blocks_threads(blocks), BLOCKS_THREADS_MAX);
    assert_int_equal(blocks_refused(blocks), 5);
    for (int i = 1; i <= 11; i++)
        settle((uint64_t)i * 1000, 1);
    assert_int_equal(blocks_threads(blocks), 0); // those that are awake are forgotten
    for (int i = 0; i < BLOCKS_STACKS_MAX + 100; i++) {
        stack(1, 50);
        block(1, 20000 + (uint64_t)i, 20001 + (uint64_t)i);
    }
    settle(90000, 1);
    assert_int_equal(us[50], (BLOCKS_STACKS_MAX + 100) * 1000); // what was not stored is divided
}

static void cost(void **state) {
    (void)state;
    assert_int_equal(offcpu_period(0), 1);
    assert_int_equal(offcpu_period(OFFCPU_STACKS_PER_S), 1);
    for (double rate = 300; rate < 2e6; rate *= 1.7) {
        uint64_t period = offcpu_period(rate);
        // Half of what the time between windows leaves.
        assert_true(rate / (double)period <= OFFCPU_STACKS_PER_S * (1 + offcpu_windows_off(rate) / 2));
        assert_true(period % 2 == 1);
        assert_true(period == 3 || period % 3);
    }
    assert_true(offcpu_windows_off(1000) == 0);
    double off = offcpu_windows_off(50000); // 6 % of a CPU if all were recorded
    assert_true(off > 4.9 && off < 5.1);
    assert_true(offcpu_windows_off(1e9) <= 29);
}

static void kernel_stack(void **state) {
    (void)state;
    struct asleep_frame frames[4];
    static const char text[] = "[<0>] do_nanosleep+0x7a/0x1a0\n"
                               "[<ffffffff81234567>] nfs_wait_bit+0x1/0x2 [nfs]\n"
                               "no frame\n"
                               "[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n";
    assert_int_equal(asleep_stack_parse(text, frames, 4), 3);
    assert_string_equal(frames[0].symbol, "do_nanosleep");
    assert_string_equal(frames[0].module, "");
    assert_string_equal(frames[1].symbol, "nfs_wait_bit");
    assert_string_equal(frames[1].module, "nfs");
    assert_string_equal(frames[2].symbol, "entry_SYSCALL_64_after_hwframe");
    assert_int_equal(asleep_stack_parse(text, frames, 2), 2);
    assert_int_equal(asleep_stack_parse("", frames, 2), 0);
    assert_int_equal(asleep_stack_parse("[<0>]\n[<0>] \n]", frames, 4), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(pairs),         TEST(preempted),        TEST(sampled),   TEST(not_sampled),  TEST(over_intervals),
        TEST(migrated),      TEST(preempted_record), TEST(no_period), TEST(lost),         TEST(exited),
        TEST(asleep),        TEST(windows),          TEST(looked_at), TEST(forked_again), TEST(many),
        TEST(cost),          TEST(kernel_stack),     TEST(wakers),    TEST(wakers_end),   TEST(waking_paths),
        TEST(waking_record),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
