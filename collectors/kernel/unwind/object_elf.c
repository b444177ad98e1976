// ELF headers to unwind tables: program headers for .eh_frame_hdr; where a file has no search table (static programs),
// or debug info describes frames that the loaded tables do not, an index made from the sections .eh_frame and
// .debug_frame. All numbers come from the file and are checked against it.
#include "collectors/kernel/unwind/object_private.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/unwind/cfi.h"
#include "collectors/kernel/unwind/go_frames.h"
#include "model/mem.h"

#define PROGRAM_HEADERS_MAX 128
#define SECTIONS_MAX 4096
#define NOTES_MAX 32
#define FRAMES_MAX (64ull << 20)       // bytes of .eh_frame that an index is made of
#define DEBUG_FRAMES_MAX (16ull << 20) // the same of .debug_frame

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

// Whether the notes of a segment hold the build ID of the mapping.
static bool is_build_id(const struct unwind_file *file, const Elf64_Phdr *notes) {
    uint64_t at = notes->p_offset, end = at + notes->p_filesz;
    for (unsigned i = 0; i < NOTES_MAX && end > at && end - at >= sizeof(Elf64_Nhdr); i++) {
        Elf64_Nhdr note;
        uint8_t id[sizeof(file->map->identity)];
        if (!unwind_file_pread(file, at, &note, sizeof(note)))
            return false;
        at += sizeof(note) + (((uint64_t)note.n_namesz + 3) & ~3ull);
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && note.n_descsz >= sizeof(id))
            return unwind_file_pread(file, at, id, sizeof(id)) && !memcmp(id, file->map->identity, sizeof(id));
        at += ((uint64_t)note.n_descsz + 3) & ~3ull;
    }
    return false;
}

// *known: is true already, or becomes so when the file has the mapping's build ID.
static bool read_loads(const struct unwind_file *file, const Elf64_Ehdr *elf, uint64_t *header_size, bool *known) {
    struct unwind_object *object = file->object;
    if (elf->e_phentsize != sizeof(Elf64_Phdr))
        return false;
    for (unsigned i = 0; i < elf->e_phnum && i < PROGRAM_HEADERS_MAX; i++) {
        Elf64_Phdr program;
        if (!unwind_file_pread(file, elf->e_phoff + i * sizeof(program), &program, sizeof(program)))
            return false;
        if (program.p_type == PT_LOAD && program.p_filesz && object->load_count < UNWIND_LOADS_MAX)
            object->loads[object->load_count++] =
                (struct unwind_load){program.p_vaddr, program.p_offset, program.p_filesz, program.p_flags & PF_X};
        if (program.p_type == PT_NOTE && !*known)
            *known = is_build_id(file, &program);
        if (program.p_type == PT_GNU_EH_FRAME) {
            object->header = program.p_vaddr;
            *header_size = program.p_filesz;
        }
    }
    return true;
}

// False: no search table of the usual form.
static bool read_header(const struct unwind_file *file, uint64_t header_size) {
    struct unwind_object *object = file->object;
    uint8_t bytes[4 + 8 + 8];
    const uint8_t *at = bytes + 4, *end = bytes + sizeof(bytes);
    uint64_t count;
    if (!object->header || header_size < sizeof(bytes) ||
        !unwind_file_read(file, object->header, bytes, sizeof(bytes)) || bytes[0] != 1)
        return false;
    if (!cfi_pointer(&at, end, object->header + 4, object->header, bytes[1], &object->frames))
        return false;
    uint64_t count_at = object->header + (uint64_t)(at - bytes);
    if (bytes[3] != 0x3b || !cfi_pointer(&at, end, count_at, object->header, bytes[2], &count))
        return false;
    object->table = object->header + (uint64_t)(at - bytes);
    if (!count || count > (header_size - (uint64_t)(at - bytes)) / 8)
        return false;
    object->table_count = count;
    object->frames_end = object->frames + 1;
    for (unsigned i = 0; i < object->load_count; i++)
        if (object->frames - object->loads[i].vaddr < object->loads[i].size)
            object->frames_end = object->loads[i].vaddr + object->loads[i].size;
    return true;
}

// A section of the name whose flags, of those in `mask`, are `flags`.
static bool find_section(const struct unwind_file *file, const Elf64_Ehdr *elf, const char *wanted, uint64_t mask,
                         uint64_t flags, Elf64_Shdr *out) {
    Elf64_Shdr names;
    char name[24];
    size_t size = strlen(wanted) + 1;
    if (elf->e_shentsize != sizeof(*out) || elf->e_shstrndx >= elf->e_shnum || elf->e_shnum > SECTIONS_MAX ||
        !unwind_file_pread(file, elf->e_shoff + elf->e_shstrndx * sizeof(names), &names, sizeof(names)))
        return false;
    for (unsigned i = 0; i < elf->e_shnum; i++) {
        if (!unwind_file_pread(file, elf->e_shoff + i * sizeof(*out), out, sizeof(*out)))
            return false;
        if ((out->sh_type == SHT_PROGBITS || out->sh_type == SHT_X86_64_UNWIND) && (out->sh_flags & mask) == flags &&
            unwind_file_pread(file, names.sh_offset + out->sh_name, name, size) && !memcmp(name, wanted, size))
            return true;
    }
    return false;
}

static bool find_frames(const struct unwind_file *file, const Elf64_Ehdr *elf) {
    struct unwind_object *object = file->object;
    Elf64_Shdr section;
    if (!find_section(file, elf, ".eh_frame", SHF_ALLOC, SHF_ALLOC, &section))
        return false;
    object->frames = section.sh_addr;
    object->frames_end = section.sh_addr + section.sh_size;
    return object->frames_end > object->frames && section.sh_size <= FRAMES_MAX;
}

static bool find_debug_frames(const struct unwind_file *file, const Elf64_Ehdr *elf) {
    Elf64_Shdr section;
    if (file->object->memory || !find_section(file, elf, ".debug_frame", SHF_ALLOC | SHF_COMPRESSED, 0, &section) ||
        section.sh_size > DEBUG_FRAMES_MAX)
        return false;
    file->object->debug = section.sh_offset;
    file->object->debug_size = section.sh_size;
    return section.sh_size > 0;
}

// Of two entries for one function a search finds the last one: the loaded one.
static int by_start(const void *a, const void *b) {
    const struct unwind_fde *x = a, *y = b;
    if (x->start != y->start)
        return x->start > y->start ? 1 : -1;
    return (x->fde < y->fde) - (x->fde > y->fde);
}

static void find_go(const struct unwind_file *file, const Elf64_Ehdr *elf) {
    Elf64_Shdr table, text = {0};
    if (file->object->memory ||
        (!find_section(file, elf, ".gopclntab", SHF_ALLOC | SHF_COMPRESSED, SHF_ALLOC, &table) &&
         !find_section(file, elf, ".data.rel.ro.gopclntab", SHF_ALLOC | SHF_COMPRESSED, SHF_ALLOC, &table)))
        return;
    find_section(file, elf, ".text", SHF_EXECINSTR, SHF_EXECINSTR, &text);
    unwind_go_open(file, table.sh_offset, table.sh_size, text.sh_addr);
}

static bool read_record_bytes(const struct unwind_file *file, uint64_t vaddr, void *out, size_t size) {
    const struct unwind_object *object = file->object;
    uint64_t at = vaddr - UNWIND_DEBUG_FRAME;
    if (vaddr < UNWIND_DEBUG_FRAME)
        return unwind_file_read(file, vaddr, out, size);
    return at < object->debug_size && size <= object->debug_size - at &&
           unwind_file_pread(file, object->debug + at, out, size);
}

// Adds the functions of a section to the index. Each record takes at least 8 bytes of the section, which is bounded.
static void index_records(const struct unwind_file *file, uint64_t at, uint64_t end, size_t room, uint8_t *bytes,
                          size_t *allocated) {
    struct unwind_object *object = file->object;
    uint64_t cie_at = 0;
    struct cfi_cie cie;
    while (at < end && object->index_count < room) {
        struct cfi_bytes record, cie_record;
        struct cfi_fde fde;
        uint64_t wanted;
        uint32_t length;
        if (!read_record_bytes(file, at, &length, 4) || !length)
            break;
        if (!unwind_file_record(file, at, bytes, &record)) { // too long: no compiler's
            at += 4 + (uint64_t)length;
            continue;
        }
        at += record.size;
        if (!cfi_fde_cie(record, &wanted))
            continue;
        if (!cie_at || wanted != cie_at) {
            cie_at = 0;
            if (!unwind_file_record(file, wanted, bytes + UNWIND_RECORD_MAX, &cie_record) ||
                cfi_parse_cie(cie_record, object->header, &cie) != CFI_OK)
                continue;
            cie_at = wanted;
        }
        if (cfi_parse_fde(record, object->header, &cie, &fde) != CFI_OK || fde.end == fde.start)
            continue;
        if (object->index_count == *allocated) {
            *allocated = *allocated ? *allocated * 2 : 256;
            object->index = xrealloc(object->index, *allocated * sizeof(*object->index));
        }
        object->index[object->index_count++] = (struct unwind_fde){fde.start, record.vaddr};
    }
}

// Of .eh_frame if `loaded`, and of .debug_frame if there is one. False: it is empty.
static bool make_index(const struct unwind_file *file, bool loaded, size_t room) {
    struct unwind_object *object = file->object;
    uint8_t *bytes = xmalloc(2 * UNWIND_RECORD_MAX);
    size_t allocated = 0;
    if (loaded)
        index_records(file, object->frames, object->frames_end, room, bytes, &allocated);
    index_records(file, UNWIND_DEBUG_FRAME, UNWIND_DEBUG_FRAME + object->debug_size, room, bytes, &allocated);
    free(bytes);
    if (object->index_count) {
        object->index = xrealloc(object->index, object->index_count * sizeof(*object->index));
        qsort(object->index, object->index_count, sizeof(*object->index), by_start);
    }
    return object->index_count > 0;
}

static void drop_index(struct unwind_object *object) {
    free(object->index);
    object->index = NULL;
    object->index_count = 0;
}

uint8_t unwind_object_load(const struct unwind_file *file, size_t index_room) {
    Elf64_Ehdr elf;
    uint64_t header_size = 0;
    bool known = file->object->memory || !file->map->is_build_id;
    if (!unwind_file_pread(file, 0, &elf, sizeof(elf)))
        return OBJECT_NOT_ELF;
    if (memcmp(elf.e_ident, ELFMAG, SELFMAG) || elf.e_ident[EI_CLASS] != ELFCLASS64 ||
        elf.e_ident[EI_DATA] != ELFDATA2LSB || elf.e_machine != MACHINE ||
        !read_loads(file, &elf, &header_size, &known))
        return OBJECT_NOT_ELF;
    if (!known) // another file is at this path by now
        return OBJECT_UNREADABLE;
    find_go(file, &elf);
    bool table = read_header(file, header_size), debug = find_debug_frames(file, &elf);
    if (table && !debug)
        return OBJECT_READY;
    if (!table)
        file->object->table_count = 0;
    bool loaded = table || find_frames(file, &elf), made = (loaded || debug) && make_index(file, loaded, index_room);
    if (table && file->object->index_count == index_room) // the search table has all of the loaded ones
        drop_index(file->object);
    return table || made ? OBJECT_READY : OBJECT_NO_TABLE;
}

bool unwind_file_search(const struct unwind_file *file, uint64_t vaddr, struct unwind_fde *out) {
    const struct unwind_object *object = file->object;
    uint64_t low = 0, high = object->index ? object->index_count : object->table_count;
    while (low < high) { // out: the last start <= vaddr so far
        uint64_t middle = low + (high - low) / 2;
        struct unwind_fde entry;
        if (object->index) {
            entry = object->index[middle];
        } else {
            int32_t pair[2];
            if (!unwind_file_read(file, object->table + middle * 8, pair, sizeof(pair)))
                return false;
            entry = (struct unwind_fde){object->header + (uint64_t)(int64_t)pair[0],
                                        object->header + (uint64_t)(int64_t)pair[1]};
        }
        if (entry.start <= vaddr) {
            *out = entry;
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0;
}

// .debug_frame to .eh_frame: the ID of a CIE is 0, and an FDE has its distance to its CIE in place of the CIE's offset.
static bool convert(uint64_t vaddr, uint8_t *bytes) {
    uint32_t id, own = (uint32_t)(vaddr - UNWIND_DEBUG_FRAME) + 4;
    memcpy(&id, bytes + 4, sizeof(id));
    bool cie = id == UINT32_MAX, good = cie || id < own;
    id = cie ? 0 : own - id;
    memcpy(bytes + 4, &id, sizeof(id));
    return good;
}

bool unwind_file_record(const struct unwind_file *file, uint64_t vaddr, uint8_t *bytes, struct cfi_bytes *out) {
    const struct unwind_object *object = file->object;
    bool debug = vaddr >= UNWIND_DEBUG_FRAME;
    uint32_t length;
    if ((!debug && (vaddr < object->frames || vaddr >= object->frames_end)) ||
        !read_record_bytes(file, vaddr, &length, 4) || length < 4 || length > UNWIND_RECORD_MAX - 4 ||
        !read_record_bytes(file, vaddr, bytes, 4 + (size_t)length) || (debug && !convert(vaddr, bytes)))
        return false;
    *out = (struct cfi_bytes){bytes, 4 + (size_t)length, vaddr};
    return true;
}
