#include "collectors/sockets/namespaces.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

void namespaces_open(struct namespaces *namespaces) {
    struct stat is;
    namespaces->n = 0;
    namespaces->own_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
    if (namespaces->own_fd >= 0 && !fstat(namespaces->own_fd, &is)) {
        namespaces->own = is.st_ino;
        (void)namespaces_leave(namespaces); // if the thread could not come back before
        return;
    }
    namespaces_close(namespaces);
}

void namespaces_close(struct namespaces *namespaces) {
    if (namespaces->own_fd >= 0)
        close(namespaces->own_fd);
    namespaces->own_fd = -1;
}

static void found_add(struct namespaces *namespaces, uint64_t inode, const struct text *number, int32_t pid) {
    for (size_t i = 0; i < namespaces->n; i++) {
        struct namespace_found *found = &namespaces->found[i];
        if (found->inode != inode)
            continue;
        found->pid = pid < found->pid ? pid : found->pid;
        return;
    }
    if (namespaces->n == NAMESPACES_MAX)
        namespaces->more = true;
    else
        namespaces->found[namespaces->n++] = (struct namespace_found){inode, number, pid};
}

void namespaces_find(struct namespaces *namespaces, const struct table *tasks) {
    const struct table_def *def = tasks ? table_def(tasks) : NULL;
    int pid = def ? table_column(def, "pid") : -1, netns = def ? table_column(def, "netns") : -1,
        ended = def ? table_column(def, "ended_s") : -1;
    size_t cursor = 0;
    namespaces->n = 0;
    namespaces->more = false;
    if (namespaces->own_fd < 0 || pid < 0 || netns < 0 || ended < 0)
        return;
    const struct text *own = NULL; // most are in the same one, and share its text
    for (const union cell *row; (row = table_next(tasks, &cursor));) {
        const struct text *number = row[netns].text;
        if (!number || number == own || !isnan(row[ended].num))
            continue;
        uint64_t inode = strtoull(text_bytes(number), NULL, 10);
        if (inode == namespaces->own)
            own = number;
        else
            found_add(namespaces, inode, number, (int32_t)row[pid].num);
    }
}

int namespaces_enter(struct namespaces *namespaces, uint64_t inode, int32_t pid) {
    char path[64];
    struct stat is;
    snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int error = 0;
    if (fstat(fd, &is) || is.st_ino != inode || is.st_ino == namespaces->own)
        error = -ESRCH;
    else if (setns(fd, CLONE_NEWNET))
        error = -errno;
    close(fd); // an open one would keep the namespace
    return error;
}

int namespaces_leave(struct namespaces *namespaces) {
    return setns(namespaces->own_fd, CLONE_NEWNET) ? -errno : 0;
}
