// /proc/PID/cgroup of a forged /proc: which processes are in a cgroup.
#include "collectors/profile/cgroup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cmocka.h>

static char proc[64];

static void put(int pid, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%d", proc, pid);
    mkdir(path, 0755);
    snprintf(path, sizeof path, "%s/%d/cgroup", proc, pid);
    FILE *file = fopen(path, "w");
    fputs(text, file);
    fclose(file);
}

static int begin(void **state) {
    (void)state;
    snprintf(proc, sizeof proc, "/tmp/ktop-cgroup-XXXXXX");
    return !mkdtemp(proc);
}

static int end(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof command, "rm -r %s", proc);
    return system(command);
}

static void finds(void **state) {
    (void)state;
    put(10, "4:memory:/jobs/a\n1:name=systemd:/other\n0::/user.slice/b:c/d\n");
    assert_true(cgroup_has(proc, 10, 0, "/jobs/a"));
    assert_true(cgroup_has(proc, 10, 0, "/jobs"));
    assert_true(cgroup_has(proc, 10, 0, "/jobs/"));
    assert_true(cgroup_has(proc, 10, 0, "/other"));
    assert_true(cgroup_has(proc, 10, 0, "/user.slice/b:c"));
    assert_true(cgroup_has(proc, 10, 0, "/"));
    assert_false(cgroup_has(proc, 10, 0, "/job"));
    assert_false(cgroup_has(proc, 10, 0, "/jobs/a/below"));
    assert_false(cgroup_has(proc, 10, 0, "/a"));
    assert_false(cgroup_has(proc, 10, 0, "/d"));
}

static void ended(void **state) {
    (void)state;
    put(20, "0::/jobs\n");
    assert_true(cgroup_has(proc, 21, 20, "/jobs"));
    assert_false(cgroup_has(proc, 21, 0, "/jobs"));
    assert_false(cgroup_has(proc, 0, 20, "/jobs")); // the idle task
    put(22, "0::/elsewhere\n");
    assert_false(cgroup_has(proc, 22, 20, "/jobs"));
}

static void malformed(void **state) {
    static const char *const texts[] = {"", "\n\n", ":", "::", "0:\n/jobs", "0::/jobs", "0::jobs\n"};
    static const bool in[] = {false, false, false, false, false, true, false};
    (void)state;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        put(30, texts[i]);
        assert_int_equal(cgroup_has(proc, 30, 0, "/jobs"), in[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finds), cmocka_unit_test(ended), cmocka_unit_test(malformed)};
    return cmocka_run_group_tests(tests, begin, end);
}
