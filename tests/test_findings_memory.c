// The findings about memory that ran out: who was killed, and whether it was the machine or a control group that had
// too little.
#include "tests/forge.h"

#include <math.h>

#include "model/findings.h"

static const struct column memory_columns[] = {{.name = "allocation_stalls_per_s"},
                                               {.name = "kswapd_scans_per_s"},
                                               {.name = "total_kib"},
                                               {.name = "available_kib"}};
static const struct table_def memory_def = {"memory", "", memory_columns, 4, 0, NULL};
static const struct column task_columns[] = {
    {.name = "pid"},       {.name = "comm", .type = COLUMN_TEXT},  {.name = "state", .type = COLUMN_TEXT},
    {.name = "rss_kib"},   {.name = "major_faults_per_s"},         {.name = "ended_s"},
    {.name = "exit_code"}, {.name = "cgroup", .type = COLUMN_TEXT}};
static const struct table_def tasks_def = {"tasks", "", task_columns, 8, 1, NULL};

struct moment {
    double kills, some, full;
    const char *memory, *tasks[8];
};

static struct frame *make(uint64_t number, const struct moment *moment) {
    static const struct series_def defs[] = {
        {.name = "oom_kills_per_s"}, {.name = "memory_some_pct"}, {.name = "memory_full_pct"}};
    struct section *section = forge_section("system", number);
    section_series(section, &defs[0], moment->kills);
    section_series(section, &defs[1], moment->some);
    section_series(section, &defs[2], moment->full);
    if (moment->memory)
        section_table(section, forge_table(&memory_def, (const char *const[]){moment->memory, NULL}));
    section_table(section, forge_table(&tasks_def, moment->tasks));
    struct frame *frame = forge_frame(number);
    frame_add_section(frame, section, 0);
    return frame;
}

// What is told of the second of two frames: "culprit: evidence" of the one finding, "" for none.
static const char *told(const struct moment *before, const struct moment *now) {
    static char out[640];
    struct findings *findings = findings_new();
    struct frame *frames[] = {make(1, before), make(2, now)};
    struct section *section = NULL;
    for (int i = 0; i < 2; i++) {
        section_unref(section);
        section = findings_section(findings, frames[i], i ? frames[0] : NULL);
    }
    const struct table *table = section_find_table(section, "findings");
    size_t cursor = 0;
    const union cell *row = table_next(table, &cursor);
    out[0] = '\0';
    if (row) {
        const struct text *comm = row[table_column(&findings_table, "culprit_comm")].text;
        snprintf(out, sizeof(out), "%.0f %s: %s", row[table_column(&findings_table, "culprit_pid")].num,
                 comm ? text_bytes(comm) : "-", text_bytes(row[table_column(&findings_table, "evidence")].text));
        assert_null(table_next(table, &cursor));
    }
    section_unref(section);
    frame_unref(frames[0]);
    frame_unref(frames[1]);
    findings_free(findings);
    return out;
}

#define SHORT "allocation_stalls_per_s=40|kswapd_scans_per_s=9000"
#define PLENTY "allocation_stalls_per_s=0|kswapd_scans_per_s=0"
#define DATABASE "pid=20|comm=mysqld|state=S|rss_kib=5347738"

static void who_was_killed(void **state) {
    (void)state;
    struct moment before = {.memory = PLENTY,
                            .tasks = {DATABASE, "pid=7|comm=worker|rss_kib=204800", "pid=8|comm=sh|rss_kib=900",
                                      "pid=9|comm=big|rss_kib=9999999"}};
    // One that ended by itself held more, one that was killed less.
    struct moment now = {.kills = 1,
                         .memory = PLENTY,
                         .tasks = {DATABASE, "pid=7|comm=worker|state=X|rss_kib=0|ended_s=1|exit_code=9",
                                   "pid=8|comm=sh|state=X|rss_kib=0|ended_s=1|exit_code=9",
                                   "pid=9|comm=big|state=X|rss_kib=0|ended_s=1|exit_code=256"}};
    assert_string_equal(told(&before, &now),
                        "7 worker: the kernel killed worker (pid 7), which held 200M: a control group reached its "
                        "memory limit (the machine itself has memory)");
    // Its group is said, as it was before; the one at the root has no limit of its own.
    before.tasks[1] = "pid=7|comm=worker|rss_kib=204800|cgroup=/shop/db";
    assert_string_equal(told(&before, &now),
                        "7 worker: the kernel killed worker (pid 7), which held 200M: control group /shop/db reached a "
                        "memory limit (the machine itself has memory)");
    before.tasks[1] = "pid=7|comm=worker|rss_kib=204800|cgroup=/";
    assert_non_null(strstr(told(&before, &now), "held 200M: a control group reached its memory limit"));
    // When the machine is short, its group is not what ran out.
    before.tasks[1] = "pid=7|comm=worker|rss_kib=204800|cgroup=/shop/db";
    now.memory = SHORT;
    assert_string_equal(told(&before, &now),
                        "7 worker: the kernel killed worker (pid 7), which held 200M: memory ran out");
    now.kills = 3;
    now.memory = SHORT;
    assert_string_equal(told(&before, &now), "7 worker: the kernel killed worker (pid 7), which held 200M, and 2 more: "
                                             "memory ran out");
}

// Who holds most of the machine's memory is nobody to blame for the limit of a group.
static void killed_is_not_known(void **state) {
    (void)state;
    struct moment before = {.memory = PLENTY, .tasks = {DATABASE}};
    struct moment now = {.kills = 1, .memory = PLENTY, .tasks = {DATABASE}};
    assert_string_equal(told(&before, &now), "nan -: a control group reached its memory limit (the machine itself has "
                                             "memory), the kernel killed 1 process (dmesg names it)");
    // Short a moment ago, or it is not known: the machine.
    const char *machine = "20 mysqld: mysqld (pid 20) holds most, 5.1G: memory ran out before, the kernel killed 1 "
                          "process (dmesg names it)";
    before.memory = SHORT;
    assert_string_equal(told(&before, &now), machine);
    before.memory = PLENTY;
    now.memory = SHORT;
    assert_string_equal(told(&before, &now), machine);
    now.memory = NULL;
    assert_string_equal(told(&before, &now), machine);
    // The last reclaim was some frames ago, and little was left since.
    now.memory = PLENTY "|total_kib=1000000|available_kib=900000";
    before.memory = PLENTY "|total_kib=1000000|available_kib=9000";
    assert_string_equal(told(&before, &now), machine);
    // It may still be letting go of its memory, or be gone, and nobody told how it ended.
    const char *dying = "7 worker: worker (pid 7) held 200M and no longer does: memory ran out, the kernel killed 1 "
                        "process (dmesg names it)";
    before.tasks[1] = "pid=7|comm=worker|rss_kib=204800";
    before.tasks[2] = "pid=8|comm=sh|rss_kib=900";
    now.tasks[1] = "pid=7|comm=worker|rss_kib=100000";
    assert_string_equal(told(&before, &now), dying);
    now.tasks[1] = NULL;
    assert_string_equal(told(&before, &now), dying);
    now.tasks[3] = "pid=9|comm=brief|state=X|rss_kib=0|ended_s=1|exit_code=9"; // began and was killed meanwhile
    assert_string_equal(told(&before, &now), dying);
    now.tasks[3] = NULL;
    // It ended by itself, or holds most of what it held.
    now.tasks[1] = "pid=7|comm=worker|state=X|rss_kib=0|ended_s=1|exit_code=256";
    now.tasks[2] = "pid=8|comm=sh|rss_kib=900";
    assert_string_equal(told(&before, &now), machine);
    now.tasks[1] = "pid=7|comm=worker|rss_kib=110000";
    assert_string_equal(told(&before, &now), machine);
    // What a group's limit costs is not who lost most of all the machine's.
    now.tasks[1] = NULL;
    now.memory = before.memory = PLENTY;
    assert_non_null(strstr(told(&before, &now), "nan -: a control group reached"));
}

// The kernel counts a kill before its task ends, and the count and the tasks are not read at one moment.
static void end_is_told_beside(void **state) {
    (void)state;
    struct moment alive = {
        .memory = PLENTY,
        .tasks = {DATABASE, "pid=7|comm=worker|rss_kib=204800|cgroup=/shop/db", "pid=8|comm=sh|rss_kib=900"}};
    struct moment ended = {.memory = PLENTY,
                           .tasks = {DATABASE,
                                     "pid=7|comm=worker|state=X|rss_kib=0|ended_s=1|exit_code=9|cgroup=/shop/db",
                                     "pid=8|comm=sh|rss_kib=900"}};
    struct moment counted = {.kills = 1, .memory = PLENTY, .tasks = {DATABASE}};
    const char *who = "7 worker: the kernel killed worker (pid 7): control group /shop/db reached a memory limit (the "
                      "machine itself has memory)";
    // Before.
    assert_string_equal(told(&ended, &counted), who);
    // After: until then nobody is named, then it takes the place of that.
    alive.kills = 1;
    assert_string_equal(told(&alive, &ended), who);
    // Of several nobody knows which one, unless it is known what they held.
    ended.tasks[2] = "pid=8|comm=sh|state=X|rss_kib=0|ended_s=1|exit_code=9";
    assert_string_equal(told(&alive, &ended), who);
    assert_non_null(strstr(told(&ended, &counted), "nan -: a control group reached"));
    alive.tasks[1] = alive.tasks[2] = NULL;
    assert_non_null(strstr(told(&alive, &ended), "nan -: a control group reached"));
    // One was told in time: what is killed later is another matter. So is what ended by itself.
    struct moment killed = ended;
    ended.kills = 1;
    killed.tasks[1] = "pid=9|comm=later|state=X|rss_kib=0|ended_s=2|exit_code=9";
    killed.tasks[2] = NULL;
    ended.tasks[2] = NULL;
    assert_null(strstr(told(&ended, &killed), "later"));
    alive.tasks[1] = "pid=7|comm=worker|rss_kib=204800";
    ended.kills = 0;
    ended.tasks[1] = "pid=7|comm=worker|state=X|rss_kib=0|ended_s=1|exit_code=256";
    assert_non_null(strstr(told(&alive, &ended), "nan -: a control group reached"));
}

static void pressure(void **state) {
    (void)state;
    struct moment now = {.some = 62, .full = 11, .memory = SHORT, .tasks = {DATABASE}};
    assert_string_equal(told(&now, &now), "20 mysqld: mysqld (pid 20) holds most, 5.1G: tasks waited for memory 62 % "
                                          "of the time, all of them at once 11 %");
    now.memory = PLENTY;
    assert_string_equal(told(&now, &now),
                        "nan -: tasks waited for memory 62 % of the time, all of them at once 11 %, though the machine "
                        "had to free none: a control group at its limit? (c in the pane tasks)");
    // Who waits for pages is somebody to look at in any case.
    now.tasks[1] = "pid=7|comm=worker|major_faults_per_s=812";
    assert_non_null(strstr(told(&now, &now), "7 worker: worker (pid 7) has 812 major faults/s: tasks waited"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_was_killed),
        cmocka_unit_test(killed_is_not_known),
        cmocka_unit_test(end_is_told_beside),
        cmocka_unit_test(pressure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
