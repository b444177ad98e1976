// The finding about limits on CPU time: which group, which task in it, and what it explains.
#include "tests/unit/forge.h"

#include <math.h>

#include "model/findings.h"

static const struct column limit_columns[] = {
    {.name = "cgroup", .type = COLUMN_TEXT}, {.name = "cpu_limit_pct"}, {.name = "throttled_pct"},
    {.name = "throttled_us_per_s"},          {.name = "processes"},     {.name = "pid"}};
static const struct table_def limits_def = {
    .name = "cpu_limits", .help = "", .columns = limit_columns, .n_columns = 6, .n_keys = 1};
static const struct column task_columns[] = {{.name = "pid"},
                                             {.name = "tid"},
                                             {.name = "comm", .type = COLUMN_TEXT},
                                             {.name = "state", .type = COLUMN_TEXT},
                                             {.name = "cpu_pct"},
                                             {.name = "run_queue_us"},
                                             {.name = "cgroup", .type = COLUMN_TEXT}};
static const struct table_def tasks_def = {
    .name = "tasks", .help = "", .columns = task_columns, .n_columns = 7, .n_keys = 1};

struct scene {
    double pressure; // some task waits for a CPU, in percent; one of two CPUs is idle
    const char *limits[8], *tasks[8];
    bool no_limits; // not measured
};

static char culprit[64]; // of the last finding

// The findings in the second of two equal frames: "severity kind pane: evidence" a line.
static const char *reported(const struct scene *scene) {
    static char out[2048];
    static const struct series_def defs[] = {
        {.name = "cpus_online"}, {.name = "cpu_idle_pct"}, {.name = "cpu_iowait_pct"}, {.name = "cpu_some_pct"}};
    const double values[] = {2, 50, 0, scene->pressure};
    struct findings *findings = findings_new();
    out[0] = culprit[0] = '\0';
    for (uint64_t number = 1; number <= 2; number++) {
        struct section *section = forge_section("system", number);
        for (size_t i = 0; i < sizeof(defs) / sizeof(defs[0]); i++)
            section_series(section, &defs[i], values[i]);
        if (!scene->no_limits)
            section_table(section, forge_table(&limits_def, scene->limits));
        section_table(section, forge_table(&tasks_def, scene->tasks));
        struct frame *frame = forge_frame(number);
        frame_add_section(frame, section, 0);
        struct section *result = findings_section(findings, frame, NULL);
        const struct table *table = section_find_table(result, "findings");
        size_t cursor = 0, used = 0;
        for (const union cell *row; number == 2 && (row = table_next(table, &cursor));) {
            const struct text *comm = row[table_column(&findings_table, "culprit_comm")].text;
            used += (size_t)snprintf(out + used, sizeof(out) - used, "%s %s %s: %s\n",
                                     text_bytes(row[table_column(&findings_table, "severity")].text),
                                     text_bytes(row[table_column(&findings_table, "kind")].text),
                                     text_bytes(row[table_column(&findings_table, "pane")].text),
                                     text_bytes(row[table_column(&findings_table, "evidence")].text));
            snprintf(culprit, sizeof(culprit), "%.0f %s", row[table_column(&findings_table, "culprit_pid")].num,
                     comm ? text_bytes(comm) : "-");
        }
        section_unref(result);
        frame_unref(frame);
    }
    findings_free(findings);
    return out;
}

#define HELD "|cpu_limit_pct=20|throttled_pct=100|throttled_us_per_s=790000"

static void one_process(void **state) {
    (void)state;
    struct scene scene = {
        .pressure = 80,
        .limits = {"cgroup=/quota" HELD "|processes=1|pid=12"},
        .tasks = {"pid=3|tid=3|comm=other|cpu_pct=80|cgroup=/", "pid=12|tid=12|comm=burn|cpu_pct=20|cgroup=/"}};
    assert_string_equal(reported(&scene),
                        "warning cpu_limit sched: burn (pid 12) in cgroup /quota: throttled in 100 % of "
                        "the periods, 790ms per second, by its limit of 20 % of one CPU\n");
    assert_string_equal(culprit, "12 burn");
}

static void several_processes(void **state) {
    (void)state;
    // By their groups; those of the groups below are the group's as well, those of a name that begins alike are not.
    // The one that waits most is not the one that uses most; threads and what has ended are no more processes.
    struct scene scene = {.limits = {"cgroup=/pod" HELD "|processes=0"},
                          .tasks = {"pid=1|tid=1|comm=a|run_queue_us=990000|cgroup=/pod2",
                                    "pid=2|tid=2|comm=b|cpu_pct=15|run_queue_us=500000|cgroup=/pod",
                                    "pid=3|tid=3|comm=c|cpu_pct=5|run_queue_us=700000|cgroup=/pod/main",
                                    "pid=3|tid=6|comm=c2|run_queue_us=600000|cgroup=/pod/main",
                                    "pid=4|tid=4|comm=d|run_queue_us=990000",
                                    "pid=5|tid=5|comm=e|run_queue_us=10|state=X|cgroup=/pod"}};
    assert_non_null(strstr(reported(&scene), "cpu_limit sched: c (pid 3) and 1 other in cgroup /pod: throttled"));
    assert_string_equal(culprit, "3 c");
    // More than the tasks that are looked at.
    scene.limits[0] = "cgroup=/pod" HELD "|processes=5";
    assert_non_null(strstr(reported(&scene), "cpu_limit sched: c (pid 3) and 4 others in cgroup /pod: throttled"));
    // The waiting process is unknown: no culprit rather than a wrong one.
    scene.limits[0] = "cgroup=/x" HELD "|processes=5";
    assert_non_null(strstr(reported(&scene), "cpu_limit sched: 5 processes in cgroup /x: throttled"));
    assert_string_equal(culprit, "nan -");
    scene.limits[0] = "cgroup=/x" HELD;
    assert_non_null(strstr(reported(&scene), "cpu_limit sched: cgroup /x: throttled"));
    // A whole container's group is its root.
    scene.limits[0] = "cgroup=/" HELD "|processes=5";
    scene.tasks[4] = NULL;
    assert_non_null(strstr(reported(&scene), "cpu_limit sched: a (pid 1) and 4 others in cgroup /: throttled"));
}

static void no_harm(void **state) {
    (void)state;
    struct scene scene = {
        .pressure = 5,
        .limits = {"cgroup=/a|cpu_limit_pct=20|throttled_pct=24|throttled_us_per_s=790000|processes=1|pid=12",
                   "cgroup=/b|cpu_limit_pct=20|throttled_pct=100|throttled_us_per_s=90000|processes=1|pid=12",
                   "cgroup=/c|cpu_limit_pct=20", "throttled_pct=100|throttled_us_per_s=790000"}};
    assert_string_equal(reported(&scene), "");
}

// The most stopped ones only, each under a key of its own although their names begin alike.
static void many_groups(void **state) {
    (void)state;
#define SLICE "cgroup=/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod"
#define STOPPED "|cpu_limit_pct=50|throttled_pct=60|processes=3|throttled_us_per_s="
    struct scene scene = {.limits = {SLICE "1" STOPPED "100000", SLICE "2" STOPPED "500000", SLICE "3" STOPPED "200000",
                                     SLICE "4" STOPPED "400000", SLICE "5" STOPPED "300000"}};
    const char *text = reported(&scene);
    for (int i = 1; i <= 5; i++) {
        char name[16];
        snprintf(name, sizeof(name), "pod%d: throttled", i);
        assert_int_equal(strstr(text, name) != NULL, i != 1);
    }
}

// Stalls on CPU while CPUs are idle: no guess if the cause is known.
static void pressure_is_explained(void **state) {
    (void)state;
    struct scene scene = {.pressure = 80, .tasks = {"pid=12|comm=burn|cpu_pct=90"}};
    assert_string_equal(reported(&scene),
                        "warning cpu_pressure tasks: burn (pid 12) uses 90 % of one CPU: tasks stalled "
                        "on CPU 80 % of the time with only 1.0 of 2 CPUs busy (pinned tasks?)\n");
    scene.no_limits = true;
    assert_non_null(strstr(reported(&scene), "(pinned tasks or a CPU limit?)"));
    scene.no_limits = false;
    scene.limits[0] = "cgroup=/a|cpu_limit_pct=20|throttled_pct=40|throttled_us_per_s=200000|processes=1|pid=9";
    assert_non_null(strstr(reported(&scene), "cpu_pressure"));
    scene.limits[0] = "cgroup=/a" HELD "|processes=1|pid=9";
    assert_null(strstr(reported(&scene), "cpu_pressure"));
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_process), cmocka_unit_test(several_processes),
                                       cmocka_unit_test(no_harm), cmocka_unit_test(many_groups),
                                       cmocka_unit_test(pressure_is_explained)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
