// Trees: sums, order, layout, deep stacks, merging, names that are found late.
#include "tests/unit/model_test.h"

#include <stdlib.h>

#include "model/mem.h"
#include "model/tree.h"

static const struct tree_def def = {.name = "cpu", .unit_name = "samples"};

// One ID for each letter.
static struct name_table *letters(void) {
    struct name_table *table = name_table_new();
    for (char letter = 'a'; letter <= 'z'; letter++)
        name_table_add(table, text_new(&letter, 1));
    return table;
}

static void add(struct tree_builder *builder, uint64_t weight, const char *path) {
    uint32_t ids[8];
    size_t n = 0;
    for (; path[n]; n++)
        ids[n] = (uint32_t)(path[n] - 'a');
    tree_builder_add(builder, ids, n, weight);
}

static void expect(const struct tree *tree, size_t i, const char *name, size_t parent, unsigned depth, uint64_t self,
                   uint64_t total, uint32_t below) {
    const struct tree_node *node = tree_node(tree, i);
    assert_text(tree_node_text(tree, i), name);
    assert_int_equal(node->parent, parent);
    assert_int_equal(node->depth, depth);
    assert_int_equal(node->self, self);
    assert_int_equal(node->total, total);
    assert_int_equal(node->n_descendants, below);
}

static void layout(void **state) {
    (void)state;
    size_t before = mem_used();
    struct name_table *names = letters();
    struct tree_builder *builder = tree_builder_new(&def, names);
    name_table_unref(names);
    add(builder, 1, "mbx");
    add(builder, 2, "ma");
    add(builder, 5, "mby");
    add(builder, 4, "max"); // a different node than x below b
    add(builder, 1, "m");
    add(builder, 20, "i");
    add(builder, 3, "mbx");
    struct tree *tree = tree_builder_seal(builder);
    assert_int_equal(tree_nodes(tree), 8);
    expect(tree, 0, "", 0, 0, 0, 36, 7);
    expect(tree, 1, "i", 0, 1, 20, 20, 0); // the heaviest first
    expect(tree, 2, "m", 0, 1, 1, 16, 5);
    expect(tree, 3, "b", 2, 2, 0, 9, 2);
    expect(tree, 4, "y", 3, 3, 5, 5, 0);
    expect(tree, 5, "x", 3, 3, 4, 4, 0);
    expect(tree, 6, "a", 2, 2, 2, 6, 1);
    expect(tree, 7, "x", 6, 3, 4, 4, 0);
    assert_ptr_equal(tree_def(tree), &def);
    tree_free(tree);
    tree = tree_builder_seal(builder); // it is empty now
    assert_int_equal(tree_nodes(tree), 1);
    expect(tree, 0, "", 0, 0, 0, 0, 0);
    tree_free(tree);
    add(builder, 1, "a");
    tree_builder_free(builder);
    tree_builder_free(NULL);
    tree_free(NULL);
    assert_int_equal(mem_used(), before);
}

static void large(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct tree_builder *builder = tree_builder_new(&def, names);
    enum { DEEP = 3000 };
    static uint32_t ids[DEEP];
    for (int i = 0; i < DEEP; i++)
        ids[i] = i < 100 ? name_table_add(names, text_printf("f%d", i)) : ids[i % 100];
    uint64_t sum = 0;
    for (int i = 0; i < DEEP; i += 7) {
        tree_builder_add(builder, ids, (size_t)i, (uint64_t)i);
        sum += (uint64_t)i;
    }
    for (int i = 0; i < DEEP; i++) // many children of one
        tree_builder_add(builder, &ids[i], 1, 1);
    struct tree *tree = tree_builder_seal(builder);
    assert_int_equal(tree_node(tree, 0)->total, sum + DEEP);
    uint32_t deepest = 0;
    for (size_t i = 1; i < tree_nodes(tree); i++) {
        const struct tree_node *node = tree_node(tree, i);
        assert_true(node->parent < i);
        assert_int_equal(node->depth, tree_node(tree, node->parent)->depth + 1);
        assert_true(i + node->n_descendants <= node->parent + tree_node(tree, node->parent)->n_descendants);
        deepest = node->depth > deepest ? node->depth : deepest;
    }
    assert_int_equal(deepest, (DEEP - 1) / 7 * 7);
    tree_free(tree);
    tree_builder_free(builder);
    name_table_unref(names);
}

static void merging(void **state) {
    (void)state;
    size_t before = mem_used();
    struct name_table *names = letters(), *others = letters();
    struct tree_builder *builder = tree_builder_new(&def, names);
    add(builder, 1, "mab");
    add(builder, 9, "mx");
    struct tree *first = tree_builder_seal(builder);
    add(builder, 20, "mab");
    add(builder, 2, "ma");
    add(builder, 4, "");
    struct tree *second = tree_builder_seal(builder);
    tree_builder_free(builder);
    builder = tree_builder_new(&def, others);
    struct tree *other = tree_builder_seal(builder);
    tree_builder_free(builder);

    struct tree *sum = tree_merge((const struct tree *[]){first, second}, 2);
    assert_int_equal(tree_nodes(sum), 5);
    expect(sum, 0, "", 0, 0, 4, 36, 4);
    expect(sum, 1, "m", 0, 1, 0, 32, 3);
    expect(sum, 2, "a", 1, 2, 2, 23, 1);
    expect(sum, 3, "b", 2, 3, 21, 21, 0);
    expect(sum, 4, "x", 1, 2, 9, 9, 0);
    assert_null(tree_merge((const struct tree *[]){first, other}, 2));
    // A symbol that is found late shows in the trees of older frames.
    name_table_set(names, 'b' - 'a', text_from("late"));
    expect(sum, 3, "late", 2, 3, 21, 21, 0);
    expect(first, 4, "late", 3, 3, 1, 1, 0);
    tree_free(first);
    tree_free(second);
    tree_free(other);
    name_table_unref(names);
    name_table_unref(others);
    assert_text(tree_node_text(sum, 3), "late"); // the tree keeps its names
    tree_free(sum);
    assert_int_equal(mem_used(), before);
}

// Of the paths' numbers, the nodes of the sealed tree; and of some of them, in any order, a tree of their own.
static void picking(void **state) {
    (void)state;
    static const char *const paths[] = {"ab", "abc", "ad", "ab", "xy"};
    uint32_t *nodes, picked[6];
    struct name_table *names = letters();
    struct tree_builder *builder = tree_builder_new(&def, names);
    for (size_t i = 0; i < 5; i++) {
        uint32_t ids[8];
        size_t n = 0;
        for (; paths[i][n]; n++)
            ids[n] = (uint32_t)(paths[i][n] - 'a');
        picked[i] = tree_builder_add(builder, ids, n, 1);
    }
    assert_int_equal(picked[0], picked[3]);
    struct tree *tree = tree_builder_seal_nodes(builder, &nodes);
    for (size_t i = 0; i < 5; i++) {
        picked[i] = nodes[picked[i]];
        assert_int_equal(tree_node(tree, picked[i])->depth, strlen(paths[i]));
        assert_int_equal(*text_bytes(tree_node_text(tree, picked[i])), paths[i][strlen(paths[i]) - 1]);
    }
    struct tree *all = tree_pick(tree, picked, 5), *none = tree_pick(tree, NULL, 0);
    assert_int_equal(tree_nodes(all), tree_nodes(tree));
    for (size_t i = 0; i < tree_nodes(tree); i++)
        assert_memory_equal(tree_node(all, i), tree_node(tree, i), sizeof(struct tree_node));
    assert_int_equal(tree_nodes(none), 1);
    picked[2] = picked[1]; // abc
    picked[5] = 1000;      // not one of its nodes
    struct tree *some = tree_pick(tree, picked + 1, 2), *wrong = tree_pick(tree, picked + 5, 1);
    assert_int_equal(tree_nodes(some), 4);
    expect(some, 1, "a", 0, 1, 0, 2, 2);
    expect(some, 2, "b", 1, 2, 0, 2, 1);
    expect(some, 3, "c", 2, 3, 2, 2, 0);
    assert_ptr_equal(tree_names(some), names);
    assert_int_equal(tree_nodes(wrong), 1);
    tree_free(wrong);
    tree_free(some);
    tree_free(none);
    tree_free(all);
    tree_free(tree);
    free(nodes);
    tree_builder_free(builder);
    name_table_unref(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layout), cmocka_unit_test(large), cmocka_unit_test(merging),
                                       cmocka_unit_test(picking)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
