// The budget of switch records: rates in, on or off out, over forged time.
#include "collectors/tasks/switch_budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

// A machine with a reading every 100 ms while on, and every second while off.
struct machine {
    struct switch_budget budget;
    unsigned cpus;
    double now_s, on_s;
    unsigned changes;
};

// `rate` switches/s, the share `most` of them on one CPU, for this time.
static void run(struct machine *m, double seconds, double rate, double most) {
    double end = m->now_s + seconds - 1e-6;
    while (m->now_s < end) {
        bool was = m->budget.on;
        double step = was ? 0.1 : 1;
        struct switch_budget_sample seen = {step, (uint64_t)(rate * step), (uint64_t)(rate * step * most), false};
        // A ring holds at most 2,730 switches per CPU.
        if (seen.most > 2730)
            seen.most = 2730, seen.switches = 2730 * m->cpus, seen.lost = true;
        m->budget.on = was ? switch_budget_keep(&m->budget, &seen) : switch_budget_retry(&m->budget, step, rate * step);
        m->changes += m->budget.on != was;
        m->now_s += step;
        m->on_s += was ? step : 0;
    }
}

static struct machine begin(double spared_per_s, unsigned cpus) {
    struct machine m = {.cpus = cpus};
    switch_budget_limit(&m.budget, spared_per_s, 900, cpus);
    return m;
}

static void the_limit_is_what_it_spares(void **state) {
    (void)state;
    static const struct {
        double spared_per_s, ask_ns, limit;
        unsigned cpus;
    } cases[] = {
        {0, 900, 1000, 2},        {600, 900, 1000, 2},        {2000, 900, 3000, 2},
        {2000, 2700, 9000, 2},    {10000, 900, 15000, 2},     {10000, 900, 10000, 1},
        {1000000, 900, 20000, 2}, {1000000, 900, 640000, 64}, {100000, 900, 150000, 64},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct switch_budget budget = {0};
        switch_budget_limit(&budget, cases[i].spared_per_s, cases[i].ask_ns, cases[i].cpus);
        assert_float_equal(budget.limit, cases[i].limit, 1e-6);
    }
}

static void it_begins_off_and_goes_on_when_it_is_calm(void **state) {
    (void)state;
    struct machine m = begin(2000, 2);
    assert_false(m.budget.on);
    run(&m, 1, 1400, 0.5); // below half of 3,000
    assert_true(m.budget.on);
    run(&m, 3600, 1400, 0.5);
    assert_int_equal(m.changes, 1);
    m = begin(2000, 2);
    run(&m, 3600, 1600, 0.5);
    assert_int_equal(m.changes, 0);
}

static void a_torrent_ends_it_at_the_first_look(void **state) {
    (void)state;
    static const double rates[] = {20000, 100000, 400000};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        struct machine m = begin(2000, 2);
        run(&m, 5, 100, 0.5);
        assert_true(m.budget.on);
        run(&m, 0.1, rates[i], 1);
        assert_false(m.budget.on);
        run(&m, 600, rates[i], 1); // and is not tried again
        assert_int_equal(m.changes, 2);
        run(&m, 4, 100, 0.5);
        assert_true(m.budget.on);
    }
}

static void above_the_limit_it_ends_soon_and_below_never(void **state) {
    (void)state;
    struct machine m = begin(2000, 2);
    run(&m, 5, 100, 0.5);
    run(&m, 600, 2900, 0.5);
    assert_true(m.budget.on);
    run(&m, 1, 6000, 0.5);
    assert_false(m.budget.on);
    m = begin(2000, 2);
    run(&m, 5, 100, 0.5);
    run(&m, 60, 3300, 0.5);
    assert_int_equal(m.changes, 2);
}

static void a_burst_is_no_load(void **state) {
    (void)state;
    struct machine m = begin(2000, 2);
    run(&m, 5, 100, 0.5);
    for (int i = 0; i < 100; i++) {
        run(&m, 0.1, 12000, 0.5); // 1,200 switches at once
        run(&m, 0.9, 500, 0.5);
    }
    assert_true(m.budget.on);
}

// The sum is far below the limit of 64 CPUs, but one of them is slowed by 20 %.
static void one_cpu_does_not_pay_for_all(void **state) {
    (void)state;
    struct machine m = begin(1e6, 64);
    assert_true(m.budget.limit > 600000);
    run(&m, 2, 10000, 0.1);
    assert_true(m.budget.on);
    run(&m, 10, 300000, 0.02);
    assert_true(m.budget.on);
    run(&m, 0.1, 26000, 1);
    assert_false(m.budget.on);
}

static void what_was_lost_is_too_much(void **state) {
    (void)state;
    struct machine m = begin(2000, 2);
    run(&m, 5, 100, 0.5);
    // No reading for a long time: the average rate is low.
    struct switch_budget_sample seen = {60, 2730, 2730, true};
    assert_false(switch_budget_keep(&m.budget, &seen));
}

// A low rate for a few seconds, repeatedly interrupted: the tries become rare, and the records are on rarely.
static void it_does_not_flap(void **state) {
    (void)state;
    struct machine m = begin(2000, 2);
    for (int i = 0; i < 120; i++) {
        run(&m, 5, 100, 0.5);
        run(&m, 5, 300000, 0.5);
    }
    assert_true(m.changes <= 24); // of 240
    // One busy CPU that only the records show: tried at last every 32 s, for 0.1 s.
    m = begin(1e6, 64);
    run(&m, 3600, 100000, 0.9);
    assert_true(m.on_s < 3600 / 32.0 * 0.1 + 2);
    assert_true(m.changes >= 200);
    // A rate on the limit.
    m = begin(2000, 2);
    for (int i = 0; i < 600; i++)
        run(&m, 1, i % 2 ? 4500 : 1200, 0.5);
    assert_true(m.changes <= 40);
}

static void a_lasting_calm_is_trusted_again(void **state) {
    (void)state;
    struct machine m = begin(2000, 2);
    for (int i = 0; i < 10; i++) {
        run(&m, 5, 100, 0.5);
        run(&m, 5, 300000, 0.5);
    }
    assert_true(m.budget.hold_s >= 8);
    run(&m, 600, 100, 0.5);
    assert_true(m.budget.on);
    run(&m, 2, 300000, 0.5);
    assert_false(m.budget.on);
    run(&m, 4, 100, 0.5);
    assert_true(m.budget.on);
}

static void what_is_not_known_is_tried(void **state) {
    (void)state;
    struct switch_budget budget = {0};
    switch_budget_limit(&budget, 2000, 900, 2);
    double waited = 0, seconds = 0;
    for (int i = 0; i < 8; i++) {
        for (seconds = 0; !switch_budget_retry(&budget, 1, seconds < 1 ? -1 : 10000); seconds++)
            assert_true(seconds < 40);
        assert_true(seconds >= waited);
        waited = seconds;
        struct switch_budget_sample seen = {0.1, 2730, 2730, true};
        assert_false(switch_budget_keep(&budget, &seen));
    }
    assert_true(waited > 30);
    assert_false(switch_budget_retry(&budget, 0, -1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_is_what_it_spares),
        cmocka_unit_test(it_begins_off_and_goes_on_when_it_is_calm),
        cmocka_unit_test(a_torrent_ends_it_at_the_first_look),
        cmocka_unit_test(above_the_limit_it_ends_soon_and_below_never),
        cmocka_unit_test(a_burst_is_no_load),
        cmocka_unit_test(one_cpu_does_not_pay_for_all),
        cmocka_unit_test(what_was_lost_is_too_much),
        cmocka_unit_test(it_does_not_flap),
        cmocka_unit_test(a_lasting_calm_is_trusted_again),
        cmocka_unit_test(what_is_not_known_is_tried),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
