// The names in the program against the frames of the real collectors: every table, column, series, histogram and
// collector that a pane or a rule names exists.
#include "tests/unit/forge.h"

#include "collectors/collector.h"
#include "collectors/runner.h"
#include "model/findings.h"
#include "model/findings_inputs.h"
#include "views/flame/part_annotate.h"
#include "views/flame/part_callers.h"
#include "views/flame/part_flame.h"
#include "views/flame/part_subsecond.h"
#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/hist/select.h"
#include "views/part_fields.h"
#include "views/part_findings.h"
#include "views/part_gauge.h"
#include "views/part_matrix.h"
#include "views/part_table.h"
#include "views/part_top.h"
#include "views/row/part_row.h"

static struct frame *blank;
static unsigned n_wrong;

static void expect_name(bool exists, const char *where, const char *what, const char *of, const char *name) {
    if (exists)
        return;
    print_error("%s: no %s %s%s%s\n", where, what, of ? of : "", of ? "." : "", name);
    n_wrong++;
}

static bool is_series(const char *name) {
    const struct series_def *def;
    frame_series(blank, name, &def);
    return def;
}

static const struct table_def *def_of(const char *name) {
    const struct table *table = frame_table(blank, name);
    if (!table)
        table = frame_stream(blank, name, NULL);
    return table ? table_def(table) : NULL;
}

static const struct table_def *expect_table(const char *where, const char *name) {
    const struct table_def *def = def_of(name);
    expect_name(def, where, "table", NULL, name);
    return def;
}

static void expect_column(const char *where, const char *table, const char *name) {
    const struct table_def *def = name ? expect_table(where, table) : NULL;
    if (def)
        expect_name(table_column(def, name) >= 0, where, "column", table, name);
}

// A blank-separated list of columns of the joined tables, or of series; "=label", "~", "-" and "*" are no part of a
// name.
static void expect_list(const char *where, const struct rows_source *source, bool series, const char *list) {
    char *copy = strdup(list ? list : ""), *save;
    for (char *name = strtok_r(copy, " ", &save); name; name = strtok_r(NULL, " ", &save)) {
        name += *name == '-';
        name[strcspn(name, "=~")] = '\0';
        bool found = series && is_series(name);
        for (size_t i = 0; i < JOIN_MAX && source->tables[i]; i++) {
            const struct table_def *def = def_of(source->tables[i]);
            found |= def && table_column(def, name) >= 0;
        }
        expect_name(found, where, "column", source->tables[0], name);
    }
    free(copy);
}

static void check_source(const char *where, const struct rows_source *source) {
    for (size_t i = 0; i < JOIN_MAX && source->tables[i]; i++)
        expect_table(where, source->tables[i]);
    expect_list(where, source, false, source->sort);
    expect_list(where, source, false, source->then);
    expect_list(where, source, false, source->aside);
}

static void check_table(const char *where, const struct view *view, const struct table_spec *spec) {
    const char *const lists[] = {spec->shown,    spec->rest,    spec->rest_or,     spec->twin,
                                 spec->opens_by, spec->chooses, spec->jump.columns};
    check_source(where, &spec->source);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        expect_list(where, &spec->source, false, lists[i]);
    if (spec->opens)
        expect_name(view_part(view, spec->opens), where, "part", NULL, spec->opens);
    if (spec->annotates)
        expect_name(view_part(view, spec->annotates), where, "part", NULL, spec->annotates);
    if (spec->jump.pane)
        expect_name(view_find(spec->jump.pane), where, "pane", NULL, spec->jump.pane);
}

static void check_row(const char *where, const struct row_spec *spec) {
    const char *const lists[] = {spec->same, spec->heading, spec->shown, spec->lines, spec->jump.columns};
    check_source(where, &spec->source);
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        expect_list(where, &spec->source, false, lists[i]);
}

static void check_gauges(const char *where, const struct gauge_spec *spec) {
    for (const struct gauge *gauge = spec->gauges; gauge->label; gauge++) {
        if (gauge->of)
            expect_name(is_series(gauge->of), where, "series", NULL, gauge->of);
        for (size_t i = 0; i < GAUGE_VALUES && (gauge->values[i].series || gauge->values[i].table); i++) {
            const struct gauge_value *value = &gauge->values[i];
            if (value->series)
                expect_name(is_series(value->series), where, "series", NULL, value->series);
            else
                expect_column(where, value->table, value->column);
            if (value->better)
                expect_table(where, value->better);
        }
    }
}

static void check_top(const char *where, const struct top_spec *spec) {
    expect_column(where, spec->table, spec->name);
    expect_column(where, spec->table, spec->id);
    for (const struct top_list *list = spec->lists; list->title; list++)
        for (size_t i = 0; i < 2; i++)
            expect_column(where, spec->table, list->columns[i]);
    expect_name(view_find(spec->jump_pane), where, "pane", NULL, spec->jump_pane);
}

static void check_matrix(const char *where, const struct matrix_spec *spec) {
    for (const struct matrix_measure *measure = spec->measures; measure->name; measure++)
        expect_list(where, &(struct rows_source){.tables = {measure->table}}, false, measure->columns);
    expect_column(where, spec->measures[0].table, spec->group);
}

static void check_hists(const char *where, const struct view *view, const struct hist_spec *spec) {
    const char *list = NULL;
    for (size_t i = 0; i < view->n_parts; i++) // its spec begins with a struct rows_source
        if (spec->list && !strcmp(view->parts[i].name, spec->list) && view->parts[i].kind == &part_table)
            list = ((const struct table_spec *)view->parts[i].spec)->source.tables[0];
    for (size_t i = 0; spec->sets[i]; i++) {
        bool measured = false;
        for (const struct hist_measure *m = spec->measures; m && m->set; m++)
            measured |= m->table && !strcmp(m->set, spec->sets[i]);
        expect_name(measured || frame_hists(blank, spec->sets[i]), where, "histogram", NULL, spec->sets[i]);
    }
    for (const struct hist_measure *m = spec->measures; m && m->set; m++) {
        if (m->table)
            expect_column(where, m->table, m->set);
        else
            expect_name(frame_hists(blank, m->set), where, "histogram", NULL, m->set);
        if (list)
            expect_column(where, list, m->column);
        if (m->better)
            expect_table(where, m->better);
    }
}

static void check_flame(const char *where, const struct view *view, const struct flame_spec *spec) {
    expect_name(is_series(spec->source) || frame_table(blank, spec->source), where, "source", NULL, spec->source);
    if (spec->events)
        expect_column(where, spec->events, "time_s");
    if (spec->callers)
        expect_name(view_part(view, spec->callers), where, "part", NULL, spec->callers);
    if (spec->annotate)
        expect_name(view_part(view, spec->annotate), where, "part", NULL, spec->annotate);
}

// "system", or "system.detail" (collectors/runner.h).
static void check_needs(const char *where, const char *const *needs) {
    for (; needs && *needs; needs++) {
        size_t length = strcspn(*needs, ".");
        char name[64];
        snprintf(name, sizeof(name), "%.*s", (int)length, *needs);
        expect_name(collector_find(name), where, "collector", NULL, *needs);
        if ((*needs)[length])
            assert_string_equal(*needs + length, RUNNER_DETAIL);
    }
}

static void check_part(const struct view *view, const struct part *part) {
    char where[64];
    snprintf(where, sizeof(where), "pane %s, part %s", view->name, part->name);
    if (part->kind == &part_table)
        check_table(where, view, part->spec);
    else if (part->kind == &part_row)
        check_row(where, part->spec);
    else if (part->kind == &part_gauge)
        check_gauges(where, part->spec);
    else if (part->kind == &part_top)
        check_top(where, part->spec);
    else if (part->kind == &part_matrix)
        check_matrix(where, part->spec);
    else if (part->kind == &part_hist || part->kind == &part_heat)
        check_hists(where, view, part->spec);
    else if (part->kind == &part_fields) {
        const struct fields_spec *spec = part->spec;
        check_source(where, &spec->source);
        expect_list(where, &spec->source, true, spec->shown);
    } else if (part->kind == &part_findings) {
        const struct findings_spec *spec = part->spec;
        expect_table(where, spec->table);
        for (const struct findings_look *look = spec->looks; look->what; look++)
            expect_name(def_of(look->name) || is_series(look->name) || frame_hists(blank, look->name), where, "source",
                        NULL, look->name);
    } else if (part->kind == &part_flame || part->kind == &part_callers || part->kind == &part_subsecond ||
               part->kind == &part_annotate) {
        check_flame(where, view, part->spec);
    } else {
        fail_msg("%s: a kind of part that this test does not know", where);
    }
    check_needs(where, part->needs);
}

static void names_in_panes(void **state) {
    (void)state;
    n_wrong = 0;
    for (size_t v = 0; views[v]; v++) {
        check_needs(views[v]->name, views[v]->needs);
        for (size_t i = 0; i < views[v]->n_parts; i++)
            check_part(views[v], &views[v]->parts[i]);
    }
    assert_int_equal(n_wrong, 0);
}

static void names_in_rules(void **state) {
    (void)state;
    n_wrong = 0;
    for (const struct finding_input *input = finding_inputs; input->name; input++) {
        if (!strcmp(input->of, "series"))
            expect_name(is_series(input->name), "rules", "series", NULL, input->name);
        else if (!strcmp(input->of, "hists"))
            expect_name(frame_hists(blank, input->name), "rules", "histogram", NULL, input->name);
        else if (!strcmp(input->of, "tables"))
            expect_table("rules", input->name);
        else if (!strcmp(input->of, "trees"))
            expect_name(frame_tree(blank, input->name), "rules", "tree", NULL, input->name);
        else
            expect_column("rules", input->of, input->name);
    }
    const struct collector *sampled = collector_find(FINDINGS_COLLECTOR);
    expect_name(sampled, "rules", "collector", NULL, FINDINGS_COLLECTOR);
    expect_name(sampled && !sampled->always && sampled->trees, "rules", "collector that samples on request", NULL,
                FINDINGS_COLLECTOR);
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_in_panes),
        cmocka_unit_test(names_in_rules),
    };
    blank = runner_blank_frame();
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    frame_unref(blank);
    return failed;
}
