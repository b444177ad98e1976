// Findings about hangs and their culprits: I/O in flight, a slow disk without a waiting task,
// tasks stuck in D, tasks that live for a moment, and real-time hogs.
#include "tests/unit/forge.h"

#include <math.h>

#include "model/findings.h"

static const struct column device_columns[] = {{.name = "device", .type = COLUMN_TEXT},
                                               {.name = "reads_per_s"},
                                               {.name = "writes_per_s"},
                                               {.name = "flushes_per_s"},
                                               {.name = "in_flight"},
                                               {.name = "util_pct"},
                                               {.name = "read_wait_us"},
                                               {.name = "write_wait_us"}};
static const struct table_def devices_def = {
    .name = "devices", .help = "", .columns = device_columns, .n_columns = 8, .n_keys = 1};
static const struct column block_columns[] = {{.name = "device", .type = COLUMN_TEXT},
                                              {.name = "oldest_us"},
                                              {.name = "oldest_pid", .unit = UNIT_ID},
                                              {.name = "oldest_comm", .type = COLUMN_TEXT}};
static const struct table_def block_def = {
    .name = "block_devices", .help = "", .columns = block_columns, .n_columns = 4, .n_keys = 1};
static const struct column by_process_columns[] = {{.name = "pid"},
                                                   {.name = "comm", .type = COLUMN_TEXT},
                                                   {.name = "device", .type = COLUMN_TEXT},
                                                   {.name = "ios_per_s"},
                                                   {.name = "bytes_per_s"}};
static const struct table_def by_process_def = {
    .name = "by_process", .help = "", .columns = by_process_columns, .n_columns = 5, .n_keys = 3};
static const struct column task_columns[] = {{.name = "pid"},
                                             {.name = "tid"},
                                             {.name = "comm", .type = COLUMN_TEXT},
                                             {.name = "state", .type = COLUMN_TEXT},
                                             {.name = "cpu_pct"},
                                             {.name = "system_pct"},
                                             {.name = "context_switches_per_s"},
                                             {.name = "read_bytes_per_s"},
                                             {.name = "priority"},
                                             {.name = "started_s"},
                                             {.name = "ended_s"},
                                             {.name = "ppid"}};
static const struct table_def tasks_def = {
    .name = "tasks", .help = "", .columns = task_columns, .n_columns = 12, .n_keys = 2};
static const struct column stuck_columns[] = {{.name = "pid"},
                                              {.name = "tid"},
                                              {.name = "state", .type = COLUMN_TEXT},
                                              {.name = "waits_for", .type = COLUMN_TEXT},
                                              {.name = "blocked_in", .type = COLUMN_TEXT}};
static const struct table_def stuck_def = {
    .name = "sched_stuck", .help = "", .columns = stuck_columns, .n_columns = 5, .n_keys = 2};

static const struct column flight_columns[] = {
    {.name = "device", .type = COLUMN_TEXT}, {.name = "op", .type = COLUMN_TEXT}, {.name = "age_us"}};
static const struct table_def flight_def = {
    .name = "io_in_flight", .help = "", .columns = flight_columns, .n_columns = 3, .n_keys = 1};

struct scene {
    const char *series; // "io_some_pct=80 cpus_online=2"
    const char *devices[4], *blocks[4], *by_process[4], *tasks[8], *stuck[4], *flight[4];
    bool no_accounts; // no table by_process at all
};

static void add_series(struct section *section, const char *values) {
    static struct series_def defs[16]; // by name, for as long as the program runs
    static size_t n_defs;
    char *copy = strdup(values ? values : ""), *save;
    for (char *field = strtok_r(copy, " ", &save); field; field = strtok_r(NULL, " ", &save)) {
        char *value = strchr(field, '=');
        size_t i = 0;
        *value++ = '\0';
        while (i < n_defs && strcmp(defs[i].name, field) != 0)
            i++;
        if (i == n_defs)
            defs[n_defs++].name = strdup(field);
        section_series(section, &defs[i], atof(value));
    }
    free(copy);
}

static struct findings *memory; // of one test
static uint64_t now;
static char culprit[64]; // "PID COMM DEVICE" of the last finding that was written

// One more frame: "severity kind: evidence" a line.
static const char *step(const struct scene *scene) {
    static char out[2048];
    size_t cursor = 0, used = 0;
    struct section *section = forge_section("system", ++now);
    add_series(section, scene->series);
    section_table(section, forge_table(&devices_def, scene->devices));
    if (scene->blocks[0])
        section_table(section, forge_table(&block_def, scene->blocks));
    if (!scene->no_accounts)
        section_table(section, forge_table(&by_process_def, scene->by_process));
    section_table(section, forge_table(&tasks_def, scene->tasks));
    section_table(section, forge_table(&stuck_def, scene->stuck));
    section_table(section, forge_table(&flight_def, scene->flight));
    struct frame *frame = forge_frame(now);
    frame_add_section(frame, section, 0);
    struct section *result = findings_section(memory, frame, NULL);
    out[0] = culprit[0] = '\0';
    for (const union cell *row; (row = table_next(section_find_table(result, "findings"), &cursor));) {
        const struct text *comm = row[table_column(&findings_table, "culprit_comm")].text,
                          *device = row[table_column(&findings_table, "culprit_device")].text;
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s %s: %s\n",
                                 text_bytes(row[table_column(&findings_table, "severity")].text),
                                 text_bytes(row[table_column(&findings_table, "kind")].text),
                                 text_bytes(row[table_column(&findings_table, "evidence")].text));
        snprintf(culprit, sizeof(culprit), "%.0f %s %s", row[table_column(&findings_table, "culprit_pid")].num,
                 comm ? text_bytes(comm) : "-", device ? text_bytes(device) : "-");
    }
    section_unref(result);
    frame_unref(frame);
    return out;
}

// n equal frames; the findings in the last one.
static const char *steps(const struct scene *scene, int n) {
    while (--n > 0)
        step(scene);
    return step(scene);
}

static int begin(void **state) {
    (void)state;
    memory = findings_new();
    now = 0;
    return 0;
}

static int end(void **state) {
    (void)state;
    findings_free(memory);
    return 0;
}

#define HUNG "device=loop2|reads_per_s=0|writes_per_s=0|flushes_per_s=0|in_flight=2|util_pct=100"
#define MAKE "pid=40|tid=40|comm=make|state=S|cpu_pct=2|context_switches_per_s=90|read_bytes_per_s=9e6"

static void hung_disk_names_who_waits(void **state) {
    (void)state;
    struct scene scene = {.series = "io_some_pct=80 io_full_pct=70",
                          .devices = {HUNG},
                          .by_process = {"pid=40|comm=make|device=vda|ios_per_s=90|bytes_per_s=9e6"},
                          .tasks = {MAKE}};
    scene.blocks[0] = "device=loop2|oldest_us=1500000|oldest_pid=77|oldest_comm=dd";
    assert_string_equal(
        steps(&scene, 2),
        "warning disk_hung: loop2: an I/O by dd (pid 77) in flight for 1.5 s; no completion for 1.5 s\n");
    assert_string_equal(culprit, "77 dd loop2");
    scene.blocks[0] = "device=loop2|oldest_us=5200000|oldest_pid=77|oldest_comm=dd";
    assert_string_equal(
        steps(&scene, 3),
        "critical disk_hung: loop2: an I/O by dd (pid 77) in flight for 5.2 s; no completion for 5.0 s\n");
    // Its submitter has not been seen.
    scene.blocks[0] = "device=loop2|oldest_us=6200000";
    assert_string_equal(step(&scene),
                        "critical disk_hung: loop2: an I/O in flight for 6.2 s; no completion for 6.0 s\n");
    assert_string_equal(culprit, "nan - loop2");
}

// What it is, as far as it is known; and a discard takes its time.
static void kinds_of_io(void **state) {
    (void)state;
    struct scene scene = {
        .devices = {HUNG},
        .blocks = {"device=loop2|oldest_us=7000000|oldest_pid=77|oldest_comm=mkfs"},
        .flight = {"device=sda|op=W|age_us=9000000", "device=loop2|op=R|age_us=200000",
                   "device=loop2|op=D|age_us=7000000", "device=loop2|op=W|age_us=300000"},
    };
    assert_string_equal(steps(&scene, 8), "");
    scene.blocks[0] = "device=loop2|oldest_us=11000000|oldest_pid=77|oldest_comm=mkfs";
    assert_string_equal(
        steps(&scene, 3),
        "warning disk_hung: loop2: a discard by mkfs (pid 77) in flight for 11.0 s; no completion for 11.0 s\n");
    scene.flight[2] = "device=loop2|op=FW|age_us=7000000";
    assert_string_equal(
        step(&scene),
        "critical disk_hung: loop2: a flush by mkfs (pid 77) in flight for 11.0 s; no completion for 11.0 s\n");
}

static void hung_disk_without_ages_names_nobody(void **state) {
    (void)state;
    struct scene scene = {.series = "io_some_pct=80 io_full_pct=70",
                          .devices = {HUNG},
                          .by_process = {"pid=40|comm=make|device=vda|ios_per_s=90|bytes_per_s=9e6"},
                          .tasks = {MAKE}};
    assert_string_equal(step(&scene), "");
    assert_string_equal(steps(&scene, 2),
                        "warning disk_hung: loop2: 2 I/Os in flight, no completion for 3.0 s; submitter unknown\n");
    assert_string_equal(culprit, "nan - loop2");
    assert_string_equal(steps(&scene, 2),
                        "critical disk_hung: loop2: 2 I/Os in flight, no completion for 5.0 s; submitter unknown\n");
    // One ends: the disk is slow, it does not hang; and the count begins anew.
    scene.devices[0] = "device=loop2|reads_per_s=1|writes_per_s=0|in_flight=2|util_pct=100";
    assert_non_null(strstr(steps(&scene, 5), "disk_saturated"));
    assert_null(strstr(step(&scene), "disk_hung"));
    scene.devices[0] = HUNG;
    assert_null(strstr(step(&scene), "disk_hung"));
}

static void one_io_that_others_pass(void **state) {
    (void)state;
    struct scene scene = {.devices = {"device=sda|reads_per_s=300|writes_per_s=0|in_flight=2|util_pct=60"},
                          .blocks = {"device=sda|oldest_us=4000000|oldest_pid=77|oldest_comm=dd"}};
    assert_string_equal(steps(&scene, 3), "");
    scene.blocks[0] = "device=sda|oldest_us=31000000|oldest_pid=77|oldest_comm=dd";
    assert_string_equal(
        steps(&scene, 2),
        "critical disk_hung: sda: an I/O by dd (pid 77) in flight for 31.0 s while 300 others/s complete\n");
    // In flight since before ktop started: the submitter is unknown.
    scene = (struct scene){.devices = {"device=sda|reads_per_s=0|writes_per_s=0|in_flight=2|util_pct=100"},
                           .blocks = {"device=sda|oldest_us=0"}};
    assert_non_null(strstr(steps(&scene, 9), "sda: 2 I/Os in flight, no completion for"));
    // A flush ends: nothing hangs. Idle: in flight is none.
    scene = (struct scene){.devices = {"device=sda|reads_per_s=0|writes_per_s=0|flushes_per_s=1|in_flight=1",
                                       "device=sdb|reads_per_s=0|writes_per_s=0|in_flight=0"}};
    assert_string_equal(steps(&scene, 9), "");
}

// A file system's journal waits for the flush before its write: the kernel counts it nowhere.
static void a_flush_that_does_not_end(void **state) {
    (void)state;
    struct scene scene = {.series = "io_some_pct=100 io_full_pct=90",
                          .devices = {"device=sda|reads_per_s=0|writes_per_s=0|in_flight=0|util_pct=100"},
                          .blocks = {"device=sda|oldest_us=900e3|oldest_pid=49|oldest_comm=jbd2/sda1-8"},
                          .flight = {"device=sda|op=W|age_us=900e3"}};
    step(&scene);
    scene.blocks[0] = "device=sda|oldest_us=1900e3|oldest_pid=49|oldest_comm=jbd2/sda1-8";
    scene.flight[0] = "device=sda|op=W|age_us=1900e3";
    step(&scene);
    scene.blocks[0] = "device=sda|oldest_us=2900e3|oldest_pid=49|oldest_comm=jbd2/sda1-8";
    scene.flight[0] = "device=sda|op=W|age_us=2900e3";
    assert_string_equal(
        step(&scene),
        "warning disk_hung: sda: a write by jbd2/sda1-8 (pid 49) in flight for 2.9 s; no completion for 2.9 s\n");
}

// What other devices' I/O is made by is no answer; only where the disks have no account at all the tasks' own is.
static void no_culprit_rather_than_a_wrong_one(void **state) {
    (void)state;
    struct scene scene = {.series = "io_some_pct=50",
                          .devices = {"device=loop2|reads_per_s=1|writes_per_s=0|in_flight=1|util_pct=100"},
                          .tasks = {MAKE}};
    assert_string_equal(steps(&scene, 2), "warning disk_saturated: loop2 is 100 % busy with 1.0 reads/s and 0 "
                                          "writes/s, 1 in flight; tasks stalled on I/O 50 % of the time (PSI some)\n");
    assert_string_equal(culprit, "nan - loop2");
    scene.by_process[0] = "pid=40|comm=make|device=vda|ios_per_s=90|bytes_per_s=9e6";
    step(&scene);
    assert_string_equal(culprit, "nan - loop2");
    scene.no_accounts = true;
    assert_non_null(strstr(step(&scene), "make (pid 40) does most of the I/O: loop2 is "));
}

static void slow_disk_that_no_task_waits_for(void **state) {
    (void)state;
    struct scene scene = {
        .series = "io_some_pct=0.5 io_full_pct=0",
        .devices = {"device=loop2|reads_per_s=49|writes_per_s=0|in_flight=4|util_pct=100|read_wait_us=80400",
                    "device=nvme0n1|reads_per_s=90000|writes_per_s=9|in_flight=32|util_pct=100|read_wait_us=300|write_"
                    "wait_us=20"},
        .by_process = {"pid=51|comm=fio|device=loop2|ios_per_s=49|bytes_per_s=2e5"}};
    assert_string_equal(steps(&scene, 2), "warning disk_saturated: fio (pid 51) does most of the I/O: loop2 is 100 % "
                                          "busy with 49 reads/s and 0 writes/s, 4 in flight, average latency 80.4ms\n");
    assert_string_equal(culprit, "51 fio loop2");
    // Reads and writes count by their numbers; one slow write among many reads is no queue.
    scene.devices[0] =
        "device=sda|reads_per_s=50|writes_per_s=50|in_flight=4|util_pct=96|read_wait_us=5000|write_wait_us=41000";
    assert_non_null(strstr(steps(&scene, 5), "info disk_saturated: sda is 96 % busy with 50 reads/s and 50 writes/s, 4 "
                                             "in flight, average latency 23.0ms\n"));
    scene.devices[0] =
        "device=sda|reads_per_s=99|writes_per_s=1|in_flight=4|util_pct=96|read_wait_us=5000|write_wait_us=41000";
    assert_string_equal(steps(&scene, 5), "");
    scene.devices[0] =
        "device=sda|reads_per_s=9|writes_per_s=1|in_flight=4|util_pct=60|read_wait_us=50000|write_wait_us=50000";
    assert_string_equal(steps(&scene, 5), "");
}

#define DD "pid=30|tid=30|comm=dd|state=D|cpu_pct=0|context_switches_per_s=0"

static void stuck_task(void **state) {
    (void)state;
    struct scene scene = {.series = "tasks_uninterruptible=1", .tasks = {DD, MAKE}};
    assert_string_equal(steps(&scene, 9), "");
    assert_string_equal(steps(&scene, 2),
                        "warning stuck_task: dd (pid 30) is uninterruptible (state D) for 11 s without running\n");
    assert_string_equal(culprit, "30 dd -");
    scene.stuck[0] = "pid=30|tid=30|state=waiting|waits_for=burner (7) has CPU 0, 2 want it"; // another wait
    scene.stuck[1] = "pid=30|tid=30|state=D|waits_for=/mnt/slow (loop2)|blocked_in=folio_wait_bit";
    scene.tasks[1] = "pid=31|tid=31|comm=cp|state=D|context_switches_per_s=0";
    assert_string_equal(step(&scene), "warning stuck_task: dd (pid 30) is uninterruptible (state D) for 12 s without "
                                      "running, waiting for /mnt/slow (loop2), in folio_wait_bit\n");
    assert_non_null(
        strstr(steps(&scene, 9),
               "21 s without running, waiting for /mnt/slow (loop2), in folio_wait_bit; 1 more for over 10 s\n"));
    assert_non_null(strstr(steps(&scene, 99), "critical stuck_task: dd (pid 30)"));
    // It ran in between: not one wait. And what is not known to have waited is not reported.
    scene.tasks[0] = "pid=30|tid=30|comm=dd|state=D|context_switches_per_s=3";
    scene.tasks[1] = "pid=31|tid=31|comm=cp|state=D";
    assert_string_equal(steps(&scene, 30), "");
}

// The first row of the table need not be the longest wait.
static void the_longest_blocked_is_named(void **state) {
    (void)state;
    struct scene scene = {.series = "tasks_uninterruptible=6",
                          .tasks = {"pid=7|tid=7|comm=cp|state=S|context_switches_per_s=0", DD}};
    assert_string_equal(
        steps(&scene, 2),
        "warning blocked_tasks: dd (pid 30) (longest, 2 s) and 5 more tasks are uninterruptible (state D)\n");
    scene.tasks[0] = "pid=7|tid=7|comm=cp|state=D|context_switches_per_s=0";
    assert_string_equal(
        steps(&scene, 3),
        "warning blocked_tasks: dd (pid 30) (longest, 5 s) and 5 more tasks are uninterruptible (state D)\n");
    assert_string_equal(culprit, "30 dd -");
    // It ran, so its wait began anew.
    scene.tasks[1] = "pid=30|tid=30|comm=dd|state=D|context_switches_per_s=3";
    assert_non_null(strstr(step(&scene), "cp (pid 7) (longest, 4 s) and 5 more tasks"));
    // All waits are new.
    scene.tasks[0] = "pid=7|tid=7|comm=cp|state=D|context_switches_per_s=3";
    assert_non_null(strstr(step(&scene), "cp (pid 7) and 5 more tasks are uninterruptible"));
}

static void a_hang_is_reported_once(void **state) {
    (void)state;
    struct scene scene = {.series = "tasks_uninterruptible=1",
                          .devices = {HUNG},
                          .blocks = {"device=loop2|oldest_us=30000000|oldest_pid=30|oldest_comm=dd"},
                          .tasks = {DD}};
    const char *text = steps(&scene, 20);
    assert_non_null(strstr(text, "disk_hung: loop2: an I/O by dd (pid 30)"));
    assert_null(strstr(text, "stuck_task"));
}

// Forged frames end at 2026-01-31 12:00:00 and their number of seconds.
#define OLD "|started_s=1769860000"
#define FRESH "|started_s=1769860801"
#define BUSY "cpus_online=2 cpu_idle_pct=0 cpu_iowait_pct=0 procs_running=6 cpu_some_pct=30"

static void short_lived_tasks_have_no_pid(void **state) {
    (void)state;
    struct scene scene = {.series = BUSY,
                          .tasks = {"pid=11592|tid=11592|comm=exp4|state=R|cpu_pct=90" FRESH,
                                    "pid=11593|tid=11593|comm=exp4|state=X|cpu_pct=80|ended_s=1769860801" FRESH}};
    assert_string_equal(steps(&scene, 2),
                        "warning cpu_saturated: 2 short-lived tasks named exp4 use 170 % of one CPU: 2.0 of 2 CPUs "
                        "busy and 4 tasks waiting; tasks stalled on CPU 30 % of the time (PSI some)\n");
    assert_string_equal(culprit, "nan exp4 -");
    // One that has ended is there in no later frame.
    scene.tasks[0] = NULL;
    scene.tasks[0] = "pid=11593|tid=11593|comm=exp4|state=X|cpu_pct=80|ended_s=1769860801" OLD;
    scene.tasks[1] = NULL;
    assert_non_null(strstr(step(&scene), "exp4 uses 80 % of one CPU and has exited: 2.0"));
    assert_string_equal(culprit, "nan exp4 -");
    // Others that start one after the other; not workers that start together.
    scene.tasks[0] = "pid=12|tid=12|comm=cc1|state=R|cpu_pct=90|started_s=1769860801";
    scene.tasks[1] = "pid=13|tid=13|comm=cc1|state=R|cpu_pct=80|started_s=1769860797";
    assert_non_null(strstr(step(&scene), "2 short-lived tasks named cc1"));
    scene.tasks[0] = "pid=12|tid=12|comm=work|state=R|cpu_pct=90|started_s=1769860801";
    scene.tasks[1] = "pid=13|tid=13|comm=work|state=R|cpu_pct=80|started_s=1769860800";
    assert_non_null(strstr(step(&scene), "2 tasks named work use 170 % of one CPU, pid 12 the most: 2.0"));
    assert_string_equal(culprit, "12 work -");
    // Those that have been there for a while keep theirs, and so does one that is new and alone.
    scene.tasks[0] = "pid=12|tid=12|comm=burn|state=R|cpu_pct=90" OLD;
    scene.tasks[1] = "pid=13|tid=13|comm=burn|state=R|cpu_pct=80" OLD;
    assert_non_null(strstr(step(&scene), "2 tasks named burn use 170 % of one CPU, pid 12 the most: 2.0"));
    assert_string_equal(culprit, "12 burn -");
    scene.tasks[0] = "pid=14|tid=14|comm=burn|state=R|cpu_pct=90" FRESH;
    scene.tasks[1] = NULL;
    assert_non_null(strstr(step(&scene), "burn (pid 14) uses 90 % of one CPU: 2.0"));
    assert_string_equal(culprit, "14 burn -");
}

// On a busy machine it is the parent that can be stopped.
static void short_lived_tasks_of_one(void **state) {
    (void)state;
    struct scene scene = {.series = BUSY,
                          .tasks = {"pid=20|tid=20|ppid=1|comm=sh|state=S|cpu_pct=3" OLD,
                                    "pid=21|tid=21|ppid=20|comm=ps|state=X|cpu_pct=70|ended_s=1769860801" FRESH,
                                    "pid=22|tid=22|ppid=20|comm=ps|state=X|cpu_pct=75|ended_s=1769860801" FRESH,
                                    "pid=23|tid=23|ppid=20|comm=ps|state=R|cpu_pct=30" FRESH}};
    assert_string_equal(steps(&scene, 2),
                        "warning cpu_saturated: 3 short-lived tasks named ps use 175 % of one CPU, started by sh (pid "
                        "20): 2.0 of 2 CPUs busy and 4 tasks waiting; tasks stalled on CPU 30 % of the time (PSI "
                        "some)\n");
    assert_string_equal(culprit, "20 sh -");
}

static void programs_in_a_loop(void **state) {
    (void)state;
    struct scene scene = {.series = "cpus_online=2 cpu_idle_pct=50 cpu_iowait_pct=0 procs_running=1 cpu_some_pct=5",
                          .tasks = {"pid=20|tid=20|ppid=1|comm=sh|state=S|cpu_pct=3" OLD,
                                    "pid=21|tid=21|ppid=20|comm=ps|state=X|cpu_pct=40|ended_s=1769860801" FRESH,
                                    "pid=22|tid=22|ppid=20|comm=ps|state=X|cpu_pct=45|ended_s=1769860801" FRESH,
                                    "pid=23|tid=23|ppid=9|comm=ls|state=X|cpu_pct=5|ended_s=1769860801" FRESH}};
    assert_string_equal(steps(&scene, 2), "info runaway_task: sh (pid 20) starts ps again and again: those that ended "
                                          "in this interval, 2, used 85 % of one CPU\n");
    assert_string_equal(culprit, "20 sh -");
    scene.tasks[2] = "pid=22|tid=22|ppid=9|comm=ps|state=X|cpu_pct=45|ended_s=1769860801" FRESH; // of another parent
    assert_string_equal(steps(&scene, 5), "");
}

static void real_time_hog(void **state) {
    (void)state;
    struct scene scene = {.series = "cpus_online=2 cpu_idle_pct=52 cpu_iowait_pct=0 procs_running=3 cpu_some_pct=1",
                          .tasks = {"pid=66|tid=66|comm=hog|state=R|cpu_pct=94.8|priority=-51" OLD}};
    assert_string_equal(
        steps(&scene, 2),
        "warning runaway_task: hog (pid 66) uses 95 % of one CPU, at real-time priority 50 (SCHED_FIFO or SCHED_RR)\n");
    scene.tasks[0] = "pid=66|tid=66|comm=hog|state=R|cpu_pct=94.8|priority=20" OLD;
    assert_string_equal(steps(&scene, 5), "");
    scene.series = "cpus_online=2 cpu_idle_pct=52 cpu_iowait_pct=0 procs_running=3 cpu_some_pct=90";
    scene.tasks[0] = "pid=66|tid=66|comm=hog|state=R|cpu_pct=89|priority=-101" OLD;
    assert_string_equal(
        steps(&scene, 2),
        "warning cpu_pressure: hog (pid 66) uses 89 % of one CPU, as a SCHED_DEADLINE task: tasks stalled on CPU 90 % "
        "of the time with only 1.0 of 2 CPUs busy (a real-time task starves the others on its CPU)\n");
}

// A real-time task that takes a CPU is reported once, also behind many tasks that use more.
static void real_time_hog_in_a_crowd(void **state) {
    (void)state;
    struct scene scene = {.series = "cpus_online=2 cpu_idle_pct=0 cpu_iowait_pct=0 procs_running=3 cpu_some_pct=62",
                          .tasks = {"pid=66|tid=66|comm=hog|state=R|cpu_pct=94.8|priority=-51" OLD,
                                    "pid=70|tid=70|comm=cc|state=R|cpu_pct=52|priority=20" OLD,
                                    "pid=71|tid=71|comm=cc|state=R|cpu_pct=50|priority=20" OLD}};
    const char *text = steps(&scene, 2);
    assert_non_null(strstr(text, "cpu_saturated: 2 tasks named cc use 102 % of one CPU"));
    assert_non_null(strstr(text, "warning runaway_task: hog (pid 66) uses 95 % of one CPU, at real-time priority 50"));
    scene.tasks[2] = NULL;
    text = steps(&scene, 5);
    assert_non_null(strstr(text, "cpu_saturated: hog (pid 66) uses 95 % of one CPU, at real-time priority 50"));
    assert_null(strstr(text, "runaway_task"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(hung_disk_names_who_waits),
        TEST(hung_disk_without_ages_names_nobody),
        TEST(one_io_that_others_pass),
        TEST(a_flush_that_does_not_end),
        TEST(no_culprit_rather_than_a_wrong_one),
        TEST(slow_disk_that_no_task_waits_for),
        TEST(stuck_task),
        TEST(kinds_of_io),
        TEST(the_longest_blocked_is_named),
        TEST(a_hang_is_reported_once),
        TEST(short_lived_tasks_have_no_pid),
        TEST(short_lived_tasks_of_one),
        TEST(programs_in_a_loop),
        TEST(real_time_hog),
        TEST(real_time_hog_in_a_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
