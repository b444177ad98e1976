// Reading of ELF headers; see the header. libelf translates classes and byte orders; it never sees the file itself,
// since it allocates what the file states.
#include "collectors/kernel/symbols/elf_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"

#define SECTIONS_MAX 65536u
#define SEGMENTS_MAX 1024u
#define SECTION_NAMES_MAX (4u << 20)
#define NOTES_MAX (64u << 10) // bytes of a section of notes
#define NOTE_SECTIONS_MAX 64
#define ENTRIES_AT_ONCE 1024

ssize_t elf_file_read_some(const struct elf_file *file, uint64_t offset, void *out, size_t size) {
    const struct elf_source *source = &file->source;
    if (offset >= source->size)
        return 0;
    if (size > source->size - offset)
        size = source->size - offset;
    if (source->bytes) {
        memcpy(out, source->bytes + offset, size);
        return (ssize_t)size;
    }
    size_t got = 0;
    while (got < size) {
        ssize_t n = pread(source->fd, (char *)out + got, size - got, (off_t)(offset + got));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -errno;
        if (n == 0)
            break;
        got += (size_t)n;
    }
    return (ssize_t)got;
}

bool elf_file_read(const struct elf_file *file, uint64_t offset, void *out, size_t size) {
    return elf_file_read_some(file, offset, out, size) == (ssize_t)size;
}

// Reads `n` entries of a type and translates them. The buffers hold ENTRIES_AT_ONCE entries of the larger class.
static bool read_entries(const struct elf_file *file, Elf_Type type, uint64_t offset, size_t size, void *raw,
                         void *out) {
    if (!elf_file_read(file, offset, raw, size))
        return false;
    Elf_Data from = {.d_buf = raw, .d_type = type, .d_version = EV_CURRENT, .d_size = size};
    Elf_Data to = {.d_buf = out, .d_type = type, .d_version = EV_CURRENT, .d_size = size};
    return (file->is64 ? elf64_xlatetom : elf32_xlatetom)(&to, &from, file->encoding) != NULL;
}

static GElf_Shdr shdr_of(const struct elf_file *file, const void *entries, size_t i) {
    if (file->is64)
        return ((const Elf64_Shdr *)entries)[i];
    const Elf32_Shdr *s = &((const Elf32_Shdr *)entries)[i];
    return (GElf_Shdr){.sh_name = s->sh_name,
                       .sh_type = s->sh_type,
                       .sh_flags = s->sh_flags,
                       .sh_addr = s->sh_addr,
                       .sh_offset = s->sh_offset,
                       .sh_size = s->sh_size,
                       .sh_link = s->sh_link,
                       .sh_info = s->sh_info,
                       .sh_addralign = s->sh_addralign,
                       .sh_entsize = s->sh_entsize};
}

static GElf_Phdr phdr_of(const struct elf_file *file, const void *entries, size_t i) {
    if (file->is64)
        return ((const Elf64_Phdr *)entries)[i];
    const Elf32_Phdr *p = &((const Elf32_Phdr *)entries)[i];
    return (GElf_Phdr){.p_type = p->p_type,
                       .p_flags = p->p_flags,
                       .p_offset = p->p_offset,
                       .p_vaddr = p->p_vaddr,
                       .p_paddr = p->p_paddr,
                       .p_filesz = p->p_filesz,
                       .p_memsz = p->p_memsz,
                       .p_align = p->p_align};
}

struct header {
    uint64_t phoff, shoff;
    uint32_t phentsize, phnum, shentsize, shnum, shstrndx;
};

static int read_header(struct elf_file *file, struct header *out) {
    unsigned char ident[EI_NIDENT];
    if (!elf_file_read(file, 0, ident, sizeof(ident)) || memcmp(ident, ELFMAG, SELFMAG) != 0 ||
        (ident[EI_CLASS] != ELFCLASS64 && ident[EI_CLASS] != ELFCLASS32) ||
        (ident[EI_DATA] != ELFDATA2LSB && ident[EI_DATA] != ELFDATA2MSB))
        return -ENOEXEC;
    file->is64 = ident[EI_CLASS] == ELFCLASS64;
    file->encoding = ident[EI_DATA];
    union {
        Elf64_Ehdr e64;
        Elf32_Ehdr e32;
    } raw, header;
    if (!read_entries(file, ELF_T_EHDR, 0, file->is64 ? sizeof(raw.e64) : sizeof(raw.e32), &raw, &header))
        return -ENOEXEC;
    file->type = header.e64.e_type; // at the same place in both classes
    file->machine = header.e64.e_machine;
    if (file->is64)
        *out = (struct header){header.e64.e_phoff,     header.e64.e_shoff, header.e64.e_phentsize, header.e64.e_phnum,
                               header.e64.e_shentsize, header.e64.e_shnum, header.e64.e_shstrndx};
    else
        *out = (struct header){header.e32.e_phoff,     header.e32.e_shoff, header.e32.e_phentsize, header.e32.e_phnum,
                               header.e32.e_shentsize, header.e32.e_shnum, header.e32.e_shstrndx};
    return 0;
}

static int read_segments(struct elf_file *file, const struct header *header) {
    size_t each = file->is64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    if (!header->phnum || !header->phoff)
        return 0;
    if (header->phentsize != each)
        return -ENOEXEC;
    if (header->phnum > SEGMENTS_MAX)
        return -E2BIG;
    size_t size = header->phnum * each;
    void *raw = xmalloc(size), *entries = xmalloc(size);
    bool good = read_entries(file, ELF_T_PHDR, header->phoff, size, raw, entries);
    if (good) {
        file->segments = xcalloc(header->phnum, sizeof(*file->segments));
        file->n_segments = header->phnum;
        for (size_t i = 0; i < file->n_segments; i++)
            file->segments[i] = phdr_of(file, entries, i);
    }
    free(raw);
    free(entries);
    return good ? 0 : -ENOEXEC;
}

// Names of sections are an aid: a file whose table of names is damaged has none.
static void read_section_names(struct elf_file *file, uint32_t shstrndx) {
    static char none[] = "";
    size_t size = 0;
    file->section_names = xcalloc(file->n_sections, sizeof(*file->section_names));
    if (shstrndx < file->n_sections)
        file->names = (char *)elf_file_section_bytes(file, &file->sections[shstrndx], SECTION_NAMES_MAX, &size);
    if (file->names)
        file->names[size - 1] = '\0';
    for (size_t i = 0; i < file->n_sections; i++)
        file->section_names[i] = file->sections[i].sh_name < size ? file->names + file->sections[i].sh_name : none;
}

static int read_sections(struct elf_file *file, struct header *header) {
    size_t each = file->is64 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    if (!header->shoff)
        return 0;
    if (header->shentsize != each)
        return -ENOEXEC;
    if (!header->shnum || header->shstrndx == SHN_XINDEX) { // the real values stand in section 0
        Elf64_Shdr raw, entry;
        if (!read_entries(file, ELF_T_SHDR, header->shoff, each, &raw, &entry))
            return -ENOEXEC;
        GElf_Shdr first = shdr_of(file, &entry, 0);
        if (!header->shnum)
            header->shnum = first.sh_size > SECTIONS_MAX ? SECTIONS_MAX + 1 : (uint32_t)first.sh_size;
        if (header->shstrndx == SHN_XINDEX)
            header->shstrndx = first.sh_link;
    }
    if (header->shnum > SECTIONS_MAX)
        return -E2BIG;
    if (!header->shnum)
        return 0;
    size_t size = header->shnum * each;
    if (header->shoff > file->source.size || size > file->source.size - header->shoff)
        return -ENOEXEC;
    void *raw = xmalloc(size), *entries = xmalloc(size);
    bool good = read_entries(file, ELF_T_SHDR, header->shoff, size, raw, entries);
    if (good) {
        file->sections = xcalloc(header->shnum, sizeof(*file->sections));
        file->n_sections = header->shnum;
        for (size_t i = 0; i < file->n_sections; i++)
            file->sections[i] = shdr_of(file, entries, i);
        read_section_names(file, header->shstrndx);
    }
    free(raw);
    free(entries);
    return good ? 0 : -ENOEXEC;
}

int elf_file_open(struct elf_file *file, const struct elf_source *source) {
    struct header header;
    *file = (struct elf_file){.source = *source};
    elf_version(EV_CURRENT);
    int error = read_header(file, &header);
    if (!error)
        error = read_segments(file, &header);
    if (!error)
        error = read_sections(file, &header);
    return error;
}

void elf_file_close(struct elf_file *file) {
    free(file->sections);
    free(file->section_names);
    free(file->segments);
    free(file->names);
    *file = (struct elf_file){.source.fd = -1};
}

const GElf_Shdr *elf_file_section(const struct elf_file *file, const char *name) {
    for (size_t i = 1; i < file->n_sections; i++)
        if (!strcmp(file->section_names[i], name))
            return &file->sections[i];
    return NULL;
}

uint8_t *elf_file_section_bytes(const struct elf_file *file, const GElf_Shdr *section, size_t most, size_t *size) {
    *size = 0;
    if (section->sh_type == SHT_NOBITS || !section->sh_size || section->sh_size > most ||
        section->sh_offset > file->source.size || section->sh_size > file->source.size - section->sh_offset)
        return NULL;
    uint8_t *bytes = xmalloc(section->sh_size);
    if (!elf_file_read(file, section->sh_offset, bytes, section->sh_size)) {
        free(bytes);
        return NULL;
    }
    *size = section->sh_size;
    return bytes;
}

// Reads up to n entries (at most ENTRIES_AT_ONCE) of a section into `entries`; how many.
static size_t section_entries(const struct elf_file *file, const GElf_Shdr *section, Elf_Type type, size_t each,
                              size_t first, size_t n, void *raw, void *entries) {
    if (section->sh_type == SHT_NOBITS || section->sh_entsize != each || first >= section->sh_size / each)
        return 0;
    size_t left = section->sh_size / each - first;
    n = n < left ? n : left;
    n = n < ENTRIES_AT_ONCE ? n : ENTRIES_AT_ONCE;
    if (__builtin_add_overflow(section->sh_offset, first * each, &(uint64_t){0}))
        return 0;
    return read_entries(file, type, section->sh_offset + first * each, n * each, raw, entries) ? n : 0;
}

size_t elf_file_symbols(const struct elf_file *file, const GElf_Shdr *section, size_t first, GElf_Sym *out, size_t n) {
    Elf64_Sym raw[ENTRIES_AT_ONCE], entries[ENTRIES_AT_ONCE];
    size_t each = file->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
    n = section_entries(file, section, ELF_T_SYM, each, first, n, raw, entries);
    for (size_t i = 0; i < n; i++) {
        if (file->is64) {
            out[i] = entries[i];
            continue;
        }
        const Elf32_Sym *s = &((const Elf32_Sym *)(void *)entries)[i];
        out[i] = (GElf_Sym){.st_name = s->st_name,
                            .st_info = s->st_info,
                            .st_other = s->st_other,
                            .st_shndx = s->st_shndx,
                            .st_value = s->st_value,
                            .st_size = s->st_size};
    }
    return n;
}

size_t elf_file_relocations(const struct elf_file *file, const GElf_Shdr *section, size_t first, GElf_Rela *out,
                            size_t n) {
    Elf64_Rela raw[ENTRIES_AT_ONCE], entries[ENTRIES_AT_ONCE];
    bool rela = section->sh_type == SHT_RELA;
    if (!file->is64 && !rela) { // i386: Elf32_Rel
        n = section_entries(file, section, ELF_T_REL, sizeof(Elf32_Rel), first, n, raw, entries);
        for (size_t i = 0; i < n; i++) {
            const Elf32_Rel *r = &((const Elf32_Rel *)(void *)entries)[i];
            out[i] = (GElf_Rela){.r_offset = r->r_offset,
                                 .r_info = GELF_R_INFO((uint64_t)ELF32_R_SYM(r->r_info), ELF32_R_TYPE(r->r_info))};
        }
        return n;
    }
    if (!file->is64 || !rela)
        return 0;
    n = section_entries(file, section, ELF_T_RELA, sizeof(Elf64_Rela), first, n, raw, entries);
    memcpy(out, entries, n * sizeof(*out));
    return n;
}

// The build ID in a block of notes.
static size_t find_build_id(const struct elf_file *file, const uint8_t *notes, size_t size, uint8_t out[BUILD_ID_MAX]) {
    for (size_t at = 0; size - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note; // the same in both classes
        Elf_Data from = {
            .d_buf = (void *)(notes + at), .d_type = ELF_T_WORD, .d_version = EV_CURRENT, .d_size = sizeof(note)};
        Elf_Data to = {.d_buf = &note, .d_type = ELF_T_WORD, .d_version = EV_CURRENT, .d_size = sizeof(note)};
        if (!elf64_xlatetom(&to, &from, file->encoding))
            return 0;
        size_t name = ((size_t)note.n_namesz + 3) & ~(size_t)3, description = ((size_t)note.n_descsz + 3) & ~(size_t)3;
        at += sizeof(note);
        if (name > size - at || note.n_descsz > size - at - name)
            return 0;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && !memcmp(notes + at, "GNU", 4) && note.n_descsz &&
            note.n_descsz <= BUILD_ID_MAX) {
            memcpy(out, notes + at + name, note.n_descsz);
            return note.n_descsz;
        }
        if (description > size - at - name)
            return 0;
        at += name + description;
    }
    return 0;
}

size_t elf_file_build_id(const struct elf_file *file, uint8_t out[BUILD_ID_MAX]) {
    size_t found = 0, size = 0;
    unsigned looked_at = 0;
    // Sections first: a separate debug file has note segments without bytes.
    for (size_t i = 0; i < file->n_sections && !found; i++) {
        if (file->sections[i].sh_type != SHT_NOTE || ++looked_at > NOTE_SECTIONS_MAX)
            continue;
        uint8_t *bytes = elf_file_section_bytes(file, &file->sections[i], NOTES_MAX, &size);
        found = bytes ? find_build_id(file, bytes, size, out) : 0;
        free(bytes);
    }
    for (size_t i = 0; i < file->n_segments && !found; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        GElf_Shdr as_section = {.sh_offset = segment->p_offset, .sh_size = segment->p_filesz};
        if (segment->p_type != PT_NOTE || ++looked_at > 2 * NOTE_SECTIONS_MAX)
            continue;
        uint8_t *bytes = elf_file_section_bytes(file, &as_section, NOTES_MAX, &size);
        found = bytes ? find_build_id(file, bytes, size, out) : 0;
        free(bytes);
    }
    return found;
}
