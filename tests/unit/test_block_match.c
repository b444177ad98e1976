// Requests: every rule of collectors/block/match.h, on forged events.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>

#include "tests/unit/forge_match.h"

static void a_whole_life(void **state) {
    (void)state;
    at(BLOCK_START, 100, "RA", 4096, 8);
    assert_int_equal(block_match_queued(match), 1);
    at(BLOCK_INSERT, 110, "RA", 4096, 8);
    assert_int_equal(block_match_queued(match), 1);
    struct block_event issue = forge_block(BLOCK_ISSUE, 150, "RA", 4096, 8);
    issue.tid = 99; // issued by a kworker
    issue.comm = "kworker/0:1H\0\0\0\0";
    block_match_event(match, &issue);
    assert_int_equal(block_match_in_flight(match), 1);
    assert_int_equal(block_match_queued(match), 0);
    at(BLOCK_COMPLETE, 400, "RA", 4096, 8);
    assert_int_equal(done.n, 1);
    const struct block_io *io = &done.io[0];
    assert_int_equal(io->arrival_ns, 100);
    assert_int_equal(io->issue_ns, 150);
    assert_int_equal(io->end_ns, 400);
    assert_int_equal(io->sector, 4096);
    assert_int_equal(io->bytes, 4096);
    assert_int_equal(io->tid, 42); // the submitter, not the issuing thread
    assert_string_equal(io->comm, "fio");
    assert_string_equal(io->rwbs, "RA");
    assert_int_equal(io->op, BLOCK_READ);
    assert_int_equal(io->error, 0);
    assert_int_equal(block_match_in_flight(match), 0);
}

static void untraced_arrival(void **state) {
    (void)state;
    at(BLOCK_ISSUE, 150, "W", 8, 8);
    at(BLOCK_COMPLETE, 250, "W", 8, 8);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].arrival_ns, 0);
    assert_int_equal(done.io[0].tid, 42);
}

static void untraced_issue(void **state) {
    (void)state;
    at(BLOCK_COMPLETE, 250, "W", 8, 8);
    at(BLOCK_ISSUE, 300, "W", 16, 8);
    at(BLOCK_COMPLETE, 310, "W", 24, 8); // another sector
    struct block_event other = forge_block(BLOCK_COMPLETE, 320, "W", 16, 8);
    other.dev = 8 << 20; // another device
    block_match_event(match, &other);
    at(BLOCK_COMPLETE, 299, "W", 16, 8); // before its issue: an earlier request's
    assert_int_equal(done.n, 0);
    assert_int_equal(counts()->unmatched_completions, 4);
    assert_int_equal(block_match_in_flight(match), 1);
}

static void one_sector_several_times(void **state) {
    (void)state;
    at(BLOCK_ISSUE, 100, "R", 8, 8);
    at(BLOCK_ISSUE, 110, "R", 8, 16);
    at(BLOCK_ISSUE, 120, "R", 8, 8);
    at(BLOCK_COMPLETE, 200, "R", 8, 8);
    at(BLOCK_COMPLETE, 210, "R", 8, 8);
    at(BLOCK_COMPLETE, 220, "R", 8, 16);
    assert_int_equal(done.n, 3);
    assert_int_equal(done.io[0].issue_ns, 100); // the oldest of its length first
    assert_int_equal(done.io[1].issue_ns, 120);
    assert_int_equal(done.io[2].issue_ns, 110);
    assert_int_equal(counts()->partial, 0);
}

static void a_request_completes_in_pieces(void **state) {
    (void)state;
    at(BLOCK_START, 90, "W", 1000, 24);
    at(BLOCK_ISSUE, 100, "W", 1000, 24);
    at(BLOCK_COMPLETE, 200, "W", 1000, 8);
    at(BLOCK_COMPLETE, 210, "W", 1008, 8);
    assert_int_equal(done.n, 0);
    assert_int_equal(block_match_in_flight(match), 1);
    struct block_event last = forge_block(BLOCK_COMPLETE, 220, "W", 1016, 8);
    last.error = -EIO;
    block_match_event(match, &last);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].sector, 1000);
    assert_int_equal(done.io[0].bytes, 24 * 512);
    assert_int_equal(done.io[0].end_ns - done.io[0].issue_ns, 120);
    assert_int_equal(done.io[0].error, -EIO);
    assert_int_equal(counts()->partial, 2);
    assert_int_equal(counts()->errors, 1);
    assert_int_equal(counts()->unmatched_completions, 0);
}

static void requeued(void **state) {
    (void)state;
    at(BLOCK_START, 50, "W", 1000, 24);
    at(BLOCK_ISSUE, 100, "W", 1000, 24);
    at(BLOCK_REQUEUE, 110, "W", 1000, 24);
    assert_int_equal(block_match_in_flight(match), 0);
    assert_int_equal(block_match_queued(match), 1);
    at(BLOCK_INSERT, 115, "W", 1000, 24);
    at(BLOCK_ISSUE, 120, "W", 1000, 24);
    at(BLOCK_COMPLETE, 130, "W", 1000, 16); // partial completion, then a requeue
    at(BLOCK_REQUEUE, 140, "W", 1016, 8);
    at(BLOCK_ISSUE, 150, "W", 1016, 8);
    at(BLOCK_COMPLETE, 180, "W", 1016, 8);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].arrival_ns, 50);
    assert_int_equal(done.io[0].issue_ns, 150); // the last issue
    assert_int_equal(done.io[0].sector, 1000);
    assert_int_equal(done.io[0].bytes, 24 * 512);
    assert_int_equal(done.io[0].requeues, 2);
    assert_int_equal(counts()->requeues, 2);
    assert_int_equal(block_match_queued(match), 0);
    assert_int_equal(block_match_in_flight(match), 0);
    at(BLOCK_REQUEUE, 200, "W", 5000, 8); // of an untraced request
    assert_int_equal(counts()->requeues, 3);
}

static void on_requeued(void *ctx, const struct block_io *io) {
    struct done *all = ctx;
    if (io->kind == BLOCK_IO_REQUEUED)
        all->io[all->n++] = *io;
}

// The driver is busy and rejects a request before its issue; only its bio is known, or nothing.
static void rejected_before_issue(void **state) {
    (void)state;
    struct block_match *any = block_match_new(64, on_requeued, &done);
    struct block_event bio = forge_block(BLOCK_BIO_QUEUE, 10, "W", 8, 8), again = bio;
    block_match_event(any, &bio);
    again.kind = BLOCK_REQUEUE;
    again.ts = 20;
    again.tid = 7;
    block_match_event(any, &again);
    again.sector = 800;
    block_match_event(any, &again);
    assert_int_equal(done.n, 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(done.io[i].dev, 7 << 20);
        assert_int_equal(done.io[i].op, BLOCK_WRITE);
        assert_int_equal(done.io[i].tid, i ? 7 : 42);
    }
    assert_int_equal(block_match_in_flight(any), 0);
    block_match_free(any);
}

static void merged_request(void **state) {
    (void)state;
    at(BLOCK_START, 10, "W", 0, 8);
    at(BLOCK_START, 20, "W", 8, 8);
    at(BLOCK_MERGE, 30, "W", 8, 8);
    assert_int_equal(block_match_queued(match), 1);
    at(BLOCK_ISSUE, 40, "W", 0, 16);
    at(BLOCK_COMPLETE, 50, "W", 0, 16);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].bytes, 8192); // as issued
    assert_int_equal(done.io[0].arrival_ns, 10);
    assert_int_equal(counts()->merges, 1);
}

// A front-merged request is issued at another sector: its stale arrival must not go to another request.
static void stale_arrival(void **state) {
    (void)state;
    at(BLOCK_START, 10, "W", 8, 8);
    at(BLOCK_ISSUE, 20, "W", 0, 16);
    at(BLOCK_COMPLETE, 30, "W", 0, 16);
    at(BLOCK_START, 1000, "W", 8, 8);
    at(BLOCK_ISSUE, 1010, "W", 8, 8);
    at(BLOCK_COMPLETE, 1020, "W", 8, 8);
    assert_int_equal(done.io[1].arrival_ns, 1000);
    assert_int_equal(block_match_queued(match), 1);
    block_match_tidy(match, 70000000000ull);
    assert_int_equal(block_match_queued(match), 0);
    assert_int_equal(counts()->abandoned, 0);
}

// As traced: issued at sector 0, completed at sector -1; and the ends of flush sequences.
static void flushes(void **state) {
    (void)state;
    at(BLOCK_START, 5, "FWS", 0, 0); // an empty flush arrives like a write
    at(BLOCK_ISSUE, 10, "FF", 0, 0);
    at(BLOCK_ISSUE, 20, "FF", 0, 0);
    at(BLOCK_ISSUE, 25, "WS", 0, 8); // a write at sector 0 is no flush
    at(BLOCK_COMPLETE, 30, "FF", BLOCK_NO_SECTOR, 0);
    at(BLOCK_COMPLETE, 31, "WS", 0, 0); // the end of the sequence: no request of its own
    at(BLOCK_COMPLETE, 50, "FF", BLOCK_NO_SECTOR, 0);
    at(BLOCK_COMPLETE, 60, "WS", 0, 8);
    assert_int_equal(done.n, 3);
    assert_int_equal(done.io[0].op, BLOCK_FLUSH);
    assert_int_equal(done.io[0].issue_ns, 10);
    assert_int_equal(done.io[1].issue_ns, 20);
    assert_int_equal(done.io[1].end_ns, 50);
    assert_true(done.io[0].sector == BLOCK_NO_SECTOR);
    assert_int_equal(done.io[2].op, BLOCK_WRITE);
    assert_int_equal(done.io[2].issue_ns, 25);
    assert_int_equal(counts()->flush_ends, 1);
    assert_int_equal(counts()->unmatched_completions, 0);
    at(BLOCK_COMPLETE, 70, "FF", BLOCK_NO_SECTOR, 0);
    assert_int_equal(counts()->unmatched_completions, 1);
}

static void flushes_never_completed(void **state) {
    (void)state;
    for (uint64_t i = 0; i < 3000; i++) {
        at(BLOCK_ISSUE, i, "FF", 0, 0);
        block_match_tidy(match, i);
    }
    assert_true(block_match_in_flight(match) <= 1024);
    assert_int_equal(counts()->abandoned, 3000 - block_match_in_flight(match));
    assert_int_equal(counts()->table_full, 0);
}

static void discards_and_commands(void **state) {
    (void)state;
    at(BLOCK_ISSUE, 10, "DS", 65536, 2048);
    struct block_event command = forge_block(BLOCK_ISSUE, 20, "N", 0, 0); // a passthrough ATA or NVMe command
    command.bytes = 512;
    block_match_event(match, &command);
    at(BLOCK_COMPLETE, 40, "N", BLOCK_NO_SECTOR, 1);
    at(BLOCK_COMPLETE, 90, "DS", 65536, 2048);
    assert_int_equal(done.n, 2);
    assert_int_equal(done.io[0].op, BLOCK_OTHER);
    assert_int_equal(done.io[0].bytes, 512);
    assert_int_equal(done.io[1].op, BLOCK_DISCARD);
    assert_int_equal(done.io[1].bytes, 1 << 20);
}

static void failed(void **state) {
    (void)state;
    at(BLOCK_ISSUE, 10, "R", 8, 8);
    struct block_event end = forge_block(BLOCK_COMPLETE, 30, "R", 8, 8);
    end.error = -ENODATA;
    block_match_event(match, &end);
    end.kind = BLOCK_ERROR;
    block_match_event(match, &end);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].error, -ENODATA);
    assert_int_equal(counts()->errors, 1);
    assert_int_equal(counts()->errors_reported, 1);
}

static void own_io_not_reported(void **state) {
    (void)state;
    const pid_t own[] = {41, 42, 43};
    block_match_own(match, own, 3);
    at(BLOCK_START, 5, "R", 8, 8);
    at(BLOCK_ISSUE, 10, "R", 8, 8);
    at(BLOCK_COMPLETE, 30, "R", 8, 8);
    struct block_event event = forge_block(BLOCK_ISSUE, 40, "R", 8, 8);
    event.tid = 42 + 64; // same slot in the hash table
    block_match_event(match, &event);
    at(BLOCK_COMPLETE, 50, "R", 8, 8);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].tid, 106);
    assert_int_equal(counts()->own, 1);
    assert_int_equal(counts()->completed, 2);
    block_match_own(match, NULL, 0);
    at(BLOCK_ISSUE, 60, "R", 8, 8);
    at(BLOCK_COMPLETE, 70, "R", 8, 8);
    assert_int_equal(done.n, 2);
}

static void lost_events(void **state) {
    (void)state;
    at(BLOCK_ISSUE, 10, "R", 8, 8); // completion lost
    at(BLOCK_ISSUE, 11, "R", 16, 8);
    at(BLOCK_ISSUE, 12, "R", 24, 8); // completion lost, sector not used again
    block_match_lost(match, 100);
    at(BLOCK_ISSUE, 200, "R", 8, 8);
    assert_int_equal(counts()->abandoned, 1);
    at(BLOCK_COMPLETE, 230, "R", 8, 8);
    at(BLOCK_COMPLETE, 231, "R", 16, 8); // in flight all the time
    assert_int_equal(done.n, 2);
    assert_int_equal(done.io[0].issue_ns, 200);
    assert_int_equal(done.io[1].issue_ns, 11);
    block_match_tidy(match, 1000);
    assert_int_equal(block_match_in_flight(match), 1);
    block_match_tidy(match, 100000000000ull);
    assert_int_equal(block_match_in_flight(match), 0);
    assert_int_equal(counts()->abandoned, 2);
}

// A hung disk keeps its requests of any age; a newer one at the same sector is preferred.
static void a_hung_disk(void **state) {
    (void)state;
    at(BLOCK_ISSUE, 10, "R", 8, 8);
    block_match_tidy(match, 100000000000ull);
    assert_int_equal(block_match_in_flight(match), 1);
    at(BLOCK_COMPLETE, 200000000000ull, "R", 8, 8);
    assert_int_equal(done.n, 1);
    assert_true(done.io[0].end_ns - done.io[0].issue_ns > 190000000000ull);
}

// A gap is reported before other CPUs' events from before its end.
static void issued_before_the_end_of_a_gap(void **state) {
    (void)state;
    block_match_lost(match, 100);
    at(BLOCK_ISSUE, 90, "R", 8, 8); // completion lost in the gap
    at(BLOCK_ISSUE, 200, "R", 8, 8);
    at(BLOCK_COMPLETE, 210, "R", 8, 8);
    assert_int_equal(done.n, 1);
    assert_int_equal(done.io[0].issue_ns, 200);
    assert_int_equal(block_match_in_flight(match), 0);
}

// One untraced completion must not make each later request complete the one before.
static void stale_request(void **state) {
    (void)state;
    const uint64_t second = 1000000000;
    at(BLOCK_ISSUE, 1000, "W", 8, 8);
    for (uint64_t i = 1; i <= 3; i++) {
        at(BLOCK_ISSUE, 2 * i * second, "W", 8, 8);
        at(BLOCK_COMPLETE, 2 * i * second + 500, "W", 8, 8);
        assert_int_equal(done.n, i);
        assert_int_equal(done.io[i - 1].issue_ns, 2 * i * second);
    }
    assert_int_equal(block_match_in_flight(match), 1);
}

// Two in flight at once on a slow disk: the first completes first.
static void two_requests_of_one_sector(void **state) {
    (void)state;
    const uint64_t second = 1000000000;
    at(BLOCK_ISSUE, 1 * second, "R", 8, 8);
    at(BLOCK_ISSUE, 2 * second, "R", 8, 8);
    at(BLOCK_COMPLETE, 6 * second, "R", 8, 8);
    at(BLOCK_COMPLETE, 7 * second, "R", 8, 8);
    assert_int_equal(done.n, 2);
    assert_int_equal(done.io[0].issue_ns, 1 * second);
    assert_int_equal(done.io[1].issue_ns, 2 * second);
}

// Requests beyond the capacity are counted; the table grows between drains and loses nothing.
static void growing(void **state) {
    (void)state;
    for (uint32_t i = 0; i < 100; i++)
        at(BLOCK_ISSUE, i, "R", i * 8, 8);
    assert_int_equal(block_match_in_flight(match), 64);
    assert_int_equal(counts()->table_full, 36);
    block_match_tidy(match, 100);
    for (uint32_t i = 64; i < 128; i++)
        at(BLOCK_ISSUE, i, "R", i * 8, 8);
    assert_int_equal(counts()->table_full, 36);
    assert_int_equal(block_match_in_flight(match), 128);
}

// Random issues and completions, some of the same sectors: all are found at any load of the table.
static void many_in_any_order(void **state) {
    (void)state;
    enum { MANY = 6000, SECTORS = 500 };
    struct block_match *large = block_match_new(1024, on_done, &done);
    static uint8_t open[SECTORS];
    uint32_t seed = 7, in_flight = 0;
    uint64_t completed = 0;
    memset(open, 0, sizeof(open));
    for (uint32_t i = 0; i < MANY; i++) {
        seed = seed * 1664525 + 1013904223;
        uint32_t sector = (seed >> 8) % SECTORS;
        bool issue = (seed >> 28) < 9 && open[sector] < 3;
        if (!issue && !open[sector])
            continue;
        struct block_event event = forge_block(issue ? BLOCK_ISSUE : BLOCK_COMPLETE, i, "R", sector * 8ull, 8);
        done.n = 0;
        block_match_event(large, &event);
        open[sector] = (uint8_t)(open[sector] + (issue ? 1 : -1));
        in_flight += issue ? 1 : UINT32_MAX;
        completed += !issue;
        assert_int_equal(block_match_in_flight(large), in_flight);
        if (i % 512 == 0)
            block_match_tidy(large, i);
    }
    assert_int_equal(block_match_counts(large)->completed, completed);
    assert_int_equal(block_match_counts(large)->unmatched_completions, 0);
    block_match_free(large);
}

// Time with at least one request in service, queried in steps.
static void busy_time(void **state) {
    (void)state;
    const uint32_t dev = 7 << 20;
    assert_true(block_match_busy(match, dev, 0) == BLOCK_BUSY_UNKNOWN);
    at(BLOCK_START, 90, "R", 8, 8);
    at(BLOCK_ISSUE, 100, "R", 8, 8);
    at(BLOCK_ISSUE, 120, "R", 16, 8);
    at(BLOCK_COMPLETE, 130, "R", 8, 8);
    at(BLOCK_COMPLETE, 150, "R", 16, 8); // 100 to 150
    at(BLOCK_ISSUE, 200, "W", 8, 8);
    assert_int_equal(block_match_busy(match, dev, 220), 70); // … and 200 to 220
    at(BLOCK_COMPLETE, 230, "W", 8, 4);                      // partial
    at(BLOCK_REQUEUE, 240, "W", 12, 4);                      // no longer in service
    at(BLOCK_ISSUE, 260, "W", 12, 4);
    at(BLOCK_COMPLETE, 270, "W", 12, 4);
    assert_int_equal(block_match_busy(match, dev, 300), 30);
    at(BLOCK_ISSUE, 310, "FF", 0, 0); // its completion may never be traced
    assert_int_equal(block_match_busy(match, dev, 400), 0);
    at(BLOCK_ISSUE, 410, "R", 8, 8);
    at(BLOCK_ISSUE, 411, "R", 16, 8);
    block_match_lost(match, 420); // their completions may be lost
    assert_int_equal(block_match_busy(match, dev, 500), 0);
    at(BLOCK_ISSUE, 510, "R", 24, 8);
    at(BLOCK_COMPLETE, 515, "R", 16, 8);
    at(BLOCK_COMPLETE, 520, "R", 24, 8);
    assert_int_equal(block_match_busy(match, dev, 600), 10);
    at(BLOCK_ISSUE, 610, "R", 24, 8);
    block_match_drop(match, dev, 700); // removed with its requests
    at(BLOCK_ISSUE, 700, "R", 8, 8);
    at(BLOCK_COMPLETE, 710, "R", 8, 8);
    assert_int_equal(block_match_busy(match, dev, 800), 10);
    assert_true(block_match_busy(match, 8 << 20, 800) == BLOCK_BUSY_UNKNOWN);
}

// A completion soon after a gap may belong to a request that was issued in it.
static void completions_after_a_gap(void **state) {
    (void)state;
    const uint64_t ms = 1000000;
    at(BLOCK_ISSUE, 100 * ms, "R", 8, 8);
    at(BLOCK_ISSUE, 100 * ms, "R", 16, 8);
    at(BLOCK_ISSUE, 100 * ms, "R", 24, 8);
    block_match_lost(match, 1000 * ms);
    at(BLOCK_ISSUE, 900 * ms, "R", 32, 8); // another CPU, whose gap ended earlier
    at(BLOCK_ISSUE, 900 * ms, "R", 40, 8);
    at(BLOCK_COMPLETE, 902 * ms, "R", 32, 8);
    assert_int_equal(done.n, 1);
    at(BLOCK_COMPLETE, 950 * ms, "R", 8, 8);
    at(BLOCK_COMPLETE, 990 * ms, "R", 40, 8);
    at(BLOCK_COMPLETE, 1100 * ms, "R", 16, 8);
    assert_int_equal(done.n, 1);
    assert_int_equal(counts()->unmatched_completions, 3);
    at(BLOCK_COMPLETE, 2000 * ms, "R", 24, 8); // a slow disk's: no other request took so long
    assert_int_equal(done.n, 2);
    assert_int_equal(done.io[1].issue_ns, 100 * ms);
    at(BLOCK_ISSUE, 2100 * ms, "R", 8, 8);
    at(BLOCK_COMPLETE, 2200 * ms, "R", 8, 8);
    assert_int_equal(done.n, 3);
    assert_int_equal(block_match_in_flight(match), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(busy_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_whole_life, set_up, tear_down),
        cmocka_unit_test_setup_teardown(untraced_arrival, set_up, tear_down),
        cmocka_unit_test_setup_teardown(untraced_issue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_sector_several_times, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_request_completes_in_pieces, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requeued, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rejected_before_issue, set_up, tear_down),
        cmocka_unit_test_setup_teardown(merged_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stale_arrival, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flushes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(completions_after_a_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(flushes_never_completed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(discards_and_commands, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(own_io_not_reported, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lost_events, set_up, tear_down),
        cmocka_unit_test_setup_teardown(issued_before_the_end_of_a_gap, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stale_request, set_up, tear_down),
        cmocka_unit_test_setup_teardown(two_requests_of_one_sector, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_hung_disk, set_up, tear_down),
        cmocka_unit_test_setup_teardown(growing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_in_any_order, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
