// Every event name of this machine: for `--list events`, and for the nearest name in errors.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/perf/event/private.h"
#include "model/mem.h"
#include "model/nearest.h"

struct giving {
    void (*each)(void *context, const struct perf_event_name *name);
    void *context;
};

static void give(struct giving *giving, const char *kind, const char *name, const char *help) {
    giving->each(giving->context, &(struct perf_event_name){.kind = kind, .name = name, .help = help, .example = name});
}

static void give_form(struct giving *giving, const char *kind, const char *name, const char *help, const char *example,
                      const char *missing) {
    giving->each(giving->context, &(struct perf_event_name){kind, name, help, example, missing});
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

static void give_pmus(const struct perf_event_roots *roots, struct giving *giving) {
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
            strcat(name, "/"), give_form(giving, "raw", name, "terms of this PMU", NULL, NULL);
    }
    pmus_free(&pmus);
}

static bool pmu_has(const struct perf_event_roots *roots, const char *name) {
    struct pmus pmus;
    pmus_load(roots, name, &pmus);
    bool has = pmus.n > 0;
    pmus_free(&pmus);
    return has;
}

void perf_event_names(const struct perf_event_roots *given,
                      void (*each)(void *context, const struct perf_event_name *name), void *context) {
    static const struct perf_event_roots machine = {0};
    const struct perf_event_roots *roots = given ? given : &machine;
    struct giving giving = {.each = each, .context = context};
    const char *reason;
    give_generic(&giving);
    give_pmus(roots, &giving);
    if (!roots->no_pfm)
        pfm_names(give_pfm, &giving);
    give_form(&giving, "raw", "rNNN", "raw event code of the processor's manual, hexadecimal", "r0", NULL);
    give_form(&giving, "raw", "TYPE:CONFIG", "type and config of perf_event_open(2)", "1:0", NULL);
    give_form(&giving, "breakpoint", "mem:ADDRESS[/LENGTH][:rwx]", "accesses to an address: read, write, execute",
              "mem:0x1000:w", NULL);
    give_form(&giving, "probe", "uprobe:FILE:SYMBOL[+OFFSET]", "calls of a function of a file; uretprobe: returns",
              NULL, pmu_has(roots, "uprobe") ? NULL : "this kernel has no PMU uprobe");
    give_form(&giving, "probe", "kprobe:FUNCTION[+OFFSET]", "calls of a kernel function; kretprobe: returns", NULL,
              pmu_has(roots, "kprobe") ? NULL : "this kernel has no PMU kprobe");
    trace_names(roots, give_trace, &giving, &reason);
}

// ---- nearest name ----

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

static void name_collect(void *context, const struct perf_event_name *name) {
    struct words *words = context;
    if (!name->example || strcmp(name->example, name->name) != 0)
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
    perf_event_names(parse->roots, name_collect, &words);
    const char *found = words.n ? name_nearest(word, (const char *const *)words.names) : NULL;
    if (found)
        snprintf(nearest, sizeof nearest, "%s", found);
    for (size_t i = 0; i < words.n; i++)
        free(words.names[i]);
    free(words.names);
    return found ? nearest : NULL;
}
