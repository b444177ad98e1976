// Checks an entered filter for mistakes, so that an empty screen is not mistaken for a result.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "model/nearest.h"
#include "views/escape.h"
#include "views/filter.h"

#define NAMES_MAX 2048
#define SHOWN 48 // cells of a name or a value quoted in a message

static const struct table_def *def_at(const struct frame *frame, size_t i) {
    for (uint16_t s = 0; s < frame->n_sections; s++)
        for (size_t t = 0; t < section_n_defs(frame->sections[s]); t++)
            if (i-- == 0)
                return section_def_at(frame->sections[s], t);
    return NULL;
}

// The most similar column name of the frame; NULL: none is similar.
static const char *nearest_column(const struct frame *frame, const char *name) {
    const char *names[NAMES_MAX];
    const struct table_def *def;
    size_t n = 0;

    for (size_t i = 0; (def = def_at(frame, i)); i++)
        for (uint16_t c = 0; c < def->n_columns && n < NAMES_MAX - 1; c++)
            names[n++] = def->columns[c].name;
    names[n] = NULL;
    return name_nearest(name, names);
}

static enum filter_doubt unknown_column(const struct frame *frame, const char *name, size_t length, bool compares,
                                        char *out, size_t size) {
    char word[64], shown[SHOWN + 1], meant[96] = "";

    snprintf(word, sizeof(word), "%.*s", (int)length, name);
    escape_fit(word, SHOWN, shown, sizeof(shown));
    const char *nearest =
        length < (compares ? 3 : 5) ? NULL : nearest_column(frame, word); // short names are similar by coincidence
    if (nearest)
        snprintf(meant, sizeof(meant), "did you mean %s? ", nearest);
    if (compares)
        snprintf(out, size, "no column %s: %s`ktop --list columns` lists them", shown, meant);
    else
        snprintf(out, size, "no column %s, used as text: %s`ktop --list columns` lists them", shown, meant);
    return compares ? FILTER_WRONG : FILTER_NOTE;
}

// A name, an operator, and a value: returns the length of the name; 0: not a term. *compares: an order comparison,
// which plain text rarely contains.
static size_t term_like(const char *text, bool *compares) {
    size_t n = 0;

    if (!isalpha((unsigned char)text[0]))
        return 0;
    while (isalnum((unsigned char)text[n]) || text[n] == '_')
        n++;
    size_t signs = strspn(text + n, "<>=!~");
    *compares = text[n] == '<' || text[n] == '>' || (text[n] == '!' && text[n + 1] == '=');
    return signs && signs <= 2 && text[n + signs] && text[n + signs] != ' ' ? n : 0;
}

static const char *unit_examples(enum unit unit) {
    switch (unit) {
    case UNIT_US:
    case UNIT_US_PER_S:
        return "expected a time such as 500us, 10ms or 2s";
    case UNIT_S:
        return "expected a time such as 10ms or 2s, or a clock time such as 14:13:20";
    case UNIT_BYTES:
    case UNIT_BYTES_PER_S:
    case UNIT_KIB:
        return "expected a size such as 512, 64K, 3M or 2G";
    default:
        return "expected a number such as 12, 0.5, 10k or 3M";
    }
}

// A number in the format of the screen: equality with it is legal.
static bool as_shown(const struct column *column, const char *value) {
    if (column->format)
        return true;
    if (!isdigit((unsigned char)value[value[0] == '-']))
        return false;
    const char *rest = value + strspn(value, "-0123456789.");
    switch (column->unit) {
    case UNIT_S:
        return !rest[strspn(rest, "0123456789.:dhms")];
    case UNIT_HZ:
        return !strcmp(rest + strspn(rest, "kMG"), "Hz");
    case UNIT_BYTES:
    case UNIT_BYTES_PER_S:
    case UNIT_KIB:
        return strlen(rest) == 1 && strchr("BPE", *rest);
    default:
        return strlen(rest) == 1 && strchr("PE", *rest);
    }
}

static bool number_of(const struct column *column, const char *value, double *out) {
    double step;
    return filter_number(column, value, out) ||
           (column->unit == UNIT_S && strchr(value, ':') && filter_clock(value, out, &step));
}

static bool wrong_value(const struct column *column, const char *value, char *out, size_t size) {
    static const char digits[] = "-+.0123456789";
    char shown[SHOWN + 1], unit[SHOWN + 1];
    const char *rest = value + strspn(value, digits);

    escape_fit(*value ? value : "\"\"", SHOWN, shown, sizeof(shown));
    escape_fit(rest, SHOWN, unit, sizeof(unit));
    if (strchr(rest, ':'))
        snprintf(out, size, "%s: %s is not a time: %s", column->name, shown, unit_examples(column->unit));
    else if (rest > value && *rest)
        snprintf(out, size, "%s: invalid unit %s in %s: %s", column->name, unit, shown, unit_examples(column->unit));
    else
        snprintf(out, size, "%s: %s is not a number: %s", column->name, shown, unit_examples(column->unit));
    return true;
}

// LOW..HIGH, of which one may be missing.
static bool wrong_range(const struct column *column, const char *value, const char *dots, char *out, size_t size) {
    const char *high = dots + 2;
    char low[FILTER_SIZE], shown_low[SHOWN + 1], shown_high[SHOWN + 1];
    double from, to;

    snprintf(low, sizeof(low), "%.*s", (int)(dots - value), value);
    if (!low[0] && !*high) {
        snprintf(out, size, "%s: expected a range: 1..5, 1.. or ..5", column->name);
        return true;
    }
    if (low[0] && !number_of(column, low, &from))
        return wrong_value(column, low, out, size);
    if (*high && !number_of(column, high, &to))
        return wrong_value(column, high, out, size);
    bool is_clock = strchr(low, ':') && strchr(high, ':'); // may cross midnight
    if (!low[0] || !*high || from < to || (is_clock && from > to))
        return false;
    escape_fit(low, SHOWN, shown_low, sizeof(shown_low));
    escape_fit(high, SHOWN, shown_high, sizeof(shown_high));
    if (from > to)
        snprintf(out, size, "%s: %s is above %s: write %s..%s", column->name, shown_low, shown_high, shown_high,
                 shown_low);
    else
        snprintf(out, size, "%s: empty range %s..%s: a range excludes its upper end", column->name, shown_low,
                 shown_high);
    return true;
}

static bool wrong_for(const struct column *column, const struct filter *filter, size_t term, char *out, size_t size) {
    enum filter_operator op = filter->terms[term].op;
    const char *value = filter_value(filter, term);
    bool quoted = filter->terms[term].quoted;
    bool equal = op == FILTER_EQUAL || op == FILTER_UNEQUAL;
    const char *dots = strstr(value, "..");
    double number;

    if (column->type == COLUMN_TEXT || op == FILTER_CONTAINS || !filter_has_value(filter, term) ||
        number_of(column, value, &number))
        return false;
    if (equal && dots)
        return wrong_range(column, value, dots, out, size);
    if (equal && ((!strcmp(value, "-") && !quoted) || as_shown(column, value)))
        return false;
    return wrong_value(column, value, out, size);
}

// Columns of the same name may differ from table to table: one that can have the value is enough.
static bool term_wrong(const struct filter *filter, size_t term, const struct frame *frame, char *out, size_t size) {
    const struct table_def *def;
    bool wrong = false;

    for (size_t i = 0; (def = def_at(frame, i)); i++) {
        int column = table_column(def, filter->terms[term].name);
        if (column < 0)
            continue;
        wrong = wrong_for(&def->columns[column], filter, term, out, size);
        if (!wrong)
            return false;
    }
    return wrong;
}

static enum filter_doubt one_too_many(const char *word, char *out, size_t size) {
    snprintf(out, size, "too many terms at %s: a filter has at most %d", word, FILTER_TERMS_MAX);
    return FILTER_WRONG;
}

// Text after a blank belongs to the value when it is no term.
static enum filter_doubt tail_doubt(const struct filter *filter, size_t term, const struct frame *frame, char *out,
                                    size_t size) {
    char word[64];
    bool compares;

    for (const char *at = filter_value(filter, term); !filter->terms[term].quoted && (at = strchr(at, ' '));) {
        at += strspn(at, " ");
        size_t length = term_like(at, &compares);
        if (!length)
            continue;
        snprintf(word, sizeof(word), "%.*s", (int)length, at);
        return frame_has_column(frame, word) ? one_too_many(word, out, size)
                                             : unknown_column(frame, at, length, compares, out, size);
    }
    return FILTER_MEANT;
}

static enum filter_doubt flaw_doubt(const struct filter *filter, const char *text, const struct frame *frame, char *out,
                                    size_t size) {
    const char *at = text + filter->flaw_at;
    char shown[SHOWN + 1], word[64];
    bool compares;
    size_t length = term_like(at, &compares);

    escape_fit(at, SHOWN, shown, sizeof(shown));
    snprintf(word, sizeof(word), "%.*s", (int)length, at);
    if (filter->flaw == FILTER_OPEN)
        snprintf(out, size, "%s: missing closing quote (write \\\" for a quote inside)", shown);
    else if (at[-1] != ' ')
        snprintf(out, size, "%s follows a closing quote: write \\\" for a quote inside a value", shown);
    else if (!filter->n)
        snprintf(out, size, "%s follows a quoted text: a filter is one text, or terms such as comm=\"a b\" pid=1",
                 shown);
    else if (!length)
        snprintf(out, size, "%s follows a quoted value and is not a term such as pid=1", shown);
    else if (frame_has_column(frame, word))
        return one_too_many(word, out, size);
    else
        unknown_column(frame, at, length, true, out, size);
    return FILTER_WRONG;
}

enum filter_doubt filter_check(const char *text, const struct frame *frame, char *out, size_t size) {
    struct filter filter;
    bool compares;

    out[0] = '\0';
    if (strlen(text) >= FILTER_SIZE) {
        snprintf(out, size, "filter too long: %zu bytes, at most %d", strlen(text), FILTER_SIZE - 1);
        return FILTER_WRONG;
    }
    filter_parse(text, frame, &filter);
    if (filter.flaw)
        return flaw_doubt(&filter, text, frame, out, size);
    if (!filter.n) {
        size_t length = term_like(text, &compares);
        return length ? unknown_column(frame, text, length, compares, out, size) : FILTER_MEANT;
    }
    for (size_t i = 0; i < filter.n; i++) {
        bool wrong = term_wrong(&filter, i, frame, out, size);
        enum filter_doubt tail = tail_doubt(&filter, i, frame, out, size);
        if (wrong || tail != FILTER_MEANT)
            return wrong ? FILTER_WRONG : tail;
    }
    return FILTER_MEANT;
}
