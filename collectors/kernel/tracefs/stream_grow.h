// Larger buffers without a gap. From Linux 6.7 on the kernel records nothing in an instance while one of its buffers is
// resized, for 10 ms and more, and counts no loss. So a second instance with larger buffers is made in a side thread.
// Then both record for a moment, the first is read up to a time (the cut) and the second from there on, and the first
// is removed.
#ifndef COLLECTORS_STREAM_GROW_H
#define COLLECTORS_STREAM_GROW_H

#include "collectors/kernel/tracefs/stream_capture.h"
#include "collectors/kernel/tracefs/stream_side.h"

enum grow_state {
    GROW_IDLE,
    GROW_MAKE,   // the side thread makes the next capture
    GROW_CUT,    // both record; `cut` is the time of the hand-over
    GROW_REMOVE, // the side thread removes the old one
};

struct stream_grow {
    enum grow_state state;
    struct stream_side side;
    struct capture next; // being made, or to be removed
    const char *clock;
    uint32_t *cpu_kib; // wanted buffers
    uint32_t events;   // to be enabled
    int error;         // of the side thread
    uint64_t cut;      // of the trace clock; CLOCK_MONOTONIC: cut_ns
    uint64_t cut_ns;
    uint64_t failed_ns; // last failure: memory may be short
};

// After a drain of `now`: begins to make larger buffers if one of them was more than half full.
void stream_grow_look(struct stream_grow *grow, struct capture *now, const char *clock);
// Before a drain up to horizon_ns; on: events are being recorded. False: nothing to do but a normal drain. True: the
// drain has to go to grow->cut, and then stream_grow_hand_over; after that the drain goes on with the new capture.
bool stream_grow_due(struct stream_grow *grow, struct capture *now, bool on, const struct trace_clock *clock,
                     uint64_t horizon_ns);
// `now` was drained up to the cut: it becomes the next one. Returns what the old one had lost.
uint64_t stream_grow_hand_over(struct stream_grow *grow, struct capture *now);
// Abandons an unfinished hand-over and waits for the side thread.
void stream_grow_end(struct stream_grow *grow);

#endif
