// Source lines and inline frames of an address, from DWARF. Reading debug info takes time and memory: only the thread
// of the service does it, for what is asked for. Document: DWARF 5, sections 2.17, 3.3.8 and 6.2.
#ifndef COLLECTORS_SYMBOLS_LINES_H
#define COLLECTORS_SYMBOLS_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/kernel/symbols/symbols.h"

struct lines;

// Copies the debug info of an ELF file; the caller may close the descriptor afterwards. NULL: the file has none, or
// `*reason` (static) says why it is not used.
struct lines *lines_open(int fd, uint64_t size, const char **reason);
void lines_close(struct lines *lines); // NULL is allowed
uint64_t lines_bytes(const struct lines *lines);
// The line of the instruction at an address; for many in a row. *file lives as long as `lines`. False: not covered.
bool lines_row(struct lines *lines, uint64_t address, const char **file, uint32_t *line);
// The function at the address, preceded by those that are inlined there, the innermost first; false: not covered.
bool lines_find(struct lines *lines, uint64_t address, struct symbols_source *out);

#endif
