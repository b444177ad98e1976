// Trees: sums, order, layout, deep stacks.
#include "tests/model_test.h"

#include <stdlib.h>

#include "model/mem.h"
#include "model/tree.h"

static const struct tree_def def = {.name = "cpu", .unit_name = "samples"};

static void add(struct tree_builder *builder, uint64_t weight, const char *path) {
    const struct text *names[8];
    size_t n = 0;
    char copy[64];
    strcpy(copy, path);
    for (char *name = strtok(copy, ";"); name; name = strtok(NULL, ";"))
        names[n++] = text_from(name);
    tree_builder_add(builder, names, n, weight);
    while (n)
        text_unref(names[--n]);
}

static void expect(const struct tree *tree, size_t i, const char *name, size_t parent, unsigned depth, uint64_t self,
                   uint64_t total, uint32_t below) {
    const struct tree_node *node = tree_node(tree, i);
    assert_text(node->name, name);
    assert_int_equal(node->parent, parent);
    assert_int_equal(node->depth, depth);
    assert_int_equal(node->self, self);
    assert_int_equal(node->total, total);
    assert_int_equal(node->n_descendants, below);
}

static void layout(void **state) {
    (void)state;
    size_t before = mem_used();
    struct tree_builder *builder = tree_builder_new(&def);
    add(builder, 1, "main;b;x");
    add(builder, 2, "main;a");
    add(builder, 5, "main;b;y");
    add(builder, 4, "main;a;x"); // another x than below b
    add(builder, 1, "main");
    add(builder, 20, "idle");
    add(builder, 3, "main;b;x");
    struct tree *tree = tree_builder_seal(builder);
    assert_int_equal(tree_nodes(tree), 8);
    expect(tree, 0, "", 0, 0, 0, 36, 7);
    expect(tree, 1, "idle", 0, 1, 20, 20, 0); // the heaviest first
    expect(tree, 2, "main", 0, 1, 1, 16, 5);
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
    add(builder, 1, "again");
    tree_builder_free(builder);
    tree_builder_free(NULL);
    tree_free(NULL);
    assert_int_equal(mem_used(), before);
}

static void large(void **state) {
    (void)state;
    struct tree_builder *builder = tree_builder_new(&def);
    enum { DEEP = 3000 };
    static const struct text *names[DEEP];
    for (int i = 0; i < DEEP; i++)
        names[i] = text_printf("f%d", i % 100);
    uint64_t sum = 0;
    for (int i = 0; i < DEEP; i += 7) {
        tree_builder_add(builder, names, (size_t)i, (uint64_t)i);
        sum += (uint64_t)i;
    }
    for (int i = 0; i < DEEP; i++) // many children of one
        tree_builder_add(builder, &names[i], 1, 1);
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
    for (int i = 0; i < DEEP; i++)
        text_unref(names[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(layout), cmocka_unit_test(large)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
