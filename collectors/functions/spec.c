// Specifications of functions; see the header.
#include "collectors/functions/spec.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/symbols/demangle.h"

int64_t function_spec_place(const struct function_spec *spec) {
    return (int64_t)(spec->place + spec->glob_at);
}

static int64_t place_of(const struct function_spec *spec, const char *at) {
    return (int64_t)spec->place + (at - spec->text);
}

const char *function_spec_separator(const char *text, const char *end) {
    for (const char *at = text; at < end; at++) {
        if (*at != ':')
            continue;
        if (at + 1 < end && at[1] == ':')
            at++;
        else
            return at;
    }
    return NULL;
}

static int copy(char *out, size_t size, const char *at, const char *end, const char *what,
                const struct function_spec *spec, struct choice_error *error) {
    if ((size_t)(end - at) >= size)
        return choice_refuse(error, -EINVAL, place_of(spec, at), "%s is longer than %zu characters", what, size - 1);
    memcpy(out, at, (size_t)(end - at));
    out[end - at] = '\0';
    return 0;
}

double function_time_parse(const char *text) {
    static const struct {
        const char *name;
        double ns;
    } units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    char *rest;
    double value = strtod(text, &rest);
    if (rest > text && value > 0)
        for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
            if (!strcmp(rest + strspn(rest, " "), units[i].name))
                return value * units[i].ns;
    return 0;
}

// "> 10ms"; `end` becomes the end of what is before it.
static int time_parse(struct function_spec *spec, const char **end, struct choice_error *error) {
    const char *at = *end;
    while (at > spec->text && at[-1] != '>')
        at--;
    // "operator>" is a name: a limit has a blank before its sign.
    if (at - spec->text < 2 || at[-1] != '>' || !strchr(" \t", at[-2]))
        return 0;
    double ns = function_time_parse(at);
    *end = at - 2;
    if (!(ns > 0) || ns >= 1e15)
        return choice_refuse(error, -EINVAL, place_of(spec, at),
                             "expected a time with its unit after >, for example > 10ms");
    if (ns < 1)
        return choice_refuse(error, -EINVAL, place_of(spec, at), "expected a time of at least 1ns after >");
    spec->slower_ns = (uint64_t)ns;
    return 0;
}

// "start " or "stop " before a function. A function may have one of these names.
static const char *role_parse(struct function_spec *spec, const char *at) {
    static const struct {
        const char *word;
        enum function_role role;
    } words[] = {{"start", FUNCTION_START}, {"stop", FUNCTION_STOP}};
    spec->role = FUNCTION_COUNTED;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i].word);
        if (strncmp(at, words[i].word, length) != 0)
            continue;
        size_t blanks = strspn(at + length, " \t");
        if (!blanks || at[length + blanks] == '>')
            continue;
        spec->role = words[i].role;
        return at + length + blanks;
    }
    return at;
}

static int parse(struct function_spec *spec, struct choice_error *error) {
    const char *at = spec->text, *end = at + strlen(at);
    spec->forced = *at == '!';
    at += spec->forced;
    at += strspn(at, " \t");
    at = role_parse(spec, at);
    int result = time_parse(spec, &end, error);
    while (end > at && strchr(" \t", end[-1]))
        end--;
    if (result)
        return result;
    if (spec->slower_ns && spec->role != FUNCTION_COUNTED)
        return choice_refuse(error, -EINVAL, place_of(spec, end),
                             "calls of start and stop functions are not listed: remove the time");
    const char *module = strstr(at, FUNCTION_SPEC_MODULE), *colon = function_spec_separator(at, end);
    if (module && module < end) {
        if (function_spec_separator(at, module))
            return choice_refuse(error, -EINVAL, place_of(spec, at),
                                 "a kernel module has no file name before it: write GLOB:mod:NAME");
        result = copy(spec->module, sizeof(spec->module), module + strlen(FUNCTION_SPEC_MODULE), end,
                      "the module's name", spec, error);
        if (!result && !spec->module[0])
            return choice_refuse(error, -EINVAL, place_of(spec, end),
                                 "expected the name of a kernel module after :mod:");
        end = module;
    } else if (colon) {
        result = copy(spec->object, sizeof(spec->object), at, colon, "the file's name", spec, error);
        if (!result && !spec->object[0])
            return choice_refuse(error, -EINVAL, place_of(spec, at),
                                 "expected a file before the colon: OBJECT:GLOB, or GLOB for the kernel");
        at = colon + 1;
    }
    spec->glob_at = (size_t)(at - spec->text);
    if (!result)
        result = copy(spec->glob, sizeof(spec->glob), at, end, "the function's name", spec, error);
    if (!result && !spec->glob[0] && !spec->module[0])
        return choice_refuse(error, -EINVAL, place_of(spec, at),
                             "expected the name of a function, for example vfs_read or 'libssl*:SSL_*'");
    if (!result && !spec->glob[0])
        snprintf(spec->glob, sizeof(spec->glob), "*");
    return result;
}

int function_specs_parse(struct function_specs *specs, const char *list, struct choice_error *error) {
    specs->n = 0;
    *error = (struct choice_error){.place = -1};
    for (const char *line = list; *line;) {
        size_t length = strcspn(line, "\n"), blanks = strspn(line, " \t");
        const char *begin = line + (blanks < length ? blanks : length);
        size_t size = length - (size_t)(begin - line);
        line += length + (line[length] == '\n');
        while (size && strchr(" \t", begin[size - 1]))
            size--;
        if (!size)
            continue;
        struct function_spec *spec = &specs->all[specs->n];
        error->place = (int32_t)(begin - list);
        if (specs->n == FUNCTION_SPECS_MAX || size >= sizeof(spec->text)) {
            snprintf(error->sentence, sizeof(error->sentence),
                     specs->n == FUNCTION_SPECS_MAX ? "more than %d patterns of functions: remove some"
                                                    : "the pattern is longer than %d characters",
                     specs->n == FUNCTION_SPECS_MAX ? FUNCTION_SPECS_MAX : FUNCTION_SPEC_MAX - 1);
            return -E2BIG;
        }
        *spec = (struct function_spec){.place = (size_t)(begin - list)};
        memcpy(spec->text, begin, size);
        int result = parse(spec, error);
        if (result)
            return result;
        specs->n++;
    }
    error->place = -1;
    return 0;
}

bool function_spec_matches(const struct function_spec *spec, const char *symbol, size_t length) {
    char name[512], plain[DEMANGLED_MAX];
    if (!length || length >= sizeof(name))
        return false;
    memcpy(name, symbol, length);
    name[length] = '\0';
    if (!fnmatch(spec->glob, name, 0))
        return true;
    return demangle_wanted(name) && strncmp(spec->glob, "_Z", 2) && demangle(name, plain) &&
           !fnmatch(spec->glob, plain, 0);
}

bool function_spec_is_in(const struct function_spec *spec, const char *path) {
    const char *base = strrchr(path, '/');
    if (strchr(spec->object, '/'))
        return !fnmatch(spec->object, path, 0);
    return base && !fnmatch(spec->object, base + 1, 0);
}
