// A copy of debug sections; see the header. libdw trusts its input more than ktop can: some versions read a string to
// its NUL without a look at the end of the section, and the file can change while it is read. So it gets a copy, each
// section unpacked and followed by zeros, and only what line lookup needs.
#include "collectors/kernel/symbols/debug_image.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "model/mem.h"

#define PADDING 64
#ifndef ELFCOMPRESS_ZSTD // elf.h of 2022
#define ELFCOMPRESS_ZSTD 2
#endif

static const char *const wanted[] = {".debug_info",        ".debug_abbrev",  ".debug_line",    ".debug_line_str",
                                     ".debug_str",         ".debug_addr",    ".debug_aranges", ".debug_ranges",
                                     ".debug_str_offsets", ".debug_rnglists"};
#define WANTED (sizeof(wanted) / sizeof(*wanted))
#define SECTIONS (WANTED + 2) // section 0 and the names

struct part {
    const GElf_Shdr *section; // NULL: the file has none
    Elf64_Chdr packed;        // ch_type 0: it is not
    uint64_t size;            // unpacked
};

static bool find_parts(const struct elf_file *file, struct part *parts, const char **reason) {
    uint64_t total = 0;
    for (size_t i = 0; i < WANTED; i++) {
        struct part *part = &parts[i];
        part->section = elf_file_section(file, wanted[i]);
        if (part->section && part->section->sh_type == SHT_NOBITS)
            part->section = NULL;
        if (!part->section)
            continue;
        part->size = part->section->sh_size;
        if (part->section->sh_flags & SHF_COMPRESSED) {
            if (!elf_file_read(file, part->section->sh_offset, &part->packed, sizeof(part->packed))) {
                *reason = DEBUG_DAMAGED;
                return false;
            }
            part->size = part->packed.ch_size;
        }
        if (part->size > DEBUG_BYTES_MAX - total || part->section->sh_size > DEBUG_BYTES_MAX) {
            *reason = DEBUG_TOO_LARGE;
            return false;
        }
        total += part->size;
    }
    return parts[0].section && parts[1].section;
}

static bool unpack(const struct part *part, const uint8_t *bytes, size_t size, uint8_t *out) {
    if (size <= sizeof(part->packed))
        return false;
    bytes += sizeof(part->packed);
    size -= sizeof(part->packed);
    if (part->packed.ch_type == ELFCOMPRESS_ZSTD)
        return ZSTD_decompress(out, part->size, bytes, size) == part->size;
    uLongf unpacked = part->size;
    return part->packed.ch_type == ELFCOMPRESS_ZLIB && uncompress(out, &unpacked, bytes, size) == Z_OK &&
           unpacked == part->size;
}

static bool copy_part(const struct elf_file *file, const struct part *part, uint8_t *out) {
    if (!(part->section->sh_flags & SHF_COMPRESSED))
        return elf_file_read(file, part->section->sh_offset, out, part->size);
    size_t size;
    uint8_t *bytes = elf_file_section_bytes(file, part->section, DEBUG_BYTES_MAX, &size);
    bool good = bytes && unpack(part, bytes, size, out);
    free(bytes);
    return good;
}

static uint64_t room_of(uint64_t size) {
    return (size + PADDING + 15) & ~15ull;
}

static uint8_t *make_image(const struct elf_file *file, const struct part *parts, uint64_t *size) {
    Elf64_Shdr headers[SECTIONS] = {{0}};
    char names[256] = "";
    size_t names_size = 1;
    uint64_t at = sizeof(Elf64_Ehdr);
    for (size_t i = 0; i < WANTED; i++) {
        headers[i + 1] = (Elf64_Shdr){.sh_name = (uint32_t)names_size,
                                      .sh_type = parts[i].section ? SHT_PROGBITS : SHT_NULL,
                                      .sh_offset = at,
                                      .sh_size = parts[i].size,
                                      .sh_addralign = 1};
        strcpy(names + names_size, wanted[i]);
        names_size += strlen(wanted[i]) + 1;
        at += room_of(parts[i].size);
    }
    headers[WANTED + 1] =
        (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_offset = at, .sh_size = names_size, .sh_addralign = 1};
    uint64_t table = at + room_of(names_size);
    *size = table + sizeof(headers);
    uint8_t *image = xcalloc(1, *size);
    Elf64_Ehdr header = {.e_type = ET_EXEC,
                         .e_machine = file->machine,
                         .e_version = EV_CURRENT,
                         .e_shoff = table,
                         .e_ehsize = sizeof(header),
                         .e_shentsize = sizeof(*headers),
                         .e_shnum = SECTIONS,
                         .e_shstrndx = SECTIONS - 1};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = file->encoding;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    memcpy(image, &header, sizeof(header));
    memcpy(image + at, names, names_size);
    memcpy(image + table, headers, sizeof(headers));
    for (size_t i = 0; i < WANTED; i++)
        if (parts[i].section && !copy_part(file, &parts[i], image + headers[i + 1].sh_offset)) {
            free(image);
            return NULL;
        }
    return image;
}

uint8_t *debug_image(const struct elf_source *source, uint64_t *size, const char **reason) {
    struct elf_file file;
    struct part parts[WANTED] = {{0}};
    uint8_t *image = NULL;
    *reason = NULL;
    *size = 0;
    bool native = !elf_file_open(&file, source) && file.is64 &&
                  file.encoding == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
    if (native && find_parts(&file, parts, reason)) {
        image = make_image(&file, parts, size);
        if (!image)
            *reason = DEBUG_DAMAGED;
    }
    elf_file_close(&file);
    return image;
}
