// The life of tasks in a forged /proc: rates, idle tasks and wakeups, exits, PID reuse, threads, filters.
#include "tests/unit/forge_proc.h"

static void rates_are_differences(void **state) {
    (void)state;
    struct fake f = {.pid = 10,
                     .comm = "a) b\n",
                     .state = 'S',
                     .ppid = 1,
                     .minflt = 100,
                     .utime = 10,
                     .stime = 10,
                     .start = 5,
                     .cpu_ns = 1000000,
                     .delay_ns = 1000,
                     .switches = 7,
                     .read_bytes = 4096};
    put_task(&f);
    put_host(100, 10, 1, 10);
    first();
    assert_string_equal(text_bytes(row(10, 'S')[table_column(&tasks_table, "comm")].text), "a) b\n");
    assert_string_equal(text_bytes(row(10, 'S')[table_column(&tasks_table, "command")].text), "/bin/a) b\n --flag");
    assert_string_equal(text_bytes(row(10, 'S')[table_column(&tasks_table, "cgroup")].text), "/slice");
    assert_true(isnan(num(10, "cpu_pct")));
    frame();
    assert_true(num(10, "cpu_pct") == 0);
    assert_true(num(10, "context_switches_per_s") == 0);
    f.cpu_ns += 500000, f.minflt += 200, f.switches += 20, f.read_bytes += 8192, f.delay_ns += 3000, f.utime += 3;
    f.stime += 1;
    put_task(&f);
    frame();
    double switches = num(10, "context_switches_per_s");
    assert_true(switches > 0);
    assert_true(fabs(num(10, "minor_faults_per_s") / switches - 10) < 1e-6);
    assert_true(fabs(num(10, "read_bytes_per_s") / switches - 8192 / 20.0) < 1e-6);
    assert_true(fabs(num(10, "cpu_pct") / switches - 0.05 / 20) < 1e-6); // 0.5 ms of one CPU is 0.05 % of a second
    assert_true(fabs(num(10, "user_pct") / num(10, "cpu_pct") - 0.75) < 1e-6);
    assert_true(fabs(num(10, "run_queue_us") - 3) < 1e-6);
    frame();
    assert_true(num(10, "cpu_pct") == 0 && num(10, "minor_faults_per_s") == 0);
}

static void a_counter_that_falls_is_not_a_rate(void **state) {
    (void)state;
    struct fake f = {.pid = 10, .comm = "x", .state = 'S', .start = 5, .cpu_ns = 1000000, .switches = 50, .minflt = 9};
    put_task(&f);
    put_host(100, 10, 1, 10);
    first();
    f.cpu_ns = 500000, f.switches = 5, f.minflt = 3;
    put_task(&f);
    frame();
    assert_true(isnan(num(10, "context_switches_per_s")) && isnan(num(10, "minor_faults_per_s")));
    assert_true(isnan(num(10, "cpu_pct")) || num(10, "cpu_pct") == 0);
}

static void a_reused_pid_is_another_task(void **state) {
    (void)state;
    struct fake f = {.pid = 10, .comm = "old", .state = 'S', .start = 5, .cpu_ns = 9000000, .switches = 50};
    struct fake keep = {.pid = 11, .comm = "keep", .state = 'S', .start = 6};
    put_task(&f);
    put_task(&keep);
    put_host(100, 10, 2, 11);
    first();
    frame();
    struct fake g = {.pid = 10, .comm = "new", .state = 'S', .start = 7, .cpu_ns = 90000000, .switches = 5000};
    put_task(&g);
    put_host(100, 11, 2, 11);
    frame();
    const union cell *old = row(10, 'X');
    assert_non_null(old);
    assert_string_equal(text_bytes(old[table_column(&tasks_table, "comm")].text), "old");
    const union cell *new = row(10, 'S');
    assert_non_null(new);
    assert_string_equal(text_bytes(new[table_column(&tasks_table, "comm")].text), "new");
    assert_true(isnan(num(10, "cpu_pct"))); // it started long before: no baseline
    assert_int_equal(rows(), 3);
    frame();
    assert_null(row(10, 'X'));
    assert_true(num(10, "cpu_pct") == 0);
    assert_int_equal(rows(), 2);
}

static void the_end_is_shown_once(void **state) {
    (void)state;
    for (int pid = 10; pid < 13; pid++) {
        struct fake f = {.pid = pid, .comm = "x", .state = 'S', .start = 5, .threads = 1};
        put_task(&f);
    }
    put_host(100, 10, 3, 12);
    first();
    frame();
    take("11");
    put_host(100, 10, 2, 12); // one thread less and no fork: a task exited
    frame();
    assert_non_null(row(11, 'X'));
    assert_null(row(11, 0));
    assert_int_equal(tasks->n_ended, 1);
    assert_int_equal(tasks->n_processes, 2);
    frame();
    assert_int_equal(rows(), 2);
    assert_int_equal(tasks->n_ended, 0);
    struct fake f = {.pid = 13, .comm = "young", .state = 'R', .ppid = 10, .start = 1ull << 40, .cpu_ns = 1000000};
    put_task(&f); // it started within the interval: all of its time is in the interval
    put_host(100, 11, 3, 13);
    frame();
    assert_true(num(13, "cpu_pct") > 0);
    assert_int_equal(tasks->n_state['R'], 1);
}

static void told(int pid, const char *comm) {
    struct task_account account = {.pid = pid, .tgid = pid, .ppid = 10, .has_tgid = true, .has_all = true};
    account.cpu_ns = 3000000, account.elapsed_us = 100000;
    snprintf(account.comm, sizeof(account.comm), "%s", comm);
    tasks_exit_add(tasks, &account);
}

// The kernel reports an exit while the task is still exiting: that is no PID reuse.
static void the_end_is_told_before_it_is_gone(void **state) {
    (void)state;
    struct fake parent = {.pid = 10, .comm = "x", .state = 'S', .start = 5};
    struct fake leaves = {.pid = 11, .ppid = 10, .comm = "true", .state = 'R', .start = 1ull << 40, .exiting = true};
    put_task(&parent);
    put_host(100, 10, 1, 10);
    first();
    frame();
    put_task(&leaves);
    told(11, "true");
    put_host(100, 11, 2, 11);
    frame();
    assert_null(row(11, 'X'));
    assert_non_null(row(11, 'R'));
    take("11");
    put_host(100, 11, 1, 11);
    tasks_list(tasks);
    assert_null(row(11, 'R'));
    const union cell *cells = row(11, 'X');
    assert_non_null(cells);
    assert_true(cells[table_column(&tasks_table, "exit_code")].num == 0);
    assert_true(cells[table_column(&tasks_table, "cpu_pct")].num > 0);
    frame();
    assert_null(row(11, 'X'));
}

// A task read before its exec exits under the new name.
static void the_end_has_the_last_name(void **state) {
    (void)state;
    struct fake parent = {.pid = 10, .comm = "x", .state = 'S', .start = 5};
    struct fake child = {.pid = 11, .ppid = 10, .comm = "sh", .state = 'R', .start = 1ull << 40};
    put_task(&parent);
    put_host(100, 10, 1, 10);
    first();
    frame();
    put_task(&child);
    put_host(100, 11, 2, 11);
    frame();
    assert_non_null(row(11, 'R'));
    told(11, "true");
    take("11");
    put_host(100, 11, 1, 11);
    frame();
    const union cell *cells = row(11, 'X');
    assert_non_null(cells);
    assert_string_equal(text_bytes(cells[table_column(&tasks_table, "comm")].text), "true");
    assert_true(cells[table_column(&tasks_table, "ppid")].num == 10);
}

static void threads_stand_for_their_process(void **state) {
    (void)state;
    struct fake p = {.pid = 20, .comm = "multi", .state = 'S', .threads = 2, .start = 5, .utime = 5};
    struct fake a = {.pid = 20, .tid = 20, .comm = "multi", .state = 'S', .threads = 2, .start = 5};
    struct fake b = {.pid = 20, .tid = 21, .comm = "helper", .state = 'S', .threads = 2, .start = 6, .cpu_ns = 5};
    struct fake single = {.pid = 30, .comm = "single", .state = 'S', .start = 7};
    put_task(&p), put_task(&a), put_task(&b), put_task(&single);
    put_host(100, 10, 3, 30);
    first();
    assert_int_equal(rows(), 2);
    frame();
    tasks->threads_wanted = true;
    frame();
    assert_int_equal(rows(), 3);
    assert_string_equal(text_bytes(row(21, 'S')[table_column(&tasks_table, "comm")].text), "helper");
    assert_true(row(21, 'S')[0].num == 20);
    frame();
    b.cpu_ns += 1000000, p.utime++;
    put_task(&b), put_task(&p);
    frame();
    assert_true(num(21, "cpu_pct") > 0 && num(20, "cpu_pct") == 0);
    take("20/task/21");
    p.threads = 1, p.utime++;
    put_task(&p);
    frame();
    assert_non_null(row(21, 'X'));
    frame();
    assert_int_equal(rows(), 2);
    tasks->threads_wanted = false;
    frame();
    frame();
    assert_int_equal(rows(), 2);
    assert_int_equal(tasks->n_processes, 2);
}

static void a_process_ends_with_its_threads(void **state) {
    (void)state;
    struct fake p = {.pid = 20, .comm = "multi", .state = 'S', .threads = 2, .start = 5};
    struct fake a = {.pid = 20, .tid = 20, .comm = "multi", .state = 'S', .threads = 2, .start = 5};
    struct fake b = {.pid = 20, .tid = 21, .comm = "helper", .state = 'S', .threads = 2, .start = 6};
    struct fake single = {.pid = 30, .comm = "single", .state = 'S', .start = 7};
    put_task(&p), put_task(&a), put_task(&b), put_task(&single);
    put_host(100, 10, 3, 30);
    options.threads = true;
    first();
    assert_int_equal(rows(), 3);
    take("20");
    put_host(100, 10, 1, 30);
    frame();
    assert_non_null(row(20, 'X'));
    assert_non_null(row(21, 'X'));
    frame();
    assert_int_equal(rows(), 1);
}

static void only_what_was_asked_for(void **state) {
    (void)state;
    static const pid_t pids[] = {10};
    struct fake f[] = {{.pid = 10, .comm = "a", .state = 'S', .ppid = 1, .start = 5},
                       {.pid = 11, .comm = "b", .state = 'S', .ppid = 10, .start = 5},
                       {.pid = 12, .comm = "c", .state = 'S', .ppid = 11, .start = 5},
                       {.pid = 13, .comm = "d", .state = 'S', .ppid = 1, .start = 5}};
    for (int i = 0; i < 4; i++)
        put_task(&f[i]);
    put_host(100, 10, 4, 13);
    options.pids = pids;
    options.n_pids = 1;
    first();
    frame();
    assert_int_equal(rows(), 1);
    tasks_free(tasks);
    options.children = true;
    first();
    frame();
    assert_int_equal(rows(), 3);
    assert_null(row(13, 0));
    tasks_free(tasks);
    options = (struct collect_options){.has_user = true, .user = geteuid() + 1};
    first();
    frame();
    assert_int_equal(rows(), 0);
    tasks_free(tasks);
    options.user = geteuid();
    first();
    frame();
    assert_int_equal(rows(), 4);
}

static void network_namespaces(void **state) {
    static const char *const links[] = {"net:[4026531840]", "net:[4026532177]", "net:", "mnt:[5]", NULL};
    int at = table_column(&tasks_table, "netns");
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct fake f = {.pid = 10 + i, .comm = "x", .state = 'S', .start = 5};
        char path[160];
        put_task(&f);
        snprintf(path, sizeof(path), "%d/ns/x", f.pid);
        put(path, "-");
        snprintf(path, sizeof(path), "%s/%d/ns/net", root, f.pid);
        if (links[i])
            assert_int_equal(symlink(links[i], path), 0);
    }
    put_host(100, 10, 5, 14);
    first();
    frame();
    assert_string_equal(text_bytes(row(10, 'S')[at].text), "4026531840");
    assert_string_equal(text_bytes(row(11, 'S')[at].text), "4026532177");
    for (int pid = 12; pid < 15; pid++)
        assert_null(row(pid, 'S')[at].text);
}

static void what_cannot_be_read_is_null(void **state) {
    (void)state;
    struct fake f = {.pid = 10, .comm = "x", .state = 'S', .start = 5, .utime = 10};
    put_task(&f);
    take("10/io"), take("10/schedstat"), take("10/status"), take("10/cmdline"), take("10/cgroup");
    put_host(100, 10, 1, 10);
    first();
    frame();
    f.utime = 20;
    put_task(&f);
    take("10/io"), take("10/schedstat"), take("10/status"), take("10/cmdline"), take("10/cgroup");
    frame();
    assert_true(num(10, "cpu_pct") > 0); // by ticks
    assert_true(isnan(num(10, "read_bytes_per_s")) && isnan(num(10, "context_switches_per_s")));
    assert_true(isnan(num(10, "run_queue_us")));
    assert_null(row(10, 'S')[table_column(&tasks_table, "command")].text);
    assert_null(row(10, 'S')[table_column(&tasks_table, "cgroup")].text);
}

static size_t published;

static void keep_first(struct collector_run *run, struct section *take) {
    (void)run;
    published = table_rows(section_find_table(take, "tasks"));
    section_unref(take);
}

static void the_first_rows_come_early(void **state) {
    (void)state;
    struct fake f = {.comm = "idle", .bare = true, .state = 'S', .start = 5};
    for (f.pid = 100; f.pid < 600; f.pid++)
        put_task(&f);
    put_host(100, 10, 500, 600);
    char reason[256];
    tasks = tasks_new(&options, root, false, reason, sizeof(reason));
    tasks->clock = fake_clock;
    struct collector_run run = {.options = &options, .publish = keep_first};
    published = 0;
    assert_int_equal(tasks_first(tasks, &run), 0);
    assert_int_equal(published, 301); // the rows within the time limit
    assert_int_equal(rows(), 500);
    tasks_free(tasks);
    tasks = tasks_new(&options, root, false, reason, sizeof(reason));
    tasks->clock = fake_clock;
    step_ns = 5000000; // each clock read uses the whole limit
    run = (struct collector_run){.options = &options, .publish = keep_first};
    assert_int_equal(tasks_first(tasks, &run), 0);
    assert_int_equal(published, 65);
    assert_int_equal(rows(), 500);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(rates_are_differences),
        TEST(a_counter_that_falls_is_not_a_rate),
        TEST(a_reused_pid_is_another_task),
        TEST(the_end_is_shown_once),
        TEST(the_end_is_told_before_it_is_gone),
        TEST(the_end_has_the_last_name),
        TEST(threads_stand_for_their_process),
        TEST(a_process_ends_with_its_threads),
        TEST(only_what_was_asked_for),
        TEST(network_namespaces),
        TEST(what_cannot_be_read_is_null),
        TEST(the_first_rows_come_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
