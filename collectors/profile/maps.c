// Processes by PID and from the least to the most recently used, and their sorted mappings (see the header).
#include "collectors/profile/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/slow_calls.h"
#include "collectors/profile/maps_private.h"
#include "model/mem.h"

static struct map_list *list_new(void) {
    struct map_list *list = xcalloc(1, sizeof *list);
    list->refs = 1;
    return list;
}

static void list_unref(struct space_maps *maps, struct map_list *list) {
    if (!list || --list->refs)
        return;
    for (uint32_t i = 0; i < list->n; i++)
        map_file_unref(maps, list->maps[i].file);
    maps->n_maps -= list->n;
    free(list->maps);
    free(list);
}

static void space_changed(struct space_maps *maps, struct space *space) {
    if (!++maps->last_version)
        maps->last_version = 1;
    space->version = maps->last_version;
}

static void list_drop(struct space_maps *maps, struct space *space) {
    maps_read_cancel(maps, space);
    list_unref(maps, space->list);
    space->list = NULL;
    space->read = false;
    space_changed(maps, space);
}

// The list of this process alone.
static struct map_list *list_own(struct space_maps *maps, struct space *space) {
    struct map_list *shared = space->list;
    if (shared && shared->refs == 1)
        return shared;
    space->list = list_new();
    if (!shared)
        return space->list;
    space->list->n = space->list->capacity = shared->n;
    space->list->maps = xcalloc(shared->n + 1, sizeof *shared->maps);
    for (uint32_t i = 0; i < shared->n; i++) {
        space->list->maps[i] = shared->maps[i];
        shared->maps[i].file->refs++;
    }
    maps->n_maps += shared->n;
    shared->refs--;
    return space->list;
}

// The first mapping that ends above the address.
static uint32_t list_at(const struct map_list *list, uint64_t address) {
    uint32_t low = 0, high = list->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->maps[middle].end <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void list_room(struct map_list *list, uint32_t n) {
    if (n <= list->capacity)
        return;
    list->capacity = n * 2 < 16 ? 16 : n * 2;
    list->maps = xrealloc(list->maps, list->capacity * sizeof *list->maps);
}

void list_insert(struct space_maps *maps, struct map_list *list, struct map map) {
    struct map put[3];
    uint32_t n = 0, from = list_at(list, map.start), to = from;
    while (to < list->n && list->maps[to].start < map.end)
        to++;
    if (to > from && list->maps[from].start < map.start) { // what is left below
        put[n] = list->maps[from];
        put[n].end = map.start;
        put[n++].file->refs++;
    }
    put[n++] = map;
    if (to > from && list->maps[to - 1].end > map.end) { // and above
        put[n] = list->maps[to - 1];
        put[n].offset += map.end - put[n].start;
        put[n].start = map.end;
        put[n++].file->refs++;
    }
    for (uint32_t i = from; i < to; i++)
        map_file_unref(maps, list->maps[i].file);
    list_room(list, list->n + 2);
    memmove(&list->maps[from + n], &list->maps[to], (list->n - to) * sizeof *list->maps);
    memcpy(&list->maps[from], put, n * sizeof *put);
    maps->n_maps += n;
    maps->n_maps -= to - from;
    list->n += n - (to - from);
}

// ---- processes ----

static struct space **bucket(const struct space_maps *maps, pid_t pid) {
    return &((struct space_maps *)maps)->buckets[((uint32_t)pid * 2654435761u) >> (32 - SPACE_BUCKET_BITS)];
}

static struct space *space_find(const struct space_maps *maps, pid_t pid) {
    struct space *space = *bucket(maps, pid);
    while (space && space->pid != pid)
        space = space->next;
    return space;
}

static void lru_take(struct space_maps *maps, struct space *space) {
    *(space->newer ? &space->newer->older : &maps->newest) = space->older;
    *(space->older ? &space->older->newer : &maps->oldest) = space->newer;
}

static void lru_put(struct space_maps *maps, struct space *space) {
    space->newer = NULL;
    space->older = maps->newest;
    *(maps->newest ? &maps->newest->newer : &maps->oldest) = space;
    maps->newest = space;
}

static void space_drop(struct space_maps *maps, struct space *space) {
    struct space **at = bucket(maps, space->pid);
    while (*at != space)
        at = &(*at)->next;
    *at = space->next;
    lru_take(maps, space);
    if (maps->gone)
        maps->gone(maps->context, space->pid);
    maps_read_cancel(maps, space);
    list_unref(maps, space->list);
    free(space);
    maps->n--;
}

static struct space *space_new(struct space_maps *maps, pid_t pid) {
    while (maps->n && (maps->n >= SPACES_MAX || maps->n_maps >= MAPS_MAX))
        space_drop(maps, maps->oldest);
    struct space *space = xcalloc(1, sizeof *space), **at = bucket(maps, pid);
    space->pid = pid;
    space->next = *at;
    *at = space;
    lru_put(maps, space);
    space_changed(maps, space);
    maps->n++;
    return space;
}

struct space_maps *space_maps_new(const char *proc, void (*gone)(void *context, pid_t pid), void *context) {
    struct space_maps *maps = xcalloc(1, sizeof *maps);
    snprintf(maps->proc, sizeof maps->proc, "%s", proc);
    maps->gone = gone;
    maps->context = context;
    maps->calls = slow_calls_new();
    return maps;
}

void space_maps_free(struct space_maps *maps) {
    if (!maps)
        return;
    maps->gone = NULL;
    while (maps->oldest)
        space_drop(maps, maps->oldest);
    slow_calls_free(maps->calls);
    free(maps);
}

struct slow_calls *space_maps_calls(const struct space_maps *maps) {
    return maps->calls;
}

struct space *space_maps_get(struct space_maps *maps, pid_t pid, uint64_t now_ns) {
    struct space *space = space_find(maps, pid);
    if (!space)
        space = space_new(maps, pid);
    else if (maps->newest != space) {
        lru_take(maps, space);
        lru_put(maps, space);
    }
    space->used_ns = now_ns;
    return space;
}

// ---- what /proc says ----

// A process that ended before it was looked at had the mappings of its parent, unless it did an exec.
static void space_read(struct space_maps *maps, struct space *space, pid_t tid) {
    const struct space *parent = space->parent > 0 && !space->list ? space_find(maps, space->parent) : NULL;
    bool known = parent && parent->read && parent->list;
    struct map_list *list;
    if (space->pid > 0) {
        list = list_new();
        if (!maps_read(maps, space, tid, space->list || known ? 0 : space->parent, list)) {
            list_unref(maps, list);
            return;
        }
    }
    space->read = true; // one try: what cannot be read now is gone for good
    if (space->pid <= 0)
        return;
    if (list->n) {
        list_unref(maps, space->list);
        space->list = list;
        space_changed(maps, space);
        return;
    }
    list_unref(maps, list); // a kernel thread, or it ended
    if (known) {
        space->list = parent->list;
        space->list->refs++;
        space->version = parent->version;
    }
}

const struct map *space_maps_find(struct space_maps *maps, struct space *space, pid_t tid, uint64_t address) {
    if (!space->read)
        space_read(maps, space, tid);
    if (!space->list)
        return NULL;
    uint32_t at = list_at(space->list, address);
    return at < space->list->n && space->list->maps[at].start <= address ? &space->list->maps[at] : NULL;
}

// ---- records ----

static void comm_set(struct space *space, const char *comm) {
    snprintf(space->comm, sizeof space->comm, "%s", comm);
    space->known.is_named = false;
}

// The process is another one from now on: an exec, or its PID is used again.
static struct space *space_reset(struct space_maps *maps, pid_t pid) {
    struct space *space = space_find(maps, pid);
    if (!space)
        return space_new(maps, pid);
    if (maps->gone)
        maps->gone(maps->context, pid);
    list_drop(maps, space);
    memset(&space->known, 0, sizeof space->known);
    space->ended = false;
    return space;
}

static void on_mmap(struct space_maps *maps, const struct profile_record *record) {
    const struct profile_mmap *mmap = &record->mmap;
    struct space *space = space_find(maps, record->pid);
    if (space)
        maps_read_cancel(maps, space); // whether that has this one is unknown
    if (!space || !space->read)        // all of it is read when it is needed
        return;
    struct map_list *list = list_own(maps, space);
    if (list->n + 2 > MAPS_OF_PROCESS_MAX)
        return;
    struct map_file *file = map_file_get(maps, mmap);
    list_insert(maps, list, (struct map){mmap->start, mmap->end, mmap->offset, file});
    if (file->jitdump)
        space->known.jit = NULL;
    space_changed(maps, space);
}

static void on_exec(struct space_maps *maps, const struct profile_record *record) {
    struct space *space = space_reset(maps, record->pid);
    space->read = true; // its mappings come as records, from the first one on
    space->used_ns = record->time;
    comm_set(space, record->comm);
}

static void on_fork(struct space_maps *maps, const struct profile_record *record) {
    if (record->pid == record->parent || record->pid <= 0) // a thread
        return;
    struct space *child = space_reset(maps, record->pid);
    const struct space *parent = space_find(maps, record->parent);
    child->parent = record->parent;
    child->used_ns = record->time;
    child->comm[0] = '\0';
    if (!parent)
        return;
    snprintf(child->comm, sizeof child->comm, "%s", parent->comm);
    if (!parent->read || !parent->list)
        return;
    child->list = parent->list;
    child->list->refs++;
    child->version = parent->version;
    child->read = true;
}

void space_maps_record(struct space_maps *maps, const struct profile_record *record) {
    struct space *space;
    switch (record->type) {
    case RECORD_MMAP:
        on_mmap(maps, record);
        break;
    case RECORD_EXEC:
        on_exec(maps, record);
        break;
    case RECORD_COMM: // of its other threads: of no use
        space = record->pid == record->tid ? space_find(maps, record->pid) : NULL;
        if (space)
            comm_set(space, record->comm);
        break;
    case RECORD_FORK:
        on_fork(maps, record);
        break;
    case RECORD_EXIT:
        space = record->pid == record->tid ? space_find(maps, record->pid) : NULL;
        if (space) {
            space->ended = true;
            space->ended_ns = record->time;
        }
        break;
    default:
        break;
    }
}

void space_maps_lost(struct space_maps *maps) {
    for (struct space *space = maps->newest; space; space = space->older) {
        maps_read_cancel(maps, space);
        space->read = false; // the list stays for a process that can no longer be read
    }
}

void space_maps_prune(struct space_maps *maps, uint64_t begin_ns) {
    for (struct space *space = maps->newest, *older; space; space = older) {
        older = space->older;
        memset(&space->counts, 0, sizeof space->counts);
        if (space->ended && space->ended_ns < begin_ns && space->used_ns < begin_ns)
            space_drop(maps, space);
    }
}

void space_maps_objects_forget(struct space_maps *maps) {
    for (size_t i = 0; i < FILE_BUCKETS; i++)
        for (struct map_file *file = maps->files[i]; file; file = file->next)
            file->object = NULL;
    for (struct space *space = maps->newest; space; space = space->older) {
        memset(&space->known, 0, sizeof space->known);
        space_changed(maps, space);
    }
}

void space_maps_each(struct space_maps *maps, void (*fn)(void *context, struct space *space), void *context) {
    for (struct space *space = maps->newest; space; space = space->older)
        fn(context, space);
}

size_t space_maps_count(const struct space_maps *maps, size_t *n_maps) {
    *n_maps = maps->n_maps;
    return maps->n;
}
