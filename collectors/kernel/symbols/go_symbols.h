// The functions of a Go program from the table that its runtime uses itself (.gopclntab): it stays when symbols are
// stripped. Formats of Go 1.2, 1.16, 1.18 and 1.20 on: Go's src/runtime/symtab.go, src/debug/gosym/pclntab.go.
#ifndef COLLECTORS_SYMBOLS_GO_SYMBOLS_H
#define COLLECTORS_SYMBOLS_GO_SYMBOLS_H

#include "collectors/kernel/symbols/elf_file.h"
#include "collectors/kernel/symbols/table.h"

// Adds what the file has; nothing if it is not a Go program, or its table is malformed.
void go_symbols_add(const struct elf_file *file, struct symbol_builder *builder);

#endif
