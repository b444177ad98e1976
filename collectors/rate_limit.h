// Limits of probes that cost the traced programs time: what is probed is counted first, and stopped when it becomes
// frequent.
#ifndef COLLECTORS_RATE_LIMIT_H
#define COLLECTORS_RATE_LIMIT_H

#include <stdbool.h>
#include <stdint.h>

#define RATE_LIMIT_COUNT_NS 200000000l // of counting, before anything is recorded
#define RATE_LIMIT_STOP_FACTOR 2       // times the limit: a running probe is stopped
#define RATE_LIMIT_INTERVALS 2         // in a row

// Whether a rate is above the factor times its limit in as many intervals; *high counts them. Called once per interval.
static inline bool rate_limit_passed(uint32_t *high, double rate, double most) {
    *high = rate > RATE_LIMIT_STOP_FACTOR * most ? *high + 1 : 0;
    return *high >= RATE_LIMIT_INTERVALS;
}

#endif
