// Frames with the tables and series of the real collectors, for the tests of rules: one frame after the other, and the
// findings in each as "severity kind PID COMM: evidence" a line.
#ifndef TESTS_UNIT_FORGE_RULES_H
#define TESTS_UNIT_FORGE_RULES_H

#include "model/findings.h"
#include "tests/unit/screens.h"

static struct {
    struct findings *findings;
    uint64_t number;
    struct section *section;
    const struct frame *previous;
    struct history *history;            // NULL: none; see rules_keep()
    char kinds[16][24], causes[16][24]; // of the last frame
    size_t n_kinds;
} rules_of;

static inline int rules_start(void **state) {
    (void)state;
    rules_of.findings = findings_new();
    rules_of.number = 0;
    return 0;
}

static inline int rules_end(void **state) {
    (void)state;
    findings_free(rules_of.findings);
    if (rules_of.previous)
        frame_unref(rules_of.previous);
    rules_of.previous = NULL;
    history_free(rules_of.history);
    rules_of.history = NULL;
    return 0;
}

// From now on the frames are kept in a history of that many bytes, with their findings.
static inline void rules_keep(size_t bytes) {
    rules_of.history = history_new(bytes, NULL);
    findings_set_history(rules_of.findings, rules_of.history);
}

// The next frame; then its series and tables; then rules_step().
static inline void rules_begin(void) {
    rules_of.section = forge_section("system", ++rules_of.number);
}

static inline void rules_series(const char *name, double value) {
    section_series(rules_of.section, real_series(name), value);
}

// Rows as in forge_real().
static inline void rules_table(const char *name, const char *columns, const char *rows) {
    section_table(rules_of.section, forge_real(name, columns, rows));
}

static inline const char *rules_step(void) {
    static char out[4096];
    size_t cursor = 0, used = 0;
    struct frame *frame = forge_frame(rules_of.number);
    frame_add_section(frame, rules_of.section, 0);
    struct section *result = findings_section(rules_of.findings, frame, rules_of.previous);
    out[0] = '\0';
    rules_of.n_kinds = 0;
#define RULES_CELL(row, name) ((row)[table_column(&findings_table, name)])
    for (const union cell *row; (row = table_next(section_find_table(result, "findings"), &cursor));) {
        const struct text *comm = RULES_CELL(row, "culprit_comm").text, *cause = RULES_CELL(row, "cause").text;
        if (rules_of.n_kinds < 16) {
            snprintf(rules_of.kinds[rules_of.n_kinds], 24, "%s", text_bytes(RULES_CELL(row, "kind").text));
            snprintf(rules_of.causes[rules_of.n_kinds++], 24, "%s", cause ? text_bytes(cause) : "");
        }
        used += (size_t)snprintf(out + used, sizeof(out) - used, "%s %s %.0f %s: %s\n",
                                 text_bytes(RULES_CELL(row, "severity").text), text_bytes(RULES_CELL(row, "kind").text),
                                 RULES_CELL(row, "culprit_pid").num, comm ? text_bytes(comm) : "-",
                                 text_bytes(RULES_CELL(row, "evidence").text));
    }
    if (rules_of.history) {
        frame_add_section(frame, result, 0);
        history_push(rules_of.history, frame_ref(frame));
    } else {
        section_unref(result);
    }
    if (rules_of.previous)
        frame_unref(rules_of.previous);
    rules_of.previous = frame;
    return out;
}

#define RULES_TEST(name) cmocka_unit_test_setup_teardown(name, rules_start, rules_end)
#define rules_run(tests) cmocka_run_group_tests(tests, NULL, NULL)

#endif
