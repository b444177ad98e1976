// An array of sums with a hash index by TID. It grows between two walks of the rings, never within one.
#include "collectors/counters/task_sum.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define ROOM_MIN 256
// Clocks of two CPUs may differ: a thread forked on one may seem to run on the other slightly earlier. PIDs are not
// reused within this time.
#define SKEW_NS 5000000

struct task_sums {
    struct task_sum *sums;
    size_t count, room;
    uint32_t *slots; // index + 1; 0: free. Four times the room, a power of two
    size_t mask;
};

void task_counts_add(struct task_counts *to, const struct task_counts *more) {
    to->time_ns += more->time_ns;
    to->running_ns += more->running_ns;
    for (size_t i = 0; i < TASK_EVENTS_MAX; i++)
        to->values[i] += more->values[i];
}

bool task_sum_mixed(const struct task_sum *sum) {
    return sum->forked_ns > SKEW_NS && sum->first_ns < sum->forked_ns - SKEW_NS;
}

struct task_sums *task_sums_new(void) {
    struct task_sums *sums = xcalloc(1, sizeof(*sums));
    task_sums_reserve(sums, ROOM_MIN);
    return sums;
}

void task_sums_free(struct task_sums *sums) {
    if (!sums)
        return;
    free(sums->sums);
    free(sums->slots);
    free(sums);
}

void task_sums_clear(struct task_sums *sums) {
    sums->count = 0;
    memset(sums->slots, 0, (sums->mask + 1) * sizeof(*sums->slots));
}

static uint32_t *slot_of(const struct task_sums *sums, pid_t tid) {
    size_t at = ((uint64_t)(uint32_t)tid * 0x9e3779b97f4a7c15ull >> 32) & sums->mask;
    while (sums->slots[at] && sums->sums[sums->slots[at] - 1].tid != tid)
        at = (at + 1) & sums->mask;
    return &sums->slots[at];
}

void task_sums_reserve(struct task_sums *sums, size_t more) {
    if (sums->count + more <= sums->room)
        return;
    size_t room = sums->room ? sums->room : ROOM_MIN;
    while (room < sums->count + more)
        room *= 2;
    sums->room = room;
    sums->mask = room * 4 - 1;
    sums->sums = xrealloc(sums->sums, room * sizeof(*sums->sums));
    free(sums->slots);
    sums->slots = xcalloc(sums->mask + 1, sizeof(*sums->slots));
    for (size_t i = 0; i < sums->count; i++)
        *slot_of(sums, sums->sums[i].tid) = (uint32_t)i + 1;
}

struct task_sum *task_sums_get(struct task_sums *sums, pid_t pid, pid_t tid) {
    uint32_t *slot = slot_of(sums, tid);
    if (*slot)
        return &sums->sums[*slot - 1];
    if (sums->count == sums->room)
        return NULL;
    struct task_sum *sum = &sums->sums[sums->count++];
    *sum = (struct task_sum){.pid = pid, .tid = tid, .first_ns = UINT64_MAX};
    *slot = (uint32_t)sums->count;
    return sum;
}

struct task_sum *task_sums_find(const struct task_sums *sums, pid_t tid) {
    uint32_t slot = *slot_of(sums, tid);
    return slot ? &sums->sums[slot - 1] : NULL;
}

size_t task_sums_count(const struct task_sums *sums) {
    return sums->count;
}

struct task_sum *task_sums_at(struct task_sums *sums, size_t i) {
    return &sums->sums[i];
}
