// From a mapping to the symbols of its file; see the header.
#include "collectors/kernel/symbols/object.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/symbols/debug_file.h"
#include "collectors/kernel/symbols/elf_symbols.h"
#include "collectors/kernel/symbols/functions.h"
#include "collectors/kernel/symbols/go_symbols.h"
#include "collectors/kernel/symbols/open.h"
#include "collectors/kernel/symbols/plt.h"
#include "collectors/kernel/symbols/xz.h"
#include "model/mem.h"

#define MINI_MAX (32u << 20) // packed bytes of MiniDebugInfo
#define DYNAMIC_MAX (256u << 10)

enum fit { FITS, UNDECIDED, OTHER_FILE };

// Whether this is the file that was mapped. The device in a mapping of overlayfs or btrfs is not the one of stat(2):
// then equal inodes are taken as equal files, and different ones decide nothing.
static enum fit compare(const struct object_key *key, int fd, const struct stat *stat) {
    if (key->build_id_size) {
        struct elf_source source = {.fd = fd, .size = (uint64_t)stat->st_size};
        struct elf_file file;
        uint8_t build_id[BUILD_ID_MAX];
        size_t size = elf_file_open(&file, &source) ? 0 : elf_file_build_id(&file, build_id);
        elf_file_close(&file);
        // The kernel gives 20 bytes, zeros after a shorter ID.
        size_t n = size < key->build_id_size ? size : key->build_id_size;
        return n && !memcmp(build_id, key->build_id, n) ? FITS : OTHER_FILE;
    }
    if (!key->inode)
        return UNDECIDED;
    if (stat->st_ino == key->inode)
        return FITS;
    return stat->st_dev == key->device ? OTHER_FILE : UNDECIDED;
}

static bool is_deleted(const char *path) {
    static const char mark[] = " (deleted)";
    size_t length = strlen(path);
    return length >= sizeof(mark) && !strcmp(path + length - sizeof(mark) + 1, mark);
}

struct opened {
    int fd; // -errno: the last failure
    bool other;
    struct stat stat;
};

// Takes the descriptor. true: this is the file.
static bool take(struct opened *opened, const struct object_key *key, int fd, enum fit least) {
    if (fd < 0) {
        opened->fd = fd;
        return false;
    }
    enum fit fit = compare(key, fd, &opened->stat);
    if (fit <= least) {
        opened->fd = fd;
        return true;
    }
    opened->other |= fit == OTHER_FILE;
    opened->fd = -ENOENT;
    close(fd);
    return false;
}

static void open_mapped(const struct object_key *key, struct opened *opened) {
    char path[96];
    *opened = (struct opened){.fd = -ENOENT};
    if (key->end > key->start) {
        snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)key->pid, (unsigned long long)key->start,
                 (unsigned long long)key->end);
        bool named = key->build_id_size || key->inode; // else the range may have been mapped anew
        if (take(opened, key, open_regular(path, false, &opened->stat), named ? UNDECIDED : FITS))
            return;
    }
    opened->other = false; // of the mapping that is there now
    if (key->path[0] != '/' || is_deleted(key->path))
        return;
    int root = open_root(key->pid);
    bool own_root = root >= 0;
    if (!own_root) // ended, or not ours to look at: the host's file, if it is surely the same
        root = open_root(0);
    if (root < 0) {
        opened->fd = root;
        return;
    }
    take(opened, key, open_below(root, key->path, false, &opened->stat), own_root ? UNDECIDED : FITS);
    if (!own_root)
        opened->other = false;
    close(root);
}

static struct object_identity identity_of(const struct stat *stat) {
    return (struct object_identity){.device = stat->st_dev,
                                    .inode = stat->st_ino,
                                    .size = (uint64_t)stat->st_size,
                                    .changed_ns = stat->st_ctim.tv_sec * 1000000000ll + stat->st_ctim.tv_nsec};
}

bool object_identify(const struct object_key *key, struct object_identity *out) {
    struct opened opened;
    open_mapped(key, &opened);
    if (opened.fd < 0)
        return false;
    *out = identity_of(&opened.stat);
    close(opened.fd);
    return true;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

// The dynamic section says whether an ET_DYN is a program: DF_1_PIE; older linkers do not set it.
static enum name_kind kind_of(const struct elf_file *file, const struct object_key *key) {
    bool interpreter = false, pie = false, soname = false, dynamic = false;
    for (size_t i = 0; i < file->n_segments; i++) {
        const GElf_Phdr *segment = &file->segments[i];
        interpreter |= segment->p_type == PT_INTERP;
        if (segment->p_type != PT_DYNAMIC || dynamic)
            continue;
        dynamic = true;
        GElf_Shdr as_section = {.sh_offset = segment->p_offset, .sh_size = segment->p_filesz};
        size_t size, each = file->is64 ? sizeof(Elf64_Dyn) : sizeof(Elf32_Dyn);
        uint8_t *bytes = elf_file_section_bytes(file, &as_section, DYNAMIC_MAX, &size);
        for (size_t at = 0; bytes && at + each <= size; at += each) {
            Elf64_Dyn d64 = {0};
            Elf32_Dyn d32 = {0};
            memcpy(file->is64 ? (void *)&d64 : (void *)&d32, bytes + at, each);
            int64_t tag = file->is64 ? d64.d_tag : d32.d_tag;
            uint64_t value = file->is64 ? d64.d_un.d_val : d32.d_un.d_val;
            pie |= tag == DT_FLAGS_1 && (value & DF_1_PIE);
            soname |= tag == DT_SONAME;
        }
        free(bytes);
    }
    if (file->type == ET_EXEC || pie || (interpreter && !soname))
        return NAME_USER;
    char link[32], exe[PATH_MAX];
    snprintf(link, sizeof(link), "/proc/%d/exe", (int)key->pid);
    ssize_t n = readlink(link, exe, sizeof(exe) - 1);
    exe[n > 0 ? n : 0] = '\0';
    return n > 0 && !strcmp(exe, key->path) ? NAME_USER : NAME_LIBRARY;
}

// Executable segments first: a mapping is of whole pages, and the edges of two segments can share one.
static void copy_segments(const struct elf_file *file, struct symbol_table *table) {
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < file->n_segments && table->n_segments < TABLE_SEGMENTS; i++) {
            const GElf_Phdr *segment = &file->segments[i];
            bool code = segment->p_flags & PF_X;
            if (segment->p_type != PT_LOAD || !segment->p_filesz || code != (pass == 0))
                continue;
            uint64_t before = segment->p_offset & 4095;
            table->segments[table->n_segments++] =
                (struct symbol_segment){.offset = segment->p_offset - before,
                                        .size = (segment->p_filesz + before + 4095) & ~4095ull,
                                        .address = segment->p_vaddr - before};
        }
}

static void add_mini_debug_info(const struct elf_file *file, struct symbol_builder *builder) {
    size_t size, unpacked_size;
    const GElf_Shdr *section = elf_file_section(file, ".gnu_debugdata");
    uint8_t *packed = section ? elf_file_section_bytes(file, section, MINI_MAX, &size) : NULL;
    uint8_t *unpacked = packed ? xz_unpack(packed, size, &unpacked_size) : NULL;
    free(packed);
    if (!unpacked)
        return;
    struct elf_source source = {.fd = -1, .bytes = unpacked, .size = unpacked_size};
    struct elf_file mini;
    if (!elf_file_open(&mini, &source))
        elf_symbols_add(&mini, ".symtab", builder);
    elf_file_close(&mini);
    free(unpacked);
}

// How many have a name.
static uint32_t add_symbols(const struct elf_file *file, const struct object_key *key, struct symbol_builder *builder) {
    bool all = true;
    if (!elf_symbols_add(file, ".symtab", builder)) {
        struct elf_file debug;
        int fd = debug_file_open(file, key->pid, key->path, &debug);
        size_t found = 0;
        if (fd >= 0) {
            found = elf_symbols_add(&debug, ".symtab", builder);
            elf_file_close(&debug);
            close(fd);
        }
        if (!found) {
            add_mini_debug_info(file, builder);
            elf_symbols_add(file, ".dynsym", builder);
            go_symbols_add(file, builder);
            all = false;
        }
    }
    plt_symbols(file, builder);
    uint32_t named = builder->count;
    if (!all)
        unnamed_functions_add(file, builder);
    return named;
}

static void read_elf(const struct elf_source *source, const struct object_key *key, struct object_symbols *out) {
    struct elf_file file;
    struct symbol_builder builder = {0};
    const char *name = base_name(key->path);
    int error = elf_file_open(&file, source);
    uint32_t named = error ? 0 : add_symbols(&file, key, &builder);
    struct symbol_table *table = symbol_builder_finish(&builder, OVERLAP_INNER);
    if (error) {
        snprintf(out->reason, sizeof(out->reason), "%.80s has no symbols: it is not a valid ELF file", name);
    } else {
        copy_segments(&file, table);
        if (!named)
            snprintf(out->reason, sizeof(out->reason), "%.80s has no symbols: install its debug package", name);
        else if (table->cut)
            snprintf(out->reason, sizeof(out->reason), "%.80s has more than %u symbols: the rest is unnamed", name,
                     table->count);
    }
    table->kind = error ? NAME_LIBRARY : kind_of(&file, key);
    elf_file_close(&file);
    out->table = table;
}

// ktop's own vdso is the one of every process of the same class, and in memory. Of another class it has no symbols.
static bool find_vdso(const struct object_key *key, struct elf_source *source) {
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[256];
    unsigned long start = 0, end = 0;
    while (maps && fgets(line, sizeof(line), maps))
        if (strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &start, &end) == 2)
            break;
    if (maps)
        fclose(maps);
    if (end <= start)
        return false;
    *source = (struct elf_source){.fd = -1, .bytes = (const uint8_t *)start, .size = end - start};
    struct elf_file file;
    uint8_t build_id[BUILD_ID_MAX];
    size_t size = elf_file_open(&file, source) ? 0 : elf_file_build_id(&file, build_id);
    elf_file_close(&file);
    size = size < key->build_id_size ? size : key->build_id_size;
    return !memcmp(build_id, key->build_id, size);
}

static bool read_vdso(const struct object_key *key, struct object_symbols *out) {
    struct elf_source source;
    if (!find_vdso(key, &source))
        return false;
    read_elf(&source, key, out);
    out->table->kind = NAME_LIBRARY;
    return true;
}

void object_read(const struct object_key *key, struct object_symbols *out) {
    *out = (struct object_symbols){.state = OBJECT_MISSING};
    const char *name = base_name(key->path);
    if (!strcmp(key->path, "[vdso]") && read_vdso(key, out)) {
        out->state = OBJECT_READ;
        return;
    }
    if (key->path[0] == '[') // the kernel's own mappings: no file has them
        return;
    struct opened opened;
    open_mapped(key, &opened);
    if (opened.fd < 0) {
        out->state = opened.other ? OBJECT_REPLACED : OBJECT_MISSING;
        if (opened.other)
            snprintf(out->reason, sizeof(out->reason), "%.80s was replaced on disk: restart what runs the old one",
                     name);
        else
            snprintf(out->reason, sizeof(out->reason), "%.80s cannot be opened: %s", name, strerror(-opened.fd));
        return;
    }
    out->state = OBJECT_READ;
    out->identity = identity_of(&opened.stat);
    struct elf_source source = {.fd = opened.fd, .size = (uint64_t)opened.stat.st_size};
    read_elf(&source, key, out);
    close(opened.fd);
}

int object_open_debug(const struct object_key *key, uint64_t *size) {
    struct opened opened;
    struct elf_file file, debug;
    open_mapped(key, &opened);
    if (opened.fd < 0)
        return opened.fd;
    struct elf_source source = {.fd = opened.fd, .size = (uint64_t)opened.stat.st_size};
    *size = source.size;
    int error = elf_file_open(&file, &source), fd = -ENOENT;
    if (!error && elf_file_section(&file, ".debug_info")) {
        elf_file_close(&file);
        return opened.fd;
    }
    if (!error && (fd = debug_file_open(&file, key->pid, key->path, &debug)) >= 0) {
        *size = debug.source.size;
        elf_file_close(&debug);
    }
    elf_file_close(&file);
    close(opened.fd);
    return error ? error : fd < 0 ? -ENOENT : fd;
}

ssize_t object_code(const struct object_key *key, uint64_t offset, uint8_t *out, size_t size, uint16_t *machine) {
    struct opened opened = {.fd = -ENOENT};
    struct elf_source source = {.fd = -1};
    if (strcmp(key->path, "[vdso]") != 0) {
        open_mapped(key, &opened);
        source = (struct elf_source){.fd = opened.fd, .size = opened.fd < 0 ? 0 : (uint64_t)opened.stat.st_size};
    } else if (find_vdso(key, &source)) {
        opened.fd = 0;
    }
    if (opened.fd < 0)
        return opened.fd;
    struct elf_file file;
    ssize_t n = elf_file_open(&file, &source);
    if (!n)
        n = elf_file_read_some(&file, offset, out, size);
    *machine = file.machine;
    elf_file_close(&file);
    if (!source.bytes)
        close(opened.fd);
    return n;
}
