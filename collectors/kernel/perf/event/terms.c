// Terms: "event=0x3c,umask=1,name=foo", the part of an event between slashes, and those of them that every event takes.
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/perf/event/private.h"
#include "model/mem.h"

#define HEX_DIGITS "0123456789abcdefABCDEF"

void terms_add(struct terms *terms, const struct term *copied) {
    terms->items = xrealloc(terms->items, (terms->n + 1) * sizeof *terms->items);
    struct term *term = &terms->items[terms->n++];
    *term = *copied;
    term->name = xstrdup(copied->name);
    term->text = copied->text ? xstrdup(copied->text) : NULL;
}

void terms_free(struct terms *terms) {
    for (size_t i = 0; i < terms->n; i++) {
        free(terms->items[i].name);
        free(terms->items[i].text);
    }
    free(terms->items);
    *terms = (struct terms){0};
}

static bool name_valid(const char *name) {
    if (!isalpha((unsigned char)*name) && !strchr("_*?", *name))
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("_-*?.:", *name))
            return false;
    return true;
}

static char *trimmed(char *text) {
    while (isspace((unsigned char)*text))
        text++;
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]);)
        text[--n] = '\0';
    return text;
}

static int value_parse(struct parse *parse, struct term *term, char *value) {
    size_t n = strlen(value);
    if (!n)
        return parse_wrong(parse, "'%s=' has no value", term->name);
    if (isdigit((unsigned char)*value)) {
        bool hex = value[0] == '0' && value[1] == 'x';
        const char *digits = hex ? value + 2 : value;
        if (!*digits || digits[strspn(digits, hex ? HEX_DIGITS : "0123456789")])
            return parse_wrong(parse, "'%s' in '%s=%s' is not a number: decimal, or hexadecimal with 0x", value,
                               term->name, value);
        errno = 0;
        term->number = strtoull(digits, NULL, hex ? 16 : 10);
        return errno ? parse_wrong(parse, "the number '%s' is too large for 64 bits", value) : 0;
    }
    if (*value == '\'' && n > 2 && value[n - 1] == '\'' && !strchr(value + 1, '\'')[1]) {
        value[n - 1] = '\0';
        term->text = value + 1;
        return 0;
    }
    if (!name_valid(value))
        return parse_wrong(parse, "'%s' in '%s=%s' is neither a number nor a name", value, term->name, value);
    term->text = value;
    return 0;
}

static int term_parse(struct parse *parse, char *item, struct terms *out) {
    struct term term = {.number = 1};
    char *value = strchr(item, '=');
    if (value)
        *value++ = '\0';
    term.name = trimmed(item);
    if (!*term.name)
        return parse_wrong(parse, "a term is missing between the slashes or commas%s%s", value ? " before =" : "",
                           value ? value : "");
    if (!name_valid(term.name))
        return parse_wrong(parse, "'%s' is not a term", term.name);
    if (value) {
        int error = value_parse(parse, &term, trimmed(value));
        if (error)
            return error;
    } else {
        term.no_value = true;
        if (term.name[0] == 'r' && term.name[1] && !term.name[1 + strspn(term.name + 1, HEX_DIGITS)]) {
            errno = 0;
            term.number = strtoull(term.name + 1, NULL, 16);
            term.raw = !errno;
        }
    }
    terms_add(out, &term);
    return 0;
}

int terms_parse(struct parse *parse, const char *text, struct terms *out) {
    char *copy = xstrdup(text), *rest = copy;
    int error = 0;
    *out = (struct terms){0};
    while (rest && !error) {
        char *item = rest;
        bool quoted = false;
        for (; *rest && (quoted || *rest != ','); rest++)
            quoted ^= *rest == '\'';
        if (*rest)
            *rest++ = '\0';
        else
            rest = NULL;
        error = term_parse(parse, item, out);
    }
    free(copy);
    if (error)
        terms_free(out);
    return error;
}

int term_common(struct parse *parse, const struct term *term, struct perf_event_attr *attr, const char **name) {
    static const char *const sampling[] = {"freq",         "branch_type", "time",           "call-graph", "stack-size",
                                           "max-stack",    "max-events",  "inherit",        "no-inherit", "overwrite",
                                           "no-overwrite", "aux-output",  "aux-sample-size"};
    static const char *const numbers[] = {"config", "config1", "config2", "period", "percore"};
    for (size_t i = 0; i < sizeof sampling / sizeof *sampling; i++)
        if (!strcmp(term->name, sampling[i]))
            return parse_wrong(parse, "the term '%s' is for sampling, not for counting", term->name);
    if (!strcmp(term->name, "name") || !strcmp(term->name, "metric-id")) {
        if (!term->text)
            return parse_wrong(parse, "'%s=' requires a name, such as name=loads", term->name);
        if (name && !strcmp(term->name, "name"))
            *name = term->text;
        return 1;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(term->name, numbers[i]))
            continue;
        if (term->text)
            return parse_wrong(parse, "'%s' in '%s=%s' is not a number", term->text, term->name, term->text);
        if (i == 0)
            attr->config = term->number;
        else if (i == 1)
            attr->config1 = term->number;
        else if (i == 2)
            attr->config2 = term->number;
        else if (i == 3)
            attr->sample_period = term->number; // of the event; its own attr has none, for it counts
        return 1;                               // percore changes nothing
    }
    return 0;
}
