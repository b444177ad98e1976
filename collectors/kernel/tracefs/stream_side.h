// Runs a stream's slow kernel work (waits for all CPUs, or for memory) in a side thread, while the stream's thread
// reads. Events of side threads may be recorded: their TIDs are passed to the decoder first.
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
    atomic_int tid; // 0: not started yet
    atomic_bool done;
};

// Runs work(ctx) in a thread of that name. False: no thread could be created. Its data belongs to it until
// stream_side_done returns true.
bool stream_side_start(struct stream_side *side, const char *name, void (*work)(void *ctx), void *ctx);
// Call before reading the events written up to now: passes the TID to the decoder. True once, when it has ended.
bool stream_side_done(struct stream_side *side, const struct stream_config *config);
void stream_side_join(struct stream_side *side);

#endif
