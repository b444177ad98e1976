// Matches the events of requests (arrival, issue, requeue, merge, completion) by (device, sector), and those of bios.
// Events come in time order (collectors/kernel/tracefs/ring.h). Kernel sources: block/blk-mq.c, block/blk-flush.c.
// One thread owns a matcher.
//
// - A sector may be in flight several times: a completion means the oldest request of its length.
// - A partial completion moves the request's sector forward; the request completes with its last piece. A requeue puts
//   it back into the queue at its current sector; service time starts at its last issue.
// - Flushes and passthrough commands have no sector: matched by device and operation, oldest first. A flush is
//   attributed to the submitter of the last bio with a flush on the disk.
// - The end of a flush sequence is traced as a completion of length 0 of a request that was never issued: it counts as
//   flush_ends, not as an I/O.
// - A bio is followed from its arrival: its request takes over its flight, a merged bio keeps its own, a split bio has
//   one per piece and completes with the last. Bios of partitions carry the partition's dev_t and the disk's sector
//   (since 5.12). The last completion of a flush sequence completes its bio.
// - After lost events all flights are suspect: any other match is preferred, and they are dropped after a while. A
//   completion so soon after the gap that its request may have been issued in the gap is not reported.
#ifndef COLLECTORS_BLOCK_MATCH_H
#define COLLECTORS_BLOCK_MATCH_H

#include <sys/types.h>

#include "collectors/block/event.h"
#include "collectors/kernel/tracefs/ring_page.h"
#include "collectors/kernel/tracefs/trace_clock.h"

enum block_io_kind {
    BLOCK_IO_REQUEST,    // a completed request; bio_ns set: its first bio completed with it
    BLOCK_IO_BIO,        // a completed bio of a device without requests: issue_ns is its arrival
    BLOCK_IO_TOTAL_ONLY, // a bio completed whose request is reported separately: merged, split or flushed
    BLOCK_IO_REQUEUED,   // a driver requeued a request: only dev, op, tid and comm are set
};
enum block_sequence { BLOCK_SEQUENCE_UNKNOWN, BLOCK_RANDOM, BLOCK_SEQUENTIAL };

// A completed I/O.
struct block_io {
    uint64_t arrival_ns, issue_ns, end_ns; // trace clock; arrival 0: not traced
    uint64_t bio_ns;                       // arrival of the bio that completed; 0: not traced, or none completed
    uint64_t cgroup;                       // writeback: inode number of the cgroup, or 0
    uint64_t sector;                       // first sector; BLOCK_NO_SECTOR: none
    uint32_t dev;
    int32_t tid; // submitter, or the issuing thread if the arrival was not traced
    uint32_t bytes;
    int16_t error; // 0 or -errno
    uint16_t requeues;
    uint8_t op, key, bio_key, kind; // block_key_of the request, of the bio
    uint8_t sequence;               // whether it starts where the thread's previous I/O on the disk ended
    char rwbs[BLOCK_RWBS];
    char comm[BLOCK_COMM];
};
typedef void (*block_done_fn)(void *ctx, const struct block_io *io);

struct block_counts {
    uint64_t events, issued, completed, requeues, merges, errors, errors_reported, partial, flush_ends;
    uint64_t unannounced;           // issued with a sector, arrival never traced
    uint64_t unmatched_completions; // issue never traced
    uint64_t abandoned;             // completion never traced: dropped
    uint64_t own;                   // completed I/Os of ktop itself: not reported
    uint64_t bios;                  // completed bios, with or without a request
    uint64_t unmatched_bios;        // completed without a request, arrival never traced
    uint64_t dropped;               // in flight on a removed disk
    uint64_t table_full;            // requests not followed: table full
};

struct block_match;
struct block_match *block_match_new(uint32_t capacity, block_done_fn done, void *ctx);
void block_match_free(struct block_match *match);

void block_match_event(struct block_match *match, const struct block_event *event);
// Decodes and matches the records of two pages, with timestamps of that clock: see ring_pair_fn
// (collectors/kernel/tracefs/ring.h).
uint64_t block_match_pages(struct block_match *match, const struct block_formats *formats,
                           const struct trace_clock *clock, struct ring_page *const pages[2], uint64_t limit);

// ktop's own tasks: their I/O is not reported (copied, at most 64).
void block_match_own(struct block_match *match, const pid_t *tids, size_t n);
// Partitions and their disks, n pairs (copied, at most 512).
struct block_part {
    uint32_t dev, disk;
};
void block_match_parts(struct block_match *match, const struct block_part *parts, size_t n);
// NVMe multipath heads (copied, at most 32): devices they send bios to become their paths, besides those of
// block_match_path. block_match_no_path: another disk has the dev_t now. Call all three before block_match_parts.
void block_match_heads(struct block_match *match, const uint32_t *heads, size_t n);
void block_match_path(struct block_match *match, struct block_part path);
void block_match_no_path(struct block_match *match, uint32_t dev);
struct block_thread {
    uint64_t created_ns;
    int32_t tid, creator;  // creator: the thread that created it
    char comm[BLOCK_COMM]; // the creator's, at that time; "": unknown
};
// NULL: not created recently, or unknown. Valid until the next event.
const struct block_thread *block_match_thread(const struct block_match *match, int32_t tid, uint64_t now_ns);
// The disk was removed: drops its flights from before that time.
void block_match_drop(struct block_match *match, uint32_t dev, uint64_t before_ns);
// Events were lost just before `ts`: all flights become suspect.
void block_match_lost(struct block_match *match, uint64_t ts);
// Between drains: doubles the table when it is half full, and drops flights older than OLD_NS.
void block_match_tidy(struct block_match *match, uint64_t now);

// Time since the last call in which the disk had a request in service (issued, not completed; no flushes), up to
// `until`. All events before `until` must be matched. Wrong after lost events.
#define BLOCK_BUSY_UNKNOWN UINT64_MAX // no request was ever issued to it
uint64_t block_match_busy(struct block_match *match, uint32_t dev, uint64_t until);

const struct block_counts *block_match_counts(const struct block_match *match);
uint32_t block_match_in_flight(const struct block_match *match); // issued, not completed
uint32_t block_match_queued(const struct block_match *match);    // arrived, not issued

#endif
