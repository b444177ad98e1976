// The collector's side of the symbol service: objects, IDs, and what is to be read. Never reads a file. The lock is
// held for searches in memory only, never across a system call.
#include "collectors/kernel/symbols/symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/kernel/symbols/demangle.h"
#include "collectors/kernel/symbols/private.h"
#include "model/clock.h"

#define JIT_REFRESH_NS 1000000000ull // runtimes reuse the memory of code
#define VERIFY_NS 1000000000ull
#define LEAVE_MS 100

static struct symbols_object *object_new(struct symbols *symbols, enum object_role role, const struct object_key *key) {
    struct symbols_object *object = xcalloc(1, sizeof(*object));
    object->role = role;
    object->key = *key;
    object->key.path = xstrdup(key->path);
    object->other_id = NAME_NONE;
    atomic_fetch_add(&symbols->bytes, sizeof(*object) + strlen(key->path) + 1);
    pthread_mutex_lock(&symbols->lock);
    symbols->objects[symbols->n_objects++] = object;
    pthread_mutex_unlock(&symbols->lock);
    return object;
}

struct symbols *symbols_new(struct name_table *names) {
    struct symbols *symbols = xcalloc(1, sizeof(*symbols));
    pthread_condattr_t monotonic;
    symbols->names = name_table_ref(names);
    symbols->account = mem_charge(NULL);
    mem_charge(symbols->account);
    symbols->anchor = mem_alloc(1);
    symbols->objects = xcalloc(OBJECTS_MAX, sizeof(*symbols->objects));
    symbols->ksymbols = xcalloc(KSYMBOLS_MAX, sizeof(*symbols->ksymbols));
    pthread_mutex_init(&symbols->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&symbols->work, &monotonic);
    pthread_cond_init(&symbols->left, &monotonic);
    pthread_condattr_destroy(&monotonic);
    symbols->users = 1;
    symbols->bytes = sizeof(*symbols) + KSYMBOLS_MAX * sizeof(*symbols->ksymbols);
    symbols->kernel = object_new(symbols, ROLE_KERNEL, &(struct object_key){.path = "[kernel]"});
    symbols->rest = object_new(symbols, ROLE_FILE, &(struct object_key){.path = "[other files]"});
    symbols->rest->failed = true;
    pthread_mutex_lock(&symbols->lock);
    int error = symbols_reader_start(symbols);
    if (!error) {
        pthread_mutex_unlock(&symbols->lock);
        return symbols;
    }
    symbols_leave(symbols);
    errno = -error;
    return NULL;
}

void symbols_free(struct symbols *symbols) {
    struct timespec until;
    if (!symbols)
        return;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LEAVE_MS * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&symbols->lock);
    symbols->stop = true;
    pthread_cond_broadcast(&symbols->work);
    while (symbols->users > 1 && !pthread_cond_timedwait(&symbols->left, &symbols->lock, &until))
        continue;
    symbols_leave(symbols);
}

// ---- objects ----

static uint32_t hash_bytes(uint32_t hash, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ ((const uint8_t *)bytes)[i]) * 16777619u; // FNV-1a
    return hash;
}

static uint32_t key_bucket(const struct object_key *key) {
    uint32_t hash = 2166136261u;
    if (key->build_id_size)
        hash = hash_bytes(hash, key->build_id, key->build_id_size);
    else if (key->inode)
        hash = hash_bytes(hash_bytes(hash, &key->inode, sizeof(key->inode)), &key->device, sizeof(key->device));
    else
        hash = hash_bytes(hash, key->path, strlen(key->path));
    return hash % BUCKETS;
}

static bool same_file(const struct object_key *a, const struct object_key *b) {
    if (a->build_id_size || b->build_id_size)
        return a->build_id_size == b->build_id_size && !memcmp(a->build_id, b->build_id, a->build_id_size);
    if (a->inode || b->inode)
        return a->inode == b->inode && a->device == b->device;
    return !strcmp(a->path, b->path);
}

static void set_place(struct symbols *symbols, struct symbols_object *object, const struct object_key *key) {
    object->key.pid = key->pid;
    object->key.start = key->start;
    object->key.end = key->end;
    if (strcmp(object->key.path, key->path) != 0) {
        atomic_fetch_add(&symbols->bytes, strlen(key->path) - strlen(object->key.path));
        free((char *)object->key.path);
        object->key.path = xstrdup(key->path);
    }
}

// Another process maps the file: it may be there where the first one was gone, and without a build ID its inode may
// have become another file's.
static void object_mapped_again(struct symbols *symbols, struct symbols_object *object, const struct object_key *key) {
    pthread_mutex_lock(&symbols->lock);
    if (object->missing && key->pid != object->key.pid) {
        set_place(symbols, object, key);
        object->missing = object->failed = false;
        if (object->n_pending)
            symbols_queue(symbols, object);
    } else if (!key->build_id_size && key->inode && key->pid != object->key.pid && (object->table || object->failed)) {
        uint64_t now = now_ns();
        if (now - object->queued_ns >= VERIFY_NS) {
            object->queued_ns = now;
            set_place(symbols, object, key);
            object->verify = true;
            symbols_queue(symbols, object);
        }
    }
    pthread_mutex_unlock(&symbols->lock);
}

static bool starts_with(const char *text, const char *prefix) {
    return !strncmp(text, prefix, strlen(prefix));
}

static bool is_jit_path(const char *path) {
    static const char *const prefixes[] = {"//anon", "[heap]",      "[stack",  "[anon",         "/dev/zero",
                                           "/SYSV",  "anon_inode:", "/memfd:", "/anon_hugepage"};
    if (!path[0])
        return true;
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++)
        if (starts_with(path, prefixes[i]))
            return true;
    return false;
}

// "/tmp/jit-1234.dump"
static bool is_jitdump_path(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (!starts_with(name, "jit-"))
        return false;
    size_t digits = strspn(name + 4, "0123456789");
    return digits && !strcmp(name + 4 + digits, ".dump");
}

struct symbols_object *symbols_object(struct symbols *symbols, const struct object_key *key) {
    if (is_jit_path(key->path))
        return symbols_jit(symbols, key->pid);
    if (is_jitdump_path(key->path)) {
        struct symbols_object *jit = symbols_jit(symbols, key->pid);
        pthread_mutex_lock(&symbols->lock);
        if (jit->role == ROLE_JIT && !jit->dump_path)
            jit->dump_path = xstrdup(key->path);
        pthread_mutex_unlock(&symbols->lock);
        return jit;
    }
    struct symbols_object **bucket = &symbols->by_key[key_bucket(key)], *object = *bucket;
    while (object && !same_file(&object->key, key))
        object = object->next;
    if (object) {
        object_mapped_again(symbols, object, key);
        return object;
    }
    if (symbols->n_objects == OBJECTS_MAX)
        return symbols->rest;
    object = object_new(symbols, ROLE_FILE, key);
    object->next = *bucket;
    return *bucket = object;
}

struct symbols_object *symbols_jit(struct symbols *symbols, pid_t pid) {
    struct symbols_object **bucket = &symbols->by_pid[(uint32_t)pid % BUCKETS], *object = *bucket;
    while (object && object->key.pid != pid)
        object = object->next;
    if (object)
        return object;
    if (symbols->n_objects == OBJECTS_MAX)
        return symbols->rest;
    object = object_new(symbols, ROLE_JIT, &(struct object_key){.pid = pid, .path = "[jit]"});
    object->next = *bucket;
    return *bucket = object;
}

bool symbols_is_jit(const struct symbols_object *object) {
    return object->role == ROLE_JIT;
}

void symbols_process_ended(struct symbols *symbols, pid_t pid) {
    struct symbols_object **at = &symbols->by_pid[(uint32_t)pid % BUCKETS];
    while (*at && (*at)->key.pid != pid)
        at = &(*at)->next;
    if (!*at)
        return;
    struct symbols_object *object = *at;
    *at = object->next;
    pthread_mutex_lock(&symbols->lock);
    object->ended = true;
    object->used = 0; // the first to be evicted
    if (object->n_pending)
        symbols_queue(symbols, object); // for the last time
    pthread_mutex_unlock(&symbols->lock);
}

// ---- IDs ----

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

static enum name_kind kind_of(const struct symbols_object *object) {
    if (object->role != ROLE_FILE)
        return object->role == ROLE_JIT ? NAME_JIT : NAME_KERNEL;
    if (object->table)
        return object->table->kind;
    return object->key.path[0] == '[' || strstr(base_name(object->key.path), ".so") ? NAME_LIBRARY : NAME_USER;
}

// A name for an address: "[libfoo.so+0x12ab]".
const struct text *symbols_placeholder(const struct symbols_object *object, uint64_t offset) {
    char name[288];
    const char *path = object->key.path, *base = base_name(path);
    int n = (int)strcspn(base, " "); // without " (deleted)"
    n = n > 200 ? 200 : n;
    if (object->role == ROLE_KERNEL)
        snprintf(name, sizeof(name), "[0x%llx]", (unsigned long long)offset);
    else if (object->role == ROLE_JIT)
        snprintf(name, sizeof(name), "[jit+0x%llx]", (unsigned long long)offset);
    else if (base[0] == '[')
        snprintf(name, sizeof(name), "[%.*s+0x%llx]", (int)strcspn(base + 1, "]"), base + 1,
                 (unsigned long long)offset);
    else
        snprintf(name, sizeof(name), "[%.*s%s+0x%llx]", n, base, object->replaced ? " (replaced)" : "",
                 (unsigned long long)offset);
    return name_pack(name, kind_of(object), path);
}

// For addresses beyond what can be named one by one.
static uint32_t other_id(struct symbols *symbols, struct symbols_object *object) {
    if (object->other_id == NAME_NONE) {
        char name[224];
        const char *base = base_name(object->key.path);
        snprintf(name, sizeof(name), base[0] == '[' ? "%.200s" : "[%.200s]", base);
        object->other_id = name_table_add(symbols->names, name_pack(name, kind_of(object), object->key.path));
    }
    return object->other_id;
}

static void add_pending(struct symbols *symbols, struct symbols_object *object, uint64_t offset, uint32_t id) {
    if (object->n_pending == object->pending_capacity) {
        uint32_t capacity = object->pending_capacity ? object->pending_capacity * 2 : 16;
        object->pending = xrealloc(object->pending, capacity * sizeof(*object->pending));
        atomic_fetch_add(&symbols->bytes, (capacity - object->pending_capacity) * sizeof(*object->pending));
        object->pending_capacity = capacity;
    }
    object->pending[object->n_pending++] = (struct pending){offset, id};
    symbols_queue(symbols, object);
}

static const struct symbol *symbol_at(const struct symbols_object *object, uint64_t offset) {
    uint64_t address;
    if (!object->table || !symbol_table_address(object->table, offset, &address))
        return NULL;
    return symbol_table_find(object->table, address);
}

static uint32_t *id_of(const struct symbols_object *object, const struct symbol *symbol) {
    return symbol ? &object->table->ids[symbol - object->table->symbols] : NULL;
}

uint64_t symbols_start_offset(const struct symbol_table *table, const struct symbol *symbol, uint64_t offset) {
    uint64_t address;
    return symbol_table_address(table, offset, &address) ? offset - (address - symbol->start) : offset;
}

// With the lock held.
static uint32_t find_id(struct symbols *symbols, struct symbols_object *object, uint64_t offset) {
    const struct symbol *symbol = symbol_at(object, offset);
    uint32_t *id = id_of(object, symbol);
    object->used = object->ended ? 0 : ++symbols->tick;
    if (id && *id != NAME_NONE)
        return *id;
    if (id && symbols_unnamed(object->table, symbol)) {
        offset = symbols_start_offset(object->table, symbol, offset);
        return *id = name_table_add(symbols->names, symbols_placeholder(object, offset));
    }
    // Most names need no demangling, which is the reader's work.
    if (id && !demangle_wanted(object->table->names + symbol->name))
        return *id = name_table_add(symbols->names, symbols_name(object->table, symbol, object->key.path));
    bool hidden = object->failed && object->role == ROLE_KERNEL;
    if (hidden || object == symbols->rest || atomic_load(&symbols->placeholders) >= PLACEHOLDERS_MAX)
        return other_id(symbols, object);
    uint32_t made = name_table_add(symbols->names, symbols_placeholder(object, offset));
    if (made == NAME_NONE)
        return made;
    atomic_fetch_add(&symbols->placeholders, 1);
    if (id)
        *id = made;
    // A file that was read has no other names; JIT code and modules may appear later.
    if (id || (!object->failed && (!object->table || object->role != ROLE_FILE)) || object->missing)
        add_pending(symbols, object, offset, made);
    return made;
}

static bool is_placeholder(const struct symbols *symbols, uint32_t id) {
    return text_bytes(name_table_text(symbols->names, id))[0] == '[';
}

// The table changed: addresses of one function get one ID from now on. Code of a JIT or a module may have given way to
// other code at the same address; then the old ID keeps the old name.
static void update_cache(struct symbols *symbols, struct symbols_object *object, uint32_t version) {
    struct id_cache old = object->cache;
    object->cache = (struct id_cache){0};
    object->seen = version;
    pthread_mutex_lock(&symbols->lock);
    bool flush = object->flush;
    object->flush = false;
    for (uint32_t i = 0; i < old.capacity && !flush; i++) {
        struct pending entry = old.entries[i];
        if (entry.id == NAME_NONE)
            continue;
        uint32_t *id = id_of(object, symbol_at(object, entry.offset));
        if (id && *id == NAME_NONE) {
            if (object->role != ROLE_FILE && !is_placeholder(symbols, entry.id))
                continue;
            *id = entry.id;
        }
        id_cache_put(symbols, &object->cache, entry.offset, id ? *id : entry.id);
    }
    pthread_mutex_unlock(&symbols->lock);
    id_cache_clear(symbols, &old);
}

// All caches are dropped when they grow too large: what is still sampled comes back from the tables.
static void bound_caches(struct symbols *symbols) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < symbols->n_objects; i++)
        bytes += symbols->objects[i]->cache.capacity * sizeof(struct pending);
    for (size_t i = 0; i < symbols->n_objects && bytes > CACHE_BYTES_MAX; i++)
        id_cache_clear(symbols, &symbols->objects[i]->cache);
}

static uint32_t miss(struct symbols *symbols, struct symbols_object *object, uint64_t offset) {
    pthread_mutex_lock(&symbols->lock);
    uint32_t id = find_id(symbols, object, offset);
    pthread_mutex_unlock(&symbols->lock);
    if (id == NAME_NONE || id == object->other_id)
        return id;
    uint32_t capacity = object->cache.capacity;
    id_cache_put(symbols, &object->cache, offset, id);
    if (object->cache.capacity != capacity && object->cache.capacity >= 1024)
        bound_caches(symbols);
    return id;
}

static uint32_t lookup(struct symbols *symbols, struct symbols_object *object, uint64_t offset) {
    uint32_t version = atomic_load_explicit(&object->version, memory_order_acquire); // pairs with publish() in reader.c
    if (version != object->seen)
        update_cache(symbols, object, version);
    uint32_t id = id_cache_get(&object->cache, offset);
    return id != NAME_NONE ? id : miss(symbols, object, offset);
}

uint32_t symbols_user(struct symbols *symbols, struct symbols_object *object, uint64_t offset) {
    if (object->role == ROLE_JIT) {
        uint64_t now = now_ns();
        if (now - object->queued_ns >= JIT_REFRESH_NS) {
            object->queued_ns = now;
            pthread_mutex_lock(&symbols->lock);
            symbols_queue(symbols, object);
            pthread_mutex_unlock(&symbols->lock);
        }
    }
    return lookup(symbols, object, offset);
}

uint32_t symbols_kernel(struct symbols *symbols, uint64_t ip) {
    return lookup(symbols, symbols->kernel, ip);
}

// Code that went keeps its name until other code takes its place: samples from before are still to be named.
void symbols_ksymbol(struct symbols *symbols, uint64_t address, uint32_t size, const char *name, bool gone) {
    if (gone || !size)
        return;
    pthread_mutex_lock(&symbols->lock);
    struct ksymbol *added = &symbols->ksymbols[symbols->next_ksymbol++ % KSYMBOLS_MAX];
    *added = (struct ksymbol){.address = address, .size = size};
    strncpy(added->name, name, sizeof(added->name) - 1);
    symbols->n_ksymbols += symbols->n_ksymbols < KSYMBOLS_MAX;
    if (symbols->kernel->table) // else kallsyms is not read yet
        symbols_queue(symbols, symbols->kernel);
    pthread_mutex_unlock(&symbols->lock);
}

// ---- state ----

bool symbols_note(struct symbols *symbols, struct symbols_note *out) {
    pthread_mutex_lock(&symbols->lock);
    symbols_check_readers(symbols);
    bool any = symbols->n_notes != 0;
    if (any) {
        *out = symbols->notes[symbols->first_note++ % NOTES];
        symbols->n_notes--;
    }
    pthread_mutex_unlock(&symbols->lock);
    return any;
}

uint64_t symbols_bytes(const struct symbols *symbols) {
    return atomic_load(&((struct symbols *)symbols)->bytes);
}

bool symbols_idle(const struct symbols *constant) {
    struct symbols *symbols = (struct symbols *)constant;
    pthread_mutex_lock(&symbols->lock);
    bool idle = !symbols->queue_head;
    for (size_t i = 0; i < symbols->n_readers; i++)
        idle &= !symbols->readers[i].object || symbols->readers[i].slow;
    pthread_mutex_unlock(&symbols->lock);
    return idle;
}
