// For the tests of the system collector's parts: a forged /proc and /sys below a directory of the test's own, a clock
// that the test moves, and values found by the contract's names.
#ifndef TESTS_SYSTEM_ROOT_H
#define TESTS_SYSTEM_ROOT_H

#include <ftw.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "collectors/system/system.h"

#define SECOND 1000000000ull

static char root_path[64];
static uint64_t root_clock = 5 * SECOND;

static uint64_t root_now(void) {
    return root_clock;
}

static inline int root_make(void **state) {
    (void)state;
    snprintf(root_path, sizeof root_path, "/tmp/ktop-test-%06d", 0);
    memset(root_path + strlen(root_path) - 6, 'X', 6); // what mkdtemp replaces
    assert_non_null(mkdtemp(root_path));
    proc_set_root(root_path);
    root_clock = 5 * SECOND;
    return 0;
}

static int root_remove_one(const char *path, const struct stat *stat, int type, struct FTW *at) {
    (void)stat, (void)type, (void)at;
    return remove(path);
}

static inline int root_drop(void **state) {
    (void)state;
    proc_set_root("");
    return nftw(root_path, root_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void root_write_bytes(const char *path, const void *bytes, size_t length) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root_path, path);
    for (char *slash = full + strlen(root_path) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
}

static inline void root_write(const char *path, const char *text) {
    root_write_bytes(path, text, strlen(text));
}

static inline void root_delete(const char *path) {
    char full[512];
    snprintf(full, sizeof full, "%s%s", root_path, path);
    assert_int_equal(remove(full), 0);
}

// A part and its last section.
struct fixture {
    const struct system_part *part;
    void *state;
    struct proc_buffer buffer;
    struct section *section;
    double series[SYSTEM_N_SERIES];
    struct system_pressure pressure;
};

static inline struct fixture fixture_new(const struct system_part *part) {
    return (struct fixture){.part = part, .state = part->create(), .pressure = {NAN, NAN, NAN, NAN}};
}

static inline void fixture_sample(struct fixture *fixture) {
    section_unref(fixture->section);
    fixture->section = section_new("system", root_clock, root_clock);
    for (size_t i = 0; i < SYSTEM_N_SERIES; i++)
        fixture->series[i] = NAN;
    struct system_sample sample = {.out = fixture->section,
                                   .series = fixture->series,
                                   .buffer = &fixture->buffer,
                                   .now = root_now,
                                   .all = true,
                                   .pressure = fixture->pressure};
    fixture->part->sample(fixture->state, &sample);
    fixture->pressure = sample.pressure;
}

static inline void fixture_free(struct fixture *fixture) {
    fixture->part->destroy(fixture->state);
    proc_buffer_free(&fixture->buffer);
    section_unref(fixture->section);
}

static inline size_t fixture_rows(const struct fixture *fixture, const char *table) {
    return table_rows(section_find_table(fixture->section, table));
}

// The row whose first column is the number or the text, or NULL.
static inline const union cell *fixture_row(const struct fixture *fixture, const char *name, const char *key) {
    const struct table *table = section_find_table(fixture->section, name);
    assert_non_null(table);
    size_t cursor = 0;
    for (const union cell *row; (row = table_next(table, &cursor));) {
        char number[32];
        snprintf(number, sizeof number, "%g", row[0].num);
        if (!key || (table_def(table)->columns[0].type == COLUMN_TEXT ? !strcmp(text_bytes(row[0].text), key)
                                                                      : !strcmp(number, key)))
            return row;
    }
    return NULL;
}

static inline union cell fixture_cell(const struct fixture *fixture, const char *name, const char *key,
                                      const char *column) {
    const union cell *row = fixture_row(fixture, name, key);
    assert_non_null(row);
    int at = table_column(table_def(section_find_table(fixture->section, name)), column);
    assert_true(at >= 0);
    return row[at];
}

static inline double fixture_num(const struct fixture *fixture, const char *name, const char *key, const char *column) {
    return fixture_cell(fixture, name, key, column).num;
}

static inline bool is_near(double a, double b) {
    return fabs(a - b) <= 1e-6 * (1 + fabs(b));
}
#define assert_near(a, b) assert_true(is_near(a, b))
#define assert_nan(a) assert_true(isnan(a))

#endif
