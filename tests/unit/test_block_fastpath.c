// The fast path (collectors/block/fastpath.c) against the slow path, event by event: same reports, counts and flights.
// Forged records of every kind in any order, and captured ones.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "collectors/block/flight.h"
#include "tests/unit/forge_block.h"

enum { DONE_MAX = 64 }; // per event

struct side {
    struct block_match *match;
    struct block_io done[DONE_MAX];
    size_t n;
};

struct both {
    struct block_formats formats;
    struct side fast, slow;
    uint64_t events, done;
};

static void on_done(void *ctx, const struct block_io *io) {
    struct side *side = ctx;
    assert_true(side->n < DONE_MAX);
    side->done[side->n++] = *io;
}

static void both_open(struct both *both, uint32_t room) {
    memset(both, 0, sizeof(*both));
    forge_formats(&both->formats, BLOCK_DATA);
    both->fast.match = block_match_new(room, on_done, &both->fast);
    both->slow.match = block_match_new(room, on_done, &both->slow);
}

static void both_close(struct both *both) {
    assert_int_equal(both->slow.match->fast, 0);
    block_match_free(both->fast.match);
    block_match_free(both->slow.match);
}

static void same_flights(const struct both *both) {
    const struct block_match *a = both->fast.match, *b = both->slow.match;
    assert_int_equal(a->used, b->used);
    assert_int_equal(a->high, b->high);
    assert_int_equal(a->n_remapped, b->n_remapped);
    assert_memory_equal(&a->by_state[1], &b->by_state[1], sizeof(a->by_state) - sizeof(a->by_state[0]));
    for (uint32_t i = 0; i < a->high; i++) {
        assert_int_equal(a->pool[i].state, b->pool[i].state);
        if (a->pool[i].state != FLIGHT_FREE)
            assert_memory_equal(&a->pool[i], &b->pool[i], sizeof(a->pool[i]));
    }
}

// One record on both paths.
static void both_add(struct both *both, struct ring_page page) {
    struct block_event event;
    struct ring_page one = page, empty = {.ts = UINT64_MAX};
    struct ring_page *const pages[2] = {&one, &empty};
    one.end = one.next; // the last record
    bool ours = block_event_decode(&both->formats, page.ts, page.data, page.size, &event);
    if (ours)
        block_match_event(both->slow.match, &event);
    assert_int_equal(block_match_pages(both->fast.match, &both->formats, &TRACE_CLOCK_MONO, pages, UINT64_MAX), 1);
    assert_null(one.data);
    assert_int_equal(both->fast.n, both->slow.n);
    if (both->fast.n)
        assert_memory_equal(both->fast.done, both->slow.done, both->fast.n * sizeof(struct block_io));
    assert_memory_equal(block_match_counts(both->fast.match), block_match_counts(both->slow.match),
                        sizeof(struct block_counts));
    assert_true(both->fast.match->now == both->slow.match->now);
    both->events++;
    both->done += both->fast.n;
    both->fast.n = both->slow.n = 0;
    if (both->events % 64 == 0)
        same_flights(both);
}

// ---- forged records ----

static const char *const letters[] = {"R", "R", "R", "W", "WS", "RA", "WSM", "WFS", "FWFS", "FF", "D", "N", "RSMAFXYZ"};

static void put(uint8_t *record, const struct format_field *field, uint64_t value) {
    if (field->size)
        memcpy(record + field->offset, &value, field->size);
}

struct forged {
    uint8_t kind;
    uint32_t dev, sectors;
    uint64_t sector;
    int32_t tid, error;
    const char *rwbs, *comm;
};

static uint32_t any(uint32_t below) {
    return (uint32_t)rand() % below;
}

static void forged_add(struct both *both, uint64_t ts, const struct forged *rec) {
    const struct block_format *format = &both->formats.kinds[rec->kind];
    uint8_t record[128];
    for (size_t i = 0; i < sizeof(record); i++)
        record[i] = (uint8_t)rand(); // stale bytes of the ring
    memcpy(record, &format->id, 2);
    put(record, &format->tid, (uint32_t)rec->tid);
    put(record, &format->dev, rec->dev);
    put(record, &format->sector, rec->sector);
    put(record, &format->sectors, rec->kind == BLOCK_SPLIT ? rec->sector + rec->sectors : rec->sectors);
    put(record, &format->bytes, rec->sectors * 512);
    put(record, &format->error, (uint32_t)rec->error);
    put(record, &format->old_dev, rec->dev | 1);
    put(record, &format->cgroup, any(3));
    if (format->rwbs.size)
        snprintf((char *)record + format->rwbs.offset, format->rwbs.size, "%s", rec->rwbs);
    if (format->comm.size)
        snprintf((char *)record + format->comm.offset, BLOCK_COMM, "%s", rec->comm);
    uint32_t size = any(500) ? (format->end + 3) & ~3u : 8; // too short
    both_add(both,
             (struct ring_page){.data = record, .size = size, .ts = ts, .next = record + size, .end = record + size});
}

// Ordinary I/Os on few sectors: a sector is often in flight twice.
struct life {
    struct forged rec;
    int step;
};

static void life_new(struct life *life, uint32_t sectors) {
    life->step = 0;
    life->rec = (struct forged){.dev = (7u << 20) + 16 * any(2),
                                .sectors = 8 * (1 + any(3)),
                                .sector = 8ull * any(sectors),
                                .tid = (int32_t)(40 + any(4)),
                                .rwbs = letters[any(sizeof(letters) / sizeof(letters[0]))],
                                .comm = any(8) ? "fio" : "kworker/0:1"};
}

static void life_step(struct both *both, struct life *life, uint64_t ts, uint32_t sectors) {
    static const uint8_t steps[] = {BLOCK_BIO_QUEUE, BLOCK_START, BLOCK_INSERT, BLOCK_ISSUE, BLOCK_COMPLETE};
    struct forged rec = life->rec;
    rec.kind = steps[life->step];
    if (life->step == 0 && any(20) == 0)
        rec.dev |= 1; // on a partition
    if (life->step == 4) {
        rec.tid = 14;
        rec.error = any(40) ? 0 : -5;
        if (rec.sectors > 8 && any(10) == 0) { // a partial completion
            rec.sectors = 8;
            forged_add(both, ts, &rec);
            life->rec.sector += 8;
            life->rec.sectors -= 8;
            return;
        }
    }
    forged_add(both, ts, &rec);
    life->step += life->step == 0 && any(3) ? 3 : 1;
    if (life->step > 4)
        life_new(life, sectors);
}

// Any event at any time.
static void noise(struct both *both, const struct life *lives, uint64_t ts, uint32_t n) {
    struct forged rec = lives[any(n)].rec;
    rec.kind = (uint8_t)any(BLOCK_KINDS);
    if (any(3) == 0)
        rec.sector += rec.sectors;
    if (any(6) == 0)
        rec.sectors = any(2) ? 0 : 8;
    if (any(10) == 0)
        rec.sector = BLOCK_NO_SECTOR;
    rec.tid = any(4) ? rec.tid : 5;
    forged_add(both, ts, &rec);
}

static struct both both;

static void forged_by(uint32_t seed, uint32_t noise_one_in, uint32_t in_flight, uint32_t sectors) {
    struct life lives[512];
    uint64_t ts = 1000;
    srand(seed);
    static const pid_t own[] = {43};
    static const struct block_part parts[] = {{7u << 20 | 1, 7u << 20}, {7u << 20 | 17, 7u << 20 | 16}};
    for (int side = 0; side < 2; side++) {
        block_match_own((side ? &both.slow : &both.fast)->match, own, seed % 2);
        block_match_parts((side ? &both.slow : &both.fast)->match, parts, seed % 4 < 2 ? 2 : 0);
    }
    for (uint32_t i = 0; i < in_flight; i++)
        life_new(&lives[i], sectors);
    for (int i = 0; i < 20000; i++) {
        ts += any(2000);
        uint64_t at = any(300) ? ts : ts - any(3000); // late
        if (noise_one_in && any(noise_one_in) == 0)
            noise(&both, lives, at, in_flight);
        else
            life_step(&both, &lives[any(in_flight)], at, sectors);
        for (int side = 0; side < 2; side++) {
            struct block_match *match = (side ? &both.slow : &both.fast)->match;
            if (i % 5000 == 4000)
                block_match_lost(match, ts + 50000);
            if (i % 3000 == 2999)
                block_match_tidy(match, ts);
        }
        if (i % 1000 == 0)
            assert_true(block_match_busy(both.fast.match, 7 << 20, ts) ==
                        block_match_busy(both.slow.match, 7 << 20, ts));
    }
    same_flights(&both);
    assert_true(both.done > 1000);
    assert_true(noise_one_in || sectors < 1000 || both.fast.match->fast > both.events / 8);
    both_close(&both);
}

static void forged_records(void **state) {
    (void)state;
    for (uint32_t seed = 1; seed < 9; seed++) {
        both_open(&both, seed % 3 ? 1024 : 64);
        forged_by(seed, 0, 16, 4000); // mostly ordinary
        both_open(&both, seed % 3 ? 1024 : 64);
        forged_by(seed, 0, 16, 12); // few sectors, often repeated
        both_open(&both, seed % 3 ? 1024 : 64);
        forged_by(seed, 0, 300, 9000); // long chains
        both_open(&both, seed % 3 ? 1024 : 64);
        forged_by(seed, 10, 24, 100);
        both_open(&both, seed % 3 ? 1024 : 64);
        forged_by(seed, 2, 8, 16);
    }
}

// ktop has many threads with consecutive TIDs: I/O of other threads stays on the fast path.
static void other_threads(void **state) {
    (void)state;
    pid_t own[64];
    for (int i = 0; i < 64; i++)
        own[i] = 1000 + i;
    both_open(&both, 1024);
    block_match_own(both.fast.match, own, 64);
    block_match_own(both.slow.match, own, 64);
    uint64_t ts = 1000;
    for (int i = 0; i < 2000; i++) {
        struct forged rec = {
            .dev = 7u << 20, .sectors = 8, .sector = 8ull * (uint64_t)i, .tid = 500 + i, .rwbs = "R", .comm = "fio"};
        static const uint8_t steps[] = {BLOCK_BIO_QUEUE, BLOCK_ISSUE, BLOCK_COMPLETE};
        for (int step = 0; step < 3; step++) {
            rec.kind = steps[step];
            forged_add(&both, ts += 1000, &rec);
        }
    }
    assert_in_range(block_match_counts(both.fast.match)->own, 60, 64); // some records are too short
    assert_true(both.fast.match->fast > 9 * both.events / 10);
    both_close(&both);
}

// Pending remaps, and a disk whose bios complete at other sectors, do not slow down other I/O.
static void beside_remaps(void **state) {
    (void)state;
    static const struct block_part parts[] = {{7u << 20 | 1, 7u << 20}};
    both_open(&both, 1024);
    block_match_parts(both.fast.match, parts, 1);
    block_match_parts(both.slow.match, parts, 1);
    uint64_t ts = 1000;
    struct forged remapped = {.dev = 7u << 20, .sectors = 8, .sector = 4000, .tid = 500, .rwbs = "R", .comm = "fio"};
    for (int i = 0; i < 20; i++) { // some records are too short
        remapped.kind = BLOCK_REMAP;
        remapped.sector += 8;
        forged_add(&both, ts += 1000, &remapped);
        remapped.kind = BLOCK_BIO_COMPLETE;
        struct forged moved = remapped;
        moved.dev = 8u << 20;
        moved.sectors = 0;
        forged_add(&both, ts += 1000, &moved);
    }
    assert_true(both.fast.match->n_remapped > 10);
    uint64_t fast = both.fast.match->fast, events = both.events;
    for (uint32_t i = 0; i < 400; i++) {
        struct forged rec = {.dev = i % 100 ? 7u << 20 : 8u << 20,
                             .sectors = 8,
                             .sector = 8ull * i,
                             .tid = 501,
                             .rwbs = "R",
                             .comm = "fio"};
        static const uint8_t steps[] = {BLOCK_BIO_QUEUE, BLOCK_ISSUE, BLOCK_COMPLETE};
        for (int step = 0; step < 3; step++) {
            rec.kind = steps[step];
            forged_add(&both, ts += 1000, &rec);
        }
    }
    assert_true(both.fast.match->fast - fast > 9 * (both.events - events) / 10);
    both_close(&both);
}

static void other_formats(void **state) {
    (void)state;
    for (int without = 0; without < 4; without++) {
        both_open(&both, 1024);
        both.formats.kinds[BLOCK_ISSUE].bytes.size = without == 0 ? 0 : 4;
        both.formats.kinds[BLOCK_COMPLETE].error.size = without == 1 ? 0 : 4;
        both.formats.kinds[BLOCK_BIO_QUEUE].comm.size = without == 2 ? 0 : BLOCK_COMM;
        both.formats.kinds[BLOCK_ISSUE].rwbs.size = without == 3 ? 6 : 10;
        block_formats_index(&both.formats);
        forged_by(3, 0, 16, 900);
    }
}

// ---- captured records ----

static void on_raw(void *ctx, const struct ring_event *raw) {
    both_add(ctx, (struct ring_page){.data = raw->data,
                                     .size = raw->size,
                                     .ts = raw->ts,
                                     .next = raw->data + raw->size,
                                     .end = raw->data + raw->size});
}

static void on_raw_slow(void *ctx, const struct ring_event *raw) {
    struct both *both = ctx;
    struct block_event event;
    if (block_event_decode(&both->formats, raw->ts, raw->data, raw->size, &event))
        block_match_event(both->slow.match, &event);
}

static uint64_t on_pages(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct both *both = ctx;
    return block_match_pages(both->fast.match, &both->formats, &TRACE_CLOCK_MONO, pages, limit);
}

static void on_counted(void *ctx, const struct block_io *io) {
    uint64_t *sum = ctx;
    *sum = *sum * 31 + io->end_ns + io->bio_ns * 3 + io->issue_ns * 5 + io->sector + io->kind;
}

// Also as whole pages: later records do not change the result.
static void captured_records(void **state) {
    struct forge_source source;
    uint64_t sum[2] = {0};
    (void)state;
    both_open(&both, 1024);
    forge_load(&source, BLOCK_DATA, 2);
    struct ring *ring = forge_ring(&source);
    uint64_t events = ring_drain(ring, UINT64_MAX, on_raw, &both);
    assert_int_equal(events, both.events);
    assert_true(both.done > 100 && both.fast.match->fast > events / 8);
    same_flights(&both);
    ring_free(ring);
    both_close(&both);

    both_open(&both, 1024);
    both.fast.match->done = on_counted;
    both.fast.match->ctx = &sum[0];
    both.slow.match->done = on_counted;
    both.slow.match->ctx = &sum[1];
    for (int side = 0; side < 2; side++) {
        memset(source.at, 0, sizeof(source.at));
        ring = forge_ring(&source);
        if (side)
            ring_drain(ring, UINT64_MAX, on_raw_slow, &both);
        else
            ring_drain_pairs(ring, UINT64_MAX, on_pages, &both);
        ring_free(ring);
    }
    assert_true(sum[0] && sum[0] == sum[1]);
    same_flights(&both);
    both_close(&both);
    forge_unload(&source);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forged_records), cmocka_unit_test(other_threads),    cmocka_unit_test(beside_remaps),
        cmocka_unit_test(other_formats),  cmocka_unit_test(captured_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
