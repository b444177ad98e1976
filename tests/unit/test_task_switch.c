// Attribution of counts to tasks: forged samples and switch records of one or two CPUs, with multiplexing, lost
// records, exited threads and PID reuse. No nanosecond and no count may be lost.
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
#define CLOCK 1000000 // the records' time at enabled time 0

// A simulated CPU: its group's values, its ring.
struct cpu {
    _Alignas(8) uint8_t ring[RING];
    uint64_t head, tail;
    struct switch_mark now;
    struct switches switches;
    uint32_t runs; // TID; the PID is the TID rounded down to hundreds
};

static struct switch_totals totals;
static struct cpu cpus[2], *cpu = &cpus[0];

static int setup(void **state) {
    (void)state;
    totals = (struct switch_totals){.sums = task_sums_new()};
    memset(cpus, 0, sizeof(cpus));
    for (int i = 0; i < 2; i++)
        cpus[i].switches = (struct switches){.totals = &totals, .n_values = 2, .which = {1, 0}}; // reversed
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
    cpu->now.values[0] += on ? instructions : 0; // the group's first member is counter 1
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

// A switch from the running task to the next, as the kernel records it. `as`: the TID recorded for the previous task.
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

static void expect_counts(const struct task_counts *counts, uint64_t time, uint64_t running, uint64_t cycles,
                          uint64_t instructions) {
    assert_int_equal(counts->time_ns, time);
    assert_int_equal(counts->running_ns, running);
    assert_int_equal(counts->values[0], cycles);
    assert_int_equal(counts->values[1], instructions);
}

static void expect_task(uint32_t tid, uint64_t time, uint64_t running, uint64_t cycles, uint64_t instructions) {
    const struct task_sum *sum = task_sums_find(totals.sums, (pid_t)tid);
    assert_non_null(sum);
    assert_int_equal(sum->pid, pid_of(tid));
    expect_counts(&sum->counts, time, running, cycles, instructions);
}

// 101 runs and has run for a while.
static void begin(void) {
    cpu->runs = 101;
    run(5000, 50000, 5000, true);
    cut();
}

static void counts_go_to_the_running_task(void **state) {
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
    expect_task(101, 100, 100, 1000, 500); // the first slice too, from its start
    expect_task(201, 15, 15, 35, 65);
    expect_task(102, 7, 7, 70, 7);
    expect_counts(&totals.idle, 1000, 1000, 20, 2);
    expect_counts(&totals.unattributed, 0, 0, 0, 0);
    assert_int_equal(totals.seen, 5);
    assert_int_equal(task_sums_count(totals.sums), 3);
}

// The running task's slice is split at the frame's end; records after the reading belong to the next frame.
static void frame_end_splits_a_slice(void **state) {
    (void)state;
    begin();
    run(100, 1000, 500, true);
    change(201, true);
    run(40, 400, 40, true);
    struct switch_mark reading = cpu->now;
    run(60, 600, 60, true); // it keeps running, and switches before the ring is walked
    change(101, true);
    run(9, 9, 9, true);
    assert_int_equal(cut_at(&reading), 140);
    expect_task(101, 100, 100, 1000, 500);
    expect_task(201, 40, 40, 400, 40);
    task_sums_clear(totals.sums);
    assert_int_equal(cut(), 69);
    expect_task(201, 60, 60, 600, 60);
    expect_task(101, 9, 9, 9, 9);
    task_sums_clear(totals.sums);
    run(1000, 10, 10, true); // no switch in a whole frame
    cut();
    expect_task(101, 1000, 1000, 10, 10);
    expect_counts(&totals.unattributed, 0, 0, 0, 0);
}

// Opened while a task runs that never switches: until its TID is known, its counts are unattributed.
static void first_task_is_unknown(void **state) {
    (void)state;
    begin();
    run(100, 1000, 500, true);
    cut();
    expect_counts(&totals.unattributed, 100, 100, 1000, 500);
    run(50, 7, 7, true);
    change(201, true);
    cut();
    expect_task(101, 50, 50, 7, 7);
}

static void exited_threads_switch_out_without_tid(void **state) {
    (void)state;
    begin();
    run(1, 1, 1, true);
    change(201, true);
    run(30, 3, 2, true);
    change_as(101, true, UINT32_MAX);
    run(20, 4, 4, true);
    cut();
    expect_task(201, 30, 30, 3, 2);
    expect_task(101, 21, 21, 5, 5);
    assert_null(task_sums_find(totals.sums, -1));
    expect_counts(&totals.unattributed, 0, 0, 0, 0);
}

// Off the PMU for part of a slice without a switch: the counts are attributed, running time is part of the time.
static void multiplexed_within_a_slice(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    run(50, 500, 50, false);
    run(10, 100, 10, true);
    change(101, true);
    drain();
    expect_task(201, 100, 50, 500, 50);
}

// Switches while the group is off have no samples: time is attributed to each task, counts are unattributed.
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
    expect_task(201, 50, 0, 0, 0);
    expect_task(301, 25, 0, 0, 0);
    expect_task(401, 20, 0, 0, 0);
    expect_task(501, 11, 11, 110, 11);
    expect_counts(&totals.idle, 8, 0, 0, 0);
    expect_counts(&totals.unattributed, 0, 0, 550, 55);
    // Across the end of a frame.
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
    expect_task(601, 6, 0, 0, 0);
    expect_task(101, 6, 0, 0, 0);
    cut();
    expect_task(601, 7, 0, 0, 0);
    expect_task(101, 7, 0, 0, 0);
}

// PERF_RECORD_LOST: the slice since the last sample is unattributed.
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
    expect_counts(&totals.unattributed, 50, 50, 500, 50);
    expect_task(101, 7, 7, 7, 7);
    assert_int_equal(totals.lost, 9);
    assert_null(task_sums_find(totals.sums, 301));
}

// The ring is full at the frame's end before PERF_RECORD_LOST is written: the leader's count shows the loss.
static void lost_records_found_by_count(void **state) {
    (void)state;
    begin();
    run(9, 9, 9, true);
    change(201, true);
    run(40, 400, 40, true);
    cpu->now.switches += 3;
    cpu->runs = 301;
    cut();
    expect_task(101, 9, 9, 9, 9);
    expect_counts(&totals.unattributed, 40, 40, 400, 40);
    run(10, 100, 10, true);
    put_lost(9);
    change(101, true);
    cut();
    expect_counts(&totals.unattributed, 50, 50, 500, 50);
    run(10, 100, 10, true);
    change(201, true);
    cut();
    expect_task(101, 19, 19, 109, 19);
}

static void count_jump_is_a_gap(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    cpu->now.switches++; // a switch without a record
    change_as(101, true, 301);
    drain();
    assert_null(task_sums_find(totals.sums, 301));
    expect_counts(&totals.unattributed, 40, 40, 400, 40);
}

// Kernels that write no records while certain tasks run: the next switch-in record shows that they ran.
static void tasks_without_records(void **state) {
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
    expect_task(201, 40, 40, 400, 40);
    expect_counts(&totals.idle, 30, 0, 0, 0);
    expect_task(301, 20, 0, 0, 0);
    expect_task(101, 5, 5, 5, 5);
    expect_counts(&totals.unattributed, 0, 0, 203, 23);
}

static void malformed_record_is_a_gap(void **state) {
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
    expect_counts(&totals.unattributed, 40, 40, 400, 40);
    expect_task(101, 6, 6, 6, 6);
    assert_true(totals.lost >= 2);
}

static void decreasing_counters_are_dropped(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    cpu->now.values[0] = 3;
    change(101, true);
    drain();
    expect_task(201, 40, 0, 0, 0);
}

// PID reuse within one frame, on two CPUs whose rings are walked one after the other.
static void pid_reuse(void **state) {
    (void)state;
    begin();
    change(201, true);
    run(40, 400, 40, true);
    change_as(101, true, 201); // 201 ends
    run(6000000, 1, 1, true);
    uint64_t forked = CLOCK + cpu->now.enabled;
    put_fork(201, forked);
    put_fork(301, forked);
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
    drain(); // 301 seems to run before its fork: clock skew between CPUs
    task_sums_find(totals.sums, 301)->first_ns -= 1000000;
    cut();
    assert_true(task_sum_mixed(task_sums_find(totals.sums, 201)));
    assert_false(task_sum_mixed(task_sums_find(totals.sums, 301)));
    assert_false(task_sum_mixed(task_sums_find(totals.sums, 101)));
}

// Random switches, group on and off: the sums equal the simulated totals.
static void totals_are_conserved(void **state) {
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
    struct task_counts all = totals.unattributed;
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
        n++; // get never allocates
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

// A refused record stays in the ring, for every wrap position.
static void walk_can_stop(void **state) {
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
        TEST(counts_go_to_the_running_task),
        TEST(frame_end_splits_a_slice),
        TEST(first_task_is_unknown),
        TEST(exited_threads_switch_out_without_tid),
        TEST(multiplexed_within_a_slice),
        TEST(multiplexed_across_switches),
        TEST(lost_records),
        TEST(lost_records_found_by_count),
        TEST(count_jump_is_a_gap),
        TEST(tasks_without_records),
        TEST(malformed_record_is_a_gap),
        TEST(decreasing_counters_are_dropped),
        TEST(pid_reuse),
        TEST(totals_are_conserved),
        TEST(sums_grow_and_find),
        TEST(walk_can_stop),
        TEST(readings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
