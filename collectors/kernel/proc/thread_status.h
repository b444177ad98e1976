// A thread's status and cgroup, from /proc/TID/status and /proc/TID/cgroup. No state: any thread.
// Kernel document: Documentation/filesystems/proc.rst.
#ifndef COLLECTORS_KERNEL_THREAD_STATUS_H
#define COLLECTORS_KERNEL_THREAD_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct thread_status {
    int32_t pid, parent; // of the process; pid: the thread itself where the file has none
    uid_t user;          // real; -1: unknown
    char name[32];
};

// proc: "/proc", or a test's. False: the thread is gone, or hidden.
bool thread_status_read(const char *proc, int32_t tid, struct thread_status *out);

// The cgroup in the v1 hierarchy of that controller where there is one, else in v2. False, and "": unknown.
bool thread_cgroup(const char *proc, int32_t tid, const char *controller, char *out, size_t size);

#endif
