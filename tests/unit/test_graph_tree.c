// The call tree of traced functions: entries and exits in order, and everything that can be missing.
#include "collectors/functions/graph_tree.h"

#include <stdlib.h>

#include "model/mem.h"
#include "tests/unit/model_test.h"

#define A 0x1000u
#define B 0x2000u
#define C 0x3000u

static const struct graph_range only_a[] = {{A, A + 0x100}};
static struct graph_tree *tree;
static uint64_t now;

static void entry_of(int32_t tid, uint64_t function, uint32_t depth) {
    const struct graph_record record = {.ts = ++now, .function = function, .tid = tid, .cpu = 1, .depth = depth};
    graph_tree_entry(tree, &record);
}

static void exit_of(int32_t tid, uint64_t function, uint32_t depth, uint64_t ns) {
    const struct graph_record record = {.ts = ++now, .function = function, .tid = tid, .cpu = 1, .depth = depth};
    graph_tree_exit(tree, &record, ns);
}

static int begin(void **state) {
    (void)state;
    tree = graph_tree_new(only_a, 1, 0);
    now = 0;
    return 0;
}

static int end(void **state) {
    (void)state;
    graph_tree_free(tree);
    return 0;
}

// The node on that path, which ends with 0.
static const struct graph_node *node(const uint64_t *path) {
    size_t n;
    const struct graph_node *nodes = graph_tree_nodes(tree, &n), *at = nodes;
    for (; *path; path++) {
        uint32_t i = at->first;
        while (i && nodes[i].function != *path)
            i = nodes[i].next;
        if (!i)
            return NULL;
        at = &nodes[i];
    }
    return at;
}
#define NODE(...) node((const uint64_t[]){__VA_ARGS__, 0})

static void check(const struct graph_node *of, uint64_t calls, uint64_t total, uint64_t self, uint64_t max) {
    assert_non_null(of);
    assert_int_equal(of->now.calls, calls);
    assert_int_equal(of->now.total_ns, total);
    assert_int_equal(of->now.self_ns, self);
    assert_int_equal(of->now.max_ns, max);
}

static void nothing_is_missing(void) {
    const struct graph_counts *counts = graph_tree_counts(tree);
    assert_int_equal(counts->lost_exits + counts->lost_entries + counts->dropped, 0);
    assert_int_equal(counts->too_deep + counts->no_room + counts->threads, 0);
}

static void merged_by_path(void **state) {
    (void)state;
    for (int i = 1; i <= 3; i++) {
        entry_of(7, A, 0);
        entry_of(7, B, 1);
        entry_of(7, C, 2);
        exit_of(7, C, 2, 5);
        exit_of(7, B, 1, 20);
        entry_of(7, C, 1);
        exit_of(7, C, 1, 7);
        exit_of(7, A, 0, 100u * (unsigned)i);
    }
    nothing_is_missing();
    check(NODE(A), 3, 600, 600 - 3 * 27, 300);
    check(NODE(A, B), 3, 60, 45, 20);
    check(NODE(A, B, C), 3, 15, 15, 5);
    check(NODE(A, C), 3, 21, 21, 7);
    assert_int_equal(graph_tree_counts(tree)->calls, 12);
    assert_int_equal(graph_tree_counts(tree)->outermost, 3);
}

static void threads_are_apart(void **state) {
    (void)state;
    entry_of(7, A, 0);
    entry_of(8, A, 0);
    entry_of(7, B, 1);
    entry_of(0, A, 0); // of CPU 1
    exit_of(8, A, 0, 10);
    exit_of(7, B, 1, 1);
    exit_of(0, A, 0, 30);
    exit_of(7, A, 0, 20);
    const struct graph_record other = {.function = A, .tid = 0, .cpu = 2};
    graph_tree_exit(tree, &other, 5);
    check(NODE(A), 3, 60, 59, 30);
    assert_int_equal(graph_tree_counts(tree)->dropped, 1);
}

// An interrupt runs on the stack of the thread, at the next depth.
static void interrupts_nest(void **state) {
    (void)state;
    entry_of(7, A, 0);
    entry_of(7, C, 1); // the interrupt
    entry_of(7, A, 2); // calls the chosen function
    entry_of(7, C, 3); // and is interrupted again
    exit_of(7, C, 3, 1);
    exit_of(7, A, 2, 4);
    exit_of(7, C, 1, 10);
    exit_of(7, A, 0, 50);
    nothing_is_missing();
    check(NODE(A), 1, 50, 40, 50);
    check(NODE(A, C), 1, 10, 6, 10);
    check(NODE(A, C, A), 1, 4, 3, 4);
    check(NODE(A, C, A, C), 1, 1, 1, 1);
    assert_int_equal(graph_tree_counts(tree)->outermost, 1);
}

static void recursion(void **state) {
    (void)state;
    for (uint32_t depth = 0; depth < 10; depth++)
        entry_of(7, A, depth);
    for (uint32_t depth = 10; depth-- > 0;)
        exit_of(7, A, depth, 10 - depth);
    nothing_is_missing();
    check(NODE(A), 1, 10, 1, 10);
    check(NODE(A, A, A), 1, 8, 1, 8);
    assert_int_equal(graph_tree_counts(tree)->outermost, 1);
}

static void too_deep(void **state) {
    (void)state;
    const uint32_t deepest = GRAPH_DEPTH_MAX + 5;
    entry_of(7, A, 0);
    for (uint32_t depth = 1; depth < deepest; depth++)
        entry_of(7, B, depth);
    for (uint32_t depth = deepest; depth-- > 1;)
        exit_of(7, B, depth, 2 * (deepest - depth));
    exit_of(7, A, 0, 1000);
    const struct graph_counts *counts = graph_tree_counts(tree);
    assert_int_equal(counts->too_deep, 5);
    assert_int_equal(counts->lost_exits + counts->lost_entries + counts->dropped, 0);
    assert_int_equal(counts->calls, GRAPH_DEPTH_MAX);
    check(NODE(A), 1, 1000, 1000 - 2 * (deepest - 1), 1000);
}

static void exits_missing(void **state) {
    (void)state;
    entry_of(7, A, 0);
    entry_of(7, B, 1); // no exit
    entry_of(7, C, 2); // no exit
    entry_of(7, C, 1);
    exit_of(7, C, 1, 3);
    exit_of(7, A, 0, 50);
    assert_int_equal(graph_tree_counts(tree)->lost_exits, 2);
    check(NODE(A), 1, 50, 47, 50);
    check(NODE(A, B), 1, 0, 0, 0);
    assert_int_equal(NODE(A, B)->now.cut, 1);
    assert_int_equal(NODE(A, B, C)->now.cut, 1);
    check(NODE(A, C), 1, 3, 3, 3);
    entry_of(7, A, 0); // no exit
    entry_of(7, A, 0);
    exit_of(7, A, 0, 1);
    assert_int_equal(graph_tree_counts(tree)->lost_exits, 3);
    check(NODE(A), 3, 51, 48, 50);
}

static void entries_missing(void **state) {
    (void)state;
    entry_of(7, A, 0);
    exit_of(7, B, 1, 10); // its time is not A's own
    entry_of(7, C, 1);    // its exit is missing, as B's entry
    exit_of(7, B, 1, 20);
    exit_of(7, A, 0, 50);
    check(NODE(A), 1, 50, 20, 50);
    assert_null(NODE(A, B));
    assert_int_equal(graph_tree_counts(tree)->lost_entries, 2);
    assert_int_equal(graph_tree_counts(tree)->lost_exits, 1);
}

// The tracer began within a call, which has no entry.
static void began_within(void **state) {
    (void)state;
    entry_of(7, C, 2);
    exit_of(7, C, 2, 1);
    exit_of(7, B, 1, 2);
    exit_of(7, A, 0, 3);
    assert_int_equal(graph_tree_counts(tree)->dropped, 4);
    assert_int_equal(graph_tree_counts(tree)->calls, 0);
    entry_of(7, A, 0);
    exit_of(7, A, 0, 3);
    check(NODE(A), 1, 3, 3, 3);
}

static void loss_in_the_middle(void **state) {
    (void)state;
    entry_of(7, A, 0);
    entry_of(7, B, 1);
    entry_of(8, A, 0);
    graph_tree_gap(tree); // A may have ended, and another have begun
    exit_of(7, B, 1, 1000000);
    entry_of(7, A, 1); // called by an unknown function: no outermost call
    exit_of(7, A, 1, 5);
    exit_of(7, A, 0, 1000000);
    entry_of(7, A, 0);
    entry_of(7, B, 1);
    exit_of(7, B, 1, 2);
    exit_of(7, A, 0, 8);
    const struct graph_counts *counts = graph_tree_counts(tree);
    check(NODE(A), 2, 8, 6, 8);
    assert_int_equal(NODE(A)->now.cut, 1);
    check(NODE(A, B), 2, 2, 2, 2);
    assert_int_equal(counts->lost_exits, 2); // of thread 8 nothing came since
    assert_int_equal(counts->dropped, 4);
    assert_int_equal(counts->outermost, 1);
    entry_of(8, A, 0);
    exit_of(8, A, 0, 1);
    assert_int_equal(counts->lost_exits, 3);
    assert_int_equal(counts->outermost, 2);
    // A thread that was not seen before the loss.
    entry_of(9, A, 3);
    exit_of(9, A, 3, 1);
    assert_int_equal(counts->dropped, 6);
    entry_of(9, A, 0);
    exit_of(9, A, 0, 1);
    assert_int_equal(counts->outermost, 3);
}

// Another user of the tracer has calls of its own on the stack.
static void outermost_at_a_depth(void **state) {
    (void)state;
    entry_of(7, A, 2);
    entry_of(7, B, 4);
    exit_of(7, B, 4, 1);
    exit_of(7, A, 2, 3);
    nothing_is_missing();
    check(NODE(A), 1, 3, 2, 3);
    graph_tree_gap(tree);
    entry_of(7, A, 2);
    exit_of(7, A, 2, 3);
    check(NODE(A), 2, 6, 5, 3);
}

static void every_function_begins(void **state) {
    (void)state;
    graph_tree_free(tree);
    tree = graph_tree_new(NULL, 0, 0);
    entry_of(7, C, 0);
    entry_of(7, B, 1);
    exit_of(7, B, 1, 1);
    exit_of(7, C, 0, 3);
    nothing_is_missing();
    check(NODE(C), 1, 3, 2, 3);
    entry_of(8, B, 1);
    assert_int_equal(graph_tree_counts(tree)->dropped, 1);
}

static void intervals(void **state) {
    (void)state;
    entry_of(7, A, 0);
    entry_of(7, B, 1);
    exit_of(7, B, 1, 4);
    graph_tree_next(tree);
    check(NODE(A, B), 0, 0, 0, 0);
    entry_of(7, B, 1);
    graph_tree_next(tree);
    exit_of(7, B, 1, 5);
    exit_of(7, A, 0, 100);
    nothing_is_missing();
    check(NODE(A), 1, 100, 91, 100);
    check(NODE(A, B), 1, 5, 5, 5);
    assert_int_equal(NODE(A, B)->before.calls, 1);
    graph_tree_next(tree);
    const struct graph_sums *all = &NODE(A, B)->before;
    assert_int_equal(all->calls, 2);
    assert_int_equal(all->total_ns, 9);
    assert_int_equal(all->self_ns, 9);
    assert_int_equal(all->max_ns, 5);
    assert_int_equal(NODE(A)->before.calls, 1);
}

// The tree is full: calls are counted, and after the interval there is room again.
static void full(void **state) {
    (void)state;
    entry_of(8, A, 0);
    entry_of(8, B, 1);
    entry_of(7, A, 0);
    for (uint64_t i = 0; i < GRAPH_NODES_MAX; i++) {
        entry_of(7, 0x100000 + i, 1);
        entry_of(7, B, 2);
        exit_of(7, B, 2, 1);
        exit_of(7, 0x100000 + i, 1, 2);
    }
    const struct graph_counts *counts = graph_tree_counts(tree);
    assert_int_equal(counts->no_room, 2 * GRAPH_NODES_MAX - (GRAPH_NODES_MAX - 3));
    assert_int_equal(counts->calls, 2 * GRAPH_NODES_MAX);
    graph_tree_next(tree);
    size_t n;
    graph_tree_nodes(tree, &n);
    assert_int_equal(n, 3); // the root, A, B
    exit_of(8, B, 1, 5);
    exit_of(8, A, 0, 9);
    exit_of(7, A, 0, 100);
    assert_int_equal(counts->no_room, 0);
    check(NODE(A), 2, 109, 4, 100); // the 100 ns were those of the functions below
    check(NODE(A, B), 1, 5, 5, 5);
}

static void many_threads(void **state) {
    (void)state;
    for (int32_t tid = 1; tid <= 5000; tid++) {
        entry_of(tid, A, 0);
        exit_of(tid, A, 0, 1);
    }
    nothing_is_missing();
    check(NODE(A), 5000, 5000, 5000, 1);
    entry_of(77, A, 0);
    for (int32_t tid = 10000; tid < 15000; tid++) { // idle ones go first
        entry_of(tid, A, 0);
        exit_of(tid, A, 0, 1);
    }
    exit_of(77, A, 0, 1);
    nothing_is_missing();
    for (int32_t tid = 1; tid <= 5000; tid++)
        entry_of(tid, A, 0);
    const struct graph_counts *counts = graph_tree_counts(tree);
    assert_int_equal(counts->threads, 5000 - 1024);
    assert_int_equal(counts->lost_exits, 5000 - 1024);
}

static void slowest(void **state) {
    (void)state;
    const struct graph_call *order[GRAPH_SLOW];
    assert_int_equal(graph_tree_slow(tree, order), 0);
    for (unsigned i = 0; i < 40; i++) {
        unsigned ns = 1000 + i * 7 % 40; // each once
        entry_of(7, A, 0);
        entry_of(7, B, 1);
        entry_of(7, C, 2); // without an exit
        exit_of(7, B, 1, i);
        exit_of(7, A, 0, ns);
    }
    assert_int_equal(graph_tree_slow(tree, order), GRAPH_SLOW);
    for (unsigned i = 0; i < GRAPH_SLOW; i++) {
        const struct graph_call *call = order[i];
        assert_int_equal(call->ns, 1039 - i);
        assert_int_equal(call->tid, 7);
        assert_int_equal(call->n_lines, 3);
        assert_int_equal(call->lines[0].function, A);
        assert_int_equal(call->lines[0].ns, call->ns);
        assert_int_equal(call->lines[0].self_ns, call->ns - call->lines[1].ns);
        assert_int_equal(call->lines[1].function, B);
        assert_int_equal(call->lines[1].depth, 1);
        assert_int_equal(call->lines[2].depth, 2);
        assert_true(call->lines[2].ns == GRAPH_OPEN);
    }
    graph_tree_next(tree);
    assert_int_equal(graph_tree_slow(tree, order), 0);
    entry_of(7, A, 0);
    for (unsigned i = 0; i < 300; i++) {
        entry_of(7, B, 1);
        exit_of(7, B, 1, 1);
    }
    exit_of(7, A, 0, 5000);
    assert_int_equal(graph_tree_slow(tree, order), 1);
    assert_int_equal(order[0]->n_lines, GRAPH_LINES_MAX);
    assert_int_equal(order[0]->left_out, 301 - GRAPH_LINES_MAX);
    check(NODE(A, B), 300, 300, 300, 1);
}

static void threshold(void **state) {
    (void)state;
    const struct graph_call *order[GRAPH_SLOW];
    graph_tree_free(tree);
    tree = graph_tree_new(only_a, 1, 100);
    for (unsigned ns = 98; ns < 102; ns++) {
        entry_of(7, A, 0);
        exit_of(7, A, 0, ns);
    }
    assert_int_equal(graph_tree_slow(tree, order), 2);
    assert_int_equal(order[0]->ns, 101); // the newest
    assert_int_equal(order[1]->ns, 100);
    check(NODE(A), 4, 98 + 99 + 100 + 101, 98 + 99 + 100 + 101, 101);
    graph_tree_next(tree); // they are kept
    for (unsigned ns = 300; ns > 291; ns--) {
        entry_of(7, A, 0);
        exit_of(7, A, 0, ns);
    }
    assert_int_equal(graph_tree_slow(tree, order), GRAPH_SLOW);
    assert_int_equal(order[0]->ns, 292);
    assert_int_equal(order[GRAPH_SLOW - 1]->ns, 101);
}

// Whatever order records have, sums agree: the time of all outermost calls is the sum of the own times below them, but
// for returns without an entry.
static void any_records(void **state) {
    (void)state;
    uint32_t random = 1;
    for (int i = 0; i < 200000; i++) {
        random = random * 1664525u + 1013904223u;
        int32_t tid = (int32_t)(random >> 28);
        uint64_t function = A + (uint64_t)(random >> 24 & 3) * 0x1000;
        uint32_t depth = random >> 16 & 7;
        if (random & 0x8000)
            entry_of(tid, function, depth);
        else
            exit_of(tid, function, depth, random >> 4 & 0xff);
        if (i % 5000 == 4999)
            graph_tree_gap(tree);
    }
    size_t n;
    uint64_t calls = 0, cut = 0;
    const struct graph_node *nodes = graph_tree_nodes(tree, &n);
    const struct graph_counts *counts = graph_tree_counts(tree);
    for (size_t i = 1; i < n; i++) {
        calls += nodes[i].now.calls;
        cut += nodes[i].now.cut;
        assert_true(nodes[i].parent < i);
        assert_true(nodes[i].now.self_ns <= nodes[i].now.total_ns);
        assert_true(nodes[i].now.cut <= nodes[i].now.calls);
        assert_true(nodes[i].now.max_ns <= nodes[i].now.total_ns);
    }
    assert_int_equal(counts->records, 200000);
    assert_int_equal(calls, counts->calls);
    assert_int_equal(cut, counts->lost_exits);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(merged_by_path, begin, end),
        cmocka_unit_test_setup_teardown(threads_are_apart, begin, end),
        cmocka_unit_test_setup_teardown(interrupts_nest, begin, end),
        cmocka_unit_test_setup_teardown(recursion, begin, end),
        cmocka_unit_test_setup_teardown(too_deep, begin, end),
        cmocka_unit_test_setup_teardown(exits_missing, begin, end),
        cmocka_unit_test_setup_teardown(entries_missing, begin, end),
        cmocka_unit_test_setup_teardown(began_within, begin, end),
        cmocka_unit_test_setup_teardown(loss_in_the_middle, begin, end),
        cmocka_unit_test_setup_teardown(outermost_at_a_depth, begin, end),
        cmocka_unit_test_setup_teardown(every_function_begins, begin, end),
        cmocka_unit_test_setup_teardown(intervals, begin, end),
        cmocka_unit_test_setup_teardown(full, begin, end),
        cmocka_unit_test_setup_teardown(many_threads, begin, end),
        cmocka_unit_test_setup_teardown(slowest, begin, end),
        cmocka_unit_test_setup_teardown(threshold, begin, end),
        cmocka_unit_test_setup_teardown(any_records, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
