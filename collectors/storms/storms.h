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
    STORMS
};

struct storm_source {
    const char *name, *tracepoint; // of a row; a raw tracepoint, in the context of the process that causes it
    bool has_value;                // count only events whose first argument is `value`
    int32_t value;
    enum {
        DETAIL_NONE,
        DETAIL_SIGNAL,
        DETAIL_LOCK,
        DETAIL_RESULT,
        DETAIL_SYNC
    } detail; // DETAIL_SYNC: only fsync and alike
};
extern const struct storm_source storm_sources[STORMS];

// A key of its map. detail: the signal; flags of the lock; of a system call its number << 16 and its error, 0: none.
struct storm_key {
    uint32_t pid, detail;
};

// program.c: counts events by struct storm_key in the map.
void storm_program(struct bpf_code *code, const struct storm_source *source, int map);

// Whether the values in the section of the collector "system" point to such a storm. section may be NULL.
bool storm_is_likely(enum storm_kind kind, const struct section *system);

#endif
