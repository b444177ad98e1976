// One row per process life, without the kernel's reports: status in words, and rows of processes that really exist.
#include "collectors/events/lives.h"

#include <math.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/model_test.h"

static void status_is(uint32_t code, const char *expected) {
    const struct text *text = life_status_text(code);
    assert_string_equal(text_bytes(text), expected);
    text_unref(text);
}

static void statuses(void **state) {
    (void)state;
    status_is(0, "0");
    status_is(3 << 8, "3");
    status_is(255 << 8, "255");
    status_is(9, "SIGKILL");
    status_is(11 | 0x80, "SIGSEGV, core dumped");
    status_is(64, "signal 64");
}

static const struct table *rows_of(struct lives *lives, struct section **section) {
    *section = section_new("events", 0, 1);
    lives_sample(lives, 1000000000, *section);
    return section_find_table(*section, "programs");
}

static double number(const struct table *table, const union cell *row, const char *column) {
    return row[table_column(table_def(table), column)].num;
}

static const char *words(const struct table *table, const union cell *row, const char *column) {
    return text_bytes(row[table_column(table_def(table), column)].text);
}

static void running(void **state) {
    (void)state;
    struct event_names *names = event_names_new("/proc");
    struct collect_options options = {.threads = false};
    struct lives *lives = lives_open(names, &options); // without the right to listen there is no exit
    struct section *section;
    const struct text *first = text_from("old"), *args = text_from("cmd -x"), *cwd = text_from("/tmp");
    lives_exec(lives, &(struct exec){.status.pid = getpid(), .ns = 1000, .args = first});
    lives_exec(
        lives,
        &(struct exec){.status = {.pid = getpid(), .parent = getppid()}, .ns = 2000000000, .args = args, .cwd = cwd});
    lives_exec(lives,
               &(struct exec){.status.pid = 1 << 30, .ns = UINT64_MAX}); // no such process, too young to have ended
    text_unref(first);
    text_unref(args);
    text_unref(cwd);
    const struct table *table = rows_of(lives, &section);
    size_t at = 0;
    const union cell *row = table_next(table, &at); // the newest one
    assert_true(isnan(number(table, row, "ppid")));
    assert_string_equal(words(table, row, "cwd"), "");
    row = table_next(table, &at);
    assert_int_equal(number(table, row, "pid"), getpid());
    assert_int_equal(number(table, row, "ppid"), getppid());
    assert_int_equal(number(table, row, "execs"), 2);
    assert_true(number(table, row, "time_s") == 3);
    assert_true(isnan(number(table, row, "lifetime_us")));
    assert_string_equal(words(table, row, "args"), "cmd -x");
    assert_string_equal(words(table, row, "status"), "running");
    assert_string_equal(words(table, row, "cwd"), "/tmp");
    assert_null(table_next(table, &at));
    section_unref(section);
    lives_close(lives);
    event_names_free(names);
}

// More programs than there is room for: counted, and none is overwritten.
static void full(void **state) {
    (void)state;
    struct event_names *names = event_names_new("/proc");
    struct collect_options options = {.threads = false};
    struct lives *lives = lives_open(names, &options);
    struct section *section;
    for (int32_t i = 0; i < LIVES_MAX + 10; i++)
        lives_exec(lives, &(struct exec){.status.pid = (1 << 29) + i, .ns = UINT64_MAX - (uint64_t)i});
    const struct table *table = rows_of(lives, &section);
    assert_int_equal(table_rows(table), LIVES_ROWS);
    bool noted = false;
    for (size_t i = 0; i < section_notes(section); i++)
        noted |= strstr(section_note_at(section, i)->text, "10 programs are in no row") != NULL;
    assert_true(noted);
    section_unref(section);
    lives_close(lives);
    event_names_free(names);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(statuses), cmocka_unit_test(running), cmocka_unit_test(full)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
