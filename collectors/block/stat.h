// What is known about the finished I/O of an interval: latencies by device and operation, sums and histograms by task,
// errors, and the newest I/Os and rare ones one by one. Filled per I/O without allocation (a device, or an operation
// that is new to it, costs one); read and cleared once per frame. One thread owns it.
//
// An I/O's values belong to several histograms at once: those of its device, and those of its task. Each value is put
// into their buckets at once, but counted and summed up once for all of them, by stream: I/O of one task to one device
// with the same operation and flags. block_stat_settle adds the streams' sums to the histograms, devices and tasks.
#ifndef COLLECTORS_BLOCK_STAT_H
#define COLLECTORS_BLOCK_STAT_H

#include "collectors/block/rare.h"
#include "model/hist.h"

#define BLOCK_EVENTS_KEPT 2048 // the newest of a frame; a row of a frame takes about 100 bytes of history
#define BLOCK_PROCS_MAX 8192
#define BLOCK_SLOTS 256 // tasks, devices and operations with histograms of their own; the rest shares one an operation
#define BLOCK_ERRORS_MAX 64
#define BLOCK_PARTS 64 // of a device, by offset; no more than a histogram's buckets that hold one value each

struct block_sequence_counts {
    uint64_t known, sequential;
};

struct block_device {
    uint32_t dev;
    struct hist_acc *latency[BLOCK_KEYS], *queue[BLOCK_KEYS], *total[BLOCK_KEYS]; // ns; NULL until there is some
    struct hist_acc *size[BLOCK_OPS], *offset[BLOCK_OPS];                         // bytes; part of the device
    double per_sector;                                                            // BLOCK_PARTS / sectors; 0: not known
    uint8_t slow[BLOCK_OPS]; // of the interval: for block_rare_slow
    uint64_t errors, timeouts, requeues, ios[BLOCK_OPS], bytes[BLOCK_OPS];
    uint64_t before_ns; // for the caller: since when the disk was gone that had the number before it; 0: there was none
    uint64_t busy_ns;   // for the caller: BLOCK_NOT_KNOWN, or how long it had a request to work on
    struct block_sequence_counts sequence;
    int32_t last_error; // since ktop started; 0: none
    uint64_t last_error_sector;
};

// Who did what to which device in this interval.
struct block_proc {
    int32_t tid;
    uint32_t dev;
    char comm[BLOCK_COMM + 1];
    uint8_t op;
    uint32_t device, slot, who;      // slot: UINT32_MAX when there was none left; who: for the caller
    uint32_t few;                    // how many of its I/Os were remembered as its first
    uint64_t cgroup;                 // of writeback: the control group's inode number
    uint64_t ios, bytes, latency_ns; // of requests, and of bios on devices without
    uint64_t bios, total_ns;         // of bios
    struct block_sequence_counts sequence;
    uint64_t unsettled, looked; // for the caller
    bool unwanted;              // the user does not want to see it: its I/Os are not remembered one by one
};

// What is kept of each of them as a histogram: at most 10 KB each, of which only what its values span is ever touched.
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

// Values that stand in the buckets of histograms already, and are not counted there yet.
struct block_sum {
    uint64_t count, sum, max, min;
};
#define BLOCK_STREAMS 256
struct block_stream {
    uint32_t dev; // what it is a stream of
    int32_t tid;
    uint64_t cgroup;
    char comm[BLOCK_COMM];
    uint8_t op, key, bio_key, what;
    uint32_t device, proc;
    uint32_t bytes; // of its last I/Os, so many as stand in no sum and bucket yet: they come in runs
    uint32_t alike;
    double per_sector;
    struct hist_acc *device_latency, *queue, *total, *device_size, *offset; // of the device; NULL: is not counted
    struct block_slot *slot;                                                // of the task, the others, or nobody
    struct block_slow *slow;
    bool few; // its I/Os may be among the first of their task; or nobody wants to see them
    struct block_sum sum_latency, sum_queue, sum_total, sum_size;
    uint64_t sequences[3]; // by enum block_sequence
};

// Errors of one kind, since ktop started.
struct block_error {
    uint32_t dev;
    int32_t error;
    uint8_t op;
    uint64_t count, before, sector; // before: at the end of the last interval
};

struct block_stat {
    struct block_device *devices; // stay; in the order of their first I/O
    uint32_t n_devices, devices_capacity;
    struct block_proc *procs; // of this interval, BLOCK_PROCS_MAX of them
    uint32_t n_procs;
    struct block_slot *slots;  // BLOCK_SLOTS of procs, in the order of their first I/O
    struct block_slot *others; // BLOCK_OPS: of the procs that have none; behind them one that is nobody's, never read
    uint32_t n_slots;
    struct block_error errors[BLOCK_ERRORS_MAX]; // stay
    uint32_t n_errors;
    struct block_recent *recent;             // BLOCK_EVENTS_KEPT, a ring
    struct block_unattributed *unattributed; // the same, only of those that no row of procs tells of
    uint64_t n_recent;     // I/Os of this interval, but unwanted ones: the newest are recent[(n_recent - 1) %
                           // BLOCK_EVENTS_KEPT] …
    uint64_t first_recent; // … back to this one, when there are no more than BLOCK_EVENTS_KEPT
    uint64_t recent_from;  // for the caller: what ends before that time is only counted there
    struct block_rare *rare;
    // For the caller, when the user wants to see some only: whether one that is new is known to be none of them.
    bool (*unwanted)(const void *ctx, const struct block_proc *proc);
    const void *unwanted_ctx;
    uint64_t procs_left_out; // I/Os that no row of procs counts, for want of room
    uint32_t *proc_index;
    struct block_stream *streams; // BLOCK_STREAMS, n_streams of them not settled; behind them one that never is
    struct block_stream *last;    // they come in runs
    uint32_t n_streams;
    uint16_t stream_index[4 * BLOCK_STREAMS]; // by a hash: index into streams + 1
    uint8_t device_cache[64];                 // by a hash of dev: index into devices + 1, a guess to be checked
};

struct block_stat *block_stat_new(void);
void block_stat_free(struct block_stat *stat);
void block_stat_io(struct block_stat *stat, const struct block_io *io);
// Makes the sums and histograms whole: before they are read, and before per_sector changes.
void block_stat_settle(struct block_stat *stat);
// An end whose issue was not recorded (ktop only counts then): I/Os, bytes and errors of the device.
void block_stat_count(struct block_stat *stat, const struct block_event *complete);
// Index of the device, made when it is new.
uint32_t block_stat_device(struct block_stat *stat, uint32_t dev);
// Another disk has the device's number now: the errors that are known are not its own.
void block_stat_replaced(struct block_stat *stat, uint32_t device);
// The device is gone: what its histograms take is given back, as far as they are empty. It may come again.
void block_stat_release(struct block_stat *stat, uint32_t device);
// I/Os of the interval that are not among the newest that are kept: the oldest.
static inline uint64_t block_stat_left_out(const struct block_stat *stat) {
    uint64_t left_out = stat->n_recent > BLOCK_EVENTS_KEPT ? stat->n_recent - BLOCK_EVENTS_KEPT : 0;
    return left_out > stat->first_recent ? left_out : stat->first_recent;
}
// Those of them that are kept because they are rare, in the order of their end; valid until the next I/O.
uint32_t block_stat_rare(const struct block_stat *stat, const struct block_chosen **out);
// Some procs were found to be unwanted.
void block_stat_unwanted(struct block_stat *stat);
// Empties it for the next interval.
void block_stat_clear(struct block_stat *stat);

#endif
