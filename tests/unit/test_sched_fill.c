// Rows and histograms, from a state machine with forged events and a forged /proc.
#include "tests/unit/forge_sched_fill.h"

#include "collectors/sched/seed.h"

static void rows_of_tasks(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(100000, 0, 7, SCHED_STATE_S, 8);
    wakes(400000, 8, 7, 0);
    switches(500000, 0, 8, 0x100, 7);
    frame(1000000);
    const union cell *row = row_of("sched_tasks", 7);
    assert_non_null(row);
    assert_string_equal(text_bytes(row[SCHED_T_COMM].text), "t7");
    assert_string_equal(text_bytes(row[SCHED_T_STATE].text), "running");
    assert_string_equal(text_bytes(row[SCHED_T_WAKER].text), "t8 (8)");
    assert_true(row[SCHED_T_SWITCHES].num == 1);
    assert_true(row[SCHED_T_WAKEUPS].num == 1);
    assert_true(row[SCHED_T_QUEUE_AVG].num == 100000);
    assert_true(row[SCHED_T_QUEUE_MAX].num == 100000);
    assert_true(row[SCHED_T_SLEEP].num == 300000);
    assert_true(row[SCHED_T_OFF_CPU].num == 400000);
    assert_true(row[SCHED_T_ON_CPU].num == 600000);
    assert_true(row[SCHED_T_PRIORITY].num == 120);
    row = row_of("sched_tasks", 8);
    assert_string_equal(text_bytes(row[SCHED_T_STATE].text), "waiting");
    assert_true(row[SCHED_T_PREEMPTED].num == 500000);
    assert_true(row[SCHED_T_QUEUE_MAX].num == 500000); // still going on
    assert_null(row[SCHED_T_WAKER].text);
    row = row_of("sched_stuck", 8); // half a second in the queue
    assert_non_null(row);
    assert_string_equal(text_bytes(row[SCHED_W_KIND].text), "cpu");
    assert_non_null(strstr(text_bytes(row[SCHED_W_WAITS_FOR].text), "t7 (7) uses CPU 0, run queue 2"));
    const struct table *cpus = section_find_table(section, "sched_cpus");
    assert_int_equal(table_rows(cpus), 1);
    size_t cursor = 0;
    row = table_next(cpus, &cursor);
    assert_true(fabs(row[SCHED_C_LENGTH].num - 1.6) < 1e-9);
    assert_true(row[SCHED_C_LENGTH_MAX].num == 2);
    assert_true(row[SCHED_C_BUSY].num == 100);
    assert_true(row[SCHED_C_TID].num == 7);
    assert_int_equal(hist_set_count(section_find_hists(section, "run_queue_latency")), 1);
    assert_int_equal(hist_set_count(section_find_hists(section, "off_cpu")), 1);
    assert_int_equal(hist_set_count(section_find_hists(section, "run_queue_by_process")), 1);
}

// Some kernels omit switches out of the idle task and of PID 1's threads. No task is reported stuck or busy by a guess.
static void unseen_by_the_idle_task(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(100000, 0, 7, SCHED_STATE_S, 0);
    wakes(400000, 9, 7, 0); // and runs, which is not recorded
    frame(1000000);
    const union cell *row = row_of("sched_tasks", 7), *cpu = row_of_cpu(0);
    assert_string_equal(text_bytes(row[SCHED_T_STATE].text), "R"); // it runs or it waits
    assert_true(isnan(row[SCHED_T_QUEUE_MAX].num));
    IS(row[SCHED_T_QUEUE].num, 0);
    IS(row[SCHED_T_ON_CPU].num, 100000);
    IS(row[SCHED_T_SLEEP].num, 300000);
    assert_int_equal(count_rows("sched_stuck"), 0);
    IS(cpu[SCHED_C_UNKNOWN].num, 60);
    assert_true(says("CPU 0: activity unknown for 60 % of the time"));
    assert_false(says("did not report"));      // the omitted switches are detected later
    assert_true(isnan(cpu[SCHED_C_BUSY].num)); // most of it is unknown
    assert_true(isnan(cpu[SCHED_C_LENGTH].num));
    // It switches out: the time before is unknown, the time after is known.
    switches(1200000, 0, 7, SCHED_STATE_S, 0);
    frame(2000000);
    row = row_of("sched_tasks", 7);
    cpu = row_of_cpu(0);
    IS(cpu[SCHED_C_UNKNOWN].num, 20);
    assert_true(says("of the time: the kernel did not report 1 switch (all CPUs)"));
    IS(cpu[SCHED_C_BUSY].num, 0);
    IS(cpu[SCHED_C_LENGTH].num, 0.2); // it waited, or it ran
    IS(row[SCHED_T_SLEEP].num, 800000);
    IS(row[SCHED_T_ON_CPU].num, 0);
    assert_int_equal(machine->counts.unseen, 0); // of the next interval
    // An interval in which all is seen.
    wakes(2500000, 9, 7, 0);
    switches(2500010, 0, 0, 0, 7);
    switches(2750010, 0, 7, SCHED_STATE_S, 0);
    frame(3000000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 0);
    IS(row_of_cpu(0)[SCHED_C_BUSY].num, 25);
    assert_false(says("unknown"));
}

static void unseen_by_the_first_process(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(0, 1, 0, 0, 8);
    switches(200000, 1, 8, SCHED_STATE_S, 0);
    // It went to sleep on CPU 0, which is not recorded, and comes on the other: CPU 0 is not busy with it.
    wakes(600000, 8, 7, 1);
    switches(600010, 1, 0, 0, 7);
    frame(1000000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 100);
    assert_true(isnan(row_of_cpu(0)[SCHED_C_BUSY].num));
    assert_true(isnan(row_of_cpu(0)[SCHED_C_TID].num)); // the running task is unknown
    IS(row_of_cpu(1)[SCHED_C_BUSY].num, 59.999);
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 0);
    IS(row_of("sched_tasks", 7)[SCHED_T_ON_CPU].num, 399990);
    frame(2000000);
    assert_true(isnan(row_of_cpu(0)[SCHED_C_BUSY].num));
    // The next switch ends that.
    switches(2200000, 0, 9, SCHED_STATE_S, 0);
    frame(3000000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 20);
    IS(row_of_cpu(0)[SCHED_C_BUSY].num, 0);
    // In /proc the task that seems to run sleeps. A waiting task there says nothing about the CPU.
    sched_machine_doubt(machine, sched_slot(machine, 7), 'S', 3500000 * US);
    wakes(3900000, 0, 10, 1);
    frame(4000000);
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 100);
    assert_true(isnan(row_of_cpu(1)[SCHED_C_BUSY].num));
    assert_true(isnan(row_of_cpu(1)[SCHED_C_LENGTH].num));
    assert_int_equal(count_rows("sched_stuck"), 0);
    switches(4250000, 1, 8, SCHED_STATE_S, 9);
    frame(5000000);
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 25);
    IS(row_of_cpu(1)[SCHED_C_BUSY].num, 100); // all of the time that is known
}

// Events are lost for a quarter of a second: the share of the rest is reported, where that is enough.
static void busy_after_a_loss(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(0, 1, 0, 0, 8);
    switches(200000, 1, 8, SCHED_STATE_S, 0);
    switches(250000, 0, 7, SCHED_STATE_S, 0);
    sched_machine_lost(machine, 500000 * US);
    switches(800000, 0, 9, SCHED_STATE_S, 0); // it had the CPU since they come again
    frame(1000000);
    IS(row_of_cpu(0)[SCHED_C_UNKNOWN].num, 25);
    IS(row_of_cpu(0)[SCHED_C_BUSY].num, (250 + 300) / 7.5);
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 75); // no switch since
    assert_true(isnan(row_of_cpu(1)[SCHED_C_BUSY].num));
    assert_true(isnan(row_of_cpu(1)[SCHED_C_TID].num));
    switches(1100000, 1, 10, 0, 8);
    frame(2000000);
    IS(row_of_cpu(1)[SCHED_C_UNKNOWN].num, 0);
    IS(row_of_cpu(1)[SCHED_C_BUSY].num, 100);
}

// Ended tasks are in the frame of their end, and in no later one; sleepers in each.
static void coming_and_going(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(1000, 0, 7, 0x10, 8);
    switches(2000, 0, 8, SCHED_STATE_S, 0);
    frame(1000000);
    assert_string_equal(text_bytes(row_of("sched_tasks", 7)[SCHED_T_STATE].text), "X");
    assert_int_equal(count_rows("sched_tasks"), 2);
    for (uint64_t i = 2; i < 6; i++) {
        frame(i * 1000000);
        assert_null(row_of("sched_tasks", 7));
        const union cell *row = row_of("sched_tasks", 8);
        assert_true(row[SCHED_T_OFF_CPU].num == 1e6);
        assert_true(row[SCHED_T_SWITCHES].num == 0);
        assert_true(isnan(row[SCHED_T_QUEUE_AVG].num));
        assert_int_equal(count_rows("sched_tasks"), 1);
    }
    other(SCHED_WAKEUP_NEW, 6000000, 8, 7, 0); // the number again, in the slot of another
    frame(7000000);
    assert_string_equal(text_bytes(row_of("sched_tasks", 7)[SCHED_T_STATE].text), "R"); // no task waits for an idle CPU
    assert_int_equal(count_rows("sched_tasks"), 2);
    sched_machine_lost(machine, 7500000 * US);
    frame(8000000);
    assert_int_equal(count_rows("sched_tasks"), 0);
    wakes(8100000, 7, 8, 0);
    frame(9000000);
    assert_int_equal(count_rows("sched_tasks"), 1);
}

static uint64_t at_500(void *ctx) {
    (void)ctx;
    return 500000 * US;
}

static void threads_of_proc(void **state) {
    (void)state;
    folder("20");
    folder("20/task");
    folder("20/task/20");
    folder("20/task/21");
    folder("30");
    folder("30/task");
    folder("30/task/30");
    folder("self");
    // Field 20 is the number of threads, field 39 the CPU.
    put_file("20/task/20/stat",
             "20 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 2 18 19 20 21 22 23 24 25 26 27 28 "
             "29 30 31 32 33 34 35 1 37");
    put_file("20/task/21/stat",
             "21 (second) D 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 2 18 19 20 21 22 23 24 25 26 27 28 29 "
             "30 31 32 33 34 35 0 37");
    put_file("30/task/30/stat", "cut off");
    struct sched_seed *seed = sched_seed_new(proc);
    int steps = 0;
    while (sched_seed_step(seed, machine, threads, 1, at_500, NULL))
        assert_true(++steps < 50);
    sched_seed_free(seed);
    frame(1000000);
    const union cell *row = row_of("sched_tasks", 20);
    assert_string_equal(text_bytes(row[SCHED_T_COMM].text), "a ) b");
    assert_true(row[SCHED_T_CPU].num == 1);
    assert_true(row[SCHED_T_SLEEP].num == 500000); // known for half the interval
    row = row_of("sched_tasks", 21);
    assert_true(row[SCHED_T_PID].num == 20);
    assert_string_equal(text_bytes(row[SCHED_T_STATE].text), "D");
    assert_int_equal(count_rows("sched_tasks"), 2);
    row = row_of("sched_stuck", 21);
    assert_string_equal(text_bytes(row[SCHED_W_STATE].text), "D");
    assert_true(row[SCHED_W_SINCE].num == 500000 && row[SCHED_W_AT_LEAST].num == 1); // its start was not traced
    assert_null(sched_seed_new("/nonexistent"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rows_of_tasks, begin, end),
        cmocka_unit_test_setup_teardown(coming_and_going, begin, end),
        cmocka_unit_test_setup_teardown(unseen_by_the_idle_task, begin, end),
        cmocka_unit_test_setup_teardown(unseen_by_the_first_process, begin, end),
        cmocka_unit_test_setup_teardown(busy_after_a_loss, begin, end),
        cmocka_unit_test_setup_teardown(threads_of_proc, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
