// Where a stream's clock stands against CLOCK_MONOTONIC, from readings of it between two of the other.
#ifndef COLLECTORS_STREAM_CLOCK_H
#define COLLECTORS_STREAM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct stream_clock {
    bool known;
    int64_t offset_ns; // CLOCK_MONOTONIC minus the stream's
};

// `us`: what the stream's clock showed, its fraction cut off, at some moment from `before` to `after`. Who reads may
// lose its CPU in between, for 100 ms on a crowded machine: the offset only moves as far as a reading proves it wrong.
static inline void stream_clock_reading(struct stream_clock *clock, uint64_t before, uint64_t us, uint64_t after) {
    int64_t least = (int64_t)before - (int64_t)(us * 1000) - 999, most = (int64_t)after - (int64_t)(us * 1000);
    if (!clock->known)
        clock->offset_ns = least + (most - least) / 2;
    else if (clock->offset_ns < least)
        clock->offset_ns = least;
    else if (clock->offset_ns > most)
        clock->offset_ns = most;
    clock->known = true;
}

#endif
