// The guard: a tiny process, forked first of all, that holds the other end of a pipe and removes ktop's instances and
// probes when ktop is gone, whatever took it (SIGKILL included). It has its own session, ignores signals of the
// terminal, holds no file but the pipe and tracefs, and ends within a second of ktop's end.
#ifndef COLLECTORS_GUARD_H
#define COLLECTORS_GUARD_H

#include <sys/types.h>

// Before any thread exists. 0 or -errno.
int guard_start(void);
// A clean end: everything was removed already; the guard checks, and goes. Waits for it at most 1 s.
void guard_stop(void);
// Its PID while it lives, else 0: it is left out of what ktop traces.
pid_t guard_process(void);

#endif
