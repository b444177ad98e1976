// Decides whether a stream records everything or one time slice in n: by the cost of reading and by lost events, with
// exponential backoff on the way back. Also decides whether the event rate is so high that the self filter costs more
// than recording ktop's own events. Pure: no kernel access.
#ifndef COLLECTORS_STREAM_PACE_H
#define COLLECTORS_STREAM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define STREAM_RATIO_MAX 32

struct stream_pace {
    double budget;     // limit of reading, as a share of one CPU: 0.25
    uint32_t ratio;    // 1: everything; n: one slice in n
    uint32_t over;     // consecutive windows over the budget
    uint32_t calm;     // consecutive windows below CALM
    uint32_t patience; // calm windows before the next try; doubles when the last try failed
    uint32_t since;    // windows at this ratio
    uint64_t lost;     // cause of sampling: events lost, or
    double share;      // the share of a CPU that reading took
};

void stream_pace_init(struct stream_pace *pace, double budget);
// Call after each window (about 1/3 s). share: of one CPU, taken by reading. lost: events lost although no buffer can
// grow further. True if the ratio changed.
bool stream_pace_window(struct stream_pace *pace, double share, uint64_t lost);

// Events per second, without ktop's own. Measured on x86-64 with 14 ktop threads in the self filter: the filter costs
// 17 to 54 ns per event, 0.5 to 1.6 % of a CPU at STREAM_RATE_HIGH. Recording an event of ktop's own costs 200 to
// 230 ns, reading it 6 ns. At that rate the filter costs as much as 25,000 to 70,000 of ktop's own events per second;
// ktop causes 6,000 with few tasks, and 95,000 with a table of 10,000.
#define STREAM_RATE_HIGH 300000.0
#define STREAM_RATE_CALM (STREAM_RATE_HIGH / 3)
#define STREAM_RATE_WINDOWS 7 // consecutive windows below CALM until it ends: changing the filter costs kernel work

struct stream_rate {
    bool on;
    uint32_t calm; // consecutive windows below STREAM_RATE_CALM
};

// Call after each window with its event rate. sampled: not all were recorded; the state stays. True: high event rate.
bool stream_rate_window(struct stream_rate *rate, double per_s, bool sampled);

#endif
