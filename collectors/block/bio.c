// Bios: what the application waits for, from the arrival of a bio to its end. A bio becomes a request, joins one, is
// split into pieces, is told twice when it comes from a partition, or ends without any request (zram, md, dm, brd).
#include <errno.h>

#include "collectors/block/flight.h"

// It wants the disk's cache to be flushed before it, or after it.
static void flush_asked(struct block_match *match, const struct flight *f) {
    struct flush_submitter *flush_submitter = flush_submitter_of(match, f->io.dev);
    if (!flush_submitter)
        return;
    *flush_submitter = (struct flush_submitter){.cgroup = f->io.cgroup, .tid = f->io.tid, .known = true, .own = f->own};
    memcpy(flush_submitter->comm, f->io.comm, BLOCK_COMM);
}

// Its arrival was told already, when it was sent on, or before a control group made it wait: then by the submitter, now
// perhaps by a kernel worker.
static bool bio_known(struct block_match *match, const struct block_event *event) {
    struct flight *f = chain_first(match, event->dev, event->sector);
    while (f && !(f->remapped && f->bio_sectors == event->sectors && flight_fits(f, event, event->sector, FLIGHT_BIO)))
        f = chain_next(match, f);
    if (!f)
        return false;
    f->remapped = f->sent = false; // a bio that is told again is not the one that was sent on
    f->io.arrival_ns = event->ts;  // until somebody tells of its request
    match->n_remapped--;
    if (f->io.tid == event->tid)
        flight_by(match, f, event);
    if (f->postflush)
        flush_asked(match, f);
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
    // A write that flushes first, or is forced through, may be a sequence of requests with an end of its own.
    f->postflush = !flush && f->io.op == BLOCK_WRITE && (f->io.rwbs[0] == 'F' || f->io.bio_key >> 3 & BLOCK_FUA);
    if (match->n_remapped || f->io.op == BLOCK_DISCARD || key >= NO_SECTOR_KEYS)
        flight_tree_update(match, f);
    return f;
}

static void on_bio_queue(struct block_match *match, const struct block_event *event) {
    bool flush = is_flush_bio(event), zone = !event->sectors && block_no_letter(event->rwbs);
    if (!event->sectors && !flush && !zone)
        return;
    if (match->n_remapped && event->sectors && bio_known(match, event))
        return;
    uint64_t key = flush ? FLUSH_BIO : zone ? ZONE_BIO : event->sector;
    if (!event->sectors)
        limit_no_sector(match, event, key, FLIGHT_BIO);
    struct flight *f = bio_add(match, event, key);
    if (!f)
        return;
    flight_by(match, f, event);
    if (flush || f->postflush)
        flush_asked(match, f);
}

// Does not tell the name: the queue event does, or a look at the thread.
void bio_of_partition(struct block_match *match, const struct block_event *event) {
    struct flight *f = bio_add(match, event, event->sector);
    if (!f)
        return;
    f->io.tid = event->tid;
    f->own = is_own(match, event->tid);
    f->remapped = true;
    match->n_remapped++;
}

static bool trimmed(const struct flight *f, const struct block_event *event) {
    return f->state == FLIGHT_BIO && f->key < event->sector && event->sector - f->key < f->bio_sectors;
}

// dm, since 5.18, has sent the first part on already, and tells where the rest begins: what is left of the bio, and
// ends it, for the first part is nobody's bio.
static void on_trim(struct block_match *match, const struct block_event *event) {
    disk_tree_all(match, event->dev);
    struct flight *f = tree_around(match, TREE_BIO, event, trimmed);
    if (!f)
        return;
    f->bio_sectors -= (uint32_t)(event->sector - f->key);
    flight_move(match, f, event->sector);
}

static bool splits(const struct flight *f, const struct block_event *event) {
    return f->bio_sectors > event->sectors;
}

static void on_split(struct block_match *match, const struct block_event *event) {
    if (!event->sectors) {
        on_trim(match, event);
        return;
    }
    struct flight *best = chain_oldest(match, event, splits);
    if (!best)
        return;
    bool again = best->split && !(best->split & SPLIT_PARENT);
    uint32_t root = again ? best->split : (uint32_t)(best - match->pool) + 1;
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
    piece.remapped = piece.sent = piece.in_tree = false; // the first one is
    *f = piece;
    flight_state(match, f, FLIGHT_BIO);
    best->bio_sectors = event->sectors;
    piece_add(match, root, f);
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

// A piece of a bio failed, which is not its first one: so does the bio, not the request of the first piece.
static void piece_failed(struct block_match *match, struct flight *first, int16_t error) {
    bool request = first->state == FLIGHT_QUEUED || first->state == FLIGHT_ISSUED;
    if (!request && !first->io.error)
        first->io.error = error;
    if (request && error == -EAGAIN)
        first->io.bio_ns = 0; // nobody waits for this bio
    else if (request)
        sent_failed(match, first, error);
}

// The piece of a bio that f is has ended, and so f: with the last piece the bio.
void bio_end(struct block_match *match, struct flight *f, uint64_t ts) {
    bool piece = f->split && !(f->split & SPLIT_PARENT);
    struct flight *root = piece ? &match->pool[f->split - 1] : f;
    if (piece && f->io.error)
        piece_failed(match, root, f->io.error);
    bool more = flight_piece_done(root);
    if (f != root)
        flight_remove(match, f);
    if (more || (f != root && root->state != FLIGHT_SPLIT_PARENT)) {
        if (f == root)
            flight_state(match, root, FLIGHT_SPLIT_PARENT);
        return;
    }
    // That it would have had to wait was more than its submitter (io_uring) wanted: it comes again, as another bio.
    if (root->io.error != -EAGAIN)
        flight_tell(match, root, ts, root->requested ? BLOCK_IO_REST : BLOCK_IO_BIO);
    sent_end(match, root, ts);
    flight_remove(match, root);
}

// A bio that was cut into a chain: of some devices only the end of its last piece is told, and it is when all others
// have ended.
static void bio_chain_end(struct block_match *match, struct flight *f, uint64_t ts) {
    struct flight *root = f->split & SPLIT_PARENT ? f : &match->pool[f->split - 1], *next;
    for (const struct flight *piece = piece_next(match, root); piece; piece = piece_next(match, piece))
        if (piece->state == FLIGHT_BIO && piece->key > f->key) // mostly the newest is
            return;
    for (struct flight *piece = piece_next(match, root); piece; piece = next) {
        next = piece_next(match, piece);
        if (piece != f && piece->state == FLIGHT_BIO)
            bio_end(match, piece, ts);
    }
    if (root != f && root->state == FLIGHT_BIO)
        bio_end(match, root, ts);
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

// A first piece that has ended is still in the order.
static bool follows(const struct flight *f, const struct block_event *event) {
    bool there = f->io.sector == event->sector || f->io.sector + f->bio_sectors == event->sector;
    return f->state == FLIGHT_POSTFLUSH && there;
}

// The last completion of a flush sequence: of no length, at the sector where the data began, or ended.
void bio_sequence_end(struct block_match *match, const struct block_event *event) {
    struct flight *f = tree_around(match, TREE_POSTFLUSH, event, follows);
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

static bool ends_there(const struct flight *f, const struct block_event *event) {
    return f->state == FLIGHT_BIO && f->key + f->bio_sectors == event->sector;
}

static struct flight *bio_of_no_length(struct block_match *match, const struct block_event *event) {
    struct flight *zone = block_no_letter(event->rwbs) ? tree_oldest(match, event, ZONE_BIO, is_of_zone) : NULL;
    if (zone)
        return zone;
    disk_tree_all(match, event->dev); // some drivers (brd) move it forward as they work
    return tree_around(match, TREE_BIO, event, ends_there);
}

static void on_bio_complete(struct block_match *match, const struct block_event *event) {
    struct flight *f;
    if (event->sectors || is_flush_bio(event))
        f = flight_find_any(match, event, event->sectors ? event->sector : FLUSH_BIO, FLIGHT_BIO);
    else
        f = bio_of_no_length(match, event);
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

// NVMe takes up to 256 discards in one request. Which bios joined it nobody tells, only how long they are together: of
// those that came after its first one, those of the same thread (which held them back to send them together), and only
// then, with an I/O scheduler, those of others; the ones that came first.
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

// The bios that joined the request, one behind the other.
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

static void bio_take(struct block_match *match, const struct block_event *event) {
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

void bio_event(struct block_match *match, const struct block_event *told) {
    if (told->kind == BLOCK_REMAP && match->n_heads)
        path_learn(match, told);
    uint32_t disk = disk_of(match, told->dev);
    if (disk == told->dev) {
        bio_take(match, told);
        return;
    }
    struct block_event event = *told;
    event.dev = disk;
    bio_take(match, &event);
}
