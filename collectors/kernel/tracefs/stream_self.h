// Whom a stream records, told to the kernel: nothing of ktop's own threads and its guard (set_event_notrace_pid; with
// stream_config.on_own and before Linux 5.7 an expression in the events' filter files), and with --pid only those
// processes (set_event_pid). The kernel itself follows forks and exits (event-fork). One thread owns it.
//
// With either the kernel looks at every event of everybody, 17 to 54 ns each. In a torrent of events it is told to
// leave nobody out, where the decoder knows ktop's threads (on_own).
#ifndef COLLECTORS_STREAM_OWN_H
#define COLLECTORS_STREAM_OWN_H

#include "collectors/collector.h"
#include "collectors/kernel/tracefs/stream.h"

struct stream_own;

// The config is not copied and must outlive it. Tells the kernel for the first time, before events are switched on: 0
// or -errno. *step says what failed.
int stream_own_new(const struct stream_config *config, const char *instance, struct stream_own **out,
                   const char **step);
void stream_own_free(struct stream_own *own);
// Once per frame: threads that came, processes of --pid that were not there before.
void stream_own_refresh(struct stream_own *own);
// Whether there is a torrent, as often as one likes. What has to be done goes on in a thread of its own.
void stream_own_torrent(struct stream_own *own, bool torrent);
// Before events are read that were written until now: the decoder knows who wrote them.
void stream_own_poll(struct stream_own *own);
// Whether ktop is left out, by the kernel or a decoder that has on_own.
bool stream_own_excluded(const struct stream_own *own);

#endif
