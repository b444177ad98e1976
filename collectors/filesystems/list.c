// Chooses mounts from the text of mountinfo; see the header. Kernel document: Documentation/filesystems/proc.rst, 3.5.
// The parent IDs show what a path crosses, whatever the order of the lines: a mount over a path, or over a directory on
// the way to it, hides what was there.
#include <stdlib.h>
#include <string.h>

#include "collectors/filesystems/filesystems.h"
#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"

static void unescape(char *text) {
    mountinfo_unescape(text, strlen(text), text, strlen(text) + 1);
}

static bool is_read_only(const char *options) {
    return !strncmp(options, "ro", 2) && (options[2] == ',' || options[2] == '\0');
}

// "36 35 98:0 /root /path rw,noatime master:1 - ext3 /dev/root rw,errors=continue": optional fields end at the dash;
// the source may be empty.
bool filesystem_mount_parse(char *line, struct filesystem_mount *mount) {
    uint64_t numbers[3], minor;
    const char *at = line;
    if (proc_numbers(&at, numbers, 3) != 3 || *at++ != ':' || !proc_number(&at, &minor) || *at++ != ' ')
        return false;
    char *rest = line + (at - line), *field, *options, *super;
    *mount = (struct filesystem_mount){
        .id = numbers[0], .parent = numbers[1], .major = (unsigned)numbers[2], .minor = (unsigned)minor};
    mount->root = strsep(&rest, " ");
    mount->path = strsep(&rest, " ");
    options = strsep(&rest, " ");
    while ((field = strsep(&rest, " ")) && strcmp(field, "-") != 0)
        ;
    mount->type = strsep(&rest, " ");
    mount->source = strsep(&rest, " ");
    super = strsep(&rest, " ");
    if (!super)
        return false;
    unescape(mount->root);
    unescape(mount->path);
    unescape(mount->source);
    mount->options = super;
    mount->super_read_only = is_read_only(super);
    mount->mount_read_only = is_read_only(options);
    mount->read_only = mount->mount_read_only || mount->super_read_only;
    return true;
}

static bool is_type(const struct filesystem_mount *mount, const char *type) {
    return !strcmp(mount->type, type);
}

// Local: statvfs of a network or FUSE file system may block.
static bool is_local(const struct filesystem_mount *mount) {
    return (!strncmp(mount->source, "/dev/", 5) && strncmp(mount->type, "fuse", 4) != 0) || is_type(mount, "tmpfs") ||
           is_type(mount, "zfs") || is_type(mount, "overlay");
}

// Read-only ones are always full. An overlay is a container's root, and has the figures of the file system below it.
static bool is_wanted(const struct filesystem_mount *mount) {
    return is_local(mount) && !mount->read_only && (!is_type(mount, "overlay") || !strcmp(mount->path, "/"));
}

// Whether a path may cross it: not autofs, which mounts on access, nor what may block. Every path crosses the root.
static bool is_passable(const struct filesystem_mount *mount) {
    return is_local(mount) || !strcmp(mount->path, "/") || is_type(mount, "devtmpfs") || is_type(mount, "ramfs") ||
           is_type(mount, "proc") || is_type(mount, "sysfs");
}

static bool is_below(const char *path, const char *directory) {
    size_t length = strlen(directory);
    return !strncmp(path, directory, length) && path[length] == '/';
}

// Whether `over` hides the mount's directory, or was mounted over it later.
static bool hides(const struct filesystem_mount *over, const struct filesystem_mount *mount) {
    return over->parent == mount->parent && strcmp(over->path, "/") != 0 && // a process keeps its root
           (is_below(mount->path, over->path) || (over > mount && !strcmp(over->path, mount->path)));
}

// Whether another mount is at its path.
static bool is_covered(const struct filesystem_mount *all, size_t n, const struct filesystem_mount *mount) {
    for (size_t i = 0; i < n && strcmp(mount->path, "/") != 0; i++)
        if (all[i].parent == mount->id && &all[i] != mount && !strcmp(all[i].path, mount->path))
            return true;
    return false;
}

// Whether its path leads to it, and crosses nothing that may block.
static bool is_reached(struct filesystem_mount *all, size_t n, struct filesystem_mount *mount) {
    struct filesystem_mount *parent = NULL;
    if (mount->looked_at)
        return mount->reached;
    mount->looked_at = true;
    for (size_t i = 0; i < n; i++) {
        if (&all[i] == mount)
            continue;
        if (all[i].id == mount->parent)
            parent = &all[i];
        if (hides(&all[i], mount))
            return false;
    }
    mount->reached = !parent || (strcmp(mount->path, "/") != 0 && is_passable(parent) && is_reached(all, n, parent));
    return mount->reached;
}

// A file system may be mounted many times; file systems of a zfs pool share its space.
static bool is_same(const struct filesystem_mount *one, const struct filesystem_mount *other) {
    if (is_type(one, "zfs") && is_type(other, "zfs")) {
        size_t length = strcspn(one->source, "/");
        return length == strcspn(other->source, "/") && !strncmp(one->source, other->source, length);
    }
    return one->major == other->major && one->minor == other->minor;
}

static bool is_better(const struct filesystem_mount *one, const struct filesystem_mount *other) {
    bool whole = !strcmp(one->root, "/");
    return whole != !strcmp(other->root, "/") ? whole : strlen(one->path) < strlen(other->path);
}

static size_t choose(const struct filesystem_mount *mount, bool (*is_directory)(const char *path),
                     struct filesystem_mount *out, size_t n, size_t most, bool *left_out) {
    size_t i = 0;
    while (i < n && !is_same(&out[i], mount))
        i++;
    if ((i < n && !is_better(mount, &out[i])) || !is_directory(mount->path))
        return n;
    if (i == most) {
        *left_out = true;
        return n;
    }
    out[i] = *mount;
    return i == n ? n + 1 : n;
}

size_t filesystems_choose(char *text, bool (*is_directory)(const char *path), struct filesystem_mount *out, size_t most,
                          bool *left_out) {
    struct filesystem_mount *all = NULL;
    size_t n = 0, room = 0, chosen = 0;
    *left_out = false;
    for (char *line; (line = strsep(&text, "\n"));) {
        if (n == room)
            all = xrealloc(all, (room = 2 * room + 64) * sizeof(*all));
        n += filesystem_mount_parse(line, &all[n]);
    }
    for (int in_memory = 0; in_memory < 2; in_memory++)
        for (size_t i = 0; i < n; i++)
            if (is_type(&all[i], "tmpfs") == in_memory && is_wanted(&all[i]) && !is_covered(all, n, &all[i]) &&
                is_reached(all, n, &all[i]))
                chosen = choose(&all[i], is_directory, out, chosen, most, left_out);
    free(all);
    return chosen;
}
