// The function graph tracer, switched on for ktop; see the header.
#include "collectors/functions/graph_trace.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/functions/graph_records.h"
#include "collectors/functions/graph_roots.h"
#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/symbols/kallsyms.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/graph_state.h"
#include "collectors/kernel/tracefs/ring_pipe.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/clock.h"
#include "model/mem.h"

#define SETTLE_NS 5000000ull // as STREAM_SETTLE_NS
#define LEAST_MS 10
#define MOST_MS 100
#define IDLE_MS 1000
#define MANY_CPUS 16

struct graph_trace {
    const struct graph_choice *choice;
    const char *where;        // tracefs
    char mark[256], dir[256]; // ktop's instance; the directory whose buffer is read
    bool top, claimed;        // claimed: the global state is ktop's
    struct ring_pipe *pipe;
    struct ring *ring;
    struct graph_records records;
    struct symbol_table *symbols;
    struct graph_range *ranges;
    size_t n_ranges;
    struct tids tids, listed; // listed: those in the list of the kernel
    struct graph_tree *tree;
    uint64_t losses, gap_ts; // the ring's marks; a loss before this time is not applied yet
    uint64_t lost_before;    // at the last refresh
    int64_t offset_ns;       // to be added to a record's time
    uint32_t drain_ms;
    bool any;
};

// ---- the event path ----

static void on_event(void *ctx, const struct ring_event *event) {
    struct graph_trace *trace = ctx;
    const struct ring_stats *stats = ring_stats(trace->ring);
    uint64_t losses = stats->missed + stats->missed_unknown + stats->damaged;
    if (__builtin_expect(losses != trace->losses, 0)) {
        trace->losses = losses;
        trace->gap_ts = stats->gap_ts;
        graph_tree_gap(trace->tree);
    } else if (__builtin_expect(trace->gap_ts && event->ts >= trace->gap_ts, 0)) {
        trace->gap_ts = 0;
        graph_tree_gap(trace->tree);
    }
    graph_records_take(&trace->records, event, trace->tree);
}

// ---- opening ----

__attribute__((format(printf, 4, 5))) static int failed(struct graph_trace_failure *failure, int error, const char *fix,
                                                        const char *format, ...) {
    va_list more;
    va_start(more, format);
    int n = snprintf(failure->reason, sizeof(failure->reason), "no call graph: ");
    vsnprintf(failure->reason + n, sizeof(failure->reason) - (size_t)n, format, more);
    va_end(more);
    if (fix)
        snprintf(failure->fix, sizeof(failure->fix), "%s", fix);
    return error;
}

static int explain(struct graph_trace_failure *failure, int error, const char *file, const char *word) {
    char reason[160];
    if (error == -ENOENT)
        return failed(failure, error, "use a kernel with CONFIG_FUNCTION_GRAPH_TRACER and CONFIG_DYNAMIC_FTRACE",
                      "this kernel has no function graph tracer (%s is missing)", file);
    if (error == -EINVAL && *word)
        return failed(failure, error, "available_filter_functions in tracefs lists the functions that can be traced",
                      "the kernel can trace no function \"%.80s\"", word);
    if (error == -EPERM && geteuid() == 0)
        return failed(failure, error,
                      "use another kernel (a virtual machine with its own); events, profile and probes need no such "
                      "tracer",
                      "this kernel forbids its function tracer, even to root (%s: %s)", file, strerror(EPERM));
    if (error == -EBUSY)
        return failed(failure, error, "close what reads trace_pipe in tracefs", "%s is busy: trace_pipe is being read",
                      file);
    tracing_explain(error, reason, sizeof(reason), failure->fix, sizeof(failure->fix));
    return failed(failure, error, NULL, "%s (%s)", reason, file);
}

static int formats_read(struct graph_trace *trace, struct graph_trace_failure *failure) {
    const char *missing = NULL;
    int error = graph_records_read(&trace->records, trace->where, &missing);
    if (error && missing)
        return failed(failure, error, "use another kernel", "records of this kernel's function graph tracer have no %s",
                      missing);
    return error ? explain(failure, error, "events/ftrace/funcgraph_entry/format", "") : 0;
}

// Adds threads to a list of the buffer's. 0 or -errno.
static int tids_tell(struct graph_trace *trace, const char *file) {
    char refused[32];
    for (size_t i = 0; i < trace->tids.n; i++) {
        char text[16];
        size_t k = 0;
        while (k < trace->listed.n && trace->listed.at[k] != trace->tids.at[i])
            k++;
        if (k < trace->listed.n)
            continue;
        snprintf(text, sizeof(text), "%d", trace->tids.at[i]);
        int error = graph_list_write(trace->dir, file, text, false, refused, sizeof(refused));
        if (error)
            return error;
        tids_add(&trace->listed, trace->tids.at[i]);
    }
    return 0;
}

// The kernel records the chosen processes only; without a choice, ktop's threads are left out where it can (5.8).
static int threads_refresh(struct graph_trace *trace) {
    const struct graph_choice *choice = trace->choice;
    if (ktop_in_child_pidns())
        return 0;
    trace->tids.n = 0;
    if (!choice->n_pids) {
        if (!choice->show_self && self_threads(&trace->tids))
            tids_tell(trace, "set_ftrace_notrace_pid");
        return 0;
    }
    for (size_t i = 0; i < choice->n_pids; i++) {
        tids_add(&trace->tids, choice->pids[i]); // also one that is gone: an empty list means all processes
        tids_tree("/proc", choice->pids[i], choice->children, &trace->tids);
    }
    return tids_tell(trace, "set_ftrace_pid");
}

static int buffer_open(struct graph_trace *trace, struct graph_trace_failure *failure) {
    const struct graph_choice *choice = trace->choice;
    uint32_t kib = choice->buffer_kib ? choice->buffer_kib : sysconf(_SC_NPROCESSORS_ONLN) <= MANY_CPUS ? 4096 : 1024;
    const struct ring_pipe_config config = {
        .instance = trace->dir,
        .clock = "mono",
        .buffer_kib = kib,
        .max_kib = kib,
        .subbuf_kib = kib >= 1024 ? 64 : 4,
        .as_it_is = trace->top,
    };
    const char *step = "";
    char value[16];
    if (trace->top && graph_state_top_kib(trace->where) && kib != graph_state_top_kib(trace->where)) {
        snprintf(value, sizeof(value), "%u", kib);
        instance_write(trace->where, "buffer_size_kb", value); // what it has will do
    }
    int error = ring_pipe_open(&config, &trace->pipe, &step);
    if (error)
        return failed(failure, error, "see the kernel's log (dmesg)", "%s failed: %s", step, strerror(-error));
    const struct ring_source source = ring_pipe_source(trace->pipe);
    trace->ring = ring_new(&source);
    return 0;
}

// "now ts: 5.123456" in ns. 0: the clock does not count in seconds.
static uint64_t top_now(struct graph_trace *trace) {
    const char *text = ring_pipe_stats_text(trace->pipe, 0), *at = text ? strstr(text, "\nnow ts:") : NULL;
    unsigned long long seconds, us;
    return at && sscanf(at, "\nnow ts: %llu.%6llu", &seconds, &us) == 2 ? seconds * 1000000000 + us * 1000 : 0;
}

static int switches_set(struct graph_trace *trace, struct graph_trace_failure *failure) {
    const struct {
        const char *functions, *command;
    } switches[] = {{trace->choice->start, "traceon"}, {trace->choice->stop, "traceoff"}};
    char refused[256] = "";
    for (size_t i = 0; i < 2; i++) {
        int error = graph_command_set(trace->dir, switches[i].functions, switches[i].command, refused, sizeof(refused));
        if (error)
            return explain(failure, error, "set_ftrace_filter", refused);
    }
    return 0;
}

// Filters first: without them the tracer would record the whole kernel.
static int switch_on(struct graph_trace *trace, struct graph_trace_failure *failure) {
    const struct graph_choice *choice = trace->choice;
    const struct graph_filters filters = {
        .functions = choice->functions, .notrace = choice->notrace, .depth = choice->depth};
    char refused[256] = "";
    int error = graph_state_set(trace->where, &filters, refused, sizeof(refused));
    if (error)
        return explain(failure, error, "set_graph_function", refused);
    error = threads_refresh(trace);
    if (error)
        return explain(failure, error, "set_ftrace_pid", "");
    error = choice->cpus ? instance_cpus_set(trace->dir, choice->cpus) : 0;
    if (error)
        return explain(failure, error, "tracing_cpumask", "");
    if (choice->try && trace->top)
        return 0;
    if (choice->try)
        graph_list_write(trace->dir, "set_ftrace_filter", choice->functions, true, refused, sizeof(refused));
    instance_write(trace->dir, "tracing_on", "0");
    if (!trace->top && choice->n_pids)
        instance_write(trace->dir, "options/function-fork", "1");
    error = instance_write(trace->dir, "current_tracer", "function_graph");
    if (error == -EINVAL && !trace->top) // not in an instance
        return error;
    if (error)
        return explain(failure, error, "current_tracer", "");
    error = buffer_open(trace, failure);
    if (error)
        return error;
    if (trace->top && !top_now(trace))
        return failed(failure, -EBUSY, "echo local > trace_clock in tracefs", "trace_clock is set to a counter");
    error = switches_set(trace, failure);
    if (error)
        return error;
    error = instance_write(trace->dir, "tracing_on", *choice->start ? "0" : "1");
    return error ? explain(failure, error, "tracing_on", "") : 0;
}

static void kernel_close(struct graph_trace *trace) {
    ring_free(trace->ring);
    ring_pipe_free(trace->pipe); // an open pipe keeps the tracer
    trace->ring = NULL;
    trace->pipe = NULL;
    if (!trace->mark[0])
        return;
    const char *name = strrchr(trace->mark, '/') + 1;
    if (!trace->claimed || !graph_state_restore(trace->where, name)) // else the mark stays, for the guard
        instance_remove(trace->mark);
    trace->mark[0] = '\0';
    trace->claimed = false;
}

// Before the mark is made, since the guard restores what a mark stands for, and after it: two ktops may both make one.
static int claim(struct graph_trace *trace, const char *own, struct graph_trace_failure *failure) {
    char reason[200] = "", fix[200] = "";
    int error = graph_state_unused(trace->where, trace->top, own, reason, sizeof(reason), fix, sizeof(fix));
    if (error == -EBUSY)
        return failed(failure, error, fix, "%s", reason);
    return error ? explain(failure, error, "set_graph_function", "") : 0;
}

static int kernel_open(struct graph_trace *trace, bool top, struct graph_trace_failure *failure) {
    char use[64];
    trace->top = top;
    trace->listed.n = 0;
    if (top)
        snprintf(use, sizeof(use), GRAPH_TOP_INSTANCE "%u", graph_state_top_kib(trace->where));
    else
        snprintf(use, sizeof(use), GRAPH_INSTANCE);
    int error = claim(trace, NULL, failure);
    if (error)
        return error;
    error = instance_create(use, trace->mark, sizeof(trace->mark));
    if (error) {
        trace->mark[0] = '\0';
        return explain(failure, error, "instances", "");
    }
    snprintf(trace->dir, sizeof(trace->dir), "%s", top ? trace->where : trace->mark);
    error = claim(trace, strrchr(trace->mark, '/') + 1, failure);
    trace->claimed = !error;
    if (!error)
        error = switch_on(trace, failure);
    if (error)
        kernel_close(trace);
    return error;
}

static int checks(struct graph_trace *trace, struct graph_trace_failure *failure) {
    const char *reason = NULL, *fix = NULL;
    char text[16];
    trace->where = tracing_dir(&reason, &fix);
    if (!trace->where)
        return failed(failure, -ENODEV, fix, "%s", reason);
    if (!*trace->choice->functions && !trace->choice->n_pids)
        return failed(failure, -EINVAL, "name a function, or a process with --pid",
                      "all functions of all processes would be recorded");
    if (trace->choice->n_pids && ktop_in_child_pidns())
        return failed(failure, -EINVAL, "run ktop in the first PID namespace (containers: --pid=host)",
                      "the kernel wants host PIDs, which are unknown in this PID namespace");
    if (format_file("/proc/sys/kernel/ftrace_enabled", text, sizeof(text)) > 0 && text[0] == '0')
        return failed(failure, -EBUSY, "sysctl kernel.ftrace_enabled=1", "kernel.ftrace_enabled is 0");
    return formats_read(trace, failure);
}

int graph_trace_open(const struct graph_choice *choice, struct graph_trace_failure *failure, struct graph_trace **out) {
    struct graph_trace *trace = xcalloc(1, sizeof(*trace));
    *out = NULL;
    trace->choice = choice;
    *failure = (struct graph_trace_failure){.reason = ""};
    int error = checks(trace, failure);
    if (!error)
        error = kernel_open(trace, false, failure);
    if (error == -EINVAL && !failure->reason[0])
        error = kernel_open(trace, true, failure);
    if (error) {
        graph_trace_close(trace);
        return error;
    }
    char list[600];
    snprintf(list, sizeof(list), "%s/set_graph_function", trace->where);
    kallsyms_read("/proc/kallsyms", &trace->symbols); // else addresses are shown
    trace->n_ranges = graph_roots_read(list, "/proc/kallsyms", trace->symbols, &trace->ranges);
    trace->drain_ms = LEAST_MS;
    *out = trace;
    return 0;
}

void graph_trace_close(struct graph_trace *trace) {
    if (!trace)
        return;
    kernel_close(trace);
    symbol_table_free(trace->symbols);
    free(trace->ranges);
    free(trace->tids.at);
    free(trace->listed.at);
    free(trace);
}

void graph_trace_stop(struct graph_trace *trace) {
    kernel_close(trace);
}

const struct graph_range *graph_trace_ranges(const struct graph_trace *trace, size_t *n) {
    *n = trace->n_ranges;
    return trace->ranges;
}

const struct symbol_table *graph_trace_symbols(const struct graph_trace *trace) {
    return trace->symbols;
}

bool graph_trace_is_top(const struct graph_trace *trace) {
    return trace->top;
}

bool graph_trace_is_on(const struct graph_trace *trace) {
    char path[768], text[8] = "";
    snprintf(path, sizeof(path), "%s/tracing_on", trace->dir);
    return format_file(path, text, sizeof(text)) > 0 && text[0] == '1';
}

// ---- draining ----

uint64_t graph_trace_drain(struct graph_trace *trace, struct graph_tree *tree) {
    uint64_t now = now_ns(), clock = trace->top ? top_now(trace) : now;
    if (!clock)
        return 0;
    trace->tree = tree;
    trace->offset_ns = (int64_t)(now - clock);
    uint64_t n = ring_drain(trace->ring, clock - SETTLE_NS, on_event, trace);
    trace->any = n || ring_holds(trace->ring);
    return n;
}

uint32_t graph_trace_next_ms(struct graph_trace *trace, int *poll_fd) {
    struct pollfd fd = {.fd = ring_pipe_poll_fd(trace->pipe), .events = POLLIN};
    bool idle = !trace->any && !trace->top && fd.fd >= 0 && poll(&fd, 1, 0) == 0;
    *poll_fd = idle ? fd.fd : -1;
    if (idle)
        trace->drain_ms = IDLE_MS;
    else
        trace->drain_ms = ring_pipe_pace(trace->pipe, trace->ring, trace->drain_ms, LEAST_MS, MOST_MS);
    return trace->drain_ms;
}

uint64_t graph_trace_refresh(struct graph_trace *trace) {
    struct ring_pipe_stats pipe;
    const struct ring_stats *stats = ring_stats(trace->ring);
    threads_refresh(trace);
    ring_pipe_refresh(trace->pipe);
    ring_pipe_stats(trace->pipe, &pipe);
    // The kernel's counters and the sub-buffers' marks count the same records.
    uint64_t marked = stats->missed + stats->missed_unknown + stats->damaged, counted = pipe.overrun + pipe.dropped;
    uint64_t lost = marked > counted ? marked : counted, before = trace->lost_before;
    trace->lost_before = lost > before ? lost : before;
    return trace->lost_before - before;
}

uint64_t graph_trace_mono(const struct graph_trace *trace, uint64_t ts) {
    return ts + (uint64_t)trace->offset_ns;
}
