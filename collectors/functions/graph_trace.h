// The function graph tracer, switched on for ktop: in an instance of ktop's own where the kernel can (Linux 6.12 and
// later), else in the top-level buffer while no other tool uses it. Its filters are global in both cases
// (collectors/kernel/tracefs/graph_state.h). One thread owns a trace.
// Kernel document: Documentation/trace/ftrace.rst, function_graph.
#ifndef COLLECTORS_FUNCTIONS_GRAPH_TRACE_H
#define COLLECTORS_FUNCTIONS_GRAPH_TRACE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectors/functions/graph_tree.h"
#include "collectors/kernel/symbols/table.h"

struct graph_choice {
    const char *functions; // names or globs, separated by blanks; "": all, only with PIDs
    const char *notrace;   // without these and what they call; ""
    const char *start;     // recording begins when one of these is entered; "": at once
    const char *stop;      // it pauses when one of these is; ""
    const pid_t *pids;     // only their threads; they must outlive the trace
    size_t n_pids;
    bool children;       // and of their descendants
    bool show_self;      // ktop's threads as well
    bool try;            // for --doctor: only the chosen functions are patched, and the top-level buffer is not used
    const char *cpus;    // only on these, "0,2-5"; NULL: all
    uint32_t depth;      // of calls; 0: no limit but the kernel's
    uint64_t slow_ns;    // outermost calls that are listed take at least this
    uint32_t buffer_kib; // per CPU; 0: the default
};

struct graph_trace;
struct graph_trace_failure {
    char reason[256], fix[256];
};

// 0, or -errno with the reason and the fix; nothing is left in the kernel then.
int graph_trace_open(const struct graph_choice *choice, struct graph_trace_failure *failure, struct graph_trace **out);
void graph_trace_close(struct graph_trace *trace); // NULL is allowed
// Off for good: the kernel is as before. Names and times can still be asked for.
void graph_trace_stop(struct graph_trace *trace);

// The functions that the kernel's filter names, as code; sorted. Owned by the trace.
const struct graph_range *graph_trace_ranges(const struct graph_trace *trace, size_t *n);
const struct symbol_table *graph_trace_symbols(const struct graph_trace *trace); // of the kernel

// Hands out what is recorded and old enough. Returns the records.
uint64_t graph_trace_drain(struct graph_trace *trace, struct graph_tree *tree);
// After a drain: when the next one is due in ms, and the descriptor that is readable before (-1: none).
uint32_t graph_trace_next_ms(struct graph_trace *trace, int *poll_fd);
// Once per interval: threads that are new. Returns the records lost since the last call.
uint64_t graph_trace_refresh(struct graph_trace *trace);
// To CLOCK_MONOTONIC, from the time of a record.
uint64_t graph_trace_mono(const struct graph_trace *trace, uint64_t ts);
bool graph_trace_is_top(const struct graph_trace *trace);
bool graph_trace_is_on(const struct graph_trace *trace); // false: it waits for a start function

#endif
