// Findings about memory: the killed task, and whether the machine or a cgroup was short of memory.
#include "tests/unit/forge.h"

#include <math.h>

#include "model/findings.h"

static const struct column memory_columns[] = {{.name = "allocation_stalls_per_s"},
                                               {.name = "kswapd_scans_per_s"},
                                               {.name = "total_kib"},
                                               {.name = "available_kib"}};
static const struct table_def memory_def = {
    .name = "memory", .help = "", .columns = memory_columns, .n_columns = 4, .n_keys = 0};
static const struct column task_columns[] = {
    {.name = "pid"},       {.name = "comm", .type = COLUMN_TEXT},  {.name = "state", .type = COLUMN_TEXT},
    {.name = "rss_kib"},   {.name = "major_faults_per_s"},         {.name = "ended_s"},
    {.name = "exit_code"}, {.name = "cgroup", .type = COLUMN_TEXT}};
static const struct table_def tasks_def = {
    .name = "tasks", .help = "", .columns = task_columns, .n_columns = 8, .n_keys = 1};

static const struct column storm_columns[] = {{.name = "what", .type = COLUMN_TEXT},
                                              {.name = "pid"},
                                              {.name = "comm", .type = COLUMN_TEXT},
                                              {.name = "detail", .type = COLUMN_TEXT},
                                              {.name = "error", .type = COLUMN_TEXT},
                                              {.name = "per_s"},
                                              {.name = "all_per_s"}};
static const struct table_def storms_def = {
    .name = "storms", .help = "", .columns = storm_columns, .n_columns = 7, .n_keys = 4};

struct moment {
    double kills, some, full;
    const char *memory, *tasks[8], *storm;
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
    if (moment->storm)
        section_table(section, forge_table(&storms_def, (const char *const[]){moment->storm, NULL}));
    struct frame *frame = forge_frame(number);
    frame_add_section(frame, section, 0);
    return frame;
}

// The single finding in the second of two frames: "culprit: evidence", or "".
static const char *reported(const struct moment *before, const struct moment *now) {
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

static void killed_task_is_named(void **state) {
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
    assert_string_equal(reported(&before, &now), "7 worker: the OOM killer killed worker (pid 7), RSS 200M: a cgroup "
                                                 "reached its memory limit (the machine has free memory)");
    // Its group is said, as it was before; the one at the root has no limit of its own.
    before.tasks[1] = "pid=7|comm=worker|rss_kib=204800|cgroup=/shop/db";
    assert_string_equal(reported(&before, &now), "7 worker: the OOM killer killed worker (pid 7), RSS 200M: cgroup "
                                                 "/shop/db reached a memory limit (the machine has free memory)");
    before.tasks[1] = "pid=7|comm=worker|rss_kib=204800|cgroup=/";
    assert_non_null(strstr(reported(&before, &now), "RSS 200M: a cgroup reached its memory limit"));
    // When the machine is short, its group is not what ran out.
    before.tasks[1] = "pid=7|comm=worker|rss_kib=204800|cgroup=/shop/db";
    now.memory = SHORT;
    assert_string_equal(reported(&before, &now),
                        "7 worker: the OOM killer killed worker (pid 7), RSS 200M: out of memory");
    now.kills = 3;
    now.memory = SHORT;
    assert_string_equal(reported(&before, &now),
                        "7 worker: the OOM killer killed worker (pid 7), RSS 200M, and 2 more: out of memory");
}

// The task with most memory of the machine has no part in the limit of a cgroup.
static void killed_task_unknown(void **state) {
    (void)state;
    struct moment before = {.memory = PLENTY, .tasks = {DATABASE}};
    struct moment now = {.kills = 1, .memory = PLENTY, .tasks = {DATABASE}};
    assert_string_equal(reported(&before, &now),
                        "nan -: a cgroup reached its memory limit (the machine has free memory); "
                        "the OOM killer killed 1 process (see dmesg)");
    // The machine was short of memory, or that is unknown.
    const char *machine =
        "20 mysqld: mysqld (pid 20) uses most memory, 5.1G: out of memory; the OOM killer killed 1 process (see dmesg)";
    before.memory = SHORT;
    assert_string_equal(reported(&before, &now), machine);
    before.memory = PLENTY;
    now.memory = SHORT;
    assert_string_equal(reported(&before, &now), machine);
    now.memory = NULL;
    assert_string_equal(reported(&before, &now), machine);
    // The last reclaim was some frames ago, and little was left since.
    now.memory = PLENTY "|total_kib=1000000|available_kib=900000";
    before.memory = PLENTY "|total_kib=1000000|available_kib=9000";
    assert_string_equal(reported(&before, &now), machine);
    // It still frees its memory, or is gone without an exit code.
    const char *dying =
        "7 worker: worker (pid 7) released 200M: out of memory; the OOM killer killed 1 process (see dmesg)";
    before.tasks[1] = "pid=7|comm=worker|rss_kib=204800";
    before.tasks[2] = "pid=8|comm=sh|rss_kib=900";
    now.tasks[1] = "pid=7|comm=worker|rss_kib=100000";
    assert_string_equal(reported(&before, &now), dying);
    now.tasks[1] = NULL;
    assert_string_equal(reported(&before, &now), dying);
    now.tasks[3] = "pid=9|comm=brief|state=X|rss_kib=0|ended_s=1|exit_code=9"; // began and was killed meanwhile
    assert_string_equal(reported(&before, &now), dying);
    now.tasks[3] = NULL;
    // It ended by itself, or holds most of what it held.
    now.tasks[1] = "pid=7|comm=worker|state=X|rss_kib=0|ended_s=1|exit_code=256";
    now.tasks[2] = "pid=8|comm=sh|rss_kib=900";
    assert_string_equal(reported(&before, &now), machine);
    now.tasks[1] = "pid=7|comm=worker|rss_kib=110000";
    assert_string_equal(reported(&before, &now), machine);
    // At a cgroup's limit, a task that freed memory elsewhere is no culprit.
    now.tasks[1] = NULL;
    now.memory = before.memory = PLENTY;
    assert_non_null(strstr(reported(&before, &now), "nan -: a cgroup reached"));
}

// The kernel counts a kill before its task ends, and the count and the tasks are not read at one moment.
static void end_in_another_frame_than_the_count(void **state) {
    (void)state;
    struct moment alive = {
        .memory = PLENTY,
        .tasks = {DATABASE, "pid=7|comm=worker|rss_kib=204800|cgroup=/shop/db", "pid=8|comm=sh|rss_kib=900"}};
    struct moment ended = {.memory = PLENTY,
                           .tasks = {DATABASE,
                                     "pid=7|comm=worker|state=X|rss_kib=0|ended_s=1|exit_code=9|cgroup=/shop/db",
                                     "pid=8|comm=sh|rss_kib=900"}};
    struct moment counted = {.kills = 1, .memory = PLENTY, .tasks = {DATABASE}};
    const char *who = "7 worker: the OOM killer killed worker (pid 7): cgroup /shop/db reached a memory limit (the "
                      "machine has free memory)";
    // Before.
    assert_string_equal(reported(&ended, &counted), who);
    // After: the culprit is unknown until then.
    alive.kills = 1;
    assert_string_equal(reported(&alive, &ended), who);
    // Of several the culprit is unknown, unless their RSS is known.
    ended.tasks[2] = "pid=8|comm=sh|state=X|rss_kib=0|ended_s=1|exit_code=9";
    assert_string_equal(reported(&alive, &ended), who);
    assert_non_null(strstr(reported(&ended, &counted), "nan -: a cgroup reached"));
    alive.tasks[1] = alive.tasks[2] = NULL;
    assert_non_null(strstr(reported(&alive, &ended), "nan -: a cgroup reached"));
    // One was reported in time: a later kill is unrelated. So is a task that exited by itself.
    struct moment killed = ended;
    ended.kills = 1;
    killed.tasks[1] = "pid=9|comm=later|state=X|rss_kib=0|ended_s=2|exit_code=9";
    killed.tasks[2] = NULL;
    ended.tasks[2] = NULL;
    assert_null(strstr(reported(&ended, &killed), "later"));
    alive.tasks[1] = "pid=7|comm=worker|rss_kib=204800";
    ended.kills = 0;
    ended.tasks[1] = "pid=7|comm=worker|state=X|rss_kib=0|ended_s=1|exit_code=256";
    assert_non_null(strstr(reported(&alive, &ended), "nan -: a cgroup reached"));
}

// A killed task whose parent does not reap it: the row of a zombie, with its exit code from then on.
static void killed_and_a_zombie(void **state) {
    (void)state;
    struct moment alive = {
        .memory = PLENTY,
        .tasks = {DATABASE, "pid=7|comm=worker|state=S|rss_kib=204800|cgroup=/shop/db", "pid=8|comm=sh|rss_kib=900"}};
    struct moment zombie = {.kills = 1,
                            .memory = PLENTY,
                            .tasks = {DATABASE, "pid=7|comm=worker|state=Z|rss_kib=0|exit_code=9|cgroup=/shop/db",
                                      "pid=8|comm=sh|rss_kib=900"}};
    assert_string_equal(reported(&alive, &zombie), "7 worker: the OOM killer killed worker (pid 7), RSS 200M: cgroup "
                                                   "/shop/db reached a memory limit (the machine has free memory)");
    // The end shows a frame after the count.
    alive.kills = 1;
    zombie.kills = 0;
    assert_non_null(
        strstr(reported(&alive, &zombie), "7 worker: the OOM killer killed worker (pid 7): cgroup /shop/db"));
    // An older zombie is not what was killed now.
    struct moment later = {.kills = 1, .memory = PLENTY, .tasks = {DATABASE, zombie.tasks[1]}};
    assert_non_null(strstr(reported(&zombie, &later), "nan -: a cgroup reached"));
    later.tasks[2] = "pid=8|comm=sh|state=Z|rss_kib=0|exit_code=9";
    assert_non_null(strstr(reported(&zombie, &later), "8 sh: the OOM killer killed sh (pid 8), RSS 900K: a cgroup"));
    // A zombie that exited by itself was not killed.
    alive.kills = 0;
    zombie.kills = 1;
    zombie.tasks[1] = "pid=7|comm=worker|state=Z|rss_kib=0|exit_code=256|cgroup=/shop/db";
    assert_non_null(strstr(reported(&alive, &zombie), "nan -: a cgroup reached"));
}

static void pressure(void **state) {
    (void)state;
    struct moment now = {.some = 62, .full = 11, .memory = SHORT, .tasks = {DATABASE}};
    assert_string_equal(reported(&now, &now),
                        "20 mysqld: mysqld (pid 20) uses most memory, 5.1G: tasks stalled on memory "
                        "62 % of the time (PSI some), all tasks 11 % (PSI full)");
    now.memory = PLENTY;
    assert_string_equal(reported(&now, &now),
                        "nan -: tasks stalled on memory 62 % of the time (PSI some), all tasks 11 % (PSI full); no "
                        "machine-wide reclaim: a cgroup at its limit? (c in the tasks pane)");
    // A task with major faults is a culprit in any case.
    now.tasks[1] = "pid=7|comm=worker|major_faults_per_s=812";
    assert_non_null(strstr(reported(&now, &now), "7 worker: worker (pid 7) has 812 major faults/s: tasks stalled"));
}

// The process that reclaims is named; without another culprit it is the one.
static void reclaimer(void **state) {
    (void)state;
    struct moment now = {.some = 62,
                         .full = 11,
                         .memory = PLENTY,
                         .tasks = {DATABASE, "pid=7|comm=worker|cgroup=/shop/db"},
                         .storm = "what=limit_reclaims|pid=7|comm=worker|per_s=900|all_per_s=1000"};
    assert_string_equal(reported(&now, &now),
                        "7 worker: tasks stalled on memory 62 % of the time (PSI some), all tasks 11 % (PSI full); "
                        "worker (pid 7) reclaims memory for the limit of its cgroup /shop/db 900 times per "
                        "second");
    now.storm = "what=limit_reclaims|pid=7|comm=worker|per_s=300|all_per_s=1000"; // one of many
    assert_non_null(strstr(reported(&now, &now), "nan -: "));
    now.memory = SHORT;
    now.storm = "what=reclaims|pid=7|comm=worker|per_s=900|all_per_s=1000";
    assert_string_equal(reported(&now, &now),
                        "20 mysqld: mysqld (pid 20) uses most memory, 5.1G: tasks stalled on memory 62 % of the time "
                        "(PSI some), all tasks 11 % (PSI full); worker (pid 7) waits for direct reclaim 900 times per "
                        "second");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(killed_task_is_named),
        cmocka_unit_test(killed_task_unknown),
        cmocka_unit_test(end_in_another_frame_than_the_count),
        cmocka_unit_test(killed_and_a_zombie),
        cmocka_unit_test(pressure),
        cmocka_unit_test(reclaimer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
