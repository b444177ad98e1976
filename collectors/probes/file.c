// Files of uprobes; see the header.
#include "collectors/probes/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/kernel/symbols/debug_file.h"
#include "collectors/kernel/symbols/demangle.h"
#include "collectors/kernel/symbols/elf_file.h"
#include "collectors/kernel/symbols/elf_names.h"
#include "collectors/kernel/symbols/open.h"
#include "collectors/probes/usdt.h"
#include "model/mem.h"
#include "model/nearest.h"

#define NEAR_MAX 50000 // names that a misspelt one is compared with

// ---- opening ----

// The path of a file that the process maps, by its name: "libc.so.6".
static bool mapped_path(const char *name, pid_t pid, char *out, size_t size) {
    char file[64], *line = NULL;
    size_t space = 0;
    bool found = false;
    snprintf(file, sizeof(file), "/proc/%d/maps", (int)pid);
    FILE *in = fopen(file, "re");
    while (in && !found && getline(&line, &space, in) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *path = strchr(line, '/'), *base = path ? strrchr(path, '/') + 1 : NULL;
        found = base && !strcmp(base, name);
        if (found)
            snprintf(out, size, "%s", path);
    }
    free(line);
    if (in)
        fclose(in);
    return found;
}

// The path that the kernel opens: it resolves absolute links below ktop's root, not below the process's.
static void kernel_path(struct probe_file *file, const char *path, pid_t pid, const struct stat *opened) {
    struct stat seen;
    if (pid > 0)
        snprintf(file->path, sizeof(file->path), "/proc/%d/root%s", (int)pid, path);
    else
        snprintf(file->path, sizeof(file->path), "%s", path);
    if (!strpbrk(file->path, " \t") && !stat(file->path, &seen) && seen.st_dev == opened->st_dev &&
        seen.st_ino == opened->st_ino)
        return;
    snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

static int open_it(struct probe_file *file, const struct probe_spec *spec, pid_t pid, struct stat *opened,
                   struct choice_error *error) {
    char path[PROBE_PATH_MAX], *real = NULL;
    snprintf(path, sizeof(path), "%s", spec->path);
    if (!strchr(path, '/') && !(pid > 0 && mapped_path(spec->path, pid, path, sizeof(path))))
        return choice_refuse(error, -ENOENT, spec->place, "%.80s: %s", spec->path,
                             pid > 0
                                 ? "the process maps no file of this name: give its path"
                                 : "give the path of the file, or with --pid the name of a file that the process maps");
    if (path[0] != '/' && (real = realpath(path, NULL)))
        snprintf(path, sizeof(path), "%s", real);
    free(real);
    int root = open_root(pid);
    file->fd = root < 0 ? root : open_below(root, path, false, opened);
    if (root >= 0)
        close(root);
    if (file->fd < 0) {
        int code = file->fd;
        file->fd = -1;
        return choice_refuse(error, code, spec->place, "%.120s%s: %s", path, pid > 0 ? " of the process" : "",
                             code == -EINVAL ? "not a regular file" : strerror(-code));
    }
    kernel_path(file, path, pid, opened);
    return 0;
}

// ---- symbols ----

struct lookup {
    const char *wanted;
    uint64_t addresses[16], size;
    size_t n;
    bool ifunc, undefined, is_data;
    char **near; // names, for a misspelt one; NULL-terminated
    size_t n_near;
    char target[128]; // of an IFUNC: one of its implementations
};

static void look_at(void *context, const GElf_Sym *symbol, const char *name) {
    struct lookup *lookup = context;
    unsigned type = GELF_ST_TYPE(symbol->st_info);
    char plain[DEMANGLED_MAX];
    size_t length = strcspn(name, "@"), wanted = strlen(lookup->wanted);
    bool same = length == wanted && !memcmp(name, lookup->wanted, wanted);
    if (!same && demangle_wanted(name) && strpbrk(lookup->wanted, ":<~ "))
        same = demangle(name, plain) && !strcmp(plain, lookup->wanted);
    if (!same) {
        if (symbol->st_shndx != SHN_UNDEF && type == STT_FUNC && lookup->n_near < NEAR_MAX)
            lookup->near[lookup->n_near++] = (char *)(uintptr_t)name;
        const char *inside = strstr(name, lookup->wanted);
        if (inside && type == STT_FUNC && !lookup->target[0] && inside[wanted] == '_' && symbol->st_shndx != SHN_UNDEF)
            snprintf(lookup->target, sizeof(lookup->target), "%.*s", (int)length, name);
        return;
    }
    if (symbol->st_shndx == SHN_UNDEF) {
        lookup->undefined = true;
        return;
    }
    if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_NOTYPE) {
        lookup->is_data = true;
        return;
    }
    lookup->ifunc |= type == STT_GNU_IFUNC;
    for (size_t i = 0; i < lookup->n; i++)
        if (lookup->addresses[i] == symbol->st_value)
            return;
    if (lookup->n < sizeof(lookup->addresses) / sizeof(lookup->addresses[0]))
        lookup->addresses[lookup->n++] = symbol->st_value;
    lookup->size = symbol->st_size;
}

static int symbol_missing(const struct probe_spec *spec, const struct lookup *lookup, bool has_symbols,
                          struct choice_error *error) {
    if (lookup->undefined)
        return choice_refuse(error, -ENOENT, spec->place,
                             "%.60s: the file only calls it through its PLT: probe the library that defines it",
                             spec->symbol);
    if (lookup->is_data)
        return choice_refuse(error, -EINVAL, spec->place, "%.60s is a variable, not a function", spec->symbol);
    if (!has_symbols)
        return choice_refuse(error, -ENOENT, spec->place,
                             "%.60s: the file has no symbols: install its debug package, or give an offset",
                             spec->symbol);
    lookup->near[lookup->n_near] = NULL;
    const char *nearest = name_nearest(spec->symbol, (const char *const *)lookup->near);
    return choice_refuse(error, -ENOENT, spec->place, "%.60s: the file has no such function%s%.60s%s", spec->symbol,
                         nearest ? "; did you mean " : "", nearest ? nearest : "", nearest ? "?" : "");
}

static int symbol_judge(const struct probe_spec *spec, const struct lookup *lookup, struct choice_error *error) {
    if (lookup->ifunc)
        return choice_refuse(error, -EINVAL, spec->place,
                             "%.60s is an IFUNC: it only selects the function that is called; probe that one%s%.60s",
                             spec->symbol, lookup->target[0] ? ", for example " : "", lookup->target);
    if (lookup->n > 1)
        return choice_refuse(error, -EINVAL, spec->place,
                             "%.60s: %zu functions have this name: give an offset in the file instead", spec->symbol,
                             lookup->n);
    if (lookup->size && spec->offset >= lookup->size)
        return choice_refuse(error, -EINVAL, spec->place, "%.60s has %llu bytes: the offset is behind its end",
                             spec->symbol, (unsigned long long)lookup->size);
    return 0;
}

static int symbol_resolve(struct probe_file *file, const struct elf_file *elf, const struct probe_spec *spec, pid_t pid,
                          struct choice_error *error) {
    struct lookup lookup = {.wanted = spec->symbol, .near = xcalloc(NEAR_MAX + 1, sizeof(char *))};
    char *strings[3] = {NULL};
    struct elf_file debug = {0};
    int debug_fd = -1;
    strings[0] = elf_names_each(elf, ".symtab", look_at, &lookup);
    if (!lookup.n)
        strings[1] = elf_names_each(elf, ".dynsym", look_at, &lookup);
    if (!lookup.n && !strings[0]) {
        debug_fd = debug_file_open(elf, pid, spec->path, &debug);
        if (debug_fd >= 0)
            strings[2] = elf_names_each(&debug, ".symtab", look_at, &lookup);
    }
    int result = lookup.n ? symbol_judge(spec, &lookup, error)
                          : symbol_missing(spec, &lookup, strings[0] || strings[1] || strings[2], error);
    if (!result && !elf_offset(elf, lookup.addresses[0] + spec->offset, true, &file->sites[0].offset))
        result = choice_refuse(error, -EINVAL, spec->place, "%.60s is not in the code of the file", spec->symbol);
    file->n_sites = result ? 0 : 1;
    if (debug_fd >= 0) {
        elf_file_close(&debug);
        close(debug_fd);
    }
    for (int i = 0; i < 3; i++)
        free(strings[i]);
    free(lookup.near);
    return result;
}

// ---- USDT ----

static int usdt_resolve(struct probe_file *file, const struct elf_file *elf, const struct probe_spec *spec,
                        struct choice_error *error) {
    struct usdt_site *sites = xcalloc(PROBE_SITES_MAX, sizeof(*sites));
    char **names;
    size_t left_out = 0, n = usdt_find(elf, spec->symbol, sites, PROBE_SITES_MAX, &names);
    int result = 0;
    if (!n) {
        const char *nearest = name_nearest(spec->symbol, (const char *const *)names);
        result =
            choice_refuse(error, -ENOENT, spec->place, "%.60s: the file has no such USDT probe%s%.60s%s", spec->symbol,
                          nearest    ? "; did you mean "
                          : names[0] ? ", but for example "
                                     : "",
                          nearest    ? nearest
                          : names[0] ? names[0]
                                     : "",
                          nearest ? "?" : "");
    } else if (n > PROBE_SITES_MAX) {
        result = choice_refuse(error, -E2BIG, spec->place, "%.60s is at %zu places, more than %d", spec->symbol, n,
                               PROBE_SITES_MAX);
    }
    for (size_t i = 0; i < n && !result; i++) {
        struct probe_site *site = &file->sites[i];
        *site = (struct probe_site){.offset = 0};
        if (!elf_offset(elf, sites[i].address, true, &site->offset) ||
            (sites[i].semaphore && !elf_offset(elf, sites[i].semaphore, false, &site->semaphore)))
            result = choice_refuse(error, -EINVAL, spec->place,
                                   "%.60s: its note is damaged: an address is not in the file", spec->symbol);
        left_out += usdt_args(sites[i].args, elf->machine, site->args, sizeof(site->args));
    }
    if (left_out)
        snprintf(file->note, sizeof(file->note),
                 "%.60s: %zu argument%s missing: the kernel cannot fetch floats and indexed memory", spec->symbol,
                 left_out, left_out > 1 ? "s are" : " is");
    file->n_sites = result ? 0 : n;
    usdt_names_free(names);
    free(sites);
    return result;
}

int probe_file_open(struct probe_file *file, const struct probe_spec *spec, pid_t pid, struct choice_error *error) {
    struct stat opened;
    struct elf_file elf = {0};
    *file = (struct probe_file){.fd = -1};
    int result = open_it(file, spec, pid, &opened, error);
    if (result)
        return result;
    const struct elf_source source = {.fd = file->fd, .size = (uint64_t)opened.st_size};
    result = elf_file_open(&elf, &source);
    if (result)
        choice_refuse(error, result, spec->place, "%.120s: %s", spec->path,
                      result == -ENOEXEC ? "not an ELF file" : strerror(-result));
    else if (spec->returns && elf_is_go(&elf))
        result =
            choice_refuse(error, -EINVAL, spec->place,
                          "%.80s is a Go program: a return probe would crash it, because Go moves stacks", spec->path);
    else if (spec->kind == PROBE_USDT)
        result = usdt_resolve(file, &elf, spec, error);
    else if (spec->symbol[0])
        result = symbol_resolve(file, &elf, spec, pid, error);
    else {
        file->sites[0] = (struct probe_site){.offset = spec->offset, .semaphore = spec->semaphore};
        file->n_sites = 1;
    }
    elf_file_close(&elf);
    return result;
}

void probe_file_close(struct probe_file *file) {
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}
