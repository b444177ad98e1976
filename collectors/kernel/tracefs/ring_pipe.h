// The kernel's side of the raw reader: the per_cpu/cpuN/trace_pipe_raw files of one tracefs instance, their buffers'
// sizes and their loss counters. Opening resizes each buffer on its CPU (priority_on_cpu): a kworker that cannot run
// there must not delay ktop's start. CPUs that come online are opened when a drain begins: events before the drain's
// horizon are read in that drain. Kernel document: Documentation/trace/ftrace.rst. One thread
// owns a ring_pipe.
#ifndef COLLECTORS_RING_PIPE_H
#define COLLECTORS_RING_PIPE_H

#include "collectors/kernel/tracefs/ring.h"

struct ring_pipe;

struct ring_pipe_config {
    const char *instance;    // its directory
    const char *clock;       // written to trace_clock
    uint32_t buffer_kib;     // per CPU
    const uint32_t *cpu_kib; // of each CPU instead; NULL: all the same
    uint32_t max_kib;        // per CPU, the limit of ring_pipe_wanted
    uint32_t subbuf_kib;     // sub-buffers of that size where the kernel can (6.8 and later), else pages
    bool as_it_is;           // another's buffer, of which nothing is changed: no clock, no sizes
};
// 0 or -errno; *step (static text) is then the failed step: "setting the clock", ...
int ring_pipe_open(const struct ring_pipe_config *config, struct ring_pipe **out, const char **step);
void ring_pipe_free(struct ring_pipe *pipe);
struct ring_source ring_pipe_source(struct ring_pipe *pipe);

// Once per frame: reads the kernel's loss counters of the CPUs that had events.
void ring_pipe_refresh(struct ring_pipe *pipe);
// Of one CPU, as of the last refresh.
uint64_t ring_pipe_lost(const struct ring_pipe *pipe, uint32_t cpu);
// The text of per_cpu/cpuN/stats of a possible CPU, valid until the next call; NULL: not readable. Does not wait for
// other tracers.
const char *ring_pipe_stats_text(struct ring_pipe *pipe, uint32_t cpu);
// Whether the last drain of `ring` found a buffer more than half full that may still grow. *cpu_kib
// then has the wanted size of each CPU's buffer; it is (re)allocated, and owned by the caller.
bool ring_pipe_wanted(const struct ring_pipe *pipe, const struct ring *ring, uint32_t **cpu_kib);
// A descriptor that is readable while any buffer has events; -1: could not be created.
int ring_pipe_poll_fd(const struct ring_pipe *pipe);

// The interval to the next drain of `ring`, in ms, after an interval of `waited_ms`: it aims at a third of the fullest
// buffer, within the limits. Waiting costs nothing, and each drain runs with cold caches, so rare large drains
// are cheapest.
uint32_t ring_pipe_pace(const struct ring_pipe *pipe, const struct ring *ring, uint32_t waited_ms, uint32_t least_ms,
                        uint32_t most_ms);

struct ring_pipe_stats {
    uint64_t overrun, dropped; // per_cpu/cpuN/stats, all CPUs, since the instance was created
    uint64_t buffer_kib;       // of all open CPUs together
    uint32_t cpus;             // open
};
void ring_pipe_stats(const struct ring_pipe *pipe, struct ring_pipe_stats *out);

#endif
