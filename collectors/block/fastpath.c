// Fast path: the three events of an ordinary I/O (bio queued, request issued, completed as a whole), straight from
// their records, loading only the fields used. Everything unusual goes to block_match_event before any state changes:
// flushes, uncached rwbs, another flight in the chain, merges, splits, requeues, partial completions, errors, late
// events, lost events, a full table. Both paths give the same result (tests/unit/test_block_fastpath.c).
#include "collectors/block/flight.h"

struct record {
    uint64_t ts, sector;
    const uint8_t *bytes;
    uint32_t dev, sectors, slot;
    uint32_t *head; // its chain in the index
};

#define ALWAYS static inline __attribute__((always_inline))

// False: take the slow path.
ALWAYS bool record_read(struct block_match *match, struct record *r) {
    memcpy(&r->sector, r->bytes + BLOCK_AT_SECTOR, sizeof(r->sector));
    r->dev = block_load32(r->bytes, BLOCK_AT_DEV);
    r->sectors = block_load32(r->bytes, BLOCK_AT_SECTORS);
    return r->ts >= match->now && r->sector < NO_SECTOR_KEYS;
}

// A completion takes the fast path only if it has a sector and is not a discard; merged bios take the slow path.
ALWAYS bool rwbs_is_read_write(const uint8_t *rwbs) {
    const uint32_t read_write = 1u << ('R' - 'A') | 1u << ('W' - 'A');
    uint32_t letter = *rwbs - (uint32_t)'A';
    return letter < 32 && read_write >> letter & 1;
}

// The only flight at that sector; NULL: none, or several. r->slot: slot + 1 if it is alone in its chain, else 0.
static __attribute__((noinline)) struct flight *only_of_chain(const struct block_match *match, struct flight *f,
                                                              uint64_t sector, uint32_t dev) {
    struct flight *only = NULL;
    for (; f; f = chain_next(match, f)) {
        if (f->key != sector || f->io.dev != dev)
            continue;
        if (only)
            return NULL;
        only = f;
    }
    return only;
}
ALWAYS struct flight *only_flight(const struct block_match *match, struct record *r) {
    r->head = &match->index[hash_key(r->dev, r->sector) & match->mask];
    r->slot = *r->head;
    if (!r->slot)
        return NULL;
    struct flight *f = &match->pool[r->slot - 1];
    if (__builtin_expect(!f->next, 1))
        return f->key == r->sector && f->io.dev == r->dev ? f : NULL;
    r->slot = 0;
    return only_of_chain(match, f, r->sector, r->dev);
}

ALWAYS void rwbs_letters(struct flight *f, const struct rwbs_entry *entry) {
    memset(f->io.rwbs + 7, 0, sizeof(f->io.rwbs) - 7); // the bio's rwbs may be longer
    memcpy(f->io.rwbs, &entry->letters, sizeof(entry->letters));
}

// Whether a remapped bio is expected at that sector, or the tree holds all bios of the disk.
static bool is_remapped(struct block_match *match, uint32_t dev, uint64_t sector) {
    const struct flight *f = chain_first(match, dev, sector);
    while (f && !(f->remapped && f->key == sector && f->io.dev == dev))
        f = chain_next(match, f);
    return f || disk_is_in_tree(match, dev);
}

ALWAYS bool fast_bio(struct block_match *match, const struct block_layout *layout, struct record *r,
                     bool beside_remapped) {
    int32_t tid = (int32_t)block_load32(r->bytes, BLOCK_AT_TID);
    const char *comm = (const char *)r->bytes + layout->comm;
    const struct rwbs_entry *entry = rwbs_lookup(match, r->bytes + layout->rwbs);
    if (!entry || !record_read(match, r) || !r->sectors || r->ts <= match->lost_ts ||
        (!beside_remapped && match->n_remapped) || !match->free_list || match->used >= (match->mask + 1) / INDEX_ROOM ||
        is_own(match, tid) || (match->n_writers && !memcmp(comm, "kworker", 7)))
        return false;
    r->dev = disk_of(match, r->dev);
    if (beside_remapped && is_remapped(match, r->dev, r->sector))
        return false;
    match->now = r->ts;
    uint32_t slot = match->free_list;
    struct flight *f = &match->pool[slot - 1];
    match->free_list = f->next;
    match->used++;
    match->by_state[FLIGHT_BIO]++;
    flight_clear(f);
    f->state = FLIGHT_BIO;
    f->key = f->io.sector = r->sector;
    f->io.dev = r->dev;
    f->io.bio_ns = r->ts;
    f->bio_sectors = r->sectors;
    f->bio_bytes = r->sectors * 512;
    f->io.op = block_key_op(entry->key);
    f->io.bio_key = entry->key;
    rwbs_letters(f, entry);
    memcpy(f->io.comm, comm, BLOCK_COMM);
    f->io.tid = tid;
    f->io.sequence = sequence_of(match, r->dev, tid, r->sector, r->sectors);
    uint32_t *head = &match->index[hash_key(r->dev, r->sector) & match->mask];
    f->next = *head;
    *head = slot;
    return true;
}

ALWAYS bool fast_issue(struct block_match *match, const struct block_layout *layout, struct record *r) {
    const struct rwbs_entry *entry = rwbs_lookup(match, r->bytes + layout->rwbs);
    if (!entry || !record_read(match, r) || r->ts <= match->lost_ts)
        return false;
    struct flight *f = only_flight(match, r);
    if (!f || (f->state != FLIGHT_BIO && f->state != FLIGHT_QUEUED) || f->io.requeues)
        return false;
    match->now = r->ts;
    if (f->state == FLIGHT_BIO && !f->io.arrival_ns)
        f->io.arrival_ns = f->io.bio_ns;
    match->counts.issued++;
    match->by_state[f->state]--;
    match->by_state[FLIGHT_ISSUED]++;
    f->state = FLIGHT_ISSUED;
    busy_begin(match, f);
    f->io.issue_ns = r->ts;
    f->io.bytes = block_load32(r->bytes, layout->bytes);
    f->io.op = block_key_op(entry->key);
    f->io.key = entry->key;
    rwbs_letters(f, entry);
    f->left = r->sectors;
    f->suspect = false;
    f->requested = true;
    return true;
}

ALWAYS bool fast_complete(struct block_match *match, const struct block_layout *layout, struct record *r) {
    if (!rwbs_is_read_write(r->bytes + layout->rwbs) || !record_read(match, r) ||
        block_load32(r->bytes, layout->error) || match->by_state[FLIGHT_MERGED])
        return false;
    struct flight *f = only_flight(match, r);
    if (!f || f->state != FLIGHT_ISSUED || f->left != r->sectors || f->split || f->postflush || f->suspect ||
        f->clone || f->in_tree || f->io.error)
        return false;
    match->now = r->ts;
    match->counts.completed++;
    f->io.end_ns = r->ts;
    io_report(match, &f->io, f->own);
    if (__builtin_expect(!r->slot, 0)) {
        flight_remove(match, f);
        return true;
    }
    *r->head = 0;
    flight_state(match, f, FLIGHT_FREE);
    f->next = match->free_list;
    match->free_list = r->slot;
    match->used--;
    return true;
}

ALWAYS void needs_slow_path(struct block_match *match, const struct block_formats *formats, uint64_t ts,
                            const uint8_t *bytes, uint32_t size) {
    struct block_event event;
    if (block_event_decode(formats, ts, bytes, size, &event))
        block_match_event(match, &event);
}

// While remapped bios are pending, an ordinary bio may still take the fast path.
static __attribute__((noinline)) void slow_beside_remapped(struct block_match *match,
                                                           const struct block_formats *formats, uint64_t ts,
                                                           const uint8_t *bytes, uint32_t size) {
    struct record r = {.ts = ts, .bytes = bytes};
    const struct block_layout *layout = &formats->layouts[BLOCK_BIO_QUEUE];
    if (block_kind_of(formats, bytes, size) == BLOCK_BIO_QUEUE && size >= layout->end &&
        fast_bio(match, layout, &r, true)) {
        match->counts.events++;
        match->fast++;
        return;
    }
    needs_slow_path(match, formats, ts, bytes, size);
}

static __attribute__((noinline)) void slow_path(struct block_match *match, const struct block_formats *formats,
                                                uint64_t ts, const uint8_t *bytes, uint32_t size) {
    if (match->n_remapped)
        slow_beside_remapped(match, formats, ts, bytes, size);
    else
        needs_slow_path(match, formats, ts, bytes, size);
}

ALWAYS bool fast_path(struct block_match *match, const struct block_formats *formats, uint64_t ts, const uint8_t *bytes,
                      uint32_t size) {
    struct record r = {.ts = ts, .bytes = bytes};
    const struct block_layout *layouts = formats->layouts;
    switch (block_kind_of(formats, bytes, size)) {
    case BLOCK_BIO_QUEUE:
        return size >= layouts[BLOCK_BIO_QUEUE].end && fast_bio(match, &layouts[BLOCK_BIO_QUEUE], &r, false);
    case BLOCK_ISSUE:
        return size >= layouts[BLOCK_ISSUE].end && fast_issue(match, &layouts[BLOCK_ISSUE], &r);
    case BLOCK_COMPLETE:
        return size >= layouts[BLOCK_COMPLETE].end && fast_complete(match, &layouts[BLOCK_COMPLETE], &r);
    default:
        return false;
    }
}

uint64_t block_match_pages(struct block_match *match, const struct block_formats *formats,
                           const struct trace_clock *clock, struct ring_page *const pages[2], uint64_t limit) {
    struct ring_pair pair = ring_pair_take(pages);
    const struct trace_clock line = *clock; // a local copy: no other thread can change it
    uint64_t n = 0, rare = 0;
    do {
        ring_pair_turn(&pair);
        if (pair.at.ts >= limit)
            break;
        n++;
        uint64_t ts = trace_clock_mono(&line, pair.at.ts);
        if (__builtin_expect(fast_path(match, formats, ts, pair.at.data, pair.at.size), 1))
            continue;
        slow_path(match, formats, ts, pair.at.data, pair.at.size);
        rare++;
    } while (ring_page_next(&pair.at));
    match->counts.events += n - rare;
    match->fast += n - rare;
    ring_pair_put(&pair, pages);
    return n;
}
