// Open addressing into an array of addresses (see the header).
#include "collectors/profile/addresses.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define SLOTS (2 * ADDRESSES_MAX) // a power of two
#define KEPT (ADDRESSES_MAX / 2)  // when it is full

struct addresses {
    struct address list[ADDRESSES_MAX];
    uint32_t n;
    uint64_t dropped;
    uint16_t slots[SLOTS]; // index in the list plus 1; 0: free
};

struct addresses *addresses_new(void) {
    return xcalloc(1, sizeof(struct addresses));
}

void addresses_free(struct addresses *addresses) {
    free(addresses);
}

static uint16_t *slot_of(struct addresses *addresses, uint32_t process, uint32_t leaf, uint64_t ip) {
    uint64_t hash = (ip ^ (uint64_t)process << 40 ^ (uint64_t)leaf << 20) * 0x9e3779b97f4a7c15ull;
    uint32_t at = (uint32_t)(hash >> 32) & (SLOTS - 1);
    for (;; at = (at + 1) & (SLOTS - 1)) {
        uint16_t index = addresses->slots[at];
        const struct address *entry = &addresses->list[index ? index - 1 : 0];
        if (!index || (entry->ip == ip && entry->process == process && entry->leaf == leaf))
            return &addresses->slots[at];
    }
}

static int order(const void *a, const void *b) {
    const struct address *x = a, *y = b;
    if (x->samples != y->samples)
        return x->samples < y->samples ? 1 : -1;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    return x->ip == y->ip ? 0 : x->ip < y->ip ? -1 : 1;
}

// Sorts the list, keeps its first ones, and finds them again in the slots.
static void sort(struct addresses *addresses, uint32_t kept) {
    if (addresses->n)
        qsort(addresses->list, addresses->n, sizeof(*addresses->list), order);
    for (uint32_t i = kept; i < addresses->n; i++)
        addresses->dropped += addresses->list[i].samples;
    addresses->n = addresses->n < kept ? addresses->n : kept;
    memset(addresses->slots, 0, sizeof(addresses->slots));
    for (uint32_t i = 0; i < addresses->n; i++) {
        const struct address *entry = &addresses->list[i];
        *slot_of(addresses, entry->process, entry->leaf, entry->ip) = (uint16_t)(i + 1);
    }
}

bool addresses_add(struct addresses *addresses, uint32_t process, uint32_t leaf, uint64_t ip, struct address **out) {
    uint16_t *slot = slot_of(addresses, process, leaf, ip);
    if (*slot) {
        addresses->list[*slot - 1].samples++;
        return false;
    }
    if (addresses->n == ADDRESSES_MAX) {
        sort(addresses, KEPT);
        slot = slot_of(addresses, process, leaf, ip);
    }
    *out = &addresses->list[addresses->n++];
    **out = (struct address){.process = process, .leaf = leaf, .ip = ip, .samples = 1};
    *slot = (uint16_t)addresses->n;
    return true;
}

const struct address *addresses_sorted(struct addresses *addresses, size_t *n, uint64_t *dropped) {
    sort(addresses, ADDRESSES_MAX);
    *n = addresses->n;
    *dropped = addresses->dropped;
    return addresses->list;
}

void addresses_clear(struct addresses *addresses) {
    memset(addresses->slots, 0, sizeof(addresses->slots));
    addresses->n = 0;
    addresses->dropped = 0;
}
