// Which tasks are queried and which are skipped: no CPU time is lost.
#include "tests/unit/forge_proc.h"

static void the_idle_are_left_alone_until_one_wakes(void **state) {
    (void)state;
    struct fake f = {.comm = "idle", .bare = true, .state = 'S', .start = 5, .cpu_ns = 1000000};
    for (f.pid = 100; f.pid < 1400; f.pid++)
        put_task(&f);
    put_host(100, 10, 1300, 1400);
    first();
    for (int i = 0; i < 4; i++)
        frame();
    assert_int_equal(tasks_set_count(tasks->set, TASKS_IDLE), 1300);
    uint64_t reads = tasks->n_reads;
    frame();
    assert_true(tasks->n_reads - reads < 700); // a sixteenth and 500
    // One task runs, and the host's CPU time shows it.
    f.pid = 250;
    f.cpu_ns += 500000000, f.utime = 50;
    put_task(&f);
    put_host(150, 10, 1300, 1400);
    frame();
    assert_true(num(250, "cpu_pct") > 0);
    assert_true(tasks->n_scans == 1 || tasks->explained_ns >= 500000000);
    assert_true(tasks->explained_ns == 500000000);
    // The tasks read account for all CPU time: no other task is queried.
    f.cpu_ns += 500000000, f.utime = 100;
    put_task(&f);
    put_host(200, 10, 1300, 1400);
    uint64_t scans = tasks->n_scans;
    frame();
    assert_int_equal(tasks->n_scans, scans);
    assert_true(num(250, "cpu_pct") > 0);
}

static void put_sleepers(struct fake *f, int n) {
    *f = (struct fake){.comm = "idle", .bare = true, .state = 'S', .start = 5, .cpu_ns = 1000000};
    for (f->pid = 100; f->pid < 100 + n; f->pid++)
        put_task(f);
    put_host(100, 10, n, 100 + n);
    first();
    for (int i = 0; i < 4; i++)
        frame();
}

// Short run times below the host's tick resolution: shown in full when the task's turn comes, and never above 100 %.
static void no_cpu_time_is_lost(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 1300);
    double shown = 0;
    for (int i = 0; i < 12; i++) {
        if (i < 4) {
            f.pid = 300;
            f.cpu_ns += 400000000;
            put_task(&f); // not in the host's CPU time
        }
        frame();
        assert_true(num(300, "cpu_pct") <= 100.0001);
        shown += num(300, "cpu_pct") / 100;
    }
    assert_true(fabs(shown - 1.6) < 0.001);
}

static void a_waking_task_is_shown_whole_whatever_its_turn(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 1300);
    for (int i = 0, pid = 100; pid < 1400; pid += 200, i++) {
        f.pid = pid;
        f.cpu_ns = 501000000;
        put_task(&f);
        put_host(150 + 50 * (unsigned)i, 10, 1300, 1400);
        frame();
        assert_true(fabs(num(pid, "cpu_pct") - 50) < 0.1);
    }
}

// Switch records are available but more expensive than queries: all tasks are queried, so even a run time below the
// host's tick resolution is right in its frame.
static void all_are_asked_while_it_is_not_known_who_ran(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 1300);
    for (int i = 0; i < 8; i++) {
        tasks->wants_switches = i % 2;
        f.pid = 1399 - 150 * i;
        f.cpu_ns = 1000000 + 300000;
        put_task(&f); // not in the host's time
        uint64_t reads = tasks->n_reads;
        frame();
        assert_true(tasks->wants_switches ? tasks->n_reads - reads >= 1300 : tasks->n_reads - reads < 700);
        if (tasks->wants_switches)
            assert_true(fabs(num(f.pid, "cpu_pct") - 0.03) < 0.001);
    }
    // Ten times a second that would be too expensive: idle tasks are queried in turn, and none is skipped.
    tasks->wants_switches = true;
    f.pid = 777, f.cpu_ns = 1000000 + 300000;
    put_task(&f);
    double shown = 0;
    for (int i = 0; i < 16; i++) {
        uint64_t reads = tasks->n_reads;
        frame_of(100000000);
        assert_true(tasks->n_reads - reads < 700);
        shown += num(f.pid, "cpu_pct") / 100 * 0.1;
    }
    assert_true(fabs(shown - 0.0003) < 0.00001);
}

// Its files are read again periodically, at the time of the query that found it unchanged.
static void an_unmoved_task_stays_known(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 40);
    step_ns = 0;
    uint64_t reads = 0;
    for (int i = 0; i < 80; i++) {
        uint32_t before = tasks_set_find(tasks->set, 120)->read_frame;
        frame();
        reads += tasks_set_find(tasks->set, 120)->read_frame != before;
        for (f.pid = 100; f.pid < 140; f.pid++)
            assert_true(num(f.pid, "cpu_pct") == 0);
    }
    assert_true(reads >= 1 && reads <= 3);
}

// Unaccounted CPU time: after one query of all tasks, half of them per frame; a task that wakes is right in two frames.
static void unaccounted_time_is_not_searched_repeatedly(void **state) {
    (void)state;
    struct fake f;
    unsigned busy = 100;
    put_sleepers(&f, 2000);
    put_host(busy += 80, 10, 2000, 2100);
    frame();
    assert_int_equal(tasks->n_scans, 1);
    for (int i = 0; i < 6; i++) {
        uint64_t reads = tasks->n_reads;
        put_host(busy += 80, 10, 2000, 2100);
        frame();
        assert_true(tasks->n_reads - reads <= 1000);
    }
    assert_int_equal(tasks->n_scans, 1);
    f.pid = 1000, f.cpu_ns += 200000000;
    put_task(&f); // instead of others: the host's CPU time does not rise
    put_host(busy += 80, 10, 2000, 2100);
    frame();
    double shown = num(1000, "cpu_pct");
    put_host(busy += 80, 10, 2000, 2100);
    frame();
    assert_true(fabs(shown + num(1000, "cpu_pct") - 20) < 0.1);
    f.pid = 1500, f.cpu_ns = 801000000;
    put_task(&f); // in addition to them: found at once
    put_host(busy += 160, 10, 2000, 2100);
    frame();
    assert_true(fabs(num(1500, "cpu_pct") - 80) < 0.1);
    // The time of waited-for children is accounted for.
    f = (struct fake){.pid = 5000, .comm = "shell", .state = 'S', .start = 6};
    put_task(&f);
    for (int i = 0; i < 3; i++) {
        f.children += 80, f.cpu_ns += 1000000;
        put_task(&f);
        put_host(busy += 80, 11, 2001, 5000);
        uint64_t scans = tasks->n_scans, reads = tasks->n_reads;
        frame();
        assert_int_equal(tasks->n_scans, scans);
        assert_true(i < 2 || tasks->n_reads - reads < 700);
    }
}

// A task that runs in every frame is moved to another cgroup: its row follows soon.
static void group_of_a_busy_task(void **state) {
    (void)state;
    int at = table_column(&tasks_table, "cgroup"), frames = 0;
    struct fake f = {.pid = 10, .comm = "busy", .state = 'R', .ppid = 1, .start = 5, .cpu_ns = 1000};
    put_task(&f);
    put_host(100, 10, 1, 10);
    first();
    for (int i = 0; i < 8; i++) { // longer than a new program is checked
        f.cpu_ns += 500000000, f.utime += 50;
        put_task(&f);
        frame();
    }
    assert_string_equal(text_bytes(row(10, 'R')[at].text), "/slice");
    do {
        f.cpu_ns += 500000000, f.utime += 50;
        put_task(&f);
        put("10/cgroup", "0::/limited\n");
        frame();
        frames++;
    } while (frames < 40 && strcmp(text_bytes(row(10, 'R')[at].text), "/limited") != 0);
    assert_in_range(frames, 1, 17);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(the_idle_are_left_alone_until_one_wakes),
        TEST(no_cpu_time_is_lost),
        TEST(a_waking_task_is_shown_whole_whatever_its_turn),
        TEST(all_are_asked_while_it_is_not_known_who_ran),
        TEST(an_unmoved_task_stays_known),
        TEST(unaccounted_time_is_not_searched_repeatedly),
        TEST(group_of_a_busy_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
