// Look-ups by other means than the sector (collectors/block/in_flight_tree.c), with many I/Os in flight.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>

#include "collectors/block/flight.h"
#include "tests/unit/forge_match.h"

#define DISK (253u << 20)

enum { MANY = 3000 };

// I/Os in any order, identified by their bio time.
struct many {
    struct block_match *match;
    uint64_t ts, arrived[MANY], wanted; // wanted: of the I/O that must complete now; 0: none
    uint32_t order[MANY], n_told;
    uint32_t dev;
};
static struct many many;

static void on_end(void *ctx, const struct block_io *io) {
    struct many *all = ctx;
    if (!io->bio_ns || io->kind == BLOCK_IO_REQUEUED)
        return;
    assert_true(all->wanted && io->bio_ns == all->wanted);
    assert_int_equal(io->end_ns, all->ts);
    all->wanted = 0;
    all->n_told++;
}

static uint64_t take(enum block_kind kind, const char *rwbs, uint64_t sector, uint32_t sectors) {
    struct block_event event = forge_block(kind, ++many.ts, rwbs, sector, sectors);
    event.dev = many.dev;
    block_match_event(many.match, &event);
    return many.ts;
}

static void shuffle(void) {
    for (uint32_t i = 0; i < MANY; i++)
        many.order[i] = i;
    for (uint32_t i = MANY - 1; i; i--) {
        uint32_t other = (uint32_t)rand() % (i + 1), keep = many.order[i];
        many.order[i] = many.order[other];
        many.order[other] = keep;
    }
}

static int many_begin(void **state) {
    (void)state;
    memset(&many, 0, sizeof(many));
    many.match = block_match_new(4 * MANY, on_end, &many);
    many.dev = DISK;
    many.ts = 1000;
    srand(5);
    shuffle();
    return 0;
}

static int many_end(void **state) {
    (void)state;
    block_match_free(many.match);
    return 0;
}

// All completed, table empty.
static void check_many(void) {
    assert_int_equal(many.n_told, MANY);
    assert_int_equal(many.match->used, 0);
    assert_int_equal(many.match->tree, 0);
    assert_int_equal(many.match->counts.unmatched_bios + many.match->counts.unmatched_completions, 0);
}

// Adjacent I/Os without gaps.
static uint64_t sector_of(uint32_t i) {
    return 256ull * i;
}

// dm trims in any order, the first before the disk is known to trim.
static void trims(void **state) {
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        many.arrived[many.order[i]] = take(BLOCK_BIO_QUEUE, "W", sector_of(many.order[i]), 256);
    for (uint32_t part = 1; part < 4; part++) {
        shuffle();
        for (uint32_t i = 0; i < MANY; i++)
            take(BLOCK_SPLIT, "W", sector_of(many.order[i]) + 64ull * part, 0);
    }
    shuffle();
    for (uint32_t i = 0; i < MANY; i++) {
        many.wanted = many.arrived[many.order[i]];
        take(BLOCK_BIO_COMPLETE, "W", sector_of(many.order[i]) + 192, 64);
        assert_int_equal(many.wanted, 0);
    }
    check_many();
}

// md splits: only the last completion is traced, or each one.
static void splits(void **state) {
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        many.arrived[i] = take(BLOCK_BIO_QUEUE, "W", sector_of(i), 256);
        for (uint32_t part = 0; part < 3; part++)
            take(BLOCK_SPLIT, "W", sector_of(i) + 64ull * part, 64);
    }
    for (uint32_t at = 0; at < MANY; at++) {
        uint32_t i = many.order[at];
        for (uint32_t part = 0; part < 3 && i % 2; part++)
            take(BLOCK_BIO_COMPLETE, "W", sector_of(i) + 64ull * (i % 3 ? part : 2 - part), 64);
        many.wanted = many.arrived[i];
        take(BLOCK_BIO_COMPLETE, "W", sector_of(i) + 192, 64);
        assert_int_equal(many.wanted, 0);
    }
    check_many();
}

// brd completes at the end sector: neighbours, and one sector twice, older first.
static void moved_bios(void **state) {
    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        many.arrived[i] = take(BLOCK_BIO_QUEUE, "R", sector_of(i / 2), 256);
    for (uint32_t at = 0, twice[MANY] = {0}; at < MANY; at++) {
        uint32_t pair = many.order[at] / 2;
        many.wanted = many.arrived[2 * pair + twice[pair]++];
        take(BLOCK_BIO_COMPLETE, "R", sector_of(pair + 1), 0);
        assert_int_equal(many.wanted, 0);
    }
    check_many();
}

// The last completion of a sequence is at the first sector of the data, or behind the last.
static void flush_sequences(void **state) {
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        many.arrived[i] = take(BLOCK_BIO_QUEUE, "FWS", 2 * sector_of(i), 256);
        take(BLOCK_ISSUE, "WS", 2 * sector_of(i), 256);
        take(BLOCK_COMPLETE, "WS", 2 * sector_of(i), 256);
    }
    for (uint32_t at = 0; at < MANY; at++) {
        uint32_t i = many.order[at];
        many.wanted = many.arrived[i];
        take(BLOCK_COMPLETE, "WS", 2 * sector_of(i) + (i % 2 ? 256 : 0), 0);
        assert_int_equal(many.wanted, 0);
    }
    check_many();
}

static void check_appends(uint32_t zones) {
    for (uint32_t i = 0; i < MANY; i++) {
        many.arrived[i] = take(BLOCK_BIO_QUEUE, "ZA", (uint64_t)(i % zones) << 19, 8);
        take(BLOCK_ISSUE, "ZA", (uint64_t)(i % zones) << 19, 8);
    }
    for (uint32_t at = 0, ended[64] = {0}; at < MANY; at++) {
        uint32_t zone = many.order[at] % zones, nth = ended[zone]++;
        many.wanted = many.arrived[nth * zones + zone];
        take(BLOCK_COMPLETE, "ZA", ((uint64_t)zone << 19) + 8 + 8 * nth, 8);
        assert_int_equal(many.wanted, 0);
    }
    check_many();
}

// A zone append completes in its zone, whatever is in flight in others.
static void appends_to_zones(void **state) {
    (void)state;
    check_appends(60);
}
static void appends_to_one_zone(void **state) {
    (void)state;
    check_appends(1);
}

// Passthrough commands have no sector and complete in issue order; so do flushes and operations on one zone. On many
// devices at once, some without a traced completion.
static void no_sectors(void **state) {
    (void)state;
    enum { DEPTH = 300, DISKS = 4 };
    uint64_t ts = 10, issued[DISKS] = {0}, ended[DISKS] = {0};
    struct block_match *any = block_match_new(4096, on_done, &done);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t disk = (uint32_t)rand() % DISKS;
        bool issue = issued[disk] == ended[disk] || (issued[disk] - ended[disk] < DEPTH && rand() % 2);
        const char *word = disk ? "N" : "FF";
        struct block_event event = forge_block(issue ? BLOCK_ISSUE : BLOCK_COMPLETE, ++ts, word, 0, 0);
        event.dev = DISK + disk;
        event.bytes = (uint32_t)(issued[disk] % 65536 + 1);
        event.sector = issue ? 0 : BLOCK_NO_SECTOR;
        done.n = 0;
        block_match_event(any, &event);
        assert_int_equal(done.n, !issue);
        if (!issue)
            assert_int_equal(done.io[0].bytes, ended[disk]++ % 65536 + 1);
        issued[disk] += issue;
    }
    for (uint32_t disk = 0; disk < DISKS; disk++) {
        assert_int_equal(busy_of(any, DISK + disk)->no_sector, issued[disk] - ended[disk]);
        block_match_drop(any, DISK + disk, UINT64_MAX);
        assert_int_equal(busy_of(any, DISK + disk)->no_sector, 0);
    }
    assert_int_equal(any->used, 0);
    assert_int_equal(any->tree, 0);
    assert_int_equal(block_match_counts(any)->abandoned, 0);
    block_match_free(any);
}

// A disk without requests: zone operations beside bios that complete at their end sector.
static void zones_without_requests(void **state) {
    (void)state;
    at(BLOCK_BIO_QUEUE, 10, "NS", 8192, 0);
    at(BLOCK_BIO_QUEUE, 11, "NS", 0, 0);
    at(BLOCK_BIO_QUEUE, 12, "NS", 8192, 0);
    at(BLOCK_BIO_QUEUE, 13, "WS", 8184, 8);
    static const uint64_t sectors[] = {0, 8192, 8192}, begin[] = {11, 10, 12};
    for (uint64_t i = 0; i < 3; i++) {
        at(BLOCK_BIO_COMPLETE, 20 + i, "NS", sectors[i], 0);
        assert_int_equal(done.n, i + 1);
        assert_int_equal(done.io[i].bio_ns, begin[i]);
    }
    at(BLOCK_BIO_COMPLETE, 30, "WS", 8192, 0);
    assert_int_equal(done.io[3].bio_ns, 13);
    assert_int_equal(match->used, 0);
}

// The first piece of a bio is dropped: the flight that reuses its slot is no first piece.
static void dropped_first_piece(void **state) {
    (void)state;
    at(BLOCK_BIO_QUEUE, 10, "R", 0, 16);
    at(BLOCK_SPLIT, 11, "R", 0, 8);
    at(BLOCK_ISSUE, 12, "R", 0, 8);
    at(BLOCK_ISSUE, 13, "R", 8, 8);
    block_match_lost(match, 20); // the first one completes
    at(BLOCK_ISSUE, 30, "R", 0, 8);
    at(BLOCK_COMPLETE, 31, "R", 0, 8);
    assert_int_equal(done.n, 1);
    at(BLOCK_BIO_QUEUE, 40, "W", 1000, 16);
    at(BLOCK_BIO_QUEUE, 41, "W", 2000, 16);
    at(BLOCK_SPLIT, 42, "W", 1000, 8);
    at(BLOCK_SPLIT, 43, "W", 2000, 8);
    at(BLOCK_COMPLETE, 50, "R", 8, 8);
    assert_int_equal(done.n, 2);
    assert_int_equal(done.io[1].kind, BLOCK_IO_REQUEST);
    for (uint64_t i = 0; i < 2; i++) {
        at(BLOCK_BIO_COMPLETE, 60 + 10 * i, "W", 1000 * (i + 1), 8);
        assert_int_equal(done.n, 2 + i);
        at(BLOCK_BIO_COMPLETE, 61 + 10 * i, "W", 1000 * (i + 1) + 8, 8);
        assert_int_equal(done.n, 3 + i);
        assert_int_equal(done.io[2 + i].bio_ns, 40 + i);
        assert_int_equal(done.io[2 + i].end_ns, 61 + 10 * i);
    }
    assert_int_equal(match->used, 0);
}

// A split write with preflush: each piece is a sequence with its own end, at the same sector.
static void sequences_of_pieces(void **state) {
    (void)state;
    at(BLOCK_BIO_QUEUE, 10, "FWFS", 0, 16);
    at(BLOCK_SPLIT, 11, "FWFS", 0, 8);
    for (uint64_t i = 0; i < 2; i++) {
        at(BLOCK_ISSUE, 12 + i, "WS", 8 * i, 8);
        at(BLOCK_COMPLETE, 20 + i, "WS", 8 * i, 8);
    }
    at(BLOCK_COMPLETE, 30, "WS", 8, 0);
    assert_int_equal(done.n, 2);
    at(BLOCK_COMPLETE, 40, "WS", 8, 0);
    assert_int_equal(done.n, 3);
    assert_int_equal(done.io[2].bio_ns, 10);
    assert_int_equal(done.io[2].end_ns, 40);
    assert_int_equal(match->used, 0);
    assert_int_equal(match->tree, 0);
}

// Bios in flight when the disk first completes one at its end sector, and later ones.
static void first_moved_bio_of_a_disk(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 10; i++)
        at(BLOCK_BIO_QUEUE, 10 + i, i % 2 ? "R" : "D", 100 * i, 8);
    for (uint64_t i = 0; i < 10; i++) {
        at(BLOCK_BIO_COMPLETE, 30 + i, i % 2 ? "R" : "D", 100 * i + 8, 0);
        assert_int_equal(done.n, i + 1);
        assert_int_equal(done.io[i].bio_ns, 10 + i);
    }
    at(BLOCK_BIO_QUEUE, 50, "D", 100, 8);
    at(BLOCK_BIO_COMPLETE, 60, "D", 108, 0);
    assert_int_equal(done.n, 11);
    assert_int_equal(match->tree, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(trims, many_begin, many_end),
        cmocka_unit_test_setup_teardown(splits, many_begin, many_end),
        cmocka_unit_test_setup_teardown(moved_bios, many_begin, many_end),
        cmocka_unit_test_setup_teardown(flush_sequences, many_begin, many_end),
        cmocka_unit_test_setup_teardown(appends_to_zones, many_begin, many_end),
        cmocka_unit_test_setup_teardown(appends_to_one_zone, many_begin, many_end),
        cmocka_unit_test_setup_teardown(no_sectors, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zones_without_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dropped_first_piece, set_up, tear_down),
        cmocka_unit_test_setup_teardown(sequences_of_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(first_moved_bio_of_a_disk, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
