// Decoding forged reads of a group: scaling, decreasing counters, groups that never ran; and the text of each error.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/perf.h"

static void decode(void **state) {
    (void)state;
    const uint64_t words[] = {3, 1000, 500, 7, 8, 9};
    struct perf_reading reading;
    assert_true(perf_decode(words, sizeof words, 3, &reading));
    assert_int_equal(reading.enabled, 1000);
    assert_int_equal(reading.running, 500);
    assert_int_equal(reading.values[0], 7);
    assert_int_equal(reading.values[2], 9);
    assert_false(perf_decode(words, sizeof words - 8, 3, &reading)); // cut off
    assert_false(perf_decode(words, sizeof words - 8, 2, &reading)); // says 3, has 2
    assert_false(perf_decode(words, 0, 0, &reading));
    assert_false(perf_decode(words, sizeof words, PERF_GROUP_MAX + 1, &reading));
}

static void rates_whole(void **state) {
    (void)state;
    const struct perf_reading before = {1000, 1000, {100, 0}}, after = {500001000, 500001000, {600, 0}};
    struct perf_rates rates;
    perf_rates(&before, &after, 2, &rates);
    assert_float_equal(rates.per_s[0], 1000, 1e-9); // 500 in half a second
    assert_float_equal(rates.per_s[1], 0, 0);
    assert_float_equal(rates.counted_pct, 100, 0);
}

// It ran 25 % of the second and counted 1000: 4000/s, counted_pct 25 %.
static void rates_multiplexed(void **state) {
    (void)state;
    const struct perf_reading before = {2000000000, 700000000, {5000}}, after = {3000000000, 950000000, {6000}};
    struct perf_rates rates;
    perf_rates(&before, &after, 1, &rates);
    assert_float_equal(rates.per_s[0], 4000, 1e-9);
    assert_float_equal(rates.counted_pct, 25, 1e-9);
}

static void rates_not_measured(void **state) {
    (void)state;
    const struct perf_reading zero = {1000, 500, {50, 60}}, starved = {2000, 500, {50, 60}},
                              back = {2000, 900, {40, 61}}, reset = {500, 100, {1, 1}}, worn = {2000, 400, {70, 70}};
    struct perf_rates rates;
    perf_rates(&zero, &zero, 2, &rates); // the first read
    assert_true(isnan(rates.per_s[0]) && isnan(rates.counted_pct));
    perf_rates(&zero, &starved, 2, &rates); // never on the PMU
    assert_true(isnan(rates.per_s[0]));
    assert_float_equal(rates.counted_pct, 0, 0);
    perf_rates(&zero, &back, 2, &rates); // one went back: that one only
    assert_true(isnan(rates.per_s[0]));
    assert_false(isnan(rates.per_s[1]));
    perf_rates(&zero, &reset, 2, &rates);
    assert_true(isnan(rates.per_s[1]) && isnan(rates.counted_pct));
    perf_rates(&zero, &worn, 2, &rates);
    assert_true(isnan(rates.per_s[1]) && isnan(rates.counted_pct));
}

static void cpu_lists(void **state) {
    (void)state;
    bool set[16] = {false};
    assert_int_equal(cpu_list_parse("0-2,5\n", set, 16), 6);
    assert_true(set[0] && set[2] && set[5]);
    assert_false(set[3] || set[4] || set[6]);
    bool far[4] = {false};
    assert_int_equal(cpu_list_parse("2-1000000", far, 4), 4);
    assert_int_equal(cpu_list_parse("\n", far, 4), 0);
}

// ---- sets of CPUs: open, until told to fail ----
static int set_error, opens, closes;
static int set_open(void *context, int cpu) {
    ((int *)context)[cpu] += !set_error;
    opens += !set_error;
    return set_error;
}
static void set_close(void *context, int cpu) {
    ((int *)context)[cpu]--;
    closes++;
}

static void sets_of_cpus(void **state) {
    (void)state;
    static const struct perf_cpus_ops ops = {set_open, set_close};
    static int open_sets[CPUS_MAX];
    struct perf_cpus cpus;
    int online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    perf_cpus_init(&cpus, &ops, open_sets);
    assert_true(cpus.n >= online);
    set_error = -EACCES;
    assert_int_equal(perf_cpus_follow(&cpus), -EACCES);
    set_error = 0;
    assert_int_equal(perf_cpus_follow(&cpus), 0);
    assert_int_equal(opens, online);
    assert_true(cpus.changed);
    cpus.changed = false;
    assert_int_equal(perf_cpus_follow(&cpus), 0);
    assert_int_equal(opens, online);
    assert_false(cpus.changed);
    int first = 0;
    while (!cpus.opened[first])
        first++;
    perf_cpus_reopen(&cpus, first);
    assert_int_equal(open_sets[first], 1);
    set_error = -ENODEV; // it went offline meanwhile, and comes back
    perf_cpus_reopen(&cpus, first);
    assert_int_equal(open_sets[first], 0);
    assert_int_equal(perf_cpus_follow(&cpus), online > 1 ? 0 : -ENODEV);
    set_error = 0;
    assert_int_equal(perf_cpus_follow(&cpus), 0);
    assert_int_equal(open_sets[first], 1);

    // The descriptor of a CPU that goes offline hangs up.
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    assert_int_equal(perf_cpus_watch(&cpus, first, pipes[0]), 0);
    perf_cpus_drop_hung_up(&cpus);
    assert_true(cpus.opened[first]);
    close(pipes[1]);
    perf_cpus_drop_hung_up(&cpus);
    assert_false(cpus.opened[first]);
    close(pipes[0]);
    perf_cpus_shut(&cpus);
    assert_int_equal(opens, closes);
    perf_cpus_follow(&cpus);
    perf_cpus_close(&cpus);
    assert_int_equal(opens, closes);
}

static void says(struct perf_refusal refusal, const char *reason_has, const char *fix_has) {
    char reason[256], fix[256];
    perf_word(&refusal, reason, sizeof reason, fix, sizeof fix);
    if (!strstr(reason, reason_has) || !strstr(fix, fix_has))
        fail_msg("\"%s\" and \"%s\" for \"%s\" and \"%s\"", reason, fix, reason_has, fix_has);
}

static void refusals(void **state) {
    (void)state;
    says((struct perf_refusal){.error = -EACCES, .paranoid = 2}, "perf_event_paranoid is 2", "cap_perfmon");
    says((struct perf_refusal){.error = -EPERM, .paranoid = 1}, "perf_event_paranoid is 1", "sysctl");
    says((struct perf_refusal){.error = -EACCES, .paranoid = 3}, "requires CAP_SYS_ADMIN", "root");
    says((struct perf_refusal){.error = -EACCES, .paranoid = 3, .perfmon = true}, "CAP_PERFMON is not enough", "root");
    says((struct perf_refusal){.error = -EACCES, .paranoid = 4, .sys_admin = true}, "seccomp", "container");
    says((struct perf_refusal){.error = -EPERM, .paranoid = 2, .perfmon = true}, "seccomp", "container");
    says((struct perf_refusal){.error = -EPERM, .paranoid = 0}, "seccomp", "container");
    says((struct perf_refusal){.error = -ENOSYS, .paranoid = -2}, "CONFIG_PERF_EVENTS", "kernel");
    says((struct perf_refusal){.error = -ENOENT, .hardware = true}, "no hardware PMU", "bare metal");
    says((struct perf_refusal){.error = -ENOENT}, "No such file", "dmesg");
    says((struct perf_refusal){.error = -EMFILE}, "descriptors", "ulimit");
    says((struct perf_refusal){.error = -EBUSY, .hardware = true}, "another process", "profiler");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decode),
        cmocka_unit_test(rates_whole),
        cmocka_unit_test(rates_multiplexed),
        cmocka_unit_test(rates_not_measured),
        cmocka_unit_test(cpu_lists),
        cmocka_unit_test(sets_of_cpus),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
