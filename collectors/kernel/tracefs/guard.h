// The guard: a small process, forked first, that holds the other end of a pipe and removes ktop's instances and probes
// after any exit of ktop, SIGKILL included. It has its own session, ignores terminal signals, holds no file but the
// pipe and tracefs, and exits within 1 s of ktop's exit.
#ifndef COLLECTORS_GUARD_H
#define COLLECTORS_GUARD_H

#include <stdbool.h>
#include <sys/types.h>

// Before any thread exists. 0 or -errno.
int guard_start(void);
// Clean exit: everything was removed already; the guard checks and exits. Waits for it at most 1 s. hung: a thread is in
// the kernel and may still switch something on there, so the guard removes what is there and waits for ktop's end.
void guard_stop(bool hung);
// Its PID while it runs, else 0; for the self filter.
pid_t guard_process(void);

#endif
