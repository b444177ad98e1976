// What else traces this kernel: tracers and events that are on in tracefs, live patches, probes, BPF programs. ktop's
// own are left out. They slow down the functions that ktop measures, or change which function runs. Documents:
// Documentation/trace/ftrace.rst, kprobes.rst (debugfs), Documentation/livepatch/, bpf(2).
#ifndef COLLECTORS_KERNEL_TRACEFS_TRACERS_H
#define COLLECTORS_KERNEL_TRACEFS_TRACERS_H

#include <stddef.h>

#define TRACERS_MAX 16

struct trace_on {
    char instance[64]; // "": the top-level one
    char traces[80];   // "tracer function", "event sched:sched_switch"
};
// Instances below the tracefs directory that trace; how many.
size_t tracers_on(const char *tracing, struct trace_on *out, size_t most);

struct tracer {
    char text[192]; // "tracer function in the top-level instance", "livepatch fix_1"
};
// All of them. sys: "/sys", or a test's. May take some ms: not more than every few seconds.
size_t tracers_find(const char *tracing, const char *sys, struct tracer *out, size_t most);

// "other tracers: tracer function in the top-level instance; livepatch fix_1"; as many as fit.
void tracers_text(const struct tracer *tracers, size_t n, char *out, size_t size);

#endif
