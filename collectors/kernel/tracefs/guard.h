// The guard: a small process, forked first, that holds the other end of a pipe and removes ktop's instances and probes
// after any exit of ktop, SIGKILL included. It has its own session, ignores terminal signals, holds no file but the
// pipe and tracefs, and exits within 1 s of ktop's exit.
#ifndef COLLECTORS_GUARD_H
#define COLLECTORS_GUARD_H

#include <sys/types.h>

// Before any thread exists. 0 or -errno.
int guard_start(void);
// Clean exit: everything was removed already; the guard checks and exits. Waits for it at most 1 s.
void guard_stop(void);
// Its PID while it runs, else 0; for the self filter.
pid_t guard_process(void);

#endif
