#include "collectors/kernel/proc/self.h"

#include <unistd.h>

#include "collectors/kernel/tracefs/guard.h"
#include "collectors/kernel/tracefs/sweep.h"

// The guard's PID is of ktop's PID namespace; it differs from the PID in a /proc of an outer namespace.
static pid_t self_guard(void) {
    return ktop_id_self()->pid == getpid() ? guard_process() : 0;
}

bool self_process(pid_t pid) {
    return pid == ktop_id_self()->pid || (pid > 0 && pid == self_guard());
}

bool self_threads(struct tids *tids) {
    tids->n = 0;
    if (ktop_in_child_pidns() || !tids_list("/proc/self/task", tids))
        return false;
    if (self_guard() > 0)
        tids_add(tids, self_guard());
    return true;
}
