// The call tree of traced functions; see the header.
#include "collectors/functions/graph_tree.h"

#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define SETS 64 // of threads
#define WAYS 16
#define THREADS (SETS * WAYS)
#define HASH (GRAPH_NODES_MAX * 2)
#define NONE UINT32_MAX

struct frame { // an open call
    uint64_t function, child_ns;
    uint32_t node, line; // NONE: it has none
    uint32_t depth;
};

struct thread {
    uint32_t n; // open calls
    uint32_t generation;
    bool after_loss; // wait for the next outermost call
    uint64_t used;   // records of the tree at its last one
    uint32_t n_lines, lines_left_out;
    struct frame frames[GRAPH_DEPTH_MAX];
    struct graph_line lines[GRAPH_LINES_MAX];
};

struct graph_tree {
    uint64_t slow_ns;
    size_t n_ranges;
    struct graph_range *ranges;
    uint32_t generation; // grows with each loss
    uint32_t outer;      // depth of the last outermost call that began without a loss before it
    uint64_t clock;      // records since the beginning
    struct graph_counts counts;
    uint32_t n_nodes;
    struct graph_node nodes[GRAPH_NODES_MAX];
    uint32_t hash[HASH];      // node + 1; 0: free
    int32_t keys[SETS][WAYS]; // 0: free
    struct thread threads[THREADS];
    size_t n_slow;
    struct graph_call slow[GRAPH_SLOW];
};

struct graph_tree *graph_tree_new(const struct graph_range *ranges, size_t n_ranges, uint64_t slow_ns) {
    struct graph_tree *tree = xcalloc(1, sizeof(*tree));
    tree->slow_ns = slow_ns;
    tree->n_ranges = n_ranges;
    if (n_ranges) {
        tree->ranges = xmalloc(n_ranges * sizeof(*ranges));
        memcpy(tree->ranges, ranges, n_ranges * sizeof(*ranges));
    }
    tree->n_nodes = 1;
    return tree;
}

void graph_tree_free(struct graph_tree *tree) {
    if (!tree)
        return;
    free(tree->ranges);
    free(tree);
}

// ---- nodes ----

static uint32_t hash_of(uint32_t parent, uint64_t function) {
    uint64_t mixed = (function ^ (uint64_t)parent << 40) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(mixed >> 32) & (HASH - 1);
}

// NONE: the tree is full.
static uint32_t node_of(struct graph_tree *tree, uint32_t parent, uint64_t function) {
    if (parent == NONE)
        return NONE;
    uint32_t at = hash_of(parent, function);
    for (; tree->hash[at]; at = (at + 1) & (HASH - 1)) {
        const struct graph_node *node = &tree->nodes[tree->hash[at] - 1];
        if (node->function == function && node->parent == parent)
            return tree->hash[at] - 1;
    }
    if (tree->n_nodes == GRAPH_NODES_MAX)
        return NONE;
    uint32_t i = tree->n_nodes++;
    tree->nodes[i] = (struct graph_node){.function = function, .parent = parent, .next = tree->nodes[parent].first};
    tree->nodes[parent].first = i;
    tree->hash[at] = i + 1;
    return i;
}

// ---- threads ----

// Idle threads all have the TID 0.
static int32_t key_of(const struct graph_record *record) {
    return record->tid ? record->tid : -1 - (int32_t)record->cpu;
}

static void call_cut(struct graph_tree *tree, const struct frame *frame) {
    tree->counts.lost_exits++;
    tree->counts.calls++;
    if (frame->node == NONE)
        return;
    tree->nodes[frame->node].now.calls++;
    tree->nodes[frame->node].now.cut++;
}

static void cut_from(struct graph_tree *tree, struct thread *thread, uint32_t keep) {
    while (thread->n > keep)
        call_cut(tree, &thread->frames[--thread->n]);
}

static struct thread *thread_of(struct graph_tree *tree, const struct graph_record *record) {
    int32_t key = key_of(record);
    uint32_t set = (uint32_t)key * 2654435761u >> 26;
    int32_t *keys = tree->keys[set];
    struct thread *threads = &tree->threads[(size_t)set * WAYS];
    uint32_t oldest = 0, way;
    for (way = 0; way < WAYS; way++)
        if (keys[way] == key)
            break;
    if (way == WAYS) {
        for (way = 0; way < WAYS && keys[way]; way++)
            if (!threads[way].n != !threads[oldest].n ? !threads[way].n : threads[way].used < threads[oldest].used)
                oldest = way;
        if (way == WAYS) {
            way = oldest;
            tree->counts.threads += threads[way].n > 0;
            cut_from(tree, &threads[way], 0);
        }
        keys[way] = key;
        threads[way].after_loss = tree->generation > 0;
        threads[way].generation = tree->generation;
    }
    struct thread *thread = &threads[way];
    thread->used = ++tree->clock;
    if (thread->generation != tree->generation) {
        cut_from(tree, thread, 0);
        thread->after_loss = true;
        thread->generation = tree->generation;
    }
    return thread;
}

void graph_tree_gap(struct graph_tree *tree) {
    tree->generation++;
}

// ---- records ----

static bool is_outermost(const struct graph_tree *tree, const struct graph_record *record) {
    size_t low = 0, high = tree->n_ranges;
    if (!high)
        return record->depth == 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (record->function >= tree->ranges[middle].end)
            low = middle + 1;
        else
            high = middle;
    }
    return low < tree->n_ranges && record->function >= tree->ranges[low].begin;
}

static bool begins(struct graph_tree *tree, struct thread *thread, const struct graph_record *record) {
    bool outermost = is_outermost(tree, record);
    // After a loss the function may have been called by one that is unknown: by itself, if it is recursive.
    if (!outermost || (thread->after_loss && record->depth > tree->outer)) {
        tree->counts.dropped++;
        return false;
    }
    if (!thread->after_loss)
        tree->outer = record->depth;
    thread->after_loss = false;
    thread->n_lines = thread->lines_left_out = 0;
    return true;
}

void graph_tree_entry(struct graph_tree *tree, const struct graph_record *record) {
    struct thread *thread = thread_of(tree, record);
    tree->counts.records++;
    while (thread->n && thread->frames[thread->n - 1].depth >= record->depth)
        cut_from(tree, thread, thread->n - 1);
    if (!thread->n && !begins(tree, thread, record))
        return;
    if (thread->n == GRAPH_DEPTH_MAX) {
        tree->counts.too_deep++;
        return;
    }
    struct frame *frame = &thread->frames[thread->n];
    uint32_t parent = thread->n ? frame[-1].node : 0;
    *frame = (struct frame){.function = record->function,
                            .node = node_of(tree, parent, record->function),
                            .line = NONE,
                            .depth = record->depth};
    if (thread->n_lines < GRAPH_LINES_MAX) {
        frame->line = thread->n_lines++;
        thread->lines[frame->line] = (struct graph_line){
            .function = record->function, .ns = GRAPH_OPEN, .self_ns = GRAPH_OPEN, .depth = thread->n};
    } else {
        thread->lines_left_out++;
    }
    thread->n++;
}

// The oldest of those that are kept gives way; without a threshold the fastest.
static void slow_keep(struct graph_tree *tree, const struct thread *thread, const struct graph_record *record,
                      uint64_t ns) {
    struct graph_call *call = &tree->slow[0];
    if (ns < tree->slow_ns)
        return;
    if (tree->slow_ns || tree->n_slow < GRAPH_SLOW) {
        call = &tree->slow[tree->n_slow++ % GRAPH_SLOW];
    } else {
        for (size_t i = 1; i < GRAPH_SLOW; i++)
            if (tree->slow[i].ns < call->ns)
                call = &tree->slow[i];
        if (ns <= call->ns)
            return;
    }
    call->end_ts = record->ts;
    call->ns = ns;
    call->tid = record->tid;
    call->cpu = record->cpu;
    call->n_lines = thread->n_lines;
    call->left_out = thread->lines_left_out;
    memcpy(call->lines, thread->lines, thread->n_lines * sizeof(*call->lines));
}

static void call_end(struct graph_tree *tree, struct thread *thread, const struct graph_record *record, uint64_t ns) {
    const struct frame *frame = &thread->frames[--thread->n];
    uint64_t self = ns > frame->child_ns ? ns - frame->child_ns : 0;
    tree->counts.calls++;
    if (frame->node != NONE) {
        struct graph_sums *now = &tree->nodes[frame->node].now;
        now->calls++;
        now->total_ns += ns;
        now->self_ns += self;
        if (ns > now->max_ns)
            now->max_ns = ns;
    } else {
        tree->counts.no_room++;
    }
    if (frame->line != NONE) {
        thread->lines[frame->line].ns = ns;
        thread->lines[frame->line].self_ns = self;
    }
    if (thread->n) {
        thread->frames[thread->n - 1].child_ns += ns;
        return;
    }
    tree->counts.outermost++;
    slow_keep(tree, thread, record, ns);
}

void graph_tree_exit(struct graph_tree *tree, const struct graph_record *record, uint64_t duration_ns) {
    struct thread *thread = thread_of(tree, record);
    tree->counts.records++;
    if (!thread->n) {
        tree->counts.dropped++;
        // The end of an outermost call: the next entry begins one.
        if (record->depth <= tree->outer)
            thread->after_loss = false;
        return;
    }
    const struct frame *top = &thread->frames[thread->n - 1];
    if (thread->n == GRAPH_DEPTH_MAX && record->depth > top->depth) // its entry was too deep
        return;
    while (thread->n && thread->frames[thread->n - 1].depth > record->depth)
        cut_from(tree, thread, thread->n - 1);
    top = thread->n ? &thread->frames[thread->n - 1] : NULL;
    if (top && top->depth == record->depth && top->function == record->function) {
        call_end(tree, thread, record, duration_ns);
        return;
    }
    tree->counts.lost_entries++;
    if (top && top->depth == record->depth)
        cut_from(tree, thread, thread->n - 1);
    if (thread->n) // the caller did not spend the time itself
        thread->frames[thread->n - 1].child_ns += duration_ns;
}

// ---- an interval ----

struct graph_sums graph_sums_add(const struct graph_sums *a, const struct graph_sums *b) {
    return (struct graph_sums){
        .calls = a->calls + b->calls,
        .cut = a->cut + b->cut,
        .total_ns = a->total_ns + b->total_ns,
        .self_ns = a->self_ns + b->self_ns,
        .max_ns = a->max_ns > b->max_ns ? a->max_ns : b->max_ns,
    };
}

const struct graph_node *graph_tree_nodes(const struct graph_tree *tree, size_t *n) {
    *n = tree->n_nodes;
    return tree->nodes;
}

const struct graph_counts *graph_tree_counts(const struct graph_tree *tree) {
    return &tree->counts;
}

static int slower_first(const void *a, const void *b) {
    const struct graph_call *x = *(const struct graph_call *const *)a, *y = *(const struct graph_call *const *)b;
    return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns) : (x->end_ts > y->end_ts) - (x->end_ts < y->end_ts);
}

size_t graph_tree_slow(const struct graph_tree *tree, const struct graph_call *order[GRAPH_SLOW]) {
    size_t n = tree->n_slow < GRAPH_SLOW ? tree->n_slow : GRAPH_SLOW;
    for (size_t i = 0; i < n; i++)
        order[i] = &tree->slow[(tree->n_slow - 1 - i) % GRAPH_SLOW];
    if (!tree->slow_ns)
        qsort(order, n, sizeof(*order), slower_first);
    return n;
}

// Only the paths of open calls stay.
static void nodes_renew(struct graph_tree *tree) {
    memset(tree->hash, 0, sizeof(tree->hash));
    tree->nodes[0] = (struct graph_node){.function = 0};
    tree->n_nodes = 1;
    for (size_t t = 0; t < THREADS; t++) {
        struct thread *thread = &tree->threads[t];
        for (uint32_t i = 0; i < thread->n; i++)
            thread->frames[i].node = node_of(tree, i ? thread->frames[i - 1].node : 0, thread->frames[i].function);
    }
}

void graph_tree_next(struct graph_tree *tree) {
    tree->counts = (struct graph_counts){0};
    tree->n_slow = tree->slow_ns ? tree->n_slow : 0;
    if (tree->n_nodes > GRAPH_NODES_FULL) {
        nodes_renew(tree);
        return;
    }
    for (uint32_t i = 0; i < tree->n_nodes; i++) {
        struct graph_node *node = &tree->nodes[i];
        node->before = graph_sums_add(&node->before, &node->now);
        node->now = (struct graph_sums){0};
    }
}
