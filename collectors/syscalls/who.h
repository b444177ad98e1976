// Who a thread is, from /proc: its process, whether the user wants to see it, whose table of numbers its program uses,
// and the call that it is in. One thread owns it; the functions without it may be called by any.
#ifndef COLLECTORS_SYSCALLS_WHO_H
#define COLLECTORS_SYSCALLS_WHO_H

#include "collectors/collector.h"
#include "collectors/syscalls/pair.h"

struct syscalls_who {
    const char *proc; // "/proc", or a forged one in tests; NULL where it has other numbers than the events
    const struct collect_options *options;
};

// As the hooks of struct syscalls_hooks, with a struct syscalls_who as ctx.
void syscalls_who_identify(void *ctx, int32_t tid, struct syscalls_process *process, char *comm);
enum syscalls_abi syscalls_who_abi(void *ctx, int32_t pid);
// -p or -u was given.
bool syscalls_who_filters(const struct syscalls_who *who);

// The call that a thread waits in: 0, -ENOENT when it is in none or runs, or another -errno. Kernel document:
// Documentation/filesystems/proc.rst, /proc/PID/syscall.
int syscalls_who_call(const struct syscalls_who *who, int32_t tid, int32_t *id, uint64_t args[6]);

// All threads of the machine, some at a time.
struct syscalls_scan;
struct syscalls_scan *syscalls_scan_new(const struct syscalls_who *who);
void syscalls_scan_free(struct syscalls_scan *scan);
int32_t syscalls_scan_next(struct syscalls_scan *scan); // 0: that was all

#endif
