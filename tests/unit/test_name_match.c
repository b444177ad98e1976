// Which names a typed word means, in which order, and names as globs.
#include <fnmatch.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/name_match.h"

static struct name_set *set_of(const char *const *names) {
    struct name_set *set = name_set_new();
    for (; *names; names++)
        name_set_add(set, *names, strlen(*names));
    name_set_seal(set);
    return set;
}

// The names that match, with blanks between them.
static struct name_matches find(const char *word, const struct name_set *const *sets, size_t n, const char *wanted) {
    struct name_matches matches;
    char all[2048] = "";
    name_matches_find(&matches, word, sets, n);
    for (size_t i = 0; i < matches.n; i++)
        snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", i ? " " : "", matches.names[i]);
    assert_string_equal(all, wanted);
    return matches;
}

static void test_order(void **state) {
    (void)state;
    struct name_set *kernel = set_of((const char *const[]){"vfs_write", "vfs_read", "__vfs_read", "vfs_readv",
                                                           "vfs_read", "ksys_read", "open", NULL});
    struct name_set *files = set_of((const char *const[]){"vfs_tool:", "readelf:", NULL});
    const struct name_set *sets[] = {files, kernel};
    assert_int_equal(name_set_count(kernel), 6);
    // Those that begin with it, then those that contain it; within each, the sets in turn.
    struct name_matches m = find("vfs_", sets, 2, "vfs_tool: vfs_read vfs_readv vfs_write __vfs_read");
    assert_int_equal(m.total, 8);
    assert_int_equal(m.matching, 5);
    assert_string_equal(m.common, "");
    name_matches_free(&m);
    m = find("vfs_r", sets, 2, "vfs_read vfs_readv __vfs_read");
    assert_string_equal(m.common, "vfs_read");
    name_matches_free(&m);
    m = find("read", sets, 2, "readelf: __vfs_read ksys_read vfs_read vfs_readv");
    assert_string_equal(m.common, "readelf:");
    name_matches_free(&m);
    m = find("_read", sets, 2, "__vfs_read ksys_read vfs_read vfs_readv");
    assert_string_equal(m.common, "");
    name_matches_free(&m);
    // A glob: what it matches, else what it is the begin of.
    m = find("vfs_*ad", sets, 2, "vfs_read");
    name_matches_free(&m);
    m = find("vfs_*ea", sets, 2, "vfs_read vfs_readv");
    assert_string_equal(m.common, "");
    name_matches_free(&m);
    m = find("", &sets[1], 1, "__vfs_read ksys_read open vfs_read vfs_readv vfs_write");
    name_matches_free(&m);
    m = find("vfs_raed", sets, 2, "");
    assert_string_equal(m.nearest, "vfs_read");
    m = find("*raed*", sets, 2, "");
    assert_string_equal(m.nearest, "");
    name_set_free(files);
    name_set_free(kernel);
}

static void test_many(void **state) {
    (void)state;
    struct name_set *set = name_set_new();
    char name[32];
    for (int i = 0; i < 5000; i++)
        name_set_add(set, name, (size_t)snprintf(name, sizeof(name), "function_%04d", 4999 - i));
    name_set_seal(set);
    const struct name_set *sets[] = {set};
    struct name_matches m;
    name_matches_find(&m, "fun", sets, 1);
    assert_int_equal(m.matching, 5000);
    assert_int_equal(m.n, NAME_MATCHES_MAX);
    assert_string_equal(m.names[0], "function_0000");
    assert_string_equal(m.common, "function_");
    name_matches_free(&m);
    name_set_free(set);
}

// Whatever a name has, what is typed for it is one line of text that matches it.
static void test_hostile(void **state) {
    (void)state;
    char longest[2000], utf8[400], glob[NAME_BYTES_MAX + 2];
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    for (size_t i = 0; i < sizeof(utf8) - 1; i++) // characters of three bytes, which the limit would split
        utf8[i] = "\xe6\xbc\xa2"[i % 3];
    utf8[sizeof(utf8) - 1] = '\0';
    const char *const names[] = {"a\x1b[2Jb",
                                 "tab\there",
                                 "caf\xc3\xa9",
                                 "\xff\xfe",
                                 "\xc2\x9b"
                                 "1m",
                                 "operator*",
                                 "operator[]",
                                 "set<set<int> >::add",
                                 "back\\slash",
                                 "\xe2\x80\xae"
                                 "gnp",
                                 "\xc2\x9b\xff"
                                 "1m",
                                 NULL};
    for (size_t i = 0; names[i]; i++) {
        name_as_glob(names[i], glob);
        assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
        assert_int_equal(fnmatch(glob, names[i], 0), 0);
        setlocale(LC_CTYPE, "C");
        assert_int_equal(fnmatch(glob, names[i], 0), 0);
        assert_null(strstr(glob, "\xe2\x80\xae"));
        for (const char *at = glob; *at; at++)
            assert_true((unsigned char)*at >= ' ' && *at != 127 && *at != '\\' && *at != '[');
    }
    name_as_glob("caf\xc3\xa9", glob);
    assert_string_equal(glob, "caf\xc3\xa9");
    name_as_glob("set<set<int> >::add", glob);
    assert_null(strstr(glob, " >"));
    struct name_set *set = set_of((const char *const[]){longest, utf8, NULL});
    const struct name_set *sets[] = {set};
    struct name_matches m;
    name_matches_find(&m, "", sets, 1);
    assert_int_equal(strlen(m.names[0]), NAME_BYTES_MAX);
    name_as_glob(m.names[0], glob);
    assert_int_equal(fnmatch(glob, longest, 0), 0);
    name_as_glob(m.names[1], glob);
    assert_int_equal(fnmatch(glob, utf8, 0), 0);
    assert_int_equal((strlen(glob) - 1) % 3, 0);
    name_matches_free(&m);
    name_set_free(set);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_many),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
