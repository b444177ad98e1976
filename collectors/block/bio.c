// Bios, from arrival to completion: the time that the application waits for. A bio becomes a request, is merged into
// one, is split, or completes without a request (zram, md, dm, brd). A bio for a partition is traced twice.
#include <errno.h>

#include "collectors/block/flight.h"

// The bio carries a flush before or after its data (REQ_PREFLUSH, REQ_FUA).
static void flush_submitter_set(struct block_match *match, const struct flight *f) {
    struct flush_submitter *flush_submitter = flush_submitter_of(match, f->io.dev);
    if (!flush_submitter)
        return;
    *flush_submitter = (struct flush_submitter){.cgroup = f->io.cgroup, .tid = f->io.tid, .known = true, .own = f->own};
    memcpy(flush_submitter->comm, f->io.comm, BLOCK_COMM);
}

// The bio was already traced: at the remap, or before cgroup throttling. That event ran in the submitter; this one may
// run in a kernel worker.
static bool bio_already_traced(struct block_match *match, const struct block_event *event) {
    struct flight *f = chain_first(match, event->dev, event->sector);
    while (f && !(f->remapped && f->bio_sectors == event->sectors && flight_fits(f, event, event->sector, FLIGHT_BIO)))
        f = chain_next(match, f);
    if (!f)
        return false;
    f->remapped = f->clone = false; // a bio that is queued again is not the clone
    f->io.arrival_ns = event->ts;   // until its request is traced
    match->n_remapped--;
    if (f->io.tid == event->tid)
        flight_set_submitter(match, f, event);
    if (f->postflush)
        flush_submitter_set(match, f);
    return true;
}

struct flight *bio_add(struct block_match *match, const struct block_event *event, uint64_t key) {
    bool flush = key == FLUSH_BIO;
    struct flight *f = flight_add(match, event->dev, key);
    if (!f)
        return NULL;
    flight_state(match, f, FLIGHT_BIO);
    f->io.bio_ns = event->ts;
    f->suspect = event->ts <= match->lost_ts;
    f->io.sector = flush ? BLOCK_NO_SECTOR : event->sector;
    f->bio_sectors = event->sectors;
    f->bio_bytes = event->sectors * 512;
    uint8_t bio_key = rwbs_copy(match, f, event);
    f->io.op = flush ? BLOCK_FLUSH : block_key_op(bio_key);
    f->io.bio_key = (uint8_t)((bio_key & ~7u) | f->io.op);
    // A write with a preflush or FUA may become a flush sequence with a completion of its own.
    f->postflush = !flush && f->io.op == BLOCK_WRITE && (f->io.rwbs[0] == 'F' || f->io.bio_key >> 3 & BLOCK_FUA);
    if (match->n_remapped || f->io.op == BLOCK_DISCARD || key >= NO_SECTOR_KEYS)
        flight_tree_update(match, f);
    return f;
}

static void on_bio_queue(struct block_match *match, const struct block_event *event) {
    bool flush = is_flush_bio(event), zone = !event->sectors && block_is_n_or_z(event->rwbs);
    if (!event->sectors && !flush && !zone)
        return;
    if (match->n_remapped && event->sectors && bio_already_traced(match, event))
        return;
    uint64_t key = flush ? FLUSH_BIO : zone ? ZONE_BIO : event->sector;
    if (!event->sectors)
        limit_no_sector(match, event, key, FLIGHT_BIO);
    struct flight *f = bio_add(match, event, key);
    if (!f)
        return;
    flight_set_submitter(match, f, event);
    if (flush || f->postflush)
        flush_submitter_set(match, f);
}

// Leaves comm unset: the queue event, or /proc later, supplies it.
void bio_of_partition(struct block_match *match, const struct block_event *event) {
    struct flight *f = bio_add(match, event, event->sector);
    if (!f)
        return;
    f->io.tid = event->tid;
    f->own = is_own(match, event->tid);
    f->remapped = true;
    match->n_remapped++;
}

static bool contains_trim(const struct flight *f, const struct block_event *event) {
    return f->state == FLIGHT_BIO && f->key < event->sector && event->sector - f->key < f->bio_sectors;
}

// dm sends the first part on before it traces the split (since 5.18); the event gives the sector of the remainder,
// which completes the bio. No bio stands for the first part.
static void on_trim(struct block_match *match, const struct block_event *event) {
    disk_use_tree(match, event->dev);
    struct flight *f = tree_around(match, TREE_BIO, event, contains_trim);
    if (!f)
        return;
    f->bio_sectors -= (uint32_t)(event->sector - f->key);
    flight_move(match, f, event->sector);
}

static bool is_longer(const struct flight *f, const struct block_event *event) {
    return f->bio_sectors > event->sectors;
}

static void on_split(struct block_match *match, const struct block_event *event) {
    if (!event->sectors) {
        on_trim(match, event);
        return;
    }
    struct flight *best = chain_oldest(match, event, is_longer);
    if (!best)
        return;
    bool again = best->split && !(best->split & SPLIT_PARENT);
    uint32_t parent = again ? best->split : (uint32_t)(best - match->pool) + 1;
    struct flight *f = flight_add(match, event->dev, event->sector + event->sectors);
    if (!f)
        return;
    struct flight piece = *best;
    piece.key = f->key;
    piece.next = f->next;
    piece.state = FLIGHT_FREE;
    piece.io.sector = f->key;
    piece.bio_sectors = best->bio_sectors - event->sectors;
    piece.split = 0;
    piece.remapped = piece.clone = piece.in_tree = false; // only the first piece is
    *f = piece;
    flight_state(match, f, FLIGHT_BIO);
    best->bio_sectors = event->sectors;
    piece_add(match, parent, f);
    if (best->in_tree)
        flight_tree_update(match, f);
}

static void on_back_merge(struct block_match *match, const struct block_event *event) {
    struct flight *f = flight_find(match, event, event->sector, FLIGHT_BIO);
    if (!f)
        return;
    f->requested = true;
    flight_state(match, f, FLIGHT_MERGED);
}

// The request now starts at the bio's sector: the bio's entry becomes the request, the request's entry the merged bio.
static void on_front_merge(struct block_match *match, const struct block_event *event) {
    struct flight *bio = flight_find(match, event, event->sector, FLIGHT_BIO);
    struct flight *request = flight_find(match, event, event->sector + event->sectors, FLIGHT_QUEUED);
    if (!request) { // known only by its bio
        request = flight_find(match, event, event->sector + event->sectors, FLIGHT_BIO);
        if (request) {
            request->io.arrival_ns = request->io.bio_ns;
            request->requested = true;
            flight_state(match, request, FLIGHT_QUEUED);
        }
    }
    if (bio && request) {
        bio->io.arrival_ns = request->io.arrival_ns;
        bio->io.requeues = request->io.requeues;
        bio->requested = true;
        flight_state(match, bio, FLIGHT_QUEUED);
        flight_is_merged(match, request);
    } else if (bio) {
        bio->requested = true;
        flight_state(match, bio, FLIGHT_MERGED);
    } else if (request) {
        flight_move(match, request, event->sector);
        request->io.sector = event->sector;
    }
}

bool flight_piece_done(struct flight *first) {
    if (!(first->split & SPLIT_PARENT))
        return false;
    first->split = first->split - 1 == SPLIT_PARENT ? 0 : first->split - 1;
    return first->split;
}

// A later piece failed: the bio fails, but not the request of the first piece.
static void piece_failed(struct block_match *match, struct flight *first, int16_t error) {
    bool request = first->state == FLIGHT_QUEUED || first->state == FLIGHT_ISSUED;
    if (!request && !first->io.error)
        first->io.error = error;
    if (request && error == -EAGAIN)
        first->io.bio_ns = 0; // the submitter does not wait for this bio
    else if (request)
        clone_failed(match, first, error);
}

// Completes f, a bio or a piece of one. The bio completes with its last piece.
void bio_end(struct block_match *match, struct flight *f, uint64_t ts) {
    bool piece = f->split && !(f->split & SPLIT_PARENT);
    struct flight *parent = piece ? &match->pool[f->split - 1] : f;
    if (piece && f->io.error)
        piece_failed(match, parent, f->io.error);
    bool more = flight_piece_done(parent);
    if (f != parent)
        flight_remove(match, f);
    if (more || (f != parent && parent->state != FLIGHT_SPLIT_PARENT)) {
        if (f == parent)
            flight_state(match, parent, FLIGHT_SPLIT_PARENT);
        return;
    }
    // EAGAIN on a REQ_NOWAIT bio (io_uring): the submitter sends it again as another bio, so report nothing.
    if (parent->io.error != -EAGAIN)
        flight_report(match, parent, ts, parent->requested ? BLOCK_IO_TOTAL_ONLY : BLOCK_IO_BIO);
    clone_end(match, parent, ts);
    flight_remove(match, parent);
}

// A bio split into a chain: some drivers trace only the completion of the last piece, after all others are done.
static void bio_chain_end(struct block_match *match, struct flight *f, uint64_t ts) {
    struct flight *parent = f->split & SPLIT_PARENT ? f : &match->pool[f->split - 1], *next;
    for (const struct flight *piece = piece_next(match, parent); piece; piece = piece_next(match, piece))
        if (piece->state == FLIGHT_BIO && piece->key > f->key) // usually the newest
            return;
    for (struct flight *piece = piece_next(match, parent); piece; piece = next) {
        next = piece_next(match, piece);
        if (piece != f && piece->state == FLIGHT_BIO)
            bio_end(match, piece, ts);
    }
    if (parent != f && parent->state == FLIGHT_BIO)
        bio_end(match, parent, ts);
}

void bio_data_end(struct block_match *match, struct flight *f, uint64_t ts) {
    if (!f->postflush) {
        bio_end(match, f, ts);
        return;
    }
    f->io.issue_ns = ts;
    flight_state(match, f, FLIGHT_POSTFLUSH);
    flight_tree_update(match, f);
}

// A completed first piece stays in the tree.
static bool ends_sequence(const struct flight *f, const struct block_event *event) {
    bool there = f->io.sector == event->sector || f->io.sector + f->bio_sectors == event->sector;
    return f->state == FLIGHT_POSTFLUSH && there;
}

// The last completion of a flush sequence has length 0, at the first sector of the data or behind the last.
void bio_sequence_end(struct block_match *match, const struct block_event *event) {
    struct flight *f = tree_around(match, TREE_POSTFLUSH, event, ends_sequence);
    if (f) {
        bio_end(match, f, event->ts);
        return;
    }
    struct flight *flush = tree_no_sector(match, event, FLUSH_BIO, FLIGHT_BIO);
    if (!flush)
        return;
    flush->io.error = (int16_t)event->error;
    flush->requested = true;
    bio_end(match, flush, event->ts);
}

static bool ends_at(const struct flight *f, const struct block_event *event) {
    return f->state == FLIGHT_BIO && f->key + f->bio_sectors == event->sector;
}

static struct flight *bio_without_length(struct block_match *match, const struct block_event *event) {
    struct flight *zone = block_is_n_or_z(event->rwbs) ? tree_oldest(match, event, ZONE_BIO, is_of_zone) : NULL;
    if (zone)
        return zone;
    disk_use_tree(match, event->dev); // some drivers (brd) advance the bio's sector as they work
    return tree_around(match, TREE_BIO, event, ends_at);
}

static void on_bio_complete(struct block_match *match, const struct block_event *event) {
    struct flight *f;
    if (event->sectors || is_flush_bio(event))
        f = flight_find_any(match, event, event->sectors ? event->sector : FLUSH_BIO, FLIGHT_BIO);
    else
        f = bio_without_length(match, event);
    if (!f) {
        match->counts.unmatched_bios++;
        return;
    }
    if (event->error && !f->io.error)
        f->io.error = (int16_t)event->error;
    if (f->split)
        bio_chain_end(match, f, event->ts);
    bio_end(match, f, event->ts);
}

// NVMe merges up to 256 discards into one request. No event names the merged bios, only their total length is known.
// Candidates, oldest first: bios of the same thread that arrived after the first one (its plug merges them), then, with
// an I/O scheduler, those of other threads.
static void discards_end(struct block_match *match, const struct flight *f, uint64_t ts, uint64_t sectors) {
    for (int others = 0; others < 2; others++) {
        struct place from = {.since = f->io.bio_ns};
        struct flight *bio;
        while (sectors && (bio = tree_discard(match, &from, f, sectors, others))) {
            sectors -= bio->bio_sectors;
            bio->io.error = f->io.error;
            bio->requested = true;
            bio_data_end(match, bio, ts);
        }
    }
}

// Completes the bios that were merged into the request, in sector order.
void merged_bios_end(struct block_match *match, const struct flight *f, uint64_t ts) {
    struct block_event at = {
        .ts = ts, .rwbs = f->io.rwbs, .dev = f->io.dev, .sector = f->io.sector + (f->io.bio_ns ? f->bio_sectors : 0)};
    uint64_t end = f->io.sector + f->io.bytes / 512;
    while (at.sector < end && match->by_state[FLIGHT_MERGED]) {
        struct flight *merged = flight_find(match, &at, at.sector, FLIGHT_MERGED);
        if (!merged)
            break;
        at.sector += merged->bio_sectors;
        merged->io.error = f->io.error;
        bio_data_end(match, merged, ts);
    }
    if (f->io.op == BLOCK_DISCARD && at.sector < end)
        discards_end(match, f, ts, end - at.sector);
}

static void bio_dispatch(struct block_match *match, const struct block_event *event) {
    if (event->kind == BLOCK_BIO_QUEUE)
        on_bio_queue(match, event);
    else if (event->kind == BLOCK_BIO_COMPLETE)
        on_bio_complete(match, event);
    else if (event->kind == BLOCK_REMAP)
        bio_remapped(match, event);
    else if (event->kind == BLOCK_SPLIT)
        on_split(match, event);
    else if (event->kind == BLOCK_BACKMERGE)
        on_back_merge(match, event);
    else if (event->kind == BLOCK_FRONTMERGE)
        on_front_merge(match, event);
}

void bio_event(struct block_match *match, const struct block_event *traced) {
    if (traced->kind == BLOCK_REMAP && match->n_heads)
        path_learn(match, traced);
    uint32_t disk = disk_of(match, traced->dev);
    if (disk == traced->dev) {
        bio_dispatch(match, traced);
        return;
    }
    struct block_event event = *traced;
    event.dev = disk;
    bio_dispatch(match, &event);
}
