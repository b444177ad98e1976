// The call tree of traced functions: entries and exits of each thread become a stack, and stacks are merged into one
// tree by function. It also keeps slow outermost calls, line by line. Pure: no kernel access, nothing is allocated
// after graph_tree_new. One thread owns it.
//
// The kernel gives each record the depth of its function, so a missing record shows: an entry at the depth of an open
// call, or an exit that no open call has. Whatever is missing is counted. After lost records, a thread's open calls are
// dropped, and its records are counted as dropped until its next outermost call.
#ifndef COLLECTORS_FUNCTIONS_GRAPH_TREE_H
#define COLLECTORS_FUNCTIONS_GRAPH_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GRAPH_DEPTH_MAX 64     // open calls of a thread; the kernel records 50
#define GRAPH_NODES_MAX 32768  // of the tree
#define GRAPH_NODES_FULL 24576 // more at the end of an interval: only the paths of open calls stay
#define GRAPH_LINES_MAX 256    // kept of one outermost call
#define GRAPH_SLOW 10          // outermost calls that are kept
#define GRAPH_OPEN UINT64_MAX  // duration: the call has no exit (yet)

struct graph_range { // code of an outermost function
    uint64_t begin, end;
};

struct graph_sums {
    uint64_t calls; // that ended, with those whose exit is missing
    uint64_t cut;   // of these: the exit is missing, so their time is in no sum
    uint64_t total_ns, self_ns, max_ns;
};
struct graph_sums graph_sums_add(const struct graph_sums *a, const struct graph_sums *b);

struct graph_node {
    uint64_t function; // address; 0: the root
    uint32_t parent, first, next;
    struct graph_sums now, before; // of the interval; of all intervals before it
};

struct graph_line {
    uint64_t function, ns, self_ns; // GRAPH_OPEN: its exit is missing
    uint32_t depth;                 // below the outermost call
};

struct graph_call { // an outermost call
    uint64_t end_ts, ns;
    int32_t tid;
    uint32_t cpu; // of its end
    uint32_t n_lines, left_out;
    struct graph_line lines[GRAPH_LINES_MAX]; // in the order of entries; the first is the call itself
};

struct graph_counts { // of the interval
    uint64_t records, calls, outermost;
    uint64_t lost_exits;   // open calls that have no exit
    uint64_t lost_entries; // exits that no open call has
    uint64_t dropped;      // records after a loss, until the next outermost call of the thread
    uint64_t too_deep;     // calls below GRAPH_DEPTH_MAX
    uint64_t no_room;      // calls that are not in the tree, because it is full
    uint64_t threads;      // forgotten while they had open calls, because there were too many
};

// A record of the ring: the idle threads, all of TID 0, are distinguished by CPU.
struct graph_record {
    uint64_t ts, function;
    int32_t tid;
    uint32_t cpu, depth;
};

struct graph_tree;

// slow_ns: the newest outermost calls are kept that took at least this; 0: the slowest of the interval. ranges: sorted;
// only these functions begin a tree; none: every function that is called at depth 0.
struct graph_tree *graph_tree_new(const struct graph_range *ranges, size_t n_ranges, uint64_t slow_ns);
void graph_tree_free(struct graph_tree *tree); // NULL is allowed

void graph_tree_entry(struct graph_tree *tree, const struct graph_record *record);
void graph_tree_exit(struct graph_tree *tree, const struct graph_record *record, uint64_t duration_ns);
// Records are missing between the last one and the next.
void graph_tree_gap(struct graph_tree *tree);

// Node 0 is the root; a node comes after its parent.
const struct graph_node *graph_tree_nodes(const struct graph_tree *tree, size_t *n);
const struct graph_counts *graph_tree_counts(const struct graph_tree *tree);
// The calls that are kept, the newest or the slowest first. Returns how many.
size_t graph_tree_slow(const struct graph_tree *tree, const struct graph_call *order[GRAPH_SLOW]);
// A new interval. Open calls go on.
void graph_tree_next(struct graph_tree *tree);

#endif
