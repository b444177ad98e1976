// Fuzzer: any bytes as the function table of a Go program (.gopclntab), as symbols and as frames.
#include <stdlib.h>

#include "collectors/kernel/symbols/go_symbols.h"
#include "collectors/kernel/unwind/go_frames.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char *names[] = {"", ".text", ".gopclntab"};
    GElf_Shdr sections[] = {{0}, {.sh_addr = 0x401000}, {.sh_size = size, .sh_type = SHT_PROGBITS}};
    GElf_Phdr segment = {.p_type = PT_LOAD, .p_flags = PF_X, .p_vaddr = 0x400000, .p_filesz = 0x100000};
    struct elf_file file = {.source = {.fd = -1, .bytes = data, .size = size},
                            .is64 = true,
                            .encoding = ELFDATA2LSB,
                            .sections = sections,
                            .section_names = names,
                            .n_sections = 3,
                            .segments = &segment,
                            .n_segments = 1};
    struct symbol_builder builder = {0};
    go_symbols_add(&file, &builder);
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
    for (uint32_t i = 0; i < table->count; i++) {
        const struct symbol *symbol = &table->symbols[i];
        if (symbol->start < 0x400000 || symbol->start + symbol->size > 0x500000 || symbol->name >= table->names_size)
            abort();
    }
    symbol_table_free(table);
    struct unwind_object object = {.memory = data, .size = size};
    struct unwind_file code = {.object = &object};
    struct unwind_go_frame frame;
    if (unwind_go_open(&code, 0, size, 0x401000))
        for (uint64_t address = 0x400ff0; address < 0x401100; address += 5)
            unwind_go_find(&code, address, &frame);
    return 0;
}
