// The literal screens of the pane `tasks`.
#include "tests/forge_machine.h"

extern const struct view view_tasks;

static void test_screens(void **state) {
    (void)state;
    check_pane(&view_tasks,
               "tasks          312  stuck in D       1  zombies          1\n"
               "running          3  threads       1204  ended/s        1.0\n"
               "─ Tasks ────────────────────────────────────────────────────────────────────────\n"
               "    PID USER      S  ▼CPU%    RSS    RUNQ  READ/s WRITE/s COMMAND\n"
               "    812 anna      R   98.7   512M  15.3ms       0    4.0K /usr/lib/gcc/cc1 -qui…\n"
               "   4242 bob       D   22.5  64.0M   120us    100M       0 fio --name=randread -…\n"
               "   5000 anna      X    0.4      -       -       -       - true\n"
               "      1 root      S    0.0  12.0M     0us       0       0 /sbin/init splash\n"
               "   6666 mallory   Z    0.0      0       -       -       - \\e[2J\\xff\\nevil\\u009b…\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "\n"
               "! other counters have the PMU for half of the time\n",
               "tasks          312  threads       1204\n"
               "running          3  zombies          1\n"
               "stuck in D       1  ended/s        1.0\n"
               "─ Tasks ────────────────────────────────\n"
               "    PID USER      S  ▼CPU% COMMAND\n"
               "    812 anna      R   98.7 /usr/lib/gcc…\n"
               "   4242 bob       D   22.5 fio --name=r…\n"
               "   5000 anna      X    0.4 true\n"
               "      1 root      S    0.0 /sbin/init s…\n"
               "   6666 mallory   Z    0.0 \\e[2J\\xff\\ne…\n",
               (const char *const[]){"tasks", NULL});
}

// The counters of a task stand in its row; of one that was not counted they are null; what has no task has no row.
static void test_counters(void **state) {
    (void)state;
    struct look look = {.frame = machine(1)};
    struct pane *pane = pane_new(&view_tasks);
    char *text = pane_written(pane, &look, FORMAT_JSON);
    assert_non_null(strstr(text, "\"ipc\":1.25,\"cycles_per_s\":3000000000,\"instructions_per_s\":3750000000,"
                                 "\"cache_references_per_s\":40000,\"cache_misses_per_s\":10000,"
                                 "\"cache_miss_pct\":25,\"branch_misses_per_s\":2000000,\"counted_pct\":50}"));
    size_t nulls = 0;
    for (const char *at = text; (at = strstr(at, "\"ipc\":null,")); at++)
        nulls++;
    assert_int_equal(nulls, 4);
    assert_null(strstr(text, "9999"));
    free(text);
    frame_unref(look.frame);
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_screens), cmocka_unit_test(test_counters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
