// Threads: which ones write back an inode for the kernel, and which thread created one that has exited.
#include "collectors/block/flight.h"

#define TID_REUSE_NS 10000000000ull // TIDs are reused, but not sooner

static void on_writeback(struct block_match *match, const struct block_event *event) {
    struct writer *writer = (struct writer *)writer_find(match, event->tid);
    if (event->kind == BLOCK_WB_END) {
        if (writer)
            *writer = match->writers[--match->n_writers];
        return;
    }
    if (!writer && match->n_writers < WRITERS)
        writer = &match->writers[match->n_writers++];
    if (writer)
        *writer = (struct writer){.tid = event->tid, .cgroup = event->cgroup};
}

static struct block_thread *thread_place(struct block_match *match, int32_t tid) {
    return &match->threads[(uint32_t)tid % THREADS];
}

void thread_event(struct block_match *match, const struct block_event *event) {
    if (event->kind != BLOCK_THREAD) {
        on_writeback(match, event);
        return;
    }
    int32_t tid = (int32_t)event->bytes;
    struct block_thread *thread = thread_place(match, tid);
    *thread = (struct block_thread){.created_ns = event->ts, .tid = tid, .creator = event->tid};
    if (event->comm)
        memcpy(thread->comm, event->comm, BLOCK_COMM);
}

const struct block_thread *block_match_thread(const struct block_match *match, int32_t tid, uint64_t now_ns) {
    const struct block_thread *thread = thread_place((struct block_match *)match, tid);
    return thread->tid == tid && thread->created_ns + TID_REUSE_NS > now_ns ? thread : NULL;
}
