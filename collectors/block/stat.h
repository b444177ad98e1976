// Sums of an interval's completed I/Os: latencies by device and operation, sums and histograms by task, errors, and the
// newest and rare I/Os one by one. No allocation per I/O (except for a new device or operation); read and cleared once
// per frame. One thread owns it.
//
// A value belongs to two histograms, of the device and of the task. Its buckets are incremented at once; counts and
// sums are kept per stream (I/Os of one task to one device with the same operation and flags), and block_stat_settle
// adds them to the histograms, devices and tasks.
#ifndef COLLECTORS_BLOCK_STAT_H
#define COLLECTORS_BLOCK_STAT_H

#include "collectors/block/rare.h"
#include "model/hist.h"

#define BLOCK_EVENTS_KEPT 2048 // newest of a frame; a row takes about 100 bytes of history
#define BLOCK_PROCS_MAX 8192
#define BLOCK_SLOTS 256 // tasks, devices and operations with histograms; the rest share one per operation
#define BLOCK_ERRORS_MAX 64
#define BLOCK_PARTS 64 // parts of a device; at most the number of single-value histogram buckets

struct block_sequence_counts {
    uint64_t known, sequential;
};

struct block_device {
    uint32_t dev;
    struct hist_acc *latency[BLOCK_KEYS], *queue[BLOCK_KEYS], *total[BLOCK_KEYS]; // ns; NULL: no I/O yet
    struct hist_acc *size[BLOCK_OPS], *offset[BLOCK_OPS];                         // bytes; part of the device
    double per_sector;                                                            // BLOCK_PARTS / sectors; 0: unknown
    uint8_t slow[BLOCK_OPS]; // of the interval: for block_rare_slow
    uint64_t errors, timeouts, requeues, ios[BLOCK_OPS], bytes[BLOCK_OPS];
    uint64_t previous_gone_ns; // for the caller: when the previous disk with this dev_t went away; 0: none
    uint64_t busy_ns;          // for the caller: busy time, or BLOCK_BUSY_UNKNOWN
    struct block_sequence_counts sequence;
    int32_t last_error; // since ktop started; 0: none
    uint64_t last_error_sector;
};

// I/Os of one task, device and operation in this interval.
struct block_proc {
    int32_t tid;
    uint32_t dev;
    char comm[BLOCK_COMM + 1];
    uint8_t op;
    uint32_t device, slot, task;     // slot: UINT32_MAX if none is free; task: for the caller
    uint32_t few;                    // I/Os remembered as its first
    uint64_t cgroup;                 // writeback: inode number of the cgroup
    uint64_t ios, bytes, latency_ns; // of requests, and of bios on devices without requests
    uint64_t bios, total_ns;         // of bios
    struct block_sequence_counts sequence;
    uint64_t unsettled, seen_ios; // for the caller
    bool unwanted;                // filtered out: its I/Os are not listed
};

// Histograms per slot: at most 10 KB each; only the pages between min and max are touched.
enum block_measure {
    BLOCK_OF_LATENCY,
    BLOCK_OF_QUEUE,
    BLOCK_OF_TOTAL,
    BLOCK_TIMES,
    BLOCK_OF_SIZE = BLOCK_TIMES,
    BLOCK_MEASURES
};
struct block_slot {
    struct hist_acc hists[BLOCK_MEASURES];
};

// Values already in histogram buckets, but not yet in the counts and sums.
struct block_sum {
    uint64_t count, sum, max, min;
};
#define BLOCK_STREAMS 256
struct block_stream {
    uint32_t dev; // dev to kind: the stream's key
    int32_t tid;
    uint64_t cgroup;
    char comm[BLOCK_COMM];
    uint8_t op, key, bio_key, kind;
    uint32_t device, proc;
    uint32_t bytes; // size of the last I/Os, and how many are not yet added: sizes come in runs
    uint32_t same_size;
    double per_sector;
    struct hist_acc *device_latency, *queue, *total, *device_size, *offset; // of the device; NULL: not counted
    struct block_slot *slot;                                                // of the task, the others, or discarded
    struct block_slow *slow;
    bool few; // its I/Os may be among the task's first, or it is filtered out
    struct block_sum sum_latency, sum_queue, sum_total, sum_size;
    uint64_t sequences[3]; // by enum block_sequence
};

// Errors of one kind since ktop started.
struct block_error {
    uint32_t dev;
    int32_t error;
    uint8_t op;
    uint64_t count, before, sector; // before: at the end of the last interval
};

struct block_stat {
    struct block_device *devices; // persist; in order of their first I/O
    uint32_t n_devices, devices_capacity;
    struct block_proc *procs; // BLOCK_PROCS_MAX, of this interval
    uint32_t n_procs;
    struct block_slot *slots;  // BLOCK_SLOTS of procs, in order of their first I/O
    struct block_slot *others; // BLOCK_OPS for procs without a slot, then one that is discarded
    uint32_t n_slots;
    struct block_error errors[BLOCK_ERRORS_MAX]; // persist
    uint32_t n_errors;
    struct block_recent *recent;             // BLOCK_EVENTS_KEPT, a ring
    struct block_unattributed *unattributed; // same index; only for I/Os without a proc
    uint64_t n_recent;     // I/Os of this interval that are not filtered out: the newest are recent[(n_recent - 1) %
                           // BLOCK_EVENTS_KEPT] …
    uint64_t first_recent; // … back to this one, at most BLOCK_EVENTS_KEPT
    uint64_t recent_from;  // for the caller: earlier completions are only counted
    struct block_rare *rare;
    // For the caller, with -p or -u: whether a new proc is known to be filtered out.
    bool (*unwanted)(const void *ctx, const struct block_proc *proc);
    const void *unwanted_ctx;
    uint64_t procs_left_out; // I/Os without a proc: table full
    uint32_t *proc_index;
    struct block_stream *streams; // BLOCK_STREAMS, n_streams of them in use; then one that is never settled
    struct block_stream *last;    // I/Os of a stream come in runs
    uint32_t n_streams;
    uint16_t stream_index[4 * BLOCK_STREAMS]; // hash table: index into streams + 1
    uint8_t device_cache[64];                 // by a hash of dev: index into devices + 1, to be verified
};

struct block_stat *block_stat_new(void);
void block_stat_free(struct block_stat *stat);
void block_stat_io(struct block_stat *stat, const struct block_io *io);
// Completes sums and histograms: call before reading them, and before per_sector changes.
void block_stat_settle(struct block_stat *stat);
// A completion whose issue was not recorded (at BLOCK_COUNT): I/Os, bytes and errors of the device.
void block_stat_count(struct block_stat *stat, const struct block_event *complete);
// Index of the device, added if new.
uint32_t block_stat_device(struct block_stat *stat, uint32_t dev);
// Another disk has this dev_t now: drops the errors of the previous one.
void block_stat_replaced(struct block_stat *stat, uint32_t device);
// The device is gone: frees its empty histograms. It may come back.
void block_stat_release(struct block_stat *stat, uint32_t device);
// I/Os of the interval that are older than the newest that are kept.
static inline uint64_t block_stat_left_out(const struct block_stat *stat) {
    uint64_t left_out = stat->n_recent > BLOCK_EVENTS_KEPT ? stat->n_recent - BLOCK_EVENTS_KEPT : 0;
    return left_out > stat->first_recent ? left_out : stat->first_recent;
}
// Those kept as rare, in order of completion; valid until the next I/O.
uint32_t block_stat_rare(const struct block_stat *stat, const struct block_chosen **out);
// Call when procs became unwanted.
void block_stat_unwanted(struct block_stat *stat);
// Clears it for the next interval.
void block_stat_clear(struct block_stat *stat);

#endif
