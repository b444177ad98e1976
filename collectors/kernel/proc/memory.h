// Memory of another process. No state: any thread.
#ifndef COLLECTORS_KERNEL_MEMORY_H
#define COLLECTORS_KERNEL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The number of bytes read; 0: no such address or process.
size_t process_memory_read(int32_t pid, uint64_t address, void *out, size_t size);
// Whether the mapping is read-only for the process (constants): a later read then returns the same bytes. False also
// before Linux 6.11, which cannot query a single mapping: reading all of them is too expensive.
// proc: "/proc". Kernel document: Documentation/filesystems/proc.rst, PROCMAP_QUERY.
bool process_memory_is_constant(const char *proc, int32_t pid, uint64_t address, size_t length);

#endif
