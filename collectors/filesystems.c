// The collector "mounts": how full the mounted file systems are, from statvfs(3) of each; the list of them anew
// only when the kernel says that it changed. It must never ask one that may not answer (filesystem_wanted); where a
// path leads over such a one it hangs, and nothing else does.
#include "collectors/filesystems.h"

#include <errno.h>
#include <fcntl.h>
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
#include "model/mem.h"

#define MOUNTS "/proc/self/mounts"
#define MOUNTS_MAX 256

enum { MOUNT, TYPE, DEVICE, SIZE, AVAILABLE, USED_PCT, INODES, INODES_FREE, COLUMNS };

static const struct column columns[COLUMNS] = {
    [MOUNT] = {.name = "mount",
               .title = "MOUNT",
               .help = "Where the file system is mounted (first)",
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
    int fd; // of the list of mounts: an error to poll(2) when it changed
    struct table_builder *builder;
    struct mounted mounted[MOUNTS_MAX];
    size_t n, left_out;
};

bool filesystem_wanted(const struct mntent *mount) {
    bool local = !strncmp(mount->mnt_fsname, "/dev/", 5) || !strcmp(mount->mnt_type, "tmpfs") ||
                 !strcmp(mount->mnt_type, "zfs") ||
                 (!strcmp(mount->mnt_type, "overlay") && !strcmp(mount->mnt_dir, "/")); // what a container has
    return local && strncmp(mount->mnt_type, "fuse", 4) != 0 && !hasmntopt(mount, "ro");
}

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

static const struct text *device_of(const struct mntent *mount) {
    struct stat source, root;
    char path[128], link[512], name[64];
    dev_t device = stat(mount->mnt_fsname, &source) == 0 && S_ISBLK(source.st_mode) ? source.st_rdev
                   : stat(mount->mnt_dir, &root) == 0                               ? root.st_dev
                                                                                    : 0;
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
    all->n = all->left_out = 0;
}

// One file system may be mounted many times; of those on a device the device tells.
static bool is_known(const struct filesystems *all, const char *source, const char *path, const char *const *sources) {
    for (size_t i = 0; i < all->n; i++)
        if (!strcmp(all->mounted[i].path, path) || (source[0] == '/' && !strcmp(sources[i], source)))
            return true;
    return false;
}

static void mounts_list(struct filesystems *all) {
    char line[8192], *sources[MOUNTS_MAX];
    struct mntent mount;
    FILE *in = setmntent(MOUNTS, "re");
    mounts_forget(all);
    while (in && getmntent_r(in, &mount, line, sizeof line)) {
        if (!filesystem_wanted(&mount) || is_known(all, mount.mnt_fsname, mount.mnt_dir, (const char *const *)sources))
            continue;
        if (all->n == MOUNTS_MAX) {
            all->left_out++;
            continue;
        }
        uint32_t slot = table_builder_add(all->builder);
        sources[all->n] = xstrdup(mount.mnt_fsname);
        all->mounted[all->n++] = (struct mounted){xstrdup(mount.mnt_dir), slot};
        table_builder_set_text(all->builder, slot, MOUNT, text_from(mount.mnt_dir));
        table_builder_set_text(all->builder, slot, TYPE, text_from(mount.mnt_type));
        table_builder_set_text(all->builder, slot, DEVICE, device_of(&mount));
    }
    for (size_t i = 0; i < all->n; i++)
        free(sources[i]);
    if (in)
        endmntent(in);
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
    all->fd = open(MOUNTS, O_RDONLY | O_CLOEXEC);
    if (all->fd >= 0) {
        mounts_list(all);
        return 0;
    }
    snprintf(run->reason, sizeof run->reason, "file systems are not known: " MOUNTS " is not readable");
    snprintf(run->fix, sizeof run->fix, "mount /proc");
    return -ENOENT;
}

static int filesystems_sample(struct collector_run *run, struct section *out) {
    struct filesystems *all = run->state;
    struct pollfd changed = {.fd = all->fd, .events = POLLPRI};
    if (poll(&changed, 1, 0) > 0)
        mounts_list(all);
    for (size_t i = 0; i < all->n; i++)
        mounted_sample(all, &all->mounted[i]);
    if (all->left_out)
        section_note(out, SEVERITY_WARNING, "used_pct", "there are more file systems than are looked at", NULL);
    section_table(out, table_builder_seal(all->builder));
    return 0;
}

static void filesystems_close(struct collector_run *run) {
    struct filesystems *all = run->state;
    run->state = NULL;
    if (!all)
        return;
    mounts_forget(all);
    if (all->fd >= 0)
        close(all->fd);
    table_builder_free(all->builder);
    free(all);
}

static const struct table_def *const tables[] = {&filesystems_table, NULL};

const struct collector collector_filesystems = {
    .name = "mounts",
    .help = "How full the file systems of this machine are: a question to the kernel for each, a few microseconds.",
    .always = true,
    .tables = tables,
    .open = filesystems_open,
    .sample = filesystems_sample,
    .close = filesystems_close,
};
