// Threads that are asleep when the off-CPU profile begins, or whose switch was not sampled: /proc says who they are,
// and where in the kernel they wait. The user frames stay unknown.
#ifndef COLLECTORS_PROFILE_ASLEEP_H
#define COLLECTORS_PROFILE_ASLEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Calls fn for each thread that sleeps, of at most `max` threads that are looked at. Returns how many those were.
size_t asleep_each(size_t max, void (*fn)(void *context, pid_t pid, pid_t tid), void *context);

bool asleep_is(pid_t pid, pid_t tid);

// A frame of /proc/TID/stack: "[<0>] do_nanosleep+0x7a/0x1a0 [module]".
struct asleep_frame {
    char symbol[128], module[64]; // module "": the kernel's own
};
// The kernel stack, leaf first; returns how many frames. 0: it runs, has ended, or may not be looked at.
size_t asleep_stack(pid_t pid, pid_t tid, struct asleep_frame *frames, size_t max);
size_t asleep_stack_parse(const char *text, struct asleep_frame *frames, size_t max);

#endif
