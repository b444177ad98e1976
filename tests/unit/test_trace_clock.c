// The line from a trace clock to CLOCK_MONOTONIC: forged readings with drift and noise, and this machine's clock.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "collectors/kernel/tracefs/trace_clock.h"
#include "model/live.h"

#define MS 1000000ull
#define S (1000 * MS)
#define NOISE_NS 150 // of a reading

static void test_mono_converts_nothing(void **state) {
    (void)state;
    struct trace_clock clock = TRACE_CLOCK_MONO;
    for (uint64_t ts = 1; ts < UINT64_MAX / 8; ts *= 7) {
        assert_int_equal(trace_clock_mono(&clock, ts), ts);
        assert_int_equal(trace_clock_span(&clock, 12345678), 12345678);
    }
    assert_true(trace_clock_read(&clock, 5));
    assert_int_equal(trace_clock_time(&clock, 77 * S), 77 * S);
    assert_int_equal(trace_clock_mono(&clock, 3), 3);
}

// A counter of `hz`; after 10 s CLOCK_MONOTONIC runs faster by ppm.
struct truth {
    double hz, ppm;
};
static uint64_t counter_at(const struct truth *truth, uint64_t ns) {
    double slow = ns > 10 * S ? (double)(ns - 10 * S) * truth->ppm / 1e6 : 0;
    return (uint64_t)(1e12 + ((double)ns - slow) * truth->hz / 1e9);
}
static uint64_t noisy(uint64_t ns) {
    return ns + (uint64_t)(rand() % (2 * NOISE_NS)) - NOISE_NS;
}

// Readings every 25 ms; the last converted time is 5 ms before each.
static void follow(const struct truth *truth) {
    struct trace_clock clock = {.name = "x86-tsc"};
    uint64_t begin = 5 * S, last = 0, done = 0;
    trace_clock_reading(&clock, counter_at(truth, begin), begin, 0);
    trace_clock_reading(&clock, counter_at(truth, begin + 3 * MS), noisy(begin + 3 * MS), 0);
    for (uint64_t ns = begin + 10 * MS; ns < 40 * S; ns += 25 * MS) {
        assert_true(trace_clock_reading(&clock, counter_at(truth, ns), noisy(ns), done));
        uint64_t from = done ? done : counter_at(truth, begin + 3 * MS), until = counter_at(truth, ns - 5 * MS);
        for (uint64_t ts = from; ts < until; ts += (until - from) / 7 + 1) { // never backwards
            assert_true(trace_clock_mono(&clock, ts) >= last);
            last = trace_clock_mono(&clock, ts);
        }
        done = until;
        double off = (double)(int64_t)(trace_clock_mono(&clock, counter_at(truth, ns)) - ns);
        bool settled = ns > begin + 2 * S && (ns < 10 * S || ns > 15 * S);
        assert_true(fabs(off) < (settled ? 1000 : 60000));
        // A disk latency of 1 ms: error below 0.025 %, and below 0.0025 % once settled.
        uint64_t ms = trace_clock_mono(&clock, until) - trace_clock_mono(&clock, until - (uint64_t)(truth->hz / 1e3));
        assert_true(fabs((double)ms - 1e6) < (settled ? 25 : 250));
        uint64_t back = trace_clock_time(&clock, trace_clock_mono(&clock, until));
        assert_true(back + 8 > until && back < until + 8);
        assert_true(fabs((double)trace_clock_span(&clock, MS) - truth->hz / 1e3) < truth->hz / 1e3 / 1000);
    }
}

static void test_follows_the_time(void **state) {
    (void)state;
    static const struct truth truths[] = {{2.45e9, 0}, {3.7e9, 20}, {1e9, -20}, {1.992e9, 5}};
    srand(1);
    for (size_t i = 0; i < sizeof(truths) / sizeof(truths[0]); i++)
        follow(&truths[i]);
}

static struct trace_clock steady(void) {
    struct trace_clock clock = {.name = "x86-tsc"};
    for (uint64_t ns = 0; ns < 3 * S; ns += 25 * MS)
        assert_true(trace_clock_reading(&clock, S + 4 * ns, S + ns, ns ? S + 4 * ns - 60 * MS : 0));
    return clock;
}

static void test_jumps_are_reported(void **state) {
    (void)state;
    struct trace_clock clock = steady();
    assert_int_equal(trace_clock_mono(&clock, S + 12 * S), S + 3 * S);
    assert_true(trace_clock_reading(&clock, S + 12 * S, S + 3 * S, S + 8 * S));
    assert_false(trace_clock_reading(&clock, S + 16 * S, S + 9 * S, S + 12 * S)); // 5 s too late
    assert_int_equal(trace_clock_mono(&clock, S + 16 * S), S + 9 * S);
    assert_int_equal(trace_clock_mono(&clock, S + 20 * S), S + 10 * S);
    assert_true(trace_clock_reading(&clock, S + 20 * S, S + 10 * S, S + 19 * S));
    assert_false(trace_clock_reading(&clock, 3 * MS, S + 11 * S, S + 20 * S)); // the counter was reset
    assert_int_equal(trace_clock_mono(&clock, 7 * MS), S + 11 * S + MS);
    assert_false(trace_clock_reading(&clock, 11 * MS, S, 0)); // CLOCK_MONOTONIC jumped back
    assert_int_equal(trace_clock_mono(&clock, 15 * MS), S + MS);
}

static void test_two_readings_at_once(void **state) {
    (void)state;
    struct trace_clock clock = {.name = "x86-tsc"};
    assert_true(trace_clock_reading(&clock, 4 * S, S, 0));
    struct trace_clock before = clock;
    assert_true(trace_clock_reading(&clock, 4 * S, S + 5, 0));
    assert_true(trace_clock_reading(&clock, 4 * S + 5, S, 0));
    assert_memory_equal(&clock, &before, sizeof(clock));
    assert_true(trace_clock_reading(&clock, 4 * S + 4 * MS, S + MS, 0));
    assert_int_equal(trace_clock_mono(&clock, 4 * S + 8 * MS), S + 2 * MS);
}

// The clock that this machine offers.
static void test_of_this_machine(void **state) {
    (void)state;
    struct trace_clock clock = trace_clock_choose();
    uint64_t until = now_ns() + 300 * MS, done = 0;
    assert_true(!strcmp(clock.name, "mono") || !strcmp(clock.name, "x86-tsc"));
    do {
        nanosleep(&(struct timespec){.tv_nsec = 5 * MS}, NULL);
        assert_true(trace_clock_read(&clock, done));
        uint64_t before = now_ns();
        uint64_t ts = trace_clock_time(&clock, before); // as if recorded in an event
        done = trace_clock_time(&clock, before - 2 * MS);
        assert_true(llabs((long long)(trace_clock_mono(&clock, ts) - before)) < 8);
    } while (now_ns() < until);
#ifdef __x86_64__
    if (!strcmp(clock.name, "mono"))
        return;
    uint64_t near = UINT64_MAX;
    for (int i = 0; i < 100; i++) { // at least one is not preempted
        uint64_t before = now_ns(), ts = __builtin_ia32_rdtsc(), after = now_ns(), mono = trace_clock_mono(&clock, ts);
        uint64_t off = mono < before ? before - mono : mono > after ? mono - after : 0;
        near = off < near ? off : near;
    }
    assert_true(near < 2000);
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mono_converts_nothing), cmocka_unit_test(test_follows_the_time),
        cmocka_unit_test(test_jumps_are_reported),    cmocka_unit_test(test_two_readings_at_once),
        cmocka_unit_test(test_of_this_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
