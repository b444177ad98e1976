#include "collectors/kernel/groups/group_pair.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define MASK (GROUP_STARTS - 1)

struct start {
    struct group_key key;
    uint64_t ns;
    bool used;
};
struct group_starts {
    struct start slots[GROUP_STARTS];
    struct group_starts_figures figures;
};

struct group_starts *group_starts_new(void) {
    return xcalloc(1, sizeof(struct group_starts));
}

void group_starts_free(struct group_starts *starts) {
    free(starts);
}

// Its slot, or the free one where it belongs.
static size_t slot_find(const struct group_starts *starts, const struct group_key *key) {
    size_t slot = group_key_hash(key) & MASK;
    while (starts->slots[slot].used && !group_keys_equal(&starts->slots[slot].key, key))
        slot = (slot + 1) & MASK;
    return slot;
}

void group_start(struct group_starts *starts, const struct group_key *key, uint64_t ns) {
    struct start *start = &starts->slots[slot_find(starts, key)];
    if (start->used) {
        starts->figures.replaced++;
    } else if (starts->figures.open >= GROUP_STARTS / 4 * 3) {
        starts->figures.refused++;
        return;
    } else {
        starts->figures.open++;
    }
    *start = (struct start){.key = *key, .ns = ns, .used = true};
}

// Linear probing without tombstones: later entries of the run move into the gap unless they are at or past their home.
static void slot_remove(struct group_starts *starts, size_t gap) {
    for (size_t at = (gap + 1) & MASK; starts->slots[at].used; at = (at + 1) & MASK) {
        size_t home = group_key_hash(&starts->slots[at].key) & MASK;
        if (((at - home) & MASK) < ((at - gap) & MASK))
            continue;
        starts->slots[gap] = starts->slots[at];
        gap = at;
    }
    starts->slots[gap].used = false;
    starts->figures.open--;
}

bool group_end(struct group_starts *starts, const struct group_key *key, uint64_t ns, uint64_t *latency_ns) {
    size_t slot = slot_find(starts, key);
    if (!starts->slots[slot].used)
        return false;
    *latency_ns = ns > starts->slots[slot].ns ? ns - starts->slots[slot].ns : 0;
    slot_remove(starts, slot);
    return true;
}

void group_starts_drop(struct group_starts *starts, uint64_t before_ns) {
    for (size_t i = 0; starts->figures.open && i < GROUP_STARTS; i++)
        while (starts->slots[i].used && starts->slots[i].ns < before_ns) { // another one may move into the slot
            slot_remove(starts, i);
            starts->figures.replaced++;
        }
}

struct group_starts_figures group_starts_frame(struct group_starts *starts) {
    struct group_starts_figures figures = starts->figures;
    starts->figures.replaced = starts->figures.refused = 0;
    return figures;
}
