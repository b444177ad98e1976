// The call graph of kernel functions: who calls whom, how often and for how long, while one of the chosen functions
// runs. A part of a collector, which calls it in its own thread: graph_open, graph_drain between samples, graph_fill in
// sample, graph_close.
#ifndef COLLECTORS_FUNCTIONS_GRAPH_H
#define COLLECTORS_FUNCTIONS_GRAPH_H

#include "collectors/collector.h"
#include "collectors/functions/graph_trace.h"

// A choice as text: "[!]FUNCTION[,FUNCTION] [depth=N] [without=F[,F]] [start=F[,F]] [stop=F[,F]] [> TIME]". FUNCTION,
// F: a name or a glob of the kernel's functions; "*": all of them (with --pid only). TIME ("10ms"): calls below it are
// not listed one by one. start, stop: recording goes on, and off, when one of these is entered. "!": whatever it costs.
struct graph_words {
    char functions[1024], notrace[1024], start[256], stop[256];
    uint32_t depth;
    uint64_t slow_ns;
    bool forced;
};
struct choice_error;
// 0, or -EINVAL with the sentence and the place.
int graph_words_parse(struct graph_words *words, const char *text, struct choice_error *error);

struct graph;
// 0, or -errno with run->reason and run->fix. words: copied. PIDs, buffers and the budget come from the options.
int graph_open(const struct graph_words *words, struct collector_run *run, struct graph **out);
void graph_close(struct graph *graph); // NULL is allowed
// Sets run->drain_ms and run->poll_fd.
void graph_drain(struct graph *graph, struct collector_run *run);
// Adds the tree, the tables, series, events and notes of the interval; a graph that is NULL has empty ones.
void graph_fill(struct graph *graph, struct collector_run *run, struct section *out);

extern const struct table_def *const graph_tables[]; // ends with NULL
extern const struct tree_def *const graph_trees[];

#endif
