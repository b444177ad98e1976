// The threads of a process and of its descendants, by /proc/PID/task and its files `children`.
#ifndef COLLECTORS_STREAM_TREE_H
#define COLLECTORS_STREAM_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct tids {
    pid_t *at;
    size_t n, room;
};

void tids_add(struct tids *tids, pid_t tid);
// The threads of a process, from its folder `task`. False: it is not readable.
bool tids_list(const char *dir, struct tids *tids);
// `proc` is "/proc", or a forged one in tests. False: the kernel lacks CONFIG_PROC_CHILDREN.
bool tids_tree(const char *proc, pid_t pid, bool children, struct tids *tids);

#endif
