// The pane's filter applied to histograms: it narrows them by their keys; the title names the terms that do not apply.
#include <stdio.h>
#include <string.h>

#include "views/escape.h"
#include "views/hist/select.h"

int hist_filter_term(const struct hist_select *select, const char *column) {
    for (size_t i = 0; i < select->filter.n; i++)
        if (!strcmp(select->filter.terms[i].name, column) && filter_has_value(&select->filter, i))
            return (int)i;
    return -1;
}

bool hist_filter_passes(const struct hist_select *select, const struct hist_def *def, const union cell *keys) {
    return select->unmatched || filter_passes(&select->filter, def->keys, def->n_keys, keys);
}

bool hist_has_key(const struct hist_def *def, const char *column) {
    for (int k = 0; k < def->n_keys; k++)
        if (!strcmp(def->keys[k].name, column))
            return true;
    return false;
}

void hist_filter_text(const struct hist_select *select, const struct hist_def *def, char *out, size_t size) {
    size_t used = 0;

    out[0] = '\0';
    if (select->unmatched)
        snprintf(out, size, ", not filtered");
    for (size_t i = 0; i < select->filter.n && used < size; i++)
        if (hist_filter_term(select, select->filter.terms[i].name) == (int)i && // a column counts once
            !hist_has_key(def, select->filter.terms[i].name)) {
            int n = snprintf(out + used, size - used, "%s%s", used ? ", " : ", not filtered by ",
                             select->filter.terms[i].name);
            used += n > 0 ? (size_t)n : 0;
        }
    if (!select->unmatched && !select->filter.n && select->filter.text[0]) {
        char text[FILTER_SIZE];
        escape_text(select->filter.text, strlen(select->filter.text), text, sizeof text);
        snprintf(out, size, ", with \"%s\"", text);
    }
}

static bool frame_matches(const struct filter *filter, const char *name, const struct frame *frame) {
    const struct hist_set *set = frame ? frame_hists(frame, name) : NULL;
    for (size_t i = 0; set && i < hist_set_count(set); i++) {
        const union cell *keys;
        if (hist_set_at(set, i, &keys)->count &&
            filter_passes(filter, hist_set_def(set)->keys, hist_set_def(set)->n_keys, keys))
            return true;
    }
    return false;
}

static bool table_matches(const struct filter *filter, const struct hist_measure *measure, const struct frame *frame) {
    const struct table *table = frame ? frame_table(frame, measure->table) : NULL;
    const union cell *row;
    size_t at = 0;
    while (table && (row = table_next(table, &at)))
        if (filter_passes(filter, measure->def->keys, measure->def->n_keys, row))
            return true;
    return false;
}

size_t hist_filter_fits(const struct filter *filter, const struct hist_spec *spec, const char *name,
                        const struct look *look) {
    const struct hist_def *def = hist_set_def_of(spec, name, look);
    const struct hist_measure *measure = spec->measures;
    size_t n = 0;

    if (!def)
        return 0;
    for (size_t i = 0; i < filter->n; i++)
        n += filter_has_value(filter, i) && hist_has_key(def, filter->terms[i].name);
    if (filter->n || !filter->text[0])
        return n;
    while (measure && measure->set && strcmp(measure->set, name) != 0)
        measure++;
    bool table = measure && measure->set && measure->table;
    for (size_t f = look->n_window + 1; f-- > 0;) {
        const struct frame *frame = f == look->n_window ? look->frame : look->window[f];
        if (table ? table_matches(filter, measure, frame) : frame_matches(filter, name, frame))
            return 1;
    }
    return 0;
}

static const char *column_of(const struct hist_spec *spec, const char *set) {
    for (const struct hist_measure *measure = spec->measures; measure && measure->set; measure++)
        if (!strcmp(measure->set, set))
            return measure->column;
    return NULL;
}

// Moves to the set of the same measure that fits the filter best, and back. Returns how well it fits.
static size_t follow(struct hist_select *select, const struct hist_spec *spec, const struct look *look) {
    if (select->before)
        select->set = select->before;
    select->before = NULL;
    const char *now = hist_select_set(select, spec), *column = column_of(spec, now), *best = now;
    size_t most = hist_filter_fits(&select->filter, spec, now, look);
    for (size_t i = 0; column && spec->sets[i]; i++) {
        const char *other = column_of(spec, spec->sets[i]);
        size_t n = other && !strcmp(other, column) ? hist_filter_fits(&select->filter, spec, spec->sets[i], look) : 0;
        if (n <= most)
            continue;
        most = n;
        best = spec->sets[i];
    }
    if (best != now) {
        select->before = now;
        select->set = best;
    }
    return most;
}

// Whether the filter separates the candidates for the busiest one: a text does if the busiest that it left contains it.
static bool separates_busiest(const struct hist_select *select) {
    return hist_filter_term(select, select->busy_column) >= 0 ||
           (!select->filter.n && select->filter.text[0] && strcasestr(select->busy_value, select->filter.text));
}

void hist_filter_settle(struct part_context *ctx) {
    struct hist_select *select = ctx->state;
    const struct hist_spec *spec = ctx->part->spec;
    const struct look *look = ctx->look;
    struct filter now;

    filter_parse(pane_filter(ctx->pane, ctx->part), look->frame, &now);
    bool changed = now.n != select->filter.n || memcmp(now.text, select->filter.text, sizeof now.text) != 0;
    if (changed) {
        bool separated = separates_busiest(select);
        select->filter = now;
        select->seeks = true;
        if (separated || hist_filter_term(select, select->busy_column) >= 0)
            select->busy_value[0] = '\0';
        select->busy_number = 0; // the old choice may be filtered out now
        for (int k = 0; k < HIST_SELECT_KEYS; k++)
            if (hist_filter_term(select, select->key[k].column) >= 0)
                select->key[k].value[0] = select->key[k].label[0] = '\0';
        if (hist_filter_term(select, select->busy_column) >= 0)
            select->by_hand = false;
    }
    bool any = now.n || now.text[0];
    if (!changed && !(any && look->frame && select->matched_number != look->frame->number))
        return;
    // The filtered device or process may appear later, with its first I/O.
    size_t fits = select->seeks ? follow(select, spec, look)
                                : hist_filter_fits(&select->filter, spec, hist_select_set(select, spec), look);
    select->seeks = select->seeks && any && !fits;
    select->unmatched = !now.n && any && look->frame && !fits;
    select->matched_number = look->frame ? look->frame->number : 0;
}
