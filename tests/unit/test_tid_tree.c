// The threads of a process and of its descendants, in forged /procs: many children, and descendants nested deeply.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/proc/tid_tree.h"

static char proc[64];

static FILE *children_of(int pid, int tid) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%d", proc, pid);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%d/task", proc, pid);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%d/task/%d", proc, pid, tid);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/%d/task/%d/children", proc, pid, tid);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    return file;
}

static void childless(int pid) {
    fclose(children_of(pid, pid));
}

static int setup(void **state) {
    (void)state;
    char path[128];
    // 20,000 folders: in memory where there is room
    snprintf(proc, sizeof(proc), "%s/ktop-tree-XXXXXX", access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
    if (!mkdtemp(proc))
        return -1;
    snprintf(path, sizeof(path), "%s/self", proc);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/self/task", proc);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/thread-self", proc);
    mkdir(path, 0700);
    snprintf(path, sizeof(path), "%s/thread-self/children", proc);
    fclose(fopen(path, "w"));
    return 0;
}

static int teardown(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", proc);
    return system(command);
}

static size_t has(const struct tids *tids, pid_t tid) {
    size_t n = 0;
    for (size_t i = 0; i < tids->n; i++)
        n += tids->at[i] == tid;
    return n;
}

static void many_children(void **state) {
    (void)state;
    enum { CHILDREN = 5000 }; // 30 KB of numbers
    FILE *file = children_of(10, 10);
    for (int i = 0; i < CHILDREN; i++) {
        fprintf(file, "%d ", 10000 + i);
        childless(10000 + i);
    }
    fclose(file);
    struct tids tids = {0};
    assert_true(tids_tree(proc, 10, true, &tids));
    assert_int_equal(tids.n, 1 + CHILDREN);
    assert_int_equal(has(&tids, 10), 1);
    assert_int_equal(has(&tids, 10000), 1);
    assert_int_equal(has(&tids, 10000 + CHILDREN - 1), 1);
    tids.n = 0;
    assert_true(tids_tree(proc, 10, false, &tids));
    assert_int_equal(tids.n, 1);
    free(tids.at);
}

static void deep_descendants(void **state) {
    (void)state;
    enum { DEPTH = 3000 };
    for (int i = 0; i < DEPTH; i++) {
        FILE *file = children_of(10 + i, 10 + i);
        if (i + 1 < DEPTH)
            fprintf(file, "%d ", 10 + i + 1);
        fclose(file);
    }
    struct tids tids = {0};
    assert_true(tids_tree(proc, 10, true, &tids));
    assert_int_equal(tids.n, DEPTH);
    assert_int_equal(tids.at[DEPTH - 1], 10 + DEPTH - 1);
    free(tids.at);
}

static void missing(void **state) {
    (void)state;
    struct tids tids = {0};
    assert_true(tids_tree(proc, 4711, true, &tids)); // not there
    assert_int_equal(tids.n, 0);
    char path[128];
    snprintf(path, sizeof(path), "%s/thread-self/children", proc);
    unlink(path);
    childless(10);
    assert_false(tids_tree(proc, 10, true, &tids)); // a kernel without CONFIG_PROC_CHILDREN
    assert_true(tids_tree(proc, 10, false, &tids)); // does not need it
    assert_int_equal(tids.n, 1);
    free(tids.at);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(many_children, setup, teardown),
        cmocka_unit_test_setup_teardown(deep_descendants, setup, teardown),
        cmocka_unit_test_setup_teardown(missing, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
