// Parsers of the /proc files of tasks. Formats: Documentation/filesystems/proc.rst. Pure functions on
// bytes: any thread, no kernel. A name (comm) may hold any byte, ')' and newlines included.
#ifndef COLLECTORS_KERNEL_TASK_PARSE_H
#define COLLECTORS_KERNEL_TASK_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define TASK_COMM_MAX 64         // /proc shows up to 63 bytes: a kworker's name is longer than the 15 of its comm
#define TASK_EXITING 0x00000004u // PF_EXITING in `flags`
#define TASK_KTHREAD 0x00200000u // PF_KTHREAD in `flags`

struct task_stat {
    char comm[TASK_COMM_MAX];
    uint8_t comm_len;
    char state;
    pid_t pid, ppid;
    uint32_t flags;
    uint64_t minflt, majflt;
    uint64_t utime, stime; // clock ticks (USER_HZ)
    uint64_t children;     // their sum for waited-for children, recursively
    int32_t priority, nice;
    uint32_t threads;
    uint64_t start; // clock ticks since boot; identifies a task together with the PID
    uint64_t vsize; // bytes
    uint64_t rss;   // pages
    int32_t cpu;    // where it last ran
};
// /proc/PID/stat: 0 or -EINVAL.
int task_stat_parse(const char *bytes, size_t len, struct task_stat *out);

struct task_status {
    pid_t tgid;
    uid_t uid;         // effective
    uint64_t switches; // voluntary and not, of this one thread
};
int task_status_parse(const char *bytes, size_t len, struct task_status *out);

struct task_io {
    uint64_t read_bytes, write_bytes;
};
int task_io_parse(const char *bytes, size_t len, struct task_io *out);

struct task_schedstat {
    uint64_t cpu_ns, run_delay_ns; // of this one thread
};
int task_schedstat_parse(const char *bytes, size_t len, struct task_schedstat *out);

// The number of migrations out of /proc/PID/sched.
int task_sched_parse(const char *bytes, size_t len, uint64_t *migrations);

// The most specific cgroup: v2's unless it is the root, then v1's memory cgroup, then any that is not the root. But
// v1's cpu cgroup is preferred unless it is the root, the same cgroup or an ancestor: a cgroup with a CPU limit is then
// the task's own or an ancestor. Points into bytes. False without any line.
bool task_cgroup_parse(const char *bytes, size_t len, const char **path, size_t *path_len);

// argv as one line: arguments parted by spaces, trailing NULs and spaces off. Works in place; the new length.
size_t task_cmdline_join(char *bytes, size_t len);

struct host_stat {
    uint64_t busy; // clock ticks of all CPUs spent in tasks: user, nice, system
    uint64_t forks;
    uint64_t switches; // of all CPUs since boot; 0: missing
};
int host_stat_parse(const char *bytes, size_t len, struct host_stat *out);

struct host_load {
    uint64_t threads; // that exist on the whole host
    pid_t last_pid;   // the last one allocated in the reader's PID namespace
};
int host_load_parse(const char *bytes, size_t len, struct host_load *out);

#endif
