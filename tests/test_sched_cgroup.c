// Limits of control groups, from trees made by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectors/sched_cgroup.h"

static char top[64], mounts[96];

static void put(const char *file, const char *text) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", top, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void folder(const char *name) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", top, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state) {
    (void)state;
    snprintf(top, sizeof(top), "/tmp/ktop-cgroup-XXXXXX");
    assert_non_null(mkdtemp(top));
    snprintf(mounts, sizeof(mounts), "%s/mounts", top);
    folder("tree");
    folder("tree/a");
    folder("tree/a/b");
    folder("tree/ab");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", top);
    return system(command);
}

#define SECOND 1000000000ull

static void version_2(void **state) {
    (void)state;
    char line[256];
    snprintf(line, sizeof(line), "30 1 0:26 / %s/tree rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", top);
    put("mounts", line);
    put("tree/a/cpu.max", "20000 100000\n");
    put("tree/a/b/cpu.max", "max 100000\n");
    put("tree/ab/cpu.max", "max 100000\n");
    put("tree/a/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 40\nthrottled_usec 4000000\n");
    struct sched_groups *groups = sched_groups_new(mounts);
    sched_groups_read(groups, SECOND);
    assert_int_equal(sched_groups_count(groups), 1);
    const struct sched_group *group = sched_groups_at(groups, 0);
    assert_string_equal(group->path, "/a");
    assert_true(group->quota_pct == 20);
    assert_true(group->fresh);
    assert_int_equal(group->delta[1], 0); // what was before is not of this interval
    put("tree/a/cpu.stat", "usage_usec 5\nnr_periods 110\nnr_throttled 49\nthrottled_usec 4800000\n");
    sched_groups_read(groups, 2 * SECOND);
    group = sched_groups_at(groups, 0);
    assert_false(group->fresh);
    assert_int_equal(group->delta[0], 10);
    assert_int_equal(group->delta[1], 9);
    assert_int_equal(group->delta[2], 800000000);
    assert_ptr_equal(sched_groups_throttled(groups, "/a"), group);
    assert_ptr_equal(sched_groups_throttled(groups, "/a/b"), group); // what is above it limits it too
    assert_null(sched_groups_throttled(groups, "/ab"));
    assert_null(sched_groups_throttled(groups, "/"));
    put("tree/a/cpu.stat", "nr_periods 3\nnr_throttled 1\nthrottled_usec 0\n"); // made anew
    sched_groups_read(groups, 3 * SECOND);
    assert_int_equal(sched_groups_at(groups, 0)->delta[0], 0);
    assert_null(sched_groups_throttled(groups, "/a"));
    put("tree/a/cpu.max", "max 100000\n");
    sched_groups_read(groups, 30 * SECOND);
    assert_int_equal(sched_groups_count(groups), 0);
    sched_groups_free(groups);
}

static void version_1(void **state) {
    (void)state;
    char line[512];
    snprintf(line, sizeof(line),
             "29 1 0:25 / /nowhere rw - cgroup2 cgroup2 rw\n28 1 0:24 / /other rw - cgroup cgroup rw,cpuset\n"
             "30 1 0:26 / %s/tree rw shared:4 - cgroup cgroup rw,cpu,cpuacct\n",
             top);
    put("mounts", line);
    put("tree/cpu.cfs_quota_us", "-1\n");
    put("tree/cpu.cfs_period_us", "100000\n");
    put("tree/a/b/cpu.cfs_quota_us", "150000\n");
    put("tree/a/b/cpu.cfs_period_us", "100000\n");
    put("tree/a/b/cpu.stat", "nr_periods 10\nnr_throttled 4\nthrottled_time 7000\n");
    struct sched_groups *groups = sched_groups_new(mounts);
    sched_groups_read(groups, SECOND);
    put("tree/a/b/cpu.stat", "nr_periods 20\nnr_throttled 5\nthrottled_time 9000\n");
    sched_groups_read(groups, 2 * SECOND);
    assert_int_equal(sched_groups_count(groups), 1);
    const struct sched_group *group = sched_groups_at(groups, 0);
    assert_string_equal(group->path, "/a/b");
    assert_true(group->quota_pct == 150);
    assert_int_equal(group->delta[2], 2000);
    assert_int_equal(sched_groups_left_out(groups), 0);
    sched_groups_free(groups);
}

static void none(void **state) {
    (void)state;
    struct sched_groups *groups = sched_groups_new("/nonexistent");
    sched_groups_read(groups, SECOND);
    assert_int_equal(sched_groups_count(groups), 0);
    sched_groups_free(groups);
    sched_groups_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(version_2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(version_1, set_up, tear_down),
        cmocka_unit_test(none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
