// The clock of a trace instance, and its conversion to CLOCK_MONOTONIC. The kernel reads the clock for every event, in
// the traced task's time: the CPU's counter (x86-tsc) takes 20 to 30 ns less than nanoseconds (mono). Kernel document:
// Documentation/trace/ftrace.rst, trace_clock.
//
// Counter times are converted by a straight line. Each reading changes its slope slightly towards CLOCK_MONOTONIC, from
// the last converted time on: the conversion stays monotonic. One thread owns a clock.
#ifndef COLLECTORS_TRACE_CLOCK_H
#define COLLECTORS_TRACE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct trace_clock {
    const char *name;            // for the file trace_clock
    uint64_t ts, ns;             // a point of the line, earlier than every time that is converted
    uint64_t mult;               // its slope: nanoseconds per unit, below 2, times 2^63
    double rate;                 // the measured slope; 0: not yet
    uint64_t bent_ts;            // where the slope last changed
    uint64_t since_ts, since_ns; // the reading from which the rate is measured
    bool steady;                 // the rate was measured over MEASURED_NS at least once
};

// CLOCK_MONOTONIC: no conversion.
#define TRACE_CLOCK_MONO ((struct trace_clock){.name = "mono", .mult = 1ull << 63, .rate = 1})

// The cheapest clock of this machine that is synchronized between CPUs and never reset. The counter's rate is known
// after a second reading (trace_clock_read), at least 1 ms later.
struct trace_clock trace_clock_choose(void);
// Reads both clocks and corrects the line. converted: the latest converted trace clock time; 0: none yet. False: a
// clock has jumped, and the line with it.
bool trace_clock_read(struct trace_clock *clock, uint64_t converted);
// The same for given readings.
bool trace_clock_reading(struct trace_clock *clock, uint64_t ts, uint64_t ns, uint64_t converted);

// Trace clock time to CLOCK_MONOTONIC: the upper half of a 128-bit product.
static inline uint64_t trace_clock_mono(const struct trace_clock *clock, uint64_t ts) {
    return clock->ns + (uint64_t)((unsigned __int128)((ts - clock->ts) << 1) * clock->mult >> 64);
}
// The inverse, to within one unit; and the number of units in ns nanoseconds.
uint64_t trace_clock_time(const struct trace_clock *clock, uint64_t mono_ns);
uint64_t trace_clock_span(const struct trace_clock *clock, uint64_t ns);

#endif
