// How full the file systems are. What the collector and its test share.
#ifndef COLLECTORS_FILESYSTEMS_H
#define COLLECTORS_FILESYSTEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct filesystem_mount { // a line of /proc/self/mountinfo; the texts point into it
    uint64_t id, parent;
    unsigned major, minor;
    char *root, *path, *type, *source;
    bool read_only;
    bool looked_at, reached; // of the choice
};

// The mounts to ask, at most so many of them: file systems of this machine that can be written, each once, at a
// directory that a path leads to without passing what may never answer (network, FUSE) or what mounts something when it
// is looked at (autofs). Those on disks first; of mounts of one file system, or one pool of zfs, its root and the
// shortest path. `text`, of mountinfo, is taken apart and must stay as long as what it gave.
size_t filesystems_choose(char *text, bool (*is_directory)(const char *path), struct filesystem_mount *out, size_t most,
                          bool *left_out);
// The disk that device number is on ("vda" for vda1), from a link like those in /sys/dev/block: "../../devices/…/block/
// vda/vda1", of a partition or not. False: the link names none.
bool filesystem_disk(const char *link, bool partition, char *out, size_t size);

#endif
