// Names of an ELF symbol table; see the header.
#include "collectors/kernel/symbols/elf_names.h"

#include <stdlib.h>

#define AT_ONCE 512
#define ENTRIES_MAX (4u << 20)   // of a symbol table
#define STRINGS_MAX (256u << 20) // bytes of its names

char *elf_names_each(const struct elf_file *elf, const char *table, elf_name_fn *fn, void *context) {
    const GElf_Shdr *section = elf_file_section(elf, table);
    GElf_Sym symbols[AT_ONCE];
    size_t size = 0;
    if (!section || section->sh_link >= elf->n_sections)
        return NULL;
    char *bytes = (char *)elf_file_section_bytes(elf, &elf->sections[section->sh_link], STRINGS_MAX, &size);
    if (!bytes || !size) {
        free(bytes);
        return NULL;
    }
    bytes[size - 1] = '\0';
    for (size_t at = 0, n = 1; n && at < ENTRIES_MAX; at += n) {
        n = elf_file_symbols(elf, section, at, symbols, AT_ONCE);
        for (size_t i = 0; i < n; i++)
            if (symbols[i].st_name && symbols[i].st_name < size)
                fn(context, &symbols[i], bytes + symbols[i].st_name);
    }
    return bytes;
}

bool elf_offset(const struct elf_file *elf, uint64_t address, bool code, uint64_t *offset) {
    for (size_t i = 0; i < elf->n_segments; i++) {
        const GElf_Phdr *segment = &elf->segments[i];
        if (segment->p_type != PT_LOAD || address < segment->p_vaddr ||
            address - segment->p_vaddr >= segment->p_memsz || (code && !(segment->p_flags & PF_X)))
            continue;
        *offset = address - segment->p_vaddr + segment->p_offset;
        return true;
    }
    return false;
}

bool elf_is_go(const struct elf_file *elf) {
    return elf_file_section(elf, ".gopclntab") || elf_file_section(elf, ".note.go.buildid") ||
           elf_file_section(elf, ".data.rel.ro.gopclntab");
}
