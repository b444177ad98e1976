// Sums over call paths: self and total also in recursion, names that are equal, broken stacks and which object is to
// blame.
#include "collectors/profile/tally.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct tree_def def = {.name = "cpu", .title = "", .help = "", .unit_name = "samples"};
static struct name_table *names;
static struct tree_builder *raw, *out;
static struct tally *tally;
static struct tally_marks marks;

static int begin(void **state) {
    (void)state;
    names = name_table_new();
    raw = tree_builder_new(&def, names);
    out = tree_builder_new(&def, names);
    tally = tally_new();
    marks.broken = name_table_add(names, name_pack("[broken stack]", NAME_MARK, ""));
    marks.whole = name_table_add(names, name_pack("[whole stack]", NAME_MARK, ""));
    return 0;
}

static int end(void **state) {
    (void)state;
    tally_free(tally);
    tree_builder_free(raw);
    tree_builder_free(out);
    name_table_unref(names);
    return 0;
}

// "comm/pid;frame object;k:frame": a new ID for each frame of each call, as for addresses that are not yet one
// function.
static void add(const char *path, uint64_t weight) {
    char copy[512], *rest = copy, *word;
    uint32_t ids[64];
    size_t n = 0;
    snprintf(copy, sizeof copy, "%s", path);
    while ((word = strsep(&rest, ";"))) {
        enum name_kind kind = !n ? NAME_PLAIN : !strncmp(word, "k:", 2) ? NAME_KERNEL : NAME_USER;
        if (!strcmp(word, "!")) {
            ids[n++] = marks.broken;
            continue;
        }
        char *object = strchr(word, n ? ' ' : '/');
        if (object)
            *object++ = '\0';
        ids[n++] = name_table_add(names, name_pack(word + 2 * (kind == NAME_KERNEL), kind,
                                                   object                ? object
                                                   : kind == NAME_KERNEL ? "[kernel]"
                                                                         : ""));
    }
    tree_builder_add(raw, ids, n, weight);
}

static struct tree *tallied(void) {
    struct tree *tree = tree_builder_seal(raw);
    tally_tree(tally, tree, &marks, out);
    tree_free(tree);
    return tree_builder_seal(out);
}

static const struct tally_symbol *row(const char *symbol) {
    size_t n;
    const struct tally_symbol *rows = tally_symbols(tally, &n), *found = NULL;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(text_bytes(rows[i].symbol), symbol)) {
            assert_null(found); // equal names are one row
            found = &rows[i];
        }
    assert_non_null(found);
    return found;
}

static void sums(void **state) {
    (void)state;
    add("prog/1;_start a;main a;work a", 5);
    add("prog/1;_start a;main a;work a;main a;work a", 7); // recursion: each sample once
    add("prog/2;_start a;main a;work a;k:read", 3);        // another process of the name
    add("prog/1;_start a;main a", 2);
    tree_free(tallied());
    assert_int_equal(row("work")->self, 12);
    assert_int_equal(row("work")->total, 15);
    assert_int_equal(row("main")->self, 2);
    assert_int_equal(row("main")->total, 17);
    assert_int_equal(row("_start")->self, 0);
    assert_int_equal(row("_start")->total, 17);
    assert_int_equal(row("read")->self, 3);
    assert_string_equal(text_bytes(row("read")->dso), "[kernel]");
    assert_string_equal(text_bytes(row("work")->comm), "prog");
    add("prog/1;_start a;main a", 1); // what was before is forgotten
    tree_free(tallied());
    assert_int_equal(row("main")->total, 1);
    size_t n;
    tally_symbols(tally, &n);
    assert_int_equal(n, 2);
}

// By object: recursion and several functions of one object count a sample once.
static void objects(void **state) {
    (void)state;
    size_t n;
    add("prog/1;main a;f lib;g lib", 5);
    add("prog/1;main a;f lib;main a;f lib", 2);
    add("prog/1;main a;k:read", 3);
    add("web/2;f lib", 1);
    tree_free(tallied());
    const struct tally_symbol *rows = tally_objects(tally, &n);
    assert_int_equal(n, 4);
    assert_string_equal(text_bytes(rows[0].dso), "lib");
    assert_string_equal(text_bytes(rows[0].comm), "prog");
    assert_int_equal(rows[0].self, 7);
    assert_int_equal(rows[0].total, 7);
    assert_string_equal(text_bytes(rows[1].dso), "[kernel]");
    assert_int_equal(rows[1].self, 3);
    assert_string_equal(text_bytes(rows[2].comm), "web");
    assert_int_equal(rows[2].total, 1);
    assert_string_equal(text_bytes(rows[3].dso), "a");
    assert_int_equal(rows[3].self, 0);
    assert_int_equal(rows[3].total, 10);
}

static void processes(void **state) {
    (void)state;
    size_t n;
    add("one/1;f lib.so", 1);
    add("two/2;f lib.so", 2);
    tree_free(tallied());
    tally_symbols(tally, &n);
    assert_int_equal(n, 2); // one row for each name of processes
}

static void broken(void **state) {
    (void)state;
    uint64_t bad;
    size_t n;
    add("web/1;_start a;main a;f a", 6);
    add("web/1;parse /lib/libfoo.so;lex /lib/libfoo.so", 3);
    add("web/1;helper /lib/libbar.so;k:read", 1);
    add("web/1;[unknown];mid /lib/libmid.so", 2); // the one that has no frame pointers is the one below
    add("api/2;!;_start a;f a", 2);               // a chain that lacks callers
    add("web/1;k:kthread;k:work", 9);             // no user frames: neither whole nor broken
    struct tree *tree = tallied();
    assert_int_equal(tally_user(tally, &bad), 14);
    assert_int_equal(bad, 8);
    const struct tally_blame *blames = tally_blames(tally, &n);
    assert_int_equal(n, 4);
    assert_string_equal(text_bytes(blames[1].dso), "/lib/libmid.so");
    assert_string_equal(text_bytes(blames[2].dso), "a");
    assert_string_equal(text_bytes(blames[2].comm), "api");
    assert_int_equal(blames[2].user, 2);
    assert_string_equal(text_bytes(blames[0].dso), "/lib/libfoo.so");
    assert_string_equal(text_bytes(blames[0].comm), "web");
    assert_int_equal(blames[0].broken, 3);
    assert_int_equal(blames[0].user, 12);
    size_t marked = 0;
    for (size_t i = 1; i < tree_nodes(tree); i++) {
        const struct tree_node *node = tree_node(tree, i);
        if (node->name != marks.broken)
            continue;
        marked++;
        assert_int_equal(node->depth, 2);
    }
    assert_int_equal(marked, 4); // each path has an ID of its own for the process
    assert_int_equal(tree_node(tree, 0)->total, 23);
    tree_free(tree);
}

// The unwind tables said that it has no caller: its name does not matter, and the mark is in no result.
static void known_to_be_whole(void **state) {
    (void)state;
    uint64_t bad;
    size_t n;
    uint32_t ids[] = {name_table_add(names, name_pack("prog", NAME_PLAIN, "1")), marks.whole,
                      name_table_add(names, name_pack("[prog+0x12]", NAME_USER, "prog"))};
    tree_builder_add(raw, ids, 3, 4);
    add("prog/1;[prog+0x12] prog", 2);
    struct tree *tree = tallied();
    assert_int_equal(tally_user(tally, &bad), 6);
    assert_int_equal(bad, 2);
    assert_int_equal(row("[prog+0x12]")->self, 6);
    tally_symbols(tally, &n);
    assert_int_equal(n, 1);
    for (size_t i = 1; i < tree_nodes(tree); i++)
        assert_int_not_equal(tree_node(tree, i)->name, marks.whole);
    tree_free(tree);
}

static bool whole(const char *outermost, const char *object, const char *next) {
    const struct text *a = name_pack(outermost, NAME_LIBRARY, object);
    const struct text *b = next ? name_pack(next, NAME_USER, "/bin/prog") : NULL;
    bool is = tally_whole(a, b);
    text_unref(a);
    text_unref(b);
    return is;
}

static void ends(void **state) {
    (void)state;
    static const char libc[] = "/usr/lib/x86_64-linux-gnu/libc.so.6";
    assert_true(whole("_start", "/bin/prog", "main"));
    assert_true(whole("clone3", libc, NULL));
    assert_true(whole("start_thread", libc, "worker"));
    assert_true(whole("runtime.goexit.abi0", "/bin/go", "main.main"));
    assert_true(whole("main", "/bin/prog", NULL));         // the leaf, without a frame of its own
    assert_true(whole("__libc_init_first", libc, "main")); // a stripped libc: the nearest exported name
    assert_true(whole("[libc.so.6+0x2724a]", libc, "main"));
    assert_true(whole("[libc.so.6+0x891c5]", libc, "worker")); // start_thread of the same
    assert_false(whole("[libc.so.6+0x891c5]", libc, NULL));    // ran in the C library itself
    assert_false(whole("qsort", libc, "compare"));
    assert_false(whole("memmove", libc, NULL));
    assert_false(whole("[prog+0x1234]", "/bin/prog", "work"));
    assert_false(whole("[unknown]", "", "work"));
    assert_false(whole("starter", "/bin/prog", "main"));
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, begin, end)

// Each path with samples leads to the node of the tree that is made, marked ones as well.
static void numbers(void **state) {
    (void)state;
    uint32_t *nodes;
    add("load/1;_start load;main load", 3);
    add("load/1;lost load;deep load;k:work", 2);
    struct tree *tree = tree_builder_seal(raw);
    tally_tree(tally, tree, &marks, out);
    struct tree *made = tree_builder_seal_nodes(out, &nodes);
    size_t found = 0;
    for (size_t i = 0; i < tree_nodes(tree); i++) {
        const struct tree_node *from = tree_node(tree, i), *to = tree_node(made, nodes[tally_numbers(tally)[i]]);
        if (!from->self)
            continue;
        found++;
        assert_int_equal(to->self, from->self);
        assert_int_equal(to->name, from->name);
        assert_int_equal(to->depth, from->depth + (from->self == 2)); // the mark of a broken stack
    }
    assert_int_equal(found, 2);
    free(nodes);
    tree_free(tree);
    tree_free(made);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(sums), TEST(objects), TEST(processes), TEST(broken), TEST(known_to_be_whole), TEST(ends), TEST(numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
