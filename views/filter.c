// Filters that name a column (see the header). Text with '=' whose left side is no column stays plain text: command
// lines are full of them. Quotes are removed in place: a value is a part of the filter's text.
#include "views/filter.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "views/escape.h"

static const struct {
    const char *text;
    enum filter_operator op;
} operators[] = {
    {"!=", FILTER_UNEQUAL}, {">=", FILTER_MORE_EQUAL}, {"<=", FILTER_LESS_EQUAL}, {"=", FILTER_EQUAL},
    {">", FILTER_MORE},     {"<", FILTER_LESS},        {"~", FILTER_CONTAINS},
};
#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

// Possible start of a term: a name and an operator. Returns the length of both, or 0.
static size_t parse_like(const char *text, struct filter_term *out) {
    size_t n = 0;

    while ((isalnum((unsigned char)text[n]) || text[n] == '_') && n < sizeof(out->name) - 1) {
        out->name[n] = (char)tolower((unsigned char)text[n]);
        n++;
    }
    out->name[n] = '\0';
    for (size_t i = 0; n && i < N_OPERATORS; i++) {
        size_t length = strlen(operators[i].text);
        if (strncmp(text + n, operators[i].text, length) != 0)
            continue;
        out->op = operators[i].op;
        return n + length;
    }
    return 0;
}

// The start of a term at that place: the name is a column's. Returns its length or 0.
static size_t parse_start(const struct filter *filter, size_t at, const struct frame *frame, struct filter_term *out) {
    size_t length = parse_like(filter->text + at, out);

    out->value = (uint8_t)(at + length);
    return length && frame && frame_has_column(frame, out->name) ? length : 0;
}

static void flaw(struct filter *out, enum filter_flaw flaw, size_t at) {
    if (out->flaw)
        return;
    out->flaw = flaw;
    out->flaw_at = (uint8_t)at;
}

// Removes the quotes of a value that starts with one; it then begins one byte later. Returns its end.
static size_t unquote(struct filter *out, size_t at) {
    char *text = out->text;
    size_t from = at + 1, to = at + 1;

    while (text[from] && text[from] != '"') {
        if (text[from] == '\\' && (text[from + 1] == '"' || text[from + 1] == '\\'))
            from++;
        text[to++] = text[from++];
    }
    if (!text[from])
        flaw(out, FILTER_OPEN, at);
    from += text[from] == '"';
    memset(text + to, 0, from - to);
    return from;
}

static void parse_text(struct filter *out) {
    size_t size = sizeof(out->text), end = unquote(out, 0), rest = end + strspn(out->text + end, " ");

    if (out->text[rest])
        flaw(out, FILTER_BEHIND, rest);
    memmove(out->text, out->text + 1, size - 1);
    size_t length = strlen(out->text);
    memset(out->text + length, 0, size - length);
}

// Parses the value of the newest term. Returns the start of the next value; 0: no further term.
static size_t parse_value(struct filter *out, size_t at, const struct frame *frame) {
    struct filter_term *term = &out->terms[out->n++];
    size_t length = 0, blanks = 0, begin = at;

    term->quoted = out->text[at] == '"';
    if (term->quoted) {
        term->value = (uint8_t)(at + 1);
        begin = at = unquote(out, at);
    }
    // A blank ends the value only before another term: program names contain blanks.
    while (out->text[at]) {
        blanks = strspn(out->text + at, " ");
        if (blanks && out->n < FILTER_TERMS_MAX)
            length = parse_start(out, at + blanks, frame, &out->terms[out->n]);
        if (length)
            break;
        at += blanks ? blanks : 1;
    }
    size_t rest = begin + strspn(out->text + begin, " ");
    if (term->quoted && rest < at)
        flaw(out, FILTER_BEHIND, rest);
    if (length)
        out->text[at] = '\0';
    else if (!term->quoted)
        while (at > begin && out->text[at - 1] == ' ')
            out->text[--at] = '\0'; // as while the next term is typed
    return length ? at + blanks + length : 0;
}

bool filter_parse(const char *text, const struct frame *frame, struct filter *out) {
    memset(out, 0, sizeof(*out));
    snprintf(out->text, sizeof(out->text), "%s", text);
    if (out->text[0] == '"')
        parse_text(out);
    else
        for (size_t at = parse_start(out, 0, frame, &out->terms[0]); at;)
            at = parse_value(out, at, frame);
    return out->n > 0;
}

const char *filter_value(const struct filter *filter, size_t term) {
    return filter->text + filter->terms[term].value;
}

bool filter_has_value(const struct filter *filter, size_t term) {
    return *filter_value(filter, term) || filter->terms[term].quoted;
}

static const char *operator_text(enum filter_operator op) {
    size_t i = 0;

    while (operators[i].op != op)
        i++;
    return operators[i].text;
}

size_t filter_value_text(const char *value, bool quoted, char *out, size_t size) {
    char text[2 * FILTER_SIZE + 4] = "\"";
    size_t used = 1;

    if (!quoted && *value && *value != '"' && !strchr(value, ' ') && strcmp(value, "-") != 0)
        return (size_t)snprintf(out, size, "%s", value);
    for (; *value && used < sizeof(text) - 3; value++) {
        if (*value == '"' || *value == '\\')
            text[used++] = '\\';
        text[used++] = *value;
    }
    text[used] = '"';
    return (size_t)snprintf(out, size, "%s", text);
}

size_t filter_term_text(const struct filter *filter, size_t term, char *out, size_t size) {
    char value[2 * FILTER_SIZE + 4];

    snprintf(value, sizeof(value), "%s", filter_value(filter, term));
    if (filter->terms[term].quoted)
        filter_value_text(filter_value(filter, term), true, value, sizeof(value));
    return (size_t)snprintf(out, size, "%s%s%s", filter->terms[term].name, operator_text(filter->terms[term].op),
                            value);
}

size_t filter_term_shown(const struct filter *filter, size_t term, bool brief, char *out, size_t size) {
    char text[2 * FILTER_SIZE + 80];

    filter_term_text(filter, term, text, sizeof(text));
    const char *from = text;
    if (brief && filter->terms[term].op == FILTER_EQUAL)
        from += strlen(filter->terms[term].name) + 1;
    return escape_text(from, strlen(from), out, size);
}

// The factor of a suffix as shown on screen, in the column's unit; 0: not a suffix of this unit.
static double suffix_factor(enum unit unit, const char *suffix) {
    static const struct {
        const char *text;
        double us, seconds, decimal, binary;
    } suffixes[] = {
        {"", 1, 1, 1, 1},
        {"ns", 1e-3, 1e-9, 0, 0},
        {"us", 1, 1e-6, 0, 0},
        {"ms", 1e3, 1e-3, 0, 0},
        {"s", 1e6, 1, 0, 0},
        {"k", 0, 0, 1e3, 1024},
        {"K", 0, 0, 1e3, 1024},
        {"M", 0, 0, 1e6, 1048576},
        {"G", 0, 0, 1e9, 1073741824},
        {"T", 0, 0, 1e12, 1099511627776},
        {"%", 0, 0, 1, 0},
    };
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (strcmp(suffix, suffixes[i].text) != 0)
            continue;
        switch (unit) {
        case UNIT_US:
        case UNIT_US_PER_S:
            return suffixes[i].us;
        case UNIT_S:
            return suffixes[i].seconds;
        case UNIT_BYTES:
        case UNIT_BYTES_PER_S:
            return suffixes[i].binary;
        case UNIT_KIB: // the plain number is in KiB; a suffix counts from bytes
            return *suffix ? suffixes[i].binary / 1024 : 1;
        default:
            return suffixes[i].decimal;
        }
    }
    return 0;
}

bool filter_number(const struct column *column, const char *value, double *out) {
    char *end;
    double number = strtod(value, &end), factor = suffix_factor(column->unit, end);

    *out = number * factor;
    return end != value && factor > 0;
}

bool filter_clock(const char *text, double *seconds, double *step) {
    static const char digits[] = "0123456789";
    int hour, minute, length = 0;

    if (sscanf(text, "%2d:%2d%n", &hour, &minute, &length) != 2 || hour < 0 || hour > 23 || minute < 0 || minute > 59)
        return false;
    *seconds = hour * 3600 + minute * 60;
    *step = 60;
    if (!text[length])
        return true;
    const char *second = text + length + 1;
    size_t whole = strspn(second, digits), point = second[whole] == '.';
    size_t fraction = point ? strspn(second + whole + 1, digits) : 0;
    if (text[length] != ':' || whole < 1 || whole > 2 || second[whole + point + fraction])
        return false;
    double of_minute = strtod(second, NULL);
    *seconds += of_minute;
    for (*step = 1; fraction > 0; fraction--)
        *step /= 10;
    return of_minute < 60;
}

// Seconds since local midnight of a time since 1970.
static double of_day(double time) {
    time_t whole = (time_t)time;
    struct tm tm;

    localtime_r(&whole, &tm);
    return tm.tm_hour * 3600.0 + tm.tm_min * 60.0 + tm.tm_sec + (time - (double)whole);
}

static bool is_clock(const struct column *column, union cell cell, const char *value) {
    return column->unit == UNIT_S && cell.num >= 1e9 && strchr(value, ':');
}

// < 0, 0, > 0; false when the value cannot be compared with the cell.
static bool compare(const struct column *column, union cell cell, const char *value, int *order) {
    double number, step, own = cell.num;

    if (column->type == COLUMN_TEXT) {
        *order = strcmp(text_bytes(cell.text), value);
        return true;
    }
    if (is_clock(column, cell, value)) { // with the precision shown
        if (!filter_clock(value, &number, &step))
            return false;
        // A double holds times since 1970 to a quarter of a microsecond.
        own = round(of_day(own) * 1e6);
        number = round(number * 1e6);
    } else if (!filter_number(column, value, &number)) {
        return false;
    }
    *order = (own > number) - (own < number);
    return true;
}

// A range of times of day may cross midnight.
static bool over_midnight(const struct column *column, union cell cell, const char *low, const char *high) {
    double from, to, step;

    return is_clock(column, cell, low) && filter_clock(low, &from, &step) && filter_clock(high, &to, &step) &&
           from > to;
}

// LOW..HIGH: either end may be missing.
static bool is_within(const struct column *column, union cell cell, const char *value, const char *dots) {
    const char *high = dots + 2;
    char low[64];
    int order;

    snprintf(low, sizeof(low), "%.*s", (int)(dots - value), value);
    bool past_low = !low[0] || (compare(column, cell, low, &order) && order >= 0);
    bool below_high = !*high || (compare(column, cell, high, &order) && order < 0);
    return over_midnight(column, cell, low, high) ? past_low || below_high : past_low && below_high;
}

static bool is_equal(const struct column *column, union cell cell, const char *value, bool quoted) {
    char raw[512], shown[1024];
    const char *dots = column->type == COLUMN_NUMBER ? strstr(value, "..") : NULL;
    double of_clock, step;
    int order;

    if (dots)
        return is_within(column, cell, value, dots);
    if (column->type == COLUMN_NUMBER && is_clock(column, cell, value) && filter_clock(value, &of_clock, &step)) {
        double past = round(of_day(cell.num) * 1e6) - round(of_clock * 1e6);
        return past >= 0 && past < round(step * 1e6);
    }
    if (compare(column, cell, value, &order) && !order)
        return true;
    if (column->type == COLUMN_TEXT && !strcmp(column->name, "op") && value[0] && !value[1] && !quoted)
        return text_bytes(cell.text)[0] == value[0];
    size_t n = column_format(column, cell, raw, sizeof(raw));
    escape_text(raw, n, shown, sizeof(shown));
    return !strcmp(shown, value);
}

static bool shown_contains(const struct column *column, union cell cell, const char *text) {
    char number[64];

    if (cell_is_null(column, cell))
        return false;
    if (column->type == COLUMN_TEXT)
        return strcasestr(text_bytes(cell.text), text) != NULL;
    column_format(column, cell, number, sizeof(number));
    return strcasestr(number, text) != NULL;
}

bool cell_contains(const struct column *column, bool is_key, union cell cell, const char *text) {
    bool may = column->type == COLUMN_TEXT || (is_key && isdigit((unsigned char)text[0]));
    return may && shown_contains(column, cell, text);
}

bool filter_holds(const struct filter *filter, size_t term, const struct column *column, union cell cell) {
    const char *value = filter_value(filter, term);
    enum filter_operator op = filter->terms[term].op;
    bool quoted = filter->terms[term].quoted;
    int order;

    if (!filter_has_value(filter, term))
        return true;
    if (cell_is_null(column, cell))
        return quoted || strcmp(value, "-") != 0 ? op == FILTER_UNEQUAL : op == FILTER_EQUAL;
    if (op == FILTER_EQUAL || op == FILTER_UNEQUAL)
        return is_equal(column, cell, value, quoted) == (op == FILTER_EQUAL);
    if (op == FILTER_CONTAINS)
        return shown_contains(column, cell, value);
    if (!compare(column, cell, value, &order))
        return false;
    switch (op) {
    case FILTER_MORE:
        return order > 0;
    case FILTER_MORE_EQUAL:
        return order >= 0;
    case FILTER_LESS:
        return order < 0;
    default:
        return order <= 0;
    }
}

bool filter_passes(const struct filter *filter, const struct column *columns, size_t n, const union cell *cells) {
    bool contains = filter->n || !filter->text[0];

    for (size_t c = 0; c < n; c++) {
        contains = contains || cell_contains(&columns[c], true, cells[c], filter->text);
        for (size_t i = 0; i < filter->n; i++)
            if (!strcmp(filter->terms[i].name, columns[c].name) && !filter_holds(filter, i, &columns[c], cells[c]))
                return false;
    }
    return contains;
}

// The filter value that matches the cell. Returns its full length.
static size_t value_text(const struct column *column, union cell cell, char *out, size_t size) {
    if (cell_is_null(column, cell))
        return (size_t)snprintf(out, size, "-");
    if (column->type == COLUMN_TEXT)
        return filter_value_text(text_bytes(cell.text), false, out, size);
    return (size_t)snprintf(out, size, "%.15g", cell.num);
}

bool filter_add(const struct column *column, union cell cell, enum filter_operator op, char *out, size_t size) {
    char value[FILTER_SIZE];
    size_t used = strlen(out);
    int n;

    if (value_text(column, cell, value, sizeof(value)) >= sizeof(value))
        return false;
    n = snprintf(out + used, size - used, "%s%s%s%s", used ? " " : "", column->name, operator_text(op), value);
    if (n >= 0 && (size_t)n < size - used)
        return true;
    out[used] = '\0';
    return false;
}

void filter_for(const struct column *column, union cell cell, char *out, size_t size) {
    out[0] = '\0';
    if (!cell_is_null(column, cell))
        filter_add(column, cell, FILTER_EQUAL, out, size);
}
