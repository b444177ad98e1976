// What the two sides of the symbol service share: the collector's thread, which hands out IDs (symbols.c, cache.c), and
// the readers, which find names for them (reader.c).
#ifndef COLLECTORS_SYMBOLS_PRIVATE_H
#define COLLECTORS_SYMBOLS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "collectors/kernel/symbols/object.h"
#include "collectors/kernel/symbols/perf_map.h"
#include "collectors/kernel/symbols/symbols.h"
#include "collectors/kernel/symbols/table.h"
#include "model/mem.h"

#define READERS_MAX 4 // one at first, another one each time that all of them are blocked
#define READ_SLOW_NS 1000000000ull
#define BUCKETS 16384 // of the two hash tables of objects
#define OBJECTS_MAX 65536
#define CACHE_BYTES_MAX (24ull << 20)
#define PLACEHOLDERS_MAX (1u << 18) // IDs whose name is an address
#define NOTES 64
#define KSYMBOLS_MAX 16384
#define SOURCES_MAX 256

struct pending { // an ID whose name is to be found
    uint64_t offset;
    uint32_t id;
};

// Offset to ID, open addressing; an ID of NAME_NONE marks a free entry.
struct id_cache {
    struct pending *entries;
    uint32_t used, capacity; // a power of two
};

enum object_role { ROLE_FILE, ROLE_JIT, ROLE_KERNEL };

struct symbols_object {
    enum object_role role; // constant, as `next`
    struct symbols_object *next;

    // The collector's thread only.
    struct id_cache cache;
    uint32_t seen;      // version that the cache is up to date with
    uint32_t other_id;  // for addresses that get no ID of their own
    uint64_t queued_ns; // JIT, and comparison of identities: the last time

    // Guarded by the lock.
    struct object_key key; // owns its path
    char *dump_path;       // JIT: of the jitdump file; NULL: none
    struct symbol_table *table;
    uint64_t used; // the service's tick at the last look at the table
    struct pending *pending;
    uint32_t n_pending, pending_capacity;
    struct symbols_object *queue_next;
    bool queued, in_work;
    bool failed;               // no table will come
    bool missing;              // failed, but another process may have the file
    bool replaced;             // at its path is another file
    bool verify;               // compare the identity of the file with the one that was read
    bool source;               // lines are wanted
    bool code;                 // instructions are wanted
    bool flush;                // the cache is of another file
    bool ended;                // its process
    bool waiting;              // JIT: has IDs that the map did not name yet
    uint64_t due_ns;           // not to be read before
    _Atomic(uint32_t) version; // of the table; release by a reader, acquire by the collector's thread

    // The reader that has it in work only.
    struct object_identity identity;
    struct jit_file map, dump;
    struct jit_owner owner;
    char last_reason[160];
};

struct ksymbol {
    uint64_t address;
    uint32_t size;
    char name[64];
};

enum source_state { SOURCE_FREE, SOURCE_WANTED, SOURCE_KNOWN };

struct source_entry {
    enum source_state state;
    struct symbols_object *object;
    uint64_t offset, used;
    struct symbols_source source;
};

struct code_slot {
    struct code_query query;
    bool wanted;      // no reader has it yet
    uint32_t version; // of the query
    struct code *done;
};

struct reader {
    struct symbols *symbols;
    struct symbols_object *object; // in work since begun_ns; NULL: idle
    uint64_t begun_ns;
    bool slow; // noted, and another reader was started
};

struct symbols {
    struct name_table *names;
    struct mem_account *account; // of the thread that made it; the anchor keeps it alive
    void *anchor;
    _Atomic(uint64_t) bytes;
    _Atomic(uint32_t) placeholders;

    // The collector's thread only.
    struct symbols_object *by_key[BUCKETS], *by_pid[BUCKETS];
    struct symbols_object *kernel, *rest;

    // Guarded by the lock.
    pthread_mutex_t lock;
    pthread_cond_t work, left; // something is queued; a reader has left
    unsigned users;            // the owner and the readers
    bool stop;
    struct reader readers[READERS_MAX];
    size_t n_readers;
    struct symbols_object **objects; // all; OBJECTS_MAX pointers
    size_t n_objects;
    struct symbols_object *queue_head, *queue_tail;
    uint32_t n_waiting; // JIT objects that wait for their map to grow
    uint64_t tick;
    struct ksymbol *ksymbols; // the newest, of KSYMBOLS_MAX
    uint32_t n_ksymbols, next_ksymbol;
    struct source_entry *sources; // SOURCES_MAX; NULL until the first question
    struct code_slot code;
    struct symbols_note notes[NOTES];
    uint32_t first_note, n_notes;
};

// The name of an address without a symbol; with the lock held.
const struct text *symbols_placeholder(const struct symbols_object *object, uint64_t offset);

// An address in a function without a name has the function's start in its own.
uint64_t symbols_start_offset(const struct symbol_table *table, const struct symbol *symbol, uint64_t offset);
static inline bool symbols_unnamed(const struct symbol_table *table, const struct symbol *symbol) {
    return table->names[symbol->name] == '\0';
}
// The name of a symbol in a file that a process sees at `path`.
const struct text *symbols_name(const struct symbol_table *table, const struct symbol *symbol, const char *path);

// ---- cache.c ----
uint32_t id_cache_get(const struct id_cache *cache, uint64_t offset);
void id_cache_put(struct symbols *symbols, struct id_cache *cache, uint64_t offset, uint32_t id);
void id_cache_clear(struct symbols *symbols, struct id_cache *cache);

// ---- source.c: of a reader, without the lock ----
void symbols_read_sources(struct symbols *symbols, struct symbols_object *object, const struct object_key *key,
                          const struct symbol_table *table);

// ---- code_read.c: of a reader, without the lock ----
struct code_place { // what of the object is read
    const struct object_key *key;
    const struct symbol_table *table; // NULL: none
    const char *dump_path;            // of a jitdump file, or NULL
    bool ended;                       // its process
};
void symbols_read_code(struct symbols *symbols, struct symbols_object *object, const struct code_place *place);

// ---- reader.c; with the lock held ----
int symbols_reader_start(struct symbols *symbols); // 0 or -errno
void symbols_queue(struct symbols *symbols, struct symbols_object *object);
void symbols_add_note(struct symbols *symbols, const char *text);
void symbols_leave(struct symbols *symbols); // releases the lock; the last one frees
void symbols_table_unref(struct symbols *symbols, struct symbol_table *table);
// Starts another reader if all are blocked, and notes on what.
void symbols_check_readers(struct symbols *symbols);

#endif
