// The collector "filesystems": how full the mounted file systems are, from statvfs(3) of each; the list of them anew
// only when the kernel says that it changed. It must never ask one that may not answer (filesystems_choose).
#include "collectors/filesystems/filesystems.h"

#include <errno.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/kernel/proc/file.h"
#include "model/mem.h"

#define MOUNTS "/proc/self/mountinfo"
#define MOUNTS_MAX 256

enum { MOUNT, TYPE, DEVICE, SIZE, AVAILABLE, USED_PCT, INODES, INODES_FREE, COLUMNS };

static const struct column columns[COLUMNS] = {
    [MOUNT] = {.name = "mount",
               .title = "MOUNT",
               .help = "Where the file system is mounted (the shortest path)",
               .type = COLUMN_TEXT,
               .width = 24,
               .ascending = true},
    [TYPE] = {.name = "type",
              .title = "TYPE",
              .help = "Kind of file system: ext4, xfs, tmpfs and so on",
              .type = COLUMN_TEXT,
              .width = 8,
              .ascending = true},
    [DEVICE] = {.name = "device",
                .title = "DEVICE",
                .help = "The disk that it is on",
                .type = COLUMN_TEXT,
                .width = 8,
                .ascending = true},
    [SIZE] = {.name = "size_kib", .title = "SIZE", .help = "Its size", .unit = UNIT_KIB, .width = 7},
    [AVAILABLE] = {.name = "available_kib",
                   .title = "AVAIL",
                   .help = "What programs that are not root's may still write to it",
                   .unit = UNIT_KIB,
                   .width = 7},
    [USED_PCT] = {.name = "used_pct",
                  .title = "USED%",
                  .help = "Used, in percent of used and available, as df(1) has it",
                  .unit = UNIT_PCT,
                  .width = 6},
    [INODES] = {.name = "inodes",
                .title = "INODES",
                .help = "Files and directories that it has room for; not known where it makes room as they come",
                .unit = UNIT_COUNT,
                .width = 7},
    [INODES_FREE] =
        {.name = "inodes_free", .title = "IFREE", .help = "How many more can be made", .unit = UNIT_COUNT, .width = 7},
};

static const struct table_def filesystems_table = {
    .name = "filesystems",
    .help = "How full the file systems are: those of this machine that can be written.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct mounted {
    char *path;
    uint32_t slot;
};

struct filesystems {
    struct proc_file list; // an error to poll(2) when it changed
    bool changed;          // and was not read yet
    struct proc_buffer buffer;
    struct table_builder *builder;
    struct mounted mounted[MOUNTS_MAX];
    size_t n;
    bool left_out;
};

bool filesystem_disk(const char *link, bool partition, char *out, size_t size) {
    const char *end = link + strlen(link), *name;
    for (;;) {
        name = memrchr(link, '/', (size_t)(end - link));
        if (!name || name + 1 == end)
            return false;
        if (!partition)
            break;
        partition = false;
        end = name;
    }
    snprintf(out, size, "%.*s", (int)(end - name) - 1, name + 1);
    return true;
}

static const struct text *device_of(const struct filesystem_mount *mount) {
    struct stat source;
    char path[128], link[512], name[64];
    dev_t device = makedev(mount->major, mount->minor);
    if (!mount->major && mount->source[0] == '/' && stat(mount->source, &source) == 0 && S_ISBLK(source.st_mode))
        device = source.st_rdev; // a file system on several disks has a number of its own: the first of them
    snprintf(path, sizeof path, "/sys/dev/block/%u:%u", major(device), minor(device));
    ssize_t n = readlink(path, link, sizeof link - 1);
    if (n <= 0)
        return NULL;
    link[n] = '\0';
    strcat(path, "/partition");
    return filesystem_disk(link, access(path, F_OK) == 0, name, sizeof name) ? text_from(name) : NULL;
}

static void mounts_forget(struct filesystems *all) {
    for (size_t i = 0; i < all->n; i++) {
        table_builder_remove(all->builder, all->mounted[i].slot);
        free(all->mounted[i].path);
    }
    all->n = 0;
}

static bool is_directory(const char *path) {
    struct stat is;
    return stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

// When it cannot be read what is known stays, until it can.
static int mounts_list(struct filesystems *all) {
    struct filesystem_mount mounts[MOUNTS_MAX];
    int error = proc_file_read(&all->list, &all->buffer);
    if (error < 0)
        return error;
    mounts_forget(all);
    all->n = filesystems_choose(all->buffer.bytes, is_directory, mounts, MOUNTS_MAX, &all->left_out);
    for (size_t i = 0; i < all->n; i++) {
        uint32_t slot = table_builder_add(all->builder);
        all->mounted[i] = (struct mounted){xstrdup(mounts[i].path), slot};
        table_builder_set_text(all->builder, slot, MOUNT, text_from(mounts[i].path));
        table_builder_set_text(all->builder, slot, TYPE, text_from(mounts[i].type));
        table_builder_set_text(all->builder, slot, DEVICE, device_of(&mounts[i]));
    }
    return 0;
}

static void mounted_sample(struct filesystems *all, const struct mounted *mounted) {
    struct statvfs is;
    double values[COLUMNS];
    for (int i = SIZE; i < COLUMNS; i++)
        values[i] = NAN;
    if (statvfs(mounted->path, &is) == 0 && is.f_blocks) { // without blocks: no limit
        double used = (double)is.f_blocks - (double)is.f_bfree, available = (double)is.f_bavail;
        values[SIZE] = (double)is.f_blocks * (double)is.f_frsize / 1024;
        values[AVAILABLE] = available * (double)is.f_frsize / 1024;
        values[USED_PCT] = used + available > 0 ? 100 * used / (used + available) : 0;
        if (is.f_files) {
            values[INODES] = (double)is.f_files;
            values[INODES_FREE] = (double)is.f_favail;
        }
    }
    for (uint16_t i = SIZE; i < COLUMNS; i++)
        table_builder_set_num(all->builder, mounted->slot, i, values[i]);
}

static int filesystems_open(struct collector_run *run) {
    struct filesystems *all = xcalloc(1, sizeof *all);
    run->state = all;
    all->builder = table_builder_new(&filesystems_table);
    all->list = PROC_FILE(MOUNTS);
    if (mounts_list(all) == 0)
        return 0;
    snprintf(run->reason, sizeof run->reason, "file systems are not known: " MOUNTS " is not readable");
    snprintf(run->fix, sizeof run->fix, "mount /proc");
    return -ENOENT;
}

static int filesystems_sample(struct collector_run *run, struct section *out) {
    struct filesystems *all = run->state;
    struct pollfd changed = {.fd = all->list.fd, .events = POLLPRI};
    if (poll(&changed, 1, 0) > 0)
        all->changed = true; // the kernel says so once
    if (all->changed)
        all->changed = mounts_list(all) < 0;
    for (size_t i = 0; i < all->n; i++)
        mounted_sample(all, &all->mounted[i]);
    if (all->left_out)
        section_note(out, SEVERITY_INFO, "used_pct", "there are more file systems than are looked at", NULL);
    section_table(out, table_builder_seal(all->builder));
    return 0;
}

static void filesystems_close(struct collector_run *run) {
    struct filesystems *all = run->state;
    run->state = NULL;
    if (!all)
        return;
    mounts_forget(all);
    proc_file_close(&all->list);
    proc_buffer_free(&all->buffer);
    table_builder_free(all->builder);
    free(all);
}

static const struct table_def *const tables[] = {&filesystems_table, NULL};

const struct collector collector_filesystems = {
    .name = "filesystems",
    .help = "How full the file systems of this machine are: a question to the kernel for each, a few microseconds.",
    .always = true,
    .tables = tables,
    .open = filesystems_open,
    .sample = filesystems_sample,
    .close = filesystems_close,
};
