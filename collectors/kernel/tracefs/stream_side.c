#include "collectors/kernel/tracefs/stream_side.h"

#include <sys/syscall.h>
#include <unistd.h>

static void *side_main(void *argument) {
    struct stream_side *side = argument;
    pthread_setname_np(pthread_self(), side->name);
    atomic_store(&side->tid, (int)syscall(SYS_gettid)); // before any event of this thread: see stream_side_done
    side->work(side->ctx);
    atomic_store(&side->done, true);
    return NULL;
}

bool stream_side_start(struct stream_side *side, const char *name, void (*work)(void *ctx), void *ctx) {
    side->name = name;
    side->work = work;
    side->ctx = ctx;
    atomic_store(&side->tid, 0);
    atomic_store(&side->done, false);
    side->running = !pthread_create(&side->thread, NULL, side_main, side);
    return side->running;
}

bool stream_side_done(struct stream_side *side, const struct stream_config *config) {
    if (!side->running)
        return false;
    // The thread's events are recorded after it stores its TID and read after this: the decoder then has the TID.
    int tid = atomic_load(&side->tid);
    if (tid && config->on_self)
        config->on_self(config->ctx, tid);
    if (!atomic_load(&side->done))
        return false;
    stream_side_join(side);
    return true;
}

void stream_side_join(struct stream_side *side) {
    if (side->running)
        pthread_join(side->thread, NULL);
    side->running = false;
}
