// The call graph of kernel functions: from the tracer's records to the tree, tables and notes of a frame. See the
// header.
#include "collectors/functions/graph.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "collectors/choice_error.h"
#include "collectors/event_names.h"
#include "collectors/functions/graph_table.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/rate_limit.h"
#include "collectors/stream_collector.h"
#include "model/clock.h"
#include "model/mem.h"

#define LINES_MAX 1000 // of the table of the tree
#define WINDOW_NS 200000000ull
#define WINDOWS_OVER 2         // in a row
#define RATE_MOST 1000000.0    // records a second
#define NAMES_SLOTS (1u << 15) // a power of two
#define NAMES_MOST (1u << 14)

struct graph_name {
    uint64_t function; // 0: free
    uint32_t id;
};

struct graph {
    struct graph_words words;
    struct graph_choice choice;
    const struct collect_options *options;
    struct graph_trace *trace;
    char stopped[160]; // the reason; "": it records
    struct graph_tree *tree;
    struct name_table *table; // IDs of functions
    struct graph_name names[NAMES_SLOTS];
    uint32_t n_names;
    struct tree_builder *builder;
    struct table_builder *functions, *calls;
    struct event_names *threads;
    uint64_t lost, lost_before; // lost_before: during the check of the rate
    // The bound: records and CPU time of a window.
    uint64_t window_ns, window_records, window_busy_ns;
    uint32_t over;
};

// ---- opening ----

// The first 200 ms of records, which stay if they are few enough. Only the tracer itself can count them: calls below
// the chosen functions are records too.
static int rate_check(struct graph *graph, struct collector_run *run) {
    const struct timespec pause = {.tv_nsec = STREAM_BUSY_MS * 1000000l};
    const struct collect_options *options = graph->options;
    double most = options && options->test.probe_limit > 0 ? options->test.probe_limit : RATE_MOST;
    uint64_t begin = now_ns(), now = begin, records = 0;
    while (now - begin < RATE_LIMIT_COUNT_NS) {
        nanosleep(&pause, NULL);
        records += graph_trace_drain(graph->trace, graph->tree);
        now = now_ns();
    }
    graph->lost_before = graph_trace_refresh(graph->trace);
    graph->window_ns = now;
    double per_s = 1e9 * (double)(records + graph->lost_before) / (double)(now - begin);
    if (per_s <= most)
        return 0;
    snprintf(
        run->reason, sizeof(run->reason),
        "no call graph: it would have %.0f records/s, above the limit of %.0f: choose fewer functions or a smaller "
        "depth, or write ! before the functions",
        per_s, most);
    snprintf(run->fix, sizeof(run->fix), "--graph '!FUNCTION ...' records it all the same");
    return -EDQUOT;
}

int graph_open(const struct graph_words *words, struct collector_run *run, struct graph **out) {
    struct graph *graph = xcalloc(1, sizeof(*graph));
    const struct collect_options *options = graph->options = run->options;
    struct graph_trace_failure failure;
    *out = NULL;
    graph->words = *words;
    graph->choice = (struct graph_choice){
        .functions = graph->words.functions,
        .notrace = graph->words.notrace,
        .start = graph->words.start,
        .stop = graph->words.stop,
        .pids = options ? options->pids : NULL,
        .n_pids = options ? options->n_pids : 0,
        .children = options && options->children,
        .show_self = options && options->show_self,
        .cpus = options ? options->trace.cpus : NULL,
        .depth = words->depth,
        .slow_ns = words->slow_ns,
        .buffer_kib = options ? options->test.buffer_kib : 0,
    };
    atomic_store(&run->waits_for, "the function graph tracer");
    int error = graph_trace_open(&graph->choice, &failure, &graph->trace);
    atomic_store(&run->waits_for, NULL);
    if (error) {
        memcpy(run->reason, failure.reason, sizeof(run->reason));
        memcpy(run->fix, failure.fix, sizeof(run->fix));
        free(graph);
        return error;
    }
    size_t n_ranges;
    const struct graph_range *ranges = graph_trace_ranges(graph->trace, &n_ranges);
    graph->tree = graph_tree_new(ranges, n_ranges, graph->choice.slow_ns);
    graph->table = name_table_new();
    graph->builder = tree_builder_new(&graph_tree_def, graph->table);
    graph->functions = table_builder_new(&graph_functions_table);
    graph->calls = table_builder_new(&graph_calls_table);
    graph->threads = event_names_new(ktop_in_child_pidns() ? NULL : "/proc");
    graph->window_ns = now_ns();
    error = words->forced ? 0 : rate_check(graph, run);
    if (error) {
        graph_close(graph);
        return error;
    }
    run->drain_ms = STREAM_BUSY_MS;
    *out = graph;
    return 0;
}

void graph_close(struct graph *graph) {
    if (!graph)
        return;
    graph_trace_close(graph->trace);
    graph_tree_free(graph->tree);
    tree_builder_free(graph->builder);
    table_builder_free(graph->functions);
    table_builder_free(graph->calls);
    name_table_unref(graph->table);
    event_names_free(graph->threads);
    free(graph);
}

// ---- draining ----

static void stop(struct graph *graph, struct collector_run *run) {
    graph_trace_stop(graph->trace);
    run->drain_ms = 0;
    run->poll_fd = -1;
}

static void bound_keep(struct graph *graph, struct collector_run *run, uint64_t now) {
    uint64_t length = now - graph->window_ns;
    if (length < WINDOW_NS || graph->words.forced)
        return;
    uint32_t budget = graph->options && graph->options->budget_pct ? graph->options->budget_pct : STREAM_BUDGET_PCT;
    double per_s = 1e9 * (double)graph->window_records / (double)length;
    double busy_pct = 100 * (double)graph->window_busy_ns / (double)length;
    graph->over = per_s > RATE_MOST || busy_pct > budget ? graph->over + 1 : 0;
    graph->window_ns = now;
    graph->window_records = graph->window_busy_ns = 0;
    if (graph->over < WINDOWS_OVER)
        return;
    snprintf(graph->stopped, sizeof(graph->stopped),
             "the call graph is stopped: %.0f records/s took %.0f %% of a CPU to read", per_s, busy_pct);
    stop(graph, run);
}

// The threads of calls that will be listed, before they exit.
static void threads_find(struct graph *graph) {
    const struct graph_call *order[GRAPH_SLOW];
    size_t n = graph_tree_slow(graph->tree, order);
    for (size_t i = 0; i < n; i++)
        event_names_find(graph->threads, graph->options, order[i]->tid);
}

void graph_drain(struct graph *graph, struct collector_run *run) {
    if (!graph || graph->stopped[0])
        return;
    uint64_t before = thread_cpu_ns();
    uint64_t n = graph_trace_drain(graph->trace, graph->tree);
    if (n)
        threads_find(graph);
    graph->window_records += n;
    graph->window_busy_ns += thread_cpu_ns() - before;
    run->drain_ms = graph_trace_next_ms(graph->trace, &run->poll_fd);
    bound_keep(graph, run, now_ns());
}

// ---- names ----

static const struct text *name_make(const struct graph *graph, uint64_t function) {
    const struct symbol_table *symbols = graph_trace_symbols(graph->trace);
    const struct symbol *symbol = symbols ? symbol_table_find(symbols, function) : NULL;
    char number[32];
    if (!symbol) {
        snprintf(number, sizeof(number), "[%#llx]", (unsigned long long)function);
        return name_pack(number, NAME_KERNEL, "[kernel]");
    }
    const char *name = symbols->names + symbol->name;
    return name_pack(name, NAME_KERNEL, symbols->named_objects ? name + strlen(name) + 1 : "[kernel]");
}

static uint32_t name_of(struct graph *graph, uint64_t function) {
    uint32_t at = (uint32_t)((function * 0x9e3779b97f4a7c15ull) >> 49);
    for (; graph->names[at].function; at = (at + 1) & (NAMES_SLOTS - 1))
        if (graph->names[at].function == function)
            return graph->names[at].id;
    if (graph->n_names == NAMES_MOST)
        return NAME_NONE;
    graph->names[at] =
        (struct graph_name){.function = function, .id = name_table_add(graph->table, name_make(graph, function))};
    graph->n_names++;
    return graph->names[at].id;
}

static const struct text *indented(struct graph *graph, uint64_t function, uint32_t depth) {
    const struct text *name = name_table_text(graph->table, name_of(graph, function));
    return text_printf("%*s%s", (int)(2 * depth), "", name ? text_bytes(name) : "[unknown]");
}

// ---- an interval: the tree ----

struct walk { // depth first
    struct graph *graph;
    const struct graph_node *nodes;
    uint64_t *sums;    // of a node and all below it: its total, or more if its calls go on
    uint64_t least_ns; // nodes below have no row
    uint64_t left_out;
    uint32_t path[GRAPH_DEPTH_MAX + 1];
    uint32_t line;
};

static bool is_shown(const struct walk *walk, uint32_t node) {
    return walk->sums[node] >= walk->least_ns;
}

static int larger_first(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x < y) - (x > y);
}

// Sums of all nodes, and the least sum that has a row. A node comes after its parent.
static void sums_make(struct walk *walk, size_t n) {
    size_t used = 0;
    uint64_t *order = xmalloc(n * sizeof(*order)), *below = xcalloc(n, sizeof(*below));
    for (size_t i = n; i-- > 1;) {
        const struct graph_node *node = &walk->nodes[i];
        // A call counts as something even if its time is unknown or 0.
        uint64_t calls = node->now.calls + node->before.calls;
        uint64_t own = calls ? node->now.total_ns + node->before.total_ns + 1 : 0;
        walk->sums[i] = own > below[i] ? own : below[i];
        below[node->parent] += walk->sums[i];
        if (walk->sums[i])
            order[used++] = walk->sums[i];
    }
    walk->sums[0] = below[0];
    walk->least_ns = 1;
    if (used > LINES_MAX) {
        qsort(order, used, sizeof(*order), larger_first);
        walk->least_ns = order[LINES_MAX - 1] + (order[LINES_MAX] == order[LINES_MAX - 1]);
    }
    free(order);
    free(below);
}

// NAN without calls whose time is known.
static double us_of(const struct graph_sums *sums, uint64_t ns) {
    return sums->calls > sums->cut ? (double)ns / 1e3 : NAN;
}

static void row_add(struct walk *walk, const struct graph_node *node, uint32_t depth) {
    struct table_builder *table = walk->graph->functions;
    uint32_t slot = table_builder_add(table);
    const struct graph_sums *now = &node->now, all = graph_sums_add(&node->before, now);
    double total = us_of(now, now->total_ns);
    table_builder_set_num(table, slot, GRAPH_F_LINE, ++walk->line);
    table_builder_set_num(table, slot, GRAPH_F_DEPTH, depth);
    table_builder_set_num(table, slot, GRAPH_F_CALLS, (double)now->calls);
    table_builder_set_num(table, slot, GRAPH_F_TOTAL_US, total);
    table_builder_set_num(table, slot, GRAPH_F_SELF_US, us_of(now, now->self_ns));
    table_builder_set_num(table, slot, GRAPH_F_AVG_US, total / (double)(now->calls - now->cut));
    table_builder_set_num(table, slot, GRAPH_F_MAX_US, us_of(now, now->max_ns));
    table_builder_set_num(table, slot, GRAPH_F_CUT, (double)now->cut);
    table_builder_set_num(table, slot, GRAPH_F_CALLS_ALL, (double)all.calls);
    table_builder_set_num(table, slot, GRAPH_F_TOTAL_US_ALL, us_of(&all, all.total_ns));
    table_builder_set_num(table, slot, GRAPH_F_MAX_US_ALL, us_of(&all, all.max_ns));
    table_builder_set_text(table, slot, GRAPH_F_FUNCTION, indented(walk->graph, node->function, depth));
}

struct child {
    uint64_t sum;
    uint32_t node;
};

static int larger_child_first(const void *a, const void *b) {
    const struct child *x = a, *y = b;
    return x->sum != y->sum ? (x->sum < y->sum) - (x->sum > y->sum) : (x->node > y->node) - (x->node < y->node);
}

static void children_walk(struct walk *walk, uint32_t parent, uint32_t depth) {
    size_t n = 0;
    for (uint32_t i = walk->nodes[parent].first; i; i = walk->nodes[i].next)
        n += walk->sums[i] > 0;
    if (!n)
        return;
    struct child *children = xmalloc(n * sizeof(*children));
    n = 0;
    for (uint32_t i = walk->nodes[parent].first; i; i = walk->nodes[i].next)
        if (walk->sums[i])
            children[n++] = (struct child){.sum = walk->sums[i], .node = i};
    qsort(children, n, sizeof(*children), larger_child_first);
    for (size_t i = 0; i < n; i++) {
        const struct graph_node *node = &walk->nodes[children[i].node];
        walk->path[depth] = name_of(walk->graph, node->function);
        if (node->now.self_ns)
            tree_builder_add(walk->graph->builder, walk->path, depth + 1, node->now.self_ns);
        if (is_shown(walk, children[i].node))
            row_add(walk, node, depth);
        else
            walk->left_out++;
        if (depth + 1 < GRAPH_DEPTH_MAX)
            children_walk(walk, children[i].node, depth + 1);
    }
    free(children);
}

static void tree_fill(struct graph *graph, struct section *out) {
    size_t n;
    struct walk walk = {.graph = graph, .nodes = graph_tree_nodes(graph->tree, &n)};
    char text[128];
    walk.sums = xcalloc(n, sizeof(*walk.sums));
    sums_make(&walk, n);
    table_builder_clear(graph->functions);
    children_walk(&walk, 0, 0);
    free(walk.sums);
    section_tree(out, tree_builder_seal(graph->builder));
    section_table(out, table_builder_seal(graph->functions));
    if (!walk.left_out)
        return;
    snprintf(text, sizeof(text), "%llu lines of the call tree with the least time are left out",
             (unsigned long long)walk.left_out);
    section_note(out, SEVERITY_INFO, "function", text, "choose a smaller depth; the flame graph has all");
}

// ---- an interval: slow calls ----

static void call_fill(struct graph *graph, const struct graph_call *call, uint32_t number, uint32_t *line,
                      int64_t wall_ns) {
    const struct task_identity *identity = event_names_find(graph->threads, graph->options, call->tid);
    double time = (double)((int64_t)graph_trace_mono(graph->trace, call->end_ts) + wall_ns) / 1e9;
    struct table_builder *table = graph->calls;
    for (uint32_t i = 0; i < call->n_lines; i++) {
        const struct graph_line *of = &call->lines[i];
        uint32_t slot = table_builder_add(table);
        table_builder_set_num(table, slot, GRAPH_C_LINE, ++*line);
        table_builder_set_num(table, slot, GRAPH_C_CALL, number);
        table_builder_set_num(table, slot, GRAPH_C_DEPTH, of->depth);
        table_builder_set_num(table, slot, GRAPH_C_TOTAL_US, of->ns == GRAPH_OPEN ? NAN : (double)of->ns / 1e3);
        table_builder_set_num(table, slot, GRAPH_C_SELF_US, of->ns == GRAPH_OPEN ? NAN : (double)of->self_ns / 1e3);
        table_builder_set_text(table, slot, GRAPH_C_FUNCTION, indented(graph, of->function, of->depth));
        table_builder_set_num(table, slot, GRAPH_C_TIME, time);
        table_builder_set_num(table, slot, GRAPH_C_PID, identity->status.pid);
        table_builder_set_num(table, slot, GRAPH_C_TID, call->tid);
        table_builder_set_num(table, slot, GRAPH_C_CPU, call->cpu);
        table_builder_set_text(table, slot, GRAPH_C_COMM, event_names_text(graph->threads, identity, call->tid));
    }
}

static void calls_fill(struct graph *graph, struct section *out) {
    const struct graph_call *order[GRAPH_SLOW];
    size_t n = graph_tree_slow(graph->tree, order);
    uint32_t line = 0, number = 0;
    uint64_t left_out = 0;
    int64_t wall_ns = wall_offset_ns();
    char text[128];
    table_builder_clear(graph->calls);
    for (size_t i = 0; i < n; i++) {
        call_fill(graph, order[i], ++number, &line, wall_ns);
        left_out += order[i]->left_out;
    }
    section_table(out, table_builder_seal(graph->calls));
    if (!left_out)
        return;
    snprintf(text, sizeof(text), "%llu calls below the slowest calls are not listed: at most %d of each are",
             (unsigned long long)left_out, GRAPH_LINES_MAX);
    section_note(out, SEVERITY_INFO, "total_us", text, "choose a smaller depth");
}

// ---- an interval: what is missing ----

__attribute__((format(printf, 5, 0))) static void note(struct section *out, enum severity severity, uint64_t n,
                                                       const char *fix, const char *format) {
    char text[200];
    if (!n)
        return;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof(text), format, (unsigned long long)n);
#pragma GCC diagnostic pop
    section_note(out, severity, "calls", text, fix);
}

static void notes_add(const struct graph *graph, const struct graph_counts *counts, struct section *out) {
    note(out, SEVERITY_WARNING, graph->lost, "choose fewer functions, a smaller depth, or one process (--pid)",
         "%llu records of function entries and returns were lost: a trace buffer was full before ktop read it");
    note(out, SEVERITY_WARNING, counts->dropped, NULL,
         "%llu records are left out: after a loss, a thread's calls count again from its next outermost call");
    note(out, SEVERITY_INFO, counts->lost_exits, NULL, "%llu calls have no recorded return: they count without time");
    note(out, SEVERITY_INFO, counts->lost_entries, NULL, "%llu returns have no recorded entry");
    note(out, SEVERITY_INFO, counts->too_deep, "choose a function further down",
         "%llu calls are nested deeper than 64: their time is their callers' own");
    note(out, SEVERITY_WARNING, counts->no_room, "choose fewer functions, or a smaller depth",
         "%llu calls are not in the tree, which is full");
    note(out, SEVERITY_WARNING, counts->threads, "choose one process (--pid)",
         "%llu threads were forgotten within their calls: too many at once");
    if (graph->choice.cpus) {
        char text[200];
        snprintf(text, sizeof(text),
                 "only what runs on the CPUs %.80s is recorded (--trace-cpus): a call that changes its CPU has no time",
                 graph->choice.cpus);
        section_note(out, SEVERITY_INFO, "calls", text, NULL);
    }
    if (!graph->stopped[0] && (*graph->words.start || *graph->words.stop)) {
        char text[600];
        bool on = graph_trace_is_on(graph->trace);
        if (on)
            snprintf(text, sizeof(text), "the call graph is recorded%s%s%s", *graph->words.stop ? " until " : "",
                     graph->words.stop,
                     *graph->words.stop ? " is entered (stop=)" : ", since a start function was entered");
        else if (*graph->words.start)
            snprintf(text, sizeof(text), "nothing is recorded until %s is entered (start=)", graph->words.start);
        else
            snprintf(text, sizeof(text), "nothing is recorded any more: %s was entered (stop=)", graph->words.stop);
        section_note(out, SEVERITY_INFO, "calls", text, NULL);
    }
    if (graph->stopped[0])
        section_note(out, SEVERITY_WARNING, NULL, graph->stopped,
                     "choose fewer functions or a smaller depth, or write ! before the functions");
    if (!graph->stopped[0] && graph_trace_is_top(graph->trace))
        section_note(out, SEVERITY_INFO, NULL,
                     "this kernel's function graph tracer has one buffer: ktop uses the top-level trace buffer", NULL);
}

static void empty_fill(struct section *out) {
    struct table_builder *functions = table_builder_new(&graph_functions_table);
    struct table_builder *calls = table_builder_new(&graph_calls_table);
    section_table(out, table_builder_seal(functions));
    section_table(out, table_builder_seal(calls));
    table_builder_free(functions);
    table_builder_free(calls);
    for (size_t i = 0; i < GRAPH_SERIES; i++)
        section_series(out, &graph_series[i], NAN);
}

void graph_fill(struct graph *graph, struct collector_run *run, struct section *out) {
    double seconds = (double)(run->end_ns - run->begin_ns) / 1e9;
    if (!graph) {
        empty_fill(out);
        return;
    }
    graph_drain(graph, run);
    graph->lost = (graph->stopped[0] ? 0 : graph_trace_refresh(graph->trace)) + graph->lost_before;
    graph->lost_before = 0;
    const struct graph_counts counts = *graph_tree_counts(graph->tree);
    uint64_t incomplete = counts.dropped + counts.lost_exits + counts.lost_entries + counts.too_deep + counts.no_room;
    tree_fill(graph, out);
    calls_fill(graph, out);
    section_series(out, &graph_series[GRAPH_S_CALLS], seconds > 0 ? (double)counts.calls / seconds : NAN);
    section_series(out, &graph_series[GRAPH_S_LOST], (double)graph->lost);
    section_series(out, &graph_series[GRAPH_S_INCOMPLETE], (double)incomplete);
    section_events(out, counts.records, graph->lost);
    notes_add(graph, &counts, out);
    event_names_begin(graph->threads);
    graph_tree_next(graph->tree);
}

const struct table_def *const graph_tables[] = {&graph_functions_table, &graph_calls_table, NULL};
const struct tree_def *const graph_trees[] = {&graph_tree_def, NULL};
