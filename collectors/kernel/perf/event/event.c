// One event as it stands between two commas: which kind it is, and its attributes.
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/perf/event/private.h"
#include "model/mem.h"

#define NUMBER_DIGITS "0123456789"
#define HEX_DIGITS "0123456789abcdefABCDEF"

// "0x3c" or "60", whole.
static bool number_parse(const char *text, uint64_t *out) {
    bool hex = text[0] == '0' && text[1] == 'x';
    const char *digits = hex ? text + 2 : text;
    if (!*digits || digits[strspn(digits, hex ? HEX_DIGITS : NUMBER_DIGITS)])
        return false;
    errno = 0;
    *out = strtoull(digits, NULL, hex ? 16 : 10);
    return errno == 0;
}

// "r1a8": 1 and the number; 0: not of that form; -1: too long.
static int raw_parse(const char *word, uint64_t *out) {
    if (word[0] != 'r' || !word[1] || word[1 + strspn(word + 1, HEX_DIGITS)])
        return 0;
    errno = 0;
    *out = strtoull(word + 1, NULL, 16);
    return errno ? -1 : 1;
}

// A generic event name without terms and modifiers. 1: type and config are set; 0: not generic.
static int generic_parse(struct parse *parse, const char *word, uint32_t *type, uint64_t *config) {
    const struct generic_name *row = generic_find(word);
    if (row) {
        *type = row->type, *config = row->config;
        return 1;
    }
    int found = cache_config(word, config);
    if (found < 0)
        return parse_wrong(parse, "'%s': that cache has no such operation (the instruction caches are only read)",
                           word);
    if (found) {
        *type = PERF_TYPE_HW_CACHE;
        return 1;
    }
    found = raw_parse(word, config);
    if (found < 0)
        return parse_wrong(parse, "the raw event '%s' is too long: at most 16 hexadecimal digits", word);
    *type = PERF_TYPE_RAW;
    return found;
}

// Terms of an event that is not a PMU's: only those that set the attributes directly. *name: of a name= term.
static int terms_apply(struct parse *parse, const char *text, const char *of, struct perf_event_attr *attr,
                       char **name) {
    struct terms terms;
    int error = *text ? terms_parse(parse, text, &terms) : 0;
    const char *named = NULL;
    if (error || !*text)
        return error;
    for (size_t i = 0; !error && i < terms.n; i++) {
        int done = term_common(parse, &terms.items[i], attr, &named);
        if (done <= 0)
            error = parse_wrong(parse, "'%s' is not a term of '%s': config, config1, config2, name and period are",
                                terms.items[i].name, of);
    }
    *name = !error && named ? xstrdup(named) : NULL;
    terms_free(&terms);
    return error;
}

// A generic event; on a CPU with two kinds of cores one for each of them, which the high half of config names.
static int generic_add(struct parse *parse, const char *whole, const char *word, const struct perf_event_attr *attr,
                       const char *modifiers, const char *given) {
    const struct pmu *hybrid[8];
    struct pmus pmus = {0};
    size_t first = parse->spec->n, n = 0;
    if (attr->type != PERF_TYPE_SOFTWARE) {
        pmus_load(parse->roots, "cpu_", &pmus);
        n = pmus_hybrid(&pmus, hybrid, sizeof hybrid / sizeof *hybrid);
    }
    for (size_t i = 0; i < (n ? n : 1); i++) {
        char *name = NULL;
        if (n && asprintf(&name, "%s/%s/%s", hybrid[i]->name, given ? given : word, given ? "" : modifiers) < 0)
            abort();
        struct perf_parsed_event *event = parse_add(parse, attr->type, attr->config, n ? name : given ? given : whole);
        event->attr.config1 = attr->config1;
        event->attr.config2 = attr->config2;
        event->period = attr->sample_period;
        if (attr->type == PERF_TYPE_SOFTWARE && attr->config <= PERF_COUNT_SW_TASK_CLOCK)
            event->unit = xstrdup("ns");
        if (n) {
            event->cpus = xstrdup(hybrid[i]->cpus);
            if (attr->type == PERF_TYPE_RAW)
                event->attr.type = hybrid[i]->type;
            else
                event->attr.config |= (uint64_t)hybrid[i]->type << 32;
        }
        free(name);
    }
    pmus_free(&pmus);
    return parse_modifiers(parse, word, modifiers, first, false);
}

static int unknown(struct parse *parse, const char *word) {
    const char *nearest = near_name(parse, word);
    return parse_wrong(parse, "unknown event '%s'%s%s%s", word, nearest ? ": did you mean " : "",
                       nearest ? nearest : "", nearest ? "?" : "");
}

// ---- "WORD/TERMS/MODIFIERS" ----

// "SYSTEM:EVENT/period=N/MODIFIERS"; of `text`, `name` follows the colon.
static int trace_period(struct parse *parse, const char *whole, const char *text, const char *name, const char *list,
                        const char *modifiers) {
    struct perf_event_attr attr = {.type = PERF_TYPE_TRACEPOINT};
    char *named = NULL;
    size_t first = parse->spec->n;
    int error = terms_apply(parse, list, text, &attr, &named);
    bool others = named || attr.config || attr.config1 || attr.config2;
    free(named);
    if (error)
        return error;
    if (others || !attr.sample_period)
        return parse_wrong(parse, "'%s': a tracepoint takes no term but period", whole);
    error = trace_events(parse, text, name);
    for (size_t i = first; i < parse->spec->n; i++)
        parse->spec->events[i].period = attr.sample_period;
    return error ? error : parse_modifiers(parse, text, modifiers, first, false);
}

static int slashed(struct parse *parse, const char *whole, char *text) {
    char *terms = strchr(text, '/'), *end = strrchr(text, '/');
    uint32_t type = 0;
    uint64_t config = 0, numeric = 0;
    *terms++ = '\0';
    if (terms > end)
        return parse_wrong(parse, "'%s' has no closing /: terms go between two slashes", whole);
    *end = '\0';
    const char *modifiers = end + 1;
    if (strchr(terms, '/'))
        return parse_wrong(parse, "'%s' has more than two slashes: terms go between them, modifiers after them", whole);
    for (size_t n = strlen(text); n && isspace((unsigned char)text[n - 1]);)
        text[--n] = '\0';
    if (!*text)
        return parse_wrong(parse, "'%s' starts with a /: the name of a PMU or event is missing", whole);
    if (*modifiers == ':')
        return parse_wrong(parse, "'%s': modifiers follow the last / without a colon: '%s'", whole, modifiers + 1);
    char *colon = strchr(text, ':');
    int found = generic_parse(parse, text, &type, &config);
    if (found < 0)
        return found;
    if (!found && colon) {
        *colon = '\0';
        found = number_parse(text, &numeric) && number_parse(colon + 1, &config) && numeric <= UINT32_MAX;
        type = (uint32_t)numeric;
        if (!found)
            return trace_period(parse, whole, text, colon + 1, terms, modifiers);
        *colon = ':';
    }
    if (!found)
        return pmu_events(parse, whole, text, terms, modifiers);
    struct perf_event_attr attr = {.type = type, .config = config};
    char *named = NULL;
    int error = terms_apply(parse, terms, text, &attr, &named);
    error = error ? error : generic_add(parse, whole, text, &attr, modifiers, named);
    free(named);
    return error;
}

// ---- "SYSTEM:EVENT:MODIFIERS", "TYPE:CONFIG:MODIFIERS" ----

static int coloned(struct parse *parse, const char *whole, char *text, char *rest) {
    uint64_t type, config;
    char *modifiers = strchr(rest, ':');
    size_t first = parse->spec->n;
    int error;
    if (modifiers)
        *modifiers++ = '\0';
    if (number_parse(text, &type)) {
        if (!number_parse(rest, &config) || type > UINT32_MAX)
            return parse_wrong(parse, "'%s': expected a config after the type, such as 1:3", whole);
        parse_add(parse, (uint32_t)type, config, whole);
        error = 0;
    } else {
        error = trace_events(parse, text, rest);
    }
    return error ? error : parse_modifiers(parse, text, modifiers ? modifiers : "", first, false);
}

static int plain(struct parse *parse, const char *whole, char *text) {
    uint32_t type = 0;
    uint64_t config = 0;
    char *colon = strchr(text, ':'), *rest = colon ? colon + 1 : text + strlen(text);
    if (colon)
        *colon = '\0';
    if (!*text)
        return parse_wrong(parse, "'%s' starts with a colon: the name of an event is missing", whole);
    int found = generic_parse(parse, text, &type, &config);
    if (found > 0)
        return generic_add(parse, whole, text, &(struct perf_event_attr){.type = type, .config = config}, rest, NULL);
    if (found == 0)
        found = pmu_bare_alias(parse, whole, text, rest);
    if (found)
        return found < 0 ? found : 0;
    if (!parse->roots->no_pfm && (found = pfm_event(parse, whole)))
        return found < 0 ? found : 0;
    if (*rest == ':')
        return parse_wrong(parse, "'%s': libpfm4 has no such event for this processor", whole);
    if (*rest)
        return coloned(parse, whole, text, rest);
    if (colon || text[strspn(text, NUMBER_DIGITS)] == '\0')
        return parse_wrong(parse, "'%s' is incomplete: expected SYSTEM:EVENT or TYPE:CONFIG", whole);
    return unknown(parse, text);
}

int parse_event(struct parse *parse, const char *whole) {
    static const char *const clocks[] = {"duration_time", "user_time", "system_time"};
    const char *modifiers = "";
    size_t first = parse->spec->n;
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++)
        if (!strcmp(whole, clocks[i]))
            return parse_wrong(parse, "'%s' is a clock of perf(1), not a kernel event: use cpu-clock", whole);
    int found = breakpoint_event(parse, whole, &modifiers);
    if (!found)
        found = probe_event(parse, whole, &modifiers);
    if (found)
        return found < 0 ? found : parse_modifiers(parse, whole, modifiers, first, false);
    char *text = xstrdup(whole);
    int error = strchr(text, '/') ? slashed(parse, whole, text) : plain(parse, whole, text);
    free(text);
    return error;
}
