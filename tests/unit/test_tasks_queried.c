// Which tasks are asked how they are, and which are left alone: no CPU time is lost, whoever has it.
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
    // One burns; the host says that somebody did.
    f.pid = 250;
    f.cpu_ns += 500000000, f.utime = 50;
    put_task(&f);
    put_host(150, 10, 1300, 1400);
    frame();
    assert_true(num(250, "cpu_pct") > 0);
    assert_true(tasks->n_scans == 1 || tasks->explained_ns >= 500000000);
    assert_true(tasks->explained_ns == 500000000);
    // What was read accounts for all: nobody else is asked.
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

// Little by little, below what the host's figures tell: shown when its turn comes, all of it, and never above 100 %.
static void no_cpu_time_is_lost(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 1300);
    double shown = 0;
    for (int i = 0; i < 12; i++) {
        if (i < 4) {
            f.pid = 300;
            f.cpu_ns += 400000000;
            put_task(&f); // the host does not say
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

// Who may know who ran, and does not because that is dearer than asking, asks all: a figure too small to be missed by
// the host's is right in its frame.
static void all_are_asked_while_it_is_not_known_who_ran(void **state) {
    (void)state;
    struct fake f;
    put_sleepers(&f, 1300);
    for (int i = 0; i < 8; i++) {
        tasks->wants_switches = i % 2;
        f.pid = 1399 - 150 * i;
        f.cpu_ns = 1000000 + 300000;
        put_task(&f); // the host does not say
        uint64_t reads = tasks->n_reads;
        frame();
        assert_true(tasks->wants_switches ? tasks->n_reads - reads >= 1300 : tasks->n_reads - reads < 700);
        if (tasks->wants_switches)
            assert_true(fabs(num(f.pid, "cpu_pct") - 0.03) < 0.001);
    }
    // Ten times a second that would be the load itself: in turn, and nothing is left out.
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

// Its files are read again now and then, at the very time of the question that found it unmoved.
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

// CPU time that is nobody's: after one look at all, half of them in a frame; one that wakes is right in two.
static void what_nobody_used_is_not_sought_again_and_again(void **state) {
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
    put_task(&f); // in the place of others: the host is no busier
    put_host(busy += 80, 10, 2000, 2100);
    frame();
    double shown = num(1000, "cpu_pct");
    put_host(busy += 80, 10, 2000, 2100);
    frame();
    assert_true(fabs(shown + num(1000, "cpu_pct") - 20) < 0.1);
    f.pid = 1500, f.cpu_ns = 801000000;
    put_task(&f); // on top of them: found at once
    put_host(busy += 160, 10, 2000, 2100);
    frame();
    assert_true(fabs(num(1500, "cpu_pct") - 80) < 0.1);
    // Children that a parent has waited for explain themselves.
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

// One that runs in every frame is moved to another control group: soon told with that one.
static void group_of_a_busy_task(void **state) {
    (void)state;
    int at = table_column(&tasks_table, "cgroup"), frames = 0;
    struct fake f = {.pid = 10, .comm = "busy", .state = 'R', .ppid = 1, .start = 5, .cpu_ns = 1000};
    put_task(&f);
    put_host(100, 10, 1, 10);
    first();
    for (int i = 0; i < 8; i++) { // long enough to be no new program
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
        TEST(what_nobody_used_is_not_sought_again_and_again),
        TEST(group_of_a_busy_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
