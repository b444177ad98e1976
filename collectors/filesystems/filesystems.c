// The collector "filesystems": space and inodes of the mounted file systems, from statvfs(3). The list of mounts is
// read again only when the kernel reports a change. Must never call statvfs where it may block (filesystems_choose).
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
#include "collectors/filesystems/creators.h"
#include "collectors/filesystems/files.h"
#include "collectors/kernel/proc/file.h"
#include "model/clock.h"
#include "model/mem.h"

#define MOUNTS "/proc/self/mountinfo"
#define MOUNTS_MAX 256

enum { MOUNT, TYPE, DEVICE, SIZE, AVAILABLE, USED_PCT, INODES, INODES_FREE, FILL, COLUMNS };

static const struct column columns[COLUMNS] = {
    [MOUNT] = {.name = "mount",
               .title = "MOUNT",
               .help = "Mount point (the shortest path).",
               .type = COLUMN_TEXT,
               .width = 24,
               .ascending = true},
    [TYPE] = {.name = "type",
              .title = "TYPE",
              .help = "Type of file system: ext4, xfs, tmpfs and so on.",
              .type = COLUMN_TEXT,
              .width = 8,
              .ascending = true},
    [DEVICE] = {.name = "device",
                .title = "DEVICE",
                .help = "Block device that it is on.",
                .type = COLUMN_TEXT,
                .width = 8,
                .ascending = true},
    [SIZE] = {.name = "size_kib", .title = "SIZE", .help = "Size.", .unit = UNIT_KIB, .width = 7},
    [AVAILABLE] = {.name = "available_kib",
                   .title = "AVAIL",
                   .help = "Free space for users other than root.",
                   .unit = UNIT_KIB,
                   .width = 7},
    [USED_PCT] = {.name = "used_pct",
                  .title = "USED%",
                  .help = "Used space in percent of used and available space, as in df(1).",
                  .unit = UNIT_PCT,
                  .width = 6},
    [INODES] = {.name = "inodes",
                .title = "INODES",
                .help = "Inodes in all; none where the file system allocates them dynamically.",
                .unit = UNIT_COUNT,
                .width = 7},
    [INODES_FREE] = {.name = "inodes_free", .title = "IFREE", .help = "Free inodes.", .unit = UNIT_COUNT, .width = 7},
    [FILL] = {.name = "fill_kib_per_s",
              .title = "FILL/s",
              .help = "KiB per second by which it fills: the lower rate of the last 3 s and of the last 10 s.",
              .unit = UNIT_KIB,
              .width = 7},
};

static const struct table_def filesystems_table = {
    .name = "filesystems",
    .help = "Space and inodes of the local, writable file systems.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

#define FILL_SAMPLES 16
#define FILL_SHORT_NS 2500000000ull // samples are up to a second apart
#define FILL_LONG_NS 9500000000ull
// What fills it with data or with files is searched when that much is used, or when it would be full so soon.
#define NEARLY_FULL_PCT 80
#define INODES_USED_PCT 70
#define FULL_SOON_S 600
#define TARGETS_MAX 8
// A file system that becomes read-only after errors is no change of mounts: poll(2) does not report it. The text is
// read again after this time, and so rarely that it takes at most 0.5 % of a CPU.
#define READ_ONLY_NS 2500000000ull
#define READ_ONLY_TIMES 200

struct mounted {
    char *path;
    uint32_t slot;
    struct fill_sample {
        uint64_t ns; // 0: none
        double available_kib;
    } fill[FILL_SAMPLES]; // newest first
    uint64_t inodes_ns;   // of the last sample; 0: none
    double inodes_free;
};

struct filesystems {
    struct proc_file list; // poll(2) reports an error when it changed
    bool changed;          // and has not been read yet
    struct proc_buffer buffer;
    struct table_builder *builder;
    struct mounted mounted[MOUNTS_MAX];
    size_t n;
    bool left_out;
    struct read_only *read_only;
    uint64_t read_only_ns; // when to read again
    struct files *files;
    struct files_target targets[TARGETS_MAX];
    size_t n_targets;
    struct creators *creators;
    struct creators_target short_of_inodes[CREATORS_TARGETS_MAX];
    size_t n_short;
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

const struct text *filesystem_device(const struct filesystem_mount *mount) {
    struct stat source;
    char path[128], link[512], name[64];
    dev_t device = makedev(mount->major, mount->minor);
    if (!mount->major && mount->source[0] == '/' && stat(mount->source, &source) == 0 && S_ISBLK(source.st_mode))
        device = source.st_rdev; // a file system on several disks has its own device number: take the first disk
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

// Reads the text of the mounts, and checks which are read-only.
static int mounts_read(struct filesystems *all) {
    uint64_t begin = now_ns();
    int error = proc_file_read(&all->list, &all->buffer);
    if (error < 0)
        return error;
    char *copy = xstrdup(all->buffer.bytes);
    read_only_update(all->read_only, copy, begin);
    free(copy);
    uint64_t end = now_ns(), pause = (end - begin) * READ_ONLY_TIMES;
    all->read_only_ns = end + (pause > READ_ONLY_NS ? pause : READ_ONLY_NS);
    return 0;
}

// While the list cannot be read, the last one stays.
static int mounts_list(struct filesystems *all) {
    struct filesystem_mount mounts[MOUNTS_MAX];
    int error = mounts_read(all);
    if (error < 0)
        return error;
    mounts_forget(all);
    all->n = filesystems_choose(all->buffer.bytes, is_directory, mounts, MOUNTS_MAX, &all->left_out);
    for (size_t i = 0; i < all->n; i++) {
        uint32_t slot = table_builder_add(all->builder);
        all->mounted[i] = (struct mounted){.path = xstrdup(mounts[i].path), .slot = slot};
        table_builder_set_text(all->builder, slot, MOUNT, text_from(mounts[i].path));
        table_builder_set_text(all->builder, slot, TYPE, text_from(mounts[i].type));
        table_builder_set_text(all->builder, slot, DEVICE, filesystem_device(&mounts[i]));
    }
    return 0;
}

// The fill rate since the newest sample of that age or older; NAN: no such sample.
static double fill_since(const struct mounted *mounted, uint64_t age_ns, uint64_t now, double available_kib) {
    for (size_t i = 0; i < FILL_SAMPLES && mounted->fill[i].ns; i++)
        if (now - mounted->fill[i].ns >= age_ns)
            return (mounted->fill[i].available_kib - available_kib) / ((double)(now - mounted->fill[i].ns) / 1e9);
    return NAN;
}

// At first the rate of the last 3 s only. Samples that are less than 0.9 s apart do not fill the ring.
static double fill_rate(struct mounted *mounted, uint64_t now, double available_kib) {
    double brief = fill_since(mounted, FILL_SHORT_NS, now, available_kib);
    double rate = fmin(brief, fill_since(mounted, FILL_LONG_NS, now, available_kib)); // fmin ignores a NAN
    if (mounted->fill[0].ns && now - mounted->fill[0].ns < 900000000u)
        return rate;
    memmove(&mounted->fill[1], &mounted->fill[0], sizeof mounted->fill - sizeof mounted->fill[0]);
    mounted->fill[0] = (struct fill_sample){now, available_kib};
    return rate;
}

static void target_add(struct filesystems *all, const struct mounted *mounted, const double *values) {
    struct stat is;
    bool soon = values[FILL] > 0 && values[AVAILABLE] / values[FILL] < FULL_SOON_S;
    if ((values[USED_PCT] < NEARLY_FULL_PCT && !soon) || all->n_targets == TARGETS_MAX || stat(mounted->path, &is))
        return;
    all->targets[all->n_targets++] =
        (struct files_target){is.st_dev, values[SIZE], table_builder_row(all->builder, mounted->slot)[MOUNT].text};
}

static void creators_target_add(struct filesystems *all, struct mounted *mounted, const double *values, uint64_t fsid) {
    uint64_t now = now_ns();
    double total = values[INODES], left = values[INODES_FREE];
    double seconds = mounted->inodes_ns ? (double)(now - mounted->inodes_ns) / 1e9 : INFINITY;
    bool soon = left < (mounted->inodes_free - left) / seconds * FULL_SOON_S;
    mounted->inodes_ns = now;
    mounted->inodes_free = left;
    if ((100 * (1 - left / total) >= INODES_USED_PCT || soon) && all->n_short < CREATORS_TARGETS_MAX)
        all->short_of_inodes[all->n_short++] =
            (struct creators_target){fsid, table_builder_row(all->builder, mounted->slot)[MOUNT].text};
}

static void mounted_sample(struct filesystems *all, struct mounted *mounted) {
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
            creators_target_add(all, mounted, values, is.f_fsid);
        }
        values[FILL] = fill_rate(mounted, now_ns(), values[AVAILABLE]);
        target_add(all, mounted, values);
    }
    for (uint16_t i = SIZE; i < COLUMNS; i++)
        table_builder_set_num(all->builder, mounted->slot, i, values[i]);
}

static int filesystems_open(struct collector_run *run) {
    struct filesystems *all = xcalloc(1, sizeof *all);
    run->state = all;
    all->builder = table_builder_new(&filesystems_table);
    all->files = files_new();
    all->creators = creators_new();
    all->read_only = read_only_new();
    all->list = PROC_FILE(MOUNTS);
    if (mounts_list(all) == 0)
        return 0;
    snprintf(run->reason, sizeof run->reason, "no file systems: " MOUNTS " is not readable");
    snprintf(run->fix, sizeof run->fix, "mount /proc");
    return -ENOENT;
}

static int filesystems_sample(struct collector_run *run, struct section *out) {
    struct filesystems *all = run->state;
    struct pollfd changed = {.fd = all->list.fd, .events = POLLPRI};
    if (poll(&changed, 1, 0) > 0)
        all->changed = true; // the kernel reports it once
    if (all->changed)
        all->changed = mounts_list(all) < 0;
    else if (now_ns() >= all->read_only_ns)
        (void)mounts_read(all); // an error is retried at the next sample
    all->n_targets = all->n_short = 0;
    for (size_t i = 0; i < all->n; i++)
        mounted_sample(all, &all->mounted[i]);
    const struct table *tasks = run->inputs[0] ? section_find_table(run->inputs[0], "tasks") : NULL;
    section_table(out, read_only_rows(all->read_only, now_ns()));
    section_table(out, files_sample(all->files, all->targets, all->n_targets, tasks, now_ns()));
    section_table(out, creators_sample(all->creators, all->short_of_inodes, all->n_short, now_ns()));
    if (all->left_out)
        section_note(out, SEVERITY_INFO, "used_pct", "too many file systems: some are not shown", NULL);
    section_table(out, table_builder_seal(all->builder));
    return 0;
}

static void filesystems_close(struct collector_run *run) {
    struct filesystems *all = run->state;
    run->state = NULL;
    if (!all)
        return;
    mounts_forget(all);
    files_free(all->files);
    creators_free(all->creators);
    read_only_free(all->read_only);
    proc_file_close(&all->list);
    proc_buffer_free(&all->buffer);
    table_builder_free(all->builder);
    free(all);
}

static const struct table_def *const tables[] = {&filesystems_table, &filesystem_files_table, &file_creators_table,
                                                 &read_only_table, NULL};

const struct collector collector_filesystems = {
    .name = "filesystems",
    .help = "Space and inodes of the local file systems: one statvfs(3) each, a few microseconds. While one is nearly "
            "full, also the open files of some processes; while one runs out of inodes, which processes create files "
            "(fanotify, about 1 us per file).",
    .inputs = {"tasks"},
    .always = true,
    .tables = tables,
    .open = filesystems_open,
    .sample = filesystems_sample,
    .close = filesystems_close,
};
