// Paths of name IDs (see the header). The cache is four-way associative and of fixed size: a new state of a process's
// mappings has a new version, so old entries are never hit again and are replaced.
#include "collectors/profile/stacks.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define CACHE_BITS 14
#define CACHE_WAYS 4
#define KERNEL_VERSION 0 // space.version is never 0

struct cache_entry {
    uint64_t address;
    uint32_t version, id;
};

struct stacks {
    struct space_maps *maps;
    struct name_table *names;
    struct symbols *symbols;
    struct stacks_unwinder unwinder;
    uint32_t max_stack, last_name;
    uint32_t cut, unknown;
    bool unsettled; // IDs were given while files were still being read
    uint32_t turn;  // of the next way to replace
    struct cache_entry cache[CACHE_WAYS << CACHE_BITS];
};

static void cache_clear(struct stacks *stacks) {
    for (size_t i = 0; i < sizeof stacks->cache / sizeof *stacks->cache; i++)
        stacks->cache[i].id = NAME_NONE;
}

uint32_t stacks_name(struct stacks *stacks, const char *symbol, enum name_kind kind, const char *object) {
    stacks->last_name = name_table_add(stacks->names, name_pack(symbol, kind, object));
    return stacks->last_name;
}

struct stacks *stacks_new(struct space_maps *maps, struct name_table *names, uint32_t max_stack,
                          const struct stacks_unwinder *unwinder) {
    struct stacks *stacks = xcalloc(1, sizeof *stacks);
    stacks->maps = maps;
    stacks->names = name_table_ref(names);
    stacks->max_stack = max_stack;
    stacks->unwinder = unwinder ? *unwinder : (struct stacks_unwinder){0};
    stacks->symbols = symbols_new(names);
    if (!stacks->symbols) {
        stacks_free(stacks);
        return NULL;
    }
    stacks->cut = stacks_name(stacks, "[cut stack]", NAME_MARK, "");
    stacks->unknown = stacks_name(stacks, "[unknown]", NAME_USER, "");
    cache_clear(stacks);
    return stacks;
}

void stacks_free(struct stacks *stacks) {
    if (!stacks)
        return;
    if (stacks->symbols)
        symbols_free(stacks->symbols);
    name_table_unref(stacks->names);
    free(stacks);
}

struct symbols *stacks_symbols(const struct stacks *stacks) {
    return stacks->symbols;
}

uint32_t stacks_last_name(const struct stacks *stacks) {
    return stacks->last_name;
}

// ---- addresses ----

static struct cache_entry *cache_set(struct stacks *stacks, uint64_t address, uint32_t version) {
    uint64_t hash = (address ^ (uint64_t)version << 40 ^ version) * 0x9e3779b97f4a7c15ull;
    return &stacks->cache[(hash >> (64 - CACHE_BITS)) * CACHE_WAYS];
}

static uint32_t cache_find(struct stacks *stacks, uint64_t address, uint32_t version) {
    const struct cache_entry *set = cache_set(stacks, address, version);
    for (int way = 0; way < CACHE_WAYS; way++)
        if (set[way].address == address && set[way].version == version && set[way].id != NAME_NONE)
            return set[way].id;
    return NAME_NONE;
}

static void cache_put(struct stacks *stacks, uint64_t address, uint32_t version, uint32_t id) {
    struct cache_entry *set = cache_set(stacks, address, version);
    int way = 0;
    while (way < CACHE_WAYS && set[way].id != NAME_NONE)
        way++;
    set[way < CACHE_WAYS ? way : (int)(stacks->turn++ % CACHE_WAYS)] = (struct cache_entry){address, version, id};
    stacks->unsettled |= !symbols_idle(stacks->symbols);
}

static uint32_t kernel_name(struct stacks *stacks, uint64_t ip) {
    uint32_t id = cache_find(stacks, ip, KERNEL_VERSION);
    if (id == NAME_NONE) {
        id = symbols_kernel(stacks->symbols, ip);
        cache_put(stacks, ip, KERNEL_VERSION, id);
    }
    return id == NAME_NONE ? stacks->unknown : id;
}

static struct symbols_object *object_of(struct stacks *stacks, const struct space *space, const struct map *map) {
    const struct map_file *file = map->file;
    struct object_key key = {.pid = space->pid,
                             .start = map->start,
                             .end = map->end,
                             .device = file->device,
                             .inode = file->inode,
                             .build_id_size = file->build_id_size,
                             .path = file->path};
    memcpy(key.build_id, file->build_id, sizeof key.build_id);
    return symbols_object(stacks->symbols, &key);
}

static struct symbols_object *jit_of(struct stacks *stacks, struct space *space) {
    if (space->known.jit)
        return space->known.jit;
    for (uint32_t i = 0; space->list && i < space->list->n; i++)
        if (space->list->maps[i].file->jitdump)
            object_of(stacks, space, &space->list->maps[i]); // announces the file
    return space->known.jit = symbols_jit(stacks->symbols, space->pid);
}

static struct symbols_object *mapped_object(struct stacks *stacks, struct space *space, const struct map *map,
                                            uint64_t ip, uint64_t *offset) {
    struct map_file *file = map->file;
    if (!file->anonymous && !file->object) {
        struct symbols_object *object = object_of(stacks, space, map);
        file->anonymous = symbols_is_jit(object); // a JIT's memfd
        file->object = file->anonymous ? NULL : object;
    }
    *offset = file->anonymous ? ip : ip - map->start + map->offset;
    return file->anonymous ? jit_of(stacks, space) : file->object;
}

static uint32_t mapped_name(struct stacks *stacks, struct space *space, const struct map *map, uint64_t ip) {
    uint64_t offset;
    struct symbols_object *object = mapped_object(stacks, space, map, ip, &offset);
    return symbols_user(stacks->symbols, object, offset);
}

bool stacks_place(struct stacks *stacks, struct space *space, pid_t tid, uint64_t ip, struct symbols_object **object,
                  uint64_t *offset) {
    const struct map *map = space_maps_find(stacks->maps, space, tid, ip);
    *object = map ? mapped_object(stacks, space, map, ip, offset) : NULL;
    return map;
}

static uint32_t user_name(struct stacks *stacks, struct space *space, pid_t tid, uint64_t ip) {
    uint32_t id = cache_find(stacks, ip, space->version);
    if (id != NAME_NONE)
        return id;
    const struct map *map = space_maps_find(stacks->maps, space, tid, ip); // may give the space a new version
    id = map ? mapped_name(stacks, space, map, ip) : stacks->unknown;
    if (id == NAME_NONE)
        id = stacks->unknown;
    cache_put(stacks, ip, space->version, id);
    return id;
}

uint32_t stacks_process(struct stacks *stacks, struct space *space) {
    if (!space->known.is_named) {
        char pid[16];
        snprintf(pid, sizeof pid, "%d", (int)space->pid);
        const char *comm = space->comm[0] ? space->comm : space->pid ? "[exited]" : "[idle]";
        space->known.name = stacks_name(stacks, comm, NAME_PLAIN, pid);
        space->known.is_named = true;
    }
    return space->known.name;
}

// ---- chains ----

// The frames of the kernel and of the user, leaf first.
struct chain {
    uint64_t kernel[STACKS_PATH_MAX], user[STACKS_PATH_MAX];
    size_t n_kernel, n_user, n_all;
};

// Splits the kernel's callchain at its markers.
static void chain_split(const struct profile_sample *sample, struct chain *chain) {
    bool user = !sample->kernel, ignored = false;
    chain->n_kernel = chain->n_user = chain->n_all = 0;
    for (size_t i = 0; i < sample->n_ips; i++) {
        uint64_t ip = sample->ips[i];
        if (ip >= (uint64_t)PERF_CONTEXT_MAX) {
            user = ip == (uint64_t)PERF_CONTEXT_USER;
            ignored = !user && ip != (uint64_t)PERF_CONTEXT_KERNEL; // of a hypervisor or a guest
            continue;
        }
        chain->n_all++;
        if (ignored)
            continue;
        if (user && chain->n_user < STACKS_PATH_MAX)
            chain->user[chain->n_user++] = ip;
        else if (!user && chain->n_kernel < STACKS_PATH_MAX)
            chain->kernel[chain->n_kernel++] = ip;
    }
    if (chain->n_all)
        return;
    if (sample->kernel)
        chain->kernel[chain->n_kernel++] = sample->ip;
    else
        chain->user[chain->n_user++] = sample->ip;
}

static void path_put(struct stacks_path *path, uint32_t id) {
    if (path->n < STACKS_PATH_MAX)
        path->ids[path->n++] = id;
}

// The user frames by the unwinder. False: it has nothing better than the callchain.
static bool unwound_put(struct stacks *stacks, struct space *space, pid_t tid, const struct profile_sample *sample,
                        const struct chain *chain, struct stacks_path *out) {
    struct stacks_frame frames[STACKS_PATH_MAX];
    const struct stacks_unwinder *unwinder = &stacks->unwinder;
    bool whole = false, cut = false;
    out->whole = false;
    size_t n = 0;
    if (sample->stack && unwinder->walk) {
        n = unwinder->walk(unwinder->context, space, sample, chain->user, chain->n_user, frames, STACKS_PATH_MAX,
                           &whole, &cut);
    } else if (sample->n_regs == 1 && unwinder->chain) {
        cut = chain->n_user && chain->n_all >= stacks->max_stack;
        n = unwinder->chain(unwinder->context, space, sample, chain->user, chain->n_user, frames, STACKS_PATH_MAX,
                            &out->incomplete);
    }
    if (!n)
        return false;
    out->whole = whole;
    if (cut)
        path_put(out, stacks->cut);
    for (size_t i = n; i-- > 0;)
        path_put(out, user_name(stacks, space, tid, frames[i].ip - !frames[i].exact));
    out->leaf = frames[0].ip - !frames[0].exact;
    return true;
}

void stacks_path(struct stacks *stacks, struct space *space, pid_t tid, const struct profile_sample *sample,
                 struct stacks_path *out) {
    struct chain chain;
    chain_split(sample, &chain);
    out->n = 0;
    out->incomplete = false;
    out->leaf = 0;
    path_put(out, stacks_process(stacks, space));
    if (!unwound_put(stacks, space, tid, sample, &chain, out)) {
        if (chain.n_user && chain.n_all >= stacks->max_stack)
            path_put(out, stacks->cut);
        for (size_t i = chain.n_user; i-- > 0;) // a return address may be the first of the next function
            path_put(out, user_name(stacks, space, tid, chain.user[i] - (i > 0)));
        out->leaf = chain.n_user ? chain.user[0] : 0;
    }
    out->n_user = out->n - 1;
    for (size_t i = chain.n_kernel; i-- > 0;)
        path_put(out, kernel_name(stacks, chain.kernel[i] - (i > 0)));
    out->leaf_kernel = chain.n_kernel;
    if (chain.n_kernel)
        out->leaf = chain.kernel[0];
}

void stacks_ksymbol(struct stacks *stacks, const struct profile_record *record) {
    symbols_ksymbol(stacks->symbols, record->ksymbol.address, record->ksymbol.size, record->ksymbol.name,
                    record->ksymbol.gone);
    for (size_t i = 0; i < sizeof stacks->cache / sizeof *stacks->cache; i++) {
        struct cache_entry *entry = &stacks->cache[i];
        if (entry->version == KERNEL_VERSION && entry->address - record->ksymbol.address < record->ksymbol.size)
            entry->id = NAME_NONE;
    }
}

void stacks_refresh(struct stacks *stacks) {
    if (!stacks->unsettled || !symbols_idle(stacks->symbols))
        return;
    cache_clear(stacks);
    stacks->unsettled = false;
}
