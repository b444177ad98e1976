// Stuck threads and their causes, from a state machine fed by hand and workers with prepared replies.
#include "tests/unit/forge_sched_fill.h"

#include <stdatomic.h>

#include "model/live.h"

// Tasks of a throttled cgroup wait at idle CPUs; that says nothing about other tasks.
static void throttled_by_its_group(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(10, 0, 7, SCHED_STATE_S, 0);
    switches(0, 1, 0, 0, 8);
    switches(10, 1, 8, SCHED_STATE_S, 0);
    is_in(7, "/pods/a/one");
    is_in(8, "/pods/b");
    frame(1000000);
    limit(2, (const struct forged_limit[]){{"/pods/a", 90}, {"/pods/b", 0}});
    wakes(1100000, 9, 7, 0);
    wakes(1100000, 9, 8, 1);
    frame(2000000);
    assert_string_equal(text_bytes(row_of("sched_tasks", 7)[SCHED_T_STATE].text), "waiting");
    IS(row_of("sched_tasks", 7)[SCHED_T_QUEUE_MAX].num, 900000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 0);
    IS(row_of_cpu(0)[SCHED_C_BUSY].num, 0);
    assert_int_equal(count_rows("sched_stuck"), 1);
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_KIND].text), "throttled");
    assert_string_equal(text_bytes(row_of("sched_tasks", 8)[SCHED_T_STATE].text), "R");
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 90);
    limit(2, (const struct forged_limit[]){{"/pods/a", 0}, {"/pods/b", 0}}); // no longer
    frame(3000000);
    assert_string_equal(text_bytes(row_of("sched_tasks", 7)[SCHED_T_STATE].text), "R");
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 100);
}

// Six groups, each of a CPU's 20 %: of the switches to their tasks none is recorded. That they ran or waited all the
// time is known, and that they cannot have run for so long.
static void throttled_unseen(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(10, 0, 7, 0x100, 0);
    switches(20, 1, 0, 0, 8);
    switches(30, 1, 8, 0x100, 0);
    is_in(7, "/pods/a");
    is_in(8, "/pods/b");
    frame(1000000);
    limit(2, (const struct forged_limit[]){{"/pods/a", 90}, {"/pods/b", 0}});
    for (uint64_t us = 1000000; us < 1900000; us += 100000) {
        switches(us + 20000, 0, 7, 0x100, 0); // it came after 0 to 20 ms
        switches(us + 20010, 1, 8, 0x100, 0);
    }
    switches(1920000, 0, 7, 0x100, 0);
    sched_machine_doubt(machine, sched_slot(machine, 7), 'S', 1930000 * US);
    frame(2000000);
    const union cell *row = row_of("sched_stuck", 7);
    assert_non_null(row);
    assert_string_equal(text_bytes(row[SCHED_W_KIND].text), "throttled");
    assert_null(row[SCHED_W_STATE].text);
    assert_true(isnan(row[SCHED_W_SINCE].num));
    assert_null(row_of("sched_stuck", 8)); // its group is not stopped: it may have run all the time
    // It slept: that time is none in which it waited.
    limit(2, (const struct forged_limit[]){{"/pods/a", 90}, {"/pods/b", 90}});
    switches(2400000, 0, 7, 0x100, 0);
    switches(2400000, 1, 8, SCHED_STATE_S, 0);
    switches(2900000, 1, 8, SCHED_STATE_S, 0); // woken and come unseen
    frame(3000000);
    assert_null(row_of("sched_stuck", 8));
}

static atomic_int proc_says; // of thread 7; the other one runs

static void say(const char *where, const struct blocked_query *query, struct blocked_reply *reply) {
    (void)where;
    char state = query->tid == 7 ? (char)atomic_load(&proc_says) : 'R';
    *reply = (struct blocked_reply){.query = *query, .state = state, .gone = !state, .read_ns = now_ns() - 100000000};
}

// A busy CPU, and a thread that seems to wait for it: it ran, which was not recorded. It is stuck when a query confirms
// it, or without a reply for long; it is queried once per wait.
static void waiting_tasks_are_queried(void **state) {
    (void)state;
    sched_threads_free(threads);
    struct blocked_prober *questions = blocked_prober_new(proc, say);
    threads = sched_threads_new(proc, NULL, questions);
    switches(0, 0, 0, 0, 8);
    for (uint64_t us = 100000; us < 3000000; us += 1000000) {
        wakes(us, 8, 7, 0);
        frame(us + 250000);
        assert_int_equal(count_rows("sched_stuck"), 0);
        atomic_store(&proc_says, 'S');
        int lost = 0;
        for (int i = 0; i < 2000 && !lost; i++) {
            sched_threads_probe(threads, machine, (us + 260000) * US);
            lost = task(7)->state == SCHED_UNKNOWN;
            usleep(1000);
        }
        assert_true(lost);
    }
    wakes(4000000, 8, 7, 0);
    atomic_store(&proc_says, 'R');
    frame(4200000);
    assert_int_equal(count_rows("sched_stuck"), 0);
    for (int i = 0; i < 2000 && sched_threads_get(threads, machine, sched_slot(machine, 7))->runnable_ns < 4000000 * US;
         i++) {
        sched_threads_probe(threads, machine, 4210000 * US);
        usleep(1000);
    }
    frame(4300000);
    assert_int_equal(count_rows("sched_stuck"), 1);
    assert_non_null(row_of("sched_stuck", 7));
    switches(4400000, 0, 8, 0, 7);
    switches(4400010, 0, 7, 0, 8); // another wait
    frame(4700000);
    assert_int_equal(count_rows("sched_stuck"), 0);
    frame(5000000); // no reply
    assert_int_equal(count_rows("sched_stuck"), 1);
    folder("1"); // no hidepid
    put_file("1/stat", "1 (init) S 0");
    // It has exited, which was not recorded either.
    atomic_store(&proc_says, 0);
    for (int i = 0; i < 2000 && sched_slot(machine, 7); i++) {
        sched_threads_probe(threads, machine, 5510000 * US);
        usleep(1000);
    }
    frame(6000000);
    assert_null(row_of("sched_tasks", 7));
    assert_int_equal(count_rows("sched_stuck"), 0);
    IS(row_of_cpu(0)[SCHED_C_LENGTH].num, 1);
    sched_threads_free(threads);
    blocked_prober_free(questions);
    threads = sched_threads_new(proc, NULL, NULL);
}

static void realtime_hogs(void **state) {
    (void)state;
    switches(0, 1, 0, 0, 7);
    struct sched_event event = {.ts = 1000 * US,
                                .cpu = 1,
                                .kind = SCHED_SWITCH,
                                .tid = 7,
                                .prio = 120,
                                .next = 9,
                                .next_prio = 89,
                                .next_comm = "hog\0____________"};
    sched_machine_event(machine, &event);
    frame(1000000);
    const union cell *row = row_of("sched_stuck", 7);
    assert_non_null(row);
    assert_string_equal(text_bytes(row[SCHED_W_KIND].text), "realtime");
    assert_string_equal(text_bytes(row[SCHED_W_WAITS_FOR].text), "hog (9) uses CPU 1, real-time priority 10");
    assert_true(row[SCHED_W_SINCE].num == 999000);
    assert_null(row_of("sched_stuck", 9));
    event = (struct sched_event){.ts = 1990000 * US,
                                 .cpu = 1,
                                 .kind = SCHED_SWITCH,
                                 .tid = 9,
                                 .prio = 89,
                                 .state = SCHED_STATE_S,
                                 .next = 8,
                                 .next_prio = 120};
    sched_machine_event(machine, &event); // another task has it when the interval ends
    frame(2000000);
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_KIND].text), "realtime");
    frame(3000000); // it is long gone
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_KIND].text), "cpu");
}

// The task that ran most in the interval counts, not the one running at its end, which is ktop.
static void ktop_is_no_cause(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(100000, 0, 7, 0x100, 8);  // 7 waits from here on
    switches(700000, 0, 8, 0x100, 30); // ktop: more than 8 had
    sched_threads_set_pid(threads, machine, sched_slot(machine, 30), getpid());
    frame(1900000);
    const union cell *row = row_of("sched_stuck", 7);
    assert_string_equal(text_bytes(row[SCHED_W_WAITS_FOR].text), "t8 (8) uses CPU 0, run queue 3");
    row = row_of("sched_stuck", 8); // it ran most itself
    assert_string_equal(text_bytes(row[SCHED_W_WAITS_FOR].text), "t7 (7) uses CPU 0, run queue 3");
    assert_null(row_of("sched_tasks", 30));
    frame(2900000); // only ktop ran
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_WAITS_FOR].text), "CPU 0");
}

static void ktop_shows_itself(void **state) {
    (void)state;
    const struct collect_options options = {.show_self = true};
    sched_threads_free(threads);
    threads = sched_threads_new(proc, &options, NULL);
    switches(0, 0, 0, 0, 7);
    switches(100000, 0, 7, 0x100, 8);
    switches(700000, 0, 8, 0x100, 30);
    sched_threads_set_pid(threads, machine, sched_slot(machine, 30), getpid());
    frame(1900000);
    assert_string_equal(text_bytes(row_of("sched_stuck", 7)[SCHED_W_WAITS_FOR].text),
                        "t30 (30) uses CPU 0, run queue 3");
}

static void in_d(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(950000, 0, 7, SCHED_STATE_D, 0);
    frame(1000000);
    assert_null(row_of("sched_stuck", 7)); // not for long
    frame(2000000);
    const union cell *row = row_of("sched_stuck", 7);
    assert_string_equal(text_bytes(row[SCHED_W_KIND].text), "uninterruptible");
    assert_true(row[SCHED_W_SINCE].num == 1050000);
    assert_true(row[SCHED_W_AT_LEAST].num == 0); // its begin was seen
    assert_null(row[SCHED_W_BLOCKED_IN].text);
}

// Many tasks have waited for their CPU longer than one has been in D: that one is reported nevertheless.
static void in_d_beside_a_crowd(void **state) {
    (void)state;
    enum { CROWD = 200, IN_D = 500 };
    switches(0, 0, 0, 0, 1);
    for (int32_t tid = 2; tid <= CROWD; tid++)
        wakes(1000, 1, tid, 0);
    switches(300000, 1, 0, 0, IN_D);
    switches(300010, 1, IN_D, SCHED_STATE_D, 0);
    frame(1000000);
    assert_int_equal(count_rows("sched_stuck"), 64);
    assert_non_null(row_of("sched_stuck", IN_D));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(throttled_by_its_group, begin, end),
        cmocka_unit_test_setup_teardown(throttled_unseen, begin, end),
        cmocka_unit_test_setup_teardown(waiting_tasks_are_queried, begin, end),
        cmocka_unit_test_setup_teardown(realtime_hogs, begin, end),
        cmocka_unit_test_setup_teardown(ktop_is_no_cause, begin, end),
        cmocka_unit_test_setup_teardown(ktop_shows_itself, begin, end),
        cmocka_unit_test_setup_teardown(in_d, begin, end),
        cmocka_unit_test_setup_teardown(in_d_beside_a_crowd, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
