// Functions of a stripped file: unwind tables say where each begins, not its name. So samples of one function are one
// node, and not one for each address. Document: Linux Standard Base, 10.6.2 (.eh_frame_hdr).
#ifndef COLLECTORS_SYMBOLS_FUNCTIONS_H
#define COLLECTORS_SYMBOLS_FUNCTIONS_H

#include "collectors/kernel/symbols/elf_file.h"
#include "collectors/kernel/symbols/table.h"

// Adds functions without names, of lower rank than all symbols.
void unnamed_functions_add(const struct elf_file *file, struct symbol_builder *builder);
// Where the code that holds the address ends; 0: it is not in code.
uint64_t functions_end_of_code(const struct elf_file *file, uint64_t address);

#endif
