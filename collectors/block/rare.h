// I/Os of an interval worth listing besides the newest, which a high rate would push out: the failed ones, the slowest
// of each device and operation, and those of tasks with few I/Os. No allocation except for a new device and operation;
// an ordinary I/O costs a few comparisons. One thread owns it.
#ifndef COLLECTORS_BLOCK_RARE_H
#define COLLECTORS_BLOCK_RARE_H

#include "collectors/block/match.h"

#define BLOCK_FAILED_KEPT 128 // the newest
#define BLOCK_SLOW_SETS 64    // devices and operations with their own set; the rest share the last
#define BLOCK_SLOW_KEPT 128   // per set and ranking
#define BLOCK_SLOW_CHOSEN 512 // of all sets
#define BLOCK_FEW_EACH 64     // first I/Os of each task, device and operation
#define BLOCK_FEW_KEPT 16384  // in total; when full, fewer of each task
#define BLOCK_FEW_MOST 1024   // a task with more in the interval did not do few
#define BLOCK_FEW_CHOSEN 384  // of the tasks with the fewest
#define BLOCK_RARE_CHOSEN (BLOCK_FAILED_KEPT + BLOCK_SLOW_CHOSEN + BLOCK_FEW_CHOSEN)

// One I/O, in one cache line.
struct block_recent {
    uint64_t arrival_ns, issue_ns, end_ns, bio_ns, sector; // as in struct block_io
    uint32_t bytes;
    uint32_t proc; // index into procs; UINT32_MAX: that table was full, see block_unattributed
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
    uint64_t nth;  // position in the interval, in order of completion
    uint64_t rank; // slow: ns; few: the I/O is the task's nth
    struct block_recent io;
    struct block_unattributed task;
};

enum block_slow_by {
    BLOCK_SLOW_SERVICE, // issue to completion
    BLOCK_SLOW_WAIT,    // first traced event to completion
    BLOCK_SLOW_WAYS,
};
struct block_slow {
    uint64_t least[BLOCK_SLOW_WAYS]; // an I/O must exceed it to be among the slowest
    uint32_t n[BLOCK_SLOW_WAYS];
    struct block_pick picks[BLOCK_SLOW_WAYS][2 * BLOCK_SLOW_KEPT]; // twice the room, so that sifting is rare
};

enum block_why { BLOCK_FAILED, BLOCK_SLOW, BLOCK_FEW, BLOCK_WHYS };
extern const char *const block_why_names[BLOCK_WHYS];
struct block_chosen {
    const struct block_pick *pick;
    enum block_why why; // the first reason that applies
};

struct block_rare {
    struct block_pick *failed; // BLOCK_FAILED_KEPT, a ring
    uint64_t n_failed;
    struct block_slow *slow[BLOCK_SLOW_SETS]; // n_slow in use; the others may be NULL
    uint32_t n_slow;
    struct block_slow *filtered; // for I/Os hidden by -p or -u: nothing exceeds its minimum
    struct block_pick *few;      // BLOCK_FEW_KEPT
    uint32_t n_few;
    uint32_t few_each;                    // remembered per task; 0: none
    uint64_t *ranks;                      // scratch for sifting
    struct block_chosen *chosen, *sorted; // sorted: scratch for choosing
};

struct block_rare *block_rare_new(void);
void block_rare_free(struct block_rare *rare);
void block_rare_clear(struct block_rare *rare); // for the next interval
// The set of a device and operation for this interval; *at is its index + 1, 0: not yet assigned.
struct block_slow *block_rare_slow(struct block_rare *rare, uint8_t *at);

void block_rare_failed(struct block_rare *rare, const struct block_pick *pick);
// Requires pick->rank > least[by].
void block_rare_slowest(struct block_rare *rare, struct block_slow *slow, enum block_slow_by by,
                        const struct block_pick *pick);
// Requires pick->rank < few_each.
void block_rare_few(struct block_rare *rare, const struct block_pick *pick);
// Drops the I/Os of tasks that the user filtered out.
void block_rare_forget(struct block_rare *rare, bool (*unwanted)(const void *ctx, uint32_t proc), const void *ctx);

// I/Os before the nth of the interval, each once, in order of completion; at most BLOCK_RARE_CHOSEN. ios returns the
// number of I/Os of a pick's task. Valid until the next I/O.
uint32_t block_rare_choose(struct block_rare *rare, uint64_t before, uint64_t (*ios)(const void *ctx, uint32_t proc),
                           const void *ctx, const struct block_chosen **out);

#endif
