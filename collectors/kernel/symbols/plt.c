// PLT names, found by decoding each stub's jump rather than by counting entries: linkers lay out .plt, .plt.sec and
// .plt.got in several ways. x86-64 and arm64.
#include "collectors/kernel/symbols/plt.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define RELOCATIONS_MAX 65536u
#define PLT_BYTES_MAX (4u << 20)
#define STRINGS_MAX (16u << 20)
#define AT_ONCE 256

struct slot { // of the global offset table
    uint64_t address;
    uint32_t symbol;
};

struct slots {
    struct slot *slots;
    size_t n;
};

static int compare_slots(const void *left, const void *right) {
    const struct slot *a = left, *b = right;
    return a->address < b->address ? -1 : a->address > b->address;
}

static void slots_add(const struct elf_file *file, const char *section_name, struct slots *slots) {
    const GElf_Shdr *section = elf_file_section(file, section_name);
    GElf_Rela relocations[AT_ONCE];
    for (size_t at = 0, n; section; at += n) {
        n = elf_file_relocations(file, section, at, relocations, AT_ONCE);
        if (!n || slots->n + n > RELOCATIONS_MAX)
            return;
        slots->slots = xrealloc(slots->slots, (slots->n + n) * sizeof(*slots->slots));
        for (size_t i = 0; i < n; i++)
            if (GELF_R_SYM(relocations[i].r_info))
                slots->slots[slots->n++] =
                    (struct slot){relocations[i].r_offset, (uint32_t)GELF_R_SYM(relocations[i].r_info)};
    }
}

static const struct slot *slot_at(const struct slots *slots, uint64_t address) {
    struct slot key = {.address = address};
    return slots->n ? bsearch(&key, slots->slots, slots->n, sizeof(key), compare_slots) : NULL;
}

struct stub {
    uint64_t start; // offset in the section
    uint64_t slot;  // address
};

// The next stub at or after *at, which moves past it.
static bool next_stub_x86(const uint8_t *code, size_t size, uint64_t address, uint64_t entry, size_t *at,
                          struct stub *out) {
    for (size_t i = *at; i + 6 <= size; i++) {
        if (code[i] != 0xff || code[i + 1] != 0x25) // jmp *displacement(%rip)
            continue;
        int32_t displacement;
        memcpy(&displacement, code + i + 2, sizeof(displacement));
        *out = (struct stub){i - i % entry, address + i + 6 + (uint64_t)(int64_t)displacement};
        *at = i + 6;
        return true;
    }
    return false;
}

static bool next_stub_arm64(const uint8_t *code, size_t size, uint64_t address, size_t *at, struct stub *out) {
    for (size_t i = *at; i + 8 <= size; i += 4) {
        uint32_t adrp, ldr, before = 0;
        memcpy(&adrp, code + i, sizeof(adrp));
        memcpy(&ldr, code + i + 4, sizeof(ldr));
        if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211) // adrp x16; ldr x17, [x16, #n]
            continue;
        uint64_t pages = ((adrp >> 29) & 3) | (((adrp >> 5) & 0x7ffff) << 2);
        pages = (pages ^ (1u << 20)) - (1u << 20); // sign of 21 bits
        if (i >= 4)
            memcpy(&before, code + i - 4, sizeof(before));
        *out = (struct stub){i - (before == 0xd503245f ? 4 : 0), // bti c
                             ((address + i) & ~0xfffull) + (pages << 12) + (((ldr >> 10) & 0xfff) << 3)};
        *at = i + 8;
        return true;
    }
    return false;
}

static void stub_add(const struct elf_file *file, const GElf_Shdr *symbols, const char *strings, size_t strings_size,
                     uint32_t index, const struct symbol_draft *draft, struct symbol_builder *builder) {
    char name[SYMBOL_NAME_MAX];
    GElf_Sym symbol;
    if (elf_file_symbols(file, symbols, index, &symbol, 1) != 1 || symbol.st_name >= strings_size)
        return;
    const char *plain = strings + symbol.st_name;
    size_t length = strnlen(plain, sizeof(name) - 5);
    if (!length)
        return;
    memcpy(name, plain, length);
    memcpy(name + length, "@plt", 5);
    symbol_builder_add(builder, draft, name, length + 4, NULL);
}

static void section_stubs(const struct elf_file *file, const GElf_Shdr *section, const struct slots *slots,
                          const GElf_Shdr *symbols, const char *strings, size_t strings_size,
                          struct symbol_builder *builder) {
    size_t size, at = 0;
    uint8_t *code = elf_file_section_bytes(file, section, PLT_BYTES_MAX, &size);
    uint64_t entry = section->sh_entsize == 8 || section->sh_entsize == 16 ? section->sh_entsize : 16;
    struct stub stub;
    while (code && (file->machine == EM_AARCH64 ? next_stub_arm64(code, size, section->sh_addr, &at, &stub)
                                                : next_stub_x86(code, size, section->sh_addr, entry, &at, &stub))) {
        const struct slot *slot = slot_at(slots, stub.slot);
        uint64_t start = section->sh_addr + stub.start;
        struct symbol_draft draft = {.start = start, .end = start + entry};
        if (slot)
            stub_add(file, symbols, strings, strings_size, slot->symbol, &draft, builder);
    }
    free(code);
}

void plt_symbols(const struct elf_file *file, struct symbol_builder *builder) {
    static const char *const sections[] = {".plt", ".plt.sec", ".plt.got"};
    const GElf_Shdr *symbols = elf_file_section(file, ".dynsym");
    if (!symbols || symbols->sh_link >= file->n_sections || (file->machine != EM_X86_64 && file->machine != EM_AARCH64))
        return;
    size_t strings_size;
    char *strings = (char *)elf_file_section_bytes(file, &file->sections[symbols->sh_link], STRINGS_MAX, &strings_size);
    if (!strings)
        return;
    strings[strings_size - 1] = '\0';
    struct slots slots = {0};
    slots_add(file, ".rela.plt", &slots);
    slots_add(file, ".rela.dyn", &slots);
    if (slots.n)
        qsort(slots.slots, slots.n, sizeof(*slots.slots), compare_slots);
    for (size_t i = 0; slots.n && i < sizeof(sections) / sizeof(*sections); i++) {
        const GElf_Shdr *section = elf_file_section(file, sections[i]);
        if (section)
            section_stubs(file, section, &slots, symbols, strings, strings_size, builder);
    }
    free(slots.slots);
    free(strings);
}
