// The collector itself on this kernel: it opens, samples, and answers requests. Skipped where sampling is not
// permitted.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/collector.h"
#include "collectors/profile/sampling.h"
#include "model/clock.h"
#include "model/mem.h"

extern const struct collector collector_profile;

static struct collect_options options;
static struct collector_run run;
static struct answer answer;

static int begin(void **state) {
    (void)state;
    options = (struct collect_options){.show_self = true};
    run = (struct collector_run){.options = &options, .first = true, .poll_fd = -1};
    return 0;
}

static bool opened(void) {
    int rc = collector_profile.open(&run);
    if (!rc)
        return true;
    assert_true(run.reason[0] && run.fix[0]);
    collector_profile.close(&run);
    print_message("sampling is not permitted here: %s\n", run.reason);
    return false;
}

static volatile unsigned sink;

// Uses the CPU, and drains as the runner does when a ring fills up.
static __attribute__((noinline)) void spin(double seconds) {
    for (uint64_t end = now_ns() + (uint64_t)(seconds * 1e9); now_ns() < end;) {
        for (uint64_t part = now_ns() + 10000000; now_ns() < part;)
            for (unsigned i = 0; i < 10000; i++)
                sink += i;
        collector_profile.drain(&run);
    }
}

static struct section *sampled(double seconds) {
    run.begin_ns = now_ns();
    spin(seconds);
    run.end_ns = now_ns();
    struct section *section = section_new("profile", run.begin_ns, run.end_ns);
    assert_int_equal(collector_profile.sample(&run, section), 0);
    run.first = false;
    return section;
}

static double series(const struct section *section, const char *name) {
    for (size_t i = 0; i < section_n_series(section); i++) {
        const struct series_def *def;
        double value = section_series_at(section, i, &def);
        if (!strcmp(def->name, name))
            return value;
    }
    fail_msg("no series %s", name);
    return 0;
}

static double own_samples(const struct section *section) {
    const struct table *table = section_find_table(section, "profile_processes");
    const union cell *row;
    size_t cursor = 0;
    int pid = table_column(table_def(table), "pid"), samples = table_column(table_def(table), "samples");
    while ((row = table_next(table, &cursor)))
        if (row[pid].num == getpid())
            return row[samples].num;
    return 0;
}

// The own row of the table addresses with the most samples.
static const union cell *hottest_row(const struct table *addresses) {
    const union cell *row, *best = NULL;
    size_t cursor = 0;
    int pid = table_column(table_def(addresses), "pid"), samples = table_column(table_def(addresses), "samples"),
        symbol = table_column(table_def(addresses), "symbol");
    while ((row = table_next(addresses, &cursor)))
        if (row[pid].num == getpid() && !strcmp(text_bytes(row[symbol].text), "spin") &&
            (!best || row[samples].num > best[samples].num))
            best = row;
    return best;
}

// The instructions of the function that is sampled most have the sampled one among them.
static void instructions(void **state) {
    (void)state;
    if (!opened())
        skip();
    section_unref(sampled(0));
    section_unref(sampled(0.3)); // its file is read
    struct section *section = sampled(0.5);
    const struct table *addresses = section_find_table(section, "addresses");
    const union cell *hottest = hottest_row(addresses), *row;
    assert_non_null(hottest);
    double offset = hottest[table_column(table_def(addresses), "offset")].num;
    char *object = xstrdup(text_bytes(hottest[table_column(table_def(addresses), "dso")].text));
    struct request request = {
        .kind = REQUEST_CODE,
        .code = {.symbol = "spin", .object = object, .pid = getpid(), .n_hot = 1, .hot = {(uint64_t)offset}}};
    assert_int_equal(collector_profile.request(&run, &request, &answer), 0);
    section_unref(section);
    bool found = false, line = false;
    for (int i = 0; i < 40 && !found; i++) {
        section = sampled(0.1);
        const struct table *code = section_find_table(section, "code");
        int at = table_column(table_def(code), "offset"), text = table_column(table_def(code), "instruction"),
            file = table_column(table_def(code), "file");
        size_t cursor = 0;
        while ((row = table_next(code, &cursor)))
            if (row[at].num == offset) {
                found = row[text].text != NULL;
                line = strstr(text_bytes(row[file].text), "test_profile.c");
            }
        section_unref(section);
    }
    assert_true(found);
    assert_true(line);
    request.code.line_only = true;
    assert_int_equal(collector_profile.request(&run, &request, &answer), 0);
    request.code.symbol = "no such function"; // in the place of the one before
    request.code.n_hot = 0;
    assert_int_equal(collector_profile.request(&run, &request, &answer), 0);
    section = sampled(0.1);
    assert_int_equal(table_rows(section_find_table(section, "code")), 1);
    section_unref(section);
    free(object);
    collector_profile.close(&run);
}

static void requests(void **state) {
    (void)state;
    const pid_t other = 1;
    if (!opened())
        skip();
    section_unref(sampled(0)); // the provisional one
    struct section *section = sampled(0.6);
    assert_int_equal(series(section, "profile_frequency_hz"), PROFILE_HZ);
    assert_true(own_samples(section) > 5); // 59 of an idle machine
    assert_non_null(section_find_tree(section, "cpu"));
    section_unref(section);

    struct request request = {.kind = REQUEST_FREQUENCY, .hz = 999};
    assert_int_equal(collector_profile.request(&run, &request, &answer), 0);
    section = sampled(0.6);
    assert_int_equal(series(section, "profile_frequency_hz"), 999);
    assert_true(own_samples(section) > 60);
    section_unref(section);

    request.hz = 0;
    assert_true(collector_profile.request(&run, &request, &answer) < 0);
    assert_non_null(strstr(answer.sentence, "expected 1 to"));
    request.hz = UINT32_MAX;
    assert_true(collector_profile.request(&run, &request, &answer) < 0);

    request = (struct request){.kind = REQUEST_PIDS, .pids = {&other, 1}};
    assert_int_equal(collector_profile.request(&run, &request, &answer), 0);
    section = sampled(0.3);
    assert_int_equal(series(section, "profile_frequency_hz"), 999); // what was refused changed nothing
    assert_int_equal(own_samples(section), 0);
    section_unref(section);
    request.pids.n = 0; // all again
    assert_int_equal(collector_profile.request(&run, &request, &answer), 0);
    section = sampled(0.3);
    assert_true(own_samples(section) > 20);
    section_unref(section);
    collector_profile.close(&run);
}

static void without_self(void **state) {
    (void)state;
    options.show_self = false;
    if (!opened())
        skip();
    section_unref(sampled(0));
    struct section *section = sampled(0.3);
    assert_int_equal(own_samples(section), 0);
    section_unref(section);
    collector_profile.close(&run);
}

static void check_add(struct check_report *report, const struct check *check) {
    (void)report;
    assert_true(check->detail[0] && (check->works || check->fix[0]));
}

static void doctor(void **state) {
    (void)state;
    struct check_report report = {check_add};
    collector_profile.check(&report);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup(requests, begin),
                                       cmocka_unit_test_setup(instructions, begin),
                                       cmocka_unit_test_setup(without_self, begin), cmocka_unit_test(doctor)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
