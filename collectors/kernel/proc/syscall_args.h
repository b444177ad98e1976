// The arguments of the usual system calls, one letter each:
//
// d directory descriptor, f descriptor, p path, O open flags, o mode, i integer, u size, x bits or address,
// P protection, M map flags, F futex operation, S signal, E epoll operation, C fcntl command, T timespec, a clock flags
// (TIMER_ABSTIME makes the T after it an absolute time), W whence
//
// No state: any thread.
#ifndef COLLECTORS_KERNEL_SYSCALL_ARGS_H
#define COLLECTORS_KERNEL_SYSCALL_ARGS_H

#include <stdbool.h>

// NULL: not in the table.
const char *syscall_arg_kinds(const char *name);
// Index of the argument that names the file a call works on, a path or a descriptor; -1: it has none.
int syscall_file_arg(const char *name, bool *is_path);

#endif
