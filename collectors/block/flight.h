// The table of what is in flight, for match.c (requests), bio.c and remap.c (bios), order.c,
// fastpath.c, thread.c and waiting.c alone: a pool of flights, and an index from (device, sector) to
// them, chained through the flights. Nothing is allocated while events come. Sectors fall anywhere in the index: a miss
// of the cache, or a branch that is guessed wrong, costs more than all the rest. So only as much of it is in use as
// keeps it mostly empty: a chain is one flight long, or none. Inline, since an event makes several of these steps.
#ifndef COLLECTORS_BLOCK_FLIGHT_H
#define COLLECTORS_BLOCK_FLIGHT_H

#include <string.h>

#include "collectors/block/in_flight_tree.h"
#include "collectors/block/match.h"

#define OWN_PLACES 256 // of a hash table: of ktop's own threads
#define OWN_MAX (OWN_PLACES / 4)
#define INDEX_MIN 1024     // heads of chains: they fit the first cache beside everything else
#define INDEX_ROOM 4       // heads for each flight
#define NO_SECTOR_MAX 1024 // flushes of one device that are waited for; more means their ends are not told
#define NO_SECTOR_KEYS (BLOCK_NO_SECTOR - 31) // from here on: many are alike, and found by the tree instead
#define OLD_NS 60000000000ull // an arrival without an issue for so long was merged from the front; an issue is suspect

// A request whose end was not told, not even as lost: another one of the same sector, so much younger, ends before it.
#define LEFT_OVER_NS 1000000000ull
#define LEFT_OVER_TIMES 16

#define POSTFLUSH_NS 1000000000ull // a write that may end with a flush after it, and did not: it ended with its data
#define PARTS 1024                 // places of a hash table
#define SEQUENCES 1024             // the same: of threads that do I/O
#define HEADS 32                   // NVMe disks with several paths
#define PATHS 128                  // of them
#define THREADS 4096               // the newest that were made
#define WRITERS 64                 // threads that write back at one time
#define BUSY_BITS 10               // log2 of the places of a hash table: of disks

enum flight_state {
    FLIGHT_FREE,
    FLIGHT_QUEUED, // a request that waits for its issue
    FLIGHT_ISSUED,
    FLIGHT_BIO,          // a bio without a request (yet)
    FLIGHT_MERGED,       // a bio that joined a request
    FLIGHT_SPLIT_PARENT, // first piece of a split bio: done, and other pieces are not
    FLIGHT_POSTFLUSH,    // its data is written, and a flush may follow
    FLIGHT_STATES,
};

#define SPLIT_PARENT (1u << 31)

// 128 bytes: where one is, and which one it is, is a shift.
struct flight {
    // What will be told of it, as far as it is known. issue_ns of a tail: when its data was written; end_ns of what was
    // sent on: for which flight (remap.c).
    struct block_io io;
    uint64_t key;                    // the sector where it is now, or a number beyond all sectors for what has none
    uint32_t next;                   // slot + 1 of the next one of its chain, or of the free ones
    uint32_t bio_sectors, bio_bytes; // of this piece of its bio; of the whole bio
    uint32_t left;  // of a request: sectors not yet completed; of a bio that was sent on: sectors that are
    uint32_t split; // of a bio that was split: SPLIT_PARENT | pieces that are not done; slot + 1 of that
    uint16_t busy;  // place + 1 of its disk in busy, when it counts there
    uint8_t state;
    bool suspect : 1, own : 1, requested : 1, postflush : 1;
    bool remapped : 1;  // its queue event is still to come
    bool sent : 1;      // it is the bio of another disk, and ends it
    bool no_letter : 1; // a write that the kernel has no letter for: it may end at another sector
    bool in_tree : 1;   // is in the tree (in_flight_tree.h)
};
_Static_assert(sizeof(struct flight) == 128, "a power of two");

struct seen {
    uint64_t next; // sector
    uint32_t dev;
    int32_t tid;
};

// How long a disk had a request to work on.
struct busy {
    uint32_t dev; // 0: an empty place
    uint32_t in_flight;
    uint64_t since, ns; // since: in_flight is above 0, or the last look; ns: before that, since the last look
    uint32_t in_tree;   // not 0: all of its bios are in the tree
    uint32_t no_sector; // how much of what is in flight on it has none; 32 bytes: where one is, is a shift
};

struct writer {
    int32_t tid;
    uint64_t cgroup;
};

// Who asked a disk for a flush last, by a bio: the flush itself is the kernel's, and some worker of it issues it.
struct flush_submitter {
    uint64_t cgroup;
    int32_t tid;
    bool known, own;
    char comm[BLOCK_COMM];
};

// The letters of an ordinary request: it has a sector, and no flush before or after it.
struct rwbs_entry {
    uint64_t letters, mask; // up to seven, the first one lowest; mask: these bytes and the NUL behind them
    uint8_t key;            // block_key_of them
};
#define RWBS_WORDS 32

struct block_match {
    struct flight *pool;
    uint32_t *index; // slot + 1 of the first of a chain; room for capacity * INDEX_ROOM, mask + 1 of them are in use
    uint32_t capacity, mask, used, high, free_list; // high: slots ever used; free_list: slot + 1
    struct node *nodes;                             // as many as flights
    uint32_t tree;                                  // slot + 1 of its root
    uint32_t n_remapped; // bios that were remapped and are still to come, and disks whose bios are in the tree
    uint32_t by_state[FLIGHT_STATES];
    uint64_t lost_ts, now; // now: of the latest event
    uint64_t gap_from;     // what began until then was under way when the latest gap came
    bool any_suspect;
    block_done_fn done;
    void *ctx;
    pid_t own[OWN_PLACES]; // a hash table; 0: an empty place
    struct block_part parts[PARTS];
    struct block_part paths[PATHS]; // those of the parts that were learned
    uint32_t heads[HEADS];
    uint32_t n_parts, n_writers, n_paths, n_heads;
    struct writer writers[WRITERS];
    struct block_thread threads[THREADS]; // by tid
    struct seen seen[SEQUENCES];
    struct busy busy[1 << BUSY_BITS];
    struct flush_submitter flush_submitters[1 << BUSY_BITS]; // of the same disks
    uint32_t n_busy;
    struct rwbs_entry words[RWBS_WORDS]; // by their first two letters; a zeroed one stands for none
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

// Uses that many heads of the index, and enters what is in flight again.
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

// The first of the flights that may have that key, and the one after it; NULL: no more.
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
    match->by_state[f->state]--; // of FLIGHT_FREE it means nothing
    f->state = state;
    match->by_state[state]++;
}

// In two pieces, which compilers make plain stores of: they make a slow string instruction of one long one.
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
        flight_leave(match, f);
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

// Whether the one that began at `a` goes before the one that began at `b`: the older one does. But one that never
// ended, as far as anybody told, does not: or each later one of its sector would be taken for the one before.
static inline bool older_better(uint64_t a, uint64_t b, uint64_t now) {
    bool older = a < b;
    uint64_t old_ns = now - (older ? a : b), young_ns = now - (older ? b : a);
    return old_ns > LEFT_OVER_NS && old_ns / LEFT_OVER_TIMES > young_ns ? !older : older;
}

// Which of two requests for the same sector an event means: one that is not suspect; to complete, one of the event's
// own length, then the oldest that is not left over; to issue, the youngest (an old arrival may be left over from a
// request that was merged from the front and so got another sector), or the oldest when bios are followed, which leave
// nothing over; of bios the oldest of the event's own length, then the oldest.
static inline bool flight_better(const struct flight *f, const struct flight *best, const struct block_event *event) {
    if (f->suspect != best->suspect)
        return best->suspect;
    if (f->state == FLIGHT_QUEUED)
        return f->io.bio_ns && best->io.bio_ns ? older_better(f->io.arrival_ns, best->io.arrival_ns, event->ts)
                                               : f->io.arrival_ns > best->io.arrival_ns;
    if (f->state != FLIGHT_ISSUED) {
        bool same = f->bio_sectors == event->sectors, best_same = best->bio_sectors == event->sectors;
        return same != best_same ? same : older_better(f->io.bio_ns, best->io.bio_ns, event->ts);
    }
    uint8_t op = (uint8_t)block_event_op(event);
    bool fits = f->left == event->sectors && f->io.op == op;
    bool best_fits = best->left == event->sectors && best->io.op == op;
    if (op == BLOCK_OTHER) { // of one key, whatever their sector
        fits = f->io.sector == event->sector;
        best_fits = best->io.sector == event->sector;
    }
    if (fits != best_fits)
        return fits;
    return older_better(f->io.issue_ns, best->io.issue_ns, event->ts);
}

static inline uint64_t flight_since(const struct flight *f, uint8_t state) {
    return state == FLIGHT_ISSUED ? f->io.issue_ns : state == FLIGHT_QUEUED ? f->io.arrival_ns : f->io.bio_ns;
}

static inline bool flight_fits(const struct flight *f, const struct block_event *event, uint64_t key, uint8_t state) {
    return f->key == key && f->io.dev == event->dev && f->state == state && flight_since(f, state) <= event->ts;
}

// From f on, the flight of its chain that the event means rather than `best`.
struct flight *flight_best(struct block_match *match, struct flight *f, struct flight *best,
                           const struct block_event *event, uint64_t key);

// The request with that key and state, not younger than the event, that the event means. Mostly it stands alone.
static inline struct flight *flight_find(struct block_match *match, const struct block_event *event, uint64_t key,
                                         uint8_t state) {
    struct flight *f = chain_first(match, event->dev, key);
    while (f && !flight_fits(f, event, key, state))
        f = chain_next(match, f);
    return __builtin_expect(f && f->next, 0) ? flight_best(match, chain_next(match, f), f, event, key) : f;
}

// The same of a key that may be beyond all sectors.
static inline struct flight *flight_find_any(struct block_match *match, const struct block_event *event, uint64_t key,
                                             uint8_t state) {
    if (__builtin_expect(key >= NO_SECTOR_KEYS, 0))
        return tree_no_sector(match, event, key, state);
    return flight_find(match, event, key, state);
}

// The oldest bio at the event's sector that fits.
struct flight *chain_oldest(const struct block_match *match, const struct block_event *event,
                            bool (*fits)(const struct flight *f, const struct block_event *event));

// Whether it is a bio that does what the event says to the zone at its sector.
bool is_of_zone(const struct flight *f, const struct block_event *event);

// What has no sector gets a key beyond all sectors, by kind of operation.
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

// The bio of an empty flush, and one without a length that does something to the zone at its sector: one key for each
// kind, apart from that of their requests.
#define FLUSH_BIO (BLOCK_NO_SECTOR - 16)
#define ZONE_BIO (BLOCK_NO_SECTOR - 17)

static inline bool is_flush_bio(const struct block_event *event) {
    return !event->sectors && event->rwbs[0] == 'F' && event->rwbs_size > 1;
}

static inline uint32_t own_place(pid_t tid) {
    return (uint32_t)tid * 0x9e3779b1u >> 24;
}

// Asked for every bio: mostly one look says no.
static inline bool is_own(const struct block_match *match, pid_t tid) {
    for (uint32_t i = own_place(tid); match->own[i]; i = (i + 1) % OWN_PLACES)
        if (match->own[i] == tid)
            return true;
    return false;
}

// Whether it begins where the thread's previous one on that disk ended: asked in the order of arrival.
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

static inline void flight_by(struct block_match *match, struct flight *f, const struct block_event *event) {
    static const char writeback[BLOCK_COMM] = "(writeback)";
    f->io.tid = event->tid;
    if (is_own(match, event->tid))
        f->own = true;
    f->io.sequence = sequence_of(match, f->io.dev, event->tid, event->sector, event->sectors);
    if (!event->comm)
        return;
    memcpy(f->io.comm, event->comm, BLOCK_COMM);
    // A kernel worker in the middle of an inode's writeback does not write for itself.
    const struct writer *writer =
        match->n_writers && !memcmp(f->io.comm, "kworker", 7) ? writer_find(match, event->tid) : NULL;
    if (!writer)
        return;
    f->io.tid = 0;
    f->io.cgroup = writer->cgroup;
    memcpy(f->io.comm, writeback, BLOCK_COMM);
}

// NULL: more disks than have a place.
static inline struct flush_submitter *flush_submitter_of(struct block_match *match, uint32_t dev) {
    struct busy *busy = busy_of(match, dev);
    return busy ? &match->flush_submitters[busy - match->busy] : NULL;
}

// At most so many without a sector: completions of flushes are not told by every driver.
void limit_no_sector(struct block_match *match, const struct block_event *event, uint64_t key, uint8_t state);

// They are mostly one of a few words: looked up by all of them at once. NULL: not one that was seen just before.
static inline struct rwbs_entry *rwbs_place(struct block_match *match, const void *rwbs) {
    uint16_t two;
    memcpy(&two, rwbs, sizeof(two));
    return &match->words[(two * 0x9e3779b1u) >> 27];
}
static inline const struct rwbs_entry *rwbs_lookup(struct block_match *match, const void *eight) {
    uint64_t letters;
    const struct rwbs_entry *word = rwbs_place(match, eight);
    memcpy(&letters, eight, sizeof(letters));
    return word->mask && (letters & word->mask) == word->letters ? word : NULL;
}

// Takes the letters of the event. Returns their key (block_key_of).
uint8_t rwbs_copy(struct block_match *match, struct flight *f, const struct block_event *event);

// The request gives way to what is left of it: its bio, which rides with another request.
static inline void flight_is_merged(struct block_match *match, struct flight *f) {
    if (!f->io.bio_ns) {
        flight_remove(match, f);
        return;
    }
    flight_state(match, f, FLIGHT_MERGED);
    if (f->io.op == BLOCK_DISCARD)
        flight_tree_update(match, f);
}

static inline void io_tell(struct block_match *match, const struct block_io *io, bool own) {
    match->counts.bios += io->bio_ns != 0;
    if (own && io->what != BLOCK_IO_REST)
        match->counts.own++;
    if (!own)
        match->done(match->ctx, io);
}

// Tells what happened to f (a request that ended, a bio, the rest of a bio) to who asked for it.
void flight_tell(struct block_match *match, const struct flight *f, uint64_t ts, enum block_what what);

// ---- bio.c ----

// Any event of a bio.
void bio_event(struct block_match *match, const struct block_event *told);
// The piece of a bio that f is has ended, and so f: with the last piece the bio.
void bio_end(struct block_match *match, struct flight *f, uint64_t ts);
// The same when only its data is written: a flush of its sequence may follow.
void bio_data_end(struct block_match *match, struct flight *f, uint64_t ts);
// One piece of a bio is no more, whose first piece that is. Whether there are others.
bool flight_piece_done(struct flight *first);
// A new one; NULL: no room. Whose it is, is not told yet.
struct flight *bio_add(struct block_match *match, const struct block_event *event, uint64_t key);
// One for a partition was told, before a control group's limit.
void bio_of_partition(struct block_match *match, const struct block_event *event);
// The bios that joined the request f have ended with it.
void merged_bios_end(struct block_match *match, const struct flight *f, uint64_t ts);
// The last completion of a flush sequence: of no length, at the sector where the data began, or ended.
void bio_sequence_end(struct block_match *match, const struct block_event *event);

// ---- thread.c ----

// Of a thread that writes back, or makes another thread.
void thread_event(struct block_match *match, const struct block_event *event);

// ---- remap.c ----

void bio_remapped(struct block_match *match, const struct block_event *event);
// f has ended: so does the bio of another disk, when it was that one.
void sent_end(struct block_match *match, const struct flight *f, uint64_t ts);
// A piece of f has failed, which goes on.
void sent_failed(struct block_match *match, const struct flight *f, int16_t error);
// Events of paths, which are the heads' disks: path_learn is told of every remapped bio.
void path_learn(struct block_match *match, const struct block_event *remap);
void path_failed(struct block_match *match, struct flight *f);

#endif
