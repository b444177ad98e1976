// The guard: a tiny process, forked first of all, that holds the other end of a pipe and removes ktop's instances and
// probes when ktop is gone, whatever took it (SIGKILL included). It has its own session, ignores signals of the
// terminal, holds no file but the pipe and tracefs, and ends within a second of ktop's end.
#ifndef COLLECTORS_GUARD_H
#define COLLECTORS_GUARD_H

// Before any thread exists. 0 or -errno.
int guard_start(void);
// A clean end: everything was removed already; the guard checks, and goes. Waits for it at most 1 s.
void guard_stop(void);

#endif
