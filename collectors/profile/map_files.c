// Mapped files, shared by processes, and the parser of /proc/PID/maps (Documentation/filesystems/proc.rst).
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/profile/maps_private.h"
#include "model/mem.h"

#define PATH_BYTES_MAX 4096
#define LINE_BYTES_MAX (PATH_BYTES_MAX + 128)
#define TEXT_BYTES_MAX (8u << 20) // of one file: some 80,000 mappings
#define CHUNK 32768

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t size) { // FNV-1a
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3ull;
    return hash;
}

static bool is_anonymous(const char *path) {
    static const char *const starts[] = {"//anon",    "[heap]",      "[stack", "[anon",
                                         "/dev/zero", "anon_inode:", "/SYSV",  "/anon_hugepage"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (!strncmp(path, starts[i], strlen(starts[i])))
            return true;
    return !*path;
}

static bool is_jitdump(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    return !strncmp(name, "jit-", 4) && length > 9 && !strcmp(name + length - 5, ".dump");
}

static bool is_same(const struct map_file *file, uint64_t hash, const struct profile_mmap *mmap) {
    return file->hash == hash && file->device == mmap->device && file->inode == mmap->inode &&
           file->build_id_size == mmap->build_id_size && !memcmp(file->build_id, mmap->build_id, mmap->build_id_size) &&
           !strcmp(file->path, mmap->path);
}

struct map_file *map_file_get(struct space_maps *maps, const struct profile_mmap *mmap) {
    size_t length = strnlen(mmap->path, PATH_BYTES_MAX);
    uint64_t hash = hash_more(0xcbf29ce484222325ull, mmap->path, length);
    hash = hash_more(hash, &mmap->inode, sizeof mmap->inode);
    hash = hash_more(hash, &mmap->device, sizeof mmap->device);
    hash = hash_more(hash, mmap->build_id, mmap->build_id_size);
    struct map_file **bucket = &maps->files[hash % FILE_BUCKETS], *file = *bucket;
    while (file && !is_same(file, hash, mmap))
        file = file->next;
    if (!file) {
        file = xcalloc(1, sizeof *file + length + 1);
        file->hash = hash;
        file->device = mmap->device;
        file->inode = mmap->inode;
        file->build_id_size = mmap->build_id_size;
        memcpy(file->build_id, mmap->build_id, sizeof file->build_id);
        file->anonymous = is_anonymous(mmap->path);
        file->jitdump = is_jitdump(mmap->path);
        memcpy(file->path, mmap->path, length);
        file->next = *bucket;
        *bucket = file;
    }
    file->refs++;
    return file;
}

void map_file_unref(struct space_maps *maps, struct map_file *file) {
    if (--file->refs)
        return;
    struct map_file **at = &maps->files[file->hash % FILE_BUCKETS];
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    free(file);
}

// ---- /proc/PID/maps ----

static bool number(const char **at, int base, char stop, uint64_t *out) {
    char *end;
    if (**at == ' ' || **at == '-')
        return false;
    *out = strtoull(*at, &end, base);
    if (end == *at || *end != stop)
        return false;
    *at = end + 1;
    return true;
}

// "7f00-7f10 r-xp 00001000 fe:01 1234    /path"; the kernel writes a newline in a path as "\012".
static void line_parse(struct space_maps *maps, struct map_list *list, const char *at) {
    struct profile_mmap mmap = {0};
    uint64_t major, minor;
    if (!number(&at, 16, '-', &mmap.start) || !number(&at, 16, ' ', &mmap.end) || mmap.end <= mmap.start ||
        strlen(at) < 5 || at[2] != 'x')
        return;
    at += 5;
    if (!number(&at, 16, ' ', &mmap.offset) || !number(&at, 16, ':', &major) || !number(&at, 16, ' ', &minor))
        return;
    mmap.inode = strtoull(at, (char **)&at, 10);
    mmap.device = major << 32 | minor;
    mmap.path = at + strspn(at, " ");
    if (!strncmp(mmap.path, "[vsyscall]", 10) || list->n + 2 > MAPS_OF_PROCESS_MAX)
        return;
    struct map_file *file = map_file_get(maps, &mmap);
    list_insert(maps, list, (struct map){mmap.start, mmap.end, mmap.offset, file});
}

// "7f00-7f10 r-xp ..."
static bool is_executable(const char *line, size_t length) {
    const char *space = memchr(line, ' ', length);
    return space && length - (size_t)(space - line) > 3 && space[3] == 'x';
}

char *maps_text(int fd) {
    char bytes[CHUNK], *text = NULL;
    size_t held = 0, all = 0, n = 0, room = 0;
    ssize_t got;
    while (all < TEXT_BYTES_MAX && (got = read(fd, bytes + held, sizeof bytes - held)) != 0) {
        char *line = bytes, *end;
        if (got < 0)
            goto bad;
        held += (size_t)got;
        all += (size_t)got;
        for (; (end = memchr(line, '\n', (size_t)(bytes + held - line))); line = end + 1) {
            size_t length = (size_t)(end - line) + 1;
            if (!is_executable(line, length))
                continue;
            if (n + length >= room)
                text = xrealloc(text, room = 2 * (n + length) + 1024);
            memcpy(text + n, line, length);
            n += length;
            text[n] = '\0';
        }
        held = (size_t)(bytes + held - line);
        if (held > LINE_BYTES_MAX) // not what the kernel writes
            goto bad;
        memmove(bytes, line, held);
    }
    return text;
bad:
    free(text);
    return NULL;
}

void maps_parse(struct space_maps *maps, struct map_list *list, char *text) {
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        line_parse(maps, list, line);
    }
}
