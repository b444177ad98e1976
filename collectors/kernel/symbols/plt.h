// Names of the stubs through which a program calls functions of other objects: "read@plt". No symbol table has them;
// each stub jumps through a slot of the global offset table, and the slot's relocation has the name.
#ifndef COLLECTORS_SYMBOLS_PLT_H
#define COLLECTORS_SYMBOLS_PLT_H

#include "collectors/kernel/symbols/elf_file.h"
#include "collectors/kernel/symbols/table.h"

void plt_symbols(const struct elf_file *file, struct symbol_builder *builder);

#endif
