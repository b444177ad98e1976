// The self filter: ktop leaves its own work out of what it shows. The one place that says which processes and threads
// are ktop's: the process itself, and its guard. Any thread may call these.
#ifndef COLLECTORS_SELF_H
#define COLLECTORS_SELF_H

#include "collectors/kernel/proc/tid_tree.h"

// Whether this process, by the PID that /proc shows, is ktop or its guard.
bool self_process(pid_t pid);
// ktop's threads and its guard, by the IDs that the kernel's events carry. False: they cannot be named, because events
// carry host PIDs and this is another PID namespace, or /proc is not readable. tids->at belongs to the caller.
bool self_threads(struct tids *tids);

#endif
