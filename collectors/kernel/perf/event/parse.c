// The grammar above single events: commas, groups in braces, modifiers; and opening what came out of it.
#include "collectors/kernel/perf/event/parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/event/private.h"
#include "collectors/kernel/perf/perf.h"
#include "model/mem.h"

#define EVENTS_MAX 8192 // "*:*" is about two thousand
#define MODIFIERS "ukhGHIpPSDWeb"

int parse_wrong(struct parse *parse, const char *format, ...) {
    va_list args;
    if (*parse->error)
        return -EINVAL;
    va_start(args, format);
    vsnprintf(parse->error, PERF_EVENT_ERROR, format, args);
    va_end(args);
    return -EINVAL;
}

const char *parse_devices(const struct perf_event_roots *roots) {
    return roots->devices ? roots->devices : "/sys/bus/event_source/devices";
}

struct perf_parsed_event *parse_add(struct parse *parse, uint32_t type, uint64_t config, const char *name) {
    struct perf_event_list *spec = parse->spec;
    spec->events = xrealloc(spec->events, (spec->n + 1) * sizeof *spec->events);
    struct perf_parsed_event *event = &spec->events[spec->n++];
    *event = (struct perf_parsed_event){
        .attr = {.size = sizeof event->attr, .type = type, .config = config, .exclude_guest = 1},
        .name = xstrdup(name),
        .scale = 1,
        .group = spec->n_groups++,
    };
    return event;
}

static void event_free(struct perf_parsed_event *event) {
    free(event->name);
    free(event->unit);
    free(event->cpus);
    free(event->target);
}

void perf_event_list_free(struct perf_event_list *spec) {
    for (size_t i = 0; i < spec->n; i++)
        event_free(&spec->events[i]);
    free(spec->events);
    *spec = (struct perf_event_list){0};
}

// ---- modifiers ----

// The first of u, k and h leaves the other two out, as the first of G and H does. Guests are left out with u and p
// only, as perf does it (and by default, without any modifier).
static void modifier_apply(struct perf_parsed_event *event, char letter, bool *privileges) {
    struct perf_event_attr *attr = &event->attr;
    if (strchr("ukh", letter) && !*privileges) {
        *privileges = true;
        attr->exclude_user = attr->exclude_kernel = attr->exclude_hv = 1;
    }
    if (strchr("GH", letter) && !event->guests) {
        event->guests = true;
        attr->exclude_guest = attr->exclude_host = 1;
    }
    if (strchr("up", letter) && !event->guests)
        attr->exclude_guest = 1;
    switch (letter) {
    case 'u':
        attr->exclude_user = 0;
        break;
    case 'k':
        attr->exclude_kernel = 0;
        break;
    case 'h':
        attr->exclude_hv = 0;
        break;
    case 'G':
        attr->exclude_guest = 0;
        break;
    case 'H':
        attr->exclude_host = 0;
        break;
    case 'I':
        attr->exclude_idle = 1;
        break;
    case 'p':
        attr->precise_ip++;
        break;
    case 'D':
        attr->pinned = 1;
        break;
    case 'e':
        attr->exclusive = 1;
        break;
    case 'W':
        event->weak = true;
        break;
    default: // P and S concern sampling, b BPF: no effect on a counter
        break;
    }
}

static int modifiers_check(struct parse *parse, const char *of, const char *letters) {
    for (const char *p = letters; *p; p++) {
        if (!strchr(MODIFIERS, *p))
            return parse_wrong(parse, "'%c' after '%s' is not a modifier: modifiers are u k h G H I p P S D W e b", *p,
                               of);
        if (*p != 'p' && strchr(p + 1, *p))
            return parse_wrong(parse, "the modifier '%c' of '%s' is repeated", *p, of);
    }
    return 0;
}

int parse_modifiers(struct parse *parse, const char *of, const char *letters, size_t first, bool of_group) {
    unsigned precise = 0;
    if (modifiers_check(parse, of, letters))
        return -EINVAL;
    for (const char *p = letters; *p; p++)
        precise += *p == 'p';
    for (size_t i = first; i < parse->spec->n; i++) {
        struct perf_parsed_event *event = &parse->spec->events[i];
        struct perf_event_attr *attr = &event->attr;
        // An event's own modifiers come first; a group's add to them.
        bool privileges = attr->exclude_user || attr->exclude_kernel || attr->exclude_hv;
        if (*letters && !of_group)
            attr->exclude_guest = 0;
        if (precise + attr->precise_ip > 3)
            return parse_wrong(parse, "'%s' has more than three p: at most ppp", of);
        for (const char *p = letters; *p; p++)
            if (!of_group || i == first || !strchr("De", *p)) // these two are the leader's
                modifier_apply(event, *p, &privileges);
    }
    return 0;
}

// ---- events, groups, lists ----

// How long the event at text is: up to a comma or brace outside of its slashes. Addresses and file names have slashes
// of their own.
static size_t event_length(const char *text) {
    static const char *const own[] = {"mem:", "uprobe:", "uretprobe:", "kprobe:", "kretprobe:"};
    const char *at = text + strspn(text, " \t\n");
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strncmp(at, own[i], strlen(own[i])))
            return strcspn(text, ",{}");
    size_t n = strcspn(text, ",{}/");
    if (text[n] != '/')
        return n;
    const char *end = strchr(text + n + 1, '/');
    if (!end)
        return strlen(text); // no second slash: the event's parser reports it
    return (size_t)(end - text) + 1 + strcspn(end + 1, ",{}");
}

static char *cut(const char *text, size_t length) { // without blanks at its ends
    while (length && isspace((unsigned char)*text))
        text++, length--;
    while (length && isspace((unsigned char)text[length - 1]))
        length--;
    char *out = xmalloc(length + 1);
    memcpy(out, text, length);
    out[length] = '\0';
    return out;
}

static int one_event(struct parse *parse, const char **text) {
    size_t length = event_length(*text);
    char *event = cut(*text, length);
    int error;
    if (!*event && (*text)[length] == '{')
        error = parse_wrong(parse, "a group within a group at '%.40s': groups do not nest", *text + length);
    else if (!*event)
        error = parse_wrong(parse,
                            (*text)[length] ? "an event is missing before '%.20s'" : "an event is missing at the end%s",
                            *text + length);
    else if (parse->spec->n >= EVENTS_MAX)
        error = parse_wrong(parse, "'%s' is one event too many: at most %d", event, EVENTS_MAX);
    else
        error = parse_event(parse, event);
    free(event);
    *text += length;
    return error;
}

// A group's name is ignored; an event before a brace is one without its comma.
static int group_name_check(struct parse *parse, const char *word) {
    uint64_t config;
    for (const char *p = word; *p; p++)
        if ((!isalnum((unsigned char)*p) && !strchr("_.", *p)) || isdigit((unsigned char)*word))
            return parse_wrong(parse, "'%s' before a { is not a group name", word);
    if (generic_find(word) || cache_config(word, &config))
        return parse_wrong(parse, "a comma is missing between the event '%s' and the { of a group", word);
    return 0;
}

// *text is at the "{". The members get one number in the order in which they stand.
static int one_group(struct parse *parse, const char **text) {
    size_t first = parse->spec->n;
    unsigned group = parse->spec->n_groups;
    for (++*text;; ++*text) {
        int error = one_event(parse, text);
        if (error)
            return error;
        if (**text != ',')
            break;
    }
    if (**text != '}')
        return parse_wrong(parse, "the group is not closed: a } is missing");
    ++*text;
    size_t length = strcspn(*text, ",");
    char *modifiers = cut(*text, length);
    int error = 0;
    if (*modifiers == ':' && modifiers[1])
        error = parse_modifiers(parse, "{...}", modifiers + 1, first, true);
    else if (*modifiers)
        error = parse_wrong(parse, "'%s' after a group: only :MODIFIERS or a comma may follow a }", modifiers);
    free(modifiers);
    *text += length;
    for (size_t i = first; i < parse->spec->n; i++)
        parse->spec->events[i].group = group;
    parse->spec->n_groups = group + 1;
    return error;
}

static int list(struct parse *parse, const char *text) {
    for (;;) {
        size_t name = strcspn(text, "{},/:");
        int error;
        if (text[name] == '{') {
            char *word = cut(text, name);
            error = group_name_check(parse, word);
            free(word);
            text += name;
            error = error ? error : one_group(parse, &text);
        } else {
            error = one_event(parse, &text);
        }
        if (error || !*text)
            return error;
        if (*text != ',')
            return parse_wrong(parse, "expected a comma at '%.40s'", text);
        text++;
    }
}

int perf_event_parse(struct perf_event_list *spec, const char *text, const struct perf_event_roots *roots,
                     char error[PERF_EVENT_ERROR]) {
    static const struct perf_event_roots machine = {0};
    struct parse parse = {.spec = spec, .roots = roots ? roots : &machine, .error = error};
    size_t n = spec->n;
    unsigned n_groups = spec->n_groups;
    *error = '\0';
    int failed = list(&parse, text);
    while (failed && spec->n > n) // all or nothing
        event_free(&spec->events[--spec->n]);
    spec->n_groups = failed ? n_groups : spec->n_groups;
    return failed;
}

// ---- opening ----

int perf_parsed_open(const struct perf_parsed_event *event, uint64_t read_format, int pid, int cpu, int group_fd) {
    struct perf_event_attr attr = event->attr;
    attr.read_format = read_format;
    if (group_fd >= 0) // only a leader may have these
        attr.pinned = attr.exclusive = 0;
    return perf_open_attr(&attr, pid, cpu, group_fd);
}

const char *perf_event_refusal(int error) {
    switch (-error) {
    case ENOENT:
    case ENODEV:
    case ENXIO:
    case EOPNOTSUPP:
        return "not in this hardware or kernel";
    case EINVAL:
        return "the kernel rejects its numbers or modifiers";
    case EACCES:
    case EPERM:
        return "permission denied (run as root)";
    case EBUSY:
        return "another process holds the hardware";
    default:
        return strerror(-error);
    }
}

bool perf_parsed_on_cpu(const struct perf_parsed_event *event, int cpu) {
    bool set[CPUS_MAX] = {false};
    if (!event->cpus)
        return true;
    cpu_list_parse(event->cpus, set, CPUS_MAX);
    return cpu >= 0 && cpu < CPUS_MAX && set[cpu];
}
