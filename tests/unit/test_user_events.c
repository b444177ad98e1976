// The events of -e: decoding of reads, and the state of each counter; on the real kernel, that groups are opened as
// given.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/counters/user_events.h"

static struct perf_parsed_event parsed[] = {
    {.attr = {.type = PERF_TYPE_HARDWARE}, .name = "a", .scale = 1},
    {.attr = {.type = PERF_TYPE_HARDWARE, .exclude_user = 1}, .name = "b", .scale = 0.5},
    {.attr = {.type = PERF_TYPE_SOFTWARE}, .name = "c", .scale = 1},
};
static const struct perf_event_list spec = {parsed, 3, 1};
static struct user_events events = {.spec = &spec};

struct one {
    struct user_counter counters[3];
    struct user_set set;
    struct user_cpu cpu;
};

// Three counters of one group; the second is not open. Nothing reads these descriptors.
static void one_make(struct one *one) {
    *one = (struct one){.set = {.first = 0, .n = 3}};
    for (size_t i = 0; i < 3; i++)
        one->counters[i] =
            (struct user_counter){.event = i, .fd = 1000, .value = NAN, .per_s = NAN, .counted_pct = NAN};
    one->counters[1].fd = -1;
    one->counters[1].error = -ENOENT;
    one->cpu =
        (struct user_cpu){.online = true, .counters = one->counters, .n_counters = 3, .sets = &one->set, .n_sets = 1};
}

static bool take(struct one *one, uint64_t enabled, uint64_t running, uint64_t a, uint64_t c) {
    const uint64_t words[] = {2, enabled, running, a, c};
    return user_set_read(&one->cpu, &one->set, words, 5, &spec);
}

static enum user_state state_of(struct one *one, size_t i) {
    return user_counter_state(&events, &one->cpu, &one->set, &one->counters[i]);
}

static void counts(void **state) {
    struct one one;
    (void)state;
    one_make(&one);
    assert_true(take(&one, 1000, 1000, 70, 5));
    assert_true(isnan(one.counters[0].value) && isnan(one.counters[2].per_s));
    assert_int_equal(state_of(&one, 0), USER_WAITS);
    assert_true(take(&one, 1000 + 500000000, 1000 + 500000000, 170, 5));
    assert_float_equal(one.counters[0].value, 100, 1e-9);
    assert_float_equal(one.counters[0].per_s, 200, 1e-9); // in half a second
    assert_float_equal(one.counters[0].counted_pct, 100, 0);
    assert_float_equal(one.counters[2].value, 0, 0);
    assert_true(isnan(one.counters[1].value));
    assert_int_equal(state_of(&one, 0), USER_COUNTS);
    assert_int_equal(state_of(&one, 1), USER_REFUSED);
    assert_int_equal(state_of(&one, 2), USER_COUNTS); // software: 0 is valid
}

static void shared(void **state) {
    struct one one;
    (void)state;
    one_make(&one);
    one.counters[1].fd = 1000;
    const uint64_t before[] = {3, 0, 0, 0, 0, 0}, after[] = {3, 1000000000, 250000000, 100, 100, 100};
    assert_true(user_set_read(&one.cpu, &one.set, before, 6, &spec));
    assert_true(user_set_read(&one.cpu, &one.set, after, 6, &spec));
    assert_float_equal(one.counters[0].value, 400, 1e-9); // a quarter of the time
    assert_float_equal(one.counters[1].value, 200, 1e-9); // and its scale
    assert_float_equal(one.counters[1].counted_pct, 25, 1e-9);
    assert_int_equal(state_of(&one, 0), USER_SHARED);
}

static void not_measured(void **state) {
    struct one one;
    (void)state;
    one_make(&one);
    take(&one, 1000, 500, 50, 60);
    assert_true(take(&one, 2000, 900, 40, 61)); // one went back: that one only
    assert_true(isnan(one.counters[0].value));
    assert_float_equal(one.counters[2].value, 2.5, 1e-9);
    assert_true(take(&one, 3000, 900, 90, 90)); // never on the PMU
    assert_true(isnan(one.counters[0].value) && isnan(one.counters[2].per_s));
    assert_float_equal(one.counters[0].counted_pct, 0, 0);
    assert_int_equal(state_of(&one, 0), USER_NO_TURN);
    const uint64_t other[] = {3, 4000, 1000, 1, 1, 1};
    assert_false(user_set_read(&one.cpu, &one.set, other, 6, &spec)); // not of this group
    assert_false(user_set_read(&one.cpu, &one.set, other, 2, &spec)); // cut off
    assert_true(isnan(one.counters[2].counted_pct));
}

// A hardware event at 0 is an error only if there was work of the kind that it counts.
static void stays_0(void **state) {
    struct one one;
    (void)state;
    one_make(&one);
    one.counters[1].fd = 1000;
    const uint64_t before[] = {3, 0, 0, 0, 0, 0}, after[] = {3, 1000, 1000, 0, 0, 0};
    user_set_read(&one.cpu, &one.set, before, 6, &spec);
    user_set_read(&one.cpu, &one.set, after, 6, &spec);
    assert_int_equal(state_of(&one, 0), USER_COUNTS);
    one.cpu.busy_user_s = 2;
    assert_int_equal(state_of(&one, 0), USER_STAYS_0);
    assert_int_equal(state_of(&one, 1), USER_COUNTS); // of the kernel only, which did nothing
    one.cpu.busy_system_s = 1;
    assert_int_equal(state_of(&one, 1), USER_STAYS_0);
    assert_int_equal(state_of(&one, 2), USER_COUNTS);
    one.counters[0].total = 1; // it has moved once
    assert_int_equal(state_of(&one, 0), USER_COUNTS);
}

static void real(void **state) {
    struct perf_event_list real_spec = {0};
    char error[PERF_EVENT_ERROR];
    struct user_events real_events;
    (void)state;
    assert_int_equal(perf_event_parse(&real_spec, "{cs,1:99,cpu-clock},cpu-clock,{cs,1:98}:W", NULL, error), 0);
    user_events_open(&real_events, &real_spec);
    struct user_cpu *cpu = NULL;
    for (int i = 0; !cpu; i++)
        cpu = real_events.cpus[i].online ? &real_events.cpus[i] : NULL;
    assert_int_equal(cpu->n_counters, 6);
    assert_int_equal(cpu->n_sets, 3); // the weak group stays one: what it lacks is not to be had alone either
    if (cpu->counters[0].error == -EACCES || cpu->counters[0].error == -EPERM) {
        user_events_close(&real_events);
        perf_event_list_free(&real_spec);
        skip();
    }
    assert_int_equal(cpu->counters[1].error, -ENOENT);
    assert_false(cpu->counters[1].led);
    user_events_read(&real_events);
    assert_int_equal(user_counter_state(&real_events, cpu, &cpu->sets[0], &cpu->counters[0]), USER_WAITS);
    user_events_read(&real_events);
    assert_true(cpu->counters[2].value > 0); // ns between two reads
    assert_true(cpu->counters[2].per_s > 0);
    assert_int_equal(user_counter_state(&real_events, cpu, &cpu->sets[0], &cpu->counters[2]), USER_COUNTS);
    assert_int_equal(user_counter_state(&real_events, cpu, &cpu->sets[0], &cpu->counters[1]), USER_REFUSED);
    user_events_close(&real_events);
    perf_event_list_free(&real_spec);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),  cmocka_unit_test(shared), cmocka_unit_test(not_measured),
        cmocka_unit_test(stays_0), cmocka_unit_test(real),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
