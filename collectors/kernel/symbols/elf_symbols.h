// Functions of an ELF symbol table.
#ifndef COLLECTORS_SYMBOLS_ELF_SYMBOLS_H
#define COLLECTORS_SYMBOLS_ELF_SYMBOLS_H

#include "collectors/kernel/symbols/elf_file.h"
#include "collectors/kernel/symbols/table.h"

// Adds the functions of `section` (".symtab", ".dynsym"); how many.
size_t elf_symbols_add(const struct elf_file *file, const char *section, struct symbol_builder *builder);

#endif
