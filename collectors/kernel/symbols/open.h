// Opening files that another process chose: only regular files, without waiting, and within its own root. A path of a
// process may name a device, a FIFO or a symbolic link made to be opened by us. Document: openat2(2).
#ifndef COLLECTORS_SYMBOLS_OPEN_H
#define COLLECTORS_SYMBOLS_OPEN_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

// A descriptor of the root of a process (of ktop itself: pid 0), or -errno.
int open_root(pid_t pid);
// Opens a regular file below `root`, symbolic links resolved within it; the descriptor, or -errno: -EINVAL it is no
// regular file, -ELOOP it is a symbolic link and `no_link`.
int open_below(int root, const char *path, bool no_link, struct stat *stat);
// The same at a path of ktop's own; follows the links of /proc/PID/map_files as the kernel means them.
int open_regular(const char *path, bool no_link, struct stat *stat);

#endif
