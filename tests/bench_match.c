// What rare events of the block collector cost while much is in flight: forged events of devices whose every I/O is one
// of them.
//
//     bench_match [IN_FLIGHT [IOS]]     prints nanoseconds an event for each kind
#include <stdlib.h>
#include <time.h>

#include "tests/unit/forge_block.h"

struct load {
    struct block_match *match;
    uint32_t in_flight, dev;
    uint64_t ts, events, told;
};

static void nothing(void *ctx, const struct block_io *io) {
    struct load *load = ctx;
    load->told += io->kind != BLOCK_IO_REQUEUED;
}

static void take(struct load *load, enum block_kind kind, const char *rwbs, uint64_t sector, uint32_t sectors) {
    struct block_event event = forge_block(kind, load->ts += 100, rwbs, sector, sectors);
    event.dev = load->dev;
    block_match_event(load->match, &event);
    load->events++;
}

// Each kind: how the nth I/O comes, and how it ends, once as many others came after it. They lie apart from each other.
static uint64_t place(uint64_t nth) {
    return nth * 7919 % 100000 * 4096;
}

static void plain_comes(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "WS", place(nth), 256);
    take(load, BLOCK_ISSUE, "WS", place(nth), 256);
}
static void plain_ends(struct load *load, uint64_t nth) {
    take(load, BLOCK_COMPLETE, "WS", place(nth), 256);
}

static void trim_comes(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "WS", place(nth), 256);
    take(load, BLOCK_SPLIT, "WS", place(nth) + 128, 0);
}
static void trim_ends(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_COMPLETE, "WS", place(nth) + 128, 128);
}

static void split_comes(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "WS", place(nth), 256);
    take(load, BLOCK_SPLIT, "WS", place(nth), 128);
}
static void split_ends(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_COMPLETE, "WS", place(nth), 128);
    take(load, BLOCK_BIO_COMPLETE, "WS", place(nth) + 128, 128);
}

static void cut_comes(struct load *load, uint64_t nth) {
    split_comes(load, nth);
    take(load, BLOCK_ISSUE, "WS", place(nth), 128);
    take(load, BLOCK_ISSUE, "WS", place(nth) + 128, 128);
}
static void cut_ends(struct load *load, uint64_t nth) {
    take(load, BLOCK_COMPLETE, "WS", place(nth), 128);
    take(load, BLOCK_COMPLETE, "WS", place(nth) + 128, 128);
}

static void moved_comes(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "WS", place(nth), 256);
}
static void moved_ends(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_COMPLETE, "WS", place(nth) + 256, 0);
}

static void forced_comes(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "FWFS", place(nth), 256);
    take(load, BLOCK_ISSUE, "WS", place(nth), 256);
    take(load, BLOCK_COMPLETE, "WS", place(nth), 256);
}
static void forced_ends(struct load *load, uint64_t nth) {
    take(load, BLOCK_COMPLETE, "WS", place(nth) + 256, 0);
}

static void discard_comes(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "DS", place(nth), 256);
}
static void discard_ends(struct load *load, uint64_t nth) {
    if (nth % 4)
        return;
    take(load, BLOCK_ISSUE, "DS", place(nth), 1024);
    take(load, BLOCK_COMPLETE, "DS", place(nth), 1024);
}

static void append_comes(struct load *load, uint64_t nth) {
    take(load, BLOCK_BIO_QUEUE, "ZAS", nth % 256 << 19, 256);
    take(load, BLOCK_ISSUE, "ZAS", nth % 256 << 19, 256);
}
static void append_ends(struct load *load, uint64_t nth) {
    take(load, BLOCK_COMPLETE, "ZAS", (nth % 256 << 19) + nth / 256 % 1024 * 256, 256);
}

// Their ends are not told.
static void flush_comes(struct load *load, uint64_t nth) {
    (void)nth;
    take(load, BLOCK_ISSUE, "FF", 0, 0);
}
static void flush_ends(struct load *load, uint64_t nth) {
    (void)load;
    (void)nth;
}

// NVMe's, of io_uring.
static void command_comes(struct load *load, uint64_t nth) {
    (void)nth;
    take(load, BLOCK_ISSUE, "N", 0, 0);
}
static void command_ends(struct load *load, uint64_t nth) {
    (void)nth;
    take(load, BLOCK_COMPLETE, "N", BLOCK_NO_SECTOR, 0);
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run(const char *what, uint32_t in_flight, uint32_t ios, void (*comes)(struct load *, uint64_t),
                void (*ends)(struct load *, uint64_t)) {
    struct load load = {.in_flight = in_flight, .dev = 253 << 20, .ts = 1000};
    load.match = block_match_new(4 * in_flight, nothing, &load);
    double begin = cpu_ns();
    for (uint64_t nth = 0; nth < in_flight + ios; nth++) {
        if (nth >= in_flight)
            ends(&load, nth - in_flight);
        comes(&load, nth);
    }
    double spent = cpu_ns() - begin;
    const struct block_counts *counts = block_match_counts(load.match);
    printf("%-52s %8.1f ns an event; told %llu, not matched %llu\n", what, spent / (double)load.events,
           (unsigned long long)load.told, (unsigned long long)(counts->unmatched_bios + counts->unmatched_completions));
    block_match_free(load.match);
}

int main(int argc, char **argv) {
    uint32_t in_flight = argc > 1 ? (uint32_t)atoi(argv[1]) : 4096, ios = argc > 2 ? (uint32_t)atoi(argv[2]) : 20000;
    run("ordinary requests", in_flight, ios, plain_comes, plain_ends);
    run("a disk cuts each bio in two requests", in_flight, ios, cut_comes, cut_ends);
    run("dm cuts each bio (5.18 and later)", in_flight, ios, trim_comes, trim_ends);
    run("md cuts each bio (5.14 and later)", in_flight, ios, split_comes, split_ends);
    run("bios that end where they end (brd)", in_flight, ios, moved_comes, moved_ends);
    run("writes with a flush behind them", in_flight, ios, forced_comes, forced_ends);
    run("discards, four in one request", in_flight, ios, discard_comes, discard_ends);
    run("appends to 256 zones", in_flight, ios, append_comes, append_ends);
    run("commands of a program, 1000 at once", in_flight < 1000 ? in_flight : 1000, ios, command_comes, command_ends);
    run("flushes whose ends are not told", in_flight, ios, flush_comes, flush_ends);
    return 0;
}
