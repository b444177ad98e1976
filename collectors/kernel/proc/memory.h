// The memory of a process that made a system call. Any thread may call.
#ifndef COLLECTORS_KERNEL_MEMORY_H
#define COLLECTORS_KERNEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// How many bytes could be read: 0 when the address or the process is not there.
size_t process_memory_read(int32_t pid, uint64_t address, void *out, size_t size);
// Whether the process itself cannot write there (a program's constants), so that what is read later is what was there
// before. False also where the kernel does not tell of one mapping alone (before Linux 6.11): all of a large process's
// would cost too much. proc: "/proc". Kernel document: Documentation/filesystems/proc.rst, PROCMAP_QUERY.
bool process_memory_is_constant(const char *proc, int32_t pid, uint64_t address, size_t length);

#endif
