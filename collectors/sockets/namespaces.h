// Network namespaces of the machine's processes. A thread owns a list, and may enter them. See network_namespaces(7).
#ifndef COLLECTORS_SOCKETS_NAMESPACES_H
#define COLLECTORS_SOCKETS_NAMESPACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/table.h"

#define NAMESPACES_MAX 64 // of more, some are not looked at

struct namespaces {
    int own_fd; // of the process; -1: others are not entered
    uint64_t own;
    struct namespace_found {
        uint64_t inode;
        const struct text *number; // the same, of the table; borrowed until it is freed
        int32_t pid;               // a process in it: the one with the lowest PID
    } found[NAMESPACES_MAX];
    size_t n;
    bool more; // than NAMESPACES_MAX
};

void namespaces_open(struct namespaces *namespaces);
void namespaces_close(struct namespaces *namespaces);
// Those of the processes in the table "tasks" other than the thread's own; NULL: none.
void namespaces_find(struct namespaces *namespaces, const struct table *tasks);
// Moves the thread to that one, in which the process is. 0, or -errno: not permitted, or the process has ended; the
// thread is where it was.
int namespaces_enter(struct namespaces *namespaces, uint64_t inode, int32_t pid);
int namespaces_leave(struct namespaces *namespaces); // -errno: the thread is still there (memory is short)

#endif
