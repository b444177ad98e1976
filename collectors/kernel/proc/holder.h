// Finds the process behind a file that others wait for: the server of a FUSE file system, or the holder of a file lock
// whose taker has exited. Searches the descriptors of all processes, up to a limit; results are cached for some
// seconds, as many threads may wait for the same. Never accesses the file system itself. Kernel documents:
// Documentation/filesystems/fuse/fuse.rst, proc.rst. Any thread.
#ifndef COLLECTORS_KERNEL_HOLDER_H
#define COLLECTORS_KERNEL_HOLDER_H

#include <stdint.h>

// The process that has /dev/fuse open for that connection, or 0. Where the kernel does not report a descriptor's
// connection, it is the only process that has the device open, or the only one of them with the mount point in its
// command line.
// proc: "/proc", or a test's. connection: the minor number of the mount's device.
int32_t sched_fuse_server(const char *proc, uint32_t connection, const char *mount_point);
// The first process whose descriptor of that file holds the lock that `taker` took (-1: a lock of an open file
// description), or 0: descriptors are inherited, and their locks with them.
int32_t sched_lock_keeper(const char *proc, const char *path, int32_t taker);

#endif
