// What /proc/TID/status tells of a thread, and whether the user wants to see it (-p, -u, --children). For collectors
// whose events name threads only. Kernel document: Documentation/filesystems/proc.rst. No state: any thread.
#ifndef COLLECTORS_THREAD_STATUS_H
#define COLLECTORS_THREAD_STATUS_H

#include "collectors/collector.h"

struct thread_status {
    int32_t pid, parent; // of the process; pid: the thread itself when the file does not say
    uid_t user;          // real; -1: not told
    char name[32];
};

// proc: "/proc", or a test's. False: it is gone, or may not be seen.
bool thread_status_read(const char *proc, int32_t tid, struct thread_status *out);
// Whether -p or -u was given; options may be NULL.
bool thread_filters(const struct collect_options *options);
// Whether the user wants to see it. With --children its ancestors are read, up to 32 generations.
bool thread_wanted(const char *proc, const struct collect_options *options, const struct thread_status *status);

// Its control group in the hierarchy of that controller of version 1 where there is one, else in that of version 2.
// False, and "": not known.
bool thread_cgroup(const char *proc, int32_t tid, const char *controller, char *out, size_t size);

#endif
