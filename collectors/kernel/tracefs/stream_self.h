// In-kernel filters of an instance: ktop's threads and its guard are excluded (by the events' filter files), and with
// --pid every other process (set_event_pid; with event-fork the kernel follows forks and exits).
//
// The self filter costs every traced program 17 to 54 ns an event. At a high event rate it is dropped; the decoder,
// which has on_self, leaves ktop's events out then. One thread owns it.
#ifndef COLLECTORS_STREAM_SELF_H
#define COLLECTORS_STREAM_SELF_H

#include "collectors/kernel/tracefs/stream.h"

struct stream_self;

// The config must outlive it. Call before events are enabled: 0, or -errno and *step. Without `filter` the self filter
// is off until stream_self_rate enables it, and on_self is not called: any thread may create it.
int stream_self_new(const struct stream_config *config, const char *instance, bool filter, struct stream_self **out,
                    const char **step);
void stream_self_free(struct stream_self *self);
// Once per frame: new threads of ktop, new processes of --pid.
void stream_self_refresh(struct stream_self *self);
// Sets whether the event rate is high. Cheap when unchanged; the filters change in a side thread.
void stream_self_rate(struct stream_self *self, bool high);
// Call before reading the events written up to now. True while filters change.
bool stream_self_poll(struct stream_self *self);

#endif
