// Bios: what the application waits for, from the arrival of a bio to its end. A bio becomes a request, joins one, is
// split into pieces, is told twice when it comes from a partition, or ends without any request (zram, md, dm, brd).
#include "collectors/block_flight.h"

// Its arrival was told already, before a control group made it wait: then by the submitter, now by a kernel worker.
static bool bio_known(struct block_match *match, const struct block_event *event) {
    struct flight *f = flight_find(match, event, event->sector, FLIGHT_BIO);
    if (!f || !f->remapped || f->bio_sectors != event->sectors)
        return false;
    f->remapped = false;
    f->io.arrival_ns = event->ts; // until somebody tells of its request
    match->n_remapped--;
    if (f->io.tid == event->tid)
        flight_by(match, f, event);
    return true;
}

// It wants the disk's cache to be flushed before it, or after it.
static void flush_asked(struct block_match *match, const struct flight *f) {
    struct asker *asker = asker_of(match, f->io.dev);
    if (!asker)
        return;
    *asker = (struct asker){.cgroup = f->io.cgroup, .tid = f->io.tid, .known = true, .own = f->own};
    memcpy(asker->comm, f->io.comm, BLOCK_COMM);
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
    f->io.bio_ns = event->ts;
    f->suspect = event->ts <= match->lost_ts;
    f->io.sector = flush ? BLOCK_NO_SECTOR : event->sector;
    f->bio_sectors = event->sectors;
    f->bio_bytes = event->sectors * 512;
    uint8_t bio_key = rwbs_take(match, f, event);
    f->io.op = flush ? BLOCK_FLUSH : block_key_op(bio_key);
    f->io.bio_key = (uint8_t)((bio_key & ~7u) | f->io.op);
    // A write that flushes first, or is forced through, may be a sequence of requests with an end of its own.
    f->tail = !flush && f->io.op == BLOCK_WRITE && (f->io.rwbs[0] == 'F' || f->io.bio_key >> 3 & BLOCK_FUA);
    if (event->kind == BLOCK_REMAP) { // does not tell the name: the queue event does, or a look at the thread
        f->io.tid = event->tid;
        f->own = is_own(match, event->tid);
        f->remapped = true;
        match->n_remapped++;
    } else {
        flight_by(match, f, event);
        if (flush || f->tail)
            flush_asked(match, f);
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
        if (f->key == event->sector && f->io.dev == event->dev && f->state == FLIGHT_BIO &&
            f->bio_sectors > event->sectors && (!best || f->io.bio_ns < best->io.bio_ns))
            best = f;
    }
    if (!best)
        return;
    bool again = best->split && !(best->split & SPLIT_FIRST);
    uint32_t root = again ? best->split : (uint32_t)(best - match->pool) + 1;
    f = flight_add(match, event->dev, event->sector + event->sectors);
    if (!f)
        return;
    struct flight piece = *best;
    piece.key = f->key;
    piece.next = f->next;
    piece.state = FLIGHT_FREE;
    piece.io.sector = f->key;
    piece.bio_sectors = best->bio_sectors - event->sectors;
    piece.split = root;
    *f = piece;
    flight_state(match, f, FLIGHT_BIO);
    best->bio_sectors = event->sectors;
    match->pool[root - 1].split = (match->pool[root - 1].split ? match->pool[root - 1].split : SPLIT_FIRST | 1) + 1;
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
        flight_rides(match, request);
    } else if (bio) {
        bio->requested = true;
        flight_state(match, bio, FLIGHT_RIDER);
    } else if (request) {
        flight_move(match, request, event->sector);
        request->io.sector = event->sector;
    }
}

bool flight_piece_done(struct flight *first) {
    if (!(first->split & SPLIT_FIRST))
        return false;
    first->split = first->split - 1 == SPLIT_FIRST ? 0 : first->split - 1;
    return first->split;
}

// The piece of a bio that f is has ended, and so f: with the last piece the bio.
void bio_end(struct block_match *match, struct flight *f, uint64_t ts) {
    bool piece = f->split && !(f->split & SPLIT_FIRST);
    struct flight *root = piece ? &match->pool[f->split - 1] : f;
    if (piece && f->io.error && !root->io.error)
        root->io.error = f->io.error;
    bool more = flight_piece_done(root);
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
    f->io.issue_ns = ts;
    flight_state(match, f, FLIGHT_TAIL);
}

// The last completion of a flush sequence: of no length, at the sector where the data began, or ended.
void bio_sequence_end(struct block_match *match, const struct block_event *event) {
    for (uint32_t i = 0; match->by_state[FLIGHT_TAIL] && i < match->high; i++) {
        struct flight *f = &match->pool[i];
        bool there = f->io.sector == event->sector || f->io.sector + f->bio_sectors == event->sector;
        if (f->state == FLIGHT_TAIL && f->io.dev == event->dev && there) {
            bio_end(match, f, event->ts);
            return;
        }
    }
    struct flight *flush = flight_find(match, event, FLUSH_BIO, FLIGHT_BIO);
    if (!flush)
        return;
    flush->io.error = (int16_t)event->error;
    flush->requested = true;
    bio_end(match, flush, event->ts);
}

// Some drivers (brd) move the bio forward as they work: it ends with no length, at its end.
static struct flight *bio_ending_at(struct block_match *match, const struct block_event *event) {
    struct flight *best = NULL;
    for (uint32_t i = 0; i < match->high; i++) {
        struct flight *f = &match->pool[i];
        if (f->state == FLIGHT_BIO && f->io.dev == event->dev && f->io.sector + f->bio_sectors == event->sector &&
            (!best || f->io.bio_ns < best->io.bio_ns))
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
    if (event->error && !f->io.error)
        f->io.error = (int16_t)event->error;
    bio_end(match, f, event->ts);
}

// The bios that joined the request, one behind the other.
void bio_riders_end(struct block_match *match, const struct flight *f, uint64_t ts) {
    struct block_event at = {
        .ts = ts, .rwbs = f->io.rwbs, .dev = f->io.dev, .sector = f->io.sector + (f->io.bio_ns ? f->bio_sectors : 0)};
    uint64_t end = f->io.sector + f->io.bytes / 512;
    while (at.sector < end && match->by_state[FLIGHT_RIDER]) {
        struct flight *rider = flight_find(match, &at, at.sector, FLIGHT_RIDER);
        if (!rider)
            break;
        at.sector += rider->bio_sectors;
        rider->io.error = f->io.error;
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
