// What ktop itself costs: this test's own process and a busy thread of it, held against the clocks.
#include "tests/unit/system_root.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

static atomic_bool stop;

static void *burn(void *arg) {
    pthread_setname_np(pthread_self(), "busy one");
    while (!atomic_load(&stop))
        ;
    return arg;
}

static void set_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    root_clock = (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

static void process_and_threads(void **state) {
    (void)state;
    struct fixture fixture = fixture_new(&system_self_part);
    pthread_t thread;
    atomic_store(&stop, false);
    assert_int_equal(pthread_create(&thread, NULL, burn, NULL), 0);
    usleep(20000); // it has its name by now
    set_clock();
    fixture_sample(&fixture);
    assert_int_equal(fixture_num(&fixture, "process", NULL, "pid"), getpid());
    assert_true(fixture_num(&fixture, "process", NULL, "rss_kib") > 100);
    assert_true(fixture_num(&fixture, "process", NULL, "vsize_kib") >=
                fixture_num(&fixture, "process", NULL, "rss_kib"));
    assert_nan(fixture_num(&fixture, "process", NULL, "cpu_pct"));
    assert_true(fixture_num(&fixture, "process", NULL, "threads") >= 2); // a sanitizer may have one of its own
    usleep(300000);
    set_clock();
    fixture_sample(&fixture);
    const union cell *busy = NULL;
    const struct table *threads = section_find_table(fixture.section, "threads");
    size_t cursor = 0;
    double sum = 0;
    for (const union cell *row; (row = table_next(threads, &cursor));) {
        if (!strcmp(text_bytes(row[1].text), "busy one"))
            busy = row;
        sum += row[2].num;
    }
    assert_non_null(busy);
    // The machine may be busy with other things, but not this thread with nothing.
    assert_true(busy[2].num > 1 && busy[2].num < 110);
    double process = fixture_num(&fixture, "process", NULL, "cpu_pct");
    assert_true(fabs(process - sum) < 5 + process / 10);
    double before = fixture_num(&fixture, "process", NULL, "threads");
    atomic_store(&stop, true);
    pthread_join(thread, NULL);
    set_clock();
    fixture_sample(&fixture);
    assert_near(fixture_num(&fixture, "process", NULL, "threads"), before - 1);
    fixture_free(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(process_and_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
