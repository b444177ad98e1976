// Folding: equal names under one parent are one node, in order of name; filters; finding a path again; folded text.
#include "tests/unit/forge_flame.h"

#include "views/flame/fold.h"
#include "views/flame/names.h"

// Every node as "depth name self/total", blank between.
static void expect(const struct fold *fold, const char *expected) {
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    for (uint32_t i = 1; i < fold->n; i++) {
        const struct fold_node *node = &fold->nodes[i];
        fprintf(out, "%s%u %s %llu/%llu", i > 1 ? ", " : "", node->depth, flame_symbol(node->name),
                (unsigned long long)node->self, (unsigned long long)node->total);
        if (fold->base_total)
            fprintf(out, " was %llu/%llu", (unsigned long long)node->base_self, (unsigned long long)node->base_total);
        assert_true(node->parent < i);
        assert_int_equal(node->depth, fold->nodes[node->parent].depth + 1);
    }
    fclose(out);
    assert_string_equal(text, expected);
    free(text);
}

static void check(const char *lines, const struct fold_filter *filter, const char *expected) {
    struct tree *tree = forge_tree(lines);
    struct fold *fold = fold_new(tree, NULL, filter);

    tree_free(tree); // the names must stay
    expect(fold, expected);
    fold_free(fold);
}

static const char stacks[] = "web/812;u:main/web;l:send/libc.so;k:tcp_sendmsg 30\n"
                             "web/812;u:main/web;l:send/libc.so 5\n"
                             "web/812;u:main/web;u:parse/web 10\n"
                             "db/900;u:main/db;k:vfs_read 20\n"
                             "swapper/0;k:idle 500";

static void equal_names(void **state) {
    (void)state;
    check(stacks, NULL,
          "1 db 0/20, 2 main 0/20, 3 vfs_read 20/20, "
          "1 web 0/45, 2 main 0/45, 3 parse 10/10, 3 send 5/35, 4 tcp_sendmsg 30/30");
    // The same symbol in another object is another one; processes of one name are one.
    check("a/1;u:f/x 1\na/1;l:f/y 2\na/2;u:f/x 4", NULL, "1 a 0/7, 2 f 2/2, 2 f 5/5");
    check("a/1;?;u:g/x 1\na/1;? 2\na/1;?;u:g/x 4", NULL, "1 a 0/7, 2 [unknown] 2/7, 3 g 5/5");
    // Recursion is no loop.
    check("a/1;u:f/x;u:f/x;u:f/x 1\na/1;u:f/x 1", NULL, "1 a 0/2, 2 f 1/2, 3 f 0/1, 4 f 1/1");
    check("", NULL, "");
    struct fold *none = fold_new(NULL, NULL, NULL);
    assert_int_equal(none->n, 1);
    fold_free(none);
}

// A name that is found late folds with the others from then on, in older trees too.
static void late_name(void **state) {
    (void)state;
    struct name_table *names = name_table_new();
    struct tree_builder *builder = tree_builder_new(&forge_tree_def, names);
    uint32_t process = name_table_add(names, name_pack("a", NAME_PLAIN, "1"));
    uint32_t first = name_table_add(names, name_pack("[x+0x10]", NAME_USER, "x"));
    uint32_t second = name_table_add(names, name_pack("[x+0x20]", NAME_USER, "x"));
    tree_builder_add(builder, (uint32_t[]){process, first}, 2, 3);
    tree_builder_add(builder, (uint32_t[]){process, second}, 2, 4);
    struct tree *tree = tree_builder_seal(builder);
    struct fold *before = fold_new(tree, NULL, &(struct fold_filter){.addresses = true});
    name_table_set(names, first, name_pack("f", NAME_USER, "x"));
    name_table_set(names, second, name_pack("f", NAME_USER, "x"));
    struct fold *after = fold_new(tree, NULL, NULL);
    tree_free(tree);
    tree_builder_free(builder);
    name_table_unref(names);
    expect(before, "1 a 0/7, 2 [x+0x10] 3/3, 2 [x+0x20] 4/4");
    expect(after, "1 a 0/7, 2 f 7/7");
    fold_free(before);
    fold_free(after);
}

static void filters(void **state) {
    (void)state;
    check(stacks, &(struct fold_filter){.pid = 900}, "1 db 0/20, 2 main 0/20, 3 vfs_read 20/20");
    check(stacks, &(struct fold_filter){.pid = 1}, "");
    check(stacks, &(struct fold_filter){.text = "SEND"}, "1 web 0/35, 2 main 0/35, 3 send 5/35, 4 tcp_sendmsg 30/30");
    check(stacks, &(struct fold_filter){.text = "nowhere"}, "");
    // The kernel's samples count for the function that called it.
    check(stacks, &(struct fold_filter){.user = true},
          "1 db 0/20, 2 main 20/20, 1 web 0/45, 2 main 0/45, 3 parse 10/10, 3 send 35/35");
    check(stacks, &(struct fold_filter){.kernel = true, .pid = 812}, "1 web 15/45, 2 tcp_sendmsg 30/30");
    check(stacks, &(struct fold_filter){.kernel = true, .user = true, .pid = 900},
          "1 db 0/20, 2 main 0/20, 3 vfs_read 20/20");
    check(stacks, &(struct fold_filter){.text = "idle", .idle = true}, "1 swapper 0/500, 2 idle 500/500");
}

// Addresses without a symbol are one node for each file, unless they are asked for.
static void addresses(void **state) {
    (void)state;
    static const char lines[] = "a/1;u:[x+0x10]/x 1\na/1;u:[x+0x2f]/x 2\na/1;l:[x+0x30]/y 4\na/1;u:[x+y]/x 8\n"
                                "a/1;k:[0xffff10] 16\na/1;k:[0xffff20] 32\na/1;u:[x+0x10 64";
    check(lines, &(struct fold_filter){.addresses = true},
          "1 a 0/127, 2 [0xffff10] 16/16, 2 [0xffff20] 32/32, 2 [x+0x30] 4/4, 2 [x+0x10] 1/1, 2 [x+0x2f] 2/2, "
          "2 [x+0x10 64/64, 2 [x+y] 8/8");
    struct tree *tree = forge_tree(lines);
    struct fold *fold = fold_new(tree, NULL, NULL);
    char text[64];
    static const struct {
        const char *shown;
        uint64_t total;
    } nodes[] = {{"[unknown]", 48}, {"[x]", 4}, {"[x]", 3}};
    for (uint32_t i = 0; i < 3; i++) {
        flame_shown(fold->nodes[2 + i].name, text, sizeof(text));
        assert_string_equal(text, nodes[i].shown);
        assert_int_equal(fold->nodes[2 + i].total, nodes[i].total);
    }
    fold_free(fold);
    tree_free(tree);
}

// How many processes have a name, and the one when it is alone; a filter leaves one of them.
static void processes(void **state) {
    (void)state;
    struct tree *tree = forge_tree("cc1/1;u:f/x 1\ncc1/2;u:f/x 2\ncc1/2;u:g/x 4\nmake/9;u:f/x 8"),
                *base = forge_tree("cc1/3;u:f/x 1");
    struct fold *fold = fold_new(tree, base, NULL), *one = fold_new(tree, NULL, &(struct fold_filter){.pid = 2});
    char text[32];
    expect(fold, "1 cc1 0/7 was 0/1, 2 f 3/3 was 1/1, 2 g 4/4 was 0/0, 1 make 0/8 was 0/0, 2 f 8/8 was 0/0");
    assert_int_equal(fold->nodes[1].processes, 2);
    flame_object(&fold->nodes[1], true, text, sizeof(text));
    assert_string_equal(text, "2 processes");
    flame_object(&fold->nodes[4], true, text, sizeof(text));
    assert_string_equal(text, "PID 9");
    expect(one, "1 cc1 0/6, 2 f 2/2, 2 g 4/4");
    flame_object(&one->nodes[1], true, text, sizeof(text));
    assert_string_equal(text, "PID 2");
    fold_free(fold);
    fold_free(one);
    tree_free(tree);
    tree_free(base);
}

static void compared(void **state) {
    (void)state;
    struct tree *now = forge_tree("a/1;u:f/x 10\na/1;u:g/x 5"), *before = forge_tree("a/1;u:f/x 2\na/1;u:h/x 6");
    struct fold *fold = fold_new(now, before, NULL);
    tree_free(now);
    tree_free(before);
    assert_int_equal(fold->nodes[0].total, 15);
    assert_int_equal(fold->base_total, 8);
    expect(fold, "1 a 0/15 was 0/8, 2 f 10/10 was 2/2, 2 g 5/5 was 0/0, 2 h 0/0 was 6/6");
    fold_free(fold);
}

static void paths(void **state) {
    (void)state;
    struct tree *tree = forge_tree(stacks), *other = forge_tree("web/812;u:main/web;k:new 1\nweb/812;u:aaa/web 1");
    struct fold *fold = fold_new(tree, NULL, NULL), *later = fold_new(other, NULL, NULL);
    const struct text *path[8];
    uint32_t send = 0;
    for (uint32_t i = 1; i < fold->n; i++)
        if (!strcmp(flame_symbol(fold->nodes[i].name), "send"))
            send = i;
    assert_int_equal(fold_path(fold, send, path, 8), 3);
    assert_int_equal(fold_find(fold, path, 3), send);
    uint32_t deepest = fold_find(later, path, 3); // there is no send any more
    assert_string_equal(flame_symbol(later->nodes[deepest].name), "main");
    assert_int_equal(later->nodes[deepest].depth, 2);
    assert_int_equal(fold_find(later, path, 0), 0);
    assert_int_equal(fold_after(fold, send), fold->n);
    assert_int_equal(fold_after(fold, 0), fold->n);
    assert_int_equal(fold_after(fold, 1), 4); // db
    tree_free(tree);
    tree_free(other);
    fold_free(fold);
    fold_free(later);
}

// A stack in which several names match counts once.
static void matched(void **state) {
    (void)state;
    struct tree *tree = forge_tree("a/1;u:send/x;u:send_all/x;k:tcp_sendmsg 3\na/1;u:read/x 4\nb/2;u:read/x;k:send 8");
    struct fold *fold = fold_new(tree, NULL, NULL);
    assert_int_equal(fold_matched(fold, 0, "send"), 11);
    assert_int_equal(fold_matched(fold, 0, "read"), 12);
    assert_int_equal(fold_matched(fold, 0, "x"), 0);     // objects are not searched
    assert_int_equal(fold_matched(fold, 1, "send"), 3);  // process a
    assert_int_equal(fold_matched(fold, 5, "send_"), 3); // within it
    tree_free(tree);
    fold_free(fold);
}

static void folded_text(void **state) {
    (void)state;
    struct tree *tree =
        forge_tree("a b/1;u:operator;l:x 1\nc/2;k:do_one 2\nc/2;j:Foo.bar;i:baz 3\nd/3;?;!:[cut stack] 4");
    struct name_table *names = tree_names(tree);
    uint32_t hostile = name_table_add(names, name_pack("f;g\nh\x1b[31m\xff", NAME_USER, "x"));
    struct tree_builder *builder = tree_builder_new(&forge_tree_def, names);
    tree_builder_add(builder, &hostile, 1, 5);
    struct tree *more = tree_builder_seal(builder), *all = tree_merge((const struct tree *[]){tree, more}, 2);
    struct fold *fold = fold_new(all, NULL, NULL);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    for (uint32_t i = 1; i < fold->n; i++)
        if (fold->nodes[i].self) {
            flame_stack_write(fold, i, true, out);
            fputc('|', out);
        }
    fclose(out);
    assert_string_equal(text, "a b;operator;x 1|c;Foo.bar_[j];baz_[i] 3|c;do_one_[k] 2|d;[unknown];[cut stack] 4|"
                              "f:g\\nh\\e[31m\\xff 5|");
    free(text);
    fold_free(fold);
    tree_free(all);
    tree_free(more);
    tree_free(tree);
    tree_builder_free(builder);
}

static void short_names(void **state) {
    (void)state;
    static const struct {
        const char *symbol;
        int width;
        const char *expected;
    } cases[] = {
        {"main", 10, "main"},
        {"tcp_sendmsg_locked", 8, "tcp_sen\u2026"},
        {"std::vector<int, std::allocator<int> >::push_back(int const&)", 61,
         "std::vector<int, std::allocator<int> >::push_back(int const&)"},
        {"std::vector<int, std::allocator<int> >::push_back(int const&)", 60, "std::vector<>::push_back()"},
        {"<T as core::fmt::Display>::fmt", 20, "<T as core::fmt::Di\u2026"},
        {"A::operator()(int, int) const", 24, "A::operator()() const"},
        {"A::operator<(A const&) const", 24, "A::operator<() const"},
        {"A::operator<<(A const&, int)", 24, "A::operator<<()"},
        {"(anonymous namespace)::f(std::pair<int, int>)", 40, "(anonymous namespace)::f()"},
        {"f<(a->b)>(int) and more that is long", 12, "f<>() and m\u2026"},
        {"f<<<<<<<<(", 5, "f<<<\u2026"},
        {"a\x1b[2J\nb", 20, "a\\e[2J\\nb"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[256];
        flame_short(cases[i].symbol, cases[i].width, text, sizeof(text));
        assert_string_equal(text, cases[i].expected);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_names), cmocka_unit_test(late_name), cmocka_unit_test(filters),
        cmocka_unit_test(addresses),   cmocka_unit_test(processes), cmocka_unit_test(compared),
        cmocka_unit_test(paths),       cmocka_unit_test(matched),   cmocka_unit_test(folded_text),
        cmocka_unit_test(short_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
