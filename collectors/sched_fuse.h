// Who serves a FUSE file system: the process that has /dev/fuse open for that connection. Where the kernel does not say
// which connection a descriptor is of (fdinfo, before 6.17), the only process that has the device open, or the only one
// of them whose command line has the mount point. Nothing is asked of the file system itself.
// Kernel documents: Documentation/filesystems/fuse/fuse.rst, proc.rst. What was found is kept for some seconds; any
// thread.
#ifndef COLLECTORS_SCHED_FUSE_H
#define COLLECTORS_SCHED_FUSE_H

#include <stdint.h>

// proc: "/proc", or a test's. connection: the minor number of the mount's device. Returns the process, or 0.
int32_t sched_fuse_server(const char *proc, uint32_t connection, const char *mount_point);

#endif
