#include "collectors/events/names.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define SLOTS 8192    // a power of two
#define USED_MAX 4096 // beyond, all are forgotten at the next interval

struct slot {
    int32_t tid; // 0: free
    uint32_t interval;
    struct task_identity identity;
};
struct event_names {
    const char *proc;
    uint32_t interval, used;
    struct slot slots[SLOTS];
    struct task_identity other; // for threads that find no slot
};

struct event_names *event_names_new(const char *proc) {
    struct event_names *names = xcalloc(1, sizeof(*names));
    names->proc = proc;
    return names;
}

void event_names_free(struct event_names *names) {
    free(names);
}

void event_names_begin(struct event_names *names) {
    names->interval++;
    if (names->used < USED_MAX)
        return;
    memset(names->slots, 0, sizeof(names->slots));
    names->used = 0;
}

static struct slot *slot_of(struct event_names *names, int32_t tid) {
    uint32_t at = (uint32_t)tid * 2654435761u >> 19;
    for (uint32_t tries = 0; tries < SLOTS; tries++, at = (at + 1) & (SLOTS - 1))
        if (names->slots[at].tid == tid || !names->slots[at].tid)
            return &names->slots[at];
    return NULL;
}

const struct task_identity *event_names_find(struct event_names *names, const struct collect_options *options,
                                             int32_t tid) {
    struct slot *slot = slot_of(names, tid);
    if (slot && slot->tid == tid && slot->interval == names->interval)
        return &slot->identity;
    struct task_identity identity = task_identify(names->proc, options, tid);
    if (!slot) {
        names->other = identity;
        return &names->other;
    }
    if (slot->tid != tid)
        names->used++;
    else if (!identity.found && slot->identity.found)
        identity = slot->identity; // it exited
    *slot = (struct slot){.tid = tid, .interval = names->interval, .identity = identity};
    return &slot->identity;
}
