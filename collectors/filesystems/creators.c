// Which processes create files while a file system runs out of inodes (see the header). Each creation costs its process
// about a microsecond then. What is reported is counted by process; only the newest directory of each is looked up.
#include "collectors/filesystems/creators.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "model/columns.h"
#include "model/mem.h"

#define KEPT_MAX 64
#define ROWS_MAX 8
#define GONE_NS 60000000000ull // since its last file
#define READS_MAX 64           // per sample; the kernel keeps 16,384 events, then counts no more
#define HANDLE_MAX 128         // bytes; MAX_HANDLE_SZ

enum { PID, MOUNT, COMM, DIRECTORY, FILES, ALL, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = "The process that creates files."),
    [MOUNT] = TEXT_COLUMN("mount", "MOUNT", 24, .help = "Mount point of the file system."),
    [COMM] = COLUMN_COMM(.help = "Name of that process; none: it ended before it could be looked up."),
    [DIRECTORY] = TEXT_COLUMN("directory", "DIRECTORY", 32, .help = "Where it created the latest one."),
    [FILES] = NUMBER_COLUMN("files", "FILES", UNIT_COUNT, 8,
                            .help = "Files and directories that it created since they are counted."),
    [ALL] = NUMBER_COLUMN("all_files", "ALL", UNIT_COUNT, 8, .help = "Those of all processes on that file system."),
};

const struct table_def file_creators_table = {
    .name = "file_creators",
    .help = "Processes that create files on file systems that run out of inodes.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 2,
};

struct creator {
    int32_t pid; // 0: unused
    uint64_t fsid, files, last_ns;
    char comm[32];
    struct {
        struct file_handle head;
        unsigned char bytes[HANDLE_MAX];
    } handle;                     // of the newest directory; no bytes: none
    const struct text *directory; // reference; NULL: unknown
};

struct creators {
    struct table_builder *builder;
    int fd; // fanotify; -1: none
    bool refused;
    struct watched {
        uint64_t fsid, files;
    } watched[CREATORS_TARGETS_MAX];
    size_t n_watched;
    struct creator kept[KEPT_MAX];
    _Alignas(struct fanotify_event_metadata) char buffer[65536];
};

// ---- events ----

static void creator_drop(struct creator *creator) {
    text_unref(creator->directory);
    *creator = (struct creator){0};
}

static struct creator *creator_of(struct creators *creators, int32_t pid, uint64_t fsid) {
    struct creator *place = &creators->kept[0];
    for (size_t i = 0; i < KEPT_MAX; i++) {
        struct creator *kept = &creators->kept[i];
        if (kept->pid == pid && kept->fsid == fsid)
            return kept;
        if (kept->files < place->files)
            place = kept;
    }
    creator_drop(place); // the one with the fewest files
    place->pid = pid;
    place->fsid = fsid;
    proc_read_comm(pid, place->comm, sizeof(place->comm));
    return place;
}

static void event_take(struct creators *creators, const struct fanotify_event_metadata *event, const char *at,
                       uint64_t now) {
    const struct fanotify_event_info_fid *info = (const void *)(at + event->metadata_len);
    struct file_handle handle;
    uint64_t fsid;
    if (event->event_len < event->metadata_len + sizeof(*info) + sizeof(handle) || event->pid <= 0)
        return;
    memcpy(&fsid, &info->fsid, sizeof(fsid));
    memcpy(&handle, info->handle, sizeof(handle));
    if (info->hdr.info_type != FAN_EVENT_INFO_TYPE_DFID_NAME || handle.handle_bytes > HANDLE_MAX ||
        event->event_len < event->metadata_len + sizeof(*info) + sizeof(handle) + handle.handle_bytes)
        return;
    for (size_t i = 0; i < creators->n_watched; i++) {
        if (creators->watched[i].fsid != fsid)
            continue;
        struct creator *creator = creator_of(creators, event->pid, fsid);
        creators->watched[i].files++;
        creator->files++;
        creator->last_ns = now;
        memcpy(&creator->handle, info->handle, sizeof(handle) + handle.handle_bytes);
    }
}

void creators_take(struct creators *creators, const void *bytes, size_t n, uint64_t now_ns) {
    const char *at = bytes;
    while (n >= sizeof(struct fanotify_event_metadata)) {
        struct fanotify_event_metadata event; // a copy: events are aligned to 4 bytes, this structure to 8
        memcpy(&event, at, sizeof(event));
        if (event.vers != FANOTIFY_METADATA_VERSION || event.event_len > n || event.metadata_len < sizeof(event) ||
            event.event_len < event.metadata_len)
            return;
        if (event.mask & FAN_CREATE)
            event_take(creators, &event, at, now_ns);
        at += event.event_len;
        n -= event.event_len;
    }
}

static void events_read(struct creators *creators, uint64_t now) {
    for (int i = 0; creators->fd >= 0 && i < READS_MAX; i++) {
        ssize_t n = read(creators->fd, creators->buffer, sizeof(creators->buffer));
        if (n <= 0)
            return;
        creators_take(creators, creators->buffer, (size_t)n, now);
    }
}

// ---- what is watched ----

static void watch_end(struct creators *creators) {
    if (creators->fd >= 0)
        close(creators->fd);
    creators->fd = -1;
    creators->n_watched = 0;
}

static uint64_t files_on(const struct creators *creators, uint64_t fsid) {
    for (size_t i = 0; i < creators->n_watched; i++)
        if (creators->watched[i].fsid == fsid)
            return creators->watched[i].files;
    return 0;
}

// A file system without file handles, for example, cannot be marked: of that one nothing is reported.
static void watch(struct creators *creators, const struct creators_target *targets, size_t n) {
    struct watched watched[CREATORS_TARGETS_MAX];
    bool same = n == creators->n_watched;
    for (size_t i = 0; i < n; i++) {
        same = same && creators->watched[i].fsid == targets[i].fsid;
        watched[i] = (struct watched){targets[i].fsid, files_on(creators, targets[i].fsid)};
    }
    if (same || creators->refused)
        return;
    watch_end(creators);
    if (!n)
        return;
    creators->fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_DFID_NAME, O_RDONLY);
    creators->refused = creators->fd < 0;
    for (size_t i = 0; creators->fd >= 0 && i < n; i++)
        (void)fanotify_mark(creators->fd, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_CREATE | FAN_ONDIR, AT_FDCWD,
                            text_bytes(targets[i].path));
    memcpy(creators->watched, watched, sizeof(watched));
    creators->n_watched = n;
}

// ---- rows ----

static const struct text *directory_of(struct creator *creator, const char *mount) {
    if (!creator->handle.head.handle_bytes)
        return creator->directory;
    char link[64], path[512];
    int root = open(mount, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK);
    int fd = root >= 0 ? open_by_handle_at(root, &creator->handle.head, O_PATH | O_CLOEXEC) : -1;
    creator->handle.head.handle_bytes = 0;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t n = fd >= 0 ? readlink(link, path, sizeof(path) - 1) : -1;
    if (fd >= 0)
        close(fd);
    if (root >= 0)
        close(root);
    if (n > 0) {
        path[n] = '\0';
        text_unref(creator->directory);
        creator->directory = text_from(path);
    }
    return creator->directory;
}

static int by_files(const void *one, const void *other) {
    const struct creator *const *a = one, *const *b = other;
    return ((*a)->files < (*b)->files) - ((*a)->files > (*b)->files);
}

struct table *creators_sample(struct creators *creators, const struct creators_target *targets, size_t n,
                              uint64_t now_ns) {
    events_read(creators, now_ns);
    watch(creators, targets, n);
    struct creator *most[KEPT_MAX];
    size_t n_most = 0;
    for (size_t i = 0; i < KEPT_MAX; i++) {
        struct creator *kept = &creators->kept[i];
        if (kept->pid && now_ns > kept->last_ns + GONE_NS)
            creator_drop(kept);
        if (kept->pid)
            most[n_most++] = kept;
    }
    qsort(most, n_most, sizeof(*most), by_files);
    table_builder_clear(creators->builder);
    for (size_t i = 0; i < n_most && i < ROWS_MAX; i++) {
        const struct creator *kept = most[i];
        for (size_t k = 0; k < n && k < creators->n_watched; k++) {
            if (targets[k].fsid != kept->fsid)
                continue;
            uint32_t slot = table_builder_add(creators->builder);
            table_builder_set_num(creators->builder, slot, PID, kept->pid);
            table_builder_set_text(creators->builder, slot, MOUNT, text_ref(targets[k].path));
            if (kept->comm[0])
                table_builder_set_text(creators->builder, slot, COMM, text_from(kept->comm));
            table_builder_set_text(creators->builder, slot, DIRECTORY,
                                   text_ref(directory_of(most[i], text_bytes(targets[k].path))));
            table_builder_set_num(creators->builder, slot, FILES, (double)kept->files);
            table_builder_set_num(creators->builder, slot, ALL, (double)creators->watched[k].files);
        }
    }
    return table_builder_seal(creators->builder);
}

struct creators *creators_new(void) {
    struct creators *creators = xcalloc(1, sizeof(*creators));
    creators->builder = table_builder_new(&file_creators_table);
    creators->fd = -1;
    return creators;
}

void creators_free(struct creators *creators) {
    if (!creators)
        return;
    watch_end(creators);
    for (size_t i = 0; i < KEPT_MAX; i++)
        creator_drop(&creators->kept[i]);
    table_builder_free(creators->builder);
    free(creators);
}
