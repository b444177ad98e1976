// The clocks: CLOCK_MONOTONIC for intervals and events, the thread's CPU time for what ktop costs, and wall time.
#ifndef MODEL_CLOCK_H
#define MODEL_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_ns(clockid_t id) {
    struct timespec now;
    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline uint64_t now_ns(void) {
    return clock_ns(CLOCK_MONOTONIC);
}

// CPU time of the calling thread.
static inline uint64_t thread_cpu_ns(void) {
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

// To be added to a CLOCK_MONOTONIC time to get wall time.
static inline int64_t wall_offset_ns(void) {
    uint64_t before = now_ns();
    return (int64_t)clock_ns(CLOCK_REALTIME) - (int64_t)before;
}

#endif
