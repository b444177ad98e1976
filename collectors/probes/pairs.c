// Matching of returns; see the header.
#include "collectors/probes/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define WAYS 4 // places of a thread and function in the table
#define RETURN_SLACK                                                                                                   \
    64ull // between the stack pointer at the entry and after the return: the return address, and what
          // a trampoline has pushed

struct slot {
    int32_t tid; // 0: free
    uint32_t function, depth, used;
    uint64_t stacks[PAIRS_DEEP]; // outermost first
};

struct pairs {
    struct slot *slots;
    uint32_t clock;
    uint64_t lost[PAIRS_MAX], in_flight[PAIRS_MAX];
    uint64_t forgotten[PAIRS_MAX]; // calls whose returns may still come, without an entry
};

struct pairs *pairs_new(void) {
    struct pairs *pairs = xcalloc(1, sizeof(*pairs));
    pairs->slots = xcalloc(PAIRS_SLOTS, sizeof(*pairs->slots));
    return pairs;
}

void pairs_free(struct pairs *pairs) {
    if (!pairs)
        return;
    free(pairs->slots);
    free(pairs);
}

static void forget(struct pairs *pairs, uint32_t function, uint64_t n) {
    pairs->in_flight[function] -= n;
    pairs->forgotten[function] += n;
}

// The thread's slot; NULL: it has none and `take` is false.
static struct slot *slot_of(struct pairs *pairs, uint32_t function, int32_t tid, bool take) {
    uint32_t hash = ((uint32_t)tid * PAIRS_MAX + function) * 2654435761u;
    struct slot *set = &pairs->slots[(hash >> 16) % (PAIRS_SLOTS / WAYS) * WAYS], *oldest = set;
    for (int i = 0; i < WAYS; i++) {
        if (set[i].tid == tid && set[i].function == function) {
            set[i].used = ++pairs->clock;
            return &set[i];
        }
        if (!set[i].depth ? oldest->depth || set[i].used < oldest->used : oldest->depth && set[i].used < oldest->used)
            oldest = &set[i];
    }
    if (!take)
        return NULL;
    forget(pairs, oldest->function, oldest->depth);
    oldest->tid = tid;
    oldest->function = function;
    oldest->depth = 0;
    oldest->used = ++pairs->clock;
    return oldest;
}

void pairs_enter(struct pairs *pairs, uint32_t function, int32_t tid, uint64_t stack) {
    struct slot *slot = slot_of(pairs, function, tid, true);
    uint32_t depth = slot->depth;
    while (depth && slot->stacks[depth - 1] <= stack)
        depth--;
    pairs->lost[function] += slot->depth - depth;
    pairs->in_flight[function] -= slot->depth - depth;
    if (depth == PAIRS_DEEP) {
        memmove(slot->stacks, slot->stacks + 1, (PAIRS_DEEP - 1) * sizeof(slot->stacks[0]));
        depth--;
        forget(pairs, function, 1);
    }
    slot->stacks[depth] = stack;
    slot->depth = depth + 1;
    pairs->in_flight[function]++;
}

void pairs_leave(struct pairs *pairs, uint32_t function, int32_t tid, uint64_t stack) {
    struct slot *slot = slot_of(pairs, function, tid, false);
    uint32_t depth = slot ? slot->depth : 0;
    while (depth && slot->stacks[depth - 1] <= stack)
        depth--;
    uint32_t ended = slot ? slot->depth - depth : 0;
    if (!ended) { // of a call on another stack of the thread (a coroutine, a signal handler) that was taken for lost
        if (pairs->forgotten[function])
            pairs->forgotten[function]--;
        else if (pairs->lost[function])
            pairs->lost[function]--;
        return;
    }
    bool its = stack - slot->stacks[depth] <= RETURN_SLACK;
    pairs->lost[function] += ended - its;
    pairs->in_flight[function] -= ended;
    slot->depth = depth;
}

void pairs_gap(struct pairs *pairs) {
    for (size_t i = 0; i < PAIRS_SLOTS; i++)
        pairs->slots[i].tid = 0, pairs->slots[i].depth = 0;
    for (uint32_t i = 0; i < PAIRS_MAX; i++)
        forget(pairs, i, pairs->in_flight[i]);
}

uint64_t pairs_lost(const struct pairs *pairs, uint32_t function) {
    return pairs->lost[function];
}

uint64_t pairs_in_flight(const struct pairs *pairs, uint32_t function) {
    return pairs->in_flight[function];
}
