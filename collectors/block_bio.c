// Bios: what the application waits for, from the arrival of a bio to its end. A bio becomes a request, joins one, is
// split into pieces, is told twice when it comes from a partition, or ends without any request (zram, md, dm, brd).
#include "collectors/block_flight.h"

static uint32_t disk_of(const struct block_match *match, uint32_t dev) {
    if (!match->n_parts)
        return dev;
    for (uint32_t i = (dev * 0x9e3779b1u) >> 22; match->parts[i].dev; i = (i + 1) % PARTS)
        if (match->parts[i].dev == dev)
            return match->parts[i].disk;
    return dev;
}

// Its arrival was told already, before a control group made it wait: then by the submitter, now by a kernel worker.
static bool bio_known(struct block_match *match, const struct block_event *event) {
    struct flight *f = flight_find(match, event, event->sector, FLIGHT_BIO);
    if (!f || !f->remapped || f->bio_sectors != event->sectors)
        return false;
    f->remapped = false;
    f->arrival_ns = event->ts; // until somebody tells of its request
    match->n_remapped--;
    if (f->tid == event->tid)
        flight_by(match, f, event);
    return true;
}

static void on_bio_queue(struct block_match *match, const struct block_event *event) {
    bool flush = is_flush_bio(event);
    if (!event->sectors && !flush)
        return;
    uint64_t key = flush ? FLUSH_BIO : event->sector;
    if (match->n_remapped && !flush && event->kind == BLOCK_BIO_QUEUE && bio_known(match, event))
        return;
    if (flush)
        limit_no_sector(match, event, key, FLIGHT_BIO);
    struct flight *f = flight_add(match, event->dev, key);
    if (!f)
        return;
    flight_state(match, f, FLIGHT_BIO);
    f->bio_ns = event->ts;
    f->suspect = event->ts <= match->lost_ts;
    f->sector = flush ? BLOCK_NO_SECTOR : event->sector;
    f->bio_sectors = event->sectors;
    f->bio_bytes = event->sectors * 512;
    f->op = flush ? BLOCK_FLUSH : event->op;
    f->bio_key = rwbs_take(match, f, event, f->op);
    // A write that flushes first, or is forced through, may be a sequence of requests with an end of its own.
    f->tail = !flush && f->op == BLOCK_WRITE && (f->rwbs[0] == 'F' || f->bio_key >> 3 & BLOCK_FUA);
    if (event->kind == BLOCK_REMAP) { // does not tell the name: the queue event does, or a look at the thread
        f->tid = event->tid;
        f->own = is_own(match, event->tid);
        f->remapped = true;
        match->n_remapped++;
    } else {
        flight_by(match, f, event);
    }
}

// Within one disk, that is from a partition: other bios that are sent on are told again as bios of the other disk.
static void on_remap(struct block_match *match, const struct block_event *event) {
    if (event->sectors && disk_of(match, event->old_dev) == event->dev && event->old_dev != event->dev)
        on_bio_queue(match, event);
}

static void on_split(struct block_match *match, const struct block_event *event) {
    struct flight *f = NULL, *best = NULL;
    for (f = chain_first(match, event->dev, event->sector); f; f = chain_next(match, f)) {
        if (f->key == event->sector && f->dev == event->dev && f->state == FLIGHT_BIO &&
            f->bio_sectors > event->sectors && (!best || f->bio_ns < best->bio_ns))
            best = f;
    }
    if (!best)
        return;
    uint32_t root = best->root ? best->root : (uint32_t)(best - match->pool) + 1;
    f = flight_add(match, event->dev, event->sector + event->sectors);
    if (!f)
        return;
    struct flight piece = *best;
    piece.key = f->key;
    piece.next = f->next;
    piece.state = FLIGHT_FREE;
    piece.sector = f->key;
    piece.bio_sectors = best->bio_sectors - event->sectors;
    piece.root = root;
    piece.pieces = 0;
    *f = piece;
    flight_state(match, f, FLIGHT_BIO);
    best->bio_sectors = event->sectors;
    match->pool[root - 1].pieces += match->pool[root - 1].pieces ? 1 : 2;
}

static void on_back_merge(struct block_match *match, const struct block_event *event) {
    struct flight *f = flight_find(match, event, event->sector, FLIGHT_BIO);
    if (!f)
        return;
    f->requested = true;
    flight_state(match, f, FLIGHT_RIDER);
}

// The request begins where the bio begins from now on: the two change roles.
static void on_front_merge(struct block_match *match, const struct block_event *event) {
    struct flight *bio = flight_find(match, event, event->sector, FLIGHT_BIO);
    struct flight *request = flight_find(match, event, event->sector + event->sectors, FLIGHT_QUEUED);
    if (!request) { // known by its bio alone
        request = flight_find(match, event, event->sector + event->sectors, FLIGHT_BIO);
        if (request) {
            request->arrival_ns = request->bio_ns;
            request->requested = true;
            flight_state(match, request, FLIGHT_QUEUED);
        }
    }
    if (bio && request) {
        bio->arrival_ns = request->arrival_ns;
        bio->requeues = request->requeues;
        bio->requested = true;
        flight_state(match, bio, FLIGHT_QUEUED);
        flight_rides(match, request);
    } else if (bio) {
        bio->requested = true;
        flight_state(match, bio, FLIGHT_RIDER);
    } else if (request) {
        flight_move(match, request, event->sector);
        request->sector = event->sector;
    }
}

// The piece of a bio that f is has ended, and so f: with the last piece the bio.
void bio_end(struct block_match *match, struct flight *f, uint64_t ts) {
    struct flight *root = f->root ? &match->pool[f->root - 1] : f;
    if (f->root && f->error && !root->error)
        root->error = f->error;
    bool more = root->pieces && --root->pieces;
    if (f != root)
        flight_remove(match, f);
    if (more || (f != root && root->state != FLIGHT_ROOT)) {
        if (f == root)
            flight_state(match, root, FLIGHT_ROOT);
        return;
    }
    flight_tell(match, root, ts, root->requested ? BLOCK_IO_REST : BLOCK_IO_BIO);
    flight_remove(match, root);
}

void bio_data_end(struct block_match *match, struct flight *f, uint64_t ts) {
    if (!f->tail) {
        bio_end(match, f, ts);
        return;
    }
    f->issue_ns = ts;
    flight_state(match, f, FLIGHT_TAIL);
}

// The last completion of a flush sequence: of no length, at the sector where the data began, or ended.
void bio_sequence_end(struct block_match *match, const struct block_event *event) {
    for (uint32_t i = 0; match->by_state[FLIGHT_TAIL] && i < match->high; i++) {
        struct flight *f = &match->pool[i];
        bool there = f->sector == event->sector || f->sector + f->bio_sectors == event->sector;
        if (f->state == FLIGHT_TAIL && f->dev == event->dev && there) {
            bio_end(match, f, event->ts);
            return;
        }
    }
    struct flight *flush = flight_find(match, event, FLUSH_BIO, FLIGHT_BIO);
    if (!flush)
        return;
    flush->error = (int16_t)event->error;
    flush->requested = true;
    bio_end(match, flush, event->ts);
}

// Some drivers (brd) move the bio forward as they work: it ends with no length, at its end.
static struct flight *bio_ending_at(struct block_match *match, const struct block_event *event) {
    struct flight *best = NULL;
    for (uint32_t i = 0; i < match->high; i++) {
        struct flight *f = &match->pool[i];
        if (f->state == FLIGHT_BIO && f->dev == event->dev && f->sector + f->bio_sectors == event->sector &&
            (!best || f->bio_ns < best->bio_ns))
            best = f;
    }
    return best;
}

static void on_bio_complete(struct block_match *match, const struct block_event *event) {
    struct flight *f = flight_find(match, event, is_flush_bio(event) ? FLUSH_BIO : event->sector, FLIGHT_BIO);
    if (!event->sectors && !is_flush_bio(event))
        f = bio_ending_at(match, event);
    if (!f) {
        match->counts.unmatched_bios++;
        return;
    }
    if (event->error && !f->error)
        f->error = (int16_t)event->error;
    bio_end(match, f, event->ts);
}

// The bios that joined the request, one behind the other.
void bio_riders_end(struct block_match *match, const struct flight *f, uint64_t ts) {
    struct block_event at = {.ts = ts, .dev = f->dev, .sector = f->sector + (f->bio_ns ? f->bio_sectors : 0)};
    uint64_t end = f->sector + f->bytes / 512;
    while (at.sector < end && match->by_state[FLIGHT_RIDER]) {
        struct flight *rider = flight_find(match, &at, at.sector, FLIGHT_RIDER);
        if (!rider)
            break;
        at.sector += rider->bio_sectors;
        rider->error = f->error;
        bio_data_end(match, rider, ts);
    }
}

static void bio_take(struct block_match *match, const struct block_event *event) {
    if (event->kind == BLOCK_BIO_QUEUE)
        on_bio_queue(match, event);
    else if (event->kind == BLOCK_BIO_COMPLETE)
        on_bio_complete(match, event);
    else if (event->kind == BLOCK_REMAP)
        on_remap(match, event);
    else if (event->kind == BLOCK_SPLIT)
        on_split(match, event);
    else if (event->kind == BLOCK_BACKMERGE)
        on_back_merge(match, event);
    else if (event->kind == BLOCK_FRONTMERGE)
        on_front_merge(match, event);
}

void bio_event(struct block_match *match, const struct block_event *told) {
    uint32_t disk = disk_of(match, told->dev);
    if (disk == told->dev) {
        bio_take(match, told);
        return;
    }
    struct block_event event = *told;
    event.dev = disk;
    bio_take(match, &event);
}
