// What the tests of the scheduler's frames share: a state machine fed by hand, a /proc of the test's own, and the
// section that is filled from both.
#ifndef TESTS_FORGE_SCHED_FILL_H
#define TESTS_FORGE_SCHED_FILL_H

#include "tests/forge_sched.h"

#include <math.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/sched/fill.h"

static struct sched_who *who;
static struct table_builder *rows, *limit_rows;
static const struct cgroups_limited *groups;
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
    who = sched_who_new(proc, NULL, NULL);
    rows = table_builder_new(&sched_tasks_table);
    limit_rows = table_builder_new(&sched_cgroups_table);
    groups = NULL;
    section = NULL;
    frame_begin = 0;
    return 0;
}

static inline int end(void **state) {
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", proc);
    section_unref(section);
    table_builder_free(rows);
    table_builder_free(limit_rows);
    cgroups_limited_unref(groups);
    sched_who_free(who);
    tear_down(state);
    return system(command);
}

// The frame up to that time, in us.
static inline void frame(uint64_t us) {
    sched_who_throttled(who, machine, groups);
    sched_machine_flush(machine, us * US);
    const struct sched_fill fill = {.machine = machine,
                                    .who = who,
                                    .groups = groups,
                                    .rows = rows,
                                    .limit_rows = limit_rows,
                                    .end = us * US,
                                    .seconds = (double)(us - frame_begin) / 1e6};
    section_unref(section);
    section = section_new("sched", frame_begin * US, us * US);
    sched_fill_tasks(&fill, section);
    sched_fill_cpus(&fill, section);
    sched_fill_stuck(&fill, section);
    sched_fill_cgroups(&fill, section);
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

// A new list of control groups, and how often each was throttled in 10 periods.
static inline void limit(size_t n, const char *const *paths, const uint64_t *throttled) {
    struct cgroups_limited *list = cgroups_limited_new(n, 0);
    for (size_t i = 0; i < n; i++)
        cgroups_limited_add(list, &(const struct cgroup){
                                      .path = (char *)paths[i],
                                      .limits.cpu_pct = 20,
                                      .stops = {.seconds = 1, .periods = 10, .throttled = throttled[i]},
                                  });
    cgroups_limited_unref(groups);
    groups = list;
}

static inline void is_in(int32_t tid, const char *cgroup) {
    sched_who_of(who, machine, sched_slot(machine, tid))->cgroup = text_from(cgroup);
}

#define IS(value, expected) assert_true(fabs((value) - (expected)) < 1e-6)

#endif
