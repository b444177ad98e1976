// The event of a wakeup: what the kernel calls it, and what is in its record. Plain functions on bytes but for
// waking_find.
#ifndef COLLECTORS_PROFILE_WAKING_H
#define COLLECTORS_PROFILE_WAKING_H

#include "collectors/kernel/tracefs/format.h"
#include "collectors/profile/stacks.h"

#define WAKING_FRAMES_MAX 256 // of a waker's stack; the outermost ones are left out

struct perf_event_attr;
struct waking {
    uint16_t id;
    struct format_field pid; // of the thread that is woken
};

// sched_waking, or sched_wakeup on a kernel without it. 0 or -errno.
int waking_find(const char *tracefs, struct waking *out);
// Makes the settings of another sampler its: every wakeup is a sample, with less of the stack.
void waking_attr(const struct waking *waking, struct perf_event_attr *attr);
// The thread that is woken; 0: the record is too short. *interrupt: an interrupt wakes it.
pid_t waking_thread(const struct waking *waking, const uint8_t *raw, size_t size, bool *interrupt);

struct waking_names {
    uint32_t woken_by, interrupt, unknown;
};
// What follows the stack of the block: the separator, the waker's frames from the innermost to the outermost, and its
// process. An interrupt has kernel frames only: the user frames are those of the thread that it interrupted. Returns
// how many IDs there are, WAKING_FRAMES_MAX + 2 at most.
size_t waking_path(const struct waking_names *names, const struct stacks_path *waker, bool interrupt, uint32_t *ids);

#endif
