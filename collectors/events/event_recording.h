// A choice of tracepoints and system calls while it is recorded: its stream, and what the event path keeps until the
// frame. One thread owns it.
#ifndef COLLECTORS_EVENTS_EVENT_RECORDING_H
#define COLLECTORS_EVENTS_EVENT_RECORDING_H

#include "collectors/collector.h"
#include "collectors/event_names.h"
#include "collectors/event_stacks.h"
#include "collectors/events/choice.h"
#include "collectors/events/flows.h"
#include "collectors/events/group.h"
#include "collectors/events/sources.h"
#include "collectors/kernel/tracefs/event_text.h"
#include "collectors/kernel/tracefs/kept.h"
#include "collectors/kernel/tracefs/own_threads.h"
#include "collectors/kernel/tracefs/stream.h"

#define RECORDING_NO_EVENT 0xff
#define RECORDING_IDS 65536
#define RECORDING_PENDING 256

struct event_counter {
    uint64_t count;  // of the interval
    uint64_t marked; // of the last one, if it is to be marked
    double total;
    struct event_format *format;
    const struct text *name, *filter;
};

// One choice while it is recorded: the stream points into it.
struct event_recording {
    struct choice choice;
    struct stream_event events[CHOICE_MAX];
    struct format_field fields[CHOICE_MAX][2]; // of each: common_pid; next_pid of a switch
    struct event_counter counters[CHOICE_MAX];
    struct stream *stream; // NULL: only system calls are chosen
    struct event_names *names;
    const struct collect_options *options;
    struct sources *sources;
    struct flows *flows;        // NULL: no event of a TCP connection is chosen
    uint64_t drained_ns, calls; // calls: of the interval
    struct kept *kept;
    struct event_stacks *stacks;  // NULL: not wanted, or the kernel writes none
    const char *options_set[3];   // of the instance; ends with NULL
    bool no_marker;               // trace_marker is chosen, and this kernel does not copy it
    struct event_groups *groups;  // NULL: none
    uint8_t by_id[RECORDING_IDS]; // index of the event; RECORDING_NO_EVENT: none
    struct own_threads own;
    uint8_t seen[RECORDING_IDS]; // by the low bits of a TID: it is in `pending`, or was looked up in this interval
    int32_t pending[RECORDING_PENDING]; // threads to be looked up after the drain, since they may exit soon
    size_t n_pending;
    uint8_t named;      // index of the event whose threads the sources name; RECORDING_NO_EVENT: none
    uint32_t most_ms;   // between two drains: short if threads must be looked up before they exit
    uint64_t *cpu_lost; // by CPU, at the last frame
    uint64_t dropped;   // ktop's own events: not counted as events
};

// Takes the choice and the groups (NULL: none). names: borrowed. second: use the other one of two names of an instance,
// since the previous choice is recorded until this one is. 0, or -errno with run->reason and run->fix; nothing is left
// then.
int event_recording_open(struct collector_run *run, struct choice *choice, struct event_groups *groups,
                         struct event_names *names, bool second, struct event_recording **out);
// Events that the kernel lost since the last call, by CPU: "120 on CPU 0, 3 on CPU 5"; "": none.
void event_recording_losses(struct event_recording *recording, char *out, size_t size);
void event_recording_free(struct event_recording *recording); // NULL is allowed
// Reads what was recorded up to now, sets run->drain_ms and run->poll_fd. all: the frame ends, so nothing may wait.
void event_recording_drain(struct event_recording *recording, struct collector_run *run, bool all);

#endif
