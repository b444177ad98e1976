// What the tests of collectors/block/match.c and collectors/block/bio.c share: a table of what is in flight, events at
// given times, and what was told of them.
#ifndef TESTS_UNIT_FORGE_MATCH_H
#define TESTS_UNIT_FORGE_MATCH_H

#include "tests/unit/forge_block.h"

struct done {
    struct block_io io[32];
    size_t n;
};

static inline void on_done(void *ctx, const struct block_io *io) {
    struct done *done = ctx;
    if (io->kind == BLOCK_IO_REQUEUED)
        return;
    assert_true(done->n < 32);
    done->io[done->n++] = *io;
}

static struct done done;
static struct block_match *match;

static inline int set_up(void **state) {
    (void)state;
    done.n = 0;
    match = block_match_new(64, on_done, &done);
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    block_match_free(match);
    return 0;
}

static inline void at(enum block_kind kind, uint64_t ts, const char *rwbs, uint64_t sector, uint32_t sectors) {
    const struct block_event event = forge_block(kind, ts, rwbs, sector, sectors);
    block_match_event(match, &event);
}

static inline const struct block_counts *counts(void) {
    return block_match_counts(match);
}

#endif
