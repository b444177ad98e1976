// A PMU by /sys/bus/event_source/devices: its type, CPUs, formats (the bits that a term sets) and aliases
// (terms that have a name). Reads only.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "collectors/kernel/perf/event/private.h"
#include "model/mem.h"

#define TEXT_MAX 4096

char *line_read(const char *directory, const char *file) {
    char path[1024], text[TEXT_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    if (n < 0)
        return NULL;
    text[n] = '\0';
    text[strcspn(text, "\n")] = '\0';
    return xstrdup(text);
}

bool pmu_format_parse(const char *text, uint8_t *word, uint64_t *bits) {
    static const char *const words[] = {"config:", "config1:", "config2:"};
    const char *p = NULL;
    for (uint8_t i = 0; i < 3; i++)
        if (!strncmp(text, words[i], strlen(words[i])))
            *word = i, p = text + strlen(words[i]);
    if (!p)
        return false;
    *bits = 0;
    while (*p >= '0' && *p <= '9') {
        char *end;
        unsigned long first = strtoul(p, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (last > 63 || first > last)
            return false;
        for (unsigned long bit = first; bit <= last; bit++)
            *bits |= 1ull << bit;
        p = *end == ',' ? end + 1 : end;
    }
    return *bits != 0;
}

uint64_t pmu_format_spread(uint64_t bits, uint64_t value) {
    uint64_t out = 0;
    for (; bits && value; value >>= 1, bits &= bits - 1)
        if (value & 1)
            out |= bits & -bits;
    return out;
}

static void format_add(struct pmu *pmu, const char *directory, const char *name) {
    struct pmu_format format = {0};
    char *text = line_read(directory, name);
    if (text && pmu_format_parse(text, &format.word, &format.bits)) {
        format.name = xstrdup(name);
        pmu->formats = xrealloc(pmu->formats, (pmu->n_formats + 1) * sizeof *pmu->formats);
        pmu->formats[pmu->n_formats++] = format;
    }
    free(text);
}

static void alias_add(struct pmu *pmu, const char *directory, const char *name) {
    static const char *const ends[] = {".scale", ".unit", ".per-pkg", ".snapshot"};
    char file[512];
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(name), end = strlen(ends[i]);
        if (n > end && !strcmp(name + n - end, ends[i]))
            return;
    }
    struct pmu_alias alias = {.scale = 1, .terms = line_read(directory, name)};
    if (!alias.terms)
        return;
    snprintf(file, sizeof file, "%s.unit", name);
    alias.unit = line_read(directory, file);
    snprintf(file, sizeof file, "%s.scale", name);
    char *scale = line_read(directory, file);
    if (scale && strtod(scale, NULL) > 0)
        alias.scale = strtod(scale, NULL);
    free(scale);
    alias.name = xstrdup(name);
    pmu->aliases = xrealloc(pmu->aliases, (pmu->n_aliases + 1) * sizeof *pmu->aliases);
    pmu->aliases[pmu->n_aliases++] = alias;
}

static void each_file(struct pmu *pmu, const char *path, void (*add)(struct pmu *, const char *, const char *)) {
    struct dirent **names;
    int n = scandir(path, &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        if (names[i]->d_name[0] != '.')
            add(pmu, path, names[i]->d_name);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

void pmu_details(const struct perf_event_roots *roots, struct pmu *pmu) {
    char path[768];
    if (pmu->n_formats || pmu->n_aliases)
        return;
    snprintf(path, sizeof path, "%s/%s/format", parse_devices(roots), pmu->name);
    each_file(pmu, path, format_add);
    snprintf(path, sizeof path, "%s/%s/events", parse_devices(roots), pmu->name);
    each_file(pmu, path, alias_add);
}

void pmus_load(const struct perf_event_roots *roots, const char *prefix, struct pmus *out) {
    struct dirent **names;
    *out = (struct pmus){0};
    int n = scandir(parse_devices(roots), &names, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        const char *name = names[i]->d_name;
        char path[768];
        snprintf(path, sizeof path, "%s/%s", parse_devices(roots), name);
        char *type = name[0] == '.' || strncmp(name, prefix, strlen(prefix)) != 0 ? NULL : line_read(path, "type");
        if (type) {
            out->items = xrealloc(out->items, (out->n + 1) * sizeof *out->items);
            struct pmu *pmu = &out->items[out->n++];
            *pmu = (struct pmu){.name = xstrdup(name), .type = (uint32_t)strtoul(type, NULL, 10)};
            pmu->cpus = line_read(path, "cpumask");
            pmu->uncore = pmu->cpus && *pmu->cpus;
            if (!pmu->uncore) {
                free(pmu->cpus);
                pmu->cpus = line_read(path, "cpus");
            }
        }
        free(type);
        free(names[i]);
    }
    if (n >= 0)
        free(names);
}

void pmus_free(struct pmus *pmus) {
    for (size_t i = 0; i < pmus->n; i++) {
        struct pmu *pmu = &pmus->items[i];
        for (size_t j = 0; j < pmu->n_formats; j++)
            free(pmu->formats[j].name);
        for (size_t j = 0; j < pmu->n_aliases; j++) {
            free(pmu->aliases[j].name);
            free(pmu->aliases[j].terms);
            free(pmu->aliases[j].unit);
        }
        free(pmu->formats);
        free(pmu->aliases);
        free(pmu->name);
        free(pmu->cpus);
    }
    free(pmus->items);
    *pmus = (struct pmus){0};
}

// As perf has it: the case of an alias does not matter, that of a format does.
const struct pmu_alias *pmu_alias_find(const struct pmu *pmu, const char *name) {
    for (size_t i = 0; i < pmu->n_aliases; i++)
        if (!strcasecmp(pmu->aliases[i].name, name))
            return &pmu->aliases[i];
    return NULL;
}

const struct pmu_format *pmu_format_find(const struct pmu *pmu, const char *name) {
    for (size_t i = 0; i < pmu->n_formats; i++)
        if (!strcmp(pmu->formats[i].name, name))
            return &pmu->formats[i];
    return NULL;
}

size_t pmus_hybrid(const struct pmus *pmus, const struct pmu **out, size_t max) {
    size_t n = 0;
    for (size_t i = pmus->n; i-- > 0 && n < max;) // cpu_core before cpu_atom, as perf has them
        if (!strncmp(pmus->items[i].name, "cpu_", 4) && !pmus->items[i].uncore && pmus->items[i].cpus &&
            *pmus->items[i].cpus)
            out[n++] = &pmus->items[i];
    return n;
}
