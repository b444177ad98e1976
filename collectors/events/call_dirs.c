#include "collectors/events/call_dirs.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/clock.h"
#include "model/mem.h"

#define PROCESSES 1024 // powers of two
#define DESCRIPTORS 4096
#define PATH_BYTES 256
#define LATE 1024
#define READS_MOST 20000      // of /proc, in an interval: 100 ms of CPU
#define READ_NS 1000000000ull // a PID is not reused so soon
#define OPENED_NS 10000000000ull
// A directory changes some time before its record: the thread may lose its CPU in between.
#define GUARD_NS 2000000ull

struct dir {
    uint32_t pid;
    int fd;
    uint64_t ns;           // of the record that made it; 0: read from /proc
    uint64_t read_ns;      // when it was read
    char path[PATH_BYTES]; // "": unknown
};
struct call_dirs {
    const char *proc;
    uint32_t reads;
    struct dir processes[PROCESSES], descriptors[DESCRIPTORS];
    uint64_t late[LATE]; // read_ns of what may be wrong
    uint64_t n_late, n_late_before;
};

struct call_dirs *call_dirs_new(const char *proc) {
    struct call_dirs *dirs = xcalloc(1, sizeof(*dirs));
    dirs->proc = proc;
    return dirs;
}

void call_dirs_free(struct call_dirs *dirs) {
    free(dirs);
}

void call_dirs_begin(struct call_dirs *dirs) {
    dirs->reads = 0;
    dirs->n_late_before = dirs->n_late;
}

static struct dir *slot_of(struct call_dirs *dirs, uint32_t pid, int fd) {
    if (fd == AT_FDCWD)
        return &dirs->processes[pid & (PROCESSES - 1)];
    return &dirs->descriptors[(pid * 2654435761u ^ (uint32_t)fd * 40503u) & (DESCRIPTORS - 1)];
}

// What was read shortly before the change, or after it, may be wrong.
static void doubt(struct call_dirs *dirs, const struct dir *dir, uint64_t ns) {
    if (dir->read_ns && dir->read_ns + GUARD_NS >= ns)
        dirs->late[dirs->n_late++ % LATE] = dir->read_ns;
}

bool call_dirs_was_late(const struct call_dirs *dirs, uint64_t read_ns) {
    if (!read_ns)
        return false;
    if (dirs->n_late - dirs->n_late_before > LATE)
        return true;
    for (uint64_t i = 0; i < dirs->n_late && i < LATE; i++)
        if (dirs->late[i] == read_ns)
            return true;
    return false;
}

static void slot_take(struct call_dirs *dirs, struct dir *dir, uint32_t pid, int fd, uint64_t ns) {
    // Of another owner, later changes are not followed any more.
    doubt(dirs, dir, dir->pid == pid && dir->fd == fd ? ns : now_ns());
    *dir = (struct dir){.pid = pid, .fd = fd};
}

static bool link_read(struct call_dirs *dirs, uint32_t tid, int fd, char *out, size_t size) {
    char name[64];
    if (!dirs->proc || dirs->reads >= READS_MOST)
        return false;
    dirs->reads++;
    if (fd == AT_FDCWD)
        snprintf(name, sizeof(name), "%s/%u/cwd", dirs->proc, tid);
    else
        snprintf(name, sizeof(name), "%s/%u/fd/%d", dirs->proc, tid, fd);
    ssize_t length = readlink(name, out, size - 1);
    if (length <= 0 || (size_t)length >= size - 1 || *out != '/')
        return false;
    out[length] = '\0';
    return true;
}

bool call_dirs_find(struct call_dirs *dirs, uint32_t tid, uint32_t pid, int fd, char *out, size_t size,
                    uint64_t *read_ns) {
    struct dir *dir = slot_of(dirs, pid, fd);
    bool mine = dir->pid == pid && dir->fd == fd;
    uint64_t now = now_ns();
    *read_ns = 0;
    uint64_t until = dir->ns ? dir->ns + OPENED_NS : dir->read_ns + READ_NS;
    if (mine && *dir->path && now < until) {
        snprintf(out, size, "%s", dir->path);
        *read_ns = dir->ns ? 0 : dir->read_ns;
        return true;
    }
    if (!link_read(dirs, tid, fd, out, size))
        return false;
    // Taken after the link: a change until now has an earlier time.
    *read_ns = now_ns();
    slot_take(dirs, dir, pid, fd, *read_ns);
    dir->read_ns = *read_ns;
    if (strlen(out) < PATH_BYTES)
        snprintf(dir->path, PATH_BYTES, "%s", out);
    return true;
}

void call_dirs_opened(struct call_dirs *dirs, uint32_t pid, int fd, uint64_t ns, const char *path) {
    struct dir *dir = slot_of(dirs, pid, fd);
    slot_take(dirs, dir, pid, fd, ns);
    dir->ns = ns;
    if (path && strlen(path) < PATH_BYTES)
        snprintf(dir->path, PATH_BYTES, "%s", path);
}

void call_dirs_duplicated(struct call_dirs *dirs, uint32_t pid, int from, int fd, uint64_t ns) {
    const struct dir *old = slot_of(dirs, pid, from);
    char path[PATH_BYTES] = "";
    if (old->pid == pid && old->fd == from && old->ns && ns - old->ns < OPENED_NS)
        snprintf(path, sizeof(path), "%s", old->path);
    call_dirs_opened(dirs, pid, fd, ns, *path ? path : NULL);
}
