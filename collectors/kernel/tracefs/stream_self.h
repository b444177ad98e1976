// What the kernel leaves out of an instance: ktop's own threads and its guard (an expression in the events' filter
// files), and with --pid every other process (set_event_pid; the kernel itself follows forks and exits: event-fork).
//
// The self filter costs every traced program 17 to 54 ns an event. At a high event rate it is dropped; the decoder,
// which has on_self, leaves ktop's events out then. One thread owns it.
#ifndef COLLECTORS_STREAM_SELF_H
#define COLLECTORS_STREAM_SELF_H

#include "collectors/kernel/tracefs/stream.h"

struct stream_self;

// The config must outlive it. Before events are enabled: 0 or -errno, and *step says what failed. Without `filter` the
// self filter is off until stream_self_rate asks for it, and on_self is not called: any thread may make it.
int stream_self_new(const struct stream_config *config, const char *instance, bool filter, struct stream_self **out,
                    const char **step);
void stream_self_free(struct stream_self *self);
// Once per frame: new threads of ktop, new processes of --pid.
void stream_self_refresh(struct stream_self *self);
// Whether the event rate is high, as often as one likes. The filters change in a side thread.
void stream_self_rate(struct stream_self *self, bool high);
// Before events are read that were written until now. True while filters change.
bool stream_self_poll(struct stream_self *self);

#endif
