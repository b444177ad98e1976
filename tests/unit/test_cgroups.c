// cgroups of forged hierarchies: v2, v1, both together, a container's mount; their files, and cgroups that are created
// and removed.
#include "collectors/cgroups/cgroups.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/forge_files.h"

static char root[] = "/tmp/ktop-cgroups-XXXXXX";
static char said[1024];

static void put(const char *path, const char *text) {
    forge_file(root, path + 1, text);
}

static void clean(void) {
    char command[128];

    snprintf(command, sizeof(command), "rm -rf %s/*", root);
    assert_int_equal(system(command), 0);
}

static void gone(void *context, struct cgroup *group) {
    (void)context;
    snprintf(said + strlen(said), sizeof(said) - strlen(said), "-%s ", group->path);
}

static const char *list(struct cgroups *cgroups) {
    said[0] = '\0';
    cgroups_list(cgroups, gone, NULL);
    for (size_t i = 0; i < cgroups->count; i++)
        snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s:%x ", cgroups->groups[i].path,
                 cgroups->groups[i].in);
    return said;
}

#define V2_LINE "25 20 0:22 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n"

static void test_mounts(void **state) {
    (void)state;
    struct cgroup_mount mounts[CGROUP_HIERARCHIES];
    cgroup_mounts_parse("22 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
                        "31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"
                        "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n"
                        "33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
                        "35 31 0:32 /docker/4f /sys/fs/cgroup/me\\040mory ro master:3 - cgroup cgroup rw,memory\n"
                        "36 31 0:32 / /elsewhere rw - cgroup cgroup rw,memory\n"
                        "rubbish\n- cgroup2\n1 2 - cgroup2 x\n"
                        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n",
                        mounts);
    assert_string_equal(mounts[CGROUP_V2].path, "/sys/fs/cgroup/unified");
    assert_string_equal(mounts[CGROUP_V1_CPU].path, "/sys/fs/cgroup/cpu,cpuacct");
    assert_string_equal(mounts[CGROUP_V1_CPUACCT].path, "/sys/fs/cgroup/cpu,cpuacct");
    assert_string_equal(mounts[CGROUP_V1_MEMORY].path, "/sys/fs/cgroup/me mory");
    assert_string_equal(mounts[CGROUP_V1_MEMORY].root, "/docker/4f");
    cgroup_mounts_parse("", mounts);
    assert_string_equal(mounts[CGROUP_V2].path, "");
}

static void test_v2(void **state) {
    (void)state;
    struct cgroups cgroups;
    struct cgroup_counts counts;
    struct cgroup_limits limits;
    clean();
    assert_int_equal(cgroups_open(&cgroups, root), -ENOENT);
    cgroups_close(&cgroups);
    put("/proc/self/mountinfo", V2_LINE);
    put("/sys/fs/cgroup/cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=10\nfull avg10=0 total=3\n");
    put("/sys/fs/cgroup/a.slice/b.service/cpu.stat", "usage_usec 5000000\nuser_usec 4000000\nsystem_usec "
                                                     "1000000\nnr_periods 100\nnr_throttled 40\nthrottled_usec 700\n");
    put("/sys/fs/cgroup/a.slice/b.service/memory.pressure",
        "some avg10=1.00 avg60=0.00 avg300=0.00 total=123\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=45\n");
    put("/sys/fs/cgroup/a.slice/b.service/io.pressure", "some avg10=1.00 avg60=0.00 avg300=0.00 total=77\n");
    put("/sys/fs/cgroup/a.slice/b.service/memory.current", "1048576\n");
    put("/sys/fs/cgroup/a.slice/b.service/memory.max", "max\n");
    put("/sys/fs/cgroup/a.slice/b.service/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/a.slice/memory.max", "2097152\n");
    put("/sys/fs/cgroup/a.slice/cpu.max", "max 100000\n");
    assert_int_equal(cgroups_open(&cgroups, root), 0);
    assert_string_equal(list(&cgroups), "/:1 /a.slice:1 /a.slice/b.service:1 ");
    cgroup_read(&cgroups, &cgroups.groups[2], &counts);
    assert_int_equal(counts.usage_us, 5000000);
    assert_int_equal(counts.periods, 100);
    assert_int_equal(counts.throttled, 40);
    assert_int_equal(counts.throttled_us, 700);
    assert_true(counts.cpu_some_us == PROC_MISSING);
    assert_int_equal(counts.io_some_us, 77);
    assert_int_equal(counts.memory_some_us, 123);
    assert_int_equal(counts.memory_full_us, 45);
    assert_int_equal(counts.memory_bytes, 1048576);
    cgroup_read_limits(&cgroups, &cgroups.groups[2], &limits);
    assert_true(limits.cpu_pct == 50);
    assert_true(isnan(limits.memory_bytes));
    cgroup_read_limits(&cgroups, &cgroups.groups[1], &limits);
    assert_true(isnan(limits.cpu_pct));
    assert_true(limits.memory_bytes == 2097152);
    cgroup_read(&cgroups, &cgroups.groups[0], &counts);
    assert_int_equal(counts.cpu_some_us, 10);
    assert_true(counts.usage_us == PROC_MISSING && counts.memory_bytes == PROC_MISSING);
    // One goes while it is known, one comes.
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s/sys/fs/cgroup/a.slice/b.service", root);
    assert_int_equal(system(command), 0);
    cgroup_read(&cgroups, &cgroups.groups[2], &counts);
    assert_true(counts.usage_us == PROC_MISSING);
    put("/sys/fs/cgroup/0/cpu.stat", "usage_usec 1\n");
    assert_string_equal(list(&cgroups), "-/a.slice/b.service /:1 /0:1 /a.slice:1 ");
    cgroups_close(&cgroups);
}

static void test_v1_beside_v2(void **state) {
    (void)state;
    struct cgroups cgroups;
    struct cgroup_counts counts;
    struct cgroup_limits limits;
    clean();
    put("/proc/self/mountinfo",
        "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n33 31 0:30 / /cg/acct rw - cgroup cgroup rw,cpuacct\n"
        "35 31 0:32 /docker/4f /cg/memory ro - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    put("/cg/unified/x/cpu.stat", "usage_usec 9\n"); // no controller: no throttling
    put("/cg/cpu/x/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 9000000\n");
    put("/cg/cpu/x/cpu.cfs_quota_us", "-1\n");
    put("/cg/cpu/x/cpu.cfs_period_us", "100000\n");
    put("/cg/cpu/y/cpu.cfs_quota_us", "20000\n");
    put("/cg/cpu/y/cpu.cfs_period_us", "10000\n");
    put("/cg/acct/y/cpuacct.usage", "123456789\n");
    put("/cg/memory/z/memory.usage_in_bytes", "4096\n");
    put("/cg/memory/z/memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(cgroups_open(&cgroups, root), 0);
    assert_string_equal(list(&cgroups), "/:7 /docker/4f:8 /docker/4f/z:8 /x:3 /y:6 ");
    cgroup_read(&cgroups, &cgroups.groups[3], &counts);
    assert_int_equal(counts.usage_us, 9);
    assert_int_equal(counts.periods, 7);
    assert_int_equal(counts.throttled, 3);
    assert_int_equal(counts.throttled_us, 9000);
    cgroup_read_limits(&cgroups, &cgroups.groups[3], &limits);
    assert_true(isnan(limits.cpu_pct));
    cgroup_read(&cgroups, &cgroups.groups[4], &counts);
    assert_int_equal(counts.usage_us, 123456);
    cgroup_read_limits(&cgroups, &cgroups.groups[4], &limits);
    assert_true(limits.cpu_pct == 200);
    cgroup_read(&cgroups, &cgroups.groups[2], &counts);
    assert_int_equal(counts.memory_bytes, 4096);
    cgroup_read_limits(&cgroups, &cgroups.groups[2], &limits);
    assert_true(isnan(limits.memory_bytes)); // the largest number of pages is none
    cgroups_close(&cgroups);
}

// For the limits only: one hierarchy, and the files read in every frame.
static void test_cpu_only(void **state) {
    (void)state;
    struct cgroups cgroups;
    struct cgroup_counts counts;
    double pid;
    clean();
    put("/proc/self/mountinfo", "32 31 0:29 / /cg/cpu rw - cgroup cgroup rw,cpu\n"
                                "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n"
                                "41 31 0:38 / /cg/unified rw - cgroup2 cgroup2 rw\n");
    put("/cg/unified/u/cpu.stat", "usage_usec 9\n");
    put("/cg/memory/m/memory.usage_in_bytes", "1\n");
    put("/cg/cpu/x/cpu.stat", "nr_periods 7\nnr_throttled 3\nthrottled_time 9000000\n");
    put("/cg/cpu/x/cpu.cfs_quota_us", "20000\n");
    put("/cg/cpu/x/cpu.cfs_period_us", "100000\n");
    put("/cg/cpu/x/cgroup.procs", "4242\n");
    put("/cg/cpu/y/cpu.cfs_quota_us", "-1\n");
    put("/cg/cpu/y/cgroup.procs", "1\n2\n77\n");
    assert_int_equal(cgroups_open(&cgroups, root), 0);
    assert_int_equal(cgroups_keep_cpu(&cgroups), 0);
    assert_string_equal(list(&cgroups), "/:2 /x:2 /y:2 ");
    cgroup_read_throttling(&cgroups, &cgroups.groups[1], &counts);
    assert_int_equal(counts.periods, 7);
    assert_int_equal(counts.throttled, 3);
    assert_int_equal(counts.throttled_us, 9000);
    assert_true(cgroup_read_cpu_limit(&cgroups, &cgroups.groups[1]) == 20);
    assert_true(isnan(cgroup_read_cpu_limit(&cgroups, &cgroups.groups[2])));
    assert_true(isnan(cgroup_read_cpu_limit(&cgroups, &cgroups.groups[0])));
    assert_true(cgroup_read_processes(&cgroups, &cgroups.groups[1], &pid) == 1 && pid == 4242);
    assert_true(cgroup_read_processes(&cgroups, &cgroups.groups[2], &pid) == 3 && isnan(pid));
    assert_true(isnan(cgroup_read_processes(&cgroups, &cgroups.groups[0], &pid)) && isnan(pid));
    cgroups_close(&cgroups);

    clean();
    put("/proc/self/mountinfo", V2_LINE);
    put("/sys/fs/cgroup/a/cpu.stat", "usage_usec 5\nnr_periods 100\nnr_throttled 40\nthrottled_usec 700\n");
    put("/sys/fs/cgroup/a/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/a/cgroup.procs", "");
    assert_int_equal(cgroups_open(&cgroups, root), 0);
    assert_int_equal(cgroups_keep_cpu(&cgroups), 0);
    assert_string_equal(list(&cgroups), "/:1 /a:1 ");
    cgroup_read_throttling(&cgroups, &cgroups.groups[1], &counts);
    assert_int_equal(counts.throttled, 40);
    assert_int_equal(counts.throttled_us, 700);
    assert_true(cgroup_read_cpu_limit(&cgroups, &cgroups.groups[1]) == 50);
    assert_true(cgroup_read_processes(&cgroups, &cgroups.groups[1], &pid) == 0 && isnan(pid));
    cgroups_close(&cgroups);

    clean();
    put("/proc/self/mountinfo", "35 31 0:32 / /cg/memory rw - cgroup cgroup rw,memory\n");
    put("/cg/memory/m/memory.usage_in_bytes", "1\n");
    assert_int_equal(cgroups_open(&cgroups, root), 0);
    assert_int_equal(cgroups_keep_cpu(&cgroups), -ENOENT);
    cgroups_close(&cgroups);
}

// A name may be any bytes but a newline and a slash, as long as a file's, and begin with a dot.
static void test_hostile_names(void **state) {
    (void)state;
    struct cgroups cgroups;
    struct cgroup_counts counts;
    char name[256], file[300], expected[320];
    clean();
    memset(name, 'w', 255);
    name[255] = '\0';
    put("/proc/self/mountinfo", V2_LINE);
    put("/sys/fs/cgroup/\x1b[31m\xff\xc3(/cpu.stat", "nr_periods 1\n");
    put("/sys/fs/cgroup/..dots/cpu.stat", "nr_periods 2\n");
    put("/sys/fs/cgroup/.hidden/cpu.stat", "nr_periods 3\n");
    snprintf(file, sizeof(file), "/sys/fs/cgroup/%s/cpu.stat", name);
    put(file, "nr_periods 4\n");
    snprintf(expected, sizeof(expected), "/:1 /\x1b[31m\xff\xc3(:1 /..dots:1 /.hidden:1 /%s:1 ", name);
    assert_int_equal(cgroups_open(&cgroups, root), 0);
    assert_string_equal(list(&cgroups), expected);
    for (size_t i = 1; i < cgroups.count; i++) {
        cgroup_read_throttling(&cgroups, &cgroups.groups[i], &counts);
        assert_int_equal(counts.periods, i);
    }
    cgroups_close(&cgroups);
}

static int make_root(void **state) {
    (void)state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state) {
    (void)state;
    clean();
    return rmdir(root);
}

static void throttling(void **state) {
    (void)state;
    struct cgroup_counts before = {.periods = 100, .throttled = 40, .throttled_us = 4000000}, now = before;
    now.periods = 110;
    now.throttled = 49;
    now.throttled_us = 4800000;
    assert_true(cgroup_throttled_pct(&before, &now) == 90);
    assert_true(counter_rate(before.periods, now.periods, 2) == 5);
    assert_true(counter_rate(before.throttled, now.throttled, 2) == 4.5);
    assert_true(counter_rate(before.throttled_us, now.throttled_us, 2) == 400000);
    // Created again, or read once only: unknown.
    assert_true(isnan(cgroup_throttled_pct(&now, &before)) && isnan(counter_rate(now.throttled, before.throttled, 2)));
    before.periods = before.throttled = before.throttled_us = PROC_MISSING;
    assert_true(isnan(cgroup_throttled_pct(&before, &now)) && isnan(counter_rate(before.throttled, now.throttled, 2)));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_mounts),        cmocka_unit_test(test_v2),
                                       cmocka_unit_test(test_v1_beside_v2),  cmocka_unit_test(test_cpu_only),
                                       cmocka_unit_test(test_hostile_names), cmocka_unit_test(throttling)};
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
