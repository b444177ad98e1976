// The collector "call_graph": the call graph of the chosen kernel functions (graph.h). It runs only while a part that
// shows it is shown; without a choice it records nothing.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/choice_error.h"
#include "collectors/collector.h"
#include "collectors/functions/graph.h"
#include "collectors/functions/graph_table.h"
#include "model/mem.h"

#define PRIORITY_MOST_PCT 30 // of one CPU, as the bound of reading

struct chosen {
    struct graph *graph; // NULL: no choice
    char choice[2300];   // its text
};

// One tracer: the previous graph ends before the next one begins, and comes back if that fails.
static int choose(struct collector_run *run, const char *text, struct choice_error *failure) {
    struct chosen *self = run->state;
    struct graph_words words;
    *failure = (struct choice_error){.place = -1};
    text += strspn(text, " \t\n");
    int error = *text ? graph_words_parse(&words, text, failure) : 0;
    if (error)
        return error;
    graph_close(self->graph);
    self->graph = NULL;
    run->drain_ms = 0;
    run->poll_fd = -1;
    if (*text)
        error = graph_open(&words, run, &self->graph);
    if (!error) {
        snprintf(self->choice, sizeof(self->choice), "%s", text);
        return 0;
    }
    memcpy(failure->sentence, run->reason, sizeof(failure->sentence));
    if (self->choice[0] && (graph_words_parse(&words, self->choice, &(struct choice_error){.place = -1}) ||
                            graph_open(&words, run, &self->graph)))
        self->choice[0] = '\0';
    return error;
}

static int call_graph_open(struct collector_run *run) {
    run->state = xcalloc(1, sizeof(struct chosen));
    run->poll_fd = -1;
    run->priority_pct = PRIORITY_MOST_PCT;
    struct choice_error failure;
    if (!run->options || !run->options->graph)
        return 0;
    int error = choose(run, run->options->graph, &failure);
    if (error && !run->reason[0])
        memcpy(run->reason, failure.sentence, sizeof(run->reason));
    return error;
}

static void call_graph_close(struct collector_run *run) {
    struct chosen *self = run->state;
    run->state = NULL;
    if (self)
        graph_close(self->graph);
    free(self);
}

static int call_graph_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    struct chosen *self = run->state;
    struct choice_error failure;
    int error = choose(run, request->text ? request->text : "", &failure);
    if (error) {
        memcpy(answer->sentence, failure.sentence, sizeof(answer->sentence));
        answer->place = failure.place;
    } else {
        snprintf(answer->sentence, sizeof(answer->sentence), "%s",
                 self->graph ? "the call graph is recorded" : "no call graph is recorded");
    }
    return error;
}

static void call_graph_drain(struct collector_run *run) {
    struct chosen *self = run->state;
    graph_drain(self->graph, run);
}

static int call_graph_sample(struct collector_run *run, struct section *out) {
    struct chosen *self = run->state;
    if (run->first && self->graph) // its calls are in the first interval
        return 0;
    graph_fill(self->graph, run, out);
    if (!self->graph)
        section_note(out, SEVERITY_INFO, NULL, "no call graph is chosen", "--graph 'FUNCTION[,FUNCTION] [depth=N]'");
    return 0;
}

// The tracer alone, for a function that every kernel has.
static void call_graph_check(struct check_report *report) {
    struct check check = {.capability = "call graph of kernel functions"};
    struct graph_trace_failure failure;
    struct graph_trace *trace;
    const struct graph_choice choice = {
        .functions = "vfs_read", .notrace = "", .start = "", .stop = "", .try = true, .buffer_kib = 64};
    check.works = !graph_trace_open(&choice, &failure, &trace);
    if (check.works) {
        snprintf(check.detail, sizeof(check.detail), "function graph tracer in %s",
                 graph_trace_is_top(trace) ? "the top-level trace buffer" : "an instance of its own");
        graph_trace_close(trace);
    } else {
        memcpy(check.detail, failure.reason, sizeof(check.detail));
        memcpy(check.fix, failure.fix, sizeof(check.fix));
    }
    report->add(report, &check);
}

const struct collector collector_call_graph = {
    .name = "call_graph",
    .help = "The function graph tracer on the chosen functions: calls and times as a tree, and the slowest calls. Runs "
            "only while a part shows it; it slows down every call of the kernel.",
    .series = graph_series,
    .n_series = GRAPH_SERIES,
    .tables = graph_tables,
    .trees = graph_trees,
    .open = call_graph_open,
    .drain = call_graph_drain,
    .requests = 1u << REQUEST_GRAPH,
    .request = call_graph_request,
    .sample = call_graph_sample,
    .close = call_graph_close,
    .check = call_graph_check,
};
