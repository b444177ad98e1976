// The list of control groups that a CPU limit stops: what is between two looks, which group is meant, and that a list
// lives as long as somebody reads it.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "collectors/cgroups/limited.h"

static void add(struct cgroups_limited *list, const char *path, uint64_t throttled) {
    struct cgroup group = {.path = (char *)path,
                           .limits.cpu_pct = 20,
                           .stops = {.seconds = 1, .periods = 10, .throttled = throttled, .throttled_us = 500}};
    cgroups_limited_add(list, &group);
}

static void between(void **state) {
    (void)state;
    struct cgroup_counts before = {.periods = 100, .throttled = 40, .throttled_us = 4000000}, now = before;
    now.periods = 110;
    now.throttled = 49;
    now.throttled_us = 4800000;
    struct cgroup_stops stops = cgroup_stops_between(&before, &now, 2);
    assert_true(stops.seconds == 2);
    assert_int_equal(stops.periods, 10);
    assert_int_equal(stops.throttled, 9);
    assert_int_equal(stops.throttled_us, 800000);
    // Made anew, and looked at once only: nothing is known.
    assert_true(isnan(cgroup_stops_between(&now, &before, 2).seconds));
    assert_int_equal(cgroup_stops_between(&now, &before, 2).throttled, 0);
    before.periods = before.throttled = before.throttled_us = PROC_MISSING;
    stops = cgroup_stops_between(&before, &now, 2);
    assert_true(isnan(stops.seconds));
    assert_int_equal(stops.throttled, 0); // what was before is not of this interval
}

static void nearest(void **state) {
    (void)state;
    struct cgroups_limited *list = cgroups_limited_new(5, 3);
    add(list, "/a", 9);
    add(list, "/a/b", 0);
    add(list, "/a/b/c", 2);
    add(list, "/d", 0);
    cgroups_limited_share(list);
    const struct cgroups_limited *got = cgroups_limited_get();
    assert_ptr_equal(got, list);
    assert_int_equal(cgroups_limited_count(got), 4);
    assert_int_equal(cgroups_limited_left_out(got), 3);
    assert_true(cgroups_limited_at(got, 1)->limit_pct == 20);
    assert_string_equal(cgroups_limited_stopped(got, "/a")->path, "/a");
    assert_string_equal(cgroups_limited_stopped(got, "/a/b")->path, "/a"); // what is above it stops it too
    assert_string_equal(cgroups_limited_stopped(got, "/a/b/c/x")->path, "/a/b/c");
    assert_null(cgroups_limited_stopped(got, "/ab"));
    assert_null(cgroups_limited_stopped(got, "/d"));
    assert_null(cgroups_limited_stopped(got, "/"));
    cgroups_limited_unref(got);
    list = cgroups_limited_new(1, 0);
    add(list, "/", 1); // a whole container's group is its root
    assert_string_equal(cgroups_limited_stopped(list, "/ab")->path, "/");
    assert_string_equal(cgroups_limited_stopped(list, "/")->path, "/");
    cgroups_limited_unref(list);
    cgroups_limited_share(NULL);
    assert_null(cgroups_limited_get());
    assert_int_equal(cgroups_limited_count(NULL), 0);
    assert_int_equal(cgroups_limited_left_out(NULL), 0);
    assert_null(cgroups_limited_stopped(NULL, "/a"));
    cgroups_limited_unref(NULL);
}

enum { LISTS = 2000 };

static void *read_lists(void *count) {
    for (size_t seen = 0; seen < LISTS;) {
        const struct cgroups_limited *list = cgroups_limited_get();
        size_t n = cgroups_limited_count(list);
        char path[32];
        for (size_t i = 0; i < n; i++) {
            snprintf(path, sizeof(path), "/%zu", n * 10 + i);
            *(size_t *)count += !cgroups_limited_stopped(list, path);
        }
        seen = cgroups_limited_left_out(list);
        cgroups_limited_unref(list);
    }
    return NULL;
}

// Lists come while others are read: each is whole, and gone when its last reader is.
static void readers(void **state) {
    (void)state;
    pthread_t threads[3];
    size_t wrong[3] = {0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_lists, &wrong[i]), 0);
    for (size_t number = 1; number <= LISTS; number++) {
        size_t n = number % 7;
        struct cgroups_limited *list = cgroups_limited_new(n, number);
        for (size_t i = 0; i < n; i++) {
            char path[32];
            snprintf(path, sizeof(path), "/%zu", n * 10 + i);
            add(list, path, 1);
        }
        cgroups_limited_share(list);
    }
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(wrong[i], 0);
    }
    cgroups_limited_share(NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(between), cmocka_unit_test(nearest), cmocka_unit_test(readers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
