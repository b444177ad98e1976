// Which mounts to ask how full they are, from the text of mountinfo; see the header. Kernel document:
// Documentation/filesystems/proc.rst, 3.5. The parents in it tell what a path leads to and over, whatever the order of
// the lines: what is mounted over a path, or over a directory on the way to it, hides what was there.
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

// "36 35 98:0 /root /path rw,noatime master:1 - ext3 /dev/root rw,errors=continue": fields that are not always there
// end at the dash; a source may be empty.
static bool mount_parse(char *line, struct filesystem_mount *mount) {
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
    mount->read_only = is_read_only(options) || is_read_only(super);
    return true;
}

static bool is_type(const struct filesystem_mount *mount, const char *type) {
    return !strcmp(mount->type, type);
}

// Of this machine. One of the network, or of a program (FUSE), may never answer.
static bool is_local(const struct filesystem_mount *mount) {
    return (!strncmp(mount->source, "/dev/", 5) && strncmp(mount->type, "fuse", 4) != 0) || is_type(mount, "tmpfs") ||
           is_type(mount, "zfs") || is_type(mount, "overlay");
}

// Read-only ones are always full; an overlay is what a container has, and shows the figures of what it is over.
static bool is_wanted(const struct filesystem_mount *mount) {
    return is_local(mount) && !mount->read_only && (!is_type(mount, "overlay") || !strcmp(mount->path, "/"));
}

// Whether a path may lead over it: not over autofs, which a look mounts again, nor what may never answer. Over the root
// every path leads, also ktop's own.
static bool is_passable(const struct filesystem_mount *mount) {
    return is_local(mount) || !strcmp(mount->path, "/") || is_type(mount, "devtmpfs") || is_type(mount, "ramfs") ||
           is_type(mount, "proc") || is_type(mount, "sysfs");
}

static bool is_below(const char *path, const char *directory) {
    size_t length = strlen(directory);
    return !strncmp(path, directory, length) && path[length] == '/';
}

// Whether `over` hides what the mount is mounted on, or was mounted there after it.
static bool hides(const struct filesystem_mount *over, const struct filesystem_mount *mount) {
    return over->parent == mount->parent && strcmp(over->path, "/") != 0 && // whoever has a root keeps it
           (is_below(mount->path, over->path) || (over > mount && !strcmp(over->path, mount->path)));
}

// Whether one finds another in its place.
static bool is_covered(const struct filesystem_mount *all, size_t n, const struct filesystem_mount *mount) {
    for (size_t i = 0; i < n && strcmp(mount->path, "/") != 0; i++)
        if (all[i].parent == mount->id && &all[i] != mount && !strcmp(all[i].path, mount->path))
            return true;
    return false;
}

// Whether its path leads to where it is mounted, and over nothing that must not be asked.
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

// One file system may be mounted many times, and the file systems of a pool share its room.
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
        n += mount_parse(line, &all[n]);
    }
    for (int in_memory = 0; in_memory < 2; in_memory++)
        for (size_t i = 0; i < n; i++)
            if (is_type(&all[i], "tmpfs") == in_memory && is_wanted(&all[i]) && !is_covered(all, n, &all[i]) &&
                is_reached(all, n, &all[i]))
                chosen = choose(&all[i], is_directory, out, chosen, most, left_out);
    free(all);
    return chosen;
}
