// Shared by the tests of the scheduler's frames: a state machine with forged events, a forged /proc, and the
// section that is filled from both.
#ifndef TESTS_UNIT_FORGE_SCHED_FILL_H
#define TESTS_UNIT_FORGE_SCHED_FILL_H

#include "tests/unit/forge_sched.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/sched/fill.h"
#include "tests/unit/forge_limits.h"

static struct sched_threads *threads;
static struct table_builder *rows;
static const struct section *limits; // of the collector "cpu_limits"
static struct section *section;
static char proc[64];
static uint64_t frame_begin;

static inline void put_file(const char *file, const char *text) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", proc, file);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

static inline void folder(const char *name) {
    char path[160];
    snprintf(path, sizeof(path), "%s/%s", proc, name);
    assert_int_equal(mkdir(path, 0700), 0);
}

static inline int begin(void **state) {
    set_up(state);
    snprintf(proc, sizeof(proc), "/tmp/ktop-fill-XXXXXX");
    assert_non_null(mkdtemp(proc));
    threads = sched_threads_new(proc, NULL, NULL);
    rows = table_builder_new(&sched_tasks_table);
    limits = NULL;
    section = NULL;
    frame_begin = 0;
    return 0;
}

static inline int end(void **state) {
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", proc);
    section_unref(section);
    table_builder_free(rows);
    section_unref(limits);
    sched_threads_free(threads);
    tear_down(state);
    return system(command);
}

// The frame up to that time, in us.
static inline void frame(uint64_t us) {
    const struct sched_limits found = sched_limits_of(limits);
    sched_threads_mark_throttled(threads, machine, &found);
    sched_machine_flush(machine, us * US);
    const struct sched_fill fill = {.machine = machine,
                                    .threads = threads,
                                    .limits = &found,
                                    .rows = rows,
                                    .end = us * US,
                                    .seconds = (double)(us - frame_begin) / 1e6};
    section_unref(section);
    section = section_new("sched", frame_begin * US, us * US);
    sched_fill_tasks(&fill, section);
    sched_fill_cpus(&fill, section);
    sched_fill_stuck(&fill, section);
    sched_fill_unseen(&fill, section);
    sched_fill_hists(&fill, section);
    double values[SCHED_S_ALL];
    sched_fill_series(&fill, values);
    sched_machine_next(machine, us * US);
    frame_begin = us;
}

static inline const union cell *row_of(const char *table, int32_t tid) {
    const struct table *t = section_find_table(section, table);
    size_t cursor = 0;
    int column = table_column(table_def(t), "tid");
    for (const union cell *row; (row = table_next(t, &cursor));)
        if (row[column].num == tid)
            return row;
    return NULL;
}

static inline size_t count_rows(const char *table) {
    return table_rows(section_find_table(section, table));
}

static inline const union cell *row_of_cpu(double cpu) {
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(section_find_table(section, "sched_cpus"), &cursor));)
        if (row[SCHED_C_CPU].num == cpu)
            return row;
    fail();
    return NULL;
}

static inline bool says(const char *part) {
    for (size_t i = 0; i < section_notes(section); i++)
        if (strstr(section_note_at(section, i)->text, part))
            return true;
    return false;
}

static inline void limit(size_t n, const struct forged_limit *groups) {
    section_unref(limits);
    limits = forge_limits(n, groups);
}

static inline void is_in(int32_t tid, const char *cgroup) {
    sched_threads_get(threads, machine, sched_slot(machine, tid))->cgroup = text_from(cgroup);
}

#define IS(value, expected) assert_true(fabs((value) - (expected)) < 1e-6)

#endif
