// Requests, from arrival to completion. The table in flight is in flight.h, bios are in bio.c. Nothing is allocated per
// event; block_match_tidy grows the table between drains.
#include "collectors/block/match.h"

#include <stdlib.h>

#include "collectors/block/flight.h"
#include "model/mem.h"

#define HEALTHY_NS 20000000ull

struct block_match *block_match_new(uint32_t capacity, block_done_fn done, void *ctx) {
    struct block_match *match = xcalloc(1, sizeof(*match));
    match->capacity = 64;
    while (match->capacity < capacity)
        match->capacity *= 2;
    match->pool = xcalloc(match->capacity, sizeof(*match->pool));
    match->nodes = xcalloc(match->capacity, sizeof(*match->nodes)); // untouched pages cost nothing
    match->index = xcalloc((size_t)match->capacity * INDEX_ROOM, sizeof(*match->index));
    match->mask = INDEX_MIN < match->capacity * INDEX_ROOM ? INDEX_MIN - 1 : match->capacity * INDEX_ROOM - 1;
    match->done = done;
    match->ctx = ctx;
    return match;
}

void block_match_free(struct block_match *match) {
    if (!match)
        return;
    free(match->pool);
    free(match->nodes);
    free(match->index);
    free(match);
}

// Its other pieces are still to come, or become independent.
static void flight_give_up(struct block_match *match, struct flight *f) {
    if (f->split && !(f->split & SPLIT_PARENT))
        flight_piece_done(&match->pool[f->split - 1]);
    flight_remove(match, f);
}

struct flight *flight_best(struct block_match *match, struct flight *f, struct flight *best,
                           const struct block_event *event, uint64_t key) {
    for (; f; f = chain_next(match, f))
        if (flight_fits(f, event, key, best->state) && flight_better(f, best, event))
            best = f;
    return best;
}

struct flight *chain_oldest(const struct block_match *match, const struct block_event *event,
                            bool (*fits)(const struct flight *f, const struct block_event *event)) {
    struct flight *best = NULL;
    for (struct flight *f = chain_first(match, event->dev, event->sector); f; f = chain_next(match, f))
        if (flight_fits(f, event, event->sector, FLIGHT_BIO) && fits(f, event) &&
            (!best || f->io.bio_ns < best->io.bio_ns))
            best = f;
    return best;
}

uint8_t rwbs_copy(struct block_match *match, struct flight *f, const struct block_event *event) {
    const struct rwbs_entry *known = event->rwbs_size >= 8 ? rwbs_lookup(match, event->rwbs) : NULL;
    memset(f->io.rwbs, 0, sizeof(f->io.rwbs));
    if (known) {
        memcpy(f->io.rwbs, &known->letters, sizeof(known->letters));
        return known->key;
    }
    size_t n = strnlen(event->rwbs, event->rwbs_size < BLOCK_RWBS ? event->rwbs_size : BLOCK_RWBS - 1);
    memcpy(f->io.rwbs, event->rwbs, n);
    uint8_t op = (uint8_t)block_event_op(event), key = block_key_of(f->io.rwbs, op);
    if (block_is_n_or_z(f->io.rwbs)) { // the same name on every kernel
        memset(f->io.rwbs, 0, sizeof(f->io.rwbs));
        block_key_name(key, f->io.rwbs);
        return key;
    }
    bool flushes = f->io.rwbs[0] == 'F' || key >> 3 & BLOCK_FUA;
    if (flushes || op == BLOCK_OTHER || op == BLOCK_DISCARD || // these need the tree
        n > 7 || event->rwbs_size < 8)
        return key;
    struct rwbs_entry entry = {.mask = UINT64_MAX >> (56 - 8 * n), .key = key};
    memcpy(&entry.letters, f->io.rwbs, sizeof(entry.letters));
    *rwbs_place(match, f->io.rwbs) = entry;
    return key;
}

void limit_no_sector(struct block_match *match, const struct block_event *event, uint64_t key, uint8_t state) {
    const struct busy *busy = busy_of(match, event->dev);
    if (!busy || busy->no_sector < NO_SECTOR_MAX)
        return;
    struct flight *oldest = flight_find_any(match, event, key, state);
    if (!oldest)
        return;
    flight_remove(match, oldest);
    match->counts.abandoned++;
}

static void on_arrival(struct block_match *match, const struct block_event *event) {
    // An empty flush arrives like a write of no sectors; the kernel issues a flush request of its own for it.
    if (!event->sectors)
        return;
    struct flight *f = event->kind == BLOCK_INSERT ? flight_find(match, event, event->sector, FLIGHT_QUEUED) : NULL;
    // An insert follows the arrival, or a requeue: the request is known.
    if (f)
        return;
    f = match->by_state[FLIGHT_BIO] ? flight_find(match, event, event->sector, FLIGHT_BIO) : NULL;
    if (!f) {
        f = flight_add(match, event->dev, event->sector);
        if (!f)
            return;
        f->io.sector = event->sector;
        flight_set_submitter(match, f, event);
    }
    if (f->remapped) { // sent on without a queue event of its own (md before 5.14, multipath)
        f->remapped = false;
        match->n_remapped--;
    }
    flight_state(match, f, FLIGHT_QUEUED);
    if (f->in_tree)
        flight_tree_update(match, f);
    f->requested = true;
    f->io.arrival_ns = f->io.bio_ns ? f->io.bio_ns : event->ts; // the same meaning with and without an I/O scheduler
}

static void flush_attribute(struct block_match *match, struct flight *f) {
    const struct flush_submitter *flush_submitter = flush_submitter_of(match, f->io.dev);
    if (!flush_submitter || !flush_submitter->known)
        return;
    f->io.tid = flush_submitter->tid;
    f->io.cgroup = flush_submitter->cgroup;
    f->own = flush_submitter->own;
    memcpy(f->io.comm, flush_submitter->comm, BLOCK_COMM);
}

bool is_of_zone(const struct flight *f, const struct block_event *event) {
    // A passthrough command at sector 0 has no flags.
    return f->io.sector == event->sector && f->io.bio_key == block_key_of(event->rwbs, BLOCK_OTHER);
}

// A zone operation has no length: until its issue the request is found by the sector of the zone.
static __attribute__((noinline)) struct flight *zone_bio_issue(struct block_match *match,
                                                               const struct block_event *event, uint64_t key) {
    if (!match->by_state[FLIGHT_BIO])
        return NULL;
    struct flight *best = tree_oldest(match, event, ZONE_BIO, is_of_zone);
    if (!best)
        return NULL;
    limit_no_sector(match, event, key, FLIGHT_ISSUED);
    flight_move(match, best, key);
    best->io.arrival_ns = best->io.bio_ns;
    return best;
}

static void on_issue(struct block_match *match, const struct block_event *event) {
    if (!event->dev) // no disk: the SCSI layer's own commands, before 5.14
        return;
    uint64_t key = event_key(event);
    match->counts.issued++;
    struct flight *f = match->by_state[FLIGHT_QUEUED] ? flight_find_any(match, event, key, FLIGHT_QUEUED) : NULL;
    struct flight *old = match->any_suspect ? flight_find_any(match, event, key, FLIGHT_ISSUED) : NULL;
    if (old && old->suspect) {
        flight_give_up(match, old);
        match->counts.abandoned++;
    }
    if (!f && key == event->sector && match->by_state[FLIGHT_BIO]) { // the kernel did not trace the request's arrival
        f = flight_find(match, event, key, FLIGHT_BIO);
        if (f && !f->io.arrival_ns)
            f->io.arrival_ns = f->io.bio_ns;
    }
    if (!f && key == BLOCK_NO_SECTOR - BLOCK_OTHER)
        f = zone_bio_issue(match, event, key);
    if (!f) {
        if (key != event->sector)
            limit_no_sector(match, event, key, FLIGHT_ISSUED);
        else
            match->counts.unannounced++;
        f = flight_add(match, event->dev, key);
        if (!f)
            return;
        f->io.sector = key == event->sector ? event->sector : BLOCK_NO_SECTOR;
        flight_set_submitter(match, f, event);
        if (key == BLOCK_NO_SECTOR - BLOCK_FLUSH)
            flush_attribute(match, f);
    }
    flight_state(match, f, FLIGHT_ISSUED);
    if (key == event->sector) // flush completions are not always traced
        busy_begin(match, f);
    f->io.issue_ns = event->ts;
    f->suspect = event->ts <= match->lost_ts; // read after the gap was seen, but issued before it ended
    f->requested = true;
    f->left = event->sectors;
    f->maybe_append = key == event->sector && block_is_n_or_z(event->rwbs);
    if (!f->io.requeues || !f->io.bytes)
        f->io.bytes = event->bytes;
    bool only_fua = f->postflush && f->io.rwbs[0] != 'F'; // by its bio's rwbs
    f->io.key = rwbs_copy(match, f, event);
    f->io.op = block_key_op(f->io.key);
    if (only_fua && f->io.key >> 3 & BLOCK_FUA)
        f->postflush = false; // the disk handles FUA itself: no flush follows
    if (f->maybe_append || f->io.op == BLOCK_DISCARD || key != event->sector)
        flight_tree_update(match, f);
}

static void on_requeue(struct block_match *match, const struct block_event *event) {
    match->counts.requeues++;
    uint64_t key = event_key(event);
    struct flight *f = flight_find_any(match, event, key, FLIGHT_ISSUED);
    if (!f) // rejected before its issue: still queued
        f = flight_find_any(match, event, key, FLIGHT_QUEUED);
    if (!f && event->sectors) // the same, where arrivals are not traced
        f = flight_find_any(match, event, key, FLIGHT_BIO);
    struct block_io io = {.dev = event->dev,
                          .op = (uint8_t)block_event_op(event),
                          .tid = event->tid,
                          .end_ns = event->ts,
                          .kind = BLOCK_IO_REQUEUED};
    if (f) {
        f->io.requeues += f->io.requeues < UINT16_MAX;
        if (f->state == FLIGHT_ISSUED)
            flight_state(match, f, FLIGHT_QUEUED);
        io.op = f->io.op;
        io.tid = f->io.tid;
        memcpy(io.comm, f->io.comm, BLOCK_COMM);
    }
    if (event->dev) // no disk: the SCSI layer's own commands, before 5.14
        match->done(match->ctx, &io);
}

static void on_merge(struct block_match *match, const struct block_event *event) {
    match->counts.merges++;
    struct flight *f = flight_find_any(match, event, event_key(event), FLIGHT_QUEUED);
    if (!f) // known only by its bio
        f = flight_find(match, event, event->sector, FLIGHT_BIO);
    if (!f)
        return;
    f->requested = true;
    flight_is_merged(match, f);
}

void flight_report(struct block_match *match, const struct flight *f, uint64_t ts, enum block_io_kind kind) {
    struct block_io io = f->io;
    io.end_ns = ts;
    io.kind = (uint8_t)kind;
    io.issue_ns = f->io.bio_ns;
    io.bytes = f->bio_bytes;
    if (kind == BLOCK_IO_BIO) {
        io.arrival_ns = 0;
        io.key = f->io.bio_key;
    }
    io_report(match, &io, f->own);
}

static void flight_done(struct block_match *match, struct flight *f, uint64_t ts) {
    match->counts.completed++;
    match->counts.errors += f->io.error != 0;
    bool bio_lives_on = f->io.bio_ns && (f->split || f->postflush);
    if (bio_lives_on || f->clone) {
        struct block_io io = f->io;
        io.end_ns = ts;
        if (bio_lives_on)
            io.bio_ns = 0;
        io_report(match, &io, f->own);
    } else {
        f->io.end_ns = ts;
        io_report(match, &f->io, f->own);
    }
    if (f->io.sector != BLOCK_NO_SECTOR && (match->by_state[FLIGHT_MERGED] || f->io.op == BLOCK_DISCARD))
        merged_bios_end(match, f, ts);
    if (bio_lives_on) {
        bio_data_end(match, f, ts);
        return;
    }
    clone_end(match, f, ts);
    flight_remove(match, f);
}

// The request failed before its issue: the disk is offline or being removed. Its service time is unknown, so it is
// reported like a bio without a request, with its total time.
static __attribute__((noinline)) struct flight *flight_unissued(struct block_match *match,
                                                                const struct block_event *event, uint64_t key) {
    struct flight *f = NULL;
    if (key == BLOCK_NO_SECTOR - BLOCK_FLUSH) {
        f = flight_add(match, event->dev, key);
        if (!f)
            return NULL;
        f->io.sector = BLOCK_NO_SECTOR;
        flight_set_submitter(match, f, event);
        flush_attribute(match, f);
    } else if (key == event->sector && event->sectors) {
        f = flight_find(match, event, key, FLIGHT_QUEUED);
        if (!f)
            f = flight_find(match, event, key, FLIGHT_BIO);
    }
    if (!f || f->bio_sectors > event->sectors)
        return NULL;
    f->io.issue_ns = f->io.bio_ns ? f->io.bio_ns : f->io.arrival_ns ? f->io.arrival_ns : event->ts;
    f->io.arrival_ns = 0;
    f->io.bytes = event->bytes;
    f->io.key = rwbs_copy(match, f, event);
    f->io.op = block_key_op(f->io.key);
    f->io.kind = BLOCK_IO_BIO;
    f->requested = true;
    f->postflush = false; // the first flush of its sequence failed
    return f;
}

// This completion may belong to another request for the sector, whose issue was lost in the gap. It is accepted if the
// request outlived the gap so long that its reported latency is at most twice the true one. Until the gaps of all CPUs
// have ended, a latency within that of a healthy disk is accepted as well.
static bool is_past_gap(const struct block_match *match, const struct flight *f, uint64_t ts) {
    if (!f->suspect || f->io.issue_ns > match->lost_ts)
        return true;
    uint64_t took = ts - f->io.issue_ns;
    if (f->io.issue_ns > match->gap_from && took <= HEALTHY_NS)
        return true;
    return ts > match->lost_ts && took <= 2 * (ts - match->lost_ts);
}

static void on_complete(struct block_match *match, const struct block_event *event) {
    if (!event->dev)
        return;
    uint8_t op = (uint8_t)block_event_op(event);
    uint64_t key = event_key(event);
    struct flight *f = flight_find_any(match, event, key, FLIGHT_ISSUED);
    if (f && !is_past_gap(match, f, event->ts)) {
        flight_give_up(match, f);
        match->counts.unmatched_completions++;
        return;
    }
    // A zone append is issued at the start of the zone and completes where the data was written.
    if (!f && block_is_n_or_z(event->rwbs) && key == event->sector)
        f = tree_append(match, event);
    if (!f && event->error)
        f = flight_unissued(match, event, key);
    // A completion of length 0 does not complete a request that was issued with a length.
    if (f && key == event->sector && !event->sectors && f->left && !event->error) {
        if (event->old_dev) {
            match->counts.requeues++;
            path_failed(match, f);
            return;
        }
        f = NULL;
    }
    if (!f) {
        if (!event->sectors && op != BLOCK_FLUSH && op != BLOCK_OTHER)
            match->counts.flush_ends++, bio_sequence_end(match, event);
        else
            match->counts.unmatched_completions++;
        return;
    }
    if (event->error && !f->io.error)
        f->io.error = (int16_t)event->error;
    if (key == event->sector && event->sectors < f->left && event->sectors) {
        match->counts.partial++;
        f->left -= event->sectors;
        flight_move(match, f, key + event->sectors);
        return;
    }
    flight_done(match, f, event->ts);
}

// Maps a request of a path to its head; old_dev: the path.
static __attribute__((noinline)) const struct block_event *
path_event(const struct block_match *match, const struct block_event *traced, struct block_event *event) {
    *event = *traced;
    event->dev = disk_of(match, traced->dev);
    event->old_dev = event->dev != traced->dev ? traced->dev : 0;
    return event;
}

void block_match_event(struct block_match *match, const struct block_event *event) {
    struct block_event of_path;
    match->counts.events++;
    match->now = event->ts > match->now ? event->ts : match->now;
    if (__builtin_expect(match->n_paths, 0) && event->kind <= BLOCK_COMPLETE)
        event = path_event(match, event, &of_path);
    switch ((enum block_kind)event->kind) {
    case BLOCK_START:
    case BLOCK_INSERT:
        on_arrival(match, event);
        break;
    case BLOCK_ISSUE:
        on_issue(match, event);
        break;
    case BLOCK_REQUEUE:
        on_requeue(match, event);
        break;
    case BLOCK_MERGE:
        on_merge(match, event);
        break;
    case BLOCK_ERROR:
        match->counts.errors_reported++;
        break;
    case BLOCK_COMPLETE:
        on_complete(match, event);
        break;
    case BLOCK_WB_BEGIN:
    case BLOCK_WB_END:
    case BLOCK_THREAD:
        thread_event(match, event);
        break;
    default:
        bio_event(match, event);
        break;
    }
}

void block_match_own(struct block_match *match, const pid_t *tids, size_t n) {
    memset(match->own, 0, sizeof(match->own));
    for (size_t i = 0; i < n && i < OWN_MAX; i++) {
        uint32_t at = own_place(tids[i]);
        while (match->own[at])
            at = (at + 1) % OWN_PLACES;
        match->own[at] = tids[i];
    }
}

void block_match_parts(struct block_match *match, const struct block_part *parts, size_t n) {
    memset(match->parts, 0, sizeof(match->parts));
    match->n_parts = 0;
    for (size_t at = 0; at < n && at < PARTS / 2; at++)
        part_add(match, parts[at]);
    for (uint32_t i = 0; i < match->n_paths; i++)
        part_add(match, match->paths[i]);
}

// Time of its last traced event.
static uint64_t flight_latest(const struct flight *f) {
    uint64_t since = f->io.issue_ns > f->io.arrival_ns ? f->io.issue_ns : f->io.arrival_ns;
    return since > f->io.bio_ns ? since : f->io.bio_ns;
}

void block_match_drop(struct block_match *match, uint32_t dev, uint64_t before_ns) {
    for (uint32_t i = 0; i < match->high; i++)
        if (match->pool[i].state != FLIGHT_FREE && match->pool[i].io.dev == dev &&
            flight_latest(&match->pool[i]) < before_ns) {
            flight_give_up(match, &match->pool[i]);
            match->counts.dropped++;
        }
}

void block_match_lost(struct block_match *match, uint64_t ts) {
    match->lost_ts = ts > match->lost_ts ? ts : match->lost_ts;
    match->gap_from = match->now;
    match->any_suspect = true;
    match->n_writers = 0;
    for (uint32_t i = 0; i < 1 << BUSY_BITS; i++)
        match->busy[i].in_flight = 0;
    for (uint32_t i = 0; i < match->high; i++) {
        struct flight *f = &match->pool[i];
        f->busy = 0; // its completion may be lost
        f->suspect = true;
        // A bio whose completion was lost would pass its age to the next bio for the sector: drop its total time.
        if (f->state > FLIGHT_ISSUED && f->state != FLIGHT_FREE)
            flight_give_up(match, f);
    }
}

static void match_grow(struct block_match *match) {
    uint32_t capacity = match->capacity * 2;
    match->pool = xrealloc(match->pool, capacity * sizeof(*match->pool));
    memset(match->pool + match->capacity, 0, match->capacity * sizeof(*match->pool));
    match->nodes = xrealloc(match->nodes, capacity * sizeof(*match->nodes)); // initialized on use
    free(match->index);
    match->index = xcalloc((size_t)capacity * INDEX_ROOM, sizeof(*match->index));
    match->capacity = capacity;
    index_resize(match, match->mask + 1);
}

void block_match_tidy(struct block_match *match, uint64_t now) {
    for (uint32_t i = 0; i < match->high; i++) {
        struct flight *f = &match->pool[i];
        uint64_t since = flight_latest(f);
        if (f->state == FLIGHT_POSTFLUSH && f->io.issue_ns + POSTFLUSH_NS < now)
            bio_end(match, f, f->io.issue_ns);
        if (f->state == FLIGHT_FREE || since + OLD_NS > now)
            continue;
        if (f->state != FLIGHT_ISSUED) {
            flight_give_up(match, f);
        } else if (match->lost_ts >= since) {
            flight_give_up(match, f);
            match->counts.abandoned++;
        } else {
            f->suspect = match->any_suspect = true; // a hung disk, or a completion that was never traced
        }
    }
    if (match->used > match->capacity / 2 && match->capacity < 1u << 20)
        match_grow(match);
    if (match->mask + 1 > INDEX_MIN && match->used < (match->mask + 1) / (8 * INDEX_ROOM))
        index_resize(match, (match->mask + 1) / 2);
}

uint64_t block_match_busy(struct block_match *match, uint32_t dev, uint64_t until) {
    uint32_t at = dev * 0x9e3779b1u >> (32 - BUSY_BITS);
    while (match->busy[at].dev && match->busy[at].dev != dev)
        at = (at + 1) % (1 << BUSY_BITS);
    struct busy *busy = &match->busy[at];
    if (!busy->dev || !busy->since)
        return BLOCK_BUSY_UNKNOWN;
    uint64_t ns = busy->ns;
    busy->ns = 0;
    if (until > busy->since) {
        ns += busy->in_flight ? until - busy->since : 0;
        busy->since = until;
    }
    return ns;
}

const struct block_counts *block_match_counts(const struct block_match *match) {
    return &match->counts;
}

uint32_t block_match_in_flight(const struct block_match *match) {
    return match->by_state[FLIGHT_ISSUED];
}

uint32_t block_match_queued(const struct block_match *match) {
    return match->by_state[FLIGHT_QUEUED];
}
