// The identity of a thread: its process, user and name, and whether the user wants to see it (-p, -u, --children, and
// not ktop itself unless it is asked for). For collectors whose events carry thread IDs only; they keep the answer
// beside what they know of the thread. No state: any thread.
#ifndef COLLECTORS_TASK_IDENTITY_H
#define COLLECTORS_TASK_IDENTITY_H

#include "collectors/collector.h"
#include "collectors/kernel/proc/thread_status.h"

struct task_identity {
    struct thread_status status; // of a thread that was not found: its process is the thread itself, the name ""
    bool found, wanted;          // a thread that was not found is chosen by its own ID only
};
// proc: "/proc", or a test's; NULL where it has other IDs than the events: nothing is read. options may be NULL.
struct task_identity task_identify(const char *proc, const struct collect_options *options, int32_t tid);

// Whether -p or -u was given.
bool thread_filters(const struct collect_options *options);
// Whether -p and -u choose the thread. With --children its ancestors are read, up to 32 generations.
bool thread_wanted(const char *proc, const struct collect_options *options, const struct thread_status *status);

#endif
