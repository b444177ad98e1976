// Search for separate debug files; see the header.
#include "collectors/kernel/symbols/debug_file.h"

#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/symbols/open.h"
#include "model/mem.h"

#define LINK_MAX_BYTES 4096
#define CHECKSUM_MAX ((uint64_t)1 << 30) // bytes of a debug file that only its checksum can identify
#define CHUNK (128u << 10)

struct search {
    const struct elf_file *file;
    uint8_t build_id[BUILD_ID_MAX];
    size_t build_id_size;
    char hex[2 * BUILD_ID_MAX + 1];
    char *link; // .gnu_debuglink's name; NULL: none
    uint32_t link_crc;
    char directory[PATH_MAX]; // of the file
    struct elf_file *out;
};

static bool checksum_fits(int fd, uint64_t size, uint32_t expected) {
    uint8_t *chunk = xmalloc(CHUNK);
    uint32_t crc = 0;
    uint64_t at = 0;
    while (size <= CHECKSUM_MAX && at < size) {
        ssize_t n = pread(fd, chunk, CHUNK, (off_t)at);
        if (n <= 0)
            break;
        crc = lzma_crc32(chunk, (size_t)n, crc); // the same polynomial as .gnu_debuglink's
        at += (uint64_t)n;
    }
    free(chunk);
    return at == size && crc == expected;
}

// Takes the descriptor. Returns it if the file belongs to the searched one, else -1.
static int accept_file(struct search *search, int fd, const struct stat *stat, bool by_link) {
    uint8_t build_id[BUILD_ID_MAX];
    struct elf_source source = {.fd = fd, .size = (uint64_t)stat->st_size};
    if (fd < 0)
        return -1;
    if (!elf_file_open(search->out, &source)) {
        size_t size = elf_file_build_id(search->out, build_id);
        bool both = size && search->build_id_size;
        if (both ? size == search->build_id_size && !memcmp(build_id, search->build_id, size)
                 : by_link && checksum_fits(fd, source.size, search->link_crc))
            return fd;
    }
    elf_file_close(search->out);
    close(fd);
    return -1;
}

static int try_below(struct search *search, int root, const char *path, bool by_link) {
    struct stat stat;
    return accept_file(search, open_below(root, path, false, &stat), &stat, by_link);
}

static int search_root(struct search *search, int root) {
    static const char *const places[] = {"%s/%s", "%s/.debug/%s", "/usr/lib/debug%s/%s"};
    char path[PATH_MAX + LINK_MAX_BYTES + 32];
    int fd = -1;
    if (search->build_id_size > 1) {
        snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", search->hex, search->hex + 2);
        fd = try_below(search, root, path, false);
    }
    for (size_t i = 0; fd < 0 && search->link && i < sizeof(places) / sizeof(*places); i++) {
        snprintf(path, sizeof(path), places[i], search->directory, search->link);
        fd = try_below(search, root, path, true);
    }
    return fd;
}

// Caches are trusted if they are ours: as root, another user's file must not choose the names.
static int try_cache(struct search *search, const char *base, const char *below) {
    char path[PATH_MAX];
    struct stat directory, stat;
    if (!base || base[0] != '/')
        return -1;
    int n = snprintf(path, sizeof(path), "%s%s/%s", base, below, search->hex);
    if (n < 0 || (size_t)n + sizeof("/debuginfo") > sizeof(path) || lstat(path, &directory) ||
        !S_ISDIR(directory.st_mode) || (directory.st_uid != geteuid() && directory.st_uid != 0) ||
        (directory.st_mode & (S_IWGRP | S_IWOTH)))
        return -1;
    strcat(path, "/debuginfo");
    int fd = open_regular(path, true, &stat);
    if (fd >= 0 && stat.st_uid != geteuid() && stat.st_uid != 0) {
        close(fd);
        fd = -1;
    }
    return accept_file(search, fd, &stat, false);
}

static int search_caches(struct search *search) {
    if (!search->build_id_size)
        return -1;
    int fd = try_cache(search, getenv("DEBUGINFOD_CACHE_PATH"), "");
    if (fd < 0)
        fd = try_cache(search, getenv("XDG_CACHE_HOME"), "/debuginfod_client");
    if (fd < 0)
        fd = try_cache(search, getenv("HOME"), "/.cache/debuginfod_client");
    return fd >= 0 ? fd : try_cache(search, getenv("HOME"), "/.debuginfod_client_cache");
}

// The name and the checksum of .gnu_debuglink: a name, padding to 4 bytes, the checksum.
static void read_link(struct search *search) {
    size_t size = 0;
    const GElf_Shdr *section = elf_file_section(search->file, ".gnu_debuglink");
    char *bytes = section ? (char *)elf_file_section_bytes(search->file, section, LINK_MAX_BYTES, &size) : NULL;
    size_t length = bytes ? strnlen(bytes, size) : 0, crc = (length + 4) & ~(size_t)3;
    if (!length || crc + 4 > size || memchr(bytes, '/', length)) {
        free(bytes);
        return;
    }
    memcpy(&search->link_crc, bytes + crc, 4);
    if (search->file->encoding != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
        search->link_crc = __builtin_bswap32(search->link_crc);
    search->link = bytes;
}

int debug_file_open(const struct elf_file *file, pid_t pid, const char *path, struct elf_file *out) {
    struct search search = {.file = file, .out = out};
    search.build_id_size = elf_file_build_id(file, search.build_id);
    for (size_t i = 0; i < search.build_id_size; i++)
        snprintf(search.hex + 2 * i, 3, "%02x", search.build_id[i]);
    const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;
    if (slash && (size_t)(slash - path) < sizeof(search.directory)) {
        memcpy(search.directory, path, (size_t)(slash - path));
        read_link(&search);
    }
    int found = -1;
    for (int host = 0; host < 2 && found < 0; host++) {
        int root = open_root(host ? 0 : pid);
        if (root < 0)
            continue;
        found = search_root(&search, root);
        close(root);
    }
    if (found < 0)
        found = search_caches(&search);
    free(search.link);
    return found;
}
