// The three events of an ordinary I/O as they come, straight from their records: its bio comes, its request is issued,
// and completes as a whole. Nothing of an event is looked at that is not needed then. Whatever is unusual is left to
// block_match_event, before anything is changed: a flush, the letters of a word not seen yet, another flight in the
// same chain, a merge, a split, a requeue, a part, an error, an event that comes late, events lost, a full table. The
// two ways lead to the same (tests/test_block_quick.c).
#include "collectors/block_flight.h"

struct record {
    uint64_t ts, sector;
    const uint8_t *bytes;
    const struct rwbs_word *word; // its letters
    uint32_t dev, sectors, hash;
};

#define ALWAYS static inline __attribute__((always_inline))

// False: not an ordinary one.
ALWAYS bool record_read(struct block_match *match, const struct block_layout *layout, struct record *r) {
    r->word = word_of(match, r->bytes + layout->rwbs);
    if (!r->word || r->ts < match->now)
        return false;
    memcpy(&r->sector, r->bytes + BLOCK_AT_SECTOR, sizeof(r->sector));
    r->dev = block_load32(r->bytes, BLOCK_AT_DEV);
    r->sectors = block_load32(r->bytes, BLOCK_AT_SECTORS);
    return r->sectors && r->sector != BLOCK_NO_SECTOR;
}

// The flight at that sector, when it is the only one of its chain.
ALWAYS struct flight *only_flight(const struct block_match *match, const struct record *r) {
    uint32_t slot = match->index[r->hash & match->mask];
    if (!slot)
        return NULL;
    struct flight *f = &match->pool[slot - 1];
    return f->key == r->sector && f->io.dev == r->dev && !f->next ? f : NULL;
}

ALWAYS void letters_take(struct flight *f, const struct rwbs_word *word) {
    memset(f->io.rwbs + 7, 0, sizeof(f->io.rwbs) - 7); // of its bio, which may have had more
    memcpy(f->io.rwbs, &word->letters, sizeof(word->letters));
}

ALWAYS bool quick_bio(struct block_match *match, const struct block_layout *layout, struct record *r) {
    int32_t tid = (int32_t)block_load32(r->bytes, BLOCK_AT_TID);
    const char *comm = (const char *)r->bytes + layout->comm;
    if (!record_read(match, layout, r) || r->ts <= match->lost_ts || match->n_remapped || !match->free_list ||
        match->used >= (match->mask + 1) / INDEX_ROOM || match->own_bits >> (tid & 63) & 1 ||
        (match->n_writers && !memcmp(comm, "kworker", 7)))
        return false;
    match->now = r->ts;
    r->dev = disk_of(match, r->dev);
    struct flight *f = &match->pool[match->free_list - 1];
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
    f->io.op = block_key_op(r->word->key);
    f->io.bio_key = r->word->key;
    letters_take(f, r->word);
    memcpy(f->io.comm, comm, BLOCK_COMM);
    f->io.tid = tid;
    f->io.sequence = sequence_of(match, r->dev, tid, r->sector, r->sectors);
    index_add(match, f, hash_key(r->dev, r->sector));
    return true;
}

ALWAYS bool quick_issue(struct block_match *match, const struct block_layout *layout, struct record *r) {
    if (!record_read(match, layout, r) || r->ts <= match->lost_ts)
        return false;
    r->hash = hash_key(r->dev, r->sector);
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
    f->io.op = block_key_op(r->word->key);
    f->io.key = r->word->key;
    letters_take(f, r->word);
    f->left = r->sectors;
    f->suspect = false;
    f->requested = true;
    return true;
}

ALWAYS bool quick_complete(struct block_match *match, const struct block_layout *layout, struct record *r) {
    if (!record_read(match, layout, r) || block_load32(r->bytes, layout->error) || match->by_state[FLIGHT_RIDER])
        return false;
    r->hash = hash_key(r->dev, r->sector);
    struct flight *f = only_flight(match, r);
    if (!f || f->state != FLIGHT_ISSUED || f->left != r->sectors || f->split || f->tail || f->io.error)
        return false;
    match->now = r->ts;
    match->counts.completed++;
    f->io.end_ns = r->ts;
    io_tell(match, &f->io, f->own);
    match->index[r->hash & match->mask] = 0;
    if (f->busy)
        busy_end(match, f);
    match->by_state[FLIGHT_ISSUED]--;
    f->state = FLIGHT_FREE;
    f->next = match->free_list;
    match->free_list = (uint32_t)(f - match->pool) + 1;
    match->used--;
    return true;
}

static void by_the_long_way(struct block_match *match, const struct block_formats *formats,
                            const struct ring_page *at) {
    struct block_event event;
    if (block_event_decode(formats, at->ts, at->data, at->size, &event))
        block_match_event(match, &event);
}

ALWAYS bool quick(struct block_match *match, const struct block_formats *formats, const struct ring_page *at) {
    struct record r = {.ts = at->ts, .bytes = at->data};
    uint8_t kind = block_kind_of(formats, at->data, at->size);
    const struct block_layout *layouts = formats->layouts;
    if (!block_event_plain(formats, kind, at->size))
        return false;
    switch (kind) {
    case BLOCK_BIO_QUEUE:
        return quick_bio(match, &layouts[BLOCK_BIO_QUEUE], &r);
    case BLOCK_ISSUE:
        return quick_issue(match, &layouts[BLOCK_ISSUE], &r);
    case BLOCK_COMPLETE:
        return quick_complete(match, &layouts[BLOCK_COMPLETE], &r);
    default:
        return false;
    }
}

uint64_t block_match_run(struct block_match *match, const struct block_formats *formats, struct ring_page *page,
                         uint64_t limit) {
    struct ring_page at = *page; // a copy that nobody else reaches stays in registers
    uint64_t n = 0, ordinary = 0;
    do {
        if (at.ts >= limit)
            break;
        n++;
        if (__builtin_expect(quick(match, formats, &at), 1)) {
            ordinary++;
        } else {
            const struct ring_page rare = at;
            by_the_long_way(match, formats, &rare);
        }
    } while (ring_page_next(&at));
    match->counts.events += ordinary;
    match->quick += ordinary;
    *page = at;
    return n;
}
