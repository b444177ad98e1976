// Work of a stream that makes the kernel wait (for all CPUs, for memory): in a side thread, while the stream's own
// thread goes on reading. What ktop's side threads do may be recorded: their IDs are passed to the decoder first.
#ifndef COLLECTORS_STREAM_SIDE_H
#define COLLECTORS_STREAM_SIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "collectors/kernel/tracefs/stream.h"

struct stream_side {
    bool running;
    pthread_t thread;
    void (*work)(void *ctx);
    void *ctx;
    const char *name;
    atomic_int tid; // 0: it has done nothing yet
    atomic_bool done;
};

// Runs work(ctx) in a thread of that name. False: no thread could be made. Nothing else may touch what it uses until
// stream_side_done returns true.
bool stream_side_start(struct stream_side *side, const char *name, void (*work)(void *ctx), void *ctx);
// Before events are read that were written until now: names the thread to the decoder. True once, when it has ended.
bool stream_side_done(struct stream_side *side, const struct stream_config *config);
void stream_side_join(struct stream_side *side);

#endif
