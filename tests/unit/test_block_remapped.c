// Rare cases, with events as traced on 5.10, 6.1, 6.12 and 6.18: N and Z operations, failures before the issue, stacked
// disks, multipath, merged discards.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "collectors/block/flight.h"
#include "tests/unit/forge_match.h"

#define DISK (7u << 20)
#define LEFT (8u << 20)
#define RIGHT (8u << 20 | 16)
#define KWORKER "kworker/0:1H\0\0\0\0"

static void on(uint32_t dev, enum block_kind kind, uint64_t ts, const char *rwbs, uint64_t sector, uint32_t sectors) {
    struct block_event event = forge_block(kind, ts, rwbs, sector, sectors);
    event.dev = dev;
    if (kind == BLOCK_ISSUE || kind == BLOCK_COMPLETE) {
        event.tid = 5;
        event.comm = kind == BLOCK_ISSUE ? KWORKER : NULL;
    }
    block_match_event(match, &event);
}

static void remap(uint32_t dev, uint64_t ts, const char *rwbs, uint64_t sector, uint32_t sectors, uint32_t old_dev,
                  uint64_t old_sector) {
    struct block_event event = forge_block(BLOCK_REMAP, ts, rwbs, sector, sectors);
    event.dev = dev;
    event.old_dev = old_dev;
    event.old_sector = old_sector;
    event.comm = NULL;
    block_match_event(match, &event);
}

static void failed(uint32_t dev, uint64_t ts, const char *rwbs, uint64_t sector, uint32_t sectors) {
    struct block_event event = forge_block(BLOCK_COMPLETE, ts, rwbs, sector, sectors);
    event.dev = dev;
    event.tid = 5;
    event.error = -EIO;
    event.comm = NULL;
    block_match_event(match, &event);
}

// Nothing is issued or queued, and the table is empty.
static void check_empty(void) {
    assert_int_equal(block_match_in_flight(match), 0);
    assert_int_equal(block_match_queued(match), 0);
    assert_int_equal(counts()->unmatched_completions, 0);
    assert_int_equal(counts()->abandoned, 0);
    for (uint64_t i = 0; i < 64; i++)
        on(99 << 20, BLOCK_BIO_QUEUE, UINT64_MAX / 2, "R", i * 8, 8);
    assert_int_equal(counts()->table_full, 0);
}

static void check_io(size_t i, uint32_t dev, enum block_io_kind kind, enum block_op op, uint64_t bio_ns,
                     uint64_t end_ns, uint32_t bytes) {
    assert_true(i < done.n);
    const struct block_io *io = &done.io[i];
    assert_int_equal(io->dev, dev);
    assert_int_equal(io->kind, kind);
    assert_int_equal(io->op, op);
    assert_int_equal(io->bio_ns, bio_ns);
    assert_int_equal(io->end_ns, end_ns);
    assert_int_equal(io->bytes, bytes);
    assert_int_equal(io->tid, 42); // the submitter, not the issuing thread
    assert_string_equal(io->comm, "fio");
}

// Write zeroes is N on every kernel, WZ on 6.19: a write, with the bytes zeroed.
static void write_zeroes(void **state) {
    (void)state;
    static const char *const names[] = {"NS", "WZS"};
    for (uint64_t i = 0; i < 2; i++) {
        uint64_t at = i * 1000;
        on(DISK, BLOCK_BIO_QUEUE, at + 10, names[i], 128, 128);
        on(DISK, BLOCK_START, at + 11, names[i], 128, 128);
        on(DISK, BLOCK_INSERT, at + 12, names[i], 128, 128);
        assert_int_equal(block_match_queued(match), 1);
        on(DISK, BLOCK_ISSUE, at + 20, names[i], 128, 128);
        assert_int_equal(block_match_in_flight(match), 1);
        on(DISK, BLOCK_COMPLETE, at + 30, names[i], 128, 64); // SCSI disks may complete a part
        on(DISK, BLOCK_COMPLETE, at + 40, names[i], 192, 64);
        check_io(i, DISK, BLOCK_IO_REQUEST, BLOCK_WRITE, at + 10, at + 40, 65536);
        assert_int_equal(done.io[i].key, BLOCK_SYNC << 3 | BLOCK_WRITE);
    }
    assert_string_equal(done.io[0].rwbs, "WS");
    check_empty();
}

// Before 5.12, without a scheduler, only the bio's arrival is traced.
static void write_zeroes_without_start(void **state) {
    (void)state;
    on(DISK, BLOCK_BIO_QUEUE, 10, "NS", 128, 128);
    on(DISK, BLOCK_ISSUE, 20, "NS", 128, 128);
    on(DISK, BLOCK_COMPLETE, 30, "NS", 128, 128);
    check_io(0, DISK, BLOCK_IO_REQUEST, BLOCK_WRITE, 10, 30, 65536);
    check_empty();
}

// Zone operations have no length; passthrough commands beside them have no sector.
static void zones(void **state) {
    (void)state;
    static const char *const resets[] = {"NS", "ZRS", "ZRAS"};
    for (uint64_t i = 0; i < 3; i++) {
        done.n = 0;
        on(DISK, BLOCK_BIO_QUEUE, 10, resets[i], 8192, 0);
        on(DISK, BLOCK_BIO_QUEUE, 11, resets[i], 0, 0);
        on(DISK, BLOCK_START, 12, resets[i], 8192, 0);
        on(DISK, BLOCK_ISSUE, 19, resets[i], 8192, 0);
        on(DISK, BLOCK_ISSUE, 20, "N", 0, 0); // a passthrough command
        on(DISK, BLOCK_ISSUE, 21, resets[i], 0, 0);
        on(DISK, BLOCK_COMPLETE, 25, "N", BLOCK_NO_SECTOR, 1);
        on(DISK, BLOCK_COMPLETE, 30, resets[i], 0, 0);
        on(DISK, BLOCK_COMPLETE, 31, resets[i], 8192, 0);
        assert_int_equal(done.n, 3);
        assert_int_equal(done.io[0].tid, 5);
        check_io(1, DISK, BLOCK_IO_REQUEST, BLOCK_OTHER, 11, 30, 0);
        check_io(2, DISK, BLOCK_IO_REQUEST, BLOCK_OTHER, 10, 31, 0);
        assert_int_equal(done.io[1].key, BLOCK_SYNC << 3 | BLOCK_OTHER);
        assert_string_equal(done.io[1].rwbs, "NS");
    }
    check_empty();
}

// A zone append is issued at the start of the zone and completes where the data was written.
static void zone_appends(void **state) {
    (void)state;
    static const char *const names[] = {"N", "ZA"};
    for (uint64_t i = 0; i < 2; i++) {
        done.n = 0;
        for (uint64_t k = 0; k < 3; k++)
            on(DISK, BLOCK_BIO_QUEUE, 10 + k, names[i], 8192, 8);
        for (uint64_t k = 0; k < 3; k++)
            on(DISK, BLOCK_ISSUE, 20 + k, names[i], 8192, 8);
        on(DISK, BLOCK_COMPLETE, 30, names[i], 8208, 8);
        on(DISK, BLOCK_COMPLETE, 31, names[i], 8192, 8);
        on(DISK, BLOCK_COMPLETE, 32, names[i], 8200, 8);
        assert_int_equal(done.n, 3);
        for (uint64_t k = 0; k < 3; k++)
            check_io(k, DISK, BLOCK_IO_REQUEST, BLOCK_WRITE, 10 + k, 30 + k, 4096);
        assert_int_equal(done.io[0].key, BLOCK_WRITE); // the A is no flag
    }
    check_empty();
}

static void secure_erase(void **state) {
    (void)state;
    on(DISK, BLOCK_BIO_QUEUE, 10, "DES", 8192, 64);
    on(DISK, BLOCK_ISSUE, 20, "DES", 8192, 64);
    on(DISK, BLOCK_COMPLETE, 30, "DES", 8192, 64);
    check_io(0, DISK, BLOCK_IO_REQUEST, BLOCK_DISCARD, 10, 30, 32768);
    assert_int_equal(done.io[0].key, BLOCK_SYNC << 3 | BLOCK_DISCARD);
    check_empty();
}

// Offline disk: the requests complete without an issue.
static void failures_before_the_issue(void **state) {
    (void)state;
    on(DISK, BLOCK_BIO_QUEUE, 10, "R", 128, 8);
    on(DISK, BLOCK_INSERT, 11, "R", 128, 8);
    failed(DISK, 20, "R", 128, 8);
    check_io(0, DISK, BLOCK_IO_BIO, BLOCK_READ, 10, 20, 4096);
    assert_int_equal(done.io[0].error, -EIO);
    assert_int_equal(done.io[0].issue_ns, 10);  // no service time: the disk never had it
    on(DISK, BLOCK_BIO_QUEUE, 30, "W", 256, 8); // no scheduler, before 6.5, with a merged bio
    on(DISK, BLOCK_BIO_QUEUE, 31, "W", 264, 8);
    on(DISK, BLOCK_BACKMERGE, 32, "W", 264, 8);
    failed(DISK, 40, "W", 256, 16);
    check_io(1, DISK, BLOCK_IO_BIO, BLOCK_WRITE, 30, 40, 8192);
    check_io(2, DISK, BLOCK_IO_TOTAL_ONLY, BLOCK_WRITE, 31, 40, 4096);
    assert_int_equal(done.io[2].error, -EIO);
    on(DISK, BLOCK_BIO_QUEUE, 50, "FWS", 0, 0); // a flush fails twice: the request, and the sequence
    failed(DISK, 60, "FF", BLOCK_NO_SECTOR, 0);
    failed(DISK, 61, "WS", 0, 0);
    check_io(3, DISK, BLOCK_IO_BIO, BLOCK_FLUSH, 0, 60, 0);
    check_io(4, DISK, BLOCK_IO_TOTAL_ONLY, BLOCK_FLUSH, 50, 61, 0);
    assert_int_equal(done.n, 5);
    assert_int_equal(counts()->errors, 3);
    on(DISK, BLOCK_BIO_QUEUE, 62, "FWFS", 512, 8); // the preflush of a write fails: the write is never issued
    failed(DISK, 63, "FF", BLOCK_NO_SECTOR, 0);
    failed(DISK, 64, "WS", 512, 8);
    check_io(6, DISK, BLOCK_IO_BIO, BLOCK_WRITE, 62, 64, 4096);
    assert_int_equal(done.io[6].error, -EIO);
    assert_int_equal(done.n, 7);
    check_empty();
    failed(DISK, 70, "R", 4096, 8); // never traced before
    assert_int_equal(counts()->unmatched_completions, 1);
}

// Before 5.14 the SCSI layer's own commands have no disk.
static void commands_without_a_disk(void **state) {
    (void)state;
    on(0, BLOCK_ISSUE, 10, "N", 0, 0);
    on(0, BLOCK_COMPLETE, 20, "N", BLOCK_NO_SECTOR, 0);
    on(0, BLOCK_COMPLETE, 30, "N", BLOCK_NO_SECTOR, 0);
    assert_int_equal(done.n, 0);
    check_empty();
}

// dm splits a bio, and traces only the completion of the remainder: 5.10 traces the first part …
static void dm_split_before_5_18(void **state) {
    (void)state;
    on(DISK, BLOCK_BIO_QUEUE, 10, "WS", 0, 256);
    remap(LEFT, 11, "WS", 0, 128, DISK, 0);
    on(LEFT, BLOCK_BIO_QUEUE, 12, "WS", 0, 128);
    on(DISK, BLOCK_SPLIT, 13, "WS", 0, 128);
    remap(LEFT, 14, "WS", 128, 128, DISK, 128);
    on(LEFT, BLOCK_BIO_QUEUE, 15, "WS", 128, 128);
    on(LEFT, BLOCK_ISSUE, 20, "WS", 0, 128);
    on(LEFT, BLOCK_ISSUE, 21, "WS", 128, 128);
    on(LEFT, BLOCK_COMPLETE, 30, "WS", 0, 128);
    on(LEFT, BLOCK_COMPLETE, 40, "WS", 128, 128);
    on(DISK, BLOCK_BIO_COMPLETE, 41, "WS", 128, 128);
    assert_int_equal(done.n, 3);
    check_io(0, LEFT, BLOCK_IO_REQUEST, BLOCK_WRITE, 11, 30, 65536);
    check_io(1, LEFT, BLOCK_IO_REQUEST, BLOCK_WRITE, 14, 40, 65536);
    check_io(2, DISK, BLOCK_IO_BIO, BLOCK_WRITE, 10, 41, 131072);
    check_empty();
}

// … and since 5.18 the rest.
static void dm_split(void **state) {
    (void)state;
    on(DISK, BLOCK_BIO_QUEUE, 10, "WS", 0, 512);
    for (uint64_t part = 0; part < 4; part++) {
        remap(LEFT, 11 + part, "WS", part * 128, 128, DISK, part * 128);
        on(LEFT, BLOCK_BIO_QUEUE, 11 + part, "WS", part * 128, 128);
        if (part < 3)
            on(DISK, BLOCK_SPLIT, 11 + part, "WS", (part + 1) * 128, 0);
    }
    for (uint64_t part = 0; part < 4; part++)
        on(LEFT, BLOCK_ISSUE, 20, "WS", part * 128, 128);
    for (uint64_t part = 0; part < 4; part++)
        on(LEFT, BLOCK_COMPLETE, 30 + part, "WS", part * 128, 128);
    on(DISK, BLOCK_BIO_COMPLETE, 41, "WS", 384, 128);
    assert_int_equal(done.n, 5);
    check_io(4, DISK, BLOCK_IO_BIO, BLOCK_WRITE, 10, 41, 262144);
    check_empty();
}

// md since 5.14 traces each piece, the last one last.
static void md_split(void **state) {
    (void)state;
    on(DISK, BLOCK_BIO_QUEUE, 10, "WS", 0, 512);
    on(DISK, BLOCK_SPLIT, 11, "WS", 0, 128);
    on(DISK, BLOCK_SPLIT, 12, "WS", 128, 128);
    on(DISK, BLOCK_SPLIT, 13, "WS", 256, 128);
    on(DISK, BLOCK_BIO_COMPLETE, 30, "WS", 0, 128);
    on(DISK, BLOCK_BIO_COMPLETE, 31, "WS", 256, 128);
    on(DISK, BLOCK_BIO_COMPLETE, 32, "WS", 128, 128);
    assert_int_equal(done.n, 0);
    on(DISK, BLOCK_BIO_COMPLETE, 33, "WS", 384, 128);
    assert_int_equal(done.n, 1);
    check_io(0, DISK, BLOCK_IO_BIO, BLOCK_WRITE, 10, 33, 262144);
    check_empty();
}

// Before 5.14 md sends the bio itself on: neither its arrival below nor its completion is traced.
static void md_before_5_14(void **state) {
    (void)state;
    on(DISK, BLOCK_BIO_QUEUE, 10, "R", 0, 256);
    on(DISK, BLOCK_SPLIT, 11, "R", 0, 128);
    remap(LEFT, 12, "R", 0, 128, DISK, 0);
    on(LEFT, BLOCK_INSERT, 13, "R", 0, 128);
    remap(RIGHT, 14, "R", 0, 128, DISK, 128);
    on(LEFT, BLOCK_ISSUE, 20, "R", 0, 128);
    on(RIGHT, BLOCK_ISSUE, 21, "R", 0, 128);
    on(RIGHT, BLOCK_COMPLETE, 30, "R", 0, 128);
    failed(LEFT, 40, "R", 0, 128);
    assert_int_equal(done.n, 3);
    check_io(0, RIGHT, BLOCK_IO_REQUEST, BLOCK_READ, 14, 30, 65536);
    check_io(1, LEFT, BLOCK_IO_REQUEST, BLOCK_READ, 12, 40, 65536);
    check_io(2, DISK, BLOCK_IO_BIO, BLOCK_READ, 10, 40, 131072);
    assert_int_equal(done.io[2].error, -EIO);
    on(DISK, BLOCK_BIO_QUEUE, 50, "W", 8, 8); // the lower disk splits it
    remap(LEFT, 51, "W", 8, 8, DISK, 8);
    on(LEFT, BLOCK_SPLIT, 52, "W", 8, 4);
    on(LEFT, BLOCK_ISSUE, 60, "W", 8, 4);
    on(LEFT, BLOCK_ISSUE, 61, "W", 12, 4);
    on(LEFT, BLOCK_COMPLETE, 62, "W", 12, 4);
    on(LEFT, BLOCK_COMPLETE, 63, "W", 8, 4);
    assert_int_equal(done.n, 7);
    check_io(6, DISK, BLOCK_IO_BIO, BLOCK_WRITE, 50, 63, 4096);
    check_io(5, LEFT, BLOCK_IO_TOTAL_ONLY, BLOCK_WRITE, 51, 63, 4096);
    check_empty();
}

// LVM on a partition: sectors of the partition, then of the disk. A kernel worker submits the encrypted bio for the
// writer.
static void a_disk_on_a_partition(void **state) {
    (void)state;
    static const struct block_part parts[] = {{.dev = LEFT + 1, .disk = LEFT}};
    block_match_parts(match, parts, 1);
    on(DISK, BLOCK_BIO_QUEUE, 10, "W", 64, 8);
    remap(LEFT + 1, 11, "W", 100, 8, DISK, 64);
    remap(LEFT + 1, 12, "W", 2148, 8, LEFT + 1, 100);
    struct block_event queue = forge_block(BLOCK_BIO_QUEUE, 13, "W", 2148, 8);
    queue.dev = LEFT + 1;
    queue.tid = 5;
    queue.comm = KWORKER;
    block_match_event(match, &queue);
    on(LEFT, BLOCK_ISSUE, 20, "W", 2148, 8);
    on(LEFT, BLOCK_COMPLETE, 30, "W", 2148, 8);
    on(DISK, BLOCK_BIO_COMPLETE, 31, "W", 64, 8);
    assert_int_equal(done.n, 2);
    check_io(0, LEFT, BLOCK_IO_REQUEST, BLOCK_WRITE, 11, 30, 4096);
    check_io(1, DISK, BLOCK_IO_BIO, BLOCK_WRITE, 10, 31, 4096);
    check_empty();
}

// NVMe multipath: requests have the dev_t of hidden paths.
static void several_paths(void **state) {
    (void)state;
    static const uint32_t heads[] = {DISK};
    block_match_heads(match, heads, 1);
    block_match_parts(match, NULL, 0);
    on(DISK, BLOCK_BIO_QUEUE, 10, "R", 64, 8);
    remap(LEFT, 11, "R", 64, 8, DISK, 64);
    on(LEFT, BLOCK_START, 12, "R", 64, 8);
    on(LEFT, BLOCK_ISSUE, 13, "R", 64, 8);
    assert_int_equal(block_match_in_flight(match), 1);
    on(LEFT, BLOCK_COMPLETE, 20, "R", 64, 0); // the path fails: the bio goes to the other one
    assert_int_equal(block_match_in_flight(match), 0);
    remap(RIGHT, 30, "R", 64, 8, DISK, 64);
    on(RIGHT, BLOCK_START, 31, "R", 64, 8);
    on(RIGHT, BLOCK_ISSUE, 32, "R", 64, 8);
    on(RIGHT, BLOCK_BIO_COMPLETE, 40, "R", 64, 8);
    on(RIGHT, BLOCK_COMPLETE, 41, "R", 64, 8);
    assert_int_equal(done.n, 1);
    check_io(0, DISK, BLOCK_IO_REQUEST, BLOCK_READ, 10, 41, 4096);
    assert_int_equal(done.io[0].issue_ns, 32);
    assert_int_equal(done.io[0].requeues, 1);
    on(DISK, BLOCK_BIO_QUEUE, 50, "FWS", 0, 0); // a known path remains
    block_match_heads(match, heads, 1);
    block_match_parts(match, NULL, 0);
    on(RIGHT, BLOCK_ISSUE, 51, "FF", 0, 0);
    on(RIGHT, BLOCK_COMPLETE, 52, "FF", BLOCK_NO_SECTOR, 0);
    on(RIGHT, BLOCK_COMPLETE, 53, "WS", 0, 0);
    assert_int_equal(done.n, 3);
    check_io(1, DISK, BLOCK_IO_REQUEST, BLOCK_FLUSH, 0, 52, 0);
    check_io(2, DISK, BLOCK_IO_TOTAL_ONLY, BLOCK_FLUSH, 50, 53, 0);
    block_match_no_path(match, RIGHT); // another disk has this dev_t now
    block_match_parts(match, NULL, 0);
    on(RIGHT, BLOCK_BIO_QUEUE, 60, "R", 64, 8);
    on(RIGHT, BLOCK_ISSUE, 61, "R", 64, 8);
    on(RIGHT, BLOCK_COMPLETE, 62, "R", 64, 8);
    check_io(3, RIGHT, BLOCK_IO_REQUEST, BLOCK_READ, 60, 62, 4096);
    check_empty();
}

// Discards merged into a request are not traced: the oldest ones complete with it.
static void merged_discards(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 4; i++)
        on(DISK, BLOCK_BIO_QUEUE, 10 + i, "D", i * 1000, 64);
    on(DISK, BLOCK_ISSUE, 20, "D", 0, 192);
    on(DISK, BLOCK_COMPLETE, 30, "D", 0, 192);
    assert_int_equal(done.n, 3);
    check_io(0, DISK, BLOCK_IO_REQUEST, BLOCK_DISCARD, 10, 30, 98304);
    check_io(1, DISK, BLOCK_IO_TOTAL_ONLY, BLOCK_DISCARD, 11, 30, 32768);
    check_io(2, DISK, BLOCK_IO_TOTAL_ONLY, BLOCK_DISCARD, 12, 30, 32768);
    on(DISK, BLOCK_ISSUE, 40, "D", 3000, 64);
    on(DISK, BLOCK_COMPLETE, 50, "D", 3000, 64);
    check_io(3, DISK, BLOCK_IO_REQUEST, BLOCK_DISCARD, 13, 50, 32768);
    check_empty();
}

static void of_thread(int32_t tid, uint64_t ts, uint64_t sector, uint32_t sectors) {
    struct block_event event = forge_block(BLOCK_BIO_QUEUE, ts, "D", sector, sectors);
    event.dev = DISK;
    event.tid = tid;
    block_match_event(match, &event);
}

// A thread's plug merges its discards: other threads' in between, not yet issued, are requests of their own, and so is
// an older one of its own.
static void merged_discards_of_two_threads(void **state) {
    (void)state;
    of_thread(43, 5, 9000, 64);
    of_thread(42, 6, 8000, 64);
    for (uint64_t i = 0; i < 3; i++) {
        of_thread(42, 10 + 2 * i, i * 1000, 64);
        of_thread(43, 11 + 2 * i, 5000 + i * 1000, 64);
    }
    on(DISK, BLOCK_ISSUE, 20, "D", 0, 192);
    on(DISK, BLOCK_COMPLETE, 30, "D", 0, 192);
    assert_int_equal(done.n, 3);
    for (uint64_t i = 0; i < 3; i++)
        check_io(i, DISK, i ? BLOCK_IO_TOTAL_ONLY : BLOCK_IO_REQUEST, BLOCK_DISCARD, 10 + 2 * i, 30, i ? 32768 : 98304);
    on(DISK, BLOCK_ISSUE, 40, "D", 8000, 64);
    on(DISK, BLOCK_COMPLETE, 41, "D", 8000, 64);
    check_io(3, DISK, BLOCK_IO_REQUEST, BLOCK_DISCARD, 6, 41, 32768);
    on(DISK, BLOCK_ISSUE, 50, "D", 9000, 256);
    on(DISK, BLOCK_COMPLETE, 51, "D", 9000, 256);
    assert_int_equal(done.n, 8);
    for (size_t i = 4; i < 8; i++) {
        assert_int_equal(done.io[i].tid, 43);
        assert_int_equal(done.io[i].bio_ns, i == 4 ? 5 : 11 + 2 * (i - 5));
        assert_int_equal(done.io[i].end_ns, 51);
    }
    // With an I/O scheduler those of others merge as well.
    of_thread(42, 60, 0, 64);
    of_thread(43, 61, 1000, 64);
    on(DISK, BLOCK_ISSUE, 70, "D", 0, 128);
    on(DISK, BLOCK_COMPLETE, 80, "D", 0, 128);
    assert_int_equal(done.n, 10);
    assert_int_equal(done.io[9].tid, 43);
    check_empty();
}

static void count_only(void *ctx, const struct block_io *io) {
    *(uint64_t *)ctx += io->kind != BLOCK_IO_REQUEUED;
}

// Each piece is in the list of its first piece, which exists.
static void check_pieces(const struct block_match *any) {
    uint32_t pieces = 0, listed = 0;
    for (uint32_t i = 0; i < any->high; i++) {
        const struct flight *f = &any->pool[i];
        bool first = f->split & SPLIT_PARENT;
        if (f->state == FLIGHT_FREE)
            continue;
        pieces += f->split && !first;
        for (const struct flight *piece = first ? piece_next(any, f) : NULL; piece; piece = piece_next(any, piece)) {
            assert_int_equal(piece->split, i + 1);
            assert_int_not_equal(piece->state, FLIGHT_FREE);
            listed++;
        }
    }
    assert_int_equal(listed, pieces);
}

// Events of all kinds in orders that no kernel traces: no flight leaks, and dropping the disks empties the table.
static void any_order(void **state) {
    (void)state;
    static const char *const words[] = {"R", "WS", "FWFS", "FF", "FWS", "D", "N", "NS", "ZA", "ZRS", "WFS"};
    static const uint32_t disks[] = {DISK, LEFT, RIGHT, LEFT + 1};
    static const struct block_part parts[] = {{.dev = LEFT + 1, .disk = LEFT}};
    uint64_t reported = 0, seed = 1;
    struct block_match *any = block_match_new(4096, count_only, &reported);
    block_match_heads(any, disks, 1);
    block_match_parts(any, parts, 1);
    for (uint64_t ts = 1; ts <= 200000; ts++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t x = seed >> 20;
        struct block_event event =
            forge_block(x % BLOCK_KINDS, ts, words[x / 16 % 11], x / 256 % 16 * 4, x / 4096 % 4 * 4);
        event.dev = disks[x / 16384 % 4];
        event.old_dev = disks[x / 65536 % 4];
        event.old_sector = x / (1 << 18) % 16 * 4;
        event.error = x / (1 << 22) % 8 ? 0 : -EIO;
        event.tid = (int32_t)(x / (1 << 25) % 8);
        if (event.kind == BLOCK_COMPLETE && x / (1 << 28) % 4 == 0)
            event.sector = BLOCK_NO_SECTOR;
        block_match_event(any, &event);
        if (ts % 100 == 0)
            check_pieces(any);
        if (ts % 1000 == 0)
            block_match_tidy(any, ts * 100000);
    }
    assert_true(reported > 1000);
    for (size_t i = 0; i < 4; i++)
        block_match_drop(any, disks[i], UINT64_MAX);
    assert_int_equal(any->used, 0);
    assert_int_equal(any->tree, 0);
    for (int i = 0; i < 1 << BUSY_BITS; i++)
        any->n_remapped -= any->busy[i].in_tree != 0;
    assert_int_equal(any->n_remapped, 0);
    for (int i = FLIGHT_QUEUED; i < FLIGHT_STATES; i++)
        assert_int_equal(any->by_state[i], 0);
    block_match_free(any);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(write_zeroes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(write_zeroes_without_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zones, set_up, tear_down),
        cmocka_unit_test_setup_teardown(zone_appends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(secure_erase, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_before_the_issue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(commands_without_a_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dm_split_before_5_18, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dm_split, set_up, tear_down),
        cmocka_unit_test_setup_teardown(md_split, set_up, tear_down),
        cmocka_unit_test_setup_teardown(md_before_5_14, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_disk_on_a_partition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(several_paths, set_up, tear_down),
        cmocka_unit_test_setup_teardown(merged_discards, set_up, tear_down),
        cmocka_unit_test_setup_teardown(merged_discards_of_two_threads, set_up, tear_down),
        cmocka_unit_test(any_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
