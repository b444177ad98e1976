// CPU time of rare events of the block collector with many I/Os in flight: forged events of one kind per run.
//
//     bench_match [IN_FLIGHT [IOS]]     prints ns per event for each kind
#include <stdlib.h>
#include <time.h>

#include "tests/unit/forge_block.h"

struct load {
    struct block_match *match;
    uint32_t in_flight, dev;
    uint64_t ts, events, done;
};

static void nothing(void *ctx, const struct block_io *io) {
    struct load *load = ctx;
    load->done += io->kind != BLOCK_IO_REQUEUED;
}

static void take(struct load *load, enum block_kind kind, const char *rwbs, uint64_t sector, uint32_t sectors) {
    struct block_event event = forge_block(kind, load->ts += 100, rwbs, sector, sectors);
    event.dev = load->dev;
    block_match_event(load->match, &event);
    load->events++;
}

// Each kind: start of the nth I/O, and its completion after that many others started. The I/Os do not touch each other.
static uint64_t place(uint64_t nth) {
    return nth * 7919 % 100000 * 4096;
}

static void plain_start(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "WS", place(nth), 256);
    take(load, BLOCK_ISSUE, "WS", place(nth), 256);
}
static void plain_complete(struct load *load, uint64_t nth) {
    take(load, BLOCK_COMPLETE, "WS", place(nth), 256);
}

static void dm_split_start(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "WS", place(nth), 256);
    take(load, BLOCK_SPLIT, "WS", place(nth) + 128, 0);
}
static void dm_split_complete(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_COMPLETE, "WS", place(nth) + 128, 128);
}

static void md_split_start(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "WS", place(nth), 256);
    take(load, BLOCK_SPLIT, "WS", place(nth), 128);
}
static void md_split_complete(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_COMPLETE, "WS", place(nth), 128);
    take(load, BLOCK_BIO_COMPLETE, "WS", place(nth) + 128, 128);
}

static void disk_split_start(struct load *load, uint64_t nth) {
    md_split_start(load, nth);
    take(load, BLOCK_ISSUE, "WS", place(nth), 128);
    take(load, BLOCK_ISSUE, "WS", place(nth) + 128, 128);
}
static void disk_split_complete(struct load *load, uint64_t nth) {
    take(load, BLOCK_COMPLETE, "WS", place(nth), 128);
    take(load, BLOCK_COMPLETE, "WS", place(nth) + 128, 128);
}

static void moved_start(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "WS", place(nth), 256);
}
static void moved_complete(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_COMPLETE, "WS", place(nth) + 256, 0);
}

static void forced_start(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "FWFS", place(nth), 256);
    take(load, BLOCK_ISSUE, "WS", place(nth), 256);
    take(load, BLOCK_COMPLETE, "WS", place(nth), 256);
}
static void forced_complete(struct load *load, uint64_t nth) {
    take(load, BLOCK_COMPLETE, "WS", place(nth) + 256, 0);
}

static void discard_start(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "DS", place(nth), 256);
}
static void discard_complete(struct load *load, uint64_t nth) {
    if (nth % 4)
        return;
    take(load, BLOCK_ISSUE, "DS", place(nth), 1024);
    take(load, BLOCK_COMPLETE, "DS", place(nth), 1024);
}

static void append_start(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "ZAS", nth % 256 << 19, 256);
    take(load, BLOCK_ISSUE, "ZAS", nth % 256 << 19, 256);
}
static void append_complete(struct load *load, uint64_t nth) {
    take(load, BLOCK_COMPLETE, "ZAS", (nth % 256 << 19) + nth / 256 % 1024 * 256, 256);
}

// Their completions are not traced.
static void flush_start(struct load *load, uint64_t nth) {
    (void)nth;
    take(load, BLOCK_ISSUE, "FF", 0, 0);
}
static void flush_complete(struct load *load, uint64_t nth) {
    (void)load;
    (void)nth;
}

// NVMe passthrough by io_uring.
static void command_start(struct load *load, uint64_t nth) {
    (void)nth;
    take(load, BLOCK_ISSUE, "N", 0, 0);
}
static void command_complete(struct load *load, uint64_t nth) {
    (void)nth;
    take(load, BLOCK_COMPLETE, "N", BLOCK_NO_SECTOR, 0);
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run(const char *what, uint32_t in_flight, uint32_t ios, void (*start)(struct load *, uint64_t),
                void (*complete)(struct load *, uint64_t)) {
    struct load load = {.in_flight = in_flight, .dev = 253 << 20, .ts = 1000};
    load.match = block_match_new(4 * in_flight, nothing, &load);
    double begin = cpu_ns();
    for (uint64_t nth = 0; nth < in_flight + ios; nth++) {
        if (nth >= in_flight)
            complete(&load, nth - in_flight);
        start(&load, nth);
    }
    double spent = cpu_ns() - begin;
    const struct block_counts *counts = block_match_counts(load.match);
    printf("%-52s %8.1f ns per event; reported %llu, unmatched %llu\n", what, spent / (double)load.events,
           (unsigned long long)load.done, (unsigned long long)(counts->unmatched_bios + counts->unmatched_completions));
    block_match_free(load.match);
}

int main(int argc, char **argv) {
    uint32_t in_flight = argc > 1 ? (uint32_t)atoi(argv[1]) : 4096, ios = argc > 2 ? (uint32_t)atoi(argv[2]) : 20000;
    run("ordinary requests", in_flight, ios, plain_start, plain_complete);
    run("bios split into two requests", in_flight, ios, disk_split_start, disk_split_complete);
    run("dm splits (since 5.18)", in_flight, ios, dm_split_start, dm_split_complete);
    run("md splits (since 5.14)", in_flight, ios, md_split_start, md_split_complete);
    run("bios completed at their end sector (brd)", in_flight, ios, moved_start, moved_complete);
    run("writes with postflush", in_flight, ios, forced_start, forced_complete);
    run("discards, four per request", in_flight, ios, discard_start, discard_complete);
    run("zone appends to 256 zones", in_flight, ios, append_start, append_complete);
    run("passthrough commands, 1000 in flight", in_flight < 1000 ? in_flight : 1000, ios, command_start,
        command_complete);
    run("flushes without traced completion", in_flight, ios, flush_start, flush_complete);
    return 0;
}
