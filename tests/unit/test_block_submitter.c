// Submitters, from a forged /proc and forged cgroups. With a cgroup limit on a whole disk, the worker's I/O is
// throttled I/O, and the cgroup is known only if it is unique.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "collectors/block/submitter.h"
#include "tests/unit/forge_files.h"

#define SECOND 1000000000ull
#define DISK (8u << 20)
#define OTHER (8u << 20 | 16)

static char root[64], proc[80];
static struct block_limits *limits;
static struct block_tasks *submitters;
static struct block_stat *stat_of_frame;
static uint64_t now;

static void put(const char *path, const char *text) {
    forge_file(root, path + 1, text);
}

static void worker(const char *name) {
    char text[96];
    snprintf(text, sizeof(text), "Name:\t%s\nTgid:\t7\nPid:\t7\nPPid:\t2\nUid:\t0\t0\n", name);
    put("/proc/7/status", text);
}

static int set_up(void **state) {
    (void)state;
    snprintf(root, sizeof(root), "/tmp/ktop-submitter-XXXXXX");
    if (!mkdtemp(root))
        return -1;
    snprintf(proc, sizeof(proc), "%s/proc", root);
    put("/cgroup.controllers", "io\n");
    put("/a/io.max", "8:0 rbps=max wbps=max riops=20 wiops=max\n");
    put("/a/io.stat", "8:0 rbytes=0 wbytes=0 rios=0 wios=0\n");
    put("/proc/7/cgroup", "0::/\n");
    put("/proc/90/status", "Name:\tfio\nTgid:\t90\nPid:\t90\nPPid:\t1\nUid:\t0\t0\n");
    put("/proc/90/cgroup", "0::/a\n");
    worker("kworker/0:1-events");
    now = SECOND;
    limits = block_limits_new(root);
    block_limits_read(limits, now);
    submitters = block_tasks_new(proc, root, NULL);
    block_tasks_limits(submitters, limits);
    stat_of_frame = block_stat_new();
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    char command[96];
    snprintf(command, sizeof(command), "rm -rf %s", root);
    block_stat_free(stat_of_frame);
    block_tasks_free(submitters);
    block_limits_free(limits);
    return system(command);
}

static void io(int32_t tid, const char *comm, uint32_t dev, uint8_t op) {
    struct block_io done = {.issue_ns = now, .end_ns = now + 1000, .dev = dev, .bytes = 4096, .tid = tid, .op = op};
    snprintf(done.rwbs, sizeof(done.rwbs), "%s", block_op_names[op]);
    snprintf(done.comm, sizeof(done.comm), "%s", comm);
    done.key = done.bio_key = block_key_of(done.rwbs, op);
    block_stat_io(stat_of_frame, &done);
}

// "comm pid cgroup" of proc i.
static const char *row(uint32_t i) {
    static char out[128];
    const struct block_proc *p = &stat_of_frame->procs[i];
    const struct block_task *task = block_task_get(submitters, p);
    snprintf(out, sizeof(out), "%s %d %s", task->comm ? text_bytes(task->comm) : p->comm, task->pid,
             task->cgroup ? text_bytes(task->cgroup) : "-");
    return out;
}

static void resolve_after(uint64_t ms) {
    now += ms * 1000000;
    block_tasks_resolve(submitters, stat_of_frame, now);
}

static void next_frame(void) {
    block_stat_clear(stat_of_frame);
    block_tasks_expire(submitters, now);
}

static void one_cgroup(void **state) {
    (void)state;
    io(90, "fio", DISK, BLOCK_READ);
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "fio 90 /a");
    assert_string_equal(row(1), "kworker/0:1 7 /"); // its last work was another
    worker("kworker/0:1-kthrotld");                 // for another disk
    io(7, "kworker/0:1", OTHER, BLOCK_READ);
    resolve_after(900);
    assert_string_equal(row(1), "kworker/0:1 7 /"); // no new I/O there
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    io(7, "kworker/0:1", DISK, BLOCK_WRITE);
    resolve_after(10);
    assert_string_equal(row(1), "(throttled) 0 /a");
    assert_string_equal(row(2), "kworker/0:1 7 /"); // no limit on this disk
    assert_string_equal(row(3), "kworker/0:1 7 /"); // no limit on writes
    assert_string_equal(row(0), "fio 90 /a");
    next_frame();
    // The worker does other work now.
    worker("kworker/0:1+xfs-conv/sda");
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "kworker/0:1 7 /");
    worker("kworker/0:1+kthrotld");
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    block_stat_settle(stat_of_frame);
    resolve_after(2);
    assert_string_equal(row(0), "kworker/0:1 7 /"); // read just before: too soon
    resolve_after(10);
    assert_string_equal(row(0), "(throttled) 0 /a");
    worker("kworker/0:1-events"); // the attribution stays for the frame
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "(throttled) 0 /a");
}

// One read per I/O, whether it is in a stream or settled.
static void read_once_per_io(void **state) {
    (void)state;
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    resolve_after(10);
    worker("kworker/0:1-kthrotld");
    resolve_after(10);
    block_stat_settle(stat_of_frame);
    resolve_after(10);
    assert_string_equal(row(0), "kworker/0:1 7 /");
}

static void kernel_thread(int32_t tid, const char *name, int parent) {
    char path[64], text[96];
    snprintf(path, sizeof(path), "/proc/%d/status", tid);
    snprintf(text, sizeof(text), "Name:\t%s\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nUid:\t0\t0\n", name, tid, tid, parent);
    put(path, text);
    snprintf(path, sizeof(path), "/proc/%d/cgroup", tid);
    put(path, "0::/\n");
}

// The rescuer thread has the workqueue's name.
static void rescuer(void **state) {
    (void)state;
    kernel_thread(8, "kthrotld", 2);
    kernel_thread(9, "kworker/R-kthrotld", 2);
    kernel_thread(10, "kworker/R-xfs-sda", 2);
    kernel_thread(91, "kthrotld", 1); // a program with that comm
    io(8, "kthrotld", DISK, BLOCK_READ);
    io(9, "kworker/R-kthro", DISK, BLOCK_READ);
    io(10, "kworker/R-xfs-s", DISK, BLOCK_READ);
    io(91, "kthrotld", DISK, BLOCK_READ);
    io(8, "kthrotld", OTHER, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "(throttled) 0 /a");
    assert_string_equal(row(1), "(throttled) 0 /a");
    assert_string_equal(row(2), "kworker/R-xfs-s 10 /");
    assert_string_equal(row(3), "kthrotld 91 /");
    assert_string_equal(row(4), "kthrotld 8 /");
}

static void several_cgroups(void **state) {
    (void)state;
    put("/b/io.max", "8:0 rbps=4096 wbps=4096 riops=max wiops=max\n");
    put("/b/io.stat", "8:0 rbytes=0 wbytes=0 rios=5 wios=0\n");
    worker("kworker/0:1-kthrotld");
    block_limits_read(limits, now += 6 * SECOND);
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    io(7, "kworker/0:1", DISK, BLOCK_WRITE);
    resolve_after(10);
    assert_string_equal(row(0), "(throttled) 0 -"); // one of two
    assert_string_equal(row(1), "(throttled) 0 /b");
    put("/b/io.stat", "8:0 rbytes=0 wbytes=0 rios=9 wios=0\n"); // end of the frame: only one did I/O
    block_limits_read(limits, now += SECOND / 2);
    resolve_after(10);
    assert_string_equal(row(0), "(throttled) 0 /b");
    next_frame();
    put("/a/io.stat", "8:0 rbytes=4096 wbytes=0 rios=20 wios=0\n");
    block_limits_read(limits, now += SECOND);
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "(throttled) 0 /a");
    next_frame();
    // A program with a worker's comm does not work on kthrotld.
    put("/proc/91/status", "Name:\tkworker/0:1\nTgid:\t91\nPid:\t91\nPPid:\t1\nUid:\t0\t0\n");
    put("/proc/91/cgroup", "0::/b\n");
    io(91, "kworker/0:1", DISK, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "kworker/0:1 91 /b");
}

static void filtered(void **state) {
    (void)state;
    static const pid_t pids[] = {90};
    const struct collect_options options = {.pids = pids, .n_pids = 1};
    block_tasks_free(submitters);
    submitters = block_tasks_new(proc, root, &options);
    block_tasks_limits(submitters, limits);
    worker("kworker/0:1-kthrotld");
    io(90, "fio", DISK, BLOCK_READ);
    io(7, "kworker/0:1", DISK, BLOCK_READ);
    resolve_after(10);
    assert_true(block_task_get(submitters, &stat_of_frame->procs[0])->wanted);
    assert_false(block_task_get(submitters, &stat_of_frame->procs[1])->wanted); // unknown submitter
}

// An exited thread gets the process of its creator, directly or through another exited thread.
static void exited_threads(void **state) {
    (void)state;
    struct block_match *match = block_match_new(64, NULL, NULL);
    static const int32_t made[][2] = {{300, 90}, {301, 300}, {302, 99}, {303, 92}};
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        const struct block_event event = {
            .kind = BLOCK_THREAD, .ts = now, .bytes = (uint32_t)made[i][0], .tid = made[i][1]};
        block_match_event(match, &event);
    }
    put("/proc/92/status", "Name:\tfio\nTgid:\t90\nPid:\t92\nPPid:\t1\nUid:\t0\t0\n");
    block_tasks_threads(submitters, match);
    for (int32_t tid = 300; tid < 305; tid++)
        io(tid, "fio", DISK, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "fio 90 /a");
    assert_string_equal(row(1), "fio 90 /a");
    assert_string_equal(row(2), "fio 99 -"); // the creator has exited, too
    assert_string_equal(row(3), "fio 90 -"); // through another thread of the process
    assert_string_equal(row(4), "fio 304 -");
    next_frame();
    now += 20 * SECOND; // TIDs are reused
    io(300, "fio", DISK, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "fio 300 -");
    block_match_free(match);
}

// io_uring threads get the program that made the ring, also when both exited: by the TID in their comm, and the
// creator's comm.
static void exited_io_uring_threads(void **state) {
    (void)state;
    struct block_match *match = block_match_new(64, NULL, NULL);
    static const struct {
        int32_t tid, creator;
        const char *comm;
    } made[] = {{401, 400, "fio"}, {402, 401, "iou-wrk-400"}, {501, 500, "fio"}, {500, 92, "fio"}};
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        char comm[BLOCK_COMM] = "";
        strcpy(comm, made[i].comm);
        const struct block_event event = {
            .kind = BLOCK_THREAD, .ts = now, .bytes = (uint32_t)made[i].tid, .tid = made[i].creator, .comm = comm};
        block_match_event(match, &event);
    }
    put("/proc/92/status", "Name:\tother\nTgid:\t90\nPid:\t92\nPPid:\t1\nUid:\t0\t0\n");
    block_tasks_threads(submitters, match);
    io(401, "iou-wrk-400", DISK, BLOCK_READ);
    io(402, "iou-wrk-400", DISK, BLOCK_READ);
    io(403, "iou-wrk-400", DISK, BLOCK_READ); // creation not traced
    io(501, "iou-wrk-500", DISK, BLOCK_READ); // the ring's thread exited, its process did not
    resolve_after(10);
    assert_string_equal(row(0), "fio 400 -");
    assert_string_equal(row(1), "fio 400 -");
    assert_string_equal(row(2), "iou-wrk-400 400 -");
    assert_string_equal(row(3), "fio 90 -");
    block_match_free(match);
}

// In a child PID namespace /proc shows other PIDs: no look-ups, and -p selects nothing.
static void pid_namespace(void **state) {
    (void)state;
    static const pid_t pids[] = {90};
    const struct collect_options options = {.pids = pids, .n_pids = 1};
    int32_t pid = 90;
    block_tasks_free(submitters);
    submitters = block_tasks_new(NULL, root, NULL);
    put("/proc/91/status", "Name:\tother\nTgid:\t7\nPid:\t91\nPPid:\t1\nUid:\t0\t0\n");
    io(91, "fio", DISK, BLOCK_READ);
    resolve_after(10);
    assert_string_equal(row(0), "fio 91 -");
    assert_true(block_task_get(submitters, &stat_of_frame->procs[0])->wanted);
    assert_true(block_tasks_pid(submitters, 90, &pid));
    assert_int_equal(pid, 90);
    next_frame();
    block_tasks_free(submitters);
    submitters = block_tasks_new(NULL, root, &options);
    io(90, "fio", DISK, BLOCK_READ);
    resolve_after(10);
    assert_false(block_task_get(submitters, &stat_of_frame->procs[0])->wanted);
    assert_false(block_tasks_pid(submitters, 90, &pid));
}

static void completed(int32_t tid, const char *comm, uint64_t ns, int16_t error) {
    now += 1000;
    struct block_io done = {.issue_ns = now, .end_ns = now + ns, .dev = DISK, .bytes = 4096, .tid = tid};
    done.error = error;
    snprintf(done.rwbs, sizeof(done.rwbs), "R");
    snprintf(done.comm, sizeof(done.comm), "%s", comm);
    block_stat_io(stat_of_frame, &done);
}

// Number of failed I/Os kept as rare; all kept ones must be of one thread.
static uint32_t rare_failed(int32_t tid, uint32_t *all) {
    const struct block_chosen *chosen;
    uint32_t failed = 0;
    *all = block_stat_rare(stat_of_frame, &chosen);
    for (uint32_t i = 0; i < *all; i++) {
        assert_int_equal(chosen[i].pick->task.tid, tid);
        failed += chosen[i].why == BLOCK_FAILED;
    }
    return failed;
}

// With -p, I/Os of other tasks are not kept as rare: looked up before the frame, within it, or too many to look up.
static void filtered_rare_ios(void **state) {
    (void)state;
    static const pid_t pids[] = {90};
    const struct collect_options options = {.pids = pids, .n_pids = 1};
    uint32_t all;
    put("/proc/91/status", "Name:\tother\nTgid:\t91\nPid:\t91\nPPid:\t1\nUid:\t0\t0\n");
    block_tasks_free(submitters);
    submitters = block_tasks_new(proc, root, &options);
    block_tasks_filter(submitters, stat_of_frame);
    for (int frame = 0; frame < 3; frame++) {
        for (int i = 0; i < 3000; i++) {
            if (i % 50 == 0) // 60 failed, 60 not among the slowest
                completed(90, "fio", 1000, -5);
            if (i % 50 == 1)
                completed(90, "fio", 2000, 0);
            completed(91, "other", 100000 + (uint64_t)i, i % 2 ? -5 : 0);
            if (i == 100)
                resolve_after(1);
        }
        for (int i = 0; i < BLOCK_EVENTS_KEPT; i++) {
            completed(frame == 2 ? 20000 + i : 91, "other", 100000, 0);
            if (i % 100 == 0)
                resolve_after(1);
        }
        resolve_after(1);
        if (frame == 1) { // known others are not among the newest either
            assert_int_equal(block_stat_left_out(stat_of_frame), 0);
            assert_int_equal(stat_of_frame->n_recent, 120);
        }
        for (int i = 0; i < BLOCK_EVENTS_KEPT; i++)
            completed(90, "fio", 500, 0);
        block_stat_settle(stat_of_frame);
        assert_int_equal(rare_failed(90, &all), 60);
        assert_int_equal(all, 120);
        next_frame();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(one_cgroup, set_up, tear_down),
        cmocka_unit_test_setup_teardown(read_once_per_io, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rescuer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_cgroups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filtered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exited_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(exited_io_uring_threads, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pid_namespace, set_up, tear_down),
        cmocka_unit_test_setup_teardown(filtered_rare_ios, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
