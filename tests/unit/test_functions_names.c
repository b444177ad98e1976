// What a typed pattern is completed with, and where: kernel, files and functions of this program itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/collector.h"
#include "collectors/functions/kernel.h"
#include "collectors/name_list.h"

__attribute__((noinline, used)) static int names_test_one(int n) {
    __asm__ volatile("" : "+r"(n));
    return n;
}
__attribute__((noinline, used)) static int names_test_two(int n) {
    __asm__ volatile("" : "+r"(n));
    return n + 1;
}

static pid_t self[1];
static const struct collect_options options = {.pids = self, .n_pids = 1};

// The text is completed with names of that kind (NULL: with none) from that byte on.
static struct name_list completes(const struct name_source *source, const char *text, const char *what, size_t from) {
    static void *states[2];
    void **state = &states[source == &probe_names];
    struct name_list list = {.what = NULL};
    if (!*state)
        *state = source->open(&options);
    source->complete(*state, text, &list);
    if (what)
        assert_string_equal(list.what, what);
    else
        assert_null(list.what);
    if (what)
        assert_int_equal(list.from, from);
    return list;
}

#define EXPECT(source, text, what, from)                                                                               \
    do {                                                                                                               \
        struct name_list list_ = completes(&(source), text, what, from);                                               \
        name_list_free(&list_);                                                                                        \
    } while (0)

static void test_places(void **state) {
    static const char both[] = "files and kernel functions", kernel[] = "kernel functions";
    (void)state;
    EXPECT(function_names, "", both, 0);
    EXPECT(function_names, " ! vfs_", both, 3);
    EXPECT(function_names, "std::vec", both, 0);
    EXPECT(function_names, "/usr/li", "files", 0);
    EXPECT(function_names, "libc*:", "functions", 6);
    EXPECT(function_names, "!libc*:std::x", "functions", 7);
    EXPECT(function_names, ":x", NULL, 0);
    EXPECT(function_names, "vfs_:mod:nf", "kernel modules", 9);
    EXPECT(function_names, ":mod:", "kernel modules", 5);
    EXPECT(function_names, "stop x:mod:n", "kernel modules", 11);
    EXPECT(function_names, ":mod:nfs > 1", NULL, 0);
    EXPECT(probe_names, "p x:mod:n", NULL, 0);
    EXPECT(function_names, "vfs_read > 1", NULL, 0);
    EXPECT(function_names, "graph ", kernel, 6);
    EXPECT(function_names, "start vfs_r", both, 6);
    EXPECT(function_names, "! stop  vfs_r", both, 8);
    EXPECT(function_names, "stops", both, 0);
    EXPECT(function_names, "  graph  ! vfs", kernel, 11);
    EXPECT(function_names, "graph vfs_read,vfs_w", kernel, 15);
    EXPECT(function_names, "graph vfs_* without=_raw,do", kernel, 25);
    EXPECT(function_names, "graph vfs_* without=_r", kernel, 20);
    EXPECT(function_names, "graph vfs_* start=_r", kernel, 18);
    EXPECT(function_names, "graph vfs_* stop=a,_r", kernel, 19);
    EXPECT(function_names, "graph vfs_* depth=5", NULL, 0);
    EXPECT(function_names, "graph vfs_* dep", NULL, 0);
    EXPECT(function_names, "graph a,b dep", NULL, 0);
    EXPECT(function_names, "graph vfs_* ", NULL, 0);
    EXPECT(probe_names, "", NULL, 0);
    EXPECT(probe_names, "vfs_", NULL, 0);
    EXPECT(probe_names, "group p", NULL, 0);
    EXPECT(probe_names, "t sched:", NULL, 0);
    EXPECT(probe_names, "p vfs_", kernel, 2);
    EXPECT(probe_names, "! r8:name vfs_", kernel, 10);
    EXPECT(probe_names, "p /usr/", "files", 2);
    EXPECT(probe_names, "p libc.so.6:mem", "functions", 12);
    EXPECT(probe_names, "p nfs:nfs_", NULL, 0);
    EXPECT(probe_names, "p vfs_read ar", NULL, 0);
}

static void test_self(void **state) {
    (void)state;
    struct name_list list = completes(&function_names, "test_functions_names:names_test_", "functions", 21);
    assert_int_equal(list.matches.matching, 2);
    assert_string_equal(list.matches.names[0], "names_test_one");
    assert_string_equal(list.matches.names[1], "names_test_two");
    name_list_free(&list);
    list = completes(&function_names, "test_functions_na", "files and kernel functions", 0);
    assert_string_equal(list.matches.names[0], "test_functions_names:");
    name_list_free(&list);
    list = completes(&function_names, "/*/test_functions_na", "files", 0);
    assert_int_equal(list.matches.matching, 1);
    name_list_free(&list);
    list = completes(&function_names, "test_functions_nmaes:x", "functions", 21);
    assert_int_equal(list.matches.total, 0);
    assert_non_null(strstr(list.reason, "did you mean test_functions_names?"));
    name_list_free(&list);
    for (int i = 0; i < 20; i++) { // more than are kept
        char text[64];
        snprintf(text, sizeof(text), "test_functions_%.*s*:names_test_o", i % 5 + 1, "names");
        list = completes(&function_names, text, "functions", (size_t)(strchr(text, ':') + 1 - text));
        assert_int_equal(list.matches.matching, 1);
        name_list_free(&list);
    }
}

// The names that begin with the word.
static struct name_matches names_of(const char *text, enum kernel_list kind, bool modules) {
    struct name_set *set = name_set_new();
    struct name_matches matches;
    char copy[512];
    snprintf(copy, sizeof(copy), "%s", text);
    kernel_names_add(set, copy, kind, modules);
    name_set_seal(set);
    name_matches_find(&matches, "", (const struct name_set *const[]){set}, 1);
    name_set_free(set);
    return matches;
}

static void test_kernel_lists(void **state) {
    static const char filter[] = "vfs_open\nnfs_read [nfs]\nnfs_open [nfs]\nxt_x [x_tables]\n";
    static const char kallsyms[] = "ffffffff81000000 T vfs_open\nffffffff81000010 t __pfx_vfs_open\nffffffffc0000000 t "
                                   "xt_x\t[x_tables]\nffffffffc0001000 t bpf_prog_1\t[bpf]\nffffffffc0002000 t "
                                   "ftrace_trampoline\t[__builtin__ftrace]\n";
    static const struct {
        const char *text;
        enum kernel_list kind;
        bool modules;
        const char *names[4];
    } cases[] = {
        {filter, LIST_NAMES, true, {"nfs", "x_tables"}},
        {filter, LIST_NAMES, false, {"nfs_open", "nfs_read", "vfs_open", "xt_x"}},
        {kallsyms, LIST_KALLSYMS, true, {"x_tables"}},
        {kallsyms, LIST_KALLSYMS, false, {"bpf_prog_1", "ftrace_trampoline", "vfs_open", "xt_x"}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct name_matches matches = names_of(cases[i].text, cases[i].kind, cases[i].modules);
        size_t n = 0;
        while (n < 4 && cases[i].names[n]) {
            assert_true(n < matches.n);
            assert_string_equal(matches.names[n], cases[i].names[n]);
            n++;
        }
        assert_int_equal(matches.n, n);
        name_matches_free(&matches);
    }
}

int main(void) {
    self[0] = getpid();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_self),
        cmocka_unit_test(test_kernel_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
