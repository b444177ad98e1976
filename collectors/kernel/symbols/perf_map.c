// Perf maps; see the header. jitdump.c reads the records of the other format.
#include "collectors/kernel/symbols/perf_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/symbols/jitdump.h"
#include "collectors/kernel/symbols/open.h"
#include "model/mem.h"

#define CHUNK (256u << 10)

void jit_owner_read(struct jit_owner *owner, pid_t pid) {
    char path[64], line[512];
    unsigned real, effective;
    if (owner->pid != pid)
        *owner = (struct jit_owner){.pid = pid, .ns_pid = pid};
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *status = fopen(path, "re");
    while (status && fgets(line, sizeof(line), status)) {
        if (sscanf(line, "Uid: %u %u", &real, &effective) == 2) {
            owner->known = true;
            owner->real = real;
            owner->effective = effective;
        }
        const char *last = strncmp(line, "NSpid:", 6) == 0 ? strrchr(line, '\t') : NULL;
        if (last)
            owner->ns_pid = atoi(last + 1);
    }
    if (status)
        fclose(status);
}

static bool is_trusted(const struct jit_owner *owner, uid_t uid) {
    return uid == 0 || (owner->known ? uid == owner->real || uid == owner->effective : uid == geteuid());
}

static void refuse(char reason[160], const char *path, const char *why) {
    snprintf(reason, 160, "JIT code is unnamed: %.60s %s", path, why);
}

// -ENOENT: not there, another place may have it.
static int open_at(pid_t root_of, const char *path, const struct jit_owner *owner, struct stat *stat,
                   char reason[160]) {
    int root = open_root(root_of);
    if (root < 0)
        return -ENOENT;
    int fd = open_below(root, path, true, stat);
    close(root);
    if (fd == -ELOOP)
        refuse(reason, path, "is a symbolic link");
    else if (fd == -EINVAL)
        refuse(reason, path, "is not a regular file");
    else if (fd < 0 && fd != -ENOENT)
        refuse(reason, path, strerror(-fd));
    if (fd < 0 || is_trusted(owner, stat->st_uid))
        return fd;
    refuse(reason, path, "belongs to another user than the process");
    close(fd);
    return -EPERM;
}

static int open_kind(enum jit_file_kind kind, const struct jit_owner *owner, const char *path, struct stat *stat,
                     char reason[160]) {
    char map[64];
    if (kind == JIT_DUMP)
        return open_at(owner->pid, path, owner, stat, reason);
    snprintf(map, sizeof(map), "/tmp/perf-%d.map", owner->ns_pid);
    int fd = open_at(owner->pid, map, owner, stat, reason);
    if (fd != -ENOENT)
        return fd;
    snprintf(map, sizeof(map), "/tmp/perf-%d.map", (int)owner->pid);
    return open_at(0, map, owner, stat, reason);
}

int jit_file_open(struct jit_file *file, enum jit_file_kind kind, const struct jit_owner *owner, const char *path,
                  bool *restarted, char reason[160]) {
    struct stat stat;
    *restarted = false;
    reason[0] = '\0';
    int fd = open_kind(kind, owner, path, &stat, reason);
    if (fd < 0)
        return fd;
    if (file->inode != stat.st_ino || file->device != stat.st_dev || file->offset > (uint64_t)stat.st_size) {
        *restarted = file->offset != 0;
        *file = (struct jit_file){.device = stat.st_dev, .inode = stat.st_ino};
    }
    if ((uint64_t)stat.st_size > file->offset && file->offset < PERF_MAP_BYTES_MAX)
        return fd;
    if (file->offset >= PERF_MAP_BYTES_MAX)
        refuse(reason, "its map", "is larger than 256 MiB: newer code has no names");
    close(fd);
    return -EAGAIN;
}

static bool hex(const char **at, const char *end, uint64_t *value) {
    const char *p = *at;
    if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        p += 2;
    const char *first = p;
    for (*value = 0; p < end && p - first < 16; p++) {
        int digit = *p >= '0' && *p <= '9'   ? *p - '0'
                    : *p >= 'a' && *p <= 'f' ? *p - 'a' + 10
                    : *p >= 'A' && *p <= 'F' ? *p - 'A' + 10
                                             : -1;
        if (digit < 0)
            break;
        *value = *value << 4 | (uint64_t)digit;
    }
    *at = p;
    return p > first && p < end && *p == ' ';
}

// "START SIZE name with blanks"; false: the builder is full.
static bool read_line(const char *line, const char *end, struct symbol_builder *builder, uint32_t *rank) {
    uint64_t start, size;
    const char *at = line;
    if (!hex(&at, end, &start))
        return true;
    at++;
    if (!hex(&at, end, &size) || !size || end - at < 2)
        return true;
    at++;
    if (end[-1] == '\r')
        end--;
    struct symbol_draft draft = {.start = start, .end = start + size, .rank = *rank};
    if (draft.end <= start || size > UINT32_MAX || end <= at)
        return true;
    if (!symbol_builder_add(builder, &draft, at, (size_t)(end - at), NULL))
        return false;
    ++*rank;
    return true;
}

static bool read_map(struct jit_file *file, int fd, struct symbol_builder *builder, uint32_t *rank) {
    char *chunk = xmalloc(CHUNK);
    bool full = false, skipping = false; // the rest of a line longer than a chunk
    while (!full && file->offset < PERF_MAP_BYTES_MAX) {
        ssize_t n = pread(fd, chunk, CHUNK, (off_t)file->offset);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        const char *line = chunk, *end = chunk + n, *newline;
        while (!full && (newline = memchr(line, '\n', (size_t)(end - line)))) {
            full = !skipping && !read_line(line, newline, builder, rank);
            if (full)
                break;
            skipping = false;
            line = newline + 1;
        }
        if (line == chunk && !full) {
            if (n < (ssize_t)CHUNK)
                break; // a line that is being written
            skipping = true;
            line = end;
        }
        file->offset += (uint64_t)(line - chunk);
    }
    free(chunk);
    return full;
}

bool jit_file_read(struct jit_file *file, enum jit_file_kind kind, int fd, struct symbol_builder *builder,
                   uint32_t *rank) {
    return kind == JIT_DUMP ? jitdump_read(file, fd, builder, rank) : read_map(file, fd, builder, rank);
}
