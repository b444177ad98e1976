// The system call that a thread is in, from /proc/TID/syscall. No state: any thread.
// Kernel document: Documentation/filesystems/proc.rst.
#ifndef COLLECTORS_KERNEL_SYSCALL_H
#define COLLECTORS_KERNEL_SYSCALL_H

#include <stdbool.h>
#include <stdint.h>

struct proc_syscall {
    int64_t nr; // -1: none
    uint64_t args[6];
    bool is_32;   // of a 32-bit program, by its addresses: nr is of that table
    bool running; // running or runnable
};
// proc: "/proc", or a test's. 0 or -errno. nr is -1 if the thread runs or is in no call, as kernel threads always are.
int proc_syscall_read(const char *proc, int32_t tid, struct proc_syscall *out);

#endif
