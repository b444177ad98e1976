// The decisions of the collector "suspects": which futex is a lock, and which memory limit counts.
#include <fcntl.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/suspects/locks.h"
#include "collectors/suspects/suspects.h"
#include "tests/unit/screens.h"

static bool has_thread(void *context, int32_t tid) {
    (void)context;
    return tid == 700 || tid == 701;
}

static int is_lock(uint32_t word, uint32_t count, uint32_t owner, uint64_t expected) {
    const uint32_t words[3] = {word, count, owner};
    const struct proc_syscall call = {.nr = SYS_futex, .args = {0x1000, 128, expected}};
    int32_t holder = -1;
    return suspects_futex_is_lock(&call, words, has_thread, NULL, &holder) ? holder : -1;
}

static int is_rwlock(uint32_t readers, uint32_t writers, uint32_t pad, uint32_t writer, uint64_t expected) {
    const uint32_t words[8] = {readers, writers, 2, 3, pad, 0, writer, 0};
    const struct proc_syscall call = {.nr = SYS_futex, .args = {0x1008, 137, expected}};
    int32_t holder = -1;
    return suspects_rwlock_is(&call, words, has_thread, NULL, 2, &holder) ? holder : -1;
}

static void reader_writer_locks(void **state) {
    (void)state;
    assert_int_equal(is_rwlock(2 << 3 | 3, 0, 0, 701, 3), 701); // readers wait for a writer
    assert_int_equal(is_rwlock(1 << 3, 1, 0, 0, 3), 0);         // a writer waits for a reader
    assert_int_equal(is_rwlock(2 << 3 | 3, 0, 0, 701, 2), 701);
    assert_int_equal(is_rwlock(2 << 3 | 3, 0, 0, 701, 1), -1); // not a word at which threads wait
    assert_int_equal(is_rwlock(3 << 3 | 3, 0, 0, 701, 3), -1); // more readers than threads
    assert_int_equal(is_rwlock(2 << 3, 0, 0, 702, 3), -1);     // of another process
    assert_int_equal(is_rwlock(2 << 3, 0, 1, 701, 3), -1);
    assert_int_equal(is_rwlock(0, 0, 0, 0, 3), -1);
}

static void tracing_files(void **state) {
    (void)state;
    assert_true(suspects_tracing_is_file("/sys/kernel/tracing/trace_pipe", ""));
    assert_true(suspects_tracing_is_file("/sys/kernel/debug/tracing/per_cpu/cpu0/trace_pipe_raw", ""));
    assert_false(suspects_tracing_is_file("/sys/kernel/tracing/instances/a/trace_pipe", ""));
    assert_true(suspects_tracing_is_file("/per_cpu/cpu1/trace_pipe_raw", ""));
    assert_true(suspects_tracing_is_file("/sys/kernel/tracing/instances/a/trace_pipe", "a"));
    assert_true(suspects_tracing_is_file("/instances/a/trace_pipe", "a"));
    assert_false(suspects_tracing_is_file("/sys/kernel/tracing/instances/ab/trace_pipe", "a"));
    assert_false(suspects_tracing_is_file("/sys/kernel/tracing/trace_pipe", "a"));
    assert_false(suspects_tracing_is_file("/tmp/trace", ""));
}

static void file_write(const char *directory, const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof(path), "%s/%s", directory, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

// A forged tracefs: the top-level instance is idle, and of the others ktop's own, a stopped one and an idle one do not
// count.
static void tracing_on(void **state) {
    (void)state;
    static const char *const instances[][4] = {{"", "1\n", "nop\n", ""},
                                               {"/instances/a", "1\n", "nop\n", "sched:sched_switch\nirq:x\n"},
                                               {"/instances/ktop-1-2-block", "1\n", "nop\n", "block:x\n"},
                                               {"/instances/off", "0\n", "function\n", "sched:x\n"},
                                               {"/instances/idle", "1\n", "nop\n", ""}};
    char root[] = "/tmp/ktop-tracing-XXXXXX", path[128], command[160];
    struct suspects_trace on[8];
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/instances", root);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < 5; i++) {
        snprintf(path, sizeof(path), "%s%s", root, instances[i][0]);
        if (i)
            assert_int_equal(mkdir(path, 0700), 0);
        file_write(path, "tracing_on", instances[i][1]);
        file_write(path, "current_tracer", instances[i][2]);
        file_write(path, "set_event", instances[i][3]);
    }
    assert_int_equal(suspects_tracing_on(root, on, 8), 1);
    assert_string_equal(on[0].on.instance, "a");
    assert_string_equal(on[0].on.traces, "event sched:sched_switch");
    file_write(root, "current_tracer", "function\n");
    assert_int_equal(suspects_tracing_on(root, on, 8), 2);
    assert_string_equal(on[0].on.instance, "");
    assert_string_equal(on[0].on.traces, "tracer function");
    snprintf(command, sizeof(command), "rm -r %s", root);
    assert_int_equal(system(command), 0);
}

static void cpu_lists(void **state) {
    (void)state;
    static const char *const lists[] = {"", "0", "0-1", "1,3-5,63", "2,4,6"};
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        cpu_set_t mask;
        char out[64];
        CPU_ZERO(&mask);
        for (const char *at = lists[i]; *at; at += *at == ',') {
            char *end;
            unsigned long low = strtoul(at, &end, 10), high = *end == '-' ? strtoul(end + 1, &end, 10) : low;
            for (; low <= high; low++)
                CPU_SET(low, &mask);
            at = end;
        }
        suspects_cpu_list(&mask, sizeof(mask), out, sizeof(out));
        assert_string_equal(out, lists[i]);
    }
    cpu_set_t odd;
    char little[16];
    CPU_ZERO(&odd);
    for (size_t cpu = 1; cpu < 1000; cpu += 2)
        CPU_SET(cpu, &odd);
    suspects_cpu_list(&odd, sizeof(odd), little, sizeof(little)); // cut off
    assert_string_equal(little, "1,3,5");
}

static void process_files(void **state) {
    (void)state;
    assert_true(suspects_is_process_file("/proc", 7));
    assert_true(suspects_is_process_file("/proc/12/stat", 7));
    assert_true(suspects_is_process_file("/proc/12/fd", 7));
    assert_false(suspects_is_process_file("/proc/7/status", 7)); // of itself
    assert_false(suspects_is_process_file("/proc/stat", 7));
    assert_false(suspects_is_process_file("/proc/sys/kernel/pid_max", 7));
    assert_false(suspects_is_process_file("/process/12/stat", 7));
    assert_false(suspects_is_process_file("socket:[12]", 7));
    assert_false(suspects_is_process_file("", 7));
}

static void futexes(void **state) {
    (void)state;
    assert_int_equal(is_lock(2, 0, 700, 2), 700);                               // glibc
    assert_int_equal(is_lock(1, 0, 701, 2), 701);                               // the same, just taken again
    assert_int_equal(is_lock(0, 0, 0, 2), 0);                                   // the same, just released
    assert_int_equal(is_lock(2, 0, 5, 2), 0);                                   // Go, Rust: no owner
    assert_int_equal(is_lock(0x80000000u | 701, 0, 0, 0x80000000u | 701), 701); // PI, robust, musl
    assert_int_equal(is_lock(0x80000000u | 5, 0, 0, 0x80000000u | 5), -1);
    assert_int_equal(is_lock(0, 0, 0, 0), -1);   // condition variable, semaphore
    assert_int_equal(is_lock(4, 0, 700, 4), -1); // a counter
    struct proc_syscall call = {.nr = SYS_futex, .args = {0x1000, 128 | 9}};
    assert_true(suspects_futex_waits(&call));
    call.args[1] = 129; // FUTEX_WAKE
    assert_false(suspects_futex_waits(&call));
    call = (struct proc_syscall){.nr = SYS_read, .args = {0, 0}};
    assert_false(suspects_futex_waits(&call));
}

static struct lock_probe look_at(uint64_t futex, uint32_t waiters, int32_t except) {
    struct lock_probe probe = {.other = futex};
    for (int32_t tid = 100; tid < 108 && probe.n_other < waiters; tid++)
        if (tid != except)
            probe.others[probe.n_other++] = tid;
    return probe;
}

// Eight threads that take turns, and eight workers that are idle at times.
static void turns(void **state) {
    (void)state;
    struct lock_turns turns = {0};
    for (int i = 0; i < 14; i++) {
        struct lock_probe probe =
            look_at(0x1000 + (i % 2) * 4, 7, 100 + i % 8); // the two futexes of a condition variable
        suspects_turns_look(&turns, &probe);
    }
    assert_true(suspects_turns_pct(&turns) > 80);
    for (int i = 0; i < 14; i++) {
        struct lock_probe probe = look_at(0x1000, i % 2 ? 8 : 7, i % 2 ? 0 : 100 + i % 8);
        suspects_turns_look(&turns, &probe);
    }
    assert_true(suspects_turns_pct(&turns) < 60);
    turns = (struct lock_turns){0};
    for (int i = 0; i < 5; i++) {
        struct lock_probe probe = look_at(0x1000, 7, 100 + i);
        suspects_turns_look(&turns, &probe);
    }
    assert_true(isnan(suspects_turns_pct(&turns)));
    turns = (struct lock_turns){0}; // no two were seen to wait at every sixth look
    for (int i = 0; i < 14; i++) {
        struct lock_probe probe = i % 6 == 2 ? (struct lock_probe){0} : look_at(0x1000, 7, 100 + i % 8);
        suspects_turns_look(&turns, &probe);
    }
    assert_true(suspects_turns_pct(&turns) >= 75);
    assert_int_equal(turns.waiters, 7);
}

static double children_sample(void *readers, int32_t parent, char *child, size_t size) {
    char rows[256];
    snprintf(rows, sizeof(rows),
             "%d|%d|1|loop|1|1|-\n901|901|%d|sleep|1|1|3\n902|902|%d|cat|50|40|3\n903|903|%d|sh|2|2|3", parent, parent,
             parent, parent, parent);
    struct table *tasks = forge_real("tasks", "pid|tid|ppid|comm|cpu_pct|system_pct|ended_s", rows);
    const struct table_def *def = table_def(tasks);
    struct suspects_sample sample = {.out = forge_section("suspects", 1),
                                     .tasks = tasks,
                                     .at = {.pid = table_column(def, "pid"),
                                            .tid = table_column(def, "tid"),
                                            .ppid = table_column(def, "ppid"),
                                            .comm = table_column(def, "comm"),
                                            .cpu = table_column(def, "cpu_pct"),
                                            .system = table_column(def, "system_pct"),
                                            .ended = table_column(def, "ended_s")},
                                     .now_ns = 1000000000};
    suspects_readers_part.sample(readers, &sample);
    const struct table *out = section_find_table(sample.out, "proc_readers");
    size_t cursor = 0;
    const union cell *row = table_next(out, &cursor);
    double pct = row ? row[table_column(table_def(out), "proc_pct")].num : 0;
    snprintf(child, size, "%s", row ? text_bytes(row[table_column(table_def(out), "child")].text) : "");
    section_unref(sample.out);
    table_free(tasks);
    return pct;
}

// A process whose ended children used CPU time, and whose child of the moment has a file of a process open.
static void reading_children(void **state) {
    (void)state;
    int ready[2];
    char byte, child[32];
    if (access("/proc/thread-self/children", R_OK))
        skip(); // CONFIG_PROC_CHILDREN
    assert_int_equal(pipe(ready), 0);
    pid_t parent = fork();
    if (!parent) {
        if (!fork()) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            open("/proc/1/comm", O_RDONLY);
            (void)!write(ready[1], "", 1);
        }
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    void *readers = suspects_readers_part.create();
    assert_true(children_sample(readers, parent, child, sizeof(child)) == 0);
    for (int i = 0; i < 5; i++)
        assert_true(suspects_readers_part.drain(readers, 0) > 0);
    assert_true(children_sample(readers, parent, child, sizeof(child)) == 100);
    assert_string_equal(child, "cat");
    suspects_readers_part.destroy(readers);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    close(ready[0]);
    close(ready[1]);
}

// Of this process and the first one, while page tables grow or are many.
static size_t owners(void *part, double all_kib, uint64_t seconds, double *kib) {
    char rows[128];
    snprintf(rows, sizeof(rows), "%d|%d|5|-\n1|1|0|-\n2|2|0|-", getpid(), getpid());
    struct table *tasks = forge_real("tasks", "pid|tid|cpu_pct|ended_s", rows);
    const struct table_def *def = table_def(tasks);
    struct suspects_sample sample = {.out = forge_section("suspects", 1),
                                     .tasks = tasks,
                                     .at = {.pid = table_column(def, "pid"),
                                            .tid = table_column(def, "tid"),
                                            .cpu = table_column(def, "cpu_pct"),
                                            .ended = table_column(def, "ended_s")},
                                     .now_ns = seconds * 1000000000,
                                     .mem_total_kib = 1e6,
                                     .page_tables_kib = all_kib};
    suspects_page_tables_part.sample(part, &sample);
    const struct table *out = section_find_table(sample.out, "page_tables");
    size_t cursor = 0, n = 0;
    *kib = 0;
    for (const union cell *row; (row = table_next(out, &cursor)); n++)
        if (row[table_column(table_def(out), "pid")].num == getpid())
            *kib = row[table_column(table_def(out), "page_tables_kib")].num;
    section_unref(sample.out);
    table_free(tasks);
    return n;
}

static void page_tables(void **state) {
    (void)state;
    const size_t step = 2 << 20, steps = 256;
    double kib, before;
    void *part = suspects_page_tables_part.create();
    assert_int_equal(owners(part, 0.0 / 0.0, 1, &kib), 0);
    assert_int_equal(owners(part, 20000, 2, &kib), 0);
    assert_int_equal(owners(part, 23000, 3, &kib), 0);
    assert_true(owners(part, 28000, 4, &before) > 0); // grown
    assert_true(before > 0);
    volatile char *at = mmap(NULL, step * steps, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_true(at != MAP_FAILED);
    madvise((void *)at, step * steps, MADV_NOHUGEPAGE);
    for (size_t i = 0; i < steps; i++)
        (void)at[i * step];
    owners(part, 28000, 6, &kib);
    assert_true(kib - before >= 1000 && kib - before < 1400); // 4 KiB for each step, more with ASan
    munmap((void *)at, step * steps);
    assert_int_equal(owners(part, 28000, 9, &kib), 0);
    assert_true(owners(part, 41000, 10, &kib) > 0);
    assert_true(owners(part, 41000, 20, &kib) > 0); // 4 % of the memory
    suspects_page_tables_part.destroy(part);
}

static double child_tasks_limit(rlim_t most) {
    const struct rlimit limit = {most, most};
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t child = fork();
    if (!child) {
        setrlimit(RLIMIT_NPROC, &limit);
        (void)!write(ready[1], "", 1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    double found = suspects_tasks_limit(child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    return found;
}

static void tasks_limits(void **state) {
    (void)state;
    assert_true(child_tasks_limit(60) == 60);
    assert_true(isinf(child_tasks_limit(0))); // of a sandbox
    assert_true(isinf(suspects_tasks_limit(0)));
}

static void last_children(void **state) {
    (void)state;
    int32_t pids[2];
    assert_int_equal(suspects_children_last("", pids, 2), 0);
    assert_int_equal(suspects_children_last("7 ", pids, 2), 1);
    assert_int_equal(pids[0], 7);
    assert_int_equal(suspects_children_last("7 8 90 12", pids, 2), 2); // 12 is cut off
    assert_int_equal(pids[0], 90);
    assert_int_equal(pids[1], 8);
}

static void memory_limits(void **state) {
    (void)state;
    char root[] = "/tmp/ktop-suspects-XXXXXX", path[256];
    double limit = 0, used = 0;
    assert_non_null(mkdtemp(root));
    snprintf(path, sizeof(path), "%s/a", root);
    mkdir(path, 0755);
    // v2: the parent has a limit, the cgroup has none.
    file_write(path, "memory.max", "1048576000\n");
    file_write(path, "memory.current", "524288000\n");
    file_write(path, "memory.stat", "anon 1\ninactive_file 104857600\n");
    snprintf(path, sizeof(path), "%s/a/b", root);
    mkdir(path, 0755);
    file_write(path, "memory.max", "max\n");
    assert_true(suspects_memory_limit(root, true, "/a/b", &limit, &used));
    assert_int_equal((int)limit, 1024000);
    assert_int_equal((int)used, 409600);
    assert_false(suspects_memory_limit(root, true, "/", &limit, &used));
    // v1: the limit is in memory.stat; without one it is huge.
    file_write(path, "memory.usage_in_bytes", "10485760\n");
    file_write(path, "memory.stat", "cache 1\nhierarchical_memory_limit 67108864\ntotal_inactive_file 1048576\n");
    assert_true(suspects_memory_limit(root, false, "/a/b", &limit, &used));
    assert_int_equal((int)limit, 65536);
    assert_int_equal((int)used, 9216);
    file_write(path, "memory.stat", "hierarchical_memory_limit 9223372036854771712\n");
    assert_false(suspects_memory_limit(root, false, "/a/b", &limit, &used));
    snprintf(path, sizeof(path), "rm -r %s", root);
    assert_int_equal(system(path), 0);
}

static void cycles(void **state) {
    (void)state;
    assert_int_equal(suspects_lock_cycle((const int[]){1, 0, -1}, 3), 2);
    assert_int_equal(suspects_lock_cycle((const int[]){-1, 2, 3, 1}, 4), 3);
    assert_int_equal(suspects_lock_cycle((const int[]){1, 2, -1, 1}, 4), 0); // a chain
    assert_int_equal(suspects_lock_cycle((const int[]){1, 2, 1}, 3), 2);     // the first one waits for the two
    assert_int_equal(suspects_lock_cycle((const int[]){0}, 1), 0);
    assert_int_equal(suspects_lock_cycle(NULL, 0), 0);
}

static void mount_add(void *context, unsigned minor, const char *path, const char *type, const char *source) {
    char *out = context;
    sprintf(out + strlen(out), "%u %s %s %s; ", minor, path, type, source);
}

static void mounts(void **state) {
    (void)state;
    char out[256] = "", text[] = "22 1 254:0 / / rw - ext4 /dev/vda rw\n"
                                 "30 22 0:45 / /mnt/a rw,nosuid shared:2 - fuse.sshfs box:/x rw,user_id=0\n"
                                 "31 22 0:46 / /sys/fs/fuse/connections rw - fusectl fusectl rw\n"
                                 "32 22 0:47 / /home rw - nfs4 box:/home rw,vers=4.2\n"
                                 "34 22 0:49 / /proc/fs/nfsd rw - nfsd nfsd rw\n"
                                 "33 22 0:48 / /broken rw";
    suspects_mounts_parse(text, mount_add, out);
    assert_string_equal(out, "45 /mnt/a fuse.sshfs box:/x; 47 /home nfs4 box:/home; ");
    assert_true(suspects_waits_for_server("request_wait_answer"));
    assert_true(suspects_waits_for_server("rpc_wait_bit_killable"));
    assert_false(suspects_waits_for_server("do_epoll_wait"));
}

static void jobs(void **state) {
    (void)state;
    const char *shell = "10 (ba)sh) S 1 10 10 34816 10 0", *other = "10 (sh) S 1 10 10 0 -1 0";
    assert_true(suspects_is_job("11 (vi) T 10 11 10 34816 10 0", shell));
    assert_false(suspects_is_job("11 (vi) T 10 11 11 0 -1 0", shell)); // another session
    assert_false(suspects_is_job("11 (vi) T 10 11 10 0 -1 0", other)); // no terminal
    assert_false(suspects_is_job("11 (vi) T 10 11 10 34816 10 0", ""));
}

static void file_locks(void **state) {
    (void)state;
    static const char locks[] = "1: POSIX  ADVISORY  WRITE 100 fe:00:1 0 EOF\n"
                                "1: -> POSIX  ADVISORY  WRITE 101 fe:00:1 0 EOF\n"
                                "1: -> POSIX  ADVISORY  WRITE 102 fe:00:1 0 EOF\n"
                                "2: FLOCK  ADVISORY  WRITE 200 fe:00:2 0 EOF\n";
    uint32_t waiters;
    assert_int_equal(suspects_lock_waiter(locks, 100, &waiters), 101);
    assert_int_equal(waiters, 2);
    assert_int_equal(suspects_lock_waiter(locks, 200, &waiters), 0);
    assert_int_equal(waiters, 0);
    struct suspects_file_lock all[4];
    assert_int_equal(suspects_file_locks_parse(locks, all, 4), 1);
    assert_int_equal(all[0].holder, 100);
    assert_int_equal(all[0].waiter, 101);
    assert_int_equal(all[0].waiters, 2);
    assert_string_equal(all[0].inode, "fe:00:1");
    assert_int_equal(suspects_file_locks_parse("nonsense\n-> x\n", all, 4), 0);
}

static void threads_by_cpu(void **state) {
    (void)state;
    char letter = 0;
    long priority = 0;
    int cpu = -1;
    assert_true(suspects_thread_parse("71 (a ) R 1) R 1 70 70 0 -1 4194368 9 0 0 0 5 6 0 0 20 0 2 0 99 1000 10 "
                                      "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 -1 3 0 0 0 0 0",
                                      &letter, &priority, &cpu));
    assert_int_equal(letter, 'R');
    assert_int_equal(priority, 20);
    assert_int_equal(cpu, 3);
    assert_true(suspects_thread_parse("71 (rt) S 1 70 70 0 -1 4194368 9 0 0 0 5 6 0 0 -51 0 2 0 99 1000 10 "
                                      "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 -1 1 50 1 0 0 0",
                                      &letter, &priority, &cpu));
    assert_int_equal(priority, -51);
    assert_int_equal(cpu, 1);
    assert_false(suspects_thread_parse("71 (cut) S 1 70 70 0 -1 4194368 9 0 0 0", &letter, &priority, &cpu));
    assert_false(suspects_thread_parse("71 (cut)", &letter, &priority, &cpu));
    assert_false(suspects_thread_parse("", &letter, &priority, &cpu));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(futexes),
                                       cmocka_unit_test(cpu_lists),
                                       cmocka_unit_test(reader_writer_locks),
                                       cmocka_unit_test(tracing_files),
                                       cmocka_unit_test(tracing_on),
                                       cmocka_unit_test(cycles),
                                       cmocka_unit_test(turns),
                                       cmocka_unit_test(memory_limits),
                                       cmocka_unit_test(last_children),
                                       cmocka_unit_test(reading_children),
                                       cmocka_unit_test(tasks_limits),
                                       cmocka_unit_test(mounts),
                                       cmocka_unit_test(jobs),
                                       cmocka_unit_test(file_locks),
                                       cmocka_unit_test(threads_by_cpu),
                                       cmocka_unit_test(process_files),
                                       cmocka_unit_test(page_tables)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
