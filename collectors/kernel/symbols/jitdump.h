// jitdump records: code that was loaded or moved. Document: tools/perf/Documentation/jitdump-specification.txt.
#ifndef COLLECTORS_SYMBOLS_JITDUMP_H
#define COLLECTORS_SYMBOLS_JITDUMP_H

#include "collectors/kernel/symbols/perf_map.h"

// As jit_file_read().
bool jitdump_read(struct jit_file *file, int fd, struct symbol_builder *builder, uint32_t *rank);

#endif
