// Reading of .eh_frame_hdr, in the one encoding that linkers write: a sorted table of 32-bit offsets from its own
// address.
#include "collectors/kernel/symbols/functions.h"

#include <string.h>

#define ENCODED_POINTER 0x1b // DW_EH_PE_pcrel | DW_EH_PE_sdata4
#define ENCODED_COUNT 0x03   // DW_EH_PE_udata4
#define ENCODED_TABLE 0x3b   // DW_EH_PE_datarel | DW_EH_PE_sdata4
#define ENTRIES_AT_ONCE 1024
#define CODE_SEGMENTS 4

struct header {
    uint8_t version, pointer, count_encoding, table;
    int32_t eh_frame;
    uint32_t count;
};

struct entry {
    int32_t start, description; // from the section's address
};

uint64_t functions_end_of_code(const struct elf_file *file, uint64_t address) {
    unsigned looked_at = 0;
    for (size_t i = 0; i < file->n_segments && looked_at < CODE_SEGMENTS; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X))
            continue;
        looked_at++;
        if (address - segment->p_vaddr < segment->p_filesz)
            return segment->p_vaddr + segment->p_filesz;
    }
    return 0;
}

void unnamed_functions_add(const struct elf_file *file, struct symbol_builder *builder) {
    const GElf_Phdr *segment = NULL;
    for (size_t i = 0; i < file->n_segments && !segment; i++)
        if (file->segments[i].p_type == PT_GNU_EH_FRAME)
            segment = &file->segments[i];
    struct header header;
    bool native = file->encoding == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
    if (!segment || !native || !elf_file_read(file, segment->p_offset, &header, sizeof(header)) ||
        header.version != 1 || header.pointer != ENCODED_POINTER || header.count_encoding != ENCODED_COUNT ||
        header.table != ENCODED_TABLE)
        return;
    uint32_t name = symbol_builder_name(builder, "", 0, NULL);
    struct entry entries[ENTRIES_AT_ONCE];
    for (uint32_t at = 0, n; at < header.count && name != UINT32_MAX; at += n) {
        n = header.count - at < ENTRIES_AT_ONCE ? header.count - at : ENTRIES_AT_ONCE;
        if (!elf_file_read(file, segment->p_offset + sizeof(header) + (uint64_t)at * sizeof(*entries), entries,
                           n * sizeof(*entries)))
            return;
        for (uint32_t i = 0; i < n; i++) {
            struct symbol_draft draft = {.start = segment->p_vaddr + (uint64_t)(int64_t)entries[i].start, .name = name};
            draft.limit = functions_end_of_code(file, draft.start);
            if (draft.limit && !symbol_builder_draft(builder, &draft))
                return;
        }
    }
}
