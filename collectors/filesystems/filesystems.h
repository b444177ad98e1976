// Which file systems to measure. Shared by the collector and its test.
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
    bool looked_at, reached; // while choosing
};

// Chooses at most `most` mounts for statvfs: local, writable file systems, each once, at a directory whose path crosses
// nothing that may block (network, FUSE) or mounts on access (autofs). Those on disks come first; of the mounts of one
// file system, or of one zfs pool, its root and the shortest path is taken. `text`, of mountinfo, is split in place and
// must outlive the result.
size_t filesystems_choose(char *text, bool (*is_directory)(const char *path), struct filesystem_mount *out, size_t most,
                          bool *left_out);
// The disk of a device number ("vda" for vda1), from a link in /sys/dev/block: "../../devices/…/block/vda/vda1". False:
// the link names none.
bool filesystem_disk(const char *link, bool partition, char *out, size_t size);

#endif
