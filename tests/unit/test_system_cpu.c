// CPUs: shares that add up to 100, guests inside user, counters that go back, old and huge machines, hot-plug.
#include "tests/unit/system_root.h"

static const char *const shares[] = {"user_pct",    "nice_pct",  "system_pct", "irq_pct",
                                     "softirq_pct", "steal_pct", "iowait_pct", "idle_pct"};

static double share_sum(const struct fixture *fixture, const char *cpu) {
    double sum = 0;
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        sum += fixture_num(fixture, "cpus", cpu, shares[i]);
    return sum;
}

static double series_sum(const struct fixture *fixture) {
    double sum = 0;
    for (size_t i = SYS_CPU_USER; i <= SYS_CPU_IDLE; i++)
        sum += i == SYS_CPU_GUEST ? 0 : fixture->series[i];
    return sum;
}

static void shares_add_up(void **state) {
    (void)state;
    root_write("/proc/loadavg", "1.50 0.25 10.05 3/96 7319\n");
    root_write("/proc/stat", "cpu  200 10 100 1000 50 5 5 20 100 10\n"
                             "cpu0 100 5 50 500 25 2 3 10 50 5\ncpu1 100 5 50 500 25 3 2 10 50 5\n"
                             "intr 1000 5 6 7\nctxt 2000\nbtime 1\nprocesses 300\nprocs_running 4\nprocs_blocked 2\n");
    struct fixture fixture = fixture_new(&system_cpu_part);
    fixture_sample(&fixture);
    assert_near(fixture.series[SYS_LOAD_1], 1.5);
    assert_near(fixture.series[SYS_LOAD_15], 10.05);
    assert_near(fixture.series[SYS_CPUS_ONLINE], 2);
    assert_near(fixture.series[SYS_PROCS_RUNNING], 4);
    assert_near(fixture.series[SYS_PROCS_BLOCKED], 2);
    assert_true(fixture.series[SYS_UPTIME] > 0);
    assert_nan(fixture.series[SYS_CPU_USER]); // the first reading has totals only
    assert_nan(fixture.series[SYS_FORKS]);
    assert_nan(fixture_num(&fixture, "cpus", "1", "user_pct"));
    root_write("/proc/stat", "cpu  240 20 110 1080 60 15 15 40 130 12\n"
                             "cpu0 120 10 55 540 30 7 8 20 65 6\ncpu1 120 10 55 540 30 8 7 20 65 6\n"
                             "intr 1500 5 6 7\nctxt 6000\nbtime 1\nprocesses 310\nprocs_running 1\nprocs_blocked 0\n");
    root_clock += 2 * SECOND;
    fixture_sample(&fixture);
    assert_near(fixture.series[SYS_INTERRUPTS], 250);
    assert_near(fixture.series[SYS_CONTEXT_SWITCHES], 2000);
    assert_near(fixture.series[SYS_FORKS], 5);
    // 40 user, 10 nice, 10 system, 80 idle, 10 iowait, 10 irq, 10 softirq, 20 steal: 190 ticks
    assert_near(fixture.series[SYS_CPU_USER], 40 / 1.9);
    assert_near(fixture.series[SYS_CPU_GUEST], 32 / 1.9); // guest and guest_nice
    assert_near(fixture.series[SYS_CPU_STEAL], 20 / 1.9);
    assert_near(fixture.series[SYS_CPU_IOWAIT], 10 / 1.9);
    assert_near(series_sum(&fixture), 100);
    assert_near(share_sum(&fixture, "0"), 100);
    assert_near(share_sum(&fixture, "1"), 100);
    assert_near(fixture_num(&fixture, "cpus", "0", "irq_pct"), 5 / 0.95);
    fixture_free(&fixture);
}

// Looks between the samples make the mean, without the thread that looks; each interval has its own.
static void running_is_the_mean_of_looks(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_cpu_part);
    struct proc_buffer buffer = {0};
    root_write("/proc/stat", "cpu  1 0 0 1\ncpu0 1 0 0 1\nprocs_running 9\n");
    root_write("/proc/loadavg", "1.50 0.25 10.05 3/96 7319\n");
    system_cpu_part.look(fixture.state, &buffer);
    root_write("/proc/loadavg", "1.50 0.25 10.05 1/96 7320\n");
    system_cpu_part.look(fixture.state, &buffer);
    system_cpu_part.look(fixture.state, &buffer);
    root_write("/proc/loadavg", "1.50 0.25 10.05 0/96 7320\n");
    system_cpu_part.look(fixture.state, &buffer);
    root_write("/proc/loadavg", "no load average\n");
    system_cpu_part.look(fixture.state, &buffer);
    fixture_sample(&fixture);
    assert_near(fixture.series[SYS_PROCS_RUNNING], 0.5);
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture.series[SYS_PROCS_RUNNING], 9); // nobody looked
    proc_buffer_free(&buffer);
    fixture_free(&fixture);
}

static void time_that_goes_back(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_cpu_part);
    root_write("/proc/stat", "cpu  100 0 0 1000 80 0 0 0 0 0\ncpu0 100 0 0 1000 80 0 0 0 0 0\n");
    fixture_sample(&fixture);
    // 50 ticks of iowait turn out to have been idle: 100 ticks passed, 60 of them busy.
    root_write("/proc/stat", "cpu  160 0 0 1090 30 0 0 0 0 0\ncpu0 160 0 0 1090 30 0 0 0 0 0\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "cpus", "0", "user_pct"), 60);
    assert_near(fixture_num(&fixture, "cpus", "0", "idle_pct"), 40);
    assert_near(fixture_num(&fixture, "cpus", "0", "iowait_pct"), 0);
    // Everything back at 0, as after a CPU was away: nothing is negative or past 100.
    root_write("/proc/stat", "cpu  1 0 0 2 0 0 0 0 0 0\ncpu0 1 0 0 2 0 0 0 0 0 0\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        assert_nan(fixture_num(&fixture, "cpus", "0", shares[i]));
    // Guest time past user time is cut to it.
    root_write("/proc/stat", "cpu  11 0 0 12 0 0 0 0 30 9\ncpu0 11 0 0 12 0 0 0 0 30 9\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "cpus", "0", "guest_pct"), 50);
    assert_near(share_sum(&fixture, "0"), 100);
    fixture_free(&fixture);
}

static void old_kernels(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_cpu_part);
    root_write("/proc/stat", "cpu  10 0 10 100\ncpu0 10 0 10 100\n"); // 2.4: user nice system idle
    fixture_sample(&fixture);
    root_write("/proc/stat", "cpu  20 0 20 180\ncpu0 20 0 20 180\n");
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "cpus", "0", "user_pct"), 10);
    assert_near(fixture_num(&fixture, "cpus", "0", "idle_pct"), 80);
    assert_nan(fixture_num(&fixture, "cpus", "0", "iowait_pct"));
    assert_nan(fixture_num(&fixture, "cpus", "0", "steal_pct"));
    fixture_free(&fixture);
}

static void stat_of_many(int n, unsigned ticks, int without) {
    char *text = malloc((size_t)(n + 1) * 64);
    int at = sprintf(text, "cpu  %u 0 0 %u 0 0 0 0 0 0\n", ticks, ticks);
    for (int i = 0; i < n; i++)
        if (i != without)
            at += sprintf(text + at, "cpu%d %u 0 0 %u 0 0 0 0 0 0\n", i, ticks + (unsigned)i, ticks);
    root_write("/proc/stat", text);
    free(text);
}

static void many_cpus_that_come_and_go(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_cpu_part);
    stat_of_many(300, 1000, -1);
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "cpus"), 300);
    stat_of_many(300, 2000, 7); // unplugged
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_int_equal(fixture_rows(&fixture, "cpus"), 299);
    assert_null(fixture_row(&fixture, "cpus", "7"));
    assert_near(fixture_num(&fixture, "cpus", "299", "user_pct"), 50);
    assert_near(fixture.series[SYS_CPUS_ONLINE], 299);
    stat_of_many(300, 3000, -1); // back: its first interval is not measured
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_nan(fixture_num(&fixture, "cpus", "7", "user_pct"));
    stat_of_many(300, 4000, -1);
    root_clock += SECOND;
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "cpus", "7", "user_pct"), 50);
    fixture_free(&fixture);
}

static void nodes(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_cpu_part);
    stat_of_many(6, 1000, 5);
    fixture_sample(&fixture);
    assert_nan(fixture_num(&fixture, "cpus", "0", "node")); // a kernel without NUMA
    root_write("/sys/devices/system/node/online", "0,2\n");
    root_write("/sys/devices/system/node/node0/cpulist", "0-1,4\n");
    root_write("/sys/devices/system/node/node2/cpulist", "2-3,5\n");
    stat_of_many(6, 2000, -1); // looked up again when CPUs come
    root_clock += SECOND;
    fixture_sample(&fixture);
    static const double expected[] = {0, 0, 2, 2, 0, 2};
    for (int i = 0; i < 6; i++) {
        char cpu[8];
        snprintf(cpu, sizeof cpu, "%d", i);
        assert_near(fixture_num(&fixture, "cpus", cpu, "node"), expected[i]);
    }
    fixture_free(&fixture);
}

static void hostile_lines(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_cpu_part);
    root_write("/proc/stat",
               "cpu\ncpu0\ncpux 1 2 3 4\ncpu99999999999999 1 2 3 4 5\ncpu1 1 2 3\n"
               "cpu2 99999999999999999999 1 1 1 1\ncpu2 1 1 1 1 1\nctxt\nintr x\nprocs_running -3\ncpu3 1");
    for (int i = 0; i < 3; i++) {
        fixture_sample(&fixture);
        root_clock += SECOND;
        assert_int_equal(fixture_rows(&fixture, "cpus"), 1);
    }
    assert_nan(fixture.series[SYS_PROCS_RUNNING]);
    root_delete("/proc/stat");
    struct fixture missing = fixture_new(&system_cpu_part);
    fixture_sample(&missing);
    assert_int_equal(fixture_rows(&missing, "cpus"), 0);
    assert_nan(missing.series[SYS_CPUS_ONLINE]);
    assert_true(section_notes(missing.section) > 0);
    fixture_free(&missing);
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(shares_add_up, root_make, root_drop),
        cmocka_unit_test_setup_teardown(running_is_the_mean_of_looks, root_make, root_drop),
        cmocka_unit_test_setup_teardown(time_that_goes_back, root_make, root_drop),
        cmocka_unit_test_setup_teardown(old_kernels, root_make, root_drop),
        cmocka_unit_test_setup_teardown(many_cpus_that_come_and_go, root_make, root_drop),
        cmocka_unit_test_setup_teardown(nodes, root_make, root_drop),
        cmocka_unit_test_setup_teardown(hostile_lines, root_make, root_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
