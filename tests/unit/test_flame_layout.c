// The layout: siblings tile exactly over random trees and widths, zoomed or filtered; what is too narrow is gathered.
#include "tests/unit/forge_flame.h"

#include "views/flame/layout.h"
#include "views/flame/names.h"

static uint64_t seed;

static uint32_t chance(uint32_t n) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(seed >> 33) % n;
}

static struct tree *random_tree(void) {
    struct name_table *names = name_table_new();
    struct tree_builder *builder = tree_builder_new(&forge_tree_def, names);
    uint32_t ids[40];

    for (int i = 0; i < 40; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%c%d", 'a' + (int)chance(26), i);
        ids[i] = name_table_add(names, name_pack(name, i % 3 ? NAME_USER : NAME_KERNEL, "x"));
    }
    for (uint32_t stack = 0, n = 1 + chance(200); stack < n; stack++) {
        uint32_t path[12], depth = 1 + chance(12), few = 2 + chance(8);
        for (uint32_t i = 0; i < depth; i++)
            path[i] = ids[chance(few)];
        tree_builder_add(builder, path, depth, 1 + (chance(10) ? chance(20) : chance(100000)));
    }
    struct tree *tree = tree_builder_seal(builder);
    tree_builder_free(builder);
    name_table_unref(names);
    return tree;
}

static const struct flame_cell *above(const struct flame_layout *layout, size_t row, const struct flame_cell *cell) {
    const struct flame_cell *parent = flame_layout_at(layout, row - 1, cell->x);
    assert_non_null(parent);
    return parent;
}

static void check_cells(const struct flame_layout *layout, const struct fold *fold, int width) {
    for (size_t row = 0; row < layout->n_rows; row++) {
        const struct flame_cell *before = NULL;
        assert_true(layout->first[row] < layout->first[row + 1]); // no empty row
        for (size_t i = layout->first[row]; i < layout->first[row + 1]; i++) {
            const struct flame_cell *cell = &layout->cells[i];
            assert_true(cell->width >= 1 && cell->x >= 0 && cell->x + cell->width <= width);
            assert_true(!before || before->x + before->width <= cell->x);
            before = cell;
            if (row <= layout->zoom_row) {
                assert_true(cell->x == 0 && cell->width == width);
                continue;
            }
            const struct flame_cell *parent = above(layout, row, cell);
            assert_true(cell->x + cell->width <= parent->x + parent->width);
            if (cell->gathered)
                assert_int_equal(cell->node, parent->node);
            else
                assert_int_equal(fold->nodes[cell->node].parent, parent->node);
        }
    }
}

// Below one cell: the children stand side by side from its left edge on, and end where their share ends.
static void check_children(const struct flame_layout *layout, const struct fold *fold, size_t row,
                           const struct flame_cell *parent) {
    const struct fold_node *node = &fold->nodes[parent->node];
    uint64_t sum = 0;
    uint32_t n = 0, expected = 0;
    int x = parent->x;
    const struct text *name = NULL;

    for (uint32_t child = node->first_child; child; child = fold->nodes[child].next)
        expected++;
    for (size_t i = layout->first[row + 1]; i < layout->first[row + 2]; i++) {
        const struct flame_cell *cell = &layout->cells[i];
        if (cell->x < parent->x || cell->x >= parent->x + parent->width)
            continue;
        bool narrow = cell->gathered || cell->total * (uint64_t)parent->width < parent->total;
        assert_int_equal(cell->x, x);
        assert_int_equal(cell->x, parent->x + (int)(sum * (uint64_t)parent->width / parent->total));
        if (!narrow) { // in order of name
            assert_true(!name || text_compare(name, fold->nodes[cell->node].name) < 0);
            name = fold->nodes[cell->node].name;
        }
        sum += cell->total;
        n += cell->gathered ? cell->gathered : 1;
        x += cell->width;
        int end = (int)(sum * (uint64_t)parent->width / parent->total);
        // Less than a cell of narrow ones takes one of the parent's own samples.
        assert_true(x == parent->x + end || (narrow && x == parent->x + end + 1 && node->self));
    }
    assert_int_equal(n, expected); // nothing vanishes
    assert_int_equal(sum, node->total - node->self);
    if (!node->self)
        assert_int_equal(x, parent->x + parent->width);
}

static void exact(void **state) {
    (void)state;
    for (int round = 0; round < 300; round++) {
        seed = (uint64_t)round;
        struct tree *tree = random_tree();
        const struct fold_filter filter = {
            .user = round % 5 == 1, .kernel = round % 5 == 2, .text = round % 5 == 3 ? "1" : ""};
        struct fold *fold = fold_new(tree, NULL, &filter);
        int width = 1 + (int)chance(300);
        uint32_t zoom = fold->n > 1 ? chance(fold->n) : 0;
        struct flame_layout layout = {0};
        flame_layout_make(&layout, fold, (struct flame_zoom){.node = zoom}, width);
        check_cells(&layout, fold, width);
        for (size_t row = layout.zoom_row; row + 1 < layout.n_rows; row++)
            for (size_t i = layout.first[row]; i < layout.first[row + 1]; i++)
                if (!layout.cells[i].gathered && fold->nodes[layout.cells[i].node].first_child)
                    check_children(&layout, fold, row, &layout.cells[i]);
        flame_layout_done(&layout);
        fold_free(fold);
        tree_free(tree);
    }
}

// What is gathered can be entered, again and again, until every child has had a cell.
static void gathered(void **state) {
    (void)state;
    char lines[8192] = "";
    for (int i = 0; i < 32; i++)
        sprintf(lines + strlen(lines), "p/1;u:f%02d/x %d\n", i, i < 2 ? 10000 : i < 12 ? 300 : 10);
    struct tree *tree = forge_tree(lines);
    struct fold *fold = fold_new(tree, NULL, NULL);
    struct flame_layout layout = {0};
    bool seen[200] = {0};
    for (uint32_t rest = 0;; rest++) {
        flame_layout_make(&layout, fold, (struct flame_zoom){.node = 1, .rest = rest}, 40);
        if (layout.zoom.rest < rest)
            break;
        assert_true(rest < 10);
        const struct flame_cell *cell = &layout.cells[layout.first[layout.zoom_row]];
        assert_int_equal(layout.n_rows, rest ? 4 : 3);
        assert_int_equal(!cell->gathered, !rest);
        assert_int_equal(cell->width, 40);
        assert_int_equal(layout.cells[1].above, rest > 0);
        int x = 0;
        for (size_t i = layout.first[layout.n_rows - 1]; i < layout.n; i++) {
            assert_int_equal(layout.cells[i].x, x);
            x += layout.cells[i].width;
            if (!layout.cells[i].gathered)
                seen[layout.cells[i].node] = true;
        }
        assert_int_equal(x, 40);
    }
    for (uint32_t i = 2; i < fold->n; i++)
        assert_true(seen[i]);
    flame_layout_done(&layout);
    fold_free(fold);
    tree_free(tree);
}

static void found(void **state) {
    (void)state;
    struct tree *tree = forge_tree("p/1;u:a/x;u:b/x 50\np/1;u:c/x 48\np/1;u:d/x 1\np/1;u:e/x 1");
    struct fold *fold = fold_new(tree, NULL, NULL);
    struct flame_layout layout = {0};
    size_t row;
    flame_layout_make(&layout, fold, (struct flame_zoom){0}, 20);
    const struct flame_cell *cell = flame_layout_find(&layout, fold, 3, false, &row); // b
    assert_true(cell && row == 3 && cell->x == 0 && cell->width == 10 && cell->node == 3);
    assert_null(flame_layout_find(&layout, fold, 5, false, NULL)); // d is gathered
    cell = flame_layout_find(&layout, fold, 1, true, &row);
    assert_true(cell && row == 2 && cell->gathered == 2 && cell->total == 2);
    assert_true(cell->x == 19 && cell->width == 1);
    assert_ptr_equal(flame_layout_at(&layout, 2, 19), cell);
    assert_null(flame_layout_at(&layout, 3, 19));
    assert_null(flame_layout_at(&layout, 9, 0));
    flame_layout_make(&layout, fold, (struct flame_zoom){.node = 1, .rest = 1}, 20);
    cell = flame_layout_find(&layout, fold, 5, false, &row); // below the gathered cell
    assert_true(cell && row == 3 && cell->x == 0 && cell->width == 10);
    flame_layout_make(&layout, fold, (struct flame_zoom){0}, 0);
    assert_int_equal(layout.n_rows, 0);
    fold_free(fold);
    tree_free(tree);
}

// Stacks of thousands of frames, and sums near the end of 64 bits.
static void extremes(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct tree_builder *builder = tree_builder_new(&forge_tree_def, names);
    static uint32_t ids[20000];
    for (int i = 0; i < 20000; i++)
        ids[i] = name_table_add(names, name_pack(i % 2 ? "f" : "g", NAME_USER, "x"));
    tree_builder_add(builder, ids, 20000, UINT64_MAX / 4);
    tree_builder_add(builder, ids, 1, UINT64_MAX / 4);
    struct tree *tree = tree_builder_seal(builder);
    struct fold *fold = fold_new(tree, NULL, NULL);
    struct flame_layout layout = {0};
    flame_layout_make(&layout, fold, (struct flame_zoom){0}, 100);
    assert_int_equal(layout.n_rows, 20001);
    assert_int_equal(layout.cells[2].width, 50);
    assert_int_equal(layout.cells[layout.n - 1].width, 50);
    flame_layout_done(&layout);
    fold_free(fold);
    tree_free(tree);
    tree_builder_free(builder);
    name_table_unref(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact), cmocka_unit_test(gathered), cmocka_unit_test(found),
                                       cmocka_unit_test(extremes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
