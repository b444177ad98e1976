// What becomes of the groups' rates: the marks of multiplexing, events that open but never count, sums and ratios; and
// what the machine itself gives.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/counters.h"
#include "model/live.h"

extern const struct collector collector_counters;

static struct cpu_counters blank_cpu(void) {
    struct cpu_counters cpu = {.online = true, .counted_pct = NAN};
    for (unsigned i = 0; i < N_HARDWARE; i++)
        cpu.hardware_per_s[i] = NAN;
    return cpu;
}

static void merge(void **state) {
    (void)state;
    struct cpu_counters cpu = blank_cpu();
    const struct perf_group pair = {.which = {CYCLES, INSTRUCTIONS}, .n = 2}, other = {.which = {BRANCHES}, .n = 1};
    const struct perf_rates whole = {.per_s = {2e9, 1e9}, .counted_pct = 80},
                            part = {.per_s = {5e8}, .counted_pct = 40}, none = {.per_s = {NAN}, .counted_pct = NAN};
    counters_merge(&cpu, &pair, &whole);
    assert_float_equal(cpu.hardware_per_s[INSTRUCTIONS], 1e9, 0);
    assert_float_equal(cpu.counted_pct, 80, 0);
    counters_merge(&cpu, &other, &part);
    assert_float_equal(cpu.hardware_per_s[BRANCHES], 5e8, 0);
    assert_float_equal(cpu.counted_pct, 40, 0); // the least
    counters_merge(&cpu, &other, &none);
    assert_float_equal(cpu.counted_pct, 40, 0);
    assert_true(isnan(cpu.hardware_per_s[BRANCHES]));
    assert_true(isnan(cpu.hardware_per_s[CACHE_MISSES]));
}

static void starving(void **state) {
    (void)state;
    const struct perf_group group = {.n = 1}, empty = {.n = 0};
    const struct perf_rates never = {.counted_pct = 0}, some = {.counted_pct = 1}, unknown = {.counted_pct = NAN};
    assert_true(counters_starved(&group, &never));
    assert_false(counters_starved(&group, &some));
    assert_false(counters_starved(&group, &unknown));
    assert_false(counters_starved(&empty, &never));
}

static void opened_is_not_counts(void **state) {
    (void)state;
    struct cpu_counters cpus[2] = {blank_cpu(), blank_cpu()};
    struct counters counters = {.n_cpus = 2, .cpus = cpus};
    assert_true(isnan(counters_sum(&counters, CYCLES)));
    counters_find_dead(&counters);
    assert_false(counters.dead[INSTRUCTIONS]);
    cpus[0].hardware_per_s[CYCLES] = 3e9;
    cpus[0].hardware_per_s[INSTRUCTIONS] = 0;
    cpus[1].hardware_per_s[INSTRUCTIONS] = 0;
    counters_find_dead(&counters);
    assert_true(counters.dead[INSTRUCTIONS]);
    assert_false(counters.dead[BRANCHES]); // not measured is not dead
    cpus[1].hardware_per_s[INSTRUCTIONS] = 5;
    assert_float_equal(counters_sum(&counters, INSTRUCTIONS), 5, 0);
    counters_find_dead(&counters);
    assert_false(counters.dead[INSTRUCTIONS]);
    cpus[1].online = false;
    assert_float_equal(counters_sum(&counters, INSTRUCTIONS), 0, 0);
}

static void ratios(void **state) {
    (void)state;
    assert_float_equal(ratio_pct(1, 4), 25, 0);
    assert_true(isnan(ratio_pct(1, 0)));
    assert_true(isnan(ratio_pct(NAN, 1)));
    assert_true(isnan(ratio_pct(1, NAN)));
    assert_true(isnan(ratio_pct(0, 0)));
}

// On this machine: either it says why not, or the software counters count what this process does.
static void machine(void **state) {
    (void)state;
    struct collect_options options = {0};
    struct collector_run run = {.options = &options, .poll_fd = -1};
    if (collector_counters.open(&run)) {
        assert_true(run.reason[0] && run.fix[0]);
        collector_counters.close(&run);
        return;
    }
    struct section *first = section_new("counters", 1, 1), *second = section_new("counters", 1, 2);
    assert_int_equal(collector_counters.sample(&run, first), 0);
    const struct table *table = section_find_table(first, "cpu_counters");
    int csw = table_column(table_def(table), "context_switches_per_s");
    size_t cursor = 0, rows = 0;
    for (const union cell *row; (row = table_next(table, &cursor)); rows++)
        assert_true(isnan(row[csw].num));
    assert_true(rows >= 1);
    for (int i = 0; i < 20; i++)
        usleep(1000);
    assert_int_equal(collector_counters.sample(&run, second), 0);
    table = section_find_table(second, "cpu_counters");
    double total = 0;
    cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        assert_true(row[csw].num >= 0);
        total += row[csw].num;
    }
    assert_true(total > 0);
    int cycles = table_column(table_def(table), "cycles_per_s");
    cursor = 0;
    if (isnan(table_next(table, &cursor)[cycles].num)) {
        assert_int_equal(section_state(second), SECTION_DEGRADED);
        assert_int_equal(section_notes(second), 1);
        assert_non_null(section_note_at(second, 0)->fix);
    }
    section_unref(first);
    section_unref(second);
    collector_counters.close(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merge),  cmocka_unit_test(starving), cmocka_unit_test(opened_is_not_counts),
        cmocka_unit_test(ratios), cmocka_unit_test(machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
