// From a range of values to the list of the events in it: as a filter that the list shows and that can be changed, with
// the range written as on the screen.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "views/hist/select.h"
#include "views/part_table.h"

// The filter under construction: terms separated by blanks.
struct terms {
    char *out;
    size_t used, size;
    bool full;    // a term had no room; terms are never cut
    bool several; // (others) is chosen, which the list does not have
    bool no_text; // the filter text cannot be a term
};

static void add(struct terms *terms, const char *column, const char *operator, const char * value) {
    size_t left = terms->size - terms->used;
    int n = snprintf(terms->out + terms->used, left, "%s%s%s%s", terms->used ? " " : "", column, operator, value);

    if (n < 0 || (size_t)n >= left) {
        terms->out[terms->used] = '\0';
        terms->full = true;
    } else {
        terms->used += (size_t)n;
    }
}

// The column that filter text without terms means: the one whose shown values all contain it, a chosen column first.
// NULL: none, as the text occurs in different columns.
static const char *contained_in(const struct hist_select *select, const struct hist_set *set,
                                const struct hist_def *def, const struct table_def *list) {
    const char *found = NULL;

    for (int k = 0; k < def->n_keys; k++) {
        const char *column = def->keys[k].name, *want = hist_select_chosen(select, column);
        if (table_column(list, column) < 0)
            continue;
        if (want && strcasestr(want, select->filter.text))
            return column;
        bool all = false;
        for (size_t at = 0; !found && hist_select_next(select, set, &at);) {
            const union cell *keys;
            hist_set_at(set, at - 1, &keys);
            all = cell_contains(&def->keys[k], true, keys[k], select->filter.text);
            if (!all)
                break;
        }
        if (all)
            found = column;
    }
    return found;
}

// The map's restrictions also restrict the list: the chosen keys and the pane's filter.
static void add_choice(struct terms *terms, const struct hist_select *select, const struct hist_set *set,
                       const struct hist_def *def, const struct table_def *list) {
    const struct filter *filter = &select->filter;
    char term[2 * FILTER_SIZE + 80];

    for (int i = 0; i < def->n_keys; i++) {
        const char *column = def->keys[i].name, *want = hist_select_chosen(select, column);
        if (!want || table_column(list, column) < 0)
            continue;
        filter_value_text(want, false, term, sizeof term);
        if (!strcmp(want, HIST_OTHERS))
            terms->several = true;
        else
            add(terms, column, "=", term);
    }
    for (size_t i = 0; i < filter->n; i++) {
        const char *column = filter->terms[i].name;
        bool known =
            hist_has_key(def, column) && hist_select_chosen(select, column) && filter->terms[i].op == FILTER_EQUAL;
        if (table_column(list, column) < 0 || known || !filter_has_value(filter, i))
            continue;
        filter_term_text(filter, i, term, sizeof term);
        add(terms, term, "", "");
    }
    if (filter->n || !filter->text[0] || select->unmatched)
        return;
    const char *column = contained_in(select, set, def, list);
    terms->no_text = !column;
    filter_value_text(filter->text, false, term, sizeof term);
    if (column && !hist_select_chosen(select, column))
        add(terms, column, "~", term);
}

// Whether the short value selects the same rows as the exact one.
static bool selects_same(const struct table *list, int column, const char *value, double exact) {
    double rounded;
    size_t at = 0;

    if (!filter_number(&table_def(list)->columns[column], value, &rounded))
        return false;
    for (const union cell *row; (row = table_next(list, &at));)
        if (!isnan(row[column].num) && (row[column].num < rounded) != (row[column].num < exact))
            return false;
    return true;
}

// One end of the range (exact: in the column's unit), as short as possible: the label, few digits, or all digits.
// Buckets are up to 1.6 % wide, so a value near an end may be counted on the other side of the label.
static void end_text(const struct table *list, int column, const struct hist_scale *scale, const struct hist_def *def,
                     int edge, double exact, char out[32]) {
    static const struct {
        const char *suffix;
        double factor;
    } times[] = {{"us", 1}, {"ms", 1e3}, {"s", 1e6}};
    size_t unit = exact >= 1e6 ? 2 : exact >= 1e3 ? 1 : 0;
    bool is_time = def->unit == UNIT_US;
    char label[16];

    hist_scale_edge(scale, def, edge, label);
    snprintf(out, 32, "%s", label);
    for (int digits = 3; !selects_same(list, column, out, exact); digits++) {
        out[0] = '\0';
        if (!isfinite(exact) || digits > 15)
            return;
        snprintf(out, 32, "%.*g%s", is_time ? digits : 15, exact / (is_time ? times[unit].factor : 1),
                 is_time ? times[unit].suffix : "");
    }
}

static void add_range(struct terms *terms, const struct table *list, int column, const struct hist_scale *scale,
                      const struct hist_def *def, const struct hist_measure *measure, int row) {
    char low[32] = "", high[32] = "", value[72];
    uint64_t first, past;
    double unit = measure->linear ? measure->linear / 100.0 : def->divisor; // of a linear measure: in percent

    hist_scale_range(scale, def, row, true, &first, &past);
    if (scale->edge[row] > 0)
        end_text(list, column, scale, def, row, first ? (double)first / unit : -INFINITY, low);
    end_text(list, column, scale, def, row + 1, past < UINT64_MAX ? (double)past / unit : INFINITY, high);
    if (!low[0] && !high[0])
        return;
    snprintf(value, sizeof value, "%s..%s", low, high);
    add(terms, table_def(list)->columns[column].name, "=", value);
}

bool hist_select_list(struct part_context *ctx, const struct frame *frame, const struct hist_scale *scale, int row,
                      const char *back) {
    const struct hist_select *select = ctx->state;
    const struct hist_spec *spec = ctx->part->spec;
    const struct part *part = view_part(ctx->pane->view, spec->list);
    const struct hist_def *def = hist_select_def(select, spec, ctx->look);
    const struct hist_measure *measure = hist_select_measure(select, spec);
    struct terms terms = {.out = ctx->go_filter, .size = sizeof ctx->go_filter};

    if (!part || !def)
        return false;
    terms.out[0] = '\0';
    const struct table_spec *of = part->spec;
    const struct table *list = frame_stream(frame, of->source.tables[0], NULL);
    int column = list && measure && measure->column ? table_column(table_def(list), measure->column) : -1;
    if (list)
        add_choice(&terms, select, hist_select_hists(select, spec, frame), def, table_def(list));
    if (column >= 0)
        add_range(&terms, list, column, scale, def, measure, row);
    ctx->go_part = part;
    ctx->go_frame = frame->number;
    snprintf(ctx->message, sizeof ctx->message, "%s",
             terms.full      ? "part of the filter does not apply here; Esc: back"
             : terms.several ? "all of them: (others) cannot be listed separately; Esc: back"
             : terms.no_text ? "the filter text does not apply to this list; Esc: back"
             : column >= 0   ? back
                             : "the whole history; Esc: back");
    return true;
}
