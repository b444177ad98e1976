// The literal screens of the pane `tasks`.
#include "model/groups.h"
#include "tests/unit/forge_machine.h"

extern const struct view view_tasks;

#define GROUPS_AT_80                                                                                                                                                                                                                       \
    " not available\n"                                                                                                                                                                                                                     \
    "─ Tasks ────────────────────────────────────────────────────────────────────────\n" \
    "    PID USER      S  ▼CPU%    RSS    RUNQ RBYTES/s WBYTES/s CMDLINE\n"                                                                                                                                                              \
    "    812 anna      R   98.5   512M       -        -        - cc1 -O2 long.c\n"                                                                                                                                                         \
    "    813 anna      R   30.0   1.0M       -        -        - cc1 -O2 short.c\n"                                                                                                                                                        \
    "    900 bob       S   20.0   1.0G       -     4.0K        - db --port 1\n"                                                                                                                                                            \
    "      1 root      S    0.0   2.0M       -        -        - /sbin/init\n"                                                                                                                                                             \
    "─ ▸ Cgroups ────────────────────────────────────────────────────────────────────\n"       \
    "TASKS  ▼CPU% THROT% PSICPU%    RSS PSIIO%  MEM% PSIMEM% CGROUP\n"                                                                                                                                                                   \
    "    2    128   80.0    66.5   513M    0.0     -     0.0 /system.slice/ci.service\n"                                                                                                                                                   \
    "    1   20.0    0.0     0.5   1.0G   12.5   100     3.0 /system.slice/db.service\n"                                                                                                                                                   \
    "    1    0.0      -       -   2.0M      -     -       - /\n"

static void test_screens(void **state) {
    (void)state;
    check_pane(&view_tasks,
               "tasks          312  stuck in D       1  zombies          1\n"
               "running          3  threads       1204  ended/s        1.0\n"
               "─ Tasks ────────────────────────────────────────────────────────────────────────\n"
               "    PID USER      S  ▼CPU%    RSS    RUNQ RBYTES/s WBYTES/s CMDLINE\n"
               "    812 anna      R   98.7   512M  15.3ms        0     4.0K /usr/lib/gcc/cc1 -q…\n"
               "   4242 bob       D   22.5  64.0M   120us     100M        0 fio --name=randread…\n"
               "   5000 anna      X    0.4      -       -        -        - true\n"
               "      1 root      S    0.0  12.0M     0us        0        0 /sbin/init splash\n"
               "   6666 mallory   Z    0.0      0       -        -        - \\e[2J\\xff\\nevil\\u00…\n",
               "tasks          312  threads       1204\n"
               "running          3  zombies          1\n"
               "stuck in D       1  ended/s        1.0\n"
               "─ Tasks ────────────────────────────────\n"
               "    PID USER      S  ▼CPU% CMDLINE\n"
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

// A machine with control groups: their tasks, what the kernel says of them.
static const struct frame *machine_groups(void) {
    struct groups *groups = groups_new();
    struct frame *frame = forge_frame(1);
    struct section *s = forge_section("tasks", 1);

    add_table(s, "tasks",
              ROWS("pid=812|tid=812|user=anna|comm=cc1|command=cc1 -O2 long.c|state=R|cpu_pct=98.5|rss_kib=524288|"
                   "cgroup=/system.slice/ci.service",
                   "pid=813|tid=813|user=anna|comm=cc1|command=cc1 -O2 short.c|state=R|cpu_pct=30|rss_kib=1024|"
                   "cgroup=/system.slice/ci.service",
                   "pid=900|tid=900|user=bob|comm=db|command=db --port 1|state=S|cpu_pct=20|rss_kib=1048576|"
                   "read_bytes_per_s=4096|cgroup=/system.slice/db.service",
                   "pid=1|tid=1|user=root|comm=init|command=/sbin/init|state=S|cpu_pct=0|rss_kib=2048|cgroup=/"));
    frame_add_section(frame, s, 0);
    s = forge_section("cgroups", 1);
    add_table(s, "cgroup_stats",
              ROWS("cgroup=/system.slice/ci.service|throttled_pct=80|cpu_limit_pct=130|cpu_pressure_pct=66.5|"
                   "io_pressure_pct=0|memory_pressure_pct=0|memory_bytes=537919488",
                   "cgroup=/system.slice/db.service|throttled_pct=0|cpu_pressure_pct=0.5|io_pressure_pct=12.5|"
                   "memory_pressure_pct=3|memory_bytes=1073741824|memory_limit_bytes=1073741824|memory_used_pct=100",
                   "cgroup=/system.slice/empty.service|throttled_pct=0"));
    frame_add_section(frame, s, 0);
    frame_add_section(frame, groups_section(groups, frame), 0);
    groups_free(groups);
    return frame;
}

static size_t needed(const struct pane *pane, bool files) {
    const char *names[16];

    return pane_needs(pane, files, names, 0, 16);
}

static void test_groups(void **state) {
    (void)state;
    struct look look = {.frame = machine_groups()};
    struct pane *pane = pane_new(&view_tasks);
    struct pane_answer answer;
    char *hidden = pane_screen(pane, &look, 80, 24, false);

    assert_null(strstr(hidden, "Cgroups"));
    assert_int_equal(needed(pane, true), needed(pane, false) + 2);
    assert_true(pane_key(pane, &look, 'c', 0, 0, &answer));
    assert_string_equal(answer.message, "Cgroups: shown");
    assert_int_equal(needed(pane, true), needed(pane, false) + 1);
    expect_screen(pane, &look, 80, 13, GROUPS_AT_80);
    // Enter opens one over time; it needs what the table needs.
    assert_true(pane_key(pane, &look, KEY_VIEW_ENTER, 0, 0, &answer));
    assert_int_equal(needed(pane, true), needed(pane, false) + 1);
    char *opened = pane_screen(pane, &look, 80, 13, false);
    assert_non_null(strstr(opened, "Cgroup "));
    assert_non_null(strstr(opened, "CGROUP /system.slice/ci.service"));
    assert_false(pane_key(pane, &look, 'c', 0, 0, &answer)); // there is nothing behind it to be hidden
    assert_true(pane_key(pane, &look, KEY_VIEW_BACK, 0, 0, &answer));
    expect_screen(pane, &look, 80, 13, GROUPS_AT_80);
    draw_all_sizes(pane, &look);
    assert_true(pane_key(pane, &look, 'c', 0, 0, &answer));
    expect_screen(pane, &look, 80, 24, hidden);
    assert_true(pane_key(pane, &look, KEY_VIEW_DOWN, 0, 0, &answer)); // the keys are the tasks' again
    assert_true(pane_key(pane, &look, KEY_VIEW_ENTER, 0, 0, &answer));
    free(opened);
    opened = pane_screen(pane, &look, 80, 13, false);
    assert_non_null(strstr(opened, "Task "));
    char *json = pane_written(pane, &look, FORMAT_JSON);
    assert_non_null(strstr(json, "\"cgroups\":[{\"cgroup\":\"/system.slice/ci.service\",\"tasks\":2,"));
    free(json);
    free(opened);
    free(hidden);
    frame_unref(look.frame);
    pane_free(pane);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_screens), cmocka_unit_test(test_groups),
                                       cmocka_unit_test(test_counters)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
