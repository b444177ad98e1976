// Mappings of sampled processes. See space.h.
#include "collectors/kernel/unwind/space.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define SPACES_MAX 256
#define MAPS_MAX 256 // of one process that code was seen in; beyond, all are queried again

struct unwind_spaces {
    struct unwind_source source;
    struct unwind_objects *objects;
    struct unwind_space spaces[SPACES_MAX];
    uint64_t clock, map_bytes;
};

struct unwind_spaces *unwind_spaces_new(const struct unwind_source *source, struct unwind_objects *objects) {
    struct unwind_spaces *spaces = xcalloc(1, sizeof(*spaces));
    spaces->source = *source;
    spaces->objects = objects;
    return spaces;
}

static void forget(struct unwind_spaces *spaces, struct unwind_space *space) {
    spaces->map_bytes -= space->allocated * sizeof(*space->maps);
    free(space->maps);
    *space = (struct unwind_space){0};
}

void unwind_spaces_free(struct unwind_spaces *spaces) {
    if (!spaces)
        return;
    for (unsigned i = 0; i < SPACES_MAX; i++)
        forget(spaces, &spaces->spaces[i]);
    free(spaces);
}

uint64_t unwind_spaces_bytes(const struct unwind_spaces *spaces) {
    return sizeof(*spaces) + spaces->map_bytes;
}

static struct unwind_space *find(struct unwind_spaces *spaces, pid_t pid) {
    for (unsigned i = 0; i < SPACES_MAX; i++)
        if (spaces->spaces[i].pid == pid)
            return &spaces->spaces[i];
    return NULL;
}

struct unwind_space *unwind_spaces_get(struct unwind_spaces *spaces, pid_t pid, uint64_t version) {
    struct unwind_space *space = pid > 0 ? find(spaces, pid) : NULL;
    if (!space) {
        space = spaces->spaces;
        for (unsigned i = 1; i < SPACES_MAX; i++)
            if (spaces->spaces[i].used < space->used)
                space = &spaces->spaces[i];
        forget(spaces, space);
        space->pid = pid;
    }
    if (space->version != version)
        space->count = 0;
    space->version = version;
    space->used = ++spaces->clock;
    return space;
}

void unwind_spaces_flush(struct unwind_spaces *spaces, pid_t pid, uint64_t start, uint64_t end) {
    struct unwind_space *space = pid > 0 ? find(spaces, pid) : NULL;
    if (!space)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < space->count; i++)
        if (space->maps[i].map.end <= start || space->maps[i].map.start >= end)
            space->maps[kept++] = space->maps[i];
    space->count = kept;
}

void unwind_spaces_ended(struct unwind_spaces *spaces, pid_t pid) {
    struct unwind_space *space = pid > 0 ? find(spaces, pid) : NULL;
    if (space)
        forget(spaces, space);
}

// The index of the first mapping that ends above the address.
static size_t position(const struct unwind_space *space, uint64_t address) {
    size_t low = 0, high = space->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (space->maps[middle].map.end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static struct space_map *insert(struct unwind_spaces *spaces, struct unwind_space *space,
                                const struct unwind_map *map) {
    if (space->count == MAPS_MAX)
        space->count = 0;
    unwind_spaces_flush(spaces, space->pid, map->start, map->end);
    if (space->count == space->allocated) {
        size_t more = space->allocated ? space->allocated * 2 : 16;
        space->maps = xrealloc(space->maps, more * sizeof(*space->maps));
        spaces->map_bytes += (more - space->allocated) * sizeof(*space->maps);
        space->allocated = more;
    }
    size_t at = position(space, map->start);
    memmove(space->maps + at + 1, space->maps + at, (space->count - at) * sizeof(*space->maps));
    space->count++;
    struct space_map *entry = &space->maps[at];
    *entry = (struct space_map){.map = *map};
    return entry;
}

static struct space_map *query(struct unwind_spaces *spaces, struct unwind_space *space, uint64_t address,
                               struct unwind_object **object) {
    struct unwind_map map = {0};
    if (!spaces->source.map(spaces->source.context, space->pid, address, &map) || address < map.start ||
        address >= map.end)
        return NULL;
    struct space_map *entry = insert(spaces, space, &map);
    *object = unwind_objects_find(spaces->objects, space->pid, &map, &entry->slot);
    entry->id = *object ? (*object)->id : 0;
    entry->map.path = NULL;
    return entry;
}

const struct unwind_map *unwind_space_map(struct unwind_spaces *spaces, struct unwind_space *space, uint64_t address,
                                          struct unwind_object **object) {
    size_t at = space->last;
    if (at >= space->count ||
        address - space->maps[at].map.start >= space->maps[at].map.end - space->maps[at].map.start)
        at = position(space, address);
    struct space_map *entry = at < space->count && space->maps[at].map.start <= address ? &space->maps[at] : NULL;
    *object = NULL;
    if (entry && entry->id)
        *object = unwind_objects_at(spaces->objects, entry->slot, entry->id);
    if (!entry || (entry->id && !*object)) // evicted meanwhile: its path is needed
        entry = query(spaces, space, address, object);
    if (!entry)
        return NULL;
    space->last = (size_t)(entry - space->maps);
    return &entry->map;
}
