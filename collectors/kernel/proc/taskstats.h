// taskstats: the kernel's per-task accounting over netlink (Documentation/accounting/taskstats.rst). Two uses: a
// message for every task that ends (so that none is missed, however short it lived), and questions in batches, cheaper
// than any file of /proc. One thread owns a struct taskstats. Needs CAP_NET_ADMIN and the first PID namespace.
#ifndef COLLECTORS_TASKSTATS_H
#define COLLECTORS_TASKSTATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct taskstats_link;

// What one task, or a whole process, has used since its start. Of a process the kernel gives only CPU time, run delay
// and switches: has_all is false and the rest is 0.
struct task_account {
    bool group; // of the whole process with all threads that it ever had
    bool has_all;
    bool has_tgid; // the kernel says which process a thread belongs to (5.19 and later)
    bool last;     // an ending: the last thread of its process
    bool forked;   // it never called exec: true of every thread
    pid_t pid, tgid, ppid;
    uid_t uid;
    uint32_t exit_code;
    int8_t nice;
    uint64_t begin_s; // wall clock
    uint64_t elapsed_us;
    uint64_t cpu_ns;             // exact
    uint64_t utime_us, stime_us; // sampled by the tick: good for the share of each
    uint64_t runs, run_delay_ns; // how often it got a CPU, and how long it waited for one
    uint64_t switches, minflt, majflt, read_bytes, write_bytes;
    char comm[33];
};

// 0 or -errno with a plain reason and a fix.
int taskstats_open(struct taskstats_link **out, const char **reason, const char **fix);
void taskstats_close(struct taskstats_link *link);

// Starts to listen to endings on every possible CPU: 0 or -errno.
int taskstats_listen(struct taskstats_link *link);

typedef void taskstats_fn(void *context, const struct task_account *account);
// Hands over the endings that are waiting. A process of several threads gives one message per thread and, with the
// last, one for the group. Returns how often the kernel had to drop some since the last call, or -errno.
int taskstats_endings(struct taskstats_link *link, taskstats_fn *fn, void *context);

// Asks for up to TASKSTATS_BATCH tasks at once; fn is called in order with each answer, NULL context account when the
// task is gone. group: of whole processes. 0 or -errno.
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
