// Parsing; see the header.
#include "collectors/probes/spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RETURN "%return"

struct word {
    const char *at;
    size_t length;
};

static struct word next_word(const char **at) {
    struct word word = {.at = *at + strspn(*at, " \t")};
    word.length = strcspn(word.at, " \t");
    *at = word.at + word.length;
    return word;
}

static bool ends_in(const char *text, size_t length, const char *suffix) {
    size_t n = strlen(suffix);
    return length >= n && !memcmp(text + length - n, suffix, n);
}

// "p", "r10:NAME", "p:GROUP/NAME": the first word of the tracefs syntax.
static bool is_type(const struct word *word) {
    size_t digits = word->length ? strspn(word->at + 1, "0123456789") : 0;
    if (!word->length || !strchr("prftes", word->at[0]))
        return false;
    return word->length == 1 + digits || word->at[1 + digits] == ':';
}

static void name_make(struct probe_spec *spec, const char *text, size_t length, const char *suffix) {
    size_t n = 0, most = sizeof(spec->name) - 1 - strlen(suffix);
    for (size_t i = 0; i < length && n < most; i++) {
        char c = text[i];
        bool good = isalnum((unsigned char)c) || c == '_';
        if (good || (n && spec->name[n - 1] != '_'))
            spec->name[n++] = good ? c : '_';
    }
    while (n && spec->name[n - 1] == '_')
        n--;
    if (n && isdigit((unsigned char)spec->name[0]) && n < most) {
        memmove(spec->name + 1, spec->name, n++);
        spec->name[0] = '_';
    }
    snprintf(spec->name + n, sizeof(spec->name) - n, "%s", suffix);
}

static int name_take(struct probe_spec *spec, const char *at, size_t length, struct choice_error *error) {
    const char *slash = memchr(at, '/', length); // a group: ktop has its own
    if (slash) {
        length -= (size_t)(slash + 1 - at);
        at = slash + 1;
    }
    if (length >= sizeof(spec->name))
        return choice_refuse(error, -EINVAL, at - spec->text, "the name is longer than %zu characters",
                             sizeof(spec->name) - 1);
    for (size_t i = 0; i < length; i++)
        if (!(isalnum((unsigned char)at[i]) || at[i] == '_') || (!i && isdigit((unsigned char)at[i])))
            return choice_refuse(error, -EINVAL, (at + i) - spec->text,
                                 "a probe's name has letters, digits and _ only");
    memcpy(spec->name, at, length);
    spec->name[length] = '\0';
    return 0;
}

static int type_take(struct probe_spec *spec, const struct word *word, struct choice_error *error) {
    const char *at = word->at;
    switch (*at) {
    case 's':
        return choice_refuse(error, -EINVAL, at - spec->text,
                             "synthetic events (s:) are no probes: use p, r, f, t or e");
    case 'f':
        spec->kind = PROBE_FUNCTION;
        break;
    case 't':
        spec->kind = PROBE_TRACEPOINT;
        break;
    case 'e':
        spec->kind = PROBE_EVENT;
        break;
    default:
        spec->returns = *at == 'r';
    }
    const char *end = at + 1 + strspn(at + 1, "0123456789");
    unsigned long maxactive = end > at + 1 ? strtoul(at + 1, NULL, 10) : 0;
    if (end > at + 1 && *at != 'r' && *at != 'f')
        return choice_refuse(error, -EINVAL, (at + 1) - spec->text, "MAXACTIVE is for return probes only: r%lu",
                             maxactive);
    if (maxactive > 4096)
        return choice_refuse(error, -EINVAL, (at + 1) - spec->text, "MAXACTIVE is 4096 at most");
    spec->maxactive = (uint32_t)maxactive;
    if (*end != ':')
        return 0;
    return name_take(spec, end + 1, word->length - (size_t)(end + 1 - at), error);
}

// "+0x1f" or "+31" at the end of a symbol. False: the symbol has none. C++'s operator+ has no digit after it.
static bool offset_take(struct word *symbol, uint64_t *offset) {
    for (size_t i = symbol->length; i-- > 1;) {
        if (symbol->at[i] != '+')
            continue;
        char digits[32], *end;
        size_t n = symbol->length - i - 1;
        if (!n || n >= sizeof(digits) || !isdigit((unsigned char)symbol->at[i + 1]))
            return false;
        memcpy(digits, symbol->at + i + 1, n);
        digits[n] = '\0';
        *offset = strtoull(digits, &end, 0);
        if (*end)
            return false;
        symbol->length = i;
        return true;
    }
    return false;
}

// A colon that is none of C++'s "::".
static const char *single_colon(const char *at, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (at[i] != ':')
            continue;
        if (i + 1 < length && at[i + 1] == ':')
            i++;
        else
            return at + i;
    }
    return NULL;
}

static int file_offset(struct probe_spec *spec, const struct word *place, struct choice_error *error) {
    char *end;
    spec->offset = strtoull(place->at, &end, 0);
    if (*end == '(') {
        spec->semaphore = strtoull(end + 1, &end, 0);
        end += *end == ')';
    }
    if (end != place->at + place->length)
        return choice_refuse(error, -EINVAL, (end > place->at + place->length ? place->at : end) - spec->text,
                             "expected an offset in the file, for example 0x1149 or 0x1149(0x4028)");
    return 0;
}

static int symbol_set(struct probe_spec *spec, const struct word *symbol, struct choice_error *error) {
    if (!symbol->length)
        return choice_refuse(error, -EINVAL, symbol->at - spec->text, "the name of a function is missing");
    if (symbol->length >= sizeof(spec->symbol))
        return choice_refuse(error, -EINVAL, symbol->at - spec->text,
                             "the name of the function is longer than 255 characters");
    memcpy(spec->symbol, symbol->at, symbol->length);
    spec->symbol[symbol->length] = '\0';
    return 0;
}

// The place in a file, after the path.
static int user_place(struct probe_spec *spec, struct word place, struct choice_error *error) {
    const char *suffix = spec->returns ? "__return" : "";
    char name[PROBE_PATH_MAX + 32];
    int result;
    spec->kind = PROBE_USER;
    if (!place.length)
        return choice_refuse(error, -EINVAL, place.at - spec->text,
                             "expected PATH:SYMBOL, PATH:OFFSET or PATH:PROVIDER:NAME");
    if (isdigit((unsigned char)*place.at)) {
        const char *slash = strrchr(spec->path, '/');
        result = file_offset(spec, &place, error);
        snprintf(name, sizeof(name), "%s_0x%llx", slash ? slash + 1 : spec->path, (unsigned long long)spec->offset);
        if (!result && !spec->name[0])
            name_make(spec, name, strlen(name), suffix);
        return result;
    }
    const char *sdt = *place.at == '%' ? place.at + 1 : place.at;
    size_t length = place.length - (size_t)(sdt - place.at);
    if (single_colon(sdt, length)) {
        if (length > 4 && !memcmp(sdt, "sdt_", 4)) { // as `perf list sdt` has it
            sdt += 4;
            length -= 4;
        }
        spec->kind = PROBE_USDT;
        if (spec->returns)
            return choice_refuse(error, -EINVAL, place.at - spec->text, "a USDT probe has no return");
        place = (struct word){sdt, length};
    } else if (offset_take(&place, &spec->offset) && spec->offset && spec->returns) {
        return choice_refuse(error, -EINVAL, place.at - spec->text,
                             "a return probe is at a function, without an offset");
    }
    result = symbol_set(spec, &place, error);
    if (!result && !spec->name[0]) {
        if (spec->offset)
            snprintf(name, sizeof(name), "%s_%llu", spec->symbol, (unsigned long long)spec->offset);
        else
            snprintf(name, sizeof(name), "%s", spec->symbol);
        name_make(spec, name, strlen(name), suffix);
    }
    return result;
}

static int kernel_place(struct probe_spec *spec, struct word place, struct choice_error *error) {
    const char *colon = memchr(place.at, ':', place.length);
    if (memchr(place.at, ';', place.length) || (colon && isdigit((unsigned char)colon[1])))
        return choice_refuse(error, -EINVAL, place.at - spec->text,
                             "source lines are no places here: use SYMBOL+OFFSET");
    if (!spec->name[0])
        name_make(spec, place.at, place.length, spec->returns ? "__return" : "");
    return symbol_set(spec, &place, error);
}

static int path_take(struct probe_spec *spec, const struct word *path, struct choice_error *error) {
    if (!path->length || path->length >= sizeof(spec->path))
        return choice_refuse(error, -EINVAL, path->at - spec->text,
                             path->length ? "the path is too long" : "the path is missing");
    memcpy(spec->path, path->at, path->length);
    spec->path[path->length] = '\0';
    return 0;
}

// Where the path ends, if the place is in a file: at the first colon after its last slash.
static const char *path_end(const struct word *place) {
    const char *slash = memrchr(place->at, '/', place->length), *from = slash ? slash : place->at;
    size_t left = place->length - (size_t)(from - place->at);
    const char *colon = memchr(from, ':', left);
    if (!slash && !(colon && memmem(from, (size_t)(colon - from), ".so", 3)))
        return NULL;
    return colon ? colon : place->at + place->length;
}

static int place_take(struct probe_spec *spec, struct word place, struct choice_error *error) {
    bool named = spec->kind == PROBE_TRACEPOINT || spec->kind == PROBE_EVENT;
    if (!place.length)
        return choice_refuse(error, -EINVAL, place.at - spec->text,
                             "where is the probe? For example: p do_sys_openat2, or p /usr/bin/bash:readline");
    if (ends_in(place.at, place.length, RETURN)) {
        spec->returns = true;
        place.length -= strlen(RETURN);
    }
    spec->place = (size_t)(place.at - spec->text);
    spec->place_length = place.length;
    if (spec->path[0])
        return user_place(spec, place, error);
    const char *end = named ? NULL : path_end(&place);
    if (!end)
        return kernel_place(spec, place, error);
    if (spec->kind == PROBE_FUNCTION)
        return choice_refuse(error, -EINVAL, place.at - spec->text,
                             "fprobes (f) are for functions of the kernel: use p or r for a file");
    const struct word path = {place.at, (size_t)(end - place.at)};
    int result = path_take(spec, &path, error);
    if (result)
        return result;
    end += *end == ':';
    return user_place(spec, (struct word){end, place.length - (size_t)(end - place.at)}, error);
}

// "NAME=PLACE" of perf probe; the '=' of C++'s operator= follows a path or no name.
static int perf_name(struct probe_spec *spec, struct word *place, struct choice_error *error) {
    const char *equals = memchr(place->at, '=', place->length);
    size_t n = equals ? (size_t)(equals - place->at) : 0;
    for (size_t i = 0; i < n; i++)
        if (!(isalnum((unsigned char)place->at[i]) || strchr("_:/", place->at[i])))
            return 0;
    if (!n)
        return 0;
    const char *colon = memrchr(place->at, ':', n), *name = colon ? colon + 1 : place->at;
    int result = name_take(spec, name, (size_t)(equals - name), error);
    place->at += n + 1;
    place->length -= n + 1;
    return result;
}

int probe_spec_parse(struct probe_spec *spec, const char *text, size_t length, struct choice_error *error) {
    *spec = (struct probe_spec){.kind = PROBE_KERNEL, .args = "", .filter = ""};
    *error = (struct choice_error){.place = -1};
    while (length && strchr(" \t", text[length - 1]))
        length--;
    if (length >= sizeof(spec->text))
        return choice_refuse(error, -EINVAL, spec->text - spec->text, "a probe is longer than %d characters",
                             PROBE_SPEC_MAX - 1);
    memcpy(spec->text, text, length);
    const char *at = spec->text + strspn(spec->text, " \t");
    if (*at == '!') {
        spec->forced = true;
        at++;
    }
    struct word word = next_word(&at);
    int result = 0;
    if (is_type(&word)) {
        result = type_take(spec, &word, error);
        word = next_word(&at);
    } else {
        if (word.length == 2 && !memcmp(word.at, "-x", 2)) {
            word = next_word(&at);
            result = path_take(spec, &word, error);
            word = next_word(&at);
        }
        if (!result)
            result = perf_name(spec, &word, error);
    }
    if (!result)
        result = place_take(spec, word, error);
    if (result)
        return result;
    spec->args = at + strspn(at, " \t");
    spec->args_length = strlen(spec->args);
    const char *condition = spec->kind == PROBE_EVENT ? NULL : strstr(at, " if "); // of those the kernel has its own
    bool bare =
        spec->kind != PROBE_EVENT && (!strcmp(spec->args, "if") || ends_in(spec->args, spec->args_length, " if"));
    if (bare)
        return choice_refuse(error, -EINVAL, (spec->text + length) - spec->text, "the filter after \"if\" is missing");
    if (condition) {
        spec->filter = condition + 4 + strspn(condition + 4, " ");
        spec->args_length = condition > spec->args ? (size_t)(condition - spec->args) : 0;
        if (!*spec->filter)
            return choice_refuse(error, -EINVAL, (condition + 4) - spec->text, "the filter after \"if\" is missing");
    }
    return 0;
}

const char *probe_kind_name(const struct probe_spec *spec) {
    static const char *const names[] = {"kprobe", "uprobe", "USDT", "fprobe", "tracepoint", "event"};
    static const char *const of_returns[] = {"kretprobe", "uretprobe", "USDT", "fprobe exit", "tracepoint", "event"};
    return (spec->returns ? of_returns : names)[spec->kind];
}
