// The parts of the collector "storms", for its tests. Private to collectors/storms.
#ifndef COLLECTORS_STORMS_H
#define COLLECTORS_STORMS_H

#include "collectors/kernel/bpf/bpf.h"
#include "model/section.h"

// What is counted per process.
enum storm_kind {
    STORM_TLB,
    STORM_IPI,
    STORM_TIMER,
    STORM_PACKET,
    STORM_CALL,
    STORM_SIGNAL,
    STORM_LOCK,
    STORM_SYNC,
    STORM_FORK,
    STORM_COMPACTION,
    STORM_RECLAIM,
    STORM_LIMIT_RECLAIM,
    STORM_CONNECT,
    STORM_RESET,
    STORM_NO_SPACE,
    STORMS
};

struct storm_source {
    const char *name, *tracepoint; // of a row; a raw tracepoint, in the context of the process that causes it
    const char *also;              // another one, whose arguments do not matter; NULL: none
    bool has_value;                // count only events whose argument of that index is `value`
    uint8_t argument;
    int32_t value;
    enum {
        DETAIL_NONE,
        DETAIL_SIGNAL,
        DETAIL_LOCK,
        DETAIL_RESULT,
        DETAIL_SYNC,
        DETAIL_NO_SPACE,
        DETAIL_ORDER
    } detail; // DETAIL_SYNC: only fsync and alike; DETAIL_NO_SPACE: only calls that fail with ENOSPC
};
extern const struct storm_source storm_sources[STORMS];
// Its detail is a system call and its error.
static inline bool storm_is_of_calls(const struct storm_source *source) {
    return source->detail == DETAIL_RESULT || source->detail == DETAIL_SYNC || source->detail == DETAIL_NO_SPACE;
}
#define STORM_WAIT_BEGINS "contention_begin"

// A key of its map. detail: the signal; flags of the lock; the order of an allocation; of a system call its number <<
// 16 and its error, 0: none.
struct storm_key {
    uint32_t pid, detail;
};

struct storm_count {
    uint64_t events, ns; // ns: what they lasted, for DETAIL_LOCK
};
// A wait that has begun.
struct storm_wait_key {
    uint64_t thread, lock; // thread: process << 32 | thread
};
struct storm_wait {
    uint64_t begin_ns, flags; // CLOCK_MONOTONIC
};

// program.c: counts events by struct storm_key in `map`, as struct storm_count. waits: of DETAIL_LOCK, else -1.
void storm_program(struct bpf_code *code, const struct storm_source *source, int map, int waits);
// For STORM_WAIT_BEGINS: puts struct storm_wait into `waits`.
void storm_wait_program(struct bpf_code *code, int waits);

// The collectors whose values point to a storm.
enum { STORM_OF_SYSTEM, STORM_OF_SOCKETS, STORM_OF_FILESYSTEMS, STORM_INPUTS };
// inputs: their sections; NULL: none yet.
bool storm_is_likely(enum storm_kind kind, const struct section *const *inputs);

#endif
