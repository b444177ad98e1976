// Every name that an event can have here: for `--list events`, and for errors that say which one was meant.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/perf_spec_private.h"
#include "model/mem.h"
#include "model/nearest.h"

struct giving {
    void (*each)(void *context, const struct perf_spec_name *name);
    void *context;
    const char *kind;
};

static void give(struct giving *giving, const char *kind, const char *name, const char *help) {
    giving->each(giving->context, &(struct perf_spec_name){kind, name, help});
}

static void give_pfm(void *context, const char *name, const char *help) {
    give(context, "libpfm4", name, help);
}

static void give_trace(void *context, const char *name) {
    give(context, "tracepoint", name, "");
}

static void give_generic(struct giving *giving) {
    char name[64];
    uint64_t config;
    for (int type = PERF_TYPE_HARDWARE; type <= PERF_TYPE_SOFTWARE; type++)
        for (const struct generic_name *row = generic_names; row->name; row++) {
            char help[160];
            if (row->type != (uint32_t)type)
                continue;
            snprintf(help, sizeof help, "%s%s%s%s", row->help, row->alias ? "; also " : "",
                     row->alias ? row->alias : "", "");
            give(giving, type == PERF_TYPE_HARDWARE ? "hardware" : "software", row->name, help);
        }
    for (size_t i = 0; cache_name(i, name, &config); i++)
        give(giving, "cache", name, "");
}

static void give_pmus(const struct perf_spec_roots *roots, struct giving *giving) {
    struct pmus pmus;
    pmus_load(roots, "", &pmus);
    for (size_t i = 0; i < pmus.n; i++) {
        struct pmu *pmu = &pmus.items[i];
        pmu_details(roots, pmu);
        for (size_t j = 0; j < pmu->n_aliases; j++) {
            const struct pmu_alias *alias = &pmu->aliases[j];
            char name[512];
            snprintf(name, sizeof name, "%s/%s/", pmu->name, alias->name);
            give(giving, "PMU", name, alias->unit ? alias->unit : "");
        }
    }
    for (size_t i = 0; i < pmus.n; i++) {
        const struct pmu *pmu = &pmus.items[i];
        char name[512];
        size_t at = (size_t)snprintf(name, sizeof name, "%s/", pmu->name);
        for (size_t j = 0; j < pmu->n_formats && at < sizeof name - 64; j++)
            at += (size_t)snprintf(name + at, sizeof name - at, "%s%.40s=N", j ? "," : "", pmu->formats[j].name);
        if (pmu->n_formats)
            strcat(name, "/"), give(giving, "raw", name, "the terms that this PMU has");
    }
    pmus_free(&pmus);
}

void perf_spec_names(const struct perf_spec_roots *given,
                     void (*each)(void *context, const struct perf_spec_name *name), void *context) {
    static const struct perf_spec_roots machine = {0};
    const struct perf_spec_roots *roots = given ? given : &machine;
    struct giving giving = {.each = each, .context = context};
    const char *reason;
    give_generic(&giving);
    give_pmus(roots, &giving);
    if (!roots->no_pfm)
        pfm_names(give_pfm, &giving);
    give(&giving, "raw", "rNNN", "a number of the processor's manual, hexadecimal");
    give(&giving, "raw", "TYPE:CONFIG", "the numbers of perf_event_open(2)");
    give(&giving, "breakpoint", "mem:ADDRESS[/LENGTH][:rwx]", "accesses to an address: read, write, execute");
    give(&giving, "probe", "uprobe:FILE:SYMBOL[+OFFSET]",
         "calls of a function of a program or library; uretprobe: returns");
    give(&giving, "probe", "kprobe:FUNCTION[+OFFSET]", "calls of a kernel function; kretprobe: returns");
    trace_names(roots, give_trace, &giving, &reason);
}

// ---- what was meant ----

struct words {
    char **names;
    size_t n, room;
};

static void word_keep(struct words *words, const char *name) {
    if (words->n + 2 > words->room) {
        words->room = words->room ? 2 * words->room : 256;
        words->names = xrealloc(words->names, words->room * sizeof *words->names);
    }
    words->names[words->n++] = xstrdup(name);
    words->names[words->n] = NULL;
}

static void name_collect(void *context, const struct perf_spec_name *name) {
    struct words *words = context;
    if (strpbrk(name->name, "[=") || !strcmp(name->name, "rNNN") || !strcmp(name->name, "TYPE:CONFIG"))
        return; // a form
    word_keep(words, name->name);
    const char *slash = strchr(name->name, '/');
    if (!strcmp(name->kind, "PMU") && slash && slash[1]) { // the alias alone will do as well
        char alias[256];
        snprintf(alias, sizeof alias, "%.*s", (int)strcspn(slash + 1, "/"), slash + 1);
        word_keep(words, alias);
    }
    const struct generic_name *generic = generic_find(name->name);
    if (generic && generic->alias && !strcmp(generic->name, name->name))
        word_keep(words, generic->alias);
}

const char *near_name(const struct parse *parse, const char *word) {
    static char nearest[256];
    struct words words = {0};
    perf_spec_names(parse->roots, name_collect, &words);
    const char *found = words.n ? name_nearest(word, (const char *const *)words.names) : NULL;
    if (found)
        snprintf(nearest, sizeof nearest, "%s", found);
    for (size_t i = 0; i < words.n; i++)
        free(words.names[i]);
    free(words.names);
    return found ? nearest : NULL;
}
