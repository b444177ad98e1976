// The debug sections of an ELF file as an ELF file in memory, for libdw.
#ifndef COLLECTORS_SYMBOLS_DEBUG_IMAGE_H
#define COLLECTORS_SYMBOLS_DEBUG_IMAGE_H

#include "collectors/kernel/symbols/elf_file.h"

#define DEBUG_BYTES_MAX ((uint64_t)64 << 20) // of debug sections, unpacked
#define DEBUG_TOO_LARGE "its debug info is larger than 64 MiB"
#define DEBUG_DAMAGED "its debug info is damaged"

// Owned by the caller. NULL: no debug info, or one of the reasons above.
uint8_t *debug_image(const struct elf_source *source, uint64_t *size, const char **reason);

#endif
