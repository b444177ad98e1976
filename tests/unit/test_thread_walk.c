// Walking the threads of a /proc, and the system call that a thread is in.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/proc/syscall.h"
#include "collectors/kernel/proc/syscall_args.h"
#include "collectors/kernel/proc/thread_walk.h"

static char proc[64];

static void folder(const char *name) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", proc, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int begin(void **state) {
    (void)state;
    snprintf(proc, sizeof(proc), "/tmp/ktop-walk-XXXXXX");
    return mkdtemp(proc) ? 0 : -1;
}

static int end(void **state) {
    char command[128];
    (void)state;
    snprintf(command, sizeof(command), "rm -r %s", proc);
    return system(command);
}

static void walks(void **state) {
    static const char *const folders[] = {"20",         "20/task", "20/task/20", "20/task/21", "20/task/22",
                                          "30",         "30/task", "40",         "40/task",    "40/task/40",
                                          "40/task/41", "self",    "40/task/42", NULL};
    (void)state;
    for (const char *const *name = folders; *name; name++)
        folder(*name);
    struct thread_walk *walk = thread_walk_new(proc);
    int seen[50] = {0}, n = 0;
    for (int32_t tid, pid, last = 0; (tid = thread_walk_next(walk, &pid)); n++, last = pid) {
        seen[tid]++;
        assert_true(pid == 20 || pid == 30 || pid == 40);
        assert_true(tid == pid || pid == last); // a leader comes first
        if (pid == 40)
            thread_walk_skip(walk);
    }
    assert_int_equal(n, 5);
    assert_true(seen[20] == 1 && seen[21] == 1 && seen[22] == 1 && seen[30] == 1 && seen[40] == 1);
    thread_walk_free(walk);
    assert_null(thread_walk_new("/nonexistent"));
    thread_walk_free(NULL);
}

static int call_of(const char *text, struct proc_syscall *out) {
    char path[160];
    snprintf(path, sizeof(path), "%s/7/syscall", proc);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return proc_syscall_read(proc, 7, out);
}

static void calls(void **state) {
    struct proc_syscall call;
    (void)state;
    folder("7");
    assert_int_equal(call_of("257 0xffffff9c 0x55 0x2 0x3 0x4 0x5 0x7ffc0000 0x7f0000001234\n", &call), 0);
    assert_true(call.nr == 257 && call.args[0] == 0xffffff9c && call.args[5] == 5 && !call.is_32 && !call.running);
    assert_int_equal(call_of("3 0x1 0x2 0x3 0x4 0x5 0x6 0xffd00000 0xf7f00000\n", &call), 0);
    assert_true(call.nr == 3 && call.is_32);
    assert_int_equal(call_of("running\n", &call), 0);
    assert_true(call.nr == -1 && call.running);
    assert_int_equal(call_of("-1 0x7ffc0000 0x7f0000001234\n", &call), 0); // blocked, but in no call
    assert_true(call.nr == -1 && !call.running);
    assert_int_equal(call_of("0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n", &call), 0); // a kernel thread
    assert_int_equal(call.nr, -1);
    assert_int_equal(call_of("257 0x1 0x2\n", &call), 0); // cut off
    assert_int_equal(call.nr, -1);
    assert_int_equal(proc_syscall_read(proc, 8, &call), -ENOENT);
    assert_int_equal(call.nr, -1);
}

static void files_of_calls(void **state) {
    bool is_path;
    (void)state;
    assert_int_equal(syscall_file_arg("read", &is_path), 0);
    assert_false(is_path);
    assert_int_equal(syscall_file_arg("openat", &is_path), 1);
    assert_true(is_path);
    assert_int_equal(syscall_file_arg("sendfile", &is_path), 1); // the file that is read
    assert_false(is_path);
    assert_int_equal(syscall_file_arg("mount", &is_path), 1); // the mount point
    assert_true(is_path);
    assert_int_equal(syscall_file_arg("getpid", &is_path), -1);
    assert_int_equal(syscall_file_arg("no_such_call", &is_path), -1);
    assert_null(syscall_arg_kinds("no_such_call"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(walks, begin, end),
                                       cmocka_unit_test_setup_teardown(calls, begin, end),
                                       cmocka_unit_test(files_of_calls)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
