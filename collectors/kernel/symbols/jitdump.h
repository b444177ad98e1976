// jitdump records: code that was loaded or moved. Document: tools/perf/Documentation/jitdump-specification.txt.
#ifndef COLLECTORS_SYMBOLS_JITDUMP_H
#define COLLECTORS_SYMBOLS_JITDUMP_H

#include "collectors/kernel/symbols/perf_map.h"

// As jit_file_read().
bool jitdump_read(struct jit_file *file, int fd, struct symbol_builder *builder, uint32_t *rank);

// Bytes of the code that was loaded at the address: how many, or -errno.
ssize_t jitdump_code(int fd, uint64_t address, uint8_t *out, size_t size);

#endif
