// The culprit among many tasks: the heaviest may come after hundreds of light ones.
#include "tests/unit/forge_machine.h"

#include "model/findings.h"

#define OTHERS 300

static const struct table_def *block_def_of(const char *name) {
    const struct collector *block = collector_find("block");
    for (size_t i = 0; block->tables[i]; i++)
        if (!strcmp(block->tables[i]->name, name))
            return block->tables[i];
    fail_msg("no table %s", name);
    return NULL;
}

// 300 programs with 1.5 % each; then one with 200 tasks of 1.2 %.
static struct section *crowd_of_tasks(uint64_t number) {
    struct section *section = forge_section("tasks", number);
    struct table_builder *rows = table_builder_new(def_of("tasks"));
    char row[160];
    for (int i = 0; i < OTHERS; i++) {
        snprintf(row, sizeof(row), "pid=%d|tid=%d|ppid=1|comm=other-%d|state=R|cpu_pct=1.5|system_pct=0", 100 + i,
                 100 + i, i);
        forge_row(rows, def_of("tasks"), row);
    }
    for (int i = 0; i < 200; i++) {
        snprintf(row, sizeof(row), "pid=%d|tid=%d|ppid=1|comm=worker|state=R|cpu_pct=%g|system_pct=0", 1000 + i,
                 1000 + i, i == 150 ? 1.3 : 1.2);
        forge_row(rows, def_of("tasks"), row);
    }
    for (int i = 0; i < OTHERS; i++) { // as many parents with a zombie each, then the one with 50
        snprintf(row, sizeof(row), "pid=%d|tid=%d|ppid=%d|comm=sh|state=Z|cpu_pct=0", 5000 + i, 5000 + i, 100 + i);
        forge_row(rows, def_of("tasks"), row);
    }
    for (int i = 0; i < 50; i++) {
        snprintf(row, sizeof(row), "pid=%d|tid=%d|ppid=1000|comm=sh|state=Z|cpu_pct=0", 6000 + i, 6000 + i);
        forge_row(rows, def_of("tasks"), row);
    }
    section_table(section, table_builder_seal(rows));
    table_builder_free(rows);
    return section;
}

static struct section *crowd_of_readers(uint64_t number) {
    struct section *section = forge_section("block", number);
    const struct table_def *def = block_def_of("by_process");
    struct table_builder *rows = table_builder_new(def);
    char row[160];
    for (int i = 0; i < OTHERS; i++) {
        snprintf(row, sizeof(row), "pid=%d|comm=other-%d|device=vda|op=R|ios_per_s=1|bytes_per_s=4096", 100 + i, i);
        forge_row(rows, def, row);
    }
    forge_row(rows, def, "pid=4242|comm=hog|device=vda|op=R|ios_per_s=20000|bytes_per_s=8e7");
    section_table(section, table_builder_seal(rows));
    table_builder_free(rows);
    return section;
}

static const struct frame *forge(uint64_t number) {
    struct frame *frame = forge_frame(number);
    struct section *system = forge_section("system", number);
    add_series(system,
               "cpus_online=8|cpu_idle_pct=0|cpu_iowait_pct=0|procs_running=300|cpu_some_pct=90|io_some_pct=80");
    add_table(system, "devices", ROWS("device=vda|util_pct=99|reads_per_s=20000|writes_per_s=0|in_flight=32"));
    frame_add_section(frame, system, 0);
    frame_add_section(frame, crowd_of_tasks(number), 0);
    frame_add_section(frame, crowd_of_readers(number), 0);
    struct section *more = forge_section("tasks", number);
    add_series(more, "tasks_zombie=350");
    frame_add_section(frame, more, 0);
    return frame;
}

static void blames(const char *kind, double pid, const char *words) {
    struct findings *findings = findings_new();
    bool reported = false;
    for (uint64_t number = 1; number <= 2; number++) {
        const struct frame *frame = forge(number);
        struct section *section = findings_section(findings, frame, NULL);
        const struct table *table = section_find_table(section, "findings");
        size_t cursor = 0;
        for (const union cell *row; number == 2 && (row = table_next(table, &cursor));) {
            if (strcmp(text_bytes(row[table_column(table_def(table), "kind")].text), kind))
                continue;
            const char *evidence = text_bytes(row[table_column(table_def(table), "evidence")].text);
            reported = true;
            if (!strstr(evidence, words))
                fail_msg("%s: %s", kind, evidence);
            assert_true(row[table_column(table_def(table), "culprit_pid")].num == pid);
        }
        section_unref(section);
        frame_unref(frame);
    }
    findings_free(findings);
    assert_true(reported);
}

static void cpu_of_a_crowd(void **state) {
    (void)state;
    blames("cpu_saturated", 1150, "200 tasks named worker use 240 % of one CPU, pid 1150 the most");
}

static void disk_of_a_crowd(void **state) {
    (void)state;
    blames("disk_saturated", 4242, "hog (pid 4242) does most of the I/O");
}

static void zombies_of_a_crowd(void **state) {
    (void)state;
    blames("zombies", 1000, "worker (pid 1000)");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cpu_of_a_crowd),
        cmocka_unit_test(disk_of_a_crowd),
        cmocka_unit_test(zombies_of_a_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
