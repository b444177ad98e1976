// Reading the files of one task below a /proc (a test gives its own directory). One thread owns a struct proc_root.
#ifndef COLLECTORS_TASKS_READ_H
#define COLLECTORS_TASKS_READ_H

#include "collectors/kernel/proc/task_parse.h"
#include "collectors/tasks/set.h"

struct proc_root {
    int fd;
    char *buffer; // of PROC_BUFFER bytes: what the last read gave
};
#define PROC_BUFFER 32768

int proc_open(struct proc_root *proc, const char *path); // 0 or -errno
void proc_close(struct proc_root *proc);
// Into proc->buffer, at most PROC_BUFFER bytes; the length or -errno. `path` is relative to the root.
ssize_t proc_read(struct proc_root *proc, const char *path);
// A file of the task: of the process, or of the thread when it is one.
ssize_t task_file(struct proc_root *proc, const struct task *task, const char *file);
// Calls fn for each numeric name in a directory below the root; 0 or -errno.
int proc_list(struct proc_root *proc, const char *path, void (*fn)(void *context, pid_t id), void *context);

int task_read_stat(struct proc_root *proc, const struct task *task, struct task_stat *out);
// Fill in the counters that the file has, and set their bits in counters->have.
void task_read_io(struct proc_root *proc, struct task *task, struct task_counters *counters);
int task_read_schedstat(struct proc_root *proc, const struct task *task, struct task_counters *counters);
void task_read_switches(struct proc_root *proc, const struct task *task, struct task_counters *counters);
void task_read_migrations(struct proc_root *proc, const struct task *task, struct task_counters *counters);
void task_counters_stat(struct task_counters *counters, const struct task_stat *stat);
void task_read_user(struct proc_root *proc, struct names *names, struct task *task);
// Its identity: effective user, command line, cgroup, network namespace. comm comes from its stat and must be set.
void task_read_names(struct proc_root *proc, struct names *names, struct task *task);
void task_read_group(struct proc_root *proc, struct names *names, struct task *task); // only the last two

#endif
