// Code of the running kernel, from /proc/kcore: what the CPUs execute, patched as it is. Needs CAP_SYS_RAWIO; a locked
// down kernel refuses it.
#ifndef COLLECTORS_SYMBOLS_KCORE_H
#define COLLECTORS_SYMBOLS_KCORE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Bytes read, or -errno; *machine: of the ELF header. `path`: "/proc/kcore", or a test's.
ssize_t kcore_read(const char *path, uint64_t address, uint8_t *out, size_t size, uint16_t *machine);

#endif
