// The owner of an instance, and whether it is alive: names, and a forged /proc.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"

static char proc[64];

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", proc, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void task(int pid, char state, int start, const char *nspid, unsigned long ns) {
    char path[256], text[512];
    snprintf(path, sizeof path, "%s/%d", proc, pid);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/%d/ns", proc, pid);
    mkdir(path, 0700);
    snprintf(text, sizeof text, "%d (a) b) %c 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %d 20 21", pid, state,
             start);
    snprintf(path, sizeof path, "%d/stat", pid);
    put(path, text);
    snprintf(text, sizeof text, "Name:\tx\nNSpid:\t%s\nUid:\t0\n", nspid);
    snprintf(path, sizeof path, "%d/status", pid);
    put(path, text);
    snprintf(path, sizeof path, "%s/%d/ns/pid", proc, pid);
    snprintf(text, sizeof text, "pid:[%lu]", ns);
    unlink(path);
    assert_int_equal(symlink(text, path), 0);
}

static void self_is(int pid) {
    char path[256], text[16];
    snprintf(path, sizeof path, "%s/self", proc);
    snprintf(text, sizeof text, "%d", pid);
    unlink(path);
    assert_int_equal(symlink(text, path), 0);
}

static int setup(void **state) {
    (void)state;
    strcpy(proc, "/tmp/ktop-proc-XXXXXX");
    if (!mkdtemp(proc))
        return -1;
    task(1, 'S', 1, "1", PID_NS_FIRST);
    task(10, 'S', 500, "10", PID_NS_FIRST);
    task(20, 'S', 600, "20\t7", 4026532501ul); // PID 7 of a container
    task(21, 'Z', 700, "21", PID_NS_FIRST);
    self_is(10);
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", proc);
    return system(command);
}

static void same(const struct ktop_id *a, const struct ktop_id *b) {
    assert_int_equal(a->pid, b->pid);
    assert_int_equal(a->start, b->start);
    assert_int_equal(a->pid_ns, b->pid_ns);
}

static void names(void **state) {
    (void)state;
    char name[128];
    struct ktop_id id = {.pid = 12, .start = 345, .pid_ns = PID_NS_FIRST}, back;
    ktop_instance_name(&id, "block", name, sizeof name);
    assert_string_equal(name, "ktop-12-345-block");
    assert_true(ktop_instance_parse(name, &back));
    same(&id, &back);
    ktop_group_name(&id, "probes", name, sizeof name);
    assert_string_equal(name, "ktop_12_345_probes");
    assert_true(ktop_group_parse(name, &back));
    same(&id, &back);
    id.pid_ns = 4026532501ul;
    ktop_instance_name(&id, "block", name, sizeof name);
    assert_string_equal(name, "ktop-12-345-block.4026532501");
    assert_true(ktop_instance_parse(name, &back));
    same(&id, &back);
    ktop_group_name(&id, "my_new", name, sizeof name);
    assert_string_equal(name, "ktop_12_345_my_new_n4026532501");
    assert_true(ktop_group_parse(name, &back));
    same(&id, &back);
}

static void foreign_names(void **state) {
    (void)state;
    static const char *const foreign[] = {
        "ktop",           "ktop-",       "ktop-12",      "ktop-12-345", "ktop-12-345-",
        "ktop-x-345-b",   "ktop-12-x-b", "ktop--1-2-b",  "ktop- 1-2-b", "xktop-12-345-b",
        "ktop_12_345_b",  "trace-cmd",   "ktop-0-345-b", "ktop-1-2",    "ktop-99999999999-1-b",
        "ktop-1-+2-block"};
    struct ktop_id id;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (ktop_instance_parse(foreign[i], &id))
            fail_msg("taken for ktop's: %s", foreign[i]);
    assert_false(ktop_instance_parse("ktop-1-99999999999999999999999-b", &id));
    assert_false(ktop_group_parse("ktop-12-345-block", &id));
}

static enum ktop_life life(int pid, unsigned long long start, unsigned long ns) {
    struct ktop_id id = {.pid = pid, .start = start, .pid_ns = ns};
    return ktop_life(proc, &id);
}

static void life_in_own_namespace(void **state) {
    (void)state;
    assert_int_equal(life(10, 500, PID_NS_FIRST), KTOP_ALIVE);
    assert_int_equal(life(10, 499, PID_NS_FIRST), KTOP_GONE); // PID reuse
    assert_int_equal(life(11, 500, PID_NS_FIRST), KTOP_GONE);
    assert_int_equal(life(21, 700, PID_NS_FIRST), KTOP_GONE); // a zombie
    assert_int_equal(life(10, 500, 0), KTOP_UNKNOWN);
}

static void life_in_a_container(void **state) {
    (void)state;
    assert_int_equal(life(7, 600, 4026532501ul), KTOP_ALIVE);
    assert_int_equal(life(8, 600, 4026532501ul), KTOP_GONE);
    assert_int_equal(life(7, 600, 4026532502ul), KTOP_GONE); // no task of that namespace is left
    task(22, 'S', 800, "22\t9", 4026532501ul);
    char path[256];
    snprintf(path, sizeof path, "%s/22/ns/pid", proc);
    unlink(path);
    assert_int_equal(symlink("refused", path), 0);
    assert_int_equal(life(9, 800, 4026532501ul), KTOP_UNKNOWN); // may be the owner: its namespace is unreadable
}

// hidepid: a hidden process may be alive.
static void life_hidden(void **state) {
    (void)state;
    char path[256];
    snprintf(path, sizeof path, "%s/1/stat", proc);
    unlink(path);
    assert_int_equal(life(10, 500, PID_NS_FIRST), KTOP_ALIVE);
    assert_int_equal(life(11, 500, PID_NS_FIRST), KTOP_UNKNOWN);
    assert_int_equal(life(8, 600, 4026532501ul), KTOP_UNKNOWN);
}

static void life_seen_from_a_container(void **state) {
    (void)state;
    task(1, 'S', 590, "1", 4026532501ul);
    task(7, 'S', 600, "7", 4026532501ul);
    self_is(7);
    assert_int_equal(life(7, 600, 4026532501ul), KTOP_ALIVE);
    assert_int_equal(life(8, 600, 4026532501ul), KTOP_GONE);
    assert_int_equal(life(8, 600, PID_NS_FIRST), KTOP_UNKNOWN); // the host's ktop
    assert_int_equal(life(8, 600, 4026532502ul), KTOP_UNKNOWN); // another container's
}

// unshare -p without a new /proc: /proc has the outer PIDs.
static void outer_proc(void **state) {
    (void)state;
    struct ktop_id id;
    self_is(20);
    assert_true(ktop_id_read(proc, &id));
    assert_int_equal(id.pid, 20);
    assert_int_equal(id.pid_ns, PID_NS_FIRST);
    assert_int_equal(id.start, 600);
}

static void mountinfo(void **state) {
    (void)state;
    char point[64];
    assert_true(mountinfo_match("58 23 0:12 / /sys/kernel/tracing rw,relatime shared:5 - tracefs nodev rw,gid=4\n",
                                "tracefs", point, sizeof point));
    assert_string_equal(point, "/sys/kernel/tracing");
    assert_true(mountinfo_match("58 23 0:12 / /mnt/a\\040b rw - tracefs nodev rw\n", "tracefs", point, sizeof point));
    assert_string_equal(point, "/mnt/a b");
    assert_false(mountinfo_match("58 23 0:12 /instances /mnt rw - tracefs nodev rw\n", "tracefs", point, sizeof point));
    assert_false(mountinfo_match("58 23 0:12 / /mnt rw - tracefsx nodev rw\n", "tracefs", point, sizeof point));
    assert_false(mountinfo_match("58 23 0:12 / /mnt rw - debugfs tracefs rw\n", "tracefs", point, sizeof point));
    assert_false(mountinfo_match("", "tracefs", point, sizeof point));
    assert_false(mountinfo_match("58 23", "tracefs", point, sizeof point));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(foreign_names),
        cmocka_unit_test_setup_teardown(life_in_own_namespace, setup, teardown),
        cmocka_unit_test_setup_teardown(life_in_a_container, setup, teardown),
        cmocka_unit_test_setup_teardown(life_seen_from_a_container, setup, teardown),
        cmocka_unit_test_setup_teardown(life_hidden, setup, teardown),
        cmocka_unit_test_setup_teardown(outer_proc, setup, teardown),
        cmocka_unit_test(mountinfo),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
