// Every entry of an ELF symbol table with its name as it stands there, aliases and IFUNCs included: for choosing
// functions by name. For names of addresses see elf_symbols.h.
#ifndef COLLECTORS_SYMBOLS_ELF_NAMES_H
#define COLLECTORS_SYMBOLS_ELF_NAMES_H

#include "collectors/kernel/symbols/elf_file.h"

// `table`: ".symtab", ".dynsym". Returns the string table, which the names point into and the caller frees; NULL: the
// file has no such table.
typedef void elf_name_fn(void *context, const GElf_Sym *symbol, const char *name);
char *elf_names_each(const struct elf_file *elf, const char *table, elf_name_fn *fn, void *context);
// The offset in the file at which an address is; `code`: of an executable segment.
bool elf_offset(const struct elf_file *elf, uint64_t address, bool code, uint64_t *offset);
// A return probe replaces the return address on the stack; Go's runtime finds it there when it moves a stack, and ends
// the program.
bool elf_is_go(const struct elf_file *elf);

#endif
