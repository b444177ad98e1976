// A collector: one source of the kernel, in a thread of its own. A new source is one file that defines a
// `const struct collector` at its foot and one row in collectors/table.c.
//
// The runner (collectors/runner.h) calls open, then sample at every tick and drain between ticks, all in the
// collector's thread, and close at the end. A collector accumulates privately, fills a section in sample, and never
// draws, waits for a screen, or calls another collector: it reads the other one's last section instead. A missing
// source is a state with a reason, never an exit.
#ifndef COLLECTORS_COLLECTOR_H
#define COLLECTORS_COLLECTOR_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "collectors/request.h"
#include "model/section.h"

struct perf_event_list;

// Settings that tests force, from the hidden option --test NAME=VALUE (repeatable); zero: not forced.
struct test_options {
    uint32_t buffer_kib;   // per-CPU trace buffers of exactly this size: too small, or never too small
    bool clock_mono;       // clock=mono: trace events carry CLOCK_MONOTONIC
    double task_bound_pct; // cost of the counters of all tasks in % of a CPU, above which only busy ones are counted
    double
        function_bound_pct;  // cost of the probes of functions in % of a CPU, above which they are refused and stopped
    const char *task_events; // NAME=TYPE:CONFIG,...: perf events in place of the hardware events of those names
    double probe_limit; // probe_limit=HITS_PER_S: above it a probe or call graph is refused; 0: the limit of its kind
};

// How user stacks are walked.
enum call_graph {
    CALL_GRAPH_AUTO, // by frame pointers, and with DWARF where a process has none
    CALL_GRAPH_FP,
    CALL_GRAPH_DWARF,
};
#define PROFILE_STACK_BYTES 8192      // of the user stack in each sample, by default
#define PROFILE_STACK_BYTES_MAX 65528 // of perf_event_open(2); a multiple of 8

struct profile_options {
    const struct perf_event_list *event; // what is sampled: one event, NULL: cycles or cpu-clock. Owned by the caller
    uint32_t frequency_hz;               // 0: the default
    enum call_graph call_graph;
    uint32_t stack_bytes; // 0: PROFILE_STACK_BYTES
    bool idle;            // also samples of idle CPUs
    bool wakers;          // off-CPU paths go on with the stack of the waker
    const char *cpus;     // only these CPUs are sampled on, as a list: "0,2-5"; NULL: all
    const char *cgroup;   // only processes in this cgroup or below it; NULL: all
};

// The command line, as far as collectors need it. Fixed before the threads start; live changes are requests.
struct collect_options {
    bool threads;      // tasks: threads instead of processes
    const pid_t *pids; // only these processes (NULL: all)
    size_t n_pids;
    bool children; // and their descendants
    bool has_user;
    uid_t user;                           // only this user's tasks
    bool show_self;                       // include ktop's own I/O and syscalls
    bool wanted_only;                     // only wanted collectors run: no pane shows the data of the others
    const struct perf_event_list *events; // user_events: the events of --event; NULL: none. Owned by the caller
    const char *tracepoints;              // events: specifications, one a line (collectors/events/choice.h); NULL: none
    const char *functions;                // functions: patterns, one a line (collectors/functions/spec.h); NULL: none
    const char *graph;                    // call_graph: the choice (collectors/functions/graph.h); NULL: none
    const char *probes;                   // probes: specifications, one a line (collectors/probes/spec.h); NULL: none
    struct trace_options {
        uint32_t buffer_kib; // events: per CPU, fixed; 0: according to the machine, and growing
        bool mono;           // events: the kernel's CLOCK_MONOTONIC instead of the cheapest clock
        const char *cpus;    // events, probes, functions, call_graph: record these CPUs only, "0,2-5"; NULL: all
    } trace;
    struct profile_options profile;
    uint32_t budget_pct; // of one CPU: limit for reading one stream of events; above it, it samples; 0: default
    struct test_options test;
};

#define COLLECTOR_INPUTS 3

// The argument of every callback.
struct collector_run {
    void *state; // the collector's own, set in open, freed in close
    const struct collect_options *options;
    uint64_t begin_ns, end_ns;  // sample: the interval (begin_ns == end_ns in the first, provisional one: totals
                                // only, rates are not measured yet)
    uint64_t due_ns;            // drain: planned time of the next sample, which may be earlier or later
    bool first;                 // sample: the provisional one, wanted as soon as possible (first paint)
    char reason[256], fix[256]; // open: the cause of failure and the fix, one sentence each
    int poll_fd;                // set in open, sample or drain: drain when it is readable; -1: none
    uint32_t priority_pct;      // set in open: CPU limit of the raised priority; 0: PRIORITY_PCT
    // Set in open before it may block in the kernel: what it waits for (static text, read by other threads), or NULL.
    _Atomic(const char *) waits_for;
    uint32_t drain_ms;  // set in open, sample or drain: drain at least this often between ticks; 0: never
    atomic_bool detail; // a part that needs "NAME.detail" is shown: read at every sample what else is read rarely
    const struct section *inputs[COLLECTOR_INPUTS]; // sample: the last sections of collector.inputs; NULL: none yet
    // May be called in sample and drain: delivers an incomplete section early (a long first scan).
    void (*publish)(struct collector_run *run, struct section *take);
};

// One line of --doctor.
struct check {
    const char *capability; // "block events"
    bool works;
    char detail[256]; // what works, or the cause
    char fix[256];    // "" when it works
};
struct check_report {
    void (*add)(struct check_report *report, const struct check *check);
};

struct collector {
    // "block": names the section, the table, the file, the tracefs instance, and the thread ktop-block, truncated by
    // the kernel to 15 characters (ktop-cpu_counte)
    const char *name;
    const char *help;                     // one sentence: its source and its cost
    const char *inputs[COLLECTOR_INPUTS]; // other collectors, whose last sections are run->inputs in sample; NULL: none
    bool always;                          // cheap: runs all the time. Else only while a pane or a finding needs it
    // The schema of its section, for --list columns, help and the man page; NULL-terminated arrays, or NULL.
    const struct series_def *series;
    size_t n_series;
    const struct table_def *const *tables;
    const struct hist_def *const *hists;
    const struct table_def *const *streams;
    const struct tree_def *const *trees; // a section without samples may lack them

    int (*open)(struct collector_run *run);   // 0 or -errno with reason and fix; may be tried again later
    void (*drain)(struct collector_run *run); // may be NULL
    // Accepted requests (1u << REQUEST_...). Called between open and close, before or between samples. 0, or -errno
    // with a sentence and a place in the answer; then nothing has changed.
    uint32_t requests;
    int (*request)(struct collector_run *run, const struct request *request, struct answer *answer);
    int (*sample)(struct collector_run *run, struct section *out); // fills out; 0, or -errno: the source is gone
    void (*close)(struct collector_run *run);   // also after a failed open; leaves nothing in the kernel
    void (*check)(struct check_report *report); // tries the source for --doctor, leaves nothing in the kernel
};

extern const struct collector *const collectors[]; // collectors/table.c, NULL-terminated, in the order of frames
const struct collector *collector_find(const char *name);

#endif
