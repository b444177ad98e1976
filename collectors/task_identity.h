// The identity of a thread: its process, user and name, and whether it passes the filters (-p, -u, --children, and the
// self filter). For collectors whose events carry thread IDs only; they cache the result per thread. No state: any
// thread.
#ifndef COLLECTORS_TASK_IDENTITY_H
#define COLLECTORS_TASK_IDENTITY_H

#include "collectors/collector.h"
#include "collectors/kernel/proc/thread_status.h"

struct task_identity {
    struct thread_status status; // if not found: the process is the thread itself, the name ""
    bool found, wanted;          // a thread that is not found is filtered by its own ID only
};
// proc: "/proc", or a test's; NULL if its IDs differ from the events' IDs: nothing is read. options may be NULL.
struct task_identity task_identify(const char *proc, const struct collect_options *options, int32_t tid);

// Whether -p or -u was given.
bool thread_filters(const struct collect_options *options);
// Whether the thread passes -p and -u. With --children its ancestors are read, up to 32 generations.
bool thread_wanted(const char *proc, const struct collect_options *options, const struct thread_status *status);
// The same with ancestors that `find` knows. It returns false for a process that is unknown.
typedef bool thread_find_fn(void *context, int32_t pid, struct thread_status *out);
bool thread_wanted_among(thread_find_fn *find, void *context, const struct collect_options *options,
                         const struct thread_status *status);

#endif
