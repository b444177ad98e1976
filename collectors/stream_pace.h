// Whether a stream may record everything, or one time slice in so many: decided by what reading it costs and whether
// events were lost, with patience on the way back. No state but its own; no kernel.
#ifndef COLLECTORS_STREAM_PACE_H
#define COLLECTORS_STREAM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define STREAM_RATIO_MAX 32

struct stream_pace {
    double budget;     // the share of one CPU that reading may take: 0.25
    uint32_t ratio;    // 1: everything; n: one slice in n
    uint32_t over;     // windows in a row
    uint32_t calm;     // windows in a row
    uint32_t patience; // calm windows before the next try; doubles when the last try failed
    uint32_t since;    // windows at this ratio
    uint64_t lost;     // why it samples: events lost, or
    double share;      // the share that reading took
};

void stream_pace_init(struct stream_pace *pace, double budget);
// After a window (about a third of a second) in which reading took that share of one CPU and so many events were lost
// although no buffer can still grow. True when the ratio changed.
bool stream_pace_window(struct stream_pace *pace, double share, uint64_t lost);

#endif
