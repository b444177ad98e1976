// The table of I/Os in flight: a pool of flights, and a hash index by (device, sector) chained through them. Private to
// match.c (requests), bio.c and remap.c (bios), in_flight_tree.c, fastpath.c, thread.c and waiting.c. No allocation per
// event. Sectors hash to random slots, so cache misses and mispredicted branches dominate: the index grows with its use
// and stays mostly empty, so a chain is rarely longer than one. Inline, because each event takes several of these
// steps.
#ifndef COLLECTORS_BLOCK_FLIGHT_H
#define COLLECTORS_BLOCK_FLIGHT_H

#include <string.h>

#include "collectors/block/in_flight_tree.h"
#include "collectors/block/match.h"

#define OWN_PLACES 256 // hash table of ktop's own threads
#define OWN_MAX (OWN_PLACES / 4)
#define INDEX_MIN 1024     // chain heads; they fit the L1 cache beside everything else
#define INDEX_ROOM 4       // heads per flight
#define NO_SECTOR_MAX 1024 // flushes in flight per device; above that their completions are assumed not to be traced
#define NO_SECTOR_KEYS (BLOCK_NO_SECTOR - 31) // keys from here on are shared: in the tree, not in the index
#define OLD_NS 60000000000ull // older: an arrival without issue was front-merged; an issue becomes suspect

// A request whose completion was never traced: a much younger request for the same sector completes before it.
#define STALE_NS 1000000000ull
#define STALE_RATIO 16

#define POSTFLUSH_NS 1000000000ull // wait for the flush after a write; without one it completed with its data
#define PARTS 1024                 // hash table slots
#define SEQUENCES 1024             // hash table slots, by thread and device
#define HEADS 32                   // NVMe multipath disks
#define PATHS 128                  // their paths
#define THREADS 4096               // the newest threads, by tid
#define WRITERS 64                 // concurrent writeback threads
#define BUSY_BITS 10               // log2 of the slots of a hash table of disks

enum flight_state {
    FLIGHT_FREE,
    FLIGHT_QUEUED, // a request that waits for issue
    FLIGHT_ISSUED,
    FLIGHT_BIO,          // a bio without a request, or not yet with one
    FLIGHT_MERGED,       // a bio merged into a request
    FLIGHT_SPLIT_PARENT, // first piece of a split bio: done, other pieces are not
    FLIGHT_POSTFLUSH,    // its data is written, and a flush may follow
    FLIGHT_STATES,
};

#define SPLIT_PARENT (1u << 31)

// 128 bytes, so that pointers and slots convert by a shift.
struct flight {
    // What will be reported, as far as known. issue_ns in FLIGHT_POSTFLUSH: when its data was written; end_ns of a
    // clone: link to its parent (remap.c).
    struct block_io io;
    uint64_t key;                    // current sector, or a key above all sectors for what has none
    uint32_t next;                   // slot + 1 of the next in the chain, or in the free list
    uint32_t bio_sectors, bio_bytes; // of this piece; of the whole bio
    uint32_t left;                   // request: sectors not completed; parent of clones: sectors completed
    uint32_t split;                  // split bio: SPLIT_PARENT | pieces in flight; later piece: slot + 1 of the first
    uint16_t busy;                   // slot + 1 in match->busy, while counted there
    uint8_t state;
    bool suspect : 1, own : 1, requested : 1, postflush : 1;
    bool remapped : 1;     // its queue event is still to come
    bool clone : 1;        // sent by a stacked disk (dm, md) for its own bio, which completes with it
    bool maybe_append : 1; // issued as N or Z: a zone append completes at another sector
    bool in_tree : 1;      // in the tree (in_flight_tree.h)
};
_Static_assert(sizeof(struct flight) == 128, "a power of two");

struct seen {
    uint64_t next; // sector
    uint32_t dev;
    int32_t tid;
};

// Time that a disk had at least one request in service.
struct busy {
    uint32_t dev; // 0: free slot
    uint32_t in_flight;
    uint64_t since, ns; // since: start of the current busy period, or the last query; ns: busy before since
    uint32_t in_tree;   // nonzero: all bios of the disk are in the tree
    uint32_t no_sector; // flights of the disk without a sector; pads the struct to 32 bytes: index by a shift
};

struct writer {
    int32_t tid;
    uint64_t cgroup;
};

// Submitter of the last bio with a flush, per disk: the flush request itself is issued by a kernel worker.
struct flush_submitter {
    uint64_t cgroup;
    int32_t tid;
    bool known, own;
    char comm[BLOCK_COMM];
};

// Cached rwbs of an ordinary request: it has a sector, and no preflush or FUA.
struct rwbs_entry {
    uint64_t letters, mask; // up to seven letters, first in the lowest byte; mask: those bytes and the NUL
    uint8_t key;            // from block_key_of
};
#define RWBS_ENTRIES 32

struct block_match {
    struct flight *pool;
    uint32_t *index; // slot + 1 of the chain's first flight; capacity * INDEX_ROOM allocated, mask + 1 in use
    uint32_t capacity, mask, used, high, free_list; // high: slots ever used; free_list: slot + 1
    struct node *nodes;                             // one per flight
    uint32_t tree;                                  // slot + 1 of its root
    uint32_t n_remapped;                            // remapped bios to come, plus disks whose bios are in the tree
    uint32_t by_state[FLIGHT_STATES];
    uint64_t lost_ts, now; // now: the latest event
    uint64_t gap_from;     // latest event before the last gap
    bool any_suspect;
    block_done_fn done;
    void *ctx;
    pid_t own[OWN_PLACES]; // hash table; 0: free slot
    struct block_part parts[PARTS];
    struct block_part paths[PATHS]; // paths found at run time
    uint32_t heads[HEADS];
    uint32_t n_parts, n_writers, n_paths, n_heads;
    struct writer writers[WRITERS];
    struct block_thread threads[THREADS]; // by tid
    struct seen seen[SEQUENCES];
    struct busy busy[1 << BUSY_BITS];
    struct flush_submitter flush_submitters[1 << BUSY_BITS]; // same slots as busy
    uint32_t n_busy;
    struct rwbs_entry rwbs_cache[RWBS_ENTRIES]; // by the first two letters; zeroed: free
    struct block_counts counts;
    uint64_t fast; // events that took the fast path (fastpath.c)
};

static inline uint32_t hash_key(uint32_t dev, uint64_t key) {
    uint64_t h = (key ^ ((uint64_t)dev << 40)) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(h >> 32);
}

static inline void index_add(struct block_match *match, struct flight *f, uint32_t hash) {
    if (__builtin_expect(f->key >= NO_SECTOR_KEYS, 0))
        return;
    uint32_t *head = &match->index[hash & match->mask];
    f->next = *head;
    *head = (uint32_t)(f - match->pool) + 1;
}

// Rebuilds the index with that number of heads.
static inline void index_resize(struct block_match *match, uint32_t heads) {
    memset(match->index, 0, heads * sizeof(*match->index));
    match->mask = heads - 1;
    for (uint32_t i = 0; i < match->high; i++)
        if (match->pool[i].state != FLIGHT_FREE)
            index_add(match, &match->pool[i], hash_key(match->pool[i].io.dev, match->pool[i].key));
}

static inline void index_remove(struct block_match *match, struct flight *f) {
    uint32_t slot = (uint32_t)(f - match->pool) + 1;
    uint32_t *at = &match->index[hash_key(f->io.dev, f->key) & match->mask];
    while (*at != slot)
        at = &match->pool[*at - 1].next;
    *at = f->next;
}

// A chain: flights that may have that key; NULL: end.
static inline struct flight *chain_at(const struct block_match *match, uint32_t slot) {
    return slot ? &match->pool[slot - 1] : NULL;
}
static inline struct flight *chain_first(const struct block_match *match, uint32_t dev, uint64_t key) {
    return chain_at(match, match->index[hash_key(dev, key) & match->mask]);
}
static inline struct flight *chain_next(const struct block_match *match, const struct flight *f) {
    return chain_at(match, f->next);
}

// NULL: too many disks.
static inline struct busy *busy_of(struct block_match *match, uint32_t dev) {
    uint32_t at = dev * 0x9e3779b1u >> (32 - BUSY_BITS);
    while (match->busy[at].dev != dev && match->busy[at].dev)
        at = (at + 1) % (1 << BUSY_BITS);
    struct busy *busy = &match->busy[at];
    if (__builtin_expect(!busy->dev, 0)) {
        if (match->n_busy >= (1 << BUSY_BITS) * 3 / 4)
            return NULL;
        match->n_busy++;
        busy->dev = dev;
    }
    return busy;
}

static inline void busy_begin(struct block_match *match, struct flight *f) {
    struct busy *busy = busy_of(match, f->io.dev);
    if (!busy)
        return;
    if (busy->in_flight++ == 0 && match->now > busy->since)
        busy->since = match->now;
    f->busy = (uint16_t)(busy - match->busy + 1);
}

static inline void busy_end(struct block_match *match, struct flight *f) {
    struct busy *busy = &match->busy[f->busy - 1];
    f->busy = 0;
    if (--busy->in_flight || match->now <= busy->since)
        return;
    busy->ns += match->now - busy->since;
    busy->since = match->now;
}

static inline void flight_state(struct block_match *match, struct flight *f, uint8_t state) {
    if (f->busy)
        busy_end(match, f);
    match->by_state[f->state]--; // meaningless for FLIGHT_FREE
    f->state = state;
    match->by_state[state]++;
}

// Two memsets compile to plain stores; one of 128 bytes compiles to a slow string instruction.
static inline void flight_clear(struct flight *f) {
    memset(f, 0, 64);
    memset((char *)f + 64, 0, sizeof(*f) - 64);
}

static inline struct flight *flight_add(struct block_match *match, uint32_t dev, uint64_t key) {
    uint32_t slot;
    if (match->free_list) {
        slot = match->free_list - 1;
        match->free_list = match->pool[slot].next;
    } else if (match->high < match->capacity) {
        slot = match->high++;
    } else {
        match->counts.table_full++;
        return NULL;
    }
    if (match->used >= (match->mask + 1) / INDEX_ROOM)
        index_resize(match, (match->mask + 1) * 2);
    struct flight *f = &match->pool[slot];
    flight_clear(f);
    f->key = key;
    f->io.dev = dev;
    match->used++;
    index_add(match, f, hash_key(dev, key));
    return f;
}

static inline void flight_remove(struct block_match *match, struct flight *f) {
    if (__builtin_expect(f->in_tree || f->split, 0))
        flight_unlink(match, f);
    if (__builtin_expect(f->key < NO_SECTOR_KEYS, 1))
        index_remove(match, f);
    flight_state(match, f, FLIGHT_FREE);
    f->next = match->free_list;
    match->free_list = (uint32_t)(f - match->pool) + 1;
    match->used--;
    match->n_remapped -= f->remapped;
}

static inline void flight_move(struct block_match *match, struct flight *f, uint64_t key) {
    if (f->key < NO_SECTOR_KEYS)
        index_remove(match, f);
    f->key = key;
    index_add(match, f, hash_key(f->io.dev, key));
    if (__builtin_expect(f->in_tree, 0))
        flight_tree_update(match, f);
}

// Whether the flight that started at `a` goes before the one at `b`: the older first. A stale one (its completion was
// never traced) goes last, or each later request for its sector would complete the one before.
static inline bool older_first(uint64_t a, uint64_t b, uint64_t now) {
    bool older = a < b;
    uint64_t old_ns = now - (older ? a : b), young_ns = now - (older ? b : a);
    return old_ns > STALE_NS && old_ns / STALE_RATIO > young_ns ? !older : older;
}

// Which of two flights for the same sector an event means. Not suspect first. Completion: same length, then the oldest
// that is not stale. Issue: the youngest, because an old arrival may be left from a front-merged request (its sector
// changed); the oldest when bios are traced, which leave no such arrivals. Bio: same length, then the oldest.
static inline bool flight_better(const struct flight *f, const struct flight *best, const struct block_event *event) {
    if (f->suspect != best->suspect)
        return best->suspect;
    if (f->state == FLIGHT_QUEUED)
        return f->io.bio_ns && best->io.bio_ns ? older_first(f->io.arrival_ns, best->io.arrival_ns, event->ts)
                                               : f->io.arrival_ns > best->io.arrival_ns;
    if (f->state != FLIGHT_ISSUED) {
        bool same = f->bio_sectors == event->sectors, best_same = best->bio_sectors == event->sectors;
        return same != best_same ? same : older_first(f->io.bio_ns, best->io.bio_ns, event->ts);
    }
    uint8_t op = (uint8_t)block_event_op(event);
    bool fits = f->left == event->sectors && f->io.op == op;
    bool best_fits = best->left == event->sectors && best->io.op == op;
    if (op == BLOCK_OTHER) { // one key for all sectors
        fits = f->io.sector == event->sector;
        best_fits = best->io.sector == event->sector;
    }
    if (fits != best_fits)
        return fits;
    return older_first(f->io.issue_ns, best->io.issue_ns, event->ts);
}

static inline uint64_t flight_since(const struct flight *f, uint8_t state) {
    return state == FLIGHT_ISSUED ? f->io.issue_ns : state == FLIGHT_QUEUED ? f->io.arrival_ns : f->io.bio_ns;
}

static inline bool flight_fits(const struct flight *f, const struct block_event *event, uint64_t key, uint8_t state) {
    return f->key == key && f->io.dev == event->dev && f->state == state && flight_since(f, state) <= event->ts;
}

// Best match for the event, of `best` and the flights from f on in its chain.
struct flight *flight_best(struct block_match *match, struct flight *f, struct flight *best,
                           const struct block_event *event, uint64_t key);

// The request with that key and state that the event means. It is not younger than the event; most chains hold one.
static inline struct flight *flight_find(struct block_match *match, const struct block_event *event, uint64_t key,
                                         uint8_t state) {
    struct flight *f = chain_first(match, event->dev, key);
    while (f && !flight_fits(f, event, key, state))
        f = chain_next(match, f);
    return __builtin_expect(f && f->next, 0) ? flight_best(match, chain_next(match, f), f, event, key) : f;
}

// The same for keys above all sectors.
static inline struct flight *flight_find_any(struct block_match *match, const struct block_event *event, uint64_t key,
                                             uint8_t state) {
    if (__builtin_expect(key >= NO_SECTOR_KEYS, 0))
        return tree_no_sector(match, event, key, state);
    return flight_find(match, event, key, state);
}

// Oldest bio at the event's sector that fits.
struct flight *chain_oldest(const struct block_match *match, const struct block_event *event,
                            bool (*fits)(const struct flight *f, const struct block_event *event));

// Whether the bio is the event's zone operation on the zone at its sector.
bool is_of_zone(const struct flight *f, const struct block_event *event);

// Operations without a sector get a key above all sectors, one per operation.
static inline uint64_t event_key(const struct block_event *event) {
    uint8_t op = (uint8_t)block_event_op(event);
    bool none = event->sector == BLOCK_NO_SECTOR || op == BLOCK_FLUSH || op == BLOCK_OTHER;
    return none ? BLOCK_NO_SECTOR - op : event->sector;
}

static inline uint32_t disk_of(const struct block_match *match, uint32_t dev) {
    if (!match->n_parts)
        return dev;
    for (uint32_t i = (dev * 0x9e3779b1u) >> 22; match->parts[i].dev; i = (i + 1) % PARTS)
        if (match->parts[i].dev == dev)
            return match->parts[i].disk;
    return dev;
}

static inline void part_add(struct block_match *match, struct block_part part) {
    uint32_t i = (part.dev * 0x9e3779b1u) >> 22;
    while (match->parts[i].dev)
        i = (i + 1) % PARTS;
    match->parts[i] = part;
    match->n_parts++;
}

// Keys of an empty flush bio, and of a bio with a zone operation (no length); their requests have other keys.
#define FLUSH_BIO (BLOCK_NO_SECTOR - 16)
#define ZONE_BIO (BLOCK_NO_SECTOR - 17)

static inline bool is_flush_bio(const struct block_event *event) {
    return !event->sectors && event->rwbs[0] == 'F' && event->rwbs_size > 1;
}

static inline uint32_t own_place(pid_t tid) {
    return (uint32_t)tid * 0x9e3779b1u >> 24;
}

// Called for every bio: usually one probe.
static inline bool is_own(const struct block_match *match, pid_t tid) {
    for (uint32_t i = own_place(tid); match->own[i]; i = (i + 1) % OWN_PLACES)
        if (match->own[i] == tid)
            return true;
    return false;
}

// Whether it starts where the thread's previous I/O on the disk ended. Call in order of arrival.
static inline uint8_t sequence_of(struct block_match *match, uint32_t dev, int32_t tid, uint64_t sector,
                                  uint32_t sectors) {
    if (!sectors || sector == BLOCK_NO_SECTOR)
        return BLOCK_SEQUENCE_UNKNOWN;
    uint64_t hash = ((uint64_t)(uint32_t)tid << 32 | dev) * 0x9e3779b97f4a7c15ull;
    struct seen *seen = &match->seen[hash >> 54];
    bool known = seen->tid == tid && seen->dev == dev;
    bool follows = known && seen->next == sector;
    *seen = (struct seen){.next = sector + sectors, .dev = dev, .tid = tid};
    return !known ? BLOCK_SEQUENCE_UNKNOWN : follows ? BLOCK_SEQUENTIAL : BLOCK_RANDOM;
}

static inline const struct writer *writer_find(const struct block_match *match, int32_t tid) {
    for (uint32_t i = 0; i < match->n_writers; i++)
        if (match->writers[i].tid == tid)
            return &match->writers[i];
    return NULL;
}

static inline void flight_set_submitter(struct block_match *match, struct flight *f, const struct block_event *event) {
    static const char writeback[BLOCK_COMM] = "(writeback)";
    f->io.tid = event->tid;
    if (is_own(match, event->tid))
        f->own = true;
    f->io.sequence = sequence_of(match, f->io.dev, event->tid, event->sector, event->sectors);
    if (!event->comm)
        return;
    memcpy(f->io.comm, event->comm, BLOCK_COMM);
    // A kworker between the writeback events of an inode submits for the writeback.
    const struct writer *writer =
        match->n_writers && !memcmp(f->io.comm, "kworker", 7) ? writer_find(match, event->tid) : NULL;
    if (!writer)
        return;
    f->io.tid = 0;
    f->io.cgroup = writer->cgroup;
    memcpy(f->io.comm, writeback, BLOCK_COMM);
}

// NULL: too many disks.
static inline struct flush_submitter *flush_submitter_of(struct block_match *match, uint32_t dev) {
    struct busy *busy = busy_of(match, dev);
    return busy ? &match->flush_submitters[busy - match->busy] : NULL;
}

// Keeps flights without a sector below NO_SECTOR_MAX: not every driver's flush completions are traced.
void limit_no_sector(struct block_match *match, const struct block_event *event, uint64_t key, uint8_t state);

// A direct-mapped cache: few rwbs values are in use, and one comparison checks all letters. NULL: not cached.
static inline struct rwbs_entry *rwbs_place(struct block_match *match, const void *rwbs) {
    uint16_t two;
    memcpy(&two, rwbs, sizeof(two));
    return &match->rwbs_cache[(two * 0x9e3779b1u) >> 27];
}
static inline const struct rwbs_entry *rwbs_lookup(struct block_match *match, const void *eight) {
    uint64_t letters;
    const struct rwbs_entry *entry = rwbs_place(match, eight);
    memcpy(&letters, eight, sizeof(letters));
    return entry->mask && (letters & entry->mask) == entry->letters ? entry : NULL;
}

// Copies the event's rwbs. Returns its key (block_key_of).
uint8_t rwbs_copy(struct block_match *match, struct flight *f, const struct block_event *event);

// The request was merged into another: only its bio stays, as a merged bio.
static inline void flight_is_merged(struct block_match *match, struct flight *f) {
    if (!f->io.bio_ns) {
        flight_remove(match, f);
        return;
    }
    flight_state(match, f, FLIGHT_MERGED);
    if (f->io.op == BLOCK_DISCARD)
        flight_tree_update(match, f);
}

static inline void io_report(struct block_match *match, const struct block_io *io, bool own) {
    match->counts.bios += io->bio_ns != 0;
    if (own && io->kind != BLOCK_IO_TOTAL_ONLY)
        match->counts.own++;
    if (!own)
        match->done(match->ctx, io);
}

// Reports a completed bio (BLOCK_IO_BIO or BLOCK_IO_TOTAL_ONLY).
void flight_report(struct block_match *match, const struct flight *f, uint64_t ts, enum block_io_kind kind);

// ---- bio.c ----

// All bio events.
void bio_event(struct block_match *match, const struct block_event *traced);
// Completes f, a bio or a piece of one. The bio completes with its last piece.
void bio_end(struct block_match *match, struct flight *f, uint64_t ts);
// Its data is written; a flush of its sequence may follow.
void bio_data_end(struct block_match *match, struct flight *f, uint64_t ts);
// Removes one piece from the count of the first piece. Returns whether others are in flight.
bool flight_piece_done(struct flight *first);
// A new bio without a submitter; NULL: table full.
struct flight *bio_add(struct block_match *match, const struct block_event *event, uint64_t key);
// A bio traced at the remap of its partition, before cgroup throttling.
void bio_of_partition(struct block_match *match, const struct block_event *event);
// Completes the bios that were merged into the request f.
void merged_bios_end(struct block_match *match, const struct flight *f, uint64_t ts);
// The last completion of a flush sequence: length 0, at the first sector of the data or behind the last.
void bio_sequence_end(struct block_match *match, const struct block_event *event);

// ---- thread.c ----

// Writeback and thread creation.
void thread_event(struct block_match *match, const struct block_event *event);

// ---- remap.c ----

void bio_remapped(struct block_match *match, const struct block_event *event);
// f completed: completes its parent, if f is the parent's last clone.
void clone_end(struct block_match *match, const struct flight *f, uint64_t ts);
// A piece of f failed while f is in flight.
void clone_failed(struct block_match *match, const struct flight *f, int16_t error);
// Multipath: path_learn sees every remapped bio.
void path_learn(struct block_match *match, const struct block_event *remap);
void path_failed(struct block_match *match, struct flight *f);

#endif
