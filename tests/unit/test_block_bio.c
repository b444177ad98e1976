// Bios: every rule of collectors/block/bio.c, on forged events.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/forge_match.h"

static void bio(uint64_t ts, const char *rwbs, uint64_t sector, uint32_t sectors) {
    at(BLOCK_BIO_QUEUE, ts, rwbs, sector, sectors);
}

static void a_bio_and_its_request(void **state) {
    (void)state;
    bio(50, "WS", 8, 8);
    bio(60, "WS", 8, 8); // the same sector again: the older completes first
    struct block_event start = forge_block(BLOCK_START, 1000, "WS", 8, 8);
    start.tid = 7; // a throttled bio, released by a kernel worker
    block_match_event(match, &start);
    at(BLOCK_ISSUE, 1010, "WS", 8, 8);
    at(BLOCK_COMPLETE, 1100, "WS", 8, 8);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].bio_ns, 50);
    assert_int_equal(done.io[0].arrival_ns, 50); // the same with and without BLOCK_START
    assert_int_equal(done.io[0].tid, 42);
    at(BLOCK_ISSUE, 1200, "WS", 8, 8); // a kernel without block_io_start
    at(BLOCK_COMPLETE, 1300, "WS", 8, 8);
    assert_int_equal(done.io[1].bio_ns, 60);
    assert_int_equal(done.io[1].arrival_ns, 60);
    assert_int_equal(counts()->bios, 2);
    assert_int_equal(counts()->unmatched_completions, 0);
}

static void a_device_without_requests(void **state) {
    (void)state;
    bio(10, "W", 8, 8);
    bio(20, "W", 8, 16);
    bio(30, "R", 80, 8);
    at(BLOCK_BIO_COMPLETE, 40, "W", 8, 16);
    at(BLOCK_BIO_COMPLETE, 50, "W", 8, 8);
    at(BLOCK_BIO_COMPLETE, 60, "R", 88, 0); // the driver advanced its sector
    at(BLOCK_BIO_COMPLETE, 70, "R", 800, 8);
    bio(80, "FWS", 0, 0);
    at(BLOCK_BIO_COMPLETE, 90, "FWS", 0, 0);
    assert_int_equal(done.n, 4);
    static const uint64_t begin[] = {20, 10, 30, 80}, end[] = {40, 50, 60, 90};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(done.io[i].kind, BLOCK_IO_BIO);
        assert_int_equal(done.io[i].bio_ns, begin[i]);
        assert_int_equal(done.io[i].issue_ns, begin[i]);
        assert_int_equal(done.io[i].end_ns, end[i]);
    }
    assert_int_equal(done.io[0].bytes, 8192);
    assert_int_equal(done.io[3].op, BLOCK_FLUSH);
    assert_int_equal(counts()->unmatched_bios, 1);
}

static void a_split_bio(void **state) {
    (void)state;
    bio(10, "R", 1000, 4096);
    at(BLOCK_SPLIT, 11, "R", 1000, 2032);
    at(BLOCK_START, 12, "R", 1000, 2032);
    at(BLOCK_SPLIT, 13, "R", 3032, 2032);
    at(BLOCK_START, 14, "R", 3032, 2032);
    at(BLOCK_START, 15, "R", 5064, 32);
    at(BLOCK_ISSUE, 20, "R", 1000, 2032);
    at(BLOCK_ISSUE, 21, "R", 3032, 2032);
    at(BLOCK_ISSUE, 22, "R", 5064, 32);
    at(BLOCK_COMPLETE, 30, "R", 1000, 2032);
    at(BLOCK_COMPLETE, 40, "R", 5064, 32);
    assert_int_equal(counts()->bios, 0);
    at(BLOCK_COMPLETE, 50, "R", 3032, 2032);
    assert_int_equal(done.n, 4); // three requests and the bio
    assert_int_equal(done.io[3].kind, BLOCK_IO_TOTAL_ONLY);
    assert_int_equal(done.io[3].bio_ns, 10);
    assert_int_equal(done.io[3].end_ns, 50);
    assert_int_equal(done.io[3].bytes, 4096 * 512);
    for (int i = 0; i < 3; i++)
        assert_int_equal(done.io[i].bio_ns, 0);
    assert_int_equal(counts()->bios, 1);
    block_match_tidy(match, 1000);
    for (uint32_t i = 0; i < 64; i++) // the table is empty again
        bio(100, "R", i * 8, 8);
    assert_int_equal(counts()->table_full, 0);
}

// A later piece fails while the first is in flight: the first one's request does not.
static void failed_piece(void **state) {
    (void)state;
    bio(10, "R", 0, 16);
    at(BLOCK_SPLIT, 11, "R", 0, 8);
    at(BLOCK_ISSUE, 20, "R", 0, 8);
    at(BLOCK_ISSUE, 21, "R", 8, 8);
    struct block_event end = forge_block(BLOCK_COMPLETE, 30, "R", 8, 8);
    end.error = -EIO;
    block_match_event(match, &end);
    at(BLOCK_COMPLETE, 40, "R", 0, 8);
    assert_int_equal(done.n, 3);
    assert_int_equal(done.io[0].error, -EIO);
    assert_int_equal(done.io[1].sector, 0);
    assert_int_equal(done.io[1].kind, BLOCK_IO_REQUEST);
    assert_int_equal(done.io[1].error, 0);
    assert_int_equal(done.io[2].kind, BLOCK_IO_TOTAL_ONLY);
    assert_int_equal(counts()->errors, 1);
}

// Queue time starts at the first bio, with and without BLOCK_START.
static void check_merging(bool starts) {
    bio(10, "W", 100, 8);
    if (starts)
        at(BLOCK_START, 11, "W", 100, 8);
    bio(20, "W", 108, 8);
    at(BLOCK_BACKMERGE, 21, "W", 108, 8);
    bio(30, "W", 92, 8);
    at(BLOCK_FRONTMERGE, 31, "W", 92, 8);
    bio(40, "W", 116, 8); // has a request of its own, merged later
    if (starts)
        at(BLOCK_START, 41, "W", 116, 8);
    at(BLOCK_MERGE, 42, "W", 116, 8);
    assert_int_equal(block_match_queued(match), 1);
    at(BLOCK_ISSUE, 50, "W", 92, 32);
    at(BLOCK_COMPLETE, 90, "W", 92, 32);
    assert_int_equal(done.n, 4);
    assert_int_equal(done.io[0].kind, BLOCK_IO_REQUEST);
    assert_int_equal(done.io[0].arrival_ns, 10);
    assert_int_equal(done.io[0].bytes, 32 * 512);
    static const uint64_t begin[] = {30, 10, 20, 40};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(done.io[i].bio_ns, begin[i]);
        assert_int_equal(done.io[i].end_ns, 90);
    }
    assert_int_equal(block_match_queued(match), 0);
    assert_int_equal(counts()->bios, 4);
    assert_int_equal(counts()->unannounced, 0);
}

static void merged_bios(void **state) {
    (void)state;
    check_merging(true);
}

static void merged_bios_without_start(void **state) {
    (void)state;
    check_merging(false);
}

// The arrival of the request's first bio was lost; the bio merged into it completes with the request.
static void front_merge_with_an_untraced_bio(void **state) {
    (void)state;
    bio(10, "W", 100, 8);
    at(BLOCK_FRONTMERGE, 31, "W", 92, 8);
    at(BLOCK_ISSUE, 50, "W", 92, 16);
    at(BLOCK_COMPLETE, 90, "W", 92, 16);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].bio_ns, 10);
    assert_int_equal(done.io[0].arrival_ns, 10);
    assert_int_equal(done.io[0].sector, 92);
    assert_int_equal(done.io[0].bytes, 16 * 512);
    assert_int_equal(counts()->unannounced, 0);
    at(BLOCK_ISSUE, 150, "R", 500, 8);
    assert_int_equal(counts()->unannounced, 1);
}

// rwbs as in a record: 10 bytes, garbage after the first NUL.
static void operation_and_flags(void **state) {
    (void)state;
    static const struct {
        const char *bytes, *text;
        uint8_t key;
    } words[] = {
        {"R\0WSM\xff\xff\xff\xff", "R", BLOCK_READ},
        {"R\0AAAAAAAA", "R", BLOCK_READ},
        {"RAS\0\0\0\0\0\0", "RAS", (BLOCK_AHEAD | BLOCK_SYNC) << 3 | BLOCK_READ},
        {"FWFASM\0\x80\x01", "FWFASM", (BLOCK_FUA | BLOCK_AHEAD | BLOCK_SYNC | BLOCK_META) << 3 | BLOCK_WRITE},
        {"FWFASMU\0M", "FWFASMU", (BLOCK_FUA | BLOCK_AHEAD | BLOCK_SYNC | BLOCK_META) << 3 | BLOCK_WRITE},
        {"WxxxxxxxM", "WxxxxxxxM", BLOCK_META << 3 | BLOCK_WRITE}, // longer than 8 bytes
        {"\0RRRRRRRR", "", BLOCK_OTHER},
    };
    for (size_t twice = 0; twice < 2; twice++) // the second time from the cache
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            struct block_event event = forge_block(BLOCK_BIO_QUEUE, 10, words[i].bytes, 8, 8);
            event.rwbs_size = 10;
            done.n = 0;
            block_match_event(match, &event);
            event.kind = BLOCK_BIO_COMPLETE;
            event.ts = 20;
            block_match_event(match, &event);
            assert_int_equal(done.n, 1);
            assert_string_equal(done.io[0].rwbs, words[i].text);
            assert_int_equal(done.io[0].key, words[i].key);
        }
}

// fsync: the flush of an empty bio, and a write with preflush and postflush.
static void flush_bios(void **state) {
    (void)state;
    bio(10, "FWS", 0, 0);
    at(BLOCK_START, 11, "FWS", 0, 0);
    at(BLOCK_ISSUE, 20, "FF", 0, 0);
    at(BLOCK_COMPLETE, 30, "FF", BLOCK_NO_SECTOR, 0);
    at(BLOCK_COMPLETE, 31, "WS", 0, 0);
    assert_int_equal(done.n, 2);
    assert_int_equal(done.io[1].kind, BLOCK_IO_TOTAL_ONLY);
    assert_int_equal(done.io[1].op, BLOCK_FLUSH);
    assert_int_equal(done.io[1].bio_ns, 10);
    assert_int_equal(done.io[1].end_ns, 31);
    bio(100, "FWFS", 64, 8);
    at(BLOCK_START, 101, "FWFS", 64, 8);
    at(BLOCK_ISSUE, 110, "FF", 0, 0);
    at(BLOCK_COMPLETE, 120, "FF", BLOCK_NO_SECTOR, 0);
    at(BLOCK_ISSUE, 130, "WS", 64, 8);
    at(BLOCK_COMPLETE, 140, "WS", 64, 8);
    assert_int_equal(done.n, 4);
    assert_int_equal(done.io[3].bio_ns, 0); // the request completed, the bio not yet
    at(BLOCK_ISSUE, 150, "FF", 0, 0);
    at(BLOCK_COMPLETE, 160, "FF", BLOCK_NO_SECTOR, 0);
    at(BLOCK_COMPLETE, 161, "WS", 64, 0);
    assert_int_equal(done.n, 6);
    assert_int_equal(done.io[5].bio_ns, 100);
    assert_int_equal(done.io[5].end_ns, 161);
    bio(200, "WFS", 64, 8); // a disk with FUA: no flush follows
    at(BLOCK_START, 201, "WFS", 64, 8);
    at(BLOCK_ISSUE, 210, "WFS", 64, 8);
    at(BLOCK_COMPLETE, 220, "WFS", 64, 8);
    assert_int_equal(done.n, 7);
    assert_int_equal(done.io[6].bio_ns, 200); // and it is reported at once
    assert_int_equal(done.io[6].end_ns, 220);
    bio(300, "FWFS", 64, 8); // the same with a preflush: the sequence ends right after it
    at(BLOCK_ISSUE, 310, "WFS", 64, 8);
    at(BLOCK_COMPLETE, 320, "WFS", 64, 8);
    at(BLOCK_COMPLETE, 321, "WFS", 72, 0);
    assert_int_equal(done.n, 9);
    assert_int_equal(done.io[7].bio_ns, 0);
    assert_int_equal(done.io[8].bio_ns, 300);
    bio(400, "WFS", 64, 8); // a sequence without a traced end
    at(BLOCK_ISSUE, 410, "WS", 64, 8);
    at(BLOCK_COMPLETE, 420, "WS", 64, 8);
    assert_int_equal(done.n, 10);
    block_match_tidy(match, 3000000000ull);
    assert_int_equal(done.n, 11);
    assert_int_equal(done.io[10].bio_ns, 400);
    assert_int_equal(done.io[10].end_ns, 420);
}

// REQ_NOWAIT bios that fail with EAGAIN: neither I/O nor error; they are sent again.
static void nowait_bios(void **state) {
    (void)state;
    bio(10, "R", 8, 8);
    struct block_event again = forge_block(BLOCK_BIO_COMPLETE, 12, "R", 8, 8);
    again.error = -EAGAIN;
    block_match_event(match, &again);
    bio(20, "R", 8, 8);
    at(BLOCK_ISSUE, 30, "R", 8, 8);
    at(BLOCK_COMPLETE, 40, "R", 8, 8);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].bio_ns, 20);
    assert_int_equal(done.io[0].error, 0);
    assert_int_equal(counts()->bios, 1);
    bio(50, "R", 8, 16); // its first piece is in flight and counts as I/O of the disk; the bio does not
    at(BLOCK_SPLIT, 51, "R", 8, 8);
    at(BLOCK_ISSUE, 52, "R", 8, 8);
    again.sector = 16;
    again.ts = 53;
    block_match_event(match, &again);
    at(BLOCK_COMPLETE, 60, "R", 8, 8);
    assert_int_equal(done.n, 2);
    assert_int_equal(done.io[1].kind, BLOCK_IO_REQUEST);
    assert_int_equal(done.io[1].error, 0);
    assert_int_equal(done.io[1].bio_ns, 0);
    for (uint64_t i = 0; i < 64; i++) // the table is empty again
        bio(100, "R", i * 8, 8);
    assert_int_equal(counts()->table_full, 0);
}

// A flush belongs to the last submitter of a flush, although a worker issues it.
static void flush_submitters(void **state) {
    (void)state;
    struct block_event issue = forge_block(BLOCK_ISSUE, 20, "FF", 0, 0);
    issue.tid = 7;
    issue.comm = "kworker/0:1H\0\0\0";
    block_match_event(match, &issue); // no known submitter
    at(BLOCK_COMPLETE, 30, "FF", BLOCK_NO_SECTOR, 0);
    assert_int_equal(done.io[0].tid, 7);
    bio(40, "FWS", 0, 0);
    issue.ts = 50;
    block_match_event(match, &issue);
    at(BLOCK_COMPLETE, 60, "FF", BLOCK_NO_SECTOR, 0);
    assert_int_equal(done.io[1].op, BLOCK_FLUSH);
    assert_int_equal(done.io[1].tid, 42);
    assert_memory_equal(done.io[1].comm, "fio", 4);
    struct block_event write = forge_block(BLOCK_BIO_QUEUE, 70, "FWFS", 64, 8);
    write.tid = 99;
    write.comm = "jbd2/vda1-8\0\0\0\0";
    block_match_event(match, &write);
    issue.ts = 80;
    block_match_event(match, &issue);
    at(BLOCK_COMPLETE, 90, "FF", BLOCK_NO_SECTOR, 0);
    assert_int_equal(done.io[2].tid, 99);
    assert_string_equal(done.io[2].comm, "jbd2/vda1-8");
    issue.ts = 100;
    issue.dev = 8 << 20; // another disk: no submitter
    block_match_event(match, &issue);
    issue = forge_block(BLOCK_COMPLETE, 110, "FF", BLOCK_NO_SECTOR, 0);
    issue.dev = 8 << 20;
    block_match_event(match, &issue);
    assert_int_equal(done.io[3].tid, 7);
}

// The same for a file system on a partition, whose bios are traced twice.
static void flush_submitters_on_a_partition(void **state) {
    (void)state;
    const struct block_part parts[] = {{.dev = (7 << 20) + 1, .disk = 7 << 20}};
    block_match_parts(match, parts, 1);
    struct block_event write = forge_block(BLOCK_REMAP, 10, "FWFS", 2112, 8);
    write.old_dev = parts[0].dev;
    write.old_sector = 64;
    write.tid = 99;
    write.comm = NULL;
    block_match_event(match, &write);
    write = forge_block(BLOCK_BIO_QUEUE, 11, "FWFS", 2112, 8);
    write.dev = parts[0].dev;
    write.tid = 99;
    write.comm = "jbd2/vda1-8\0\0\0\0";
    block_match_event(match, &write);
    struct block_event issue = forge_block(BLOCK_ISSUE, 20, "FF", 0, 0);
    issue.tid = 7;
    issue.comm = "kworker/0:1H\0\0\0";
    block_match_event(match, &issue);
    at(BLOCK_COMPLETE, 30, "FF", BLOCK_NO_SECTOR, 0);
    assert_int_equal(done.io[0].op, BLOCK_FLUSH);
    assert_int_equal(done.io[0].tid, 99);
    assert_string_equal(done.io[0].comm, "jbd2/vda1-8");
}

// Many disks with any dev_t: each flush belongs to the submitter on that disk.
static void flush_submitters_on_many_disks(void **state) {
    (void)state;
    enum { DISKS = 40 }; // some share a slot of the hash table
    uint64_t ts = 10;
    for (uint32_t i = 0; i < DISKS; i++, ts += 10) {
        struct block_event submitter = forge_block(BLOCK_BIO_QUEUE, ts, "FWS", 0, 0);
        submitter.dev = (i % 2 ? 7u : 254u) << 20 | i / 2;
        submitter.tid = (int32_t)(1000 + i);
        block_match_event(match, &submitter);
        assert_true(block_match_busy(match, submitter.dev, ts) == BLOCK_BUSY_UNKNOWN); // no request yet
    }
    for (uint32_t i = 0; i < DISKS; i++, ts += 10) {
        struct block_event issue = forge_block(BLOCK_ISSUE, ts, "FF", 0, 0);
        issue.dev = (i % 2 ? 7u : 254u) << 20 | i / 2;
        issue.tid = 7;
        block_match_event(match, &issue);
        struct block_event end = forge_block(BLOCK_COMPLETE, ts + 5, "FF", BLOCK_NO_SECTOR, 0);
        end.dev = issue.dev;
        block_match_event(match, &end);
        assert_int_equal(done.n, i % 8 + 1);
        assert_int_equal(done.io[i % 8].tid, 1000 + i);
        if (done.n == 8)
            done.n = 0;
    }
}

static void partitions_and_gone_disks(void **state) {
    (void)state;
    static const struct block_part parts[] = {{.dev = 7 << 20 | 1, .disk = 7 << 20}};
    block_match_parts(match, parts, 1);
    struct block_event event = forge_block(BLOCK_BIO_QUEUE, 10, "R", 2056, 8);
    event.dev = 7 << 20 | 1; // dev_t of the partition, sector of the disk
    block_match_event(match, &event);
    at(BLOCK_START, 11, "R", 2056, 8);
    at(BLOCK_ISSUE, 12, "R", 2056, 8);
    at(BLOCK_COMPLETE, 20, "R", 2056, 8);
    assert_int_equal(done.io[0].bio_ns, 10);
    event.kind = BLOCK_REMAP; // traced before throttling, and again when released
    event.ts = 21;
    event.old_dev = event.dev;
    event.comm = NULL;
    block_match_event(match, &event);
    struct block_event go = forge_block(BLOCK_BIO_QUEUE, 25, "R", 2056, 8);
    go.dev = event.dev;
    go.tid = 6;
    block_match_event(match, &go);
    at(BLOCK_START, 26, "R", 2056, 8);
    at(BLOCK_ISSUE, 27, "R", 2056, 8);
    at(BLOCK_COMPLETE, 28, "R", 2056, 8);
    assert_int_equal(done.n, 2);
    assert_int_equal(done.io[1].bio_ns, 21);
    assert_int_equal(done.io[1].tid, 42);
    done.n = 1;
    bio(30, "R", 8, 8);
    at(BLOCK_ISSUE, 31, "R", 16, 8);
    bio(32, "R", 100, 100);
    at(BLOCK_SPLIT, 33, "R", 100, 50);
    block_match_drop(match, 7 << 20, 32);
    assert_int_equal(counts()->dropped, 2); // those older than the removal
    block_match_drop(match, 7 << 20, 100);
    assert_int_equal(counts()->dropped, 4);
    assert_int_equal(block_match_in_flight(match), 0);
    at(BLOCK_BIO_COMPLETE, 40, "R", 8, 8);
    assert_int_equal(done.n, 1);
}

// Traced before and after cgroup throttling: the delay is not queue time.
static void a_throttled_partition(void **state) {
    (void)state;
    const struct block_part parts[] = {{.dev = (7 << 20) + 1, .disk = 7 << 20}};
    block_match_parts(match, parts, 1);
    struct block_event remap = forge_block(BLOCK_REMAP, 100, "R", 2056, 8);
    remap.old_dev = parts[0].dev;
    block_match_event(match, &remap);
    bio(5000, "R", 2056, 8);
    at(BLOCK_ISSUE, 5010, "R", 2056, 8);
    at(BLOCK_COMPLETE, 5100, "R", 2056, 8);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].bio_ns, 100);
    assert_int_equal(done.io[0].arrival_ns, 5000);
}

static void writeback_and_sequences(void **state) {
    (void)state;
    struct block_event begin = {.kind = BLOCK_WB_BEGIN, .tid = 5, .cgroup = 77};
    struct block_event write = forge_block(BLOCK_BIO_QUEUE, 10, "W", 8, 8);
    write.tid = 5;
    write.comm = "kworker/u8:1\0\0\0\0";
    block_match_event(match, &begin);
    block_match_event(match, &write);
    begin.kind = BLOCK_WB_END;
    block_match_event(match, &begin);
    write.sector = 16;
    block_match_event(match, &write);
    write.sector = 160;
    block_match_event(match, &write);
    at(BLOCK_BIO_COMPLETE, 20, "W", 8, 8);
    at(BLOCK_BIO_COMPLETE, 21, "W", 160, 8);
    at(BLOCK_BIO_COMPLETE, 22, "W", 16, 8);
    assert_string_equal(done.io[0].comm, "(writeback)");
    assert_int_equal(done.io[0].tid, 0);
    assert_int_equal(done.io[0].cgroup, 77);
    assert_int_equal(done.io[0].sequence, BLOCK_SEQUENCE_UNKNOWN);
    assert_int_equal(done.io[1].tid, 5);
    assert_int_equal(done.io[1].cgroup, 0);
    assert_int_equal(done.io[1].sequence, BLOCK_RANDOM);
    assert_int_equal(done.io[2].sequence, BLOCK_SEQUENTIAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_bio_and_its_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_device_without_requests, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_split_bio, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed_piece, set_up, tear_down),
        cmocka_unit_test_setup_teardown(merged_bios, set_up, tear_down),
        cmocka_unit_test_setup_teardown(merged_bios_without_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(front_merge_with_an_untraced_bio, set_up, tear_down),
        cmocka_unit_test_setup_teardown(operation_and_flags, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flush_bios, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nowait_bios, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flush_submitters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flush_submitters_on_a_partition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flush_submitters_on_many_disks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(partitions_and_gone_disks, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_throttled_partition, set_up, tear_down),
        cmocka_unit_test_setup_teardown(writeback_and_sequences, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
