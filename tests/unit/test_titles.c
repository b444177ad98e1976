// A column has one title in all tables, streams and histograms of the real collectors (model/columns.h).
#include "tests/unit/forge.h"

#include "collectors/collector.h"
#include "collectors/runner.h"

// Two meanings under one name of the contract, each with the title that its field uses.
static const char *const two_titles[][2] = {
    {"args", "DETAILS"},       // of events: the fields of other tracepoints stand in its place
    {"function", "INLINED"},   // of a line of code: inlined there; FUNCTION elsewhere
    {"latency_us", "SERVICE"}, // of I/Os: the same quantity as service_us; LATENCY of system calls
    {"share_pct", "WALL%"},    // of system calls: a share of the wall-clock time; SHARE% of a whole elsewhere
    {"state", "S"},            // of tasks, as in top and htop; STATE elsewhere
};

static bool is_exception(const char *name, const char *title) {
    for (size_t i = 0; i < sizeof(two_titles) / sizeof(two_titles[0]); i++)
        if (!strcmp(two_titles[i][0], name) && !strcmp(two_titles[i][1], title))
            return true;
    return false;
}

struct title {
    const struct column *column;
    const char *table;
};

static unsigned wrong;

static size_t titles_add(struct title *titles, size_t n, const char *table, const struct column *columns,
                         size_t count) {
    for (size_t c = 0; c < count; c++) {
        const struct column *column = &columns[c];
        size_t i = 0;
        if (is_exception(column->name, column->title))
            continue;
        while (i < n && strcmp(titles[i].column->name, column->name) != 0)
            i++;
        if (i == n)
            titles[n++] = (struct title){column, table};
        else if (strcmp(titles[i].column->title, column->title) != 0) {
            print_error("%s: title %s in %s, %s in %s\n", column->name, titles[i].column->title, titles[i].table,
                        column->title, table);
            wrong++;
        }
    }
    return n;
}

static void one_title_a_column(void **state) {
    (void)state;
    struct frame *blank = runner_blank_frame();
    static struct title titles[2000];
    size_t n = 0;
    for (uint16_t s = 0; s < blank->n_sections; s++)
        for (size_t t = 0; t < section_n_defs(blank->sections[s]); t++) {
            const struct table_def *def = section_def_at(blank->sections[s], t);
            n = titles_add(titles, n, def->name, def->columns, def->n_columns);
            assert_true(n < 1800);
        }
    for (size_t i = 0; collectors[i]; i++)
        for (size_t h = 0; collectors[i]->hists && collectors[i]->hists[h]; h++) {
            const struct hist_def *def = collectors[i]->hists[h];
            n = titles_add(titles, n, def->name, def->keys, def->n_keys);
        }
    frame_unref(blank);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_title_a_column)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
