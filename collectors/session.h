// The process's state in the kernel, without its collectors: the mount of tracefs, the guard, the sweep of stale
// tracing instances, the scheduling priority of a thread, the names that a prompt lists. The terminal and batch use
// this header and the runner only.
#ifndef COLLECTORS_SESSION_H
#define COLLECTORS_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "collectors/kernel/priority.h"
#include "collectors/name_list.h"

// Finds or mounts tracefs, and starts the guard. Before any thread exists: a mount namespace belongs to a thread. 0, or
// -errno when there is no guard (ktop works without; after SIGKILL, --cleanup is then needed).
int session_open(void);
// Ends the guard. Waits for it at most 1 s. Not if a collector's thread hangs: it may still switch something on in the
// kernel, and the guard cleans up when the process is gone.
void session_close(void);
// Whether tracing instances or probes of ktop exist, or are being made or removed. Any thread.
bool session_is_in_kernel(void);

// The tracefs directory; NULL: not available, with the reason and the fix.
const char *session_tracing_dir(const char **reason, const char **fix);

// Whether the tracepoints of these specifications (collectors/events/choice.h) exist and their filters are accepted: 0,
// or -errno with one line. Without tracefs 0: the pane has the reason.
int session_tracepoints(const char *text, char *why, size_t size);

// The actions of --on (collectors/events/choice.h): words before a tracepoint. Ends with NULL.
const char *const *session_actions(void);

// Whether the probes of --probe are understood and the kernel accepts them: each is defined and removed. As above.
struct collect_options;
int session_probes(const struct collect_options *options, char *why, size_t size);
// Whether a line among the probes is a group or latency of the probe of that name.
bool session_probe_line_uses(const char *line, const char *probe);
// Whether the choice of --graph is understood; the kernel is not asked. As above.
int session_graph(const struct collect_options *options, char *why, size_t size);

// Whether the patterns of --function are understood and name functions: nothing is attached. As above.
int session_functions(const struct collect_options *options, char *why, size_t size);

// Removes the stale instances and probes of dead ktops, each named to `report` (may be NULL). Returns how many.
int session_sweep(void (*report)(const char *line));
// The same in a thread of its own. Returns a file descriptor that is readable when it has ended, or -1; it is never
// closed, because the thread uses its other end.
int session_sweep_start(void);
// The number removed, after the descriptor became readable.
int session_sweep_result(int fd);

#endif
