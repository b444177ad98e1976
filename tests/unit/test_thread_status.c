// Threads read from a forged /proc, and the filters -p, -u and --children.
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

#include "collectors/event_names.h"
#include "collectors/task_identity.h"

static char proc[] = "/tmp/ktop-status-XXXXXX";

static void forge(int tid, const char *text) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%d", proc, tid);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof(path), "%s/%d/status", proc, tid);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static int setup(void **state) {
    (void)state;
    assert_non_null(mkdtemp(proc));
    forge(10, "Name:\tinit\nTgid:\t10\nPPid:\t0\nUid:\t0\t0\t0\t0\n");
    forge(20, "Name:\tmy shell\nTgid:\t20\nPPid:\t10\nUid:\t1000\t0\t0\t0\n");
    forge(30, "Name:\twork\nTgid:\t30\nPPid:\t20\nUid:\t1000\t0\t0\t0\n");
    forge(31, "Name:\tworker 1\nTgid:\t30\nPPid:\t20\nUid:\t1000\t0\t0\t0\n");
    forge(40, "Name:\tloop\nTgid:\t40\nPPid:\t41\nUid:\t0\t0\t0\t0\n"); // a chain that never ends
    forge(41, "Name:\tloop\nTgid:\t41\nPPid:\t40\nUid:\t0\t0\t0\t0\n");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int tid = 10; tid < 50; tid++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%d/status", proc, tid);
        unlink(path);
        snprintf(path, sizeof(path), "%s/%d", proc, tid);
        rmdir(path);
    }
    return rmdir(proc);
}

static void what_it_says(void **state) {
    struct thread_status status;
    (void)state;
    assert_true(thread_status_read(proc, 31, &status));
    assert_int_equal(status.pid, 30);
    assert_int_equal(status.parent, 20);
    assert_int_equal(status.user, 1000);
    assert_string_equal(status.name, "worker 1");
    assert_false(thread_status_read(proc, 99, &status));
}

static void groups(void **state) {
    char path[128], out[64];
    (void)state;
    snprintf(path, sizeof(path), "%s/30/cgroup", proc);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("9:name=systemd:/x\n3:cpuset:/wrong\n2:blkio:/disks\n1:cpu,cpuacct:/jobs/one\n0::/v2\n", file);
    fclose(file);
    assert_true(thread_cgroup(proc, 30, "cpu", out, sizeof(out)));
    assert_string_equal(out, "/jobs/one");
    assert_true(thread_cgroup(proc, 30, "blkio", out, sizeof(out)));
    assert_string_equal(out, "/disks");
    assert_true(thread_cgroup(proc, 30, "memory", out, sizeof(out)));
    assert_string_equal(out, "/v2");
    assert_false(thread_cgroup(proc, 99, "cpu", out, sizeof(out)));
    assert_string_equal(out, "");
    unlink(path);
}

static bool wanted(int tid, const struct collect_options *options) {
    struct thread_status status;
    assert_true(thread_status_read(proc, tid, &status));
    return thread_wanted(proc, options, &status);
}

static void wanted_by_options(void **state) {
    const pid_t pids[] = {20};
    struct collect_options all = {0}, by_pid = {.pids = pids, .n_pids = 1}, by_user = {.has_user = true, .user = 1000};
    (void)state;
    assert_false(thread_filters(NULL));
    assert_false(thread_filters(&all));
    assert_true(wanted(10, NULL));
    assert_true(wanted(10, &all));
    assert_true(wanted(20, &by_pid));
    assert_false(wanted(31, &by_pid));
    assert_false(wanted(10, &by_user));
    assert_true(wanted(31, &by_user));
    by_pid.children = true;
    assert_true(wanted(31, &by_pid));
    assert_false(wanted(10, &by_pid));
    assert_false(wanted(40, &by_pid));
    by_pid.has_user = true; // and another user's
    assert_false(wanted(31, &by_pid));
}

static void identities(void **state) {
    const pid_t pids[] = {99};
    struct collect_options none = {0}, gone = {.pids = pids, .n_pids = 1}, self = {.show_self = true};
    (void)state;
    struct task_identity identity = task_identify(proc, &none, 31);
    assert_true(identity.found && identity.wanted);
    assert_string_equal(identity.status.name, "worker 1");
    assert_false(task_identify(proc, &gone, 31).wanted);
    // Gone: its process is unknown, so only its own ID matches a filter.
    identity = task_identify(proc, &gone, 99);
    assert_true(!identity.found && identity.wanted && identity.status.pid == 99);
    assert_false(task_identify(proc, &gone, 98).wanted);
    assert_true(task_identify(proc, NULL, 98).wanted);
    // Events with other IDs than /proc: nothing is read, and filters choose nothing.
    assert_true(task_identify(NULL, &none, 31).wanted && !task_identify(NULL, &none, 31).found);
    assert_false(task_identify(NULL, &gone, 99).wanted);
    // ktop itself.
    assert_false(task_identify("/proc", &none, getpid()).wanted);
    assert_false(task_identify("/proc", NULL, getpid()).wanted);
    assert_true(task_identify("/proc", &self, getpid()).wanted);
}

static bool told(struct event_names *names, struct collect_options *options, int pid, int parent, uid_t user) {
    const struct thread_status status = {.pid = pid, .parent = parent, .user = user, .name = "short"};
    return event_names_passes(names, options, pid, event_names_learn(names, options, pid, &status), false);
}

// Threads that exited, of which only their events tell.
static void exited(void **state) {
    (void)state;
    struct event_names *names = event_names_new(proc);
    struct collect_options user = {.has_user = true, .user = 1000};
    assert_true(told(names, &user, 501, 10, 1000));
    assert_false(told(names, &user, 502, 20, 0));
    int32_t pids[] = {20};
    struct collect_options one = {.pids = pids, .n_pids = 1}, tree = {.pids = pids, .n_pids = 1, .children = true};
    assert_false(told(names, &one, 503, 20, 0));
    assert_true(told(names, &tree, 503, 20, 0));  // a child
    assert_true(told(names, &tree, 504, 30, 0));  // of a child that runs
    assert_true(told(names, &tree, 505, 504, 0)); // of one that exited
    assert_true(told(names, &tree, 506, 505, 0));
    assert_false(told(names, &tree, 507, 10, 0));
    assert_false(told(names, &tree, 508, 507, 0));
    assert_false(told(names, &tree, 509, 999, 0)); // its parent is unknown
    assert_false(told(names, &tree, 510, 510, 0));
    tree.has_user = true;
    tree.user = 1000;
    assert_true(told(names, &tree, 511, 505, 1000));
    assert_false(told(names, &tree, 512, 505, 0));
    // The chosen process has exited itself.
    int32_t gone[] = {999};
    struct collect_options rest = {.pids = gone, .n_pids = 1, .children = true};
    assert_true(told(names, &rest, 513, 999, 0));
    assert_true(told(names, &rest, 514, 513, 0));
    rest.children = false;
    assert_false(told(names, &rest, 515, 999, 0));
    event_names_free(names);
}

static bool listed(struct event_names *names, struct collect_options *options, int tid, bool by_kernel) {
    return event_names_passes(names, options, tid, event_names_find(names, options, tid), by_kernel);
}

static void notes_are(struct event_names *names, struct collect_options *options, size_t n, const char *last) {
    struct section *section = section_new("events", 0, 1);
    event_names_notes(names, options, "hits", section);
    assert_int_equal(section_notes(section), n);
    if (n)
        assert_string_equal(section_note_at(section, n - 1)->text, last);
    section_unref(section);
}

// Threads that exited, of which nothing is known.
static void unknown(void **state) {
    (void)state;
    struct event_names *names = event_names_new(proc);
    int32_t pids[] = {20};
    struct collect_options user = {.has_user = true, .user = 1000},
                           tree = {.pids = pids, .n_pids = 1, .children = true};
    assert_true(listed(names, &user, 31, true));
    assert_false(listed(names, &user, 10, true));
    assert_false(listed(names, &user, 99, true));
    assert_false(listed(names, &user, 98, true));
    assert_false(listed(names, &user, 0, true)); // idle threads belong to nobody
    notes_are(names, &user, 2, "2 hits are not listed: their threads exited before their users were read");
    event_names_begin(names);
    assert_true(listed(names, &tree, 99, true));
    assert_false(listed(names, &tree, 99, false));
    assert_true(listed(names, &tree, 31, false));
    notes_are(names, &tree, 1, "1 hits are not listed: their threads exited before their parents were read");
    notes_are(names, &tree, 0, NULL);
    event_names_free(names);
    names = event_names_new(NULL); // a PID namespace of its own
    assert_false(listed(names, &tree, 20, true));
    assert_true(listed(names, NULL, 20, true));
    event_names_free(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_it_says), cmocka_unit_test(groups), cmocka_unit_test(wanted_by_options),
        cmocka_unit_test(identities),   cmocka_unit_test(exited), cmocka_unit_test(unknown),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
