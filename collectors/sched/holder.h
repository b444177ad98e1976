// Who has a file open in a way that makes others wait: the server of a FUSE file system, the keeper of a file's lock
// whose taker has ended. Found in the descriptors of all processes, of which a bounded number is looked at; what was
// found is kept for some seconds, for many threads may wait for the same. Nothing is asked of the file system itself.
// Kernel documents: Documentation/filesystems/fuse/fuse.rst, proc.rst. Any thread.
#ifndef COLLECTORS_SCHED_HOLDER_H
#define COLLECTORS_SCHED_HOLDER_H

#include <stdint.h>

// The process that has /dev/fuse open for that connection, or 0. Where the kernel does not say which connection a
// descriptor is of, it is the only process that has the device open, or the only one of them whose command line has the
// mount point.
// proc: "/proc", or a test's. connection: the minor number of the mount's device.
int32_t sched_fuse_server(const char *proc, uint32_t connection, const char *mount_point);
// The first process with a descriptor of that file that holds the lock that `taker` took (-1: one of an open file
// description), or 0: descriptors, and locks with them, are inherited.
int32_t sched_lock_keeper(const char *proc, const char *path, int32_t taker);

#endif
