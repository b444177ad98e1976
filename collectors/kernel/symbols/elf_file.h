// An ELF file's headers, and bytes of it, read with pread: a file may shrink, change or be forged while it is read, so
// nothing is mapped, and no size that it states is believed before it is compared with a limit. Both classes and byte
// orders. Documents: elf(5), the System V ABI's chapter on object files.
#ifndef COLLECTORS_SYMBOLS_ELF_FILE_H
#define COLLECTORS_SYMBOLS_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/kernel/symbols/symbols.h"

// Where the bytes come from: a descriptor, or memory if `bytes` is set. Borrowed.
struct elf_source {
    int fd;
    const uint8_t *bytes;
    uint64_t size;
};

struct elf_file {
    struct elf_source source;
    bool is64;
    uint8_t encoding; // ELFDATA2LSB or ELFDATA2MSB
    uint16_t type, machine;
    GElf_Shdr *sections; // section 0 as well
    char **section_names;
    size_t n_sections;
    GElf_Phdr *segments;
    size_t n_segments;
    char *names; // owner of section_names' bytes
};

// 0; -ENOEXEC: no ELF, or its headers are damaged; -E2BIG: over a limit; -errno of a read. Close it in each case.
int elf_file_open(struct elf_file *file, const struct elf_source *source);
void elf_file_close(struct elf_file *file);
// Whether all bytes were there.
bool elf_file_read(const struct elf_file *file, uint64_t offset, void *out, size_t size);
// As many bytes as there are, -errno on failure.
ssize_t elf_file_read_some(const struct elf_file *file, uint64_t offset, void *out, size_t size);
const GElf_Shdr *elf_file_section(const struct elf_file *file, const char *name); // NULL: none
// A whole section, owned by the caller; NULL: it has no bytes in the file, or more than `most`.
uint8_t *elf_file_section_bytes(const struct elf_file *file, const GElf_Shdr *section, size_t most, size_t *size);
// `n` entries of a section from `first` on, translated to this machine's form; how many there were.
size_t elf_file_symbols(const struct elf_file *file, const GElf_Shdr *section, size_t first, GElf_Sym *out, size_t n);
size_t elf_file_relocations(const struct elf_file *file, const GElf_Shdr *section, size_t first, GElf_Rela *out,
                            size_t n);
// Bytes of the build ID, 0: none.
size_t elf_file_build_id(const struct elf_file *file, uint8_t out[BUILD_ID_MAX]);

#endif
