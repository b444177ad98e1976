// taskstats: the kernel's per-task accounting over netlink (Documentation/accounting/taskstats.rst). Two uses: a
// message for every exiting task (so that short-lived ones are not missed), and queries in batches, cheaper
// than any file of /proc. One thread owns a struct taskstats. Needs CAP_NET_ADMIN and the first PID namespace.
#ifndef COLLECTORS_TASKSTATS_H
#define COLLECTORS_TASKSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct taskstats_link;

// The usage of one task, or of a process, since its start. For a process the kernel reports only CPU time, run delay
// and switches: has_all is false and the rest is 0.
struct task_account {
    bool group; // of the whole process with all threads that it ever had
    bool has_all;
    bool has_tgid; // the kernel reports the thread's process (5.19 and later)
    bool last;     // exit of the last thread of its process
    bool forked;   // it never called exec: true of every thread
    pid_t pid, tgid, ppid;
    uid_t uid;
    uint32_t exit_code;
    int8_t nice;
    uint64_t begin_s; // wall clock
    uint64_t elapsed_us;
    uint64_t cpu_ns;             // exact
    uint64_t utime_us, stime_us; // sampled by the tick: only their ratio is exact enough
    uint64_t runs, run_delay_ns; // times scheduled in, and total run-queue latency
    uint64_t switches, minflt, majflt, read_bytes, write_bytes;
    uint64_t rss_max_kib; // largest resident memory of its address space; 0: unknown
    char comm[33];
};

// 0 or -errno with a plain reason and a fix.
int taskstats_open(struct taskstats_link **out, const char **reason, const char **fix);
void taskstats_close(struct taskstats_link *link);

// Registers for exit messages of every possible CPU: 0 or -errno.
int taskstats_listen(struct taskstats_link *link);

typedef void taskstats_fn(void *context, const struct task_account *account);
int taskstats_listen_fd(const struct taskstats_link *link); // readable: exits are pending; -1: not registered
// Delivers the pending exit messages. A process with several threads has one per thread and, with the last, one for the
// group. Returns how often the kernel dropped messages since the last call, or -errno.
int taskstats_endings(struct taskstats_link *link, taskstats_fn *fn, void *context);

// Queries up to TASKSTATS_BATCH tasks at once; fn is called in order with each reply, with a NULL account if the task
// is gone. group: whole processes. 0 or -errno.
#define TASKSTATS_BATCH 64
struct taskstats_question {
    pid_t pid;
    bool group;
};
typedef void taskstats_answer_fn(void *context, size_t i, const struct task_account *account);
int taskstats_ask(struct taskstats_link *link, const struct taskstats_question *questions, size_t n,
                  taskstats_answer_fn *fn, void *context);

// ---- the bytes, for tests ----
// A struct taskstats of any version: by its own version and size. 0 or -EINVAL.
int taskstats_parse(const void *bytes, size_t size, struct task_account *out);
// The payload of one generic netlink message (past its header): fn for every account inside; returns how many.
int taskstats_message(const void *bytes, size_t size, taskstats_fn *fn, void *context);

#endif
