// How full the file systems are. What the collector and its test share.
#ifndef COLLECTORS_FILESYSTEMS_H
#define COLLECTORS_FILESYSTEMS_H

#include <mntent.h>
#include <stdbool.h>
#include <stddef.h>

// Whether to look at that mount: a file system of this machine that can be written. One of the network, or of a program
// (FUSE), may never answer; one that is read-only is always full.
bool filesystem_wanted(const struct mntent *mount);
// The disk that device number is on ("vda" for vda1), from a link like those in /sys/dev/block: "../../devices/…/block/
// vda/vda1", of a partition or not. False: the link names none.
bool filesystem_disk(const char *link, bool partition, char *out, size_t size);

#endif
