// A small hash table from 64-bit keys to 32-bit values that only grows until it is cleared. Zeroed: empty.
#ifndef COLLECTORS_PROFILE_INDEX_H
#define COLLECTORS_PROFILE_INDEX_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define INDEX_NONE UINT32_MAX

struct index {
    struct index_slot {
        uint64_t key;
        uint32_t value; // plus 1; 0: empty
    } * slots;
    uint32_t n, capacity; // a power of two
};

static inline struct index_slot *index_slot(const struct index *index, uint64_t key) {
    uint64_t hash = key * 0x9e3779b97f4a7c15ull;
    uint32_t at = (uint32_t)(hash >> 32) & (index->capacity - 1);
    while (index->slots[at].value && index->slots[at].key != key)
        at = (at + 1) & (index->capacity - 1);
    return &index->slots[at];
}

static inline uint32_t index_get(const struct index *index, uint64_t key) {
    return index->capacity ? index_slot(index, key)->value - 1 : INDEX_NONE;
}

// A key that is not there yet.
static inline void index_add(struct index *index, uint64_t key, uint32_t value) {
    if (2 * (index->n + 1) > index->capacity) {
        struct index old = *index;
        index->capacity = old.capacity ? old.capacity * 2 : 64;
        index->slots = xcalloc(index->capacity, sizeof *index->slots);
        for (uint32_t i = 0; i < old.capacity; i++)
            if (old.slots[i].value)
                *index_slot(index, old.slots[i].key) = old.slots[i];
        free(old.slots);
    }
    *index_slot(index, key) = (struct index_slot){key, value + 1};
    index->n++;
}

static inline void index_clear(struct index *index) {
    if (index->capacity)
        memset(index->slots, 0, index->capacity * sizeof *index->slots);
    index->n = 0;
}

static inline void index_free(struct index *index) {
    free(index->slots);
    *index = (struct index){0};
}

#endif
