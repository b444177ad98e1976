// Whom a finding names for I/O that is waited for while no disk is busy: who waits, not who does most I/O elsewhere.
#include "tests/unit/forge_machine.h"

#include "collectors/block/table.h"
#include "model/findings.h"

struct reported {
    char evidence[256], device[16];
    double pid;
};

// Of the second of two frames alike; rows: of by_process, or NULL for a machine without the disks' own account.
static struct reported told_of(const char *kind, const char *const *rows) {
    struct findings *findings = findings_new();
    struct reported reported = {.evidence = ""};
    for (uint64_t number = 1; number <= 2; number++) {
        struct frame *frame = forge_frame(number);
        struct section *system = forge_section("system", number);
        add_series(system,
                   "cpus_online=2|cpu_idle_pct=40|cpu_iowait_pct=30|io_some_pct=50|io_full_pct=43|procs_running=1|"
                   "procs_blocked=4");
        add_table(system, "devices", ROWS("device=loop2|util_pct=80|reads_per_s=0|writes_per_s=270|in_flight=1"));
        frame_add_section(frame, system, 0);
        struct section *tasks = forge_section("tasks", number);
        add_table(tasks, "tasks",
                  ROWS("pid=2|ppid=0|comm=kthreadd|state=S", "pid=78|ppid=2|comm=jbd2/loop2-8|state=D",
                       "pid=83|ppid=1|comm=mailer|state=D|write_bytes_per_s=1000",
                       "pid=19|ppid=1|comm=fio|state=S|read_bytes_per_s=8e6"));
        frame_add_section(frame, tasks, 0);
        if (rows) {
            struct section *block = forge_section("block", number);
            section_table(block, forge_table(&block_process_table, rows));
            frame_add_section(frame, block, 0);
        }
        struct section *section = findings_section(findings, frame, NULL);
        const struct table *table = section_find_table(section, "findings");
        const struct table_def *def = table_def(table);
        size_t cursor = 0;
        for (const union cell *row; number == 2 && (row = table_next(table, &cursor));) {
            if (strcmp(text_bytes(row[table_column(def, "kind")].text), kind))
                continue;
            snprintf(reported.evidence, sizeof(reported.evidence), "%s",
                     text_bytes(row[table_column(def, "evidence")].text));
            snprintf(reported.device, sizeof(reported.device), "%s",
                     text_bytes(row[table_column(def, "culprit_device")].text));
            reported.pid = row[table_column(def, "culprit_pid")].num;
        }
        section_unref(section);
        frame_unref(frame);
    }
    findings_free(findings);
    return reported;
}

static struct reported pressure(const char *const *rows) {
    return told_of("io_pressure", rows);
}

#define TASKS "tasks stalled on I/O 50 % of the time (PSI some), all tasks 43 % (PSI full), but no disk is busy"
#define FIO                                                                                                            \
    "pid=19|comm=fio|device=loop0|op=R|ios_per_s=2000|bytes_per_s=8e6|latency_us=20|total_us=22|total_us_per_s=44e3"

static void who_waits(void **state) {
    (void)state;
    const struct reported reported = pressure(
        ROWS(FIO, "pid=78|comm=jbd2/loop2-8|device=loop2|op=W|ios_per_s=153|total_us=2604|total_us_per_s=1.5e6",
             "pid=0|comm=(writeback)|device=loop2|op=W|ios_per_s=10|total_us=40000|total_us_per_s=9e5",
             "pid=83|comm=mailer|device=loop2|op=W|ios_per_s=114|total_us=2435|total_us_per_s=277e3",
             "pid=83|comm=mailer|device=loop2|op=F|ios_per_s=38|total_us=2071|total_us_per_s=79e3"));
    assert_string_equal(reported.evidence, "mailer (pid 83) waits longest for I/O, on loop2: " TASKS);
    assert_string_equal(reported.device, "loop2");
    assert_true(reported.pid == 83);
}

static void kernels_threads_alone(void **state) {
    (void)state;
    const struct reported reported =
        pressure(ROWS(FIO, "pid=0|comm=(writeback)|device=loop2|op=W|ios_per_s=10|total_us=40000|total_us_per_s=9e5",
                      "pid=78|comm=jbd2/loop2-8|device=loop2|op=W|ios_per_s=153|total_us=2604|total_us_per_s=1.5e6"));
    assert_string_equal(reported.evidence, "jbd2/loop2-8 (pid 78) waits longest for I/O, on loop2: " TASKS);
    assert_true(reported.pid == 78);
}

// A server of files that does not answer: what the disks do does not explain it.
static void nobody_who_waits_for_a_disk(void **state) {
    (void)state;
    const char *const none[] = {NULL}, *const * cases[] = {ROWS(FIO), none};
    for (int i = 0; i < 2; i++) {
        const struct reported reported = pressure(cases[i]);
        assert_string_equal(reported.evidence,
                            TASKS "; disk latencies do not explain it: an I/O limit or a network file system?");
        assert_string_equal(reported.device, "");
        assert_true(isnan(reported.pid));
    }
}

static void without_the_disks_account(void **state) {
    (void)state;
    assert_string_equal(pressure(NULL).evidence, "fio (pid 19) does most of the I/O: " TASKS);
}

// The kernel's threads work for others: a program comes first, wherever it stands among them.
static void who_waits_uninterruptibly(void **state) {
    (void)state;
    const struct reported reported = told_of("blocked_tasks", NULL);
    assert_string_equal(reported.evidence, "mailer (pid 83) and 3 more tasks are uninterruptible (state D)");
    assert_true(reported.pid == 83);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_waits),
        cmocka_unit_test(kernels_threads_alone),
        cmocka_unit_test(nobody_who_waits_for_a_disk),
        cmocka_unit_test(without_the_disks_account),
        cmocka_unit_test(who_waits_uninterruptibly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
