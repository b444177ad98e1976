// Whose counts are whose: forged samples and switch records of one CPU or two, with groups that are off, records that
// are lost, threads that have ended, numbers that are used again. Each nanosecond and each count must be somewhere.
#include "collectors/counters/task_switch.h"

#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectors/kernel/perf/ring.h"

#define RING 8192
#define CLOCK 1000000 // of the records, when the group's time is 0

// A CPU as the kernel would see it: its group's values, its ring.
struct cpu {
    _Alignas(8) uint8_t ring[RING];
    uint64_t head, tail;
    struct switch_mark now;
    struct switches switches;
    uint32_t runs; // tid; its pid is the hundreds
};

static struct switch_totals totals;
static struct cpu cpus[2], *cpu = &cpus[0];

static int setup(void **state) {
    (void)state;
    totals = (struct switch_totals){.sums = task_sums_new()};
    memset(cpus, 0, sizeof(cpus));
    for (int i = 0; i < 2; i++)
        cpus[i].switches = (struct switches){.totals = &totals, .n_values = 2, .which = {1, 0}}; // not in their order
    cpu = &cpus[0];
    return 0;
}

static int teardown(void **state) {
    (void)state;
    task_sums_free(totals.sums);
    return 0;
}

static uint32_t pid_of(uint32_t tid) {
    return tid == UINT32_MAX ? UINT32_MAX : tid / 100 * 100;
}

static void put(const void *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        cpu->ring[cpu->head++ % RING] = ((const uint8_t *)bytes)[i];
}

// Time passes: `cycles` and `instructions` are counted if the group is on the PMU.
static void run(uint64_t ns, uint64_t cycles, uint64_t instructions, bool on) {
    cpu->now.enabled += ns;
    cpu->now.running += on ? ns : 0;
    cpu->now.values[0] += on ? instructions : 0; // the first of the group is counter 1
    cpu->now.values[1] += on ? cycles : 0;
}

static void put_sample(uint32_t tid) {
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        uint64_t time, n, enabled, running, switches, values[2];
    } r = {{PERF_RECORD_SAMPLE, 0, sizeof(r)},
           pid_of(tid),
           tid,
           CLOCK + cpu->now.enabled,
           3,
           cpu->now.enabled,
           cpu->now.running,
           cpu->now.switches,
           {cpu->now.values[0], cpu->now.values[1]}};
    put(&r, sizeof(r));
}

static void put_switch(bool out, uint32_t tid, uint32_t other) {
    struct {
        struct perf_event_header header;
        uint32_t other[2], id[2];
        uint64_t time;
    } r = {{PERF_RECORD_SWITCH_CPU_WIDE, out ? PERF_RECORD_MISC_SWITCH_OUT : 0, sizeof(r)},
           {pid_of(other), other},
           {pid_of(tid), tid},
           CLOCK + cpu->now.enabled};
    put(&r, sizeof(r));
}

// From the one that runs to the next, as the kernel tells it. `as`: under which number it leaves.
static void change_as(uint32_t next, bool on, uint32_t as) {
    if (on) {
        cpu->now.switches++;
        put_sample(as);
    }
    put_switch(true, as, next);
    put_switch(false, next, as);
    cpu->runs = next;
}

static void change(uint32_t next, bool on) {
    change_as(next, on, cpu->runs);
}

static void put_lost(uint64_t n) {
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
        uint32_t task[2];
        uint64_t time;
    } r = {{PERF_RECORD_LOST, 0, sizeof(r)}, 1, n, {0, 0}, 0};
    put(&r, sizeof(r));
}

static void put_fork(uint32_t tid, uint64_t time) {
    struct {
        struct perf_event_header header;
        uint32_t pid, ppid, tid, ptid;
        uint64_t time;
        uint32_t id[2];
        uint64_t id_time;
    } r = {{PERF_RECORD_FORK, 0, sizeof(r)}, pid_of(tid), 1, tid, 1, time, {1, 1}, time};
    put(&r, sizeof(r));
}

static void drain(void) {
    task_sums_reserve(totals.sums, 100);
    assert_true(perf_ring_walk(cpu->ring, RING, &cpu->tail, cpu->head, switches_record, &cpu->switches));
}

static uint64_t cut_at(const struct switch_mark *reading) {
    cpu->switches.until = reading;
    drain();
    return switches_cut(&cpu->switches, reading);
}

static uint64_t cut(void) {
    struct switch_mark reading = cpu->now;
    return cut_at(&reading);
}

static void counts_are(const struct task_counts *counts, uint64_t time, uint64_t running, uint64_t cycles,
                       uint64_t instructions) {
    assert_int_equal(counts->time_ns, time);
    assert_int_equal(counts->running_ns, running);
    assert_int_equal(counts->values[0], cycles);
    assert_int_equal(counts->values[1], instructions);
}

static void is(uint32_t tid, uint64_t time, uint64_t running, uint64_t cycles, uint64_t instructions) {
    const struct task_sum *sum = task_sums_find(totals.sums, (pid_t)tid);
    assert_non_null(sum);
    assert_int_equal(sum->pid, pid_of(tid));
    counts_are(&sum->counts, time, running, cycles, instructions);
}

// Begins: 101 runs, and has done so for long.
static void begin(void) {
    cpu->runs = 101;
    run(5000, 50000, 5000, true);
    cut();
}

static void each_has_what_was_counted_while_it_ran(void **state) {
    (void)state;
    begin();
    run(100, 1000, 500, true);
    change(201, true);
    run(10, 30, 60, true);
    change(102, true);
    run(7, 70, 7, true);
    change(201, true);
    run(5, 5, 5, true);
    change(0, true);
    run(1000, 20, 2, true);
    change(101, true);
    drain();
    is(101, 100, 100, 1000, 500); // also the first: from the beginning on
    is(201, 15, 15, 35, 65);
    is(102, 7, 7, 70, 7);
    counts_are(&totals.idle, 1000, 1000, 20, 2);
    counts_are(&totals.nobody, 0, 0, 0, 0);
    assert_int_equal(totals.seen, 5);
    assert_int_equal(task_sums_count(totals.sums), 3);
}

// The one that runs at the end of the frame gets its share; the records after the reading are of the next frame.
static void the_frame_ends_in_the_middle(void **state) {
    (void)state;
    begin();
    run(100, 1000, 500, true);
    change(201, true);
    run(40, 400, 40, true);
    struct switch_mark reading = cpu->now;
    run(60, 600, 60, true); // it ran on, and there was a switch before the ring was walked
    change(101, true);
    run(9, 9, 9, true);
    assert_int_equal(cut_at(&reading), 140);
    is(101, 100, 100, 1000, 500);
    is(201, 40, 40, 400, 40);
    task_sums_clear(totals.sums);
    assert_int_equal(cut(), 69);
    is(201, 60, 60, 600, 60);
    is(101, 9, 9, 9, 9);
    task_sums_clear(totals.sums);
    run(1000, 10, 10, true); // no switch in a whole frame
    cut();
    is(101, 1000, 1000, 10, 10);
    counts_are(&totals.nobody, 0, 0, 0, 0);
}

// Opened while one runs that never leaves: until it is known who, its counts are nobody's.
static void who_runs_at_first_is_not_known(void **state) {
    (void)state;
    begin();
    run(100, 1000, 500, true);
    cut();
    counts_are(&totals.nobody, 100, 100, 1000, 500);
    run(50, 7, 7, true);
    change(201, true);
    cut();
    is(101, 50, 50, 7, 7);
}

static void ended_threads_leave_without_a_number(void **state) {
    (void)state;
    begin();
    run(1, 1, 1, true);
    change(201, true);
    run(30, 3, 2, true);
    change_as(101, true, UINT32_MAX);
    run(20, 4, 4, true);
    cut();
    is(201, 30, 30, 3, 2);
    is(101, 21, 21, 5, 5);
    assert_null(task_sums_find(totals.sums, -1));
    counts_are(&totals.nobody, 0, 0, 0, 0);
}

// Off the PMU for a part of a slice without a switch: the counts are its own, its counters ran for a part of its time.
static void multiplexed_within_a_slice(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    run(50, 500, 50, false);
    run(10, 100, 10, true);
    change(101, true);
    drain();
    is(201, 100, 50, 500, 50);
}

// Switches while the group is off give no samples. The times are each one's own, the counts nobody's.
static void multiplexed_across_switches(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    run(10, 1, 1, false);
    change(301, false);
    run(25, 1, 1, false);
    change(0, false);
    run(8, 1, 1, false);
    change(401, false);
    run(5, 1, 1, false);
    run(15, 150, 15, true);
    change(501, true); // the group is on again
    run(11, 110, 11, true);
    change(101, true);
    drain();
    is(201, 50, 0, 0, 0);
    is(301, 25, 0, 0, 0);
    is(401, 20, 0, 0, 0);
    is(501, 11, 11, 110, 11);
    counts_are(&totals.idle, 8, 0, 0, 0);
    counts_are(&totals.nobody, 0, 0, 550, 55);
    // And over the end of a frame.
    run(3, 30, 3, true);
    run(3, 30, 3, false);
    change(601, false);
    run(2, 2, 2, false);
    cut();
    run(4, 4, 4, false);
    struct switch_mark reading = cpu->now;
    run(1, 1, 1, false);
    change(101, false); // after the reading
    run(1, 1, 1, false);
    cut_at(&reading);
    is(601, 6, 0, 0, 0);
    is(101, 6, 0, 0, 0);
    cut();
    is(601, 7, 0, 0, 0);
    is(101, 7, 0, 0, 0);
}

// The kernel says that records are missing: what passed since the last sample is of nobody known.
static void lost_records(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    cpu->now.switches += 3; // lost
    put_lost(9);
    run(10, 100, 10, true);
    change_as(101, true, 301);
    run(7, 7, 7, true);
    cut();
    counts_are(&totals.nobody, 50, 50, 500, 50);
    is(101, 7, 7, 7, 7);
    assert_int_equal(totals.lost, 9);
    assert_null(task_sums_find(totals.sums, 301));
}

// The ring is full at the frame's end and the kernel has not said so yet: the leader's count tells.
static void lost_and_not_told_yet(void **state) {
    (void)state;
    begin();
    run(9, 9, 9, true);
    change(201, true);
    run(40, 400, 40, true);
    cpu->now.switches += 3;
    cpu->runs = 301;
    cut();
    is(101, 9, 9, 9, 9);
    counts_are(&totals.nobody, 40, 40, 400, 40);
    run(10, 100, 10, true);
    put_lost(9);
    change(101, true);
    cut();
    counts_are(&totals.nobody, 50, 50, 500, 50);
    run(10, 100, 10, true);
    change(201, true);
    cut();
    is(101, 19, 19, 109, 19);
}

static void a_count_that_jumps_is_a_gap(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    cpu->now.switches++; // a switch that nobody told of
    change_as(101, true, 301);
    drain();
    assert_null(task_sums_find(totals.sums, 301));
    counts_are(&totals.nobody, 40, 40, 400, 40);
}

// Kernels that write nothing while certain tasks run: that they ran shows in who comes after them.
static void tasks_that_are_never_told_of(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    cpu->now.switches++;
    put_sample(201);
    put_switch(true, 201, 0);
    run(30, 3, 3, true);
    cpu->now.switches++; // the idle task leaves: no sample, no record
    put_switch(false, 301, 0);
    cpu->runs = 301;
    run(20, 200, 20, true);
    change(101, true);
    run(5, 5, 5, true);
    cut();
    is(201, 40, 40, 400, 40);
    counts_are(&totals.idle, 30, 0, 0, 0);
    is(301, 20, 0, 0, 0);
    is(101, 5, 5, 5, 5);
    counts_are(&totals.nobody, 0, 0, 203, 23);
}

static void rubbish_is_a_gap(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    const struct perf_event_header sample = {PERF_RECORD_SAMPLE, 0, sizeof(sample)},
                                   other = {PERF_RECORD_SWITCH_CPU_WIDE, 0, sizeof(other)},
                                   fork = {PERF_RECORD_FORK, 0, sizeof(fork)};
    put(&sample, sizeof(sample));
    put(&other, sizeof(other));
    put(&fork, sizeof(fork));
    change(101, true);
    run(6, 6, 6, true);
    cut();
    counts_are(&totals.nobody, 40, 40, 400, 40);
    is(101, 6, 6, 6, 6);
    assert_true(totals.lost >= 2);
}

static void counters_that_go_back_measure_nothing(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    cpu->now.values[0] = 3;
    change(101, true);
    drain();
    is(201, 40, 0, 0, 0);
}

// A number with two owners within one frame, on two CPUs whose rings are walked one after the other.
static void numbers_used_again(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    change_as(101, true, 201); // 201 ends
    run(6000000, 1, 1, true);
    uint64_t made = CLOCK + cpu->now.enabled;
    put_fork(201, made);
    put_fork(301, made);
    cpu = &cpus[1];
    begin();
    run(cpus[0].now.enabled - cpu->now.enabled + 3, 1, 1, true);
    change(201, true);
    run(10, 1, 1, true);
    change(301, true);
    run(10, 1, 1, true);
    cut(); // the other CPU first
    cpu = &cpus[0];
    assert_false(task_sum_mixed(task_sums_find(totals.sums, 201)));
    drain(); // and 301 seems to have run before it was made: the clocks of the CPUs differ a little
    task_sums_find(totals.sums, 301)->first_ns -= 1000000;
    cut();
    assert_true(task_sum_mixed(task_sums_find(totals.sums, 201)));
    assert_false(task_sum_mixed(task_sums_find(totals.sums, 301)));
    assert_false(task_sum_mixed(task_sums_find(totals.sums, 101)));
}

// Random switches, on and off: what is given out is what there was.
static void nothing_is_lost_or_made(void **state) {
    (void)state;
    unsigned seed = 1;
    begin();
    struct switch_mark start = cpu->now;
    for (int frame = 0; frame < 200; frame++) {
        for (int i = 0; i < 40; i++) {
            bool on = rand_r(&seed) % 4;
            run((uint64_t)rand_r(&seed) % 1000, (uint64_t)rand_r(&seed) % 1000, (uint64_t)rand_r(&seed) % 1000, on);
            change((uint32_t)(rand_r(&seed) % 5 * 100 + rand_r(&seed) % 3), on);
            if (rand_r(&seed) % 50 == 0)
                put_lost(1);
            if (rand_r(&seed) % 8 == 0)
                drain();
        }
        cut();
    }
    struct task_counts all = totals.nobody;
    task_counts_add(&all, &totals.idle);
    for (size_t i = 0; i < task_sums_count(totals.sums); i++)
        task_counts_add(&all, &task_sums_at(totals.sums, i)->counts);
    assert_int_equal(all.time_ns, cpu->now.enabled - start.enabled);
    assert_int_equal(all.values[0], cpu->now.values[1] - start.values[1]);
    assert_int_equal(all.values[1], cpu->now.values[0] - start.values[0]);
    assert_true(all.running_ns < cpu->now.running - start.running);
}

static void sums_grow_and_find(void **state) {
    (void)state;
    struct task_sums *sums = task_sums_new();
    size_t n = 0;
    while (task_sums_get(sums, (pid_t)n + 1, (pid_t)n + 1))
        n++; // no room: it does not grow by itself
    assert_true(n > 0);
    assert_null(task_sums_find(sums, (pid_t)n + 1));
    task_sums_reserve(sums, 10000);
    for (pid_t tid = (pid_t)n + 1; tid <= 10000; tid++)
        assert_non_null(task_sums_get(sums, 7, tid));
    assert_int_equal(task_sums_count(sums), 10000);
    for (pid_t tid = 1; tid <= 10000; tid++)
        assert_int_equal(task_sums_find(sums, tid)->tid, tid);
    task_sums_clear(sums);
    assert_null(task_sums_find(sums, 5));
    task_sums_free(sums);
}

static bool refuse_forks(void *context, const struct perf_event_header *record) {
    ++*(int *)context;
    return record->type != PERF_RECORD_FORK;
}

// A record that is left stays, whole, wherever the ring wraps.
static void a_walk_can_stop(void **state) {
    (void)state;
    for (uint64_t start = RING - 200; start < RING; start += 8) {
        int calls = 0;
        cpu->head = cpu->tail = start;
        put_lost(1);
        put_fork(101, 1);
        put_lost(1);
        assert_true(perf_ring_walk(cpu->ring, RING, &cpu->tail, cpu->head, refuse_forks, &calls));
        assert_int_equal(calls, 2);
        assert_int_equal(cpu->tail, start + 40);
        task_sums_reserve(totals.sums, 10);
        drain();
        assert_int_equal(task_sums_find(totals.sums, 101)->forked_ns, 1);
        task_sums_clear(totals.sums);
    }
}

static void readings(void **state) {
    (void)state;
    const uint64_t words[] = {3, 1000, 500, 7, 8, 9};
    struct switch_mark mark;
    assert_true(switch_mark_decode(words, sizeof(words), 2, &mark));
    assert_int_equal(mark.enabled, 1000);
    assert_int_equal(mark.running, 500);
    assert_int_equal(mark.switches, 7);
    assert_int_equal(mark.values[1], 9);
    assert_false(switch_mark_decode(words, sizeof(words) - 8, 2, &mark));
    assert_false(switch_mark_decode(words, sizeof(words) - 8, 1, &mark)); // says 3, has 2
    assert_false(switch_mark_decode(words, sizeof(words), TASK_EVENTS_MAX + 1, &mark));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(each_has_what_was_counted_while_it_ran),
        TEST(the_frame_ends_in_the_middle),
        TEST(who_runs_at_first_is_not_known),
        TEST(ended_threads_leave_without_a_number),
        TEST(multiplexed_within_a_slice),
        TEST(multiplexed_across_switches),
        TEST(lost_records),
        TEST(lost_and_not_told_yet),
        TEST(a_count_that_jumps_is_a_gap),
        TEST(tasks_that_are_never_told_of),
        TEST(rubbish_is_a_gap),
        TEST(counters_that_go_back_measure_nothing),
        TEST(numbers_used_again),
        TEST(nothing_is_lost_or_made),
        TEST(sums_grow_and_find),
        TEST(a_walk_can_stop),
        TEST(readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
