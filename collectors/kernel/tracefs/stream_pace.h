// Whether a stream may record everything, or one time slice in so many: decided by what reading it costs and whether
// events were lost, with patience on the way back. And whether they are so many that the kernel's look at every one of
// them, whether it is ktop's own, costs more than ktop's own being recorded. No state but its own; no kernel.
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

// Events of others, a second. Measured on x86-64 with 14 threads of ktop's in the filter: the look costs others 17 to
// 54 ns an event, which is 0.5 to 1.6 % of a CPU at the first limit; an event of ktop's own costs 200 to 230 ns to
// record, and 6 to read. There the limit is as dear as 25,000 to 70,000 events of ktop's own a second: it makes 6,000
// beside few tasks, and 95,000 with a table of 10,000.
#define STREAM_RATE_HIGH 300000.0
#define STREAM_RATE_CALM (STREAM_RATE_HIGH / 3)
#define STREAM_RATE_WINDOWS 7 // windows in a row below, before it is over: each turn costs the kernel some work

struct stream_rate {
    bool on;
    uint32_t calm; // windows in a row
};

// After a window in which so many events came a second; sampled: not all were recorded, which decides nothing. Returns
// whether there is a torrent.
bool stream_rate_window(struct stream_rate *rate, double per_s, bool sampled);

#endif
