// What a thread waits for, from a forged /proc; and queries while one worker hangs.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/sched/prober.h"
#include "model/live.h"

static char proc[64];

static void put(const char *file, const char *text) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", proc, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static void folder(const char *name) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", proc, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static int set_up(void **state) {
    (void)state;
    snprintf(proc, sizeof(proc), "/tmp/ktop-explain-XXXXXX");
    assert_non_null(mkdtemp(proc));
    folder("50");
    folder("50/fd");
    folder("50/fdinfo");
    folder("60");
    put("60/comm", "keeper\n");
    put("50/stat", "50 (a) b) D 1 50");
    put("50/status", "Name:\ta\nTgid:\t50\nPPid:\t1\n");
    put("50/cgroup", "9:name=systemd:/x\n3:cpuset:/wrong\n1:cpu,cpuacct:/jobs/one\n0::/v2\n");
    put("50/mountinfo", "21 1 253:0 / / rw - ext4 /dev/vda rw\n36 21 0:31 / /mnt rw shared:5 - nfs4 box:/export rw\n");
    put("50/fdinfo/3", "pos:\t0\nflags:\t0100000\nmnt_id:\t36\nino:\t12\n");
    char link[160];
    snprintf(link, sizeof(link), "%s/50/fd/3", proc);
    assert_int_equal(symlink("/mnt/a file", link), 0);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", proc);
    return system(command);
}

static struct blocked_reply reply;
static void look(uint8_t state, bool deep) {
    const struct blocked_query ask = {.tid = 50, .slot = 4, .wait = 9, .state = state, .deep = deep};
    blocked_explain(proc, &ask, &reply);
    assert_int_equal(reply.query.slot, 4);
    assert_int_equal(reply.query.wait, 9);
}

static void a_file_on_a_server(void **state) {
    (void)state;
    char call[128];
    snprintf(call, sizeof(call), "%d 0x3 0x7ffe 0x1000 0x0 0x0 0x0 0x7ffe01234567 0x7f7f01234567\n", SYS_read);
    put("50/wchan", "rpc_wait_bit_killable");
    put("50/syscall", call);
    put("50/stack", "[<0>] rpc_wait_bit_killable+0x1e/0xa0\n[<0>] nfs_file_read+0x74/0xf0\n[<0>] ksys_read+0x6/0x9\n"
                    "[<0>] do_syscall_64+0x71/0x280\n[<0>] entry_SYSCALL_64_after_hwframe+0x76/0x7e\n");
    look(BLOCKED_DISK, true);
    assert_int_equal(reply.why, BLOCKED_BY_UNINTERRUPTIBLE);
    assert_int_equal(reply.state, 'D');
    assert_int_equal(reply.syscall, SYS_read);
    assert_string_equal(reply.where, "rpc_wait_bit_killable");
    assert_string_equal(reply.waits_for, "an NFS server's reply: /mnt/a file (nfs4 from box:/export)");
    assert_string_equal(reply.stack, "rpc_wait_bit_killable < nfs_file_read < ksys_read");
    assert_string_equal(reply.cgroup, "/jobs/one");
    look(BLOCKED_SLEEPING, true);
    assert_int_equal(reply.why, BLOCKED_BY_SERVER);
    look(BLOCKED_DISK, false); // a short wait: only where
    assert_int_equal(reply.why, BLOCKED_BY_NONE);
    assert_string_equal(reply.where, "rpc_wait_bit_killable");
    assert_string_equal(reply.stack, "");
    look(BLOCKED_RUNNABLE, false);
    assert_string_equal(reply.cgroup, "/jobs/one");
    assert_string_equal(reply.where, "");
}

static void opens(const char *pid, const char *file) {
    char link[160];
    snprintf(link, sizeof(link), "%s/%s/fd", proc, pid);
    mkdir(link, 0700);
    snprintf(link, sizeof(link), "%s/%s/fd/7", proc, pid);
    assert_int_equal(symlink(file, link), 0);
}

static void a_lock_of_a_file(void **state) {
    (void)state;
    char call[128];
    snprintf(call, sizeof(call), "%d 0x3 0x2 0x0 0x0 0x0 0x0 0x7ffe01234567 0x7f7f01234567\n", SYS_flock);
    put("50/wchan", "locks_lock_inode_wait");
    put("50/syscall", call);
    put("locks", "1: FLOCK  ADVISORY  WRITE 70 fe:00:1 0 EOF\n2: FLOCK  ADVISORY  WRITE 60 fe:00:2 0 EOF\n"
                 "2: -> FLOCK  ADVISORY  WRITE 49 fe:00:2 0 EOF\n2: -> FLOCK  ADVISORY  WRITE 50 fe:00:2 0 EOF\n");
    look(BLOCKED_SLEEPING, true);
    assert_int_equal(reply.why, BLOCKED_BY_LOCK);
    assert_string_equal(reply.waits_for, "keeper (60) holds the lock on /mnt/a file (nfs4 from box:/export)");
    put("locks", "1: FLOCK  ADVISORY  WRITE 61 fe:00:2 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 50 fe:00:2 0 EOF\n");
    look(BLOCKED_SLEEPING, true);
    assert_string_equal(reply.waits_for, "the lock on /mnt/a file (nfs4 from box:/export), taken by exited PID 61");
    // A process that inherited its descriptor.
    folder("62");
    folder("62/fdinfo");
    put("62/comm", "heir\n");
    opens("62", "/mnt/a file");
    put("62/fdinfo/7", "pos:\t0\nlock:\t1: FLOCK  ADVISORY  WRITE 63 fe:00:2 0 EOF\n");
    put("locks", "1: FLOCK  ADVISORY  WRITE 63 fe:00:2 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 50 fe:00:2 0 EOF\n");
    look(BLOCKED_SLEEPING, true);
    assert_string_equal(reply.waits_for, "heir (62) holds the lock on /mnt/a file (nfs4 from box:/export)");
    put("62/fdinfo/7", "pos:\t0\nlock:\t1: OFDLCK ADVISORY  WRITE -1 fe:00:2 0 EOF\n");
    put("locks", "1: OFDLCK ADVISORY  WRITE -1 fe:00:2 0 EOF\n1: -> FLOCK  ADVISORY  WRITE 50 fe:00:2 0 EOF\n");
    look(BLOCKED_SLEEPING, true);
    assert_string_equal(reply.waits_for, "heir (62) holds the lock on /mnt/a file (nfs4 from box:/export)");
    assert_int_equal(sched_lock_holder("", 5), 0);
    assert_int_equal(sched_lock_holder("1: POSIX  ADVISORY  WRITE 5 fe:00:2 0 EOF\nbroken\n", 5), 0);
}

// Of a mutex of glibc in this process's own memory: {lock, count, owner}.
static void a_mutex(void **state) {
    (void)state;
    static uint32_t words[3];
    char file[64], text[160];
    const struct blocked_query ask = {.tid = getpid(), .state = BLOCKED_SLEEPING, .deep = true};
    words[0] = 2;
    words[2] = 60;
    snprintf(file, sizeof(file), "%d", getpid());
    folder(file);
    snprintf(file, sizeof(file), "%d/stat", getpid());
    put(file, "1 (self) S 1");
    snprintf(file, sizeof(file), "%d/wchan", getpid());
    put(file, "futex_do_wait");
    snprintf(file, sizeof(file), "%d/syscall", getpid());
    snprintf(text, sizeof(text), "%d 0x%llx 0x0 0x2 0x0 0x0 0x0 0x7ffe01234567 0x7f7f01234567\n", SYS_futex,
             (unsigned long long)(uintptr_t)words);
    put(file, text);
    blocked_explain(proc, &ask, &reply);
    snprintf(text, sizeof(text), "keeper (60) holds the mutex at 0x%llx", (unsigned long long)(uintptr_t)words);
    assert_string_equal(reply.waits_for, text);
    assert_int_equal(reply.why, BLOCKED_BY_LOCK);
}

// The server is found by its descriptor; if the kernel does not report it, as the only candidate, or the only one with
// the mount point in its arguments.
static void a_file_of_a_program(void **state) {
    (void)state;
    char call[128];
    snprintf(call, sizeof(call), "%d 0x3 0x7ffe 0x1000 0x0 0x0 0x0 0x7ffe01234567 0x7f7f01234567\n", SYS_read);
    put("50/wchan", "request_wait_answer");
    put("50/syscall", call);
    put("50/stack", "[<0>] request_wait_answer+0x1e/0xa0\n[<0>] __fuse_simple_request+0x74/0xf0\n");
    put("50/mountinfo", "21 1 253:0 / / rw - ext4 /dev/vda rw\n36 21 0:41 / /mnt rw - fuse.slow one rw\n");
    look(BLOCKED_SLEEPING, true);
    assert_string_equal(reply.waits_for, "a FUSE server's reply: /mnt/a file (fuse.slow from one)");
    assert_int_equal(reply.why, BLOCKED_BY_SERVER);

    opens("60", "/dev/fuse");
    put("50/mountinfo", "36 21 0:42 / /mnt rw - fuse.slow one rw\n"); // nothing is kept of this one
    look(BLOCKED_SLEEPING, true);
    assert_string_equal(reply.waits_for, "keeper (60) to reply: /mnt/a file (fuse.slow from one)");

    folder("61");
    put("61/comm", "other\n");
    opens("61", "/dev/fuse");
    put("50/mountinfo", "36 21 0:43 / /mnt rw - fuse.slow one rw\n");
    look(BLOCKED_SLEEPING, true); // two of them
    assert_memory_equal(reply.waits_for, "a FUSE serve", 12);

    put("61/cmdline", "other");
    char path[160];
    snprintf(path, sizeof(path), "%s/61/cmdline", proc);
    FILE *out = fopen(path, "w");
    fwrite("other\0-o\0/mnt/", 1, 15, out);
    fclose(out);
    put("50/mountinfo", "36 21 0:44 / /mnt rw - fuse.slow one rw\n");
    look(BLOCKED_SLEEPING, true);
    assert_memory_equal(reply.waits_for, "other (61) to reply", 19);

    folder("60/fdinfo");
    put("60/fdinfo/7", "pos:\t0\nfuse_connection:\t45\n");
    put("50/mountinfo", "36 21 0:45 / /mnt rw - fuse.slow one rw\n");
    look(BLOCKED_SLEEPING, true);
    assert_memory_equal(reply.waits_for, "keeper (60) to reply", 20);
}

// By a path of the program: the deepest mount counts, and of two at one place the later one.
static void a_path_of_a_program(void **state) {
    (void)state;
    static const char name[] = "/mnt/deep/x";
    const struct blocked_query ask = {.tid = getpid(), .state = BLOCKED_DISK, .deep = true};
    char file[64], text[192];
    snprintf(file, sizeof(file), "%d", getpid());
    folder(file);
    snprintf(file, sizeof(file), "%d/stat", getpid());
    put(file, "1 (self) S 1");
    snprintf(file, sizeof(file), "%d/wchan", getpid());
    put(file, "request_wait_answer");
    snprintf(file, sizeof(file), "%d/syscall", getpid());
    snprintf(text, sizeof(text), "%d 0xffffff9c 0x%llx 0x0 0x0 0x0 0x0 0x7ffe01234567 0x7f7f01234567\n", SYS_openat,
             (unsigned long long)(uintptr_t)name);
    put(file, text);
    snprintf(file, sizeof(file), "%d/mountinfo", getpid());
    put(file, "20 1 253:0 / / rw - ext4 /dev/vda rw\n30 20 0:60 / /mnt/deep rw - fuse.a a rw\n31 30 0:61 / /mnt/deep "
              "rw - fuse.b b rw\n32 20 0:62 / /mnt/dee rw - fuse.c c rw\n");
    opens("60", "/dev/fuse");
    folder("60/fdinfo");
    put("60/fdinfo/7", "fuse_connection:\t61\n");
    blocked_explain(proc, &ask, &reply);
    assert_string_equal(reply.waits_for, "keeper (60) to reply: /mnt/deep/x");
}

// /proc shows a system call of all zeros for a kernel thread: the number of read.
static void a_thread_of_the_kernel(void **state) {
    (void)state;
    put("50/wchan", "worker_thread");
    put("50/syscall", "0 0x0 0x0 0x0 0x0 0x0 0x0 0x0 0x0\n");
    look(BLOCKED_SLEEPING, false);
    assert_int_equal(reply.syscall, BLOCKED_NO_SYSCALL);
    assert_string_equal(reply.where, "worker_thread");
    look(BLOCKED_DISK, true);
    assert_int_equal(reply.syscall, BLOCKED_NO_SYSCALL);
    assert_int_equal(reply.why, BLOCKED_BY_UNINTERRUPTIBLE);
}

static void nothing_special(void **state) {
    (void)state;
    put("50/wchan", "0");
    put("50/syscall", "running\n");
    look(BLOCKED_SLEEPING, true);
    assert_false(reply.gone);
    assert_int_equal(reply.why, BLOCKED_BY_NONE);
    assert_int_equal(reply.syscall, BLOCKED_NO_SYSCALL);
    assert_string_equal(reply.where, "");
    put("50/wchan", "do_epoll_wait");
    put("50/syscall", "-1 0x7ffe01234567 0x7f7f01234567\n");
    look(BLOCKED_SLEEPING, true);
    assert_int_equal(reply.why, BLOCKED_BY_NONE);
    char wchan[160];
    snprintf(wchan, sizeof(wchan), "%s/50/wchan", proc); // without CONFIG_KALLSYMS there is none
    assert_int_equal(unlink(wchan), 0);
    for (int deep = 0; deep < 2; deep++) {
        const struct blocked_query gone = {.tid = 51, .deep = deep}, runs = {.tid = 51, .state = BLOCKED_RUNNABLE};
        look(BLOCKED_SLEEPING, deep);
        assert_false(reply.gone);
        assert_int_equal(reply.state, 'D');
        blocked_explain(proc, &gone, &reply);
        assert_true(reply.gone);
        blocked_explain(proc, &runs, &reply);
        assert_true(reply.gone);
    }
}

// Kernels without wchan have the stack; 32-bit programs have other syscall numbers.
static void other_kernels_and_programs(void **state) {
    (void)state;
    put("50/wchan", "0");
    put("50/syscall", "3 0x3 0x2 0x0 0x0 0x0 0x0 0xffe01234 0xf7f01234\n");
    put("50/stack", "[<0>] pipe_read+0x1e/0xa0\n[<0>] new_sync_read+0x74/0xf0\n");
    look(BLOCKED_SLEEPING, false);
    assert_string_equal(reply.where, "pipe_read");
    assert_true(reply.is_32);
    assert_int_equal(reply.syscall, 3);
    put("50/syscall", "3 0x3 0x2 0x0 0x0 0x0 0x0 0x7ffe01234567 0x7f7f01234567\n");
    look(BLOCKED_SLEEPING, false);
    assert_false(reply.is_32);
    put("50/syscall", "running\n");
    look(BLOCKED_SLEEPING, false);
    assert_string_equal(reply.where, "");
}

static void stacks(void **state) {
    (void)state;
    char out[40];
    kernel_stack_join("[<0>] one+0x1/0x2\n[<0>] a_function_with_a_long_name+0x1/0x2\n[<0>] three+0x1/0x2\n", out,
                      sizeof(out));
    assert_string_equal(out, "one < a_function_with_a_long_name"); // no more room
    kernel_stack_join("", out, sizeof(out));
    assert_string_equal(out, "");
    kernel_stack_join("no bracket\n[<0>] \n", out, sizeof(out));
    assert_string_equal(kernel_stack_meaning("folio_wait_bit_common < filemap_read < nfs_file_read"),
                        "an NFS server's reply");
    assert_string_equal(kernel_stack_meaning("wait_on_buffer < ext4_bread"), "a disk");
    assert_null(kernel_stack_meaning("hrtimer_nanosleep < common_nsleep"));
}

// ---- workers ----

static sem_t hanging, release;

static void explain(const char *path, const struct blocked_query *query, struct blocked_reply *out) {
    (void)path;
    if (query->tid < 100) {
        sem_post(&hanging);
        sem_wait(&release);
    }
    *out = (struct blocked_reply){.query = *query, .syscall = 7};
}

static size_t take_all(struct blocked_prober *prober, struct blocked_reply *out, size_t n) {
    size_t have = 0;
    for (int i = 0; i < 5000 && have < n; i++) {
        have += blocked_prober_take(prober, out + have, n - have, now_ns());
        usleep(1000);
    }
    return have;
}

static void a_look_that_hangs(void **state) {
    (void)state;
    static struct blocked_reply out[8];
    const struct blocked_query queries[] = {{.tid = 1}, {.tid = 200, .wait = 5}};
    sem_init(&hanging, 0, 0);
    sem_init(&release, 0, 0);
    struct blocked_prober *prober = blocked_prober_new("/proc", explain);
    assert_non_null(prober);
    assert_int_equal(blocked_prober_room(prober), BLOCKED_QUERIES_MAX);
    blocked_prober_query(prober, queries, 2);
    sem_wait(&hanging);
    assert_int_equal(blocked_prober_take(prober, out, 8, now_ns()), 0);
    // Another worker goes on after a second, here by the forged clock.
    assert_int_equal(blocked_prober_take(prober, out, 8, now_ns() + 2000000000ull), 1);
    assert_true(out[0].hangs);
    assert_int_equal(out[0].query.tid, 1);
    assert_int_equal(take_all(prober, out, 1), 1);
    assert_int_equal(out[0].query.tid, 200);
    assert_int_equal(out[0].query.wait, 5);
    assert_int_equal(out[0].syscall, 7);
    blocked_prober_free(prober); // does not wait for the one that hangs
    sem_post(&release);
}

static void query_overflow(void **state) {
    (void)state;
    static struct blocked_query queries[2 * BLOCKED_QUERIES_MAX];
    static struct blocked_reply out[BLOCKED_QUERIES_MAX];
    for (int i = 0; i < 2 * BLOCKED_QUERIES_MAX; i++)
        queries[i].tid = 1000 + i;
    struct blocked_prober *prober = blocked_prober_new("/proc", explain);
    blocked_prober_query(prober, queries, BLOCKED_QUERIES_MAX);
    assert_int_equal(take_all(prober, out, BLOCKED_QUERIES_MAX), BLOCKED_QUERIES_MAX);
    for (int i = 0; i < BLOCKED_QUERIES_MAX; i++)
        assert_int_equal(out[i].query.tid, 1000 + i);
    blocked_prober_query(prober, queries, 2 * BLOCKED_QUERIES_MAX); // no harm
    assert_true(take_all(prober, out, BLOCKED_QUERIES_MAX) >= 1);
    blocked_prober_free(prober);
    blocked_prober_free(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_on_a_server, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lock_of_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_mutex, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_file_of_a_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_path_of_a_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_thread_of_the_kernel, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nothing_special, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_kernels_and_programs, set_up, tear_down),
        cmocka_unit_test(stacks),
        cmocka_unit_test(a_look_that_hangs),
        cmocka_unit_test(query_overflow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
