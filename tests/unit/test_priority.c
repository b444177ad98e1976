// Scheduling priority: a thread over its CPU budget drops it, and regains it only well below the budget.
#include "tests/unit/model_test.h"

#include <sched.h>

#include "collectors/kernel/priority.h"

#define MS 1000000ull

// The policy of this thread; without permission it stays SCHED_OTHER.
static bool is_realtime(void) {
    return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_RR;
}

static void budget(void **state) {
    struct priority_budget budget = {0};
    (void)state;
    priority_budget(&budget, 0, 0);
    bool allowed = is_realtime();
    assert_true(budget.raised);
    priority_budget(&budget, 70 * MS, 1000 * MS); // within the budget
    assert_true(budget.raised);
    assert_int_equal(is_realtime(), allowed);
    priority_budget(&budget, 90 * MS, 1000 * MS);
    assert_false(budget.raised);
    assert_false(is_realtime());
    priority_budget(&budget, 50 * MS, 1000 * MS); // not yet below 3/8 of the budget
    assert_false(budget.raised);
    assert_false(is_realtime());
    priority_budget(&budget, 500 * MS, 0); // unknown after a reopen: no change
    assert_false(budget.raised);
    priority_budget(&budget, 20 * MS, 1000 * MS);
    assert_true(budget.raised);
    assert_int_equal(is_realtime(), allowed);
    budget = (struct priority_budget){.pct = 30};
    priority_budget(&budget, 0, 0);
    priority_budget(&budget, 290 * MS, 1000 * MS); // a custom budget
    assert_true(budget.raised);
    assert_int_equal(is_realtime(), allowed);
    priority_budget(&budget, 310 * MS, 1000 * MS);
    priority_budget(&budget, 120 * MS, 1000 * MS);
    assert_false(budget.raised);
    assert_false(is_realtime());
    priority_budget(&budget, 110 * MS, 1000 * MS);
    assert_true(budget.raised);
    priority_drop();
    assert_false(is_realtime());
}

static void asking(void **state) {
    (void)state;
    const char *got = priority_ask(PRIORITY_SCREEN);
    struct sched_param is;
    assert_int_equal(sched_getparam(0, &is), 0);
    assert_int_equal(is_realtime(), strcmp(got, "realtime") == 0);
    assert_int_equal(is.sched_priority, is_realtime() ? PRIORITY_SCREEN : 0);
    priority_drop();
}

struct there {
    int cpu, policy, priority;
};

static int look(void *ctx) {
    struct there *there = ctx;
    struct sched_param is = {0};
    sched_getparam(0, &is);
    *there = (struct there){.cpu = sched_getcpu(), .policy = sched_getscheduler(0), .priority = is.sched_priority};
    return 7;
}

// On each CPU in turn; affinity and policy are restored. For a CPU that does not exist the work still runs.
static void on_a_cpu(void **state) {
    (void)state;
    const char *got = priority_ask(PRIORITY_COLLECTOR);
    cpu_set_t before, after;
    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    int policy = sched_getscheduler(0);
    struct there there;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        assert_int_equal(priority_on_cpu((uint32_t)cpu, look, &there), 7);
        if (CPU_ISSET(cpu, &before))
            assert_int_equal(there.cpu, cpu);
        if (strcmp(got, "realtime") == 0)
            assert_int_equal(there.priority, sched_get_priority_max(SCHED_FIFO));
        assert_int_equal(sched_getaffinity(0, sizeof(after), &after), 0);
        assert_true(CPU_EQUAL(&before, &after));
        assert_int_equal(sched_getscheduler(0), policy);
    }
    priority_drop();
    priority_on_cpu(0, look, &there);
    assert_false(is_realtime());
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(budget), cmocka_unit_test(asking), cmocka_unit_test(on_a_cpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
