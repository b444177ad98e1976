// Tracepoints by name and glob, and breakpoints on an address. Looks up; opens nothing.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/perf/event/private.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"

static const char *trace_root(const struct perf_event_roots *roots, const char **reason, const char **fix) {
    return roots->tracefs ? roots->tracefs : tracing_dir(reason, fix);
}

static bool is_glob(const char *name) {
    return strpbrk(name, "*?[") != NULL;
}

// Calls each(context, SYSTEM, EVENT) for what the globs match, sorted. How many that were, or -errno when the systems
// cannot be read.
static int match_each(const char *root, const char *system, const char *event,
                      int (*each)(void *context, const char *system, const char *event), void *context) {
    char path[1024];
    struct dirent **systems, **events;
    int found = 0;
    snprintf(path, sizeof path, "%s/events", root);
    int n = scandir(path, &systems, NULL, alphasort);
    if (n < 0)
        return -errno;
    for (int i = 0; i < n; i++) {
        const char *name = systems[i]->d_name;
        int m = -1;
        if (found >= 0 && name[0] != '.' && !fnmatch(system, name, 0)) {
            snprintf(path, sizeof path, "%s/events/%s", root, name);
            m = scandir(path, &events, NULL, alphasort);
        }
        for (int j = 0; j < m; j++) {
            const char *entry = events[j]->d_name;
            if (found >= 0 && entry[0] != '.' && strcmp(entry, "enable") != 0 && strcmp(entry, "filter") != 0 &&
                !fnmatch(event, entry, 0)) {
                int error = each(context, name, entry);
                found = error < 0 ? error : found + error;
            }
            free(events[j]);
        }
        if (m >= 0)
            free(events);
        free(systems[i]);
    }
    free(systems);
    return found;
}

struct adding {
    struct parse *parse;
    const char *root;
};

// The kernel's ID of it; without one (ftrace:function) perf cannot count it.
static int event_add(void *context, const char *system, const char *event) {
    struct adding *adding = context;
    char directory[1024], name[256];
    snprintf(directory, sizeof directory, "%s/events/%s/%s", adding->root, system, event);
    snprintf(name, sizeof name, "%s:%s", system, event);
    char *id = line_read(directory, "id");
    bool good = id && isdigit((unsigned char)*id);
    if (good)
        parse_add(adding->parse, PERF_TYPE_TRACEPOINT, strtoull(id, NULL, 10), name);
    free(id);
    return good;
}

int trace_events(struct parse *parse, const char *system, const char *event) {
    const char *reason = "no tracefs", *fix = "", *root = trace_root(parse->roots, &reason, &fix);
    char word[256];
    snprintf(word, sizeof word, "%s:%s", system, event);
    for (const char *p = word; *p; p++)
        if (!isalnum((unsigned char)*p) && !strchr("_:*?.[]!-", *p))
            return parse_wrong(parse, "'%c' in '%s' is not valid in a tracepoint: expected SYSTEM:EVENT", *p, word);
    if (!*event)
        return parse_wrong(parse, "'%s' has no tracepoint name: expected SYSTEM:EVENT", word);
    if (!root) {
        parse_wrong(parse, "the tracepoint '%s' cannot be looked up: %s: %s", word, reason, fix);
        return -EACCES;
    }
    struct adding adding = {parse, root};
    int found = match_each(root, system, event, event_add, &adding);
    if (found == -EACCES || found == -EPERM) {
        parse_wrong(parse, "the tracepoint '%s' cannot be looked up: no permission to read %s/events: run ktop as root",
                    word, root);
        return found;
    }
    if (found > 0)
        return 0;
    if (is_glob(word))
        return parse_wrong(parse, "no tracepoint matches '%s': `ktop --list tracepoints` lists them", word);
    const char *nearest = near_name(parse, word);
    return parse_wrong(parse, "unknown tracepoint '%s'%s%s%s", word, nearest ? ": did you mean " : "",
                       nearest ? nearest : "", nearest ? "?" : "");
}

struct naming {
    const char *root;
    void (*each)(void *context, const char *name);
    void *context;
};

static int name_give(void *context, const char *system, const char *event) {
    struct naming *naming = context;
    char name[256], id[1024];
    snprintf(id, sizeof id, "%s/events/%s/%s/id", naming->root, system, event);
    if (access(id, F_OK)) // not for perf
        return 0;
    snprintf(name, sizeof name, "%s:%s", system, event);
    naming->each(naming->context, name);
    return 1;
}

int trace_names(const struct perf_event_roots *roots, void (*each)(void *context, const char *name), void *context,
                const char **reason) {
    const char *fix = "", *root = trace_root(roots, reason, &fix);
    struct naming naming = {root, each, context};
    int found = root ? match_each(root, "*", "*", name_give, &naming) : -ENOENT;
    if (root && found < 0)
        *reason = "no permission to read tracefs: run as root";
    return found < 0 ? found : 0;
}

// ---- "mem:ADDRESS[/LENGTH][:rwx]" ----

static bool address_parse(const char **text, uint64_t *out) {
    const char *p = *text;
    bool hex = p[0] == '0' && p[1] == 'x';
    char *end;
    if (!isdigit((unsigned char)*p) || (hex && !isxdigit((unsigned char)p[2])))
        return false;
    errno = 0;
    *out = strtoull(p, &end, hex ? 16 : 10);
    *text = end;
    return errno == 0;
}

// ":rw" after an address: *type, and *text behind it. A letter that is no access is left to the modifiers.
static int access_parse(struct parse *parse, const char *whole, const char **text, unsigned *type) {
    static const char letters[] = "rwx";
    static const unsigned bits[] = {HW_BREAKPOINT_R, HW_BREAKPOINT_W, HW_BREAKPOINT_X};
    const char *p = *text;
    if (*p != ':' || !p[1] || !strchr(letters, p[1]))
        return 0;
    for (p++; *p && strchr(letters, *p); p++) {
        unsigned bit = bits[strchr(letters, *p) - letters];
        if (*type & bit)
            return parse_wrong(parse, "'%s': the access '%c' is repeated", whole, *p);
        *type |= bit;
    }
    *text = p;
    return 0;
}

int breakpoint_event(struct parse *parse, const char *text, const char **modifiers) {
    uint64_t address, length = 0;
    unsigned type = 0;
    if (strncmp(text, "mem:", 4) != 0)
        return 0;
    const char *p = text + 4;
    if (!address_parse(&p, &address))
        return parse_wrong(parse, "'%s' has no address: expected mem:0x1000[/LENGTH][:rwx]", text);
    if (*p == '/' && (p++, !address_parse(&p, &length)))
        return parse_wrong(parse, "'%s' has no length after the /: 1, 2, 4 or 8 bytes", text);
    int error = access_parse(parse, text, &p, &type);
    if (error)
        return error;
    if (*p && *p != ':')
        return parse_wrong(parse, "'%s' in '%s' is neither an access (r, w, x) nor a modifier after a colon", p, text);
    *modifiers = *p ? p + 1 : p;
    struct perf_parsed_event *event = parse_add(parse, PERF_TYPE_BREAKPOINT, 0, text);
    event->attr.bp_addr = address;
    event->attr.bp_type = type ? type : HW_BREAKPOINT_RW;
    // As perf has it: code is as long as a pointer, data four bytes.
    event->attr.bp_len = length ? length : event->attr.bp_type == HW_BREAKPOINT_X ? sizeof(long) : HW_BREAKPOINT_LEN_4;
    return 1;
}
