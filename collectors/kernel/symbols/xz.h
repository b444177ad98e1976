// MiniDebugInfo (.gnu_debugdata): an ELF file packed by xz.
#ifndef COLLECTORS_SYMBOLS_XZ_H
#define COLLECTORS_SYMBOLS_XZ_H

#include <stddef.h>
#include <stdint.h>

#define XZ_OUTPUT_MAX ((size_t)64 << 20)
#define XZ_MEMORY_MAX ((uint64_t)32 << 20) // of the decoder: rpm packs with 9 MiB

// The unpacked bytes, owned by the caller. NULL: damaged, or over a limit.
uint8_t *xz_unpack(const uint8_t *bytes, size_t size, size_t *unpacked);

#endif
