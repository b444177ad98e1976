// Which CPU limit throttles a cgroup: its own or one above it, by the section of the collector "cpu_limits".
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>

#include "tests/unit/forge_limits.h"

static struct sched_limit found;

static const char *throttles(const struct section *section, const char *cgroup) {
    const struct sched_limits limits = sched_limits_of(section);
    return sched_limits_find(&limits, cgroup, &found) ? found.cgroup : NULL;
}

static void nearest(void **state) {
    (void)state;
    const struct section *section =
        forge_limits(5, (const struct forged_limit[]){{"/a", 90}, {"/a/b", 0}, {"/a/b/c", 20}, {"/d", 0}, {"/e", NAN}});
    assert_string_equal(throttles(section, "/a"), "/a");
    assert_true(found.limit_pct == 20 && found.throttled_pct == 90);
    assert_string_equal(throttles(section, "/a/b"), "/a"); // a limit above it throttles it too
    assert_string_equal(throttles(section, "/a/b/c/x"), "/a/b/c");
    assert_true(found.throttled_pct == 20);
    assert_null(throttles(section, "/ab"));
    assert_null(throttles(section, "/d"));
    assert_null(throttles(section, "/e")); // read once only: unknown
    assert_null(throttles(section, "/"));
    section_unref(section);
    section = forge_limits(1, (const struct forged_limit[]){{"/", 10}}); // a container's root
    assert_string_equal(throttles(section, "/ab"), "/");
    assert_string_equal(throttles(section, "/"), "/");
    section_unref(section);
}

static void nothing_known(void **state) {
    (void)state;
    assert_null(throttles(NULL, "/a"));
    const struct section *section = section_new("cpu_limits", 0, 1); // without its table
    assert_null(throttles(section, "/a"));
    section_unref(section);
    section = forge_limits(0, NULL);
    assert_null(throttles(section, "/a"));
    section_unref(section);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(nearest), cmocka_unit_test(nothing_known)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
