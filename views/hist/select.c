// The choice among the histograms of a pane. It is kept by name, not by index: devices come and go.
#include "views/hist/select.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "views/escape.h"
#include "views/hist/part_heat.h"
#include "views/hist/part_hist.h"
#include "views/part_table.h"

const char *hist_select_set(const struct hist_select *select, const struct hist_spec *spec) {
    for (size_t i = 0; select->set && spec->sets[i]; i++)
        if (!strcmp(select->set, spec->sets[i]))
            return spec->sets[i];
    return spec->sets[0];
}

static bool is_filled(const char *name, const struct frame *frame) {
    const struct hist_set *set = frame ? frame_hists(frame, name) : NULL;
    return set && hist_set_count(set);
}

bool hist_select_filled(struct hist_select *select, const struct hist_spec *spec, const struct look *look) {
    for (size_t i = 0; spec->sets[i]; i++) {
        bool filled = is_filled(spec->sets[i], look->frame);
        for (size_t k = look->n_window; !filled && k > 0; k--)
            filled = is_filled(spec->sets[i], look->window[k - 1]);
        if (filled && !select->set)
            select->set = spec->sets[i];
        if (filled)
            return true;
    }
    return false;
}

static const struct hist_measure *measure_of(const struct hist_spec *spec, const char *set) {
    for (const struct hist_measure *measure = spec->measures; measure && measure->set; measure++)
        if (!strcmp(measure->set, set))
            return measure;
    return NULL;
}

const struct hist_measure *hist_select_measure(const struct hist_select *select, const struct hist_spec *spec) {
    return measure_of(spec, hist_select_set(select, spec));
}

const char *hist_select_chosen(const struct hist_select *select, const char *column) {
    for (int k = 0; k < HIST_SELECT_KEYS; k++)
        if (select->key[k].value[0] && !strcmp(select->key[k].column, column))
            return select->key[k].value;
    return !select->by_hand && select->busy_value[0] && !strcmp(select->busy_column, column) ? select->busy_value
                                                                                             : NULL;
}

void hist_select_key_text(const struct column *column, union cell value, char *out, size_t size) {
    out[0] = '\0';
    if (cell_is_null(column, value))
        return;
    if (column->type == COLUMN_TEXT)
        escape_text(text_bytes(value.text), text_length(value.text), out, size);
    else
        snprintf(out, size, "%.0f", value.num);
}

static bool is_op(const struct column *column) {
    return !strcmp(column->name, "op");
}

// A one-letter operation matches all its flags: R is every read.
static bool key_matches(const struct column *column, union cell value, const char *want) {
    char text[FILTER_SIZE];
    if (cell_is_null(column, value))
        return false;
    if (column->type == COLUMN_TEXT) {
        const char *bytes = text_bytes(value.text);
        if (is_op(column) && !want[1])
            return bytes[0] == want[0];
        if (!strcmp(bytes, want))
            return true;
        if (!strchr(want, '\\') && strlen(want) < sizeof text - 1) // neither escaped nor cut
            return false;
    }
    hist_select_key_text(column, value, text, sizeof text);
    return !strcmp(text, want);
}

// True if the histogram with these keys is chosen, ignoring the choice of the key `except` (-1: none), and passes the
// filter.
static bool is_chosen_but(const struct hist_select *select, const struct hist_def *def, const union cell *keys,
                          int except) {
    for (int i = 0; i < def->n_keys; i++) {
        const char *want = i == except ? NULL : hist_select_chosen(select, def->keys[i].name);
        if (want && !key_matches(&def->keys[i], keys[i], want))
            return false;
    }
    return hist_filter_passes(select, def, keys);
}

static bool is_chosen(const struct hist_select *select, const struct hist_def *def, const union cell *keys) {
    return is_chosen_but(select, def, keys, -1);
}

const struct hist_set *hist_select_hists(const struct hist_select *select, const struct hist_spec *spec,
                                         const struct frame *frame) {
    const char *name = hist_select_set(select, spec);
    return frame_hists_repeated(frame, name) ? NULL : frame_hists(frame, name);
}

const struct hist *hist_select_next(const struct hist_select *select, const struct hist_set *set, size_t *at) {
    while (set && *at < hist_set_count(set)) {
        const union cell *keys;
        const struct hist *hist = hist_set_at(set, (*at)++, &keys);
        if (hist->count && is_chosen(select, hist_set_def(set), keys))
            return hist;
    }
    return NULL;
}

bool hist_select_values(const struct hist_select *select, const struct hist_spec *spec, const struct frame *frame,
                        size_t *at, struct hist_values *out) {
    const char *set = hist_select_set(select, spec);
    const struct hist_measure *measure = measure_of(spec, set);
    if (!measure || !measure->table) {
        const struct hist *hist = hist_select_next(select, hist_select_hists(select, spec, frame), at);
        if (hist)
            *out = (struct hist_values){hist->count, hist->min, hist->max, hist->n_buckets, hist->buckets, {0, 0}};
        return hist != NULL;
    }
    const struct table *table = frame_table(frame, measure->table);
    const struct table *better = measure->better ? frame_table(frame, measure->better) : NULL;
    int column = table ? table_column(table_def(table), set) : -1;
    const union cell *row;
    while (column >= 0 && (row = table_next(table, at))) {
        double value = table_better(better, row, set, row[column].num) * measure->def->divisor;
        if (!(value >= 0) || !is_chosen(select, measure->def, row))
            continue;
        uint64_t stored = (uint64_t)value;
        *out = (struct hist_values){1, stored, stored, 1, &out->one, {hist_bucket(stored), 1}};
        return true;
    }
    return false;
}

const struct hist_def *hist_set_def_of(const struct hist_spec *spec, const char *name, const struct look *look) {
    const struct hist_measure *measure = measure_of(spec, name);
    if (measure && measure->table)
        return look->frame && frame_table(look->frame, measure->table) ? measure->def : NULL;
    const struct hist_set *set = look->frame ? frame_hists(look->frame, name) : NULL;
    for (size_t i = look->n_window; !set && i > 0; i--)
        set = frame_hists(look->window[i - 1], name);
    return set ? hist_set_def(set) : NULL;
}

const struct hist_def *hist_select_def(const struct hist_select *select, const struct hist_spec *spec,
                                       const struct look *look) {
    return hist_set_def_of(spec, hist_select_set(select, spec), look);
}

bool hist_select_measured(const struct hist_select *select, const struct hist_spec *spec, const struct frame *frame) {
    const char *set = hist_select_set(select, spec);
    const struct hist_measure *measure = measure_of(spec, set);
    for (size_t i = 0; frame && i < frame->n_sections; i++) {
        enum section_state state = section_state(frame->sections[i]);
        if (measure && measure->table ? section_find_table(frame->sections[i], measure->table) != NULL
                                      : section_find_hists(frame->sections[i], set) != NULL)
            return state == SECTION_OK || state == SECTION_DEGRADED;
    }
    return false;
}

static const char *label_of(const struct hist_select *select, const char *column) {
    int term = hist_filter_term(select, column);
    if (term >= 0 && select->filter.terms[term].op == FILTER_EQUAL)
        return "(filter)";
    if (!select->by_hand && select->busy_value[0] && !strcmp(select->busy_column, column))
        return "(busiest)";
    for (int k = 0; k < HIST_SELECT_KEYS; k++)
        if (!strcmp(select->key[k].column, column))
            return select->key[k].label;
    return "";
}

// A process name goes with its PID and cannot be chosen by itself.
static bool is_label(const struct hist_def *def, int key) {
    return key == 1 && !strcmp(def->keys[0].name, "pid") && !strcmp(def->keys[1].name, "comm");
}

// The filter's term for the column as typed, escaped for a screen; without the column and "=" if `brief`. False: none.
static bool term_words(const struct hist_select *select, const char *column, bool brief, char *out, size_t size) {
    int term = hist_filter_term(select, column);

    if (term >= 0)
        filter_term_shown(&select->filter, (size_t)term, brief, out, size);
    return term >= 0;
}

// The choice of a key and its origin: "op R (filter)", "op all".
static void key_words(const struct hist_select *select, const char *column, char *out, size_t size) {
    const char *want = hist_select_chosen(select, column), *label = want ? label_of(select, column) : "(filter)";
    char term[FILTER_SIZE + 8];

    if (want)
        snprintf(out, size, "%s %s%s%s", column, want, *label ? " " : "", label);
    else if (!term_words(select, column, true, term, sizeof term))
        snprintf(out, size, "%s all", column);
    else if (select->filter.terms[hist_filter_term(select, column)].op == FILTER_EQUAL)
        snprintf(out, size, "%s %s (filter)", column, term);
    else
        snprintf(out, size, "%s (filter)", term);
}

size_t hist_select_text(const struct hist_select *select, const struct hist_def *def, char *out, size_t size) {
    char words[FILTER_SIZE + 80];
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; def && i < def->n_keys && used < size; i++) {
        if (is_label(def, i) && hist_filter_term(select, def->keys[i].name) < 0)
            continue;
        key_words(select, def->keys[i].name, words, sizeof words);
        int n = snprintf(out + used, size - used, "%s%s", i ? ", " : "", words);
        used += n > 0 ? (size_t)n : 0;
    }
    if (def && used < size) {
        hist_filter_text(select, def, out + used, size - used);
        used += strlen(out + used);
    }
    return used < size ? used : size - 1;
}

// The choice without key names and without keys that are not narrowed: "vda, R"; then the filter terms that do not
// apply, or (`briefest`) only that there are some.
static void brief_text(const struct hist_select *select, const struct hist_def *def, bool briefest, char *out,
                       size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < def->n_keys && used < size; i++) {
        const char *column = def->keys[i].name, *want = is_label(def, i) ? NULL : hist_select_chosen(select, column);
        char term[FILTER_SIZE + 8];
        bool filtered = !want && term_words(select, column, true, term, sizeof term);
        int n = want || filtered ? snprintf(out + used, size - used, "%s%s", used ? ", " : "", want ? want : term) : 0;
        used += n > 0 ? (size_t)n : 0;
    }
    char rest[160];
    hist_filter_text(select, def, rest, sizeof rest);
    if (briefest && rest[0])
        snprintf(rest, sizeof rest, select->filter.n ? ", filtered in part" : ", filtered");
    if (used < size)
        snprintf(out + used, size - used, "%s", used || !rest[0] ? rest : rest + strlen(", "));
}

// The span of the measure if there is room for it; the choice always.
void hist_select_status(struct part_context *ctx, const char *more, char *out, size_t size) {
    const struct hist_select *select = ctx->state;
    const struct hist_def *def = hist_select_def(select, ctx->part->spec, ctx->look);
    char chosen[2 * FILTER_SIZE];

    if (!def)
        return;
    hist_select_text(select, def, chosen, sizeof chosen);
    if (def->span) {
        snprintf(out, size, "%s (%s)%s%s%s", def->title, def->span, chosen[0] ? ", " : "", chosen, more);
        if (text_width(out) <= ctx->room)
            return;
    }
    snprintf(out, size, "%s%s%s%s", def->title, chosen[0] ? ", " : "", chosen, more);
    for (int briefest = 0; briefest < 2 && text_width(out) > ctx->room; briefest++) {
        brief_text(select, def, briefest, chosen, sizeof chosen);
        snprintf(out, size, "%s%s%s%s", def->title, chosen[0] ? ", " : "", chosen, more);
    }
    if (text_width(out) <= ctx->room)
        return;
    // Cgroup paths differ at the end.
    const char *tail = chosen;
    int room = ctx->room - text_width(def->title) - text_width(more) - 3;
    while (*tail && (text_width(tail) > room || ((unsigned char)*tail & 0xc0) == 0x80))
        tail++;
    snprintf(out, size, "%s, \u2026%s%s", def->title, tail, more);
}

void hist_select_title(const struct part_context *ctx, const char *kind, char *out, size_t size) {
    const struct hist_measure *measure = hist_select_measure(ctx->state, ctx->part->spec);

    snprintf(out, size, "%s %s", measure && measure->noun ? measure->noun : "Latency", kind);
}

// ---- keys ----

static bool lies_past(const char *text, const char *mark, int direction, bool number) {
    double a = number ? strtod(text, NULL) : 0, b = number ? strtod(mark, NULL) : 0;
    int order = a < b ? -1 : a > b ? 1 : strcmp(text, mark);
    return direction > 0 ? order > 0 : order < 0;
}

struct next {
    const struct hist_select *select;
    int key, direction;
    const char *now; // "": all, which is between the last and the first
    char value[FILTER_SIZE], label[32];
};

// Takes over the text if it is past the chosen one and nearer than the candidate.
static bool consider(struct next *next, const char *text, bool number) {
    if (!text[0] || (next->now[0] && !lies_past(text, next->now, next->direction, number)) ||
        (next->value[0] && !lies_past(next->value, text, next->direction, number)))
        return false;
    snprintf(next->value, sizeof next->value, "%s", text);
    return true;
}

// Whether the label, a list separated by ", ", contains the name.
static bool label_has(const char *label, const char *name) {
    size_t length = strlen(name);
    for (const char *at = label; length && (at = strstr(at, name)); at++)
        if ((at == label || at[-1] == ' ') && (!at[length] || at[length] == ','))
            return true;
    return !length;
}

// Threads of one process may have several names, and PID 0 has two meanings.
static void label_add(struct next *next, const struct column *column, union cell value) {
    char name[sizeof next->label];
    size_t used = strlen(next->label);
    hist_select_key_text(column, value, name, sizeof name);
    if (label_has(next->label, name))
        return;
    if (used + strlen(name) + 2 < sizeof next->label)
        snprintf(next->label + used, sizeof next->label - used, "%s%s", used ? ", " : "", name);
    else if (used && !strstr(next->label, "\u2026"))
        snprintf(next->label + used, sizeof next->label - used, "%s", used + 4 < sizeof next->label ? "\u2026" : "");
}

static void offer_keys(struct next *next, const struct hist_def *def, const union cell *keys) {
    const struct column *column = &def->keys[next->key];
    char text[FILTER_SIZE];
    if (!is_chosen_but(next->select, def, keys, next->key))
        return;
    hist_select_key_text(column, keys[next->key], text, sizeof text);
    if (consider(next, text, column->type == COLUMN_NUMBER))
        next->label[0] = '\0';
    if (next->key == 0 && def->n_keys > 1 && is_label(def, 1) && !strcmp(next->value, text))
        label_add(next, &def->keys[1], keys[1]);
    if (is_op(column) && text[0]) {
        text[1] = '\0';
        consider(next, text, false);
    }
}

// The next (direction 1) or previous (-1) value in order, over all frames of the window. Only one that occurs together
// with the other choices.
static void next_value(const struct look *look, const struct hist_spec *spec, const char *name,
                       const struct hist_def *def, struct next *next) {
    const struct hist_measure *measure = measure_of(spec, name);
    for (size_t f = 0; f <= look->n_window; f++) {
        const struct frame *frame = f < look->n_window ? look->window[f] : look->frame;
        if (!frame)
            continue;
        if (measure && measure->table) {
            const struct table *table = frame_table(frame, measure->table);
            int column = table ? table_column(table_def(table), name) : -1;
            size_t at = 0;
            for (const union cell *row; column >= 0 && (row = table_next(table, &at));)
                if (!isnan(row[column].num))
                    offer_keys(next, def, row);
            continue;
        }
        const struct hist_set *set = frame_hists(frame, name);
        for (size_t i = 0; set && i < hist_set_count(set); i++) {
            const union cell *keys;
            if (hist_set_at(set, i, &keys)->count)
                offer_keys(next, def, keys);
        }
    }
}

static void choose(struct hist_select *select, const char *column, const char *value, const char *label) {
    int k = 0;
    while (k < HIST_SELECT_KEYS - 1 && select->key[k].column[0] && strcmp(select->key[k].column, column) != 0)
        k++;
    snprintf(select->key[k].column, sizeof select->key[k].column, "%s", column);
    snprintf(select->key[k].value, sizeof select->key[k].value, "%s", value);
    snprintf(select->key[k].label, sizeof select->key[k].label, "%s", label);
    select->by_hand |= !strcmp(column, select->busy_column);
}

void hist_select_choose(struct pane *pane, const struct column *column, union cell value) {
    char text[FILTER_SIZE];
    hist_select_key_text(column, value, text, sizeof text);
    for (size_t i = 0; i < pane->view->n_parts; i++) {
        const struct part_kind *kind = pane->view->parts[i].kind;
        if (kind != &part_hist && kind != &part_heat)
            continue;
        struct hist_select *select = pane->parts[i];
        choose(select, column->name, text, "");
        select->by_hand = text[0] != '\0';
        select->busy_number = 0;
    }
}

void hist_select_share(const struct part_context *ctx) {
    const struct hist_select *mine = ctx->state;
    for (size_t i = 0; i < ctx->pane->view->n_parts; i++) {
        const struct part_kind *kind = ctx->pane->view->parts[i].kind;
        if (kind == &part_hist || kind == &part_heat) {
            struct hist_select *other = ctx->pane->parts[i];
            if (other != mine)
                *other = *mine;
        }
    }
}

// The next measure that some frame has.
static void next_measure(struct part_context *ctx, int direction) {
    struct hist_select *select = ctx->state;
    const struct hist_spec *spec = ctx->part->spec;
    size_t n = 0, at = 0;
    while (spec->sets[n])
        n++;
    const char *now = hist_select_set(select, spec);
    while (spec->sets[at] != now)
        at++;
    for (size_t step = 1; step <= n; step++) {
        size_t i = (at + (direction > 0 ? step : n - step % n)) % n;
        const struct hist_def *def = hist_set_def_of(spec, spec->sets[i], ctx->look);
        if (!def)
            continue;
        // The new measure has other keys. The choice of a key that it lacks is kept for the way back.
        select->set = spec->sets[i];
        select->before = NULL;
        select->seeks = select->unmatched = false;
        select->matched_number = 0;
        snprintf(ctx->message, sizeof ctx->message, "%s%s%s", def->title, def->span ? ": " : "",
                 def->span ? def->span : "");
        return;
    }
}

bool hist_select_key(struct part_context *ctx) {
    struct hist_select *select = ctx->state;
    const struct hist_spec *spec = ctx->part->spec;
    const char *name = hist_select_set(select, spec);
    const struct hist_def *def = hist_select_def(select, spec, ctx->look);

    if (ctx->key == 'm' || ctx->key == 'M') {
        next_measure(ctx, ctx->key == 'm' ? 1 : -1);
    } else if (ctx->key == 'v' || ctx->key == 'V' || ctx->key == 't' || ctx->key == 'T') {
        struct next next = {.select = select, .direction = ctx->key == 'V' || ctx->key == 'T' ? -1 : 1, .now = ""};
        if (!def)
            return false;
        if (ctx->key == 't' || ctx->key == 'T')
            for (next.key = 0; next.key < def->n_keys && !is_op(&def->keys[next.key]);)
                next.key++;
        if (next.key >= def->n_keys)
            return true;
        const char *column = def->keys[next.key].name, *now = hist_select_chosen(select, column);
        next.now = now ? now : "";
        next_value(ctx->look, spec, name, def, &next);
        choose(select, column, next.value, next.label);
        hist_select_text(select, def, ctx->message, sizeof ctx->message);
    } else {
        return false;
    }
    hist_select_share(ctx);
    return true;
}

bool hist_select_takes(const struct part *part, int key) {
    const struct hist_spec *spec = part->spec;
    return key == KEY_VIEW_ENTER ? spec->list != NULL
           : key == 'm'          ? spec->sets[1] != NULL
                                 : key != 't' || !spec->untyped;
}

size_t hist_select_sources(const struct part *part, const char **names, size_t max) {
    const struct hist_spec *spec = part->spec;
    size_t n = 0;
    for (size_t i = 0; spec->sets[i] && n < max; i++) {
        const struct hist_measure *measure = measure_of(spec, spec->sets[i]);
        names[n++] = measure && measure->table ? measure->table : spec->sets[i];
    }
    return n;
}
