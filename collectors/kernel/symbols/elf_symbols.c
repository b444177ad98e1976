// Symbols of code are a part of a symbol table, and their names are spread over a string table that can be larger than
// all memory that ktop may use: drafts first, then the names in the order in which the file has them, through a window.
#include "collectors/kernel/symbols/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define AT_ONCE 512
#define WINDOW (256u << 10)
#define WHOLE (4u << 20)       // a string table up to this size is read at once
#define ENTRIES_MAX (8u << 20) // of a symbol table that are looked at

// Of symbols at one address: functions before labels, sized before unsized, global before weak before local, fewer
// leading underscores first (added when the name is known).
static uint32_t rank_of(const GElf_Sym *symbol) {
    unsigned type = GELF_ST_TYPE(symbol->st_info), bind = GELF_ST_BIND(symbol->st_info);
    uint32_t binding = bind == STB_LOCAL ? 0 : bind == STB_WEAK ? 1 : 2;
    return (uint32_t)(type != STT_NOTYPE) << 20 | (uint32_t)(symbol->st_size != 0) << 19 | binding << 16;
}

static bool is_code(const struct elf_file *file, const GElf_Sym *symbol, struct symbol_draft *draft) {
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE)
        return false;
    if (!symbol->st_name || symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= file->n_sections)
        return false;
    const GElf_Shdr *section = &file->sections[symbol->st_shndx];
    if (!(section->sh_flags & SHF_EXECINSTR) || symbol->st_value - section->sh_addr >= section->sh_size ||
        section->sh_addr + section->sh_size < section->sh_addr)
        return false;
    *draft = (struct symbol_draft){.start = symbol->st_value,
                                   .limit = section->sh_addr + section->sh_size,
                                   .rank = rank_of(symbol),
                                   .name = symbol->st_name};
    uint64_t room = draft->limit - draft->start;
    if (symbol->st_size)
        draft->end = draft->start + (symbol->st_size < room ? symbol->st_size : room);
    return true;
}

static int compare_names(const struct symbol_draft *a, const struct symbol_draft *b) {
    return a->name < b->name ? -1 : a->name > b->name;
}

// The name in the window: "memcpy@@GLIBC_2.14" without its version. false: not a name to show.
static bool name_of(const char *bytes, size_t size, size_t *length) {
    *length = strnlen(bytes, size < SYMBOL_NAME_MAX ? size : SYMBOL_NAME_MAX);
    const char *version = *length > 1 ? memchr(bytes + 1, '@', *length - 1) : NULL;
    if (version)
        *length = (size_t)(version - bytes);
    return *length != 0;
}

// Gives the drafts from `first` on their names; those without one are removed.
static void read_names(const struct elf_file *file, const GElf_Shdr *strings, uint32_t first,
                       struct symbol_builder *builder) {
    bool whole = strings->sh_size <= WHOLE; // in no order, then
    size_t room = whole ? (size_t)strings->sh_size : WINDOW, size = 0;
    char *window = xmalloc(room + 1);
    uint64_t start = 0;
    uint32_t kept = first;
    if (whole) {
        ssize_t got = elf_file_read_some(file, strings->sh_offset, window, room);
        size = got > 0 ? (size_t)got : 0;
        window[size] = '\0';
    }
    for (uint32_t i = first; i < builder->count; i++) {
        struct symbol_draft draft = builder->drafts[i];
        if (draft.name >= strings->sh_size)
            continue;
        if (!whole && (!size || draft.name < start ||
                       (draft.name - start + SYMBOL_NAME_MAX > size && start + size < strings->sh_size))) {
            uint64_t left = strings->sh_size - draft.name;
            start = draft.name;
            ssize_t got = elf_file_read_some(file, strings->sh_offset + start, window, left < room ? left : room);
            size = got > 0 ? (size_t)got : 0;
            window[size] = '\0';
        }
        size_t at = draft.name - start, length;
        if (at >= size || !name_of(window + at, size - at, &length) || symbol_is_mapping(window + at, length))
            continue;
        size_t underscores = strspn(window + at, "_");
        draft.rank |= 255 - (uint32_t)(underscores < 255 ? underscores : 255);
        draft.name = symbol_builder_name(builder, window + at, length, NULL);
        if (draft.name == UINT32_MAX)
            break;
        builder->drafts[kept++] = draft;
    }
    builder->count = kept;
    free(window);
}

size_t elf_symbols_add(const struct elf_file *file, const char *name, struct symbol_builder *builder) {
    const GElf_Shdr *section = elf_file_section(file, name);
    if (!section || section->sh_link >= file->n_sections)
        return 0;
    GElf_Sym symbols[AT_ONCE];
    struct symbol_draft draft;
    uint32_t first = builder->count;
    bool room = true;
    for (size_t at = 0, n = 1; n && room && at < ENTRIES_MAX; at += n) {
        n = elf_file_symbols(file, section, at, symbols, AT_ONCE);
        for (size_t i = 0; i < n && room; i++)
            if (is_code(file, &symbols[i], &draft))
                room = symbol_builder_draft(builder, &draft);
    }
    const GElf_Shdr *strings = &file->sections[section->sh_link];
    if (builder->count > first && strings->sh_size > WHOLE)
        symbol_drafts_sort(builder->drafts + first, builder->count - first, compare_names);
    if (strings->sh_type == SHT_NOBITS || strings->sh_offset > file->source.size)
        builder->count = first;
    else
        read_names(file, strings, first, builder);
    return builder->count - first;
}
