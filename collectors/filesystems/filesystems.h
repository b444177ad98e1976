// Which file systems to measure. Shared by the collector and its test.
#ifndef COLLECTORS_FILESYSTEMS_H
#define COLLECTORS_FILESYSTEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/table.h"

struct filesystem_mount { // a line of /proc/self/mountinfo; the texts point into it
    uint64_t id, parent;
    unsigned major, minor;
    char *root, *path, *type, *source;
    char *options;                         // of the file system (superblock)
    bool mount_read_only, super_read_only; // this mount; the file system, for all mounts
    bool read_only;                        // either
    bool looked_at, reached;               // while choosing
};

// Splits a line of mountinfo in place. False: malformed.
bool filesystem_mount_parse(char *line, struct filesystem_mount *mount);
// Chooses at most `most` mounts for statvfs: local, writable file systems, each once, at a directory whose path crosses
// nothing that may block (network, FUSE) or mounts on access (autofs). Those on disks come first; of the mounts of one
// file system, or of one zfs pool, its root and the shortest path is taken. `text`, of mountinfo, is split in place and
// must outlive the result.
size_t filesystems_choose(char *text, bool (*is_directory)(const char *path), struct filesystem_mount *out, size_t most,
                          bool *left_out);
// The disk of a device number ("vda" for vda1), from a link in /sys/dev/block: "../../devices/…/block/vda/vda1". False:
// the link names none.
bool filesystem_disk(const char *link, bool partition, char *out, size_t size);
// The disk of the mount; NULL: none. The caller owns the reference.
const struct text *filesystem_device(const struct filesystem_mount *mount);

// ---- read_only.c: file systems that became read-only ----

struct read_only;
extern const struct table_def read_only_table;
struct read_only *read_only_new(void);
void read_only_free(struct read_only *state);
// A text of mountinfo, split in place. What is read-only in the first text that lists it raises no row, except after
// errors.
void read_only_update(struct read_only *state, char *text, uint64_t now_ns);
struct table *read_only_rows(struct read_only *state, uint64_t now_ns);

#endif
