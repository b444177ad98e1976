// The cache in front of symbol tables: most samples hit an address that was seen before. Only the collector's thread
// uses it, without the lock.
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/symbols/private.h"

static uint32_t slot_of(const struct id_cache *cache, uint64_t offset) {
    return (uint32_t)((offset * 0x9e3779b97f4a7c15ull) >> 32) & (cache->capacity - 1);
}

uint32_t id_cache_get(const struct id_cache *cache, uint64_t offset) {
    if (!cache->capacity)
        return NAME_NONE;
    uint32_t at = slot_of(cache, offset);
    while (cache->entries[at].id != NAME_NONE && cache->entries[at].offset != offset)
        at = (at + 1) & (cache->capacity - 1);
    return cache->entries[at].id;
}

static void insert(struct id_cache *cache, uint64_t offset, uint32_t id) {
    uint32_t at = slot_of(cache, offset);
    while (cache->entries[at].id != NAME_NONE && cache->entries[at].offset != offset)
        at = (at + 1) & (cache->capacity - 1);
    cache->used += cache->entries[at].id == NAME_NONE;
    cache->entries[at] = (struct pending){offset, id};
}

static void grow(struct symbols *symbols, struct id_cache *cache) {
    struct id_cache larger = {.capacity = cache->capacity ? cache->capacity * 2 : 16};
    larger.entries = xmalloc(larger.capacity * sizeof(*larger.entries));
    for (uint32_t i = 0; i < larger.capacity; i++)
        larger.entries[i] = (struct pending){0, NAME_NONE};
    for (uint32_t i = 0; i < cache->capacity; i++)
        if (cache->entries[i].id != NAME_NONE)
            insert(&larger, cache->entries[i].offset, cache->entries[i].id);
    atomic_fetch_add(&symbols->bytes, (larger.capacity - cache->capacity) * sizeof(*larger.entries));
    free(cache->entries);
    *cache = larger;
}

void id_cache_put(struct symbols *symbols, struct id_cache *cache, uint64_t offset, uint32_t id) {
    if (cache->used + 1 > cache->capacity / 4 * 3)
        grow(symbols, cache);
    insert(cache, offset, id);
}

void id_cache_clear(struct symbols *symbols, struct id_cache *cache) {
    atomic_fetch_sub(&symbols->bytes, cache->capacity * sizeof(*cache->entries));
    free(cache->entries);
    *cache = (struct id_cache){0};
}
