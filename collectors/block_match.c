// Requests, from arrival to completion. The table of what is in flight is block_flight.h's, what concerns bios is
// block_bio.c's. Nothing is allocated while events come; block_match_tidy makes room between drains.
#include "collectors/block_match.h"

#include <stdlib.h>

#include "collectors/block_flight.h"
#include "model/mem.h"

struct block_match *block_match_new(uint32_t capacity, block_done_fn done, void *ctx) {
    struct block_match *match = xcalloc(1, sizeof(*match));
    match->capacity = 64;
    while (match->capacity < capacity)
        match->capacity *= 2;
    match->pool = xcalloc(match->capacity, sizeof(*match->pool));
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
    free(match->index);
    free(match);
}

struct flight *flight_best(struct block_match *match, struct flight *f, struct flight *best,
                           const struct block_event *event, uint64_t key) {
    for (; f; f = chain_next(match, f))
        if (flight_fits(f, event, key, best->state) && flight_better(f, best, event))
            best = f;
    return best;
}

static void on_writeback(struct block_match *match, const struct block_event *event) {
    struct writer *writer = (struct writer *)writer_find(match, event->tid);
    if (event->kind == BLOCK_WB_END) {
        if (writer)
            *writer = match->writers[--match->n_writers];
        return;
    }
    if (!writer && match->n_writers < WRITERS)
        writer = &match->writers[match->n_writers++];
    if (writer)
        *writer = (struct writer){.tid = event->tid, .cgroup = event->cgroup};
}

static void on_arrival(struct block_match *match, const struct block_event *event) {
    // An empty flush arrives like a write of no sectors; what is issued for it is a flush request of the kernel's own.
    if (!event->sectors)
        return;
    struct flight *f = event->kind == BLOCK_INSERT ? flight_find(match, event, event->sector, FLIGHT_QUEUED) : NULL;
    // An insert follows its arrival, or puts a requeued request back: it is known already.
    if (f)
        return;
    f = match->by_state[FLIGHT_BIO] ? flight_find(match, event, event->sector, FLIGHT_BIO) : NULL;
    if (!f) {
        f = flight_add(match, event->dev, event->sector);
        if (!f)
            return;
        f->sector = event->sector;
        flight_by(match, f, event);
    }
    flight_state(match, f, FLIGHT_QUEUED);
    f->requested = true;
    f->arrival_ns = f->bio_ns ? f->bio_ns : event->ts; // one meaning on every disk, with a scheduler or without
}

static void on_issue(struct block_match *match, const struct block_event *event) {
    uint64_t key = event_key(event);
    match->counts.issued++;
    struct flight *f = match->by_state[FLIGHT_QUEUED] ? flight_find(match, event, key, FLIGHT_QUEUED) : NULL;
    struct flight *old = match->any_suspect ? flight_find(match, event, key, FLIGHT_ISSUED) : NULL;
    if (old && old->suspect) {
        flight_remove(match, old);
        match->counts.abandoned++;
    }
    if (!f && key == event->sector && match->by_state[FLIGHT_BIO]) { // kernels that do not tell of the request
        f = flight_find(match, event, key, FLIGHT_BIO);
        if (f && !f->arrival_ns)
            f->arrival_ns = f->bio_ns;
    }
    if (!f) {
        if (key != event->sector)
            limit_no_sector(match, event, key, FLIGHT_ISSUED);
        else
            match->counts.unannounced++;
        f = flight_add(match, event->dev, key);
        if (!f)
            return;
        f->sector = key == event->sector ? event->sector : BLOCK_NO_SECTOR;
        flight_by(match, f, event);
    }
    flight_state(match, f, FLIGHT_ISSUED);
    if (key == event->sector) // the ends of flushes are not always told
        busy_begin(match, f);
    f->issue_ns = event->ts;
    f->suspect = event->ts <= match->lost_ts; // read after the gap was seen, yet from before its end
    f->op = event->op;
    f->requested = true;
    f->left = event->sectors;
    if (!f->requeues || !f->bytes)
        f->bytes = event->bytes;
    f->key_of = rwbs_take(match, f, event, f->op);
}

static void on_requeue(struct block_match *match, const struct block_event *event) {
    match->counts.requeues++;
    struct flight *f = flight_find(match, event, event_key(event), FLIGHT_ISSUED);
    if (!f) // refused before it was issued: it still waits
        f = flight_find(match, event, event_key(event), FLIGHT_QUEUED);
    if (!f)
        return;
    f->requeues += f->requeues < UINT16_MAX;
    if (f->state == FLIGHT_ISSUED)
        flight_state(match, f, FLIGHT_QUEUED);
    struct block_io io = {.dev = f->dev, .op = f->op, .tid = f->tid, .end_ns = event->ts, .what = BLOCK_IO_REQUEUED};
    memcpy(io.comm, f->comm, BLOCK_COMM);
    match->done(match->ctx, &io);
}

static void on_merge(struct block_match *match, const struct block_event *event) {
    match->counts.merges++;
    struct flight *f = flight_find(match, event, event_key(event), FLIGHT_QUEUED);
    if (!f) // known by its bio alone
        f = flight_find(match, event, event->sector, FLIGHT_BIO);
    if (!f)
        return;
    f->requested = true;
    flight_rides(match, f);
}

void flight_tell(struct block_match *match, const struct flight *f, uint64_t ts, enum block_what what) {
    struct block_io io; // each member is set: zeroing it first would cost as much again
    bool request = what == BLOCK_IO_REQUEST;
    io.arrival_ns = what == BLOCK_IO_BIO ? 0 : f->arrival_ns;
    io.issue_ns = request ? f->issue_ns : f->bio_ns;
    io.end_ns = ts;
    io.bio_ns = request && (f->root || f->pieces || f->tail) ? 0 : f->bio_ns;
    io.cgroup = f->cgroup;
    io.sector = f->sector;
    io.dev = f->dev;
    io.bytes = request ? f->bytes : f->bio_bytes;
    io.tid = f->tid;
    io.error = f->error;
    io.op = f->op;
    io.key = what == BLOCK_IO_BIO ? f->bio_key : f->key_of;
    io.bio_key = f->bio_key;
    io.what = (uint8_t)what;
    io.sequence = f->sequence;
    io.requeues = f->requeues;
    memcpy(io.rwbs, f->rwbs, sizeof(io.rwbs));
    memcpy(io.comm, f->comm, BLOCK_COMM);
    io.comm[BLOCK_COMM] = 0;
    match->counts.bios += io.bio_ns != 0;
    if (f->own && what != BLOCK_IO_REST)
        match->counts.own++;
    if (!f->own)
        match->done(match->ctx, &io);
}

static void flight_done(struct block_match *match, struct flight *f, uint64_t ts) {
    match->counts.completed++;
    match->counts.errors += f->error != 0;
    flight_tell(match, f, ts, BLOCK_IO_REQUEST);
    if (match->by_state[FLIGHT_RIDER] && f->sector != BLOCK_NO_SECTOR)
        bio_riders_end(match, f, ts);
    if (f->bio_ns && (f->root || f->pieces || f->tail))
        bio_data_end(match, f, ts);
    else
        flight_remove(match, f);
}

static void on_complete(struct block_match *match, const struct block_event *event) {
    uint64_t key = event_key(event);
    struct flight *f = flight_find(match, event, key, FLIGHT_ISSUED);
    // A completion of no length of something that was issued with one is not its end.
    if (f && key == event->sector && !event->sectors && f->left && !event->error)
        f = NULL;
    if (!f) {
        if (!event->sectors && event->op != BLOCK_FLUSH && event->op != BLOCK_OTHER)
            match->counts.flush_ends++, bio_sequence_end(match, event);
        else
            match->counts.unmatched_completions++;
        return;
    }
    if (event->error && !f->error)
        f->error = (int16_t)event->error;
    if (key == event->sector && event->sectors < f->left && event->sectors) {
        match->counts.partial++;
        f->left -= event->sectors;
        flight_move(match, f, key + event->sectors);
        return;
    }
    flight_done(match, f, event->ts);
}

void block_match_event(struct block_match *match, const struct block_event *told) {
    match->counts.events++;
    if (told->ts > match->now)
        match->now = told->ts;
    switch ((enum block_kind)told->kind) {
    case BLOCK_START:
    case BLOCK_INSERT:
        on_arrival(match, told);
        break;
    case BLOCK_ISSUE:
        on_issue(match, told);
        break;
    case BLOCK_REQUEUE:
        on_requeue(match, told);
        break;
    case BLOCK_MERGE:
        on_merge(match, told);
        break;
    case BLOCK_ERROR:
        match->counts.errors_reported++;
        break;
    case BLOCK_COMPLETE:
        on_complete(match, told);
        break;
    case BLOCK_WB_BEGIN:
    case BLOCK_WB_END:
        on_writeback(match, told);
        break;
    default:
        bio_event(match, told);
        break;
    }
}

void block_match_own(struct block_match *match, const pid_t *tids, size_t n) {
    match->n_own = 0;
    match->own_bits = 0;
    for (size_t i = 0; i < n && i < OWN_MAX; i++) {
        match->own[match->n_own++] = tids[i];
        match->own_bits |= 1ull << (tids[i] & 63);
    }
}

void block_match_parts(struct block_match *match, const struct block_part *parts, size_t n) {
    memset(match->parts, 0, sizeof(match->parts));
    match->n_parts = 0;
    for (size_t at = 0; at < n && at < PARTS / 2; at++) {
        uint32_t i = (parts[at].dev * 0x9e3779b1u) >> 22;
        while (match->parts[i].dev)
            i = (i + 1) % PARTS;
        match->parts[i] = parts[at];
        match->n_parts++;
    }
}

// Gives up what is in flight; the pieces of a split bio stand alone without their first.
static void flight_give_up(struct block_match *match, struct flight *f) {
    uint32_t root = (uint32_t)(f - match->pool) + 1;
    for (uint32_t i = 0; f->pieces && i < match->high; i++)
        if (match->pool[i].state != FLIGHT_FREE && match->pool[i].root == root) {
            match->pool[i].root = 0;
            match->pool[i].bio_ns = match->pool[i].bio_ns && match->pool[i].requested ? 0 : match->pool[i].bio_ns;
        }
    if (f->root && match->pool[f->root - 1].pieces)
        match->pool[f->root - 1].pieces--;
    flight_remove(match, f);
}

void block_match_drop(struct block_match *match, uint32_t dev) {
    for (uint32_t i = 0; i < match->high; i++)
        if (match->pool[i].state != FLIGHT_FREE && match->pool[i].dev == dev) {
            flight_give_up(match, &match->pool[i]);
            match->counts.dropped++;
        }
}

void block_match_lost(struct block_match *match, uint64_t ts) {
    match->lost_ts = ts;
    match->any_suspect = true;
    match->n_writers = 0;
    for (uint32_t i = 0; i < 1 << BUSY_BITS; i++)
        match->busy[i].in_flight = 0;
    for (uint32_t i = 0; i < match->high; i++) {
        struct flight *f = &match->pool[i];
        f->busy = false; // its end may be lost
        f->suspect = true;
        // A bio that never ends would lend its age to the next one at its sector: its wait is left out instead.
        if (f->state > FLIGHT_ISSUED && f->state != FLIGHT_FREE)
            flight_give_up(match, f);
    }
}

static void match_grow(struct block_match *match) {
    uint32_t capacity = match->capacity * 2;
    match->pool = xrealloc(match->pool, capacity * sizeof(*match->pool));
    memset(match->pool + match->capacity, 0, match->capacity * sizeof(*match->pool));
    free(match->index);
    match->index = xcalloc((size_t)capacity * INDEX_ROOM, sizeof(*match->index));
    match->capacity = capacity;
    index_resize(match, match->mask + 1);
}

void block_match_tidy(struct block_match *match, uint64_t now) {
    for (uint32_t i = 0; i < match->high; i++) {
        struct flight *f = &match->pool[i];
        uint64_t since = f->issue_ns > f->arrival_ns ? f->issue_ns : f->arrival_ns;
        since = since > f->bio_ns ? since : f->bio_ns;
        if (f->state == FLIGHT_TAIL && f->issue_ns + TAIL_NS < now)
            bio_end(match, f, f->issue_ns);
        if (f->state == FLIGHT_FREE || since + OLD_NS > now)
            continue;
        if (f->state != FLIGHT_ISSUED) {
            flight_give_up(match, f);
        } else if (match->lost_ts >= since) {
            flight_remove(match, f);
            match->counts.abandoned++;
        } else {
            f->suspect = match->any_suspect = true; // a hung disk, or an end that nobody told
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
    if (!busy->dev)
        return BLOCK_NOT_KNOWN;
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
