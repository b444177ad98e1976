// The kernel's side of the raw reader: the per_cpu/cpuN/trace_pipe_raw files of one tracefs instance, their buffers'
// sizes and their loss counters. Opening goes to each CPU to ask for its buffer (priority_on_cpu): a kernel worker that
// cannot run there must not keep ktop from beginning. CPUs that come online are opened when a drain begins: what one
// does before the drain's horizon is read in that drain. Kernel document: Documentation/trace/ftrace.rst. One thread
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
    uint32_t max_kib;        // per CPU, the most that ring_pipe_wanted asks for
    uint32_t subbuf_kib;     // sub-buffers of that size where the kernel can (6.8 and later), else pages
};
// 0 or -errno; *step (static text) then says what failed: "setting the clock", ...
int ring_pipe_open(const struct ring_pipe_config *config, struct ring_pipe **out, const char **step);
void ring_pipe_free(struct ring_pipe *pipe);
struct ring_source ring_pipe_source(struct ring_pipe *pipe);

// Once per frame: reads the kernel's loss counters of the CPUs that had events.
void ring_pipe_refresh(struct ring_pipe *pipe);
// What per_cpu/cpuN/stats says now, of a CPU that there may be; NULL: it cannot be read. Until the next call. Does not
// wait for other tracers.
const char *ring_pipe_stats_text(struct ring_pipe *pipe, uint32_t cpu);
// Whether the last drain of `ring` found a buffer more than half full that may still grow. *cpu_kib
// then has the size that each CPU's should have; it is (re)allocated, and the caller's.
bool ring_pipe_wanted(const struct ring_pipe *pipe, const struct ring *ring, uint32_t **cpu_kib);
// A descriptor that is readable while any buffer holds something; -1: none could be made.
int ring_pipe_poll_fd(const struct ring_pipe *pipe);

// How long to wait before the next drain of `ring`, in ms, when the last one came after `waited_ms`: so that it finds
// about a third of the fullest buffer, within the limits. What is waited for costs nothing, and each drain costs cold
// caches, the more so the less it finds.
uint32_t ring_pipe_pace(const struct ring_pipe *pipe, const struct ring *ring, uint32_t waited_ms, uint32_t least_ms,
                        uint32_t most_ms);

struct ring_pipe_stats {
    uint64_t overrun, dropped; // per_cpu/cpuN/stats, all CPUs, since the instance was made
    uint64_t buffer_kib;       // of all open CPUs together
    uint32_t cpus;             // open
};
void ring_pipe_stats(const struct ring_pipe *pipe, struct ring_pipe_stats *out);

#endif
