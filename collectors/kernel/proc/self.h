// The self filter: ktop excludes its own work. The only place that defines which processes and threads are ktop's: the
// process itself, and its guard. Any thread may call these.
#ifndef COLLECTORS_SELF_H
#define COLLECTORS_SELF_H

#include "collectors/kernel/proc/tid_tree.h"

// Whether this process, by the PID that /proc shows, is ktop or its guard.
bool self_process(pid_t pid);
// ktop's threads and its guard, by the IDs in kernel events. False: unknown, because events carry host PIDs and this is
// another PID namespace, or because /proc is not readable. tids->at is owned by the caller.
bool self_threads(struct tids *tids);

#endif
