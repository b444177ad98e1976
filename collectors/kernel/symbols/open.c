// Opening of foreign files; see the header. O_PATH first, which opens nothing yet: opening a device can have effects.
#include "collectors/kernel/symbols/open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int open_root(pid_t pid) {
    char path[64] = "/";
    if (pid > 0)
        snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
    int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

// Takes an O_PATH descriptor.
static int reopen(int place, bool no_link, struct stat *stat) {
    char path[64];
    if (place < 0)
        return place;
    int fd = -EINVAL;
    if (fstat(place, stat)) {
        fd = -errno;
    } else if (S_ISREG(stat->st_mode)) {
        snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
        fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd < 0)
            fd = -errno;
    } else if (no_link && S_ISLNK(stat->st_mode)) {
        fd = -ELOOP;
    }
    close(place);
    return fd;
}

int open_below(int root, const char *path, bool no_link, struct stat *stat) {
    struct open_how how = {.flags = O_PATH | O_CLOEXEC | (no_link ? O_NOFOLLOW : 0),
                           .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    long place = syscall(SYS_openat2, root, path, &how, sizeof(how));
    if (place < 0 && (errno == ENOSYS || errno == EPERM || errno == E2BIG)) // before 5.6, or refused by seccomp
        place = openat(root, path + strspn(path, "/"), O_PATH | O_CLOEXEC | (no_link ? O_NOFOLLOW : 0));
    return reopen(place < 0 ? -errno : (int)place, no_link, stat);
}

int open_regular(const char *path, bool no_link, struct stat *stat) {
    int place = open(path, O_PATH | O_CLOEXEC | (no_link ? O_NOFOLLOW : 0));
    return reopen(place < 0 ? -errno : place, no_link, stat);
}
