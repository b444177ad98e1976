// Which open files fill a file system: searched only while one is nearly full or fills up. Each sample reads the
// descriptors of a bounded number of processes, those that run first, and stats again the files that it keeps. A file
// of another file system may not block: statx is asked not to synchronise with a server.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collectors/filesystems/files.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "model/columns.h"
#include "model/mem.h"

#define PROCESSES_MAX 128 // whose descriptors are listed per sample; half of them may be idle
#define LINKS_MAX 2048    // descriptors per sample
#define KEPT_MAX 48
#define LEAST_SHARE 0.01 // of the file system's size; smaller files are kept only if they grow
#define GROWTH_NS 700000000u
#define GONE_NS 5000000000ull // a closed file may be opened again, by another process of a script

enum { PID, FILE_NAME, COMM, MOUNT, SIZE, GROWTH, DELETED, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = "The process that has the file open."),
    [FILE_NAME] = TEXT_COLUMN("file", "FILE", 32, .help = "Path of the file, or its last path if it is deleted."),
    [COMM] = COLUMN_COMM(.help = "Name of that process."),
    [MOUNT] = TEXT_COLUMN("mount", "MOUNT", 24, .help = "Mount point of the file system."),
    [SIZE] = {.name = "size_kib", .title = "SIZE", .help = "Space that the file uses.", .unit = UNIT_KIB, .width = 7},
    [GROWTH] = {.name = "growth_kib_per_s",
                .title = "GROWTH/s",
                .help = "KiB per second by which it grew since the last sample.",
                .unit = UNIT_KIB,
                .width = 8},
    [DELETED] = {.name = "deleted",
                 .title = "DELETED",
                 .help = "1 if it has no name any more: du(1) does not count it.",
                 .unit = UNIT_COUNT,
                 .width = 7},
};

const struct table_def filesystem_files_table = {
    .name = "filesystem_files",
    .help = "Open files that are large or grow, on file systems that are nearly full or fill up.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
};

struct kept {
    int32_t pid, fd; // pid 0: unused
    uint64_t inode, device;
    double kib, growth, share; // growth NAN: not measured
    uint64_t read_ns;
    bool deleted;
    uint64_t gone_ns;                       // when its process was found to have closed it; 0: it is open
    const struct text *file, *comm, *mount; // references
};

struct files {
    struct table_builder *builder;
    struct kept kept[KEPT_MAX];
    const struct files_target *targets;
    size_t n_targets;
    const struct table *tasks;
    size_t seen, turn, processes, links;
    uint64_t now_ns;
};

static void kept_drop(struct kept *kept) {
    text_unref(kept->file);
    text_unref(kept->comm);
    text_unref(kept->mount);
    *kept = (struct kept){0};
}

// The file behind the descriptor; false: none, or no regular file.
static bool file_stat(int32_t pid, int32_t fd, struct statx *out) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_BASIC_STATS, out) && S_ISREG(out->stx_mode);
}

static const struct files_target *target_of(const struct files *files, const struct statx *is) {
    uint64_t device = makedev(is->stx_dev_major, is->stx_dev_minor);
    for (size_t i = 0; i < files->n_targets; i++)
        if (files->targets[i].device == device)
            return &files->targets[i];
    return NULL;
}

static void kept_step(struct files *files, struct kept *kept, const struct statx *is) {
    double kib = (double)is->stx_blocks / 2, seconds = (double)(files->now_ns - kept->read_ns) / 1e9;
    if (files->now_ns - kept->read_ns >= GROWTH_NS) {
        kept->growth = (kib - kept->kib) / seconds;
        kept->kib = kib;
        kept->read_ns = files->now_ns;
    }
    kept->deleted = !is->stx_nlink;
}

// The smallest one that does not grow makes room.
static struct kept *kept_place(struct files *files, double kib) {
    struct kept *place = NULL;
    for (size_t i = 0; i < KEPT_MAX; i++) {
        struct kept *kept = &files->kept[i];
        if (!kept->pid)
            return kept;
        if (!(kept->growth > 0) && (!place || kept->kib < place->kib))
            place = kept;
    }
    if (!place || place->kib >= kib)
        return NULL;
    kept_drop(place);
    return place;
}

static void file_take(struct files *files, int32_t pid, int32_t fd, const struct text *comm) {
    char path[64], link[512];
    struct statx is;
    snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
    ssize_t n = readlink(path, link, sizeof(link) - 1);
    link[n > 0 ? n : 0] = '\0';
    // "/memfd:NAME (deleted)" is no file of a mounted file system.
    if (link[0] != '/' || !strncmp(link, "/dev/", 5) || !strncmp(link, "/memfd:", 7) || !file_stat(pid, fd, &is))
        return;
    const struct files_target *target = target_of(files, &is);
    struct kept *before = NULL; // of a process that has closed it
    for (size_t i = 0; target && i < KEPT_MAX; i++) {
        bool same = files->kept[i].pid && files->kept[i].inode == is.stx_ino && files->kept[i].device == target->device;
        if (same && files->kept[i].pid == pid && !files->kept[i].gone_ns)
            return;
        if (same && files->kept[i].gone_ns)
            before = &files->kept[i];
    }
    if (before) {
        text_unref(before->comm);
        before->comm = text_ref(comm);
        before->pid = pid;
        before->fd = fd;
        before->gone_ns = 0;
        kept_step(files, before, &is);
        return;
    }
    struct kept *kept = target ? kept_place(files, (double)is.stx_blocks / 2) : NULL;
    if (!kept)
        return;
    static const char mark[] = " (deleted)";
    size_t length = strlen(link), tail = sizeof(mark) - 1;
    if (!is.stx_nlink && length > tail && !strcmp(link + length - tail, mark))
        link[length - tail] = '\0';
    *kept = (struct kept){.pid = pid,
                          .fd = fd,
                          .inode = is.stx_ino,
                          .device = target->device,
                          .kib = (double)is.stx_blocks / 2,
                          .growth = NAN,
                          .share = (double)is.stx_blocks / 2 / target->size_kib,
                          .read_ns = files->now_ns,
                          .deleted = !is.stx_nlink,
                          .file = text_from(link),
                          .comm = text_ref(comm),
                          .mount = text_ref(target->mount)};
}

static void process_look(struct files *files, int32_t pid, const struct text *comm) {
    char path[64];
    int32_t fd;
    snprintf(path, sizeof(path), "/proc/%d/fd", pid);
    DIR *folder = opendir(path);
    files->processes++;
    while (folder && files->links < LINKS_MAX && (fd = proc_next_id(folder)) >= 0) {
        files->links++;
        file_take(files, pid, fd, comm);
    }
    if (folder)
        closedir(folder);
}

// Those that run in every sample, the others in rotation.
static void processes_look(struct files *files) {
    const struct table_def *def = table_def(files->tasks);
    int pid = table_column(def, "pid"), tid = table_column(def, "tid"), comm = table_column(def, "comm"),
        cpu = table_column(def, "cpu_pct"), ended = table_column(def, "ended_s");
    files->processes = files->links = 0;
    for (int idle = 0; idle < 2; idle++) {
        size_t cursor = 0, most = idle ? PROCESSES_MAX : PROCESSES_MAX / 2, turned = 0;
        files->seen = 0;
        for (const union cell *row; (row = table_next(files->tasks, &cursor));) {
            if (row[tid].num != row[pid].num || !isnan(row[ended].num) || (row[cpu].num > 0) == idle)
                continue;
            if (files->processes >= most || files->links >= LINKS_MAX || (idle && files->seen++ < files->turn))
                continue;
            process_look(files, (int32_t)row[pid].num, row[comm].text);
            turned++;
        }
        if (idle)
            files->turn = files->turn + turned >= files->seen ? 0 : files->turn + turned;
    }
}

static void kept_refresh(struct files *files) {
    for (size_t i = 0; i < KEPT_MAX; i++) {
        struct kept *kept = &files->kept[i];
        struct statx is;
        if (!kept->pid)
            continue;
        if (kept->gone_ns) {
            if (files->now_ns > kept->gone_ns + GONE_NS)
                kept_drop(kept);
            continue;
        }
        const struct files_target *target = file_stat(kept->pid, kept->fd, &is) ? target_of(files, &is) : NULL;
        if (!target || is.stx_ino != kept->inode) {
            kept->gone_ns = files->now_ns;
            kept->growth = NAN;
            continue;
        }
        kept_step(files, kept, &is);
        kept->share = kept->kib / target->size_kib;
    }
}

struct files *files_new(void) {
    struct files *files = xcalloc(1, sizeof(*files));
    files->builder = table_builder_new(&filesystem_files_table);
    return files;
}

struct table *files_sample(struct files *files, const struct files_target *targets, size_t n, const struct table *tasks,
                           uint64_t now_ns) {
    files->targets = targets;
    files->n_targets = n;
    files->tasks = tasks;
    files->now_ns = now_ns;
    kept_refresh(files);
    if (n && tasks)
        processes_look(files);
    table_builder_clear(files->builder);
    for (size_t i = 0; i < KEPT_MAX; i++) {
        const struct kept *kept = &files->kept[i];
        if (!kept->pid || kept->gone_ns || (kept->share < LEAST_SHARE && !(kept->growth > 0)))
            continue;
        uint32_t slot = table_builder_add(files->builder);
        table_builder_set_num(files->builder, slot, PID, kept->pid);
        table_builder_set_text(files->builder, slot, FILE_NAME, text_ref(kept->file));
        table_builder_set_text(files->builder, slot, COMM, text_ref(kept->comm));
        table_builder_set_text(files->builder, slot, MOUNT, text_ref(kept->mount));
        table_builder_set_num(files->builder, slot, SIZE, kept->kib);
        table_builder_set_num(files->builder, slot, GROWTH, kept->growth);
        table_builder_set_num(files->builder, slot, DELETED, kept->deleted);
    }
    return table_builder_seal(files->builder);
}

void files_free(struct files *files) {
    if (!files)
        return;
    for (size_t i = 0; i < KEPT_MAX; i++)
        kept_drop(&files->kept[i]);
    table_builder_free(files->builder);
    free(files);
}
