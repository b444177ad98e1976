// Matching the events of a request: arrival, issue, requeue, merge, completion, by (device, sector), and of a bio.
// Events come in order of time (collectors/kernel/tracefs/ring.h). Kernel sources: block/blk-mq.c, block/blk-flush.c.
// One thread owns a matcher.
//
// - The same sector may be in flight several times: a completion means the oldest of its length.
// - A partial completion moves the request's sector forward; the request is done with its last piece. A requeue puts it
//   back into the queue at the sector where it is; its latency counts from its last issue.
// - Flushes and passed-through commands have no sector: they match by device and kind of operation, oldest first.
//   A flush is told of the thread whose bio asked the disk for one last.
// - The end of a flush sequence is reported as a completion of length 0 of a request that was never issued: counted as
//   flush_ends, and no I/O.
// - A bio is followed from its arrival: the request that is made for it takes over its entry, a bio that joins a
//   request waits beside it, a split one has an entry per piece and ends with the last. Bios of partitions carry the
//   number of the partition and the sector of the disk (5.12 and later). The last completion of a flush sequence ends
//   its bio.
// - After lost events what was in flight is suspect: it gives way to whatever matches better, and is given up after a
//   while. What ends so soon after the gap that it may be another one, issued in the gap, is not told.
#ifndef COLLECTORS_BLOCK_MATCH_H
#define COLLECTORS_BLOCK_MATCH_H

#include <sys/types.h>

#include "collectors/block/event.h"
#include "collectors/kernel/tracefs/ring_page.h"
#include "collectors/kernel/tracefs/trace_clock.h"

enum block_what {
    BLOCK_IO_REQUEST,  // a finished request; with bio_ns its first bio ended with it
    BLOCK_IO_BIO,      // a finished bio of a device that has no requests: issue_ns is its arrival
    BLOCK_IO_REST,     // a bio ended whose request is told elsewhere: it was merged, split, or flushed afterwards
    BLOCK_IO_REQUEUED, // a driver put a request back: only dev, op, tid and comm
};
enum block_sequence { BLOCK_SEQUENCE_UNKNOWN, BLOCK_RANDOM, BLOCK_SEQUENTIAL };

// Something finished.
struct block_io {
    uint64_t arrival_ns, issue_ns, end_ns; // trace clock; arrival 0: not seen
    uint64_t bio_ns;                       // arrival of the bio that ended now; 0: not seen, or it ended not
    uint64_t cgroup;                       // of writeback: the control group's inode number, or 0
    uint64_t sector;                       // where it began; BLOCK_NO_SECTOR: has none
    uint32_t dev;
    int32_t tid; // of the submitter, or of who issued it when the arrival was not seen
    uint32_t bytes;
    int16_t error; // 0 or -errno
    uint16_t requeues;
    uint8_t op, key, bio_key, what; // block_key_of the request, of the bio
    uint8_t sequence;               // whether it began where the thread's previous one on the disk ended
    char rwbs[BLOCK_RWBS];
    char comm[BLOCK_COMM];
};
typedef void (*block_done_fn)(void *ctx, const struct block_io *io);

struct block_counts {
    uint64_t events, issued, completed, requeues, merges, errors, errors_reported, partial, flush_ends;
    uint64_t unannounced;           // issued with a sector, arrival never seen
    uint64_t unmatched_completions; // issue never seen
    uint64_t abandoned;             // issues whose completion was never seen: given up
    uint64_t own;                   // completed, but ktop's own: left out
    uint64_t bios;                  // bios that ended, with or without a request
    uint64_t unmatched_bios;        // bios that ended without a request and whose arrival was never seen
    uint64_t dropped;               // in flight on a disk that went away
    uint64_t table_full;            // requests not followed for want of room
};

struct block_match;
struct block_match *block_match_new(uint32_t capacity, block_done_fn done, void *ctx);
void block_match_free(struct block_match *match);

void block_match_event(struct block_match *match, const struct block_event *event);
// Decodes and matches the records of two pages, whose times are that clock's: see ring_pair_fn
// (collectors/kernel/tracefs/ring.h).
uint64_t block_match_pages(struct block_match *match, const struct block_formats *formats,
                           const struct trace_clock *clock, struct ring_page *const pages[2], uint64_t limit);

// Tasks whose I/O is left out (copied, at most 64).
void block_match_own(struct block_match *match, const pid_t *tids, size_t n);
// Partitions and their disks, n pairs (copied, at most 512).
struct block_part {
    uint32_t dev, disk;
};
void block_match_parts(struct block_match *match, const struct block_part *parts, size_t n);
// NVMe disks that have several paths (copied, at most 32): what they send bios to are paths of theirs, if no file told
// of them before. It is not when it is another disk's number now. All before block_match_parts.
void block_match_heads(struct block_match *match, const uint32_t *heads, size_t n);
void block_match_path(struct block_match *match, struct block_part path);
void block_match_no_path(struct block_match *match, uint32_t dev);
struct block_thread {
    uint64_t made_ns;
    int32_t tid, by;       // by: the thread that made it
    char comm[BLOCK_COMM]; // of that one, then; "": not known
};
// NULL: it is none that was made lately, as far as it is known. Valid until the next event.
const struct block_thread *block_match_thread(const struct block_match *match, int32_t tid, uint64_t now_ns);
// The disk is gone: so is what was in flight on it since before that time.
void block_match_drop(struct block_match *match, uint32_t dev, uint64_t before_ns);
// Events were lost just before `ts`: everything in flight becomes suspect.
void block_match_lost(struct block_match *match, uint64_t ts);
// Between drains: makes room for twice as many when the table is half full, and gives up what is hopelessly old.
void block_match_tidy(struct block_match *match, uint64_t now);

// How long, since it was last asked, the disk had at least one request to work on (issued, not completed; flushes
// aside), up to `until`, before which all events are known. Wrong when events were lost meanwhile.
#define BLOCK_NOT_KNOWN UINT64_MAX // no request was ever issued to it
uint64_t block_match_busy(struct block_match *match, uint32_t dev, uint64_t until);

const struct block_counts *block_match_counts(const struct block_match *match);
uint32_t block_match_in_flight(const struct block_match *match); // issued and not completed
uint32_t block_match_queued(const struct block_match *match);    // arrived and not issued

#endif
