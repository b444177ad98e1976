// How the line follows CLOCK_MONOTONIC: its slope is the rate measured over a second or more, plus a correction that
// removes the offset at the last reading within one second.
#include "collectors/kernel/tracefs/trace_clock.h"

#include <math.h>
#include <string.h>

#include "collectors/kernel/tracefs/format.h"
#include "model/live.h"

#define ONE ((double)(1ull << 63))
#define BEFORE (1ull << 36) // units: about 30 s; events are never older when they are converted
#define MEASURED_NS 1000000000ull
#define BEND_MOST 1e-4 // largest correction of the rate: the relative error of durations
#define JUMP_NS 1e7    // clocks of one machine never drift this far apart between two readings

uint64_t trace_clock_span(const struct trace_clock *clock, uint64_t ns) {
    return (uint64_t)((double)ns * ONE / (double)clock->mult);
}

uint64_t trace_clock_time(const struct trace_clock *clock, uint64_t mono_ns) {
    return clock->ts + trace_clock_span(clock, mono_ns - clock->ns);
}

// Sets the line through a point.
static void line_set(struct trace_clock *clock, uint64_t ts, uint64_t ns, double slope) {
    clock->mult = (uint64_t)(slope * ONE);
    clock->ts = ts - BEFORE;
    clock->ns = ns - (trace_clock_mono(clock, ts) - clock->ns);
    clock->bent_ts = ts;
}

bool trace_clock_reading(struct trace_clock *clock, uint64_t ts, uint64_t ns, uint64_t converted) {
    bool first = !clock->since_ts, known = clock->rate > 0;
    double off = known ? (double)(int64_t)(ns - trace_clock_mono(clock, ts)) : 0;
    bool jumped = !first && (ts < clock->bent_ts || ns < clock->since_ns || fabs(off) > JUMP_NS);
    bool whole = ns - clock->since_ns >= MEASURED_NS;
    if (!first && !jumped && (ts == clock->since_ts || ns == clock->since_ns))
        return true;
    if (first || jumped) {
        line_set(clock, ts, ns, clock->rate);
    } else {
        if (whole || !clock->steady)
            clock->rate = (double)(ns - clock->since_ns) / (double)(ts - clock->since_ts);
        uint64_t at = known && converted ? converted : ts;
        double bend = fmax(-BEND_MOST, fmin(off / 1e9, BEND_MOST));
        line_set(clock, at, known ? trace_clock_mono(clock, at) : ns, clock->rate * (1 + bend));
        clock->steady |= whole;
    }
    if (first || jumped || whole) {
        clock->since_ts = ts;
        clock->since_ns = ns;
    }
    return !jumped;
}

#ifdef __x86_64__
#include <x86intrin.h>

#define TRIES 4
#define NEAR_NS 2000 // longest time between the two counter reads: above it, the thread was preempted

// The kernel uses the TSC as clocksource only if it trusts it. Suspend resets the TSC: not used where suspend exists.
static bool counter_trusted(void) {
    char text[256];
    if (format_file("/sys/devices/system/clocksource/clocksource0/current_clocksource", text, sizeof(text)) <= 0 ||
        strcmp(text, "tsc\n"))
        return false;
    if (format_file("/sys/power/state", text, sizeof(text)) <= 0)
        return true;
    return !strstr(text, "mem") && !strstr(text, "disk");
}

bool trace_clock_read(struct trace_clock *clock, uint64_t converted) {
    if (!clock->since_ts && clock->rate > 0)
        return true;
    uint64_t ts = 0, ns = 0, least = UINT64_MAX;
    for (int i = 0; i < TRIES; i++) {
        uint64_t begin = __rdtsc();
        _mm_lfence();
        uint64_t now = now_ns();
        _mm_lfence();
        uint64_t took = __rdtsc() - begin;
        if (took >= least)
            continue;
        least = took;
        ts = begin + took / 2;
        ns = now;
    }
    bool disturbed = clock->rate > 0 && (double)least * clock->rate > NEAR_NS;
    return disturbed || trace_clock_reading(clock, ts, ns, converted);
}

struct trace_clock trace_clock_choose(void) {
    struct trace_clock clock = {.name = "x86-tsc"};
    if (!counter_trusted())
        return TRACE_CLOCK_MONO;
    trace_clock_read(&clock, 0);
    return clock;
}
#else
bool trace_clock_read(struct trace_clock *clock, uint64_t converted) {
    (void)clock;
    (void)converted;
    return true;
}

struct trace_clock trace_clock_choose(void) {
    return TRACE_CLOCK_MONO;
}
#endif
