// /proc files of tasks, captured from real kernels and forged: names with the format's own delimiters, truncated lines,
// numbers of every size.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "collectors/kernel/proc/task_parse.h"

#define STAT_TAIL                                                                                                      \
    " S 7 8 9 0 -1 4194304 121 2 33 4 1500 250 6 7 20 -5 13 0 194293 3133440 413 18446744073709551615 94899803287552 " \
    "94899803307433 140725225266736 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 94899803323440 94899803325056 94900320800768 "    \
    "140725225273727 140725225273817 140725225273817 140725225275371 0\n"

static void check_stat(const char *name, size_t len) {
    char line[1024];
    struct task_stat stat;
    memcpy(line, "4711 (", 6);
    memcpy(line + 6, name, len);
    strcpy(line + 6 + len, ")" STAT_TAIL);
    assert_int_equal(task_stat_parse(line, 6 + len + strlen(")" STAT_TAIL), &stat), 0);
    assert_int_equal(stat.pid, 4711);
    assert_int_equal(stat.comm_len, len);
    assert_memory_equal(stat.comm, name, len);
    assert_int_equal(stat.state, 'S');
    assert_int_equal(stat.ppid, 7);
    assert_int_equal(stat.flags, 4194304);
    assert_int_equal(stat.minflt, 121);
    assert_int_equal(stat.majflt, 33);
    assert_int_equal(stat.utime, 1500);
    assert_int_equal(stat.stime, 250);
    assert_int_equal(stat.priority, 20);
    assert_int_equal(stat.nice, -5);
    assert_int_equal(stat.threads, 13);
    assert_int_equal(stat.start, 194293);
    assert_int_equal(stat.vsize, 3133440);
    assert_int_equal(stat.rss, 413);
    assert_int_equal(stat.cpu, 3);
}

static void names_of_all_kinds(void **state) {
    (void)state;
    check_stat("cat", 3);
    check_stat("", 0);
    check_stat(") R 1 (", 7);
    check_stat("a b\nc) S 1 2 3\n", 15);
    check_stat("\x1b[31m\xff\xfe", 7);
    check_stat("kworker/u8:3-events_power_efficient", 35);
}

static void cut_stat_is_refused(void **state) {
    (void)state;
    static const char line[] = "4711 (cat)" STAT_TAIL;
    struct task_stat stat;
    // At every length: no crash, and no read past the end (checked by the sanitizers).
    for (size_t len = 0; len < 120; len++) {
        char *copy = test_malloc(len + 1);
        memcpy(copy, line, len);
        assert_int_not_equal(task_stat_parse(copy, len, &stat), 0);
        test_free(copy);
    }
    assert_int_not_equal(task_stat_parse(")(", 2, &stat), 0);
}

static void status_io_schedstat(void **state) {
    (void)state;
    static const char status[] = "Name:\tcat\\nTgid:\t1\nUmask:\t0022\nState:\tR (running)\nTgid:\t7733\nNgid:\t0\n"
                                 "Pid:\t7734\nPPid:\t7729\nUid:\t1000\t1001\t1000\t1000\nGid:\t0\t0\t0\t0\n"
                                 "voluntary_ctxt_switches:\t40\nnonvoluntary_ctxt_switches:\t2\n";
    struct task_status s;
    assert_int_equal(task_status_parse(status, strlen(status), &s), 0);
    assert_int_equal(s.tgid, 7733);
    assert_int_equal(s.uid, 1001);
    assert_int_equal(s.switches, 42);
    assert_int_not_equal(task_status_parse(status, 40, &s), 0);

    static const char io[] = "rchar: 9123\nwchar: 2147\nsyscr: 16\nsyscw: 3\nread_bytes: 4096\nwrite_bytes: 8192\n"
                             "cancelled_write_bytes: 1\n";
    struct task_io i;
    assert_int_equal(task_io_parse(io, strlen(io), &i), 0);
    assert_int_equal(i.read_bytes, 4096);
    assert_int_equal(i.write_bytes, 8192);
    assert_int_not_equal(task_io_parse("", 0, &i), 0);

    struct task_schedstat d;
    assert_int_equal(task_schedstat_parse("802815 3665 2\n", 14, &d), 0);
    assert_int_equal(d.cpu_ns, 802815);
    assert_int_equal(d.run_delay_ns, 3665);
    assert_int_not_equal(task_schedstat_parse("", 0, &d), 0);

    // A name with a newline may forge a line; the kernel's own comes after it.
    static const char sched[] = "x\nse.nr_migrations : 9\n (1, #threads: 1)\n---\nse.nr_migrations       :   17\n"
                                "nr_switches : 1\n";
    uint64_t migrations;
    assert_int_equal(task_sched_parse(sched, strlen(sched), &migrations), 0);
    assert_int_equal(migrations, 17);
    assert_int_not_equal(task_sched_parse("a\nb\n", 4, &migrations), 0);
}

static void check_cgroup(const char *text, const char *expected) {
    const char *path;
    size_t len;
    assert_true(task_cgroup_parse(text, strlen(text), &path, &len));
    assert_int_equal(len, strlen(expected));
    assert_memory_equal(path, expected, len);
}

static void control_groups(void **state) {
    (void)state;
    check_cgroup("0::/user.slice/session-1.scope\n", "/user.slice/session-1.scope");
    check_cgroup("9:name=systemd:/a\n4:memory:/m\n1:cpuset,cpuacct:/c\n0::/\n", "/m");
    check_cgroup("2:cpu,cpuacct:/c:d\n0::/\n", "/c:d");
    check_cgroup("4:memory:/m\n0::/unified\n", "/unified");
    check_cgroup("0::/\n", "/");
    // v1's cpu hierarchy has the CPU limit; used unless another path is more specific.
    check_cgroup("9:name=systemd:/a\n4:memory:/m\n1:cpu:/c\n0::/\n", "/c");
    check_cgroup("4:memory:/m\n2:cpuacct,cpu:/c\n0::/unified\n", "/c");
    check_cgroup("4:memory:/m\n1:cpu:/\n0::/\n", "/m");
    check_cgroup("4:memory:/s/x\n1:cpu:/s\n0::/\n", "/s/x");
    check_cgroup("4:memory:/s/x\n1:cpu:/s/x\n", "/s/x");
    check_cgroup("4:memory:/s/x\n1:cpu:/s/x/y\n", "/s/x/y");
    check_cgroup("4:memory:/sx\n1:cpu:/s\n", "/s");
    check_cgroup("9:name=systemd:/s/x\n1:cpu:/s\n", "/s/x");
    check_cgroup("1:cpu,cpuacct:/a\x1b[31m\xff:b\n0::/\n", "/a\x1b[31m\xff:b"); // any byte but a newline
    const char *path;
    size_t len;
    assert_false(task_cgroup_parse("", 0, &path, &len));
    assert_false(task_cgroup_parse("::", 0, &path, &len));
}

static void command_lines(void **state) {
    (void)state;
    char argv[] = "ls\0-l\0a b\0\0";
    assert_int_equal(task_cmdline_join(argv, sizeof(argv) - 1), 9);
    assert_memory_equal(argv, "ls -l a b", 9);
    char title[] = "nginx: worker process       ";
    assert_int_equal(task_cmdline_join(title, sizeof(title) - 1), 21);
    assert_int_equal(task_cmdline_join(title, 0), 0);
}

static void host(void **state) {
    (void)state;
    static const char stat[] = "cpu  2380 10 2135 383139 324 0 55 7 0 0\ncpu0 854 0 732 192402 9 0 11 1 0 0\n"
                               "intr 208948 0 0\nctxt 462162\nbtime 1795173745\nprocesses 7730\nprocs_running 2\n";
    struct host_stat h;
    assert_int_equal(host_stat_parse(stat, strlen(stat), &h), 0);
    assert_int_equal(h.busy, 2380 + 10 + 2135);
    assert_int_equal(h.forks, 7730);
    assert_int_equal(h.switches, 462162);
    assert_int_not_equal(host_stat_parse(stat, 50, &h), 0);
    static const char untold[] = "cpu  1 0 0 0\nprocesses 7\n";
    assert_int_equal(host_stat_parse(untold, strlen(untold), &h), 0);
    assert_int_equal(h.switches, 0);
    struct host_load l;
    assert_int_equal(host_load_parse("0.03 0.03 0.00 2/94 9289\n", 25, &l), 0);
    assert_int_equal(l.threads, 94);
    assert_int_equal(l.last_pid, 9289);
    assert_int_not_equal(host_load_parse("", 0, &l), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_all_kinds),  cmocka_unit_test(cut_stat_is_refused),
        cmocka_unit_test(status_io_schedstat), cmocka_unit_test(control_groups),
        cmocka_unit_test(command_lines),       cmocka_unit_test(host),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
