// An event of a PMU: "NAME/TERMS/MODIFIERS" and aliases that stand alone, put into the words that the PMU wants.
#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "collectors/kernel/perf/event/private.h"
#include "model/mem.h"
#include "model/nearest.h"

struct built {
    struct perf_event_attr attr;
    const char *name;              // of a name= term
    const struct pmu_alias *alias; // for unit and scale
};

static bool is_common(const struct term *term) {
    static const char *const names[] = {"config", "config1", "config2", "name", "period", "percore", "metric-id"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(term->name, names[i]))
            return true;
    return false;
}

// The alias that a term names: "tsc", "tsc=1" or "event=tsc"; generic names in each of their spellings.
static const struct pmu_alias *term_alias(const struct pmu *pmu, const struct term *term) {
    const char *name = term->name;
    if (is_common(term))
        return NULL;
    if (term->text) {
        if (strcasecmp(name, "event") != 0)
            return NULL;
        name = term->text;
    } else if ((term->number != 1 && !term->raw) || pmu_format_find(pmu, name)) {
        return NULL;
    }
    const struct pmu_alias *alias = pmu_alias_find(pmu, name);
    const struct generic_name *generic = alias ? NULL : generic_find(name);
    if (generic)
        alias = pmu_alias_find(pmu, generic->name);
    if (generic && !alias && generic->alias)
        alias = pmu_alias_find(pmu, generic->alias);
    return alias;
}

// The first of the names, with commas, for an error.
static void names_join(const char *const *names, char *out, size_t size) {
    size_t at = 0;
    *out = '\0';
    for (size_t i = 0; names[i] && at + 24 < size; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%.16s%s", i ? ", " : "", names[i],
                               names[i + 1] && at + 48 > size ? ", ..." : "");
}

static int term_unknown(struct parse *parse, const struct pmu *pmu, const char *name) {
    const char **names = xcalloc(pmu->n_aliases + pmu->n_formats + 1, sizeof *names);
    size_t n = 0;
    for (size_t i = 0; i < pmu->n_aliases; i++)
        names[n++] = pmu->aliases[i].name;
    for (size_t i = 0; i < pmu->n_formats; i++)
        names[n++] = pmu->formats[i].name;
    const char *nearest = name_nearest(name, names);
    char known[128];
    names_join(names, known, sizeof known);
    if (nearest)
        parse_wrong(parse, "'%s' is not an event or term of the PMU '%s': did you mean %s?", name, pmu->name, nearest);
    else
        parse_wrong(parse, "'%s' is not an event or term of the PMU '%s'%s%s", name, pmu->name,
                    n ? ": it has " : ": it has none by name, only config=", known);
    free(names);
    return -EINVAL;
}

// The value for a "term=?" of an alias, which the user has to give.
static bool parameter_find(const struct terms *given, const char *name, uint64_t *out) {
    for (size_t i = 0; i < given->n; i++)
        if (!strcmp(given->items[i].name, name) && !given->items[i].text && !given->items[i].no_value) {
            *out = given->items[i].number;
            return true;
        }
    return false;
}

static int term_format(struct parse *parse, const struct pmu *pmu, const struct term *term, const struct terms *given,
                       struct perf_event_attr *attr) {
    const struct pmu_format *format = pmu_format_find(pmu, term->name);
    uint64_t value = term->number;
    if (!format)
        return term_unknown(parse, pmu, term->name);
    if (term->text && !strcmp(term->text, "?")) {
        if (!parameter_find(given, term->name, &value))
            return parse_wrong(parse, "the PMU '%s' requires a value for '%s' with this event: add %s=NUMBER",
                               pmu->name, term->name, term->name);
    } else if (term->text) {
        return parse_wrong(parse, "'%s' in '%s=%s' is neither a number nor an event of the PMU '%s'", term->text,
                           term->name, term->text, pmu->name);
    }
    unsigned width = (unsigned)__builtin_popcountll(format->bits);
    if (term->no_value && width > 1)
        return parse_wrong(parse, "the term '%s' of the PMU '%s' needs a value: %s=NUMBER", term->name, pmu->name,
                           term->name);
    uint64_t most = width < 64 ? (1ull << width) - 1 : UINT64_MAX;
    if (value > most)
        return parse_wrong(parse, "%s=%llu is too large for the PMU '%s': at most %llu", term->name,
                           (unsigned long long)value, pmu->name, (unsigned long long)most);
    uint64_t bits = pmu_format_spread(format->bits, value);
    if (format->word == 0)
        attr->config |= bits;
    else if (format->word == 1)
        attr->config1 |= bits;
    else
        attr->config2 |= bits;
    return 0;
}

static int term_put(struct parse *parse, const struct pmu *pmu, const struct term *term, const struct terms *given,
                    struct built *out) {
    int done = term_common(parse, term, &out->attr, &out->name);
    if (done)
        return done < 0 ? done : 0;
    if (term->raw && !pmu_format_find(pmu, term->name)) {
        out->attr.config = term->number;
        return 0;
    }
    return term_format(parse, pmu, term, given, &out->attr);
}

// The terms with each alias replaced by what it stands for. config= and its like come first: they set whole words, to
// which the others add bits.
static int build(struct parse *parse, const struct pmu *pmu, const struct terms *given, struct built *out) {
    struct terms all = {0};
    int error = 0;
    *out = (struct built){.attr = {.type = pmu->type}};
    for (size_t i = 0; !error && i < given->n; i++) {
        const struct pmu_alias *alias = term_alias(pmu, &given->items[i]);
        struct terms of_alias;
        if (!alias) {
            terms_add(&all, &given->items[i]);
            continue;
        }
        out->alias = alias;
        error = terms_parse(parse, alias->terms, &of_alias);
        for (size_t j = 0; !error && j < of_alias.n; j++)
            terms_add(&all, &of_alias.items[j]);
        if (!error)
            terms_free(&of_alias);
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; !error && i < all.n; i++)
            if ((is_common(&all.items[i]) || all.items[i].raw) == (pass == 0))
                error = term_put(parse, pmu, &all.items[i], given, out);
    out->name = NULL; // its text goes with the terms: found again in what was given
    for (size_t i = 0; i < given->n; i++)
        if (!strcmp(given->items[i].name, "name"))
            out->name = given->items[i].text;
    terms_free(&all);
    return error;
}

static void event_add(struct parse *parse, const struct pmu *pmu, const struct built *built, const char *name) {
    struct perf_parsed_event *event = parse_add(parse, pmu->type, built->attr.config, built->name ? built->name : name);
    event->attr.config1 = built->attr.config1;
    event->attr.config2 = built->attr.config2;
    event->period = built->attr.sample_period;
    event->uncore = pmu->uncore;
    event->cpus = pmu->cpus && *pmu->cpus ? xstrdup(pmu->cpus) : NULL;
    if (built->alias) {
        event->scale = built->alias->scale;
        event->unit = built->alias->unit && *built->alias->unit ? xstrdup(built->alias->unit) : NULL;
    }
}

// "uncore_imc" and "imc" mean uncore_imc_0, uncore_imc_1 and so on; a glob means what it matches.
static bool pmu_meant(const char *pmu, const char *word) {
    char pattern[160];
    size_t n = strlen(word);
    if (!strcmp(pmu, word))
        return true;
    if (!strncmp(pmu, "uncore_", 7) && strncmp(word, "uncore_", 7) != 0)
        pmu += 7;
    snprintf(pattern, sizeof pattern, "%.150s*", word);
    if (fnmatch(pattern, pmu, 0))
        return false;
    if (strncmp(pmu, word, n) != 0 || !pmu[n])
        return true;
    return pmu[n] == '_' && isdigit((unsigned char)pmu[n + 1]);
}

static int pmu_unknown(struct parse *parse, const struct pmus *pmus, const char *name) {
    const char **names = xcalloc(pmus->n + 1, sizeof *names);
    char known[128];
    for (size_t i = 0; i < pmus->n; i++)
        names[i] = pmus->items[i].name;
    const char *nearest = name_nearest(name, names);
    names_join(names, known, sizeof known);
    if (nearest)
        parse_wrong(parse, "this machine has no PMU '%s': did you mean %s?", name, nearest);
    else
        parse_wrong(parse, "this machine has no PMU '%s': it has %s", name, known);
    free(names);
    return -EINVAL;
}

int pmu_events(struct parse *parse, const char *whole, const char *name, const char *terms, const char *modifiers) {
    struct pmus pmus;
    struct terms given = {0};
    size_t first = parse->spec->n, n = 0;
    bool exact = false;
    int error = *terms ? terms_parse(parse, terms, &given) : 0;
    if (error)
        return error;
    pmus_load(parse->roots, "", &pmus);
    for (size_t i = 0; i < pmus.n; i++)
        exact |= !strcmp(pmus.items[i].name, name);
    for (size_t i = 0; !error && i < pmus.n; i++) {
        struct pmu *pmu = &pmus.items[i];
        struct built built;
        char *own = NULL;
        if (exact ? strcmp(pmu->name, name) != 0 : !pmu_meant(pmu->name, name))
            continue;
        pmu_details(parse->roots, pmu);
        error = build(parse, pmu, &given, &built);
        if (!exact && asprintf(&own, "%s/%s/%s", pmu->name, terms, modifiers) < 0)
            abort();
        if (!error)
            event_add(parse, pmu, &built, own ? own : whole);
        free(own);
        n++;
    }
    if (!n)
        error = pmu_unknown(parse, &pmus, name);
    pmus_free(&pmus);
    terms_free(&given);
    return error ? error : parse_modifiers(parse, name, modifiers, first, false);
}

int pmu_bare_alias(struct parse *parse, const char *whole, const char *name, const char *modifiers) {
    struct pmus pmus;
    struct terms given = {0};
    size_t first = parse->spec->n;
    int error = 0;
    terms_add(&given, &(struct term){.name = (char *)name, .number = 1, .no_value = true});
    pmus_load(parse->roots, "", &pmus);
    for (size_t i = 0; !error && i < pmus.n; i++) {
        struct pmu *pmu = &pmus.items[i];
        struct built built;
        char full[512];
        pmu_details(parse->roots, pmu);
        const struct pmu_alias *alias = pmu_alias_find(pmu, name);
        if (!alias)
            continue;
        error = build(parse, pmu, &given, &built);
        snprintf(full, sizeof full, "%s/%s/%s", pmu->name, alias->name, modifiers);
        if (!error)
            event_add(parse, pmu, &built, full);
    }
    pmus_free(&pmus);
    terms_free(&given);
    size_t n = parse->spec->n - first;
    if (n == 1) { // nothing to tell apart: as it was written
        free(parse->spec->events[first].name);
        parse->spec->events[first].name = xstrdup(whole);
    }
    if (n && !error)
        error = parse_modifiers(parse, name, modifiers, first, false);
    return error ? error : n > 0;
}
