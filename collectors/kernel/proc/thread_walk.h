// Walks /proc: every thread of the machine, a piece at a time. One thread owns a walk.
#ifndef COLLECTORS_KERNEL_THREAD_WALK_H
#define COLLECTORS_KERNEL_THREAD_WALK_H

#include <dirent.h>
#include <stdint.h>

struct thread_walk;
// Starts at once. NULL: proc ("/proc", or a test's) cannot be listed.
struct thread_walk *thread_walk_new(const char *proc);
void thread_walk_free(struct thread_walk *walk);
// The next thread and its process; each process begins with its leader. 0: the end.
int32_t thread_walk_next(struct thread_walk *walk, int32_t *pid);
// After a leader: the process has no other threads, so its folder need not be opened.
void thread_walk_skip(struct thread_walk *walk);

// The next entry of a folder that is a number; -1: the end.
int32_t proc_next_id(DIR *dir);

#endif
