// States of threads and the division of their times (see the header). A thread that is awake is forgotten after some
// intervals without a record; one that is blocked stays.
#include "collectors/profile/blocks.h"

#include <stdlib.h>
#include <string.h>

#include "collectors/profile/index.h"
#include "model/mem.h"

#define IDLE_INTERVALS 10 // that an awake thread is kept
#define ASKED_IDS_MAX 128
#define ORPHAN (-1) // the ID of a thread whose ID another one has now

enum length { SHORT, LONG, LENGTHS };

struct thread {
    pid_t pid, tid;
    bool blocked;
    bool sampled;            // the stack is of the current block
    bool pending;            // it is of the next switch
    bool asked;              // a stack of the current block was looked for
    uint8_t ended, idle;     // intervals since
    uint64_t began, counted; // the block; up to when it is counted
    uint32_t *ids;           // the last stack; n 0: none
    uint32_t n, room;
    uint32_t *waker; // of the last block with that stack; n_waker 0: unknown
    uint32_t n_waker, waker_room;
    uint64_t all[LENGTHS], known[LENGTHS]; // ns of the interval; known: with a stack
};

struct taken { // a block with a stack
    uint32_t thread, first, n;
    enum length length;
    uint64_t ns;
};

struct blocks {
    struct thread *threads;
    uint32_t n_threads, threads_room;
    struct index by_tid;
    struct taken *taken;
    uint32_t n_taken, taken_room;
    uint32_t *ids; // of the taken
    uint32_t n_ids, ids_room;
    bool paused;
    bool wakers; // paths end in a waker
    uint32_t unknown_waker;
    uint64_t refused;
};

struct blocks *blocks_new(void) {
    return xcalloc(1, sizeof(struct blocks));
}

void blocks_free(struct blocks *blocks) {
    if (!blocks)
        return;
    for (uint32_t i = 0; i < blocks->n_threads; i++) {
        free(blocks->threads[i].ids);
        free(blocks->threads[i].waker);
    }
    free(blocks->threads);
    free(blocks->taken);
    free(blocks->ids);
    index_free(&blocks->by_tid);
    free(blocks);
}

// Room for `more` elements of `size` bytes.
static void *room(void *array, uint32_t n, uint32_t more, uint32_t *capacity, size_t size) {
    if (n + more <= *capacity)
        return array;
    *capacity = *capacity + *capacity / 2 > n + more ? *capacity + *capacity / 2 : n + more + 16;
    return xrealloc(array, *capacity * size);
}

static struct thread *thread_find(const struct blocks *blocks, pid_t tid) {
    uint32_t at = index_get(&blocks->by_tid, (uint64_t)tid);
    return at == INDEX_NONE ? NULL : &blocks->threads[at];
}

static struct thread *thread_get(struct blocks *blocks, pid_t pid, pid_t tid) {
    struct thread *thread = thread_find(blocks, tid);
    if (!thread && blocks->n_threads >= BLOCKS_THREADS_MAX) {
        blocks->refused++;
        return NULL;
    }
    if (!thread) {
        blocks->threads = room(blocks->threads, blocks->n_threads, 1, &blocks->threads_room, sizeof *blocks->threads);
        index_add(&blocks->by_tid, (uint64_t)tid, blocks->n_threads);
        thread = &blocks->threads[blocks->n_threads++];
        *thread = (struct thread){.tid = tid};
    }
    thread->pid = pid;
    thread->idle = 0;
    return thread;
}

static void stack_set(struct thread *thread, const uint32_t *ids, size_t n) {
    thread->ids = room(thread->ids, 0, (uint32_t)n, &thread->room, sizeof *thread->ids);
    memcpy(thread->ids, ids, n * sizeof *ids);
    thread->n = (uint32_t)n;
    thread->n_waker = 0;
}

// ---- counting ----

// The stack of a thread, and what follows it, to the end of the IDs; returns how many.
static uint32_t path_put(struct blocks *blocks, const struct thread *thread, const uint32_t *waker, uint32_t n_waker) {
    uint32_t n = thread->n + n_waker;
    blocks->ids = room(blocks->ids, blocks->n_ids, n, &blocks->ids_room, sizeof *blocks->ids);
    memcpy(blocks->ids + blocks->n_ids, thread->ids, thread->n * sizeof *blocks->ids);
    if (n_waker)
        memcpy(blocks->ids + blocks->n_ids + thread->n, waker, n_waker * sizeof *blocks->ids);
    return n;
}

static uint32_t path_with_waker(struct blocks *blocks, const struct thread *thread) {
    bool known = blocks->wakers && thread->n_waker;
    return path_put(blocks, thread, known ? thread->waker : &blocks->unknown_waker,
                    known ? thread->n_waker : blocks->wakers);
}

static void stack_take(struct blocks *blocks, struct thread *thread, enum length length, uint64_t ns) {
    if (blocks->n_taken >= BLOCKS_STACKS_MAX)
        return;
    uint32_t n = path_with_waker(blocks, thread);
    blocks->taken = room(blocks->taken, blocks->n_taken, 1, &blocks->taken_room, sizeof *blocks->taken);
    blocks->taken[blocks->n_taken++] =
        (struct taken){(uint32_t)(thread - blocks->threads), blocks->n_ids, n, length, ns};
    blocks->n_ids += n;
    thread->known[length] += ns;
}

static void count(struct blocks *blocks, struct thread *thread, uint64_t time) {
    if (time <= thread->counted)
        return;
    enum length length = time - thread->began >= BLOCKS_LONG_NS ? LONG : SHORT;
    uint64_t ns = time - thread->counted;
    thread->all[length] += ns;
    if (thread->sampled)
        stack_take(blocks, thread, length, ns);
    thread->counted = time;
}

void blocks_stack(struct blocks *blocks, pid_t pid, pid_t tid, const uint32_t *ids, size_t n) {
    struct thread *thread = thread_get(blocks, pid, tid);
    if (!thread || thread->ended)
        return;
    stack_set(thread, ids, n);
    thread->pending = true;
}

void blocks_out(struct blocks *blocks, pid_t pid, pid_t tid, uint64_t time, bool preempted) {
    struct thread *thread = thread_get(blocks, pid, tid);
    if (!thread || thread->ended) // the last switch of a thread that exits
        return;
    thread->blocked = !preempted;
    thread->sampled = thread->pending && !preempted;
    thread->pending = thread->asked = false;
    thread->began = thread->counted = time;
}

bool blocks_asks_waker(const struct blocks *blocks, pid_t tid) {
    const struct thread *thread = blocks->wakers && !blocks->paused ? thread_find(blocks, tid) : NULL;
    return thread && thread->blocked && thread->sampled;
}

void blocks_waker(struct blocks *blocks, pid_t tid, const uint32_t *ids, size_t n) {
    if (!n || !blocks_asks_waker(blocks, tid))
        return;
    struct thread *thread = thread_find(blocks, tid);
    thread->waker = room(thread->waker, 0, (uint32_t)n, &thread->waker_room, sizeof *thread->waker);
    memcpy(thread->waker, ids, n * sizeof *ids);
    thread->n_waker = (uint32_t)n;
}

void blocks_in(struct blocks *blocks, pid_t tid, uint64_t time) {
    struct thread *thread = thread_find(blocks, tid);
    if (!thread)
        return;
    if (thread->blocked)
        count(blocks, thread, time);
    thread->idle = 0;
    thread->blocked = thread->sampled = thread->pending = false;
}

// The thread that had the ID before keeps its times: they are given at the end of the interval.
void blocks_fork(struct blocks *blocks, pid_t tid) {
    struct thread *thread = thread_find(blocks, tid), *other;
    if (!thread || blocks->n_threads >= BLOCKS_THREADS_MAX)
        return;
    thread->ended += !thread->ended;
    thread->blocked = false;
    thread->tid = ORPHAN;
    pid_t pid = thread->pid;
    blocks->threads = room(blocks->threads, blocks->n_threads, 1, &blocks->threads_room, sizeof *blocks->threads);
    index_slot(&blocks->by_tid, (uint64_t)tid)->value = blocks->n_threads + 1;
    other = &blocks->threads[blocks->n_threads++];
    *other = (struct thread){.pid = pid, .tid = tid};
}

void blocks_exit(struct blocks *blocks, pid_t tid, uint64_t time) {
    struct thread *thread = thread_find(blocks, tid);
    if (!thread)
        return;
    if (thread->blocked && !blocks->paused)
        count(blocks, thread, time);
    thread->blocked = thread->sampled = thread->pending = false;
    thread->ended = 1;
}

void blocks_lost(struct blocks *blocks) {
    for (uint32_t i = 0; i < blocks->n_threads; i++) {
        struct thread *thread = &blocks->threads[i];
        thread->blocked = thread->sampled = thread->pending = false;
    }
}

void blocks_asleep(struct blocks *blocks, pid_t pid, pid_t tid, uint64_t now) {
    struct thread *thread = thread_find(blocks, tid) ? NULL : thread_get(blocks, pid, tid);
    if (!thread)
        return;
    thread->blocked = true;
    thread->counted = now; // since when it sleeps is unknown: began stays 0
}

void blocks_pause(struct blocks *blocks, uint64_t time) {
    for (uint32_t i = 0; i < blocks->n_threads; i++)
        if (blocks->threads[i].blocked)
            count(blocks, &blocks->threads[i], time);
    blocks->paused = true;
}

void blocks_resume(struct blocks *blocks, uint64_t time) {
    for (uint32_t i = 0; i < blocks->n_threads; i++) {
        struct thread *thread = &blocks->threads[i];
        thread->counted = time;
        thread->n_waker = 0;
        thread->sampled &= !thread->pending; // a newer stack: it was awake meanwhile
        thread->pending = false;
    }
    blocks->paused = false;
}

void blocks_look(struct blocks *blocks, uint64_t now, size_t max, blocks_look_fn *fn, void *context) {
    for (uint32_t i = 0; i < blocks->n_threads && max; i++) {
        struct thread *thread = &blocks->threads[i];
        if (thread->blocked || thread->ended)
            continue;
        max--;
        thread->blocked = fn(context, thread->pid, thread->tid);
        thread->asked = false;
        thread->began = thread->counted = now;
    }
}

void blocks_ask(struct blocks *blocks, uint64_t before, size_t max, blocks_ask_fn *fn, void *context) {
    uint32_t ids[ASKED_IDS_MAX];
    for (uint32_t i = 0; i < blocks->n_threads && max; i++) {
        struct thread *thread = &blocks->threads[i];
        if (!thread->blocked || thread->sampled || thread->asked || thread->began > before)
            continue;
        thread->asked = true;
        max--;
        size_t n = fn(context, thread->pid, thread->tid, ids, ASKED_IDS_MAX);
        if (!n)
            continue;
        stack_set(thread, ids, n);
        thread->sampled = true;
    }
}

// ---- the end of an interval ----

// Forgets threads, and builds the index again if there were any.
static void threads_prune(struct blocks *blocks) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < blocks->n_threads; i++) {
        struct thread *thread = &blocks->threads[i];
        memset(thread->all, 0, sizeof thread->all);
        memset(thread->known, 0, sizeof thread->known);
        // The last switch of a thread follows its exit, maybe in the next interval.
        bool gone = thread->ended > 1 || (!thread->blocked && thread->idle >= IDLE_INTERVALS);
        thread->ended += thread->ended > 0;
        thread->idle += !thread->blocked && !gone;
        if (gone) {
            free(thread->ids);
            free(thread->waker);
        } else {
            blocks->threads[kept++] = *thread;
        }
    }
    if (kept == blocks->n_threads)
        return;
    blocks->n_threads = kept;
    index_clear(&blocks->by_tid);
    for (uint32_t i = 0; i < kept; i++)
        if (blocks->threads[i].tid != ORPHAN)
            index_add(&blocks->by_tid, (uint64_t)blocks->threads[i].tid, i);
}

struct giver {
    blocks_fn *fn;
    void *context;
    double carry; // of a microsecond
};

static void give(struct giver *giver, pid_t pid, const uint32_t *ids, size_t n, double ns) {
    double us = ns / 1e3 + giver->carry;
    uint64_t whole = (uint64_t)us;
    giver->carry = us - (double)whole;
    if (whole)
        giver->fn(giver->context, pid, ids, n, whole);
}

void blocks_settle(struct blocks *blocks, uint64_t time, double scale, blocks_fn *fn, void *context) {
    struct giver giver = {fn, context, 0};
    for (uint32_t i = 0; i < blocks->n_threads && !blocks->paused; i++)
        if (blocks->threads[i].blocked)
            count(blocks, &blocks->threads[i], time);
    for (uint32_t i = 0; i < blocks->n_taken; i++) {
        const struct taken *taken = &blocks->taken[i];
        const struct thread *thread = &blocks->threads[taken->thread];
        double share = (double)taken->ns / (double)thread->known[taken->length];
        give(&giver, thread->pid, blocks->ids + taken->first, taken->n,
             share * (double)thread->all[taken->length] * scale);
    }
    for (uint32_t i = 0; i < blocks->n_threads; i++) {
        const struct thread *thread = &blocks->threads[i];
        for (int length = 0; length < LENGTHS; length++)
            if (thread->all[length] && !thread->known[length]) {
                uint32_t n = thread->n ? path_with_waker(blocks, thread) : 0;
                give(&giver, thread->pid, n ? blocks->ids + blocks->n_ids : NULL, n,
                     (double)thread->all[length] * scale);
            }
    }
    blocks->n_taken = blocks->n_ids = 0;
    blocks->refused = 0;
    threads_prune(blocks);
}

void blocks_set_wakers(struct blocks *blocks, bool on, uint32_t unknown) {
    for (uint32_t i = 0; i < blocks->n_threads; i++)
        blocks->threads[i].n_waker = 0;
    blocks->wakers = on;
    blocks->unknown_waker = unknown;
}

void blocks_forget_stacks(struct blocks *blocks) {
    for (uint32_t i = 0; i < blocks->n_threads; i++) {
        struct thread *thread = &blocks->threads[i];
        thread->n = thread->n_waker = 0;
        thread->sampled = thread->pending = thread->asked = false;
    }
}

size_t blocks_threads(const struct blocks *blocks) {
    return blocks->n_threads;
}

uint64_t blocks_refused(const struct blocks *blocks) {
    return blocks->refused;
}
