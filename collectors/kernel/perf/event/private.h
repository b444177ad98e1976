// The parts of the parser of event strings: the grammar (parse.c), one event of it (event.c), its terms
// (terms.c), PMUs (pmu.c), tables of names (names.c), tracepoints and probes
// (trace.c), libpfm4 (pfm.c), and what was meant (perf_event_near.c). For them and their tests only.
#ifndef COLLECTORS_PERF_EVENT_PRIVATE_H
#define COLLECTORS_PERF_EVENT_PRIVATE_H

#include "collectors/kernel/perf/event/parse.h"

// One parse of one string.
struct parse {
    struct perf_event_list *spec;
    const struct perf_event_roots *roots; // never NULL
    char *error;                          // PERF_EVENT_ERROR bytes
};
// Words the error; the first one stays. Returns -EINVAL.
int parse_wrong(struct parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));
const char *parse_devices(const struct perf_event_roots *roots);

// A new event at the end, with what perf stat gives every event (size, exclude_guest); its name is copied.
struct perf_parsed_event *parse_add(struct parse *parse, uint32_t type, uint64_t config, const char *name);
// One event as it stands between two commas; "cycles:u", "cpu/event=0x3c/u". 0 or an error. Adds one event or more.
int parse_event(struct parse *parse, const char *text);

// ---- modifiers ----
// Letters after an event or a group, put on the events from `first` on. 0 or -EINVAL.
int parse_modifiers(struct parse *parse, const char *of, const char *letters, size_t first, bool of_group);

// ---- terms: what stands between slashes ----
struct term {
    char *name;
    char *text; // NULL: a number
    uint64_t number;
    bool no_value; // the name alone: number is 1
    bool raw;      // the name alone, and of the form r1a8: number is that
};
struct terms {
    struct term *items;
    size_t n;
};
int terms_parse(struct parse *parse, const char *text, struct terms *out);
void terms_free(struct terms *terms);
void terms_add(struct terms *terms, const struct term *copied);
// config=, config1=, config2=, name= and what counting takes without effect. 1: done; 0: not one of these; or -EINVAL.
int term_common(struct parse *parse, const struct term *term, struct perf_event_attr *attr, const char **name);

// ---- PMUs ----
struct pmu_format {
    char *name;
    uint8_t word; // 0 to 2: config, config1, config2
    uint64_t bits;
};
struct pmu_alias {
    char *name, *terms, *unit; // unit may be NULL
    double scale;
};
struct pmu {
    char *name, *cpus; // cpus may be NULL
    uint32_t type;
    bool uncore;
    struct pmu_format *formats;
    size_t n_formats;
    struct pmu_alias *aliases;
    size_t n_aliases;
};
struct pmus {
    struct pmu *items;
    size_t n;
};
// The PMUs of the machine whose names begin with the prefix, sorted by name; without formats and aliases.
void pmus_load(const struct perf_event_roots *roots, const char *prefix, struct pmus *out);
void pmu_details(const struct perf_event_roots *roots, struct pmu *pmu); // reads formats and aliases, once
void pmus_free(struct pmus *pmus);
const struct pmu_alias *pmu_alias_find(const struct pmu *pmu, const char *name);
const struct pmu_format *pmu_format_find(const struct pmu *pmu, const char *name);
bool pmu_format_parse(const char *text, uint8_t *word, uint64_t *bits); // "config:0-7,32-35"
// The value spread over the bits of the format, lowest first.
uint64_t pmu_format_spread(uint64_t bits, uint64_t value);
// "name/terms/modifiers" for each PMU that the name means. 0 or an error.
int pmu_events(struct parse *parse, const char *whole, const char *name, const char *terms, const char *modifiers);
// An alias alone, of each PMU that has it. 1: added; 0: unknown alias; or -EINVAL.
int pmu_bare_alias(struct parse *parse, const char *whole, const char *name, const char *modifiers);
// On a hybrid machine a generic event becomes one event per kind of core. Returns the number of core PMUs; 0: only one
// kind.
size_t pmus_hybrid(const struct pmus *pmus, const struct pmu **out, size_t max);

// ---- tables ----
struct generic_name {
    uint32_t type;
    uint64_t config;
    const char *name, *alias; // alias may be NULL
    const char *help;
};
extern const struct generic_name generic_names[]; // ends with name NULL
const struct generic_name *generic_find(const char *name);
// "L1-dcache-load-misses". 1: config is set; 0: no cache event; -EINVAL: that cache has no such operation.
int cache_config(const char *name, uint64_t *config);
// The usual names of all cache events: fills name (64 bytes) for i from 0 on; false at the end.
bool cache_name(size_t i, char *name, uint64_t *config);

// ---- tracepoints, breakpoints, probes ----
int trace_events(struct parse *parse, const char *system, const char *event); // globs in both
// "mem:0x1000/4:rw"; "uprobe:FILE:SYMBOL", "kprobe:FUNCTION" and their ret- forms. 1: added; 0: not one; or an error.
// *modifiers: what follows.
int breakpoint_event(struct parse *parse, const char *text, const char **modifiers);
int probe_event(struct parse *parse, const char *text, const char **modifiers);
// Calls each for all tracepoints ("sched:sched_switch"), sorted. 0, or why there are none.
int trace_names(const struct perf_event_roots *roots, void (*each)(void *context, const char *name), void *context,
                const char **reason);

// ---- libpfm4 ----
// 1: added; 0: it knows no such event; -EINVAL: it knows it, but not an attribute of it.
int pfm_event(struct parse *parse, const char *text);
void pfm_names(void (*each)(void *context, const char *name, const char *help), void *context);

// The known name that is nearest to the word, for the error: valid until the next call, or NULL.
const char *near_name(const struct parse *parse, const char *word);

// A file's first line without its end, in memory of the caller; NULL: cannot be read.
char *line_read(const char *directory, const char *file);

#endif
