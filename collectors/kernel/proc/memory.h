// Memory of another process. No state: any thread.
#ifndef COLLECTORS_KERNEL_MEMORY_H
#define COLLECTORS_KERNEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The number of bytes read; 0: no such address or process.
size_t process_memory_read(int32_t pid, uint64_t address, void *out, size_t size);
// Whether the process cannot write there (constants), so that a later read gives what was there before. False also
// where the kernel cannot be queried for a single mapping (before Linux 6.11): reading all of them would cost too much.
// proc: "/proc". Kernel document: Documentation/filesystems/proc.rst, PROCMAP_QUERY.
bool process_memory_is_constant(const char *proc, int32_t pid, uint64_t address, size_t length);

#endif
