// The clock of a trace instance, and what CLOCK_MONOTONIC showed when it showed that. The kernel asks its clock for
// every event, on the traced program's time: the CPU's counter (x86-tsc) costs it 20 to 30 ns less than the time in
// nanoseconds (mono). Kernel document: Documentation/trace/ftrace.rst, trace_clock.
//
// Times of the counter are converted by a straight line. With each reading it bends a little towards where
// CLOCK_MONOTONIC is, at the place up to which times have been converted: what came earlier stays earlier. One thread
// owns a clock.
#ifndef COLLECTORS_TRACE_CLOCK_H
#define COLLECTORS_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct trace_clock {
    const char *name;            // for trace_clock
    uint64_t ts, ns;             // a point of the line, well before all times that may be asked for
    uint64_t mult;               // its slope: nanoseconds for each unit, below 2, times 2^63
    double rate;                 // the same as measured; 0: not yet
    uint64_t told_ts;            // where it was bent
    uint64_t since_ts, since_ns; // the reading that the rate is measured from
    bool steady;                 // it was measured for long enough once
};

// CLOCK_MONOTONIC's own: nothing is converted.
#define TRACE_CLOCK_MONO ((struct trace_clock){.name = "mono", .mult = 1ull << 63, .rate = 1})

// The cheapest clock of this machine that is the same on all of its CPUs and never begins anew. Of the counter the rate
// is known after a second reading (trace_clock_read), a millisecond later or more.
struct trace_clock trace_clock_choose(void);
// Reads both clocks, and bends the line. told: the trace clock's time up to which everything was converted; 0: nothing
// yet. False: one of the clocks has jumped, and the line with it.
bool trace_clock_read(struct trace_clock *clock, uint64_t told);
// The same of what was read.
bool trace_clock_reading(struct trace_clock *clock, uint64_t ts, uint64_t ns, uint64_t told);

// CLOCK_MONOTONIC at that time of the trace clock: a multiplication whose lower half is of no interest.
static inline uint64_t trace_clock_mono(const struct trace_clock *clock, uint64_t ts) {
    return clock->ns + (uint64_t)((unsigned __int128)((ts - clock->ts) << 1) * clock->mult >> 64);
}
// And back, to within one unit; and how many units pass in so many nanoseconds.
uint64_t trace_clock_time(const struct trace_clock *clock, uint64_t mono_ns);
uint64_t trace_clock_span(const struct trace_clock *clock, uint64_t ns);

#endif
