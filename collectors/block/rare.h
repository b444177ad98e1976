// The I/Os of an interval that somebody may look for besides the newest, of which a flood leaves no other trace: those
// that failed, the slowest of each device and operation, and those of tasks that do few. Remembered without allocation
// (but for a device and operation that are new); an ordinary I/O of a flood costs a few comparisons. One thread owns
// it.
#ifndef COLLECTORS_BLOCK_RARE_H
#define COLLECTORS_BLOCK_RARE_H

#include "collectors/block/match.h"

#define BLOCK_FAILED_KEPT 128 // the newest
#define BLOCK_SLOW_SETS 64    // devices and operations with slowest ones of their own; the rest shares the last
#define BLOCK_SLOW_KEPT 128   // of each, in each way
#define BLOCK_SLOW_CHOSEN 512 // of all of them
#define BLOCK_FEW_EACH 64     // the first of each task, device and operation
#define BLOCK_FEW_KEPT 16384  // of all of them; when there is no more room, fewer of each
#define BLOCK_FEW_MOST 1024   // who did more of them in the interval did not do few
#define BLOCK_FEW_CHOSEN 384  // of those that did the fewest
#define BLOCK_RARE_CHOSEN (BLOCK_FAILED_KEPT + BLOCK_SLOW_CHOSEN + BLOCK_FEW_CHOSEN)

// One I/O, in one line of the cache.
struct block_recent {
    uint64_t arrival_ns, issue_ns, end_ns, bio_ns, sector; // as in struct block_io
    uint32_t bytes;
    uint32_t proc; // index into procs, or UINT32_MAX when that table was full: then it is one of the unattributed
    int16_t error;
    char rwbs[BLOCK_RWBS];
};
_Static_assert(sizeof(struct block_recent) == 64, "a line of the cache");
struct block_unattributed {
    uint32_t dev;
    int32_t tid;
    char comm[BLOCK_COMM];
};

struct block_pick {
    uint64_t nth;  // I/O of the interval, in the order in which they ended
    uint64_t rank; // of the slow: ns; of the few: it is the task's nth
    struct block_recent io;
    struct block_unattributed who;
};

enum block_slow_by {
    BLOCK_SLOW_SERVICE, // from issue to end
    BLOCK_SLOW_WAIT,    // from the first that is known of it
    BLOCK_SLOW_WAYS,
};
struct block_slow {
    uint64_t least[BLOCK_SLOW_WAYS]; // what is not above it is none of the slowest
    uint32_t n[BLOCK_SLOW_WAYS];
    struct block_pick picks[BLOCK_SLOW_WAYS][2 * BLOCK_SLOW_KEPT]; // as many again, so that it is rarely sifted
};

enum block_why { BLOCK_FAILED, BLOCK_SLOW, BLOCK_FEW, BLOCK_WHYS };
extern const char *const block_why_names[BLOCK_WHYS];
struct block_chosen {
    const struct block_pick *pick;
    enum block_why why; // the first that holds
};

struct block_rare {
    struct block_pick *failed; // BLOCK_FAILED_KEPT, a ring
    uint64_t n_failed;
    struct block_slow *slow[BLOCK_SLOW_SETS]; // the first n_slow in use; the others may be NULL
    uint32_t n_slow;
    struct block_slow *nobody; // of those whom nobody wants to see: none is slow enough
    struct block_pick *few;    // BLOCK_FEW_KEPT
    uint32_t n_few;
    uint32_t few_each;                    // that many of a task are remembered; 0: no more of any
    uint64_t *ranks;                      // for sifting
    struct block_chosen *chosen, *sorted; // sorted: while they are chosen
};

struct block_rare *block_rare_new(void);
void block_rare_free(struct block_rare *rare);
void block_rare_clear(struct block_rare *rare); // for the next interval
// The set of slowest ones of a device and operation, for the rest of the interval; *at is its index + 1, 0: none yet.
struct block_slow *block_rare_slow(struct block_rare *rare, uint8_t *at);

void block_rare_failed(struct block_rare *rare, const struct block_pick *pick);
// pick->rank above least[by].
void block_rare_slowest(struct block_rare *rare, struct block_slow *slow, enum block_slow_by by,
                        const struct block_pick *pick);
// pick->rank below few_each.
void block_rare_few(struct block_rare *rare, const struct block_pick *pick);
// Forgets those of tasks that nobody wants to see.
void block_rare_forget(struct block_rare *rare, bool (*unwanted)(const void *ctx, uint32_t proc), const void *ctx);

// Those before the nth I/O of the interval, each once, in the order of their end; at most BLOCK_RARE_CHOSEN. ios: how
// many the task of a pick did in all. Valid until the next I/O.
uint32_t block_rare_choose(struct block_rare *rare, uint64_t before, uint64_t (*ios)(const void *ctx, uint32_t proc),
                           const void *ctx, const struct block_chosen **out);

#endif
