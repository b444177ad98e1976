#include "tui/thresholds.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/findings_about.h"
#include "model/findings_thresholds.h"
#include "model/mem.h"
#include "model/nearest.h"
#include "tui/trusted_file.h"

#define FILE_NAME "thresholds"
#define NAMES_MAX 256

__attribute__((format(printf, 1, 2))) static void problem(const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    thresholds_problem(text);
}

static void unknown_rule(const char *rule, char *reason, size_t size) {
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (const struct finding_about *about = finding_abouts; about->kind && n + 1 < NAMES_MAX; about++)
        names[n++] = about->kind;
    names[n] = NULL;
    const char *nearest = name_nearest(rule, names);
    snprintf(reason, size, "unknown rule \"%.40s\"; %s%s%s", rule,
             nearest ? "did you mean " : "see `ktop --list rules`", nearest ? nearest : "", nearest ? "?" : "");
}

static void unknown_name(const char *rule, const char *name, char *reason, size_t size) {
    const char *names[NAMES_MAX];
    size_t n = 0;
    for (size_t i = 0; i < N_THRESHOLDS && n + 1 < NAMES_MAX; i++)
        if (!strcmp(thresholds[i].rule, rule))
            names[n++] = thresholds[i].name;
    names[n] = NULL;
    if (!n) {
        snprintf(reason, size, "the rule %s has no thresholds", rule);
        return;
    }
    const char *nearest = name_nearest(name, names);
    snprintf(reason, size, "the rule %s has no threshold \"%.40s\"; %s %s%s", rule, name,
             nearest ? "did you mean" : "its first is", nearest ? nearest : names[0], nearest ? "?" : "");
}

// "95", "95 %" or "95%": the unit is that of the name.
static bool value_of(const char *text, size_t i, double *value, char *reason, size_t size) {
    const char *unit = threshold_unit(&thresholds[i]);
    size_t digits = strspn(text, "0123456789."), points = 0;
    for (size_t k = 0; k < digits; k++)
        points += text[k] == '.';
    char *end;
    *value = strtod(text, &end);
    const char *rest = end + strspn(end, " \t");
    if (digits && points <= 1 && digits < 16 && end == text + digits && (!*rest || !strcmp(rest, unit)))
        return true;
    char example[64];
    threshold_words(i, thresholds[i].initial, example, sizeof example);
    snprintf(reason, size, "\"%.40s\" is no value of %s.%s: expected a number%s%s, for example %s", text,
             thresholds[i].rule, thresholds[i].name, *unit ? " of " : "", unit, example);
    return false;
}

// NULL: it is good, and changes one of the values or none.
static const char *parse_line(char *line, double *values, char *reason, size_t size) {
    char *comment = strchr(line, '#');
    if (comment)
        *comment = '\0';
    line = line_trim(line);
    for (char *tab = line; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    if (!*line)
        return NULL;
    if (!line_is_printable(line))
        return "the line has control characters";
    char *equals = strchr(line, '=');
    if (equals)
        *equals = '\0';
    char *rule = line_trim(line), *name = equals ? strchr(rule, '.') : NULL;
    const char *value = equals ? line_trim(equals + 1) : "";
    if (!name || !*value)
        return "expected RULE.NAME = VALUE";
    *name++ = '\0';
    size_t i = threshold_find(rule, name);
    if (!finding_about(rule))
        unknown_rule(rule, reason, size);
    else if (i == N_THRESHOLDS)
        unknown_name(rule, name, reason, size);
    else if (value_of(value, i, &values[i], reason, size))
        return NULL;
    return reason;
}

void thresholds_parse(const char *path, const char *bytes, size_t length) {
    double values[N_THRESHOLDS];
    const char *error = memchr(bytes, '\0', length) ? "the file has NUL bytes" : NULL;
    char *copy = xmalloc(length + 1), *rest = copy, *line, reason[256];
    unsigned number = 1;
    memcpy(values, thresholds_in_force, sizeof values);
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    for (; !error && (line = strsep(&rest, "\n")); number += !error)
        error = parse_line(line, values, reason, sizeof reason);
    if (error)
        problem("%s:%u: %s: the file is ignored", path, number, error);
    else
        memcpy(thresholds_in_force, values, sizeof values);
    free(copy);
}

void thresholds_read(const char *directory) {
    const char *why;
    size_t length;
    char path[1024];
    int dir = trusted_dir(directory, &why);
    snprintf(path, sizeof path, "%s/" FILE_NAME, directory);
    if (dir < 0) {
        if (why)
            problem("%s: %s: its thresholds are ignored", directory, why);
        return;
    }
    char *bytes = trusted_read(dir, FILE_NAME, &length, &why);
    if (bytes)
        thresholds_parse(path, bytes, length);
    else if (why)
        problem("%s: %s: the file is ignored", path, why);
    free(bytes);
    close(dir);
}

void thresholds_load(void) {
    char path[1024];
    thresholds_read("/etc/ktop");
    if (trusted_user_path("", path, sizeof path))
        thresholds_read(path);
}
