// The literal screens of the pane `health`.
#include "tests/unit/forge_machine.h"

extern const struct view view_health;

static void test_screens(void **state) {
    (void)state;
    check_pane(&view_health,
               "─ Cost of ktop ─────────────────────────────────────────────────────────────────\n"
               "CPU, % of one        0.8  threads                6  history             2.0M\n"
               "memory              9.0M  frames kept           61  PID                 4711\n"
               "─ ▸ Collectors ─────────────────────────────────────────────────────────────────\n"
               "COLLECTOR     STATE         CPU% EVENTS/s   LOST DETAIL\n"
               "system        ok             0.1        0      0 -\n"
               "tasks         ok             0.5       12      0 -\n"
               "cpu_counters  degraded       0.0        0      0 no hardware PMU\n"
               "block         stale            -        -      - its data is 3.2 s old\n"
               "frames        ok             0.0        -      - -\n"
               "─ Threads of ktop ──────────────────────────────────────────────────────────────\n"
               "    TID THREAD            ▼CPU%\n"
               "   4712 ktop-tasks          0.5\n"
               "   4711 ktop                0.3\n",
               "─ Cost of ktop ─────────────────────────\n"
               "CPU, % of one   0.8  frames kept      61\n"
               "memory         9.0M  history        2.0M\n"
               "threads           6  PID            4711\n"
               "─ Collectors ──────────────── 1-3 of 5 ─\n"
               "COLLECTOR     STATE       DETAIL\n"
               "system        ok          -\n"
               "tasks         ok          -\n"
               "cpu_counters  degraded    no hardware P…\n"
               "more: Threads of ktop\n",
               (const char *const[]){"collectors", "process", NULL});
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_screens)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
