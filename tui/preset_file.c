#include "tui/preset_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/mem.h"
#include "model/nearest.h"
#include "tui/trusted_file.h"

#define SUFFIX ".preset"

__attribute__((format(printf, 2, 3))) static void problem(struct preset_files *files, const char *format, ...) {
    char text[512];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    files->problems = xrealloc(files->problems, (files->n_problems + 1) * sizeof *files->problems);
    files->problems[files->n_problems++] = xstrdup(text);
}

static void entry_clear(struct preset_entry *entry) {
    for (size_t i = 0; i < entry->n_events; i++)
        free(entry->events[i]);
    free(entry->events);
    free(entry->name);
    free(entry->help);
    free(entry->path);
}

static void files_clear(struct preset_files *files) {
    for (size_t i = 0; i < files->n; i++)
        entry_clear(&files->entries[i]);
    free(files->entries);
    for (size_t i = 0; i < files->n_problems; i++)
        free(files->problems[i]);
    free(files->problems);
    *files = (struct preset_files){0};
}

void preset_files_free(struct preset_files *files) {
    files_clear(files);
}

static struct preset_entry *find(const struct preset_files *files, const char *name) {
    for (size_t i = 0; i < files->n; i++)
        if (!strcmp(files->entries[i].name, name))
            return &files->entries[i];
    return NULL;
}

const struct preset_entry *preset_files_find(const struct preset_files *files, const char *name) {
    return find(files, name);
}

static struct preset_entry *entry_add(struct preset_files *files, const char *name, const char *path) {
    files->entries = xrealloc(files->entries, (files->n + 1) * sizeof *files->entries);
    struct preset_entry *entry = &files->entries[files->n++];
    *entry = (struct preset_entry){.name = xstrdup(name), .help = xstrdup(""), .path = xstrdup(path)};
    return entry;
}

// ---- one file ----

static bool is_name(const char *text) {
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_");
    return length && length <= PRESET_NAME_MAX && !text[length];
}

// "SYSTEM:EVENT", then nothing or " if FILTER".
static bool is_event(const char *text) {
    static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_*?[]";
    size_t system = strspn(text, name), event = text[system] == ':' ? strspn(text + system + 1, name) : 0;
    const char *rest = text + system + 1 + event;
    return system && event && (!*rest || (!strncmp(rest, " if ", 4) && rest[4 + strspn(rest + 4, " ")]));
}

static const char *section_line(struct preset_files *found, char *line, const char *path) {
    char *end = strchr(line, ']');
    if (!end || end[1])
        return "expected [NAME]";
    *end = '\0';
    char *name = line_trim(line + 1);
    if (!is_name(name))
        return "expected a preset name of at most 31 letters, digits, '-' or '_'";
    if (find(found, name))
        return "the file defines this preset twice";
    if (found->n == PRESETS_MAX)
        return "too many presets";
    entry_add(found, name, path);
    return NULL;
}

static const char *value_line(struct preset_entry *entry, char *line, char *reason, size_t size) {
    static const char *const keys[] = {"event", "help", NULL};
    char *equals = strchr(line, '=');
    if (!equals)
        return "expected KEY = VALUE";
    *equals = '\0';
    const char *key = line_trim(line), *value = line_trim(equals + 1);
    if (!entry)
        return "expected [NAME] before the first key";
    if (!*value)
        return "the value is missing";
    if (!strcmp(key, "help")) {
        free(entry->help);
        entry->help = xstrdup(value);
    } else if (!strcmp(key, "event")) {
        if (!is_event(value))
            return "expected SYSTEM:EVENT or SYSTEM:EVENT if FILTER";
        if (entry->n_events == PRESET_EVENTS_MAX)
            return "a preset has at most 32 events";
        entry->events = xrealloc(entry->events, (entry->n_events + 1) * sizeof *entry->events);
        entry->events[entry->n_events++] = xstrdup(value);
    } else {
        const char *nearest = name_nearest(key, keys);
        snprintf(reason, size, "unknown key \"%.40s\"; %s", key,
                 !nearest                   ? "keys are event and help"
                 : !strcmp(nearest, "help") ? "did you mean help?"
                                            : "did you mean event?");
        return reason;
    }
    return NULL;
}

static const char *parse_line(struct preset_files *found, char *line, const char *path, char *reason, size_t size) {
    line = line_trim(line);
    if (!*line || *line == '#')
        return NULL;
    for (char *tab = line; (tab = strchr(tab, '\t'));)
        *tab = ' ';
    if (!line_is_printable(line))
        return "the line has control characters";
    if (*line == '[')
        return section_line(found, line, path);
    return value_line(found->n ? &found->entries[found->n - 1] : NULL, line, reason, size);
}

static void merge(struct preset_files *files, struct preset_files *found) {
    for (size_t i = 0; i < found->n; i++) {
        struct preset_entry *old = find(files, found->entries[i].name);
        if (old) {
            entry_clear(old);
        } else if (files->n == PRESETS_MAX) {
            problem(files, "%s: more than %d presets: [%s] and later ones are ignored", found->entries[i].path,
                    PRESETS_MAX, found->entries[i].name);
            for (; i < found->n; i++)
                entry_clear(&found->entries[i]);
            break;
        } else {
            files->entries = xrealloc(files->entries, (files->n + 1) * sizeof *files->entries);
            old = &files->entries[files->n++];
        }
        *old = found->entries[i];
    }
    free(found->entries);
}

void preset_files_parse(struct preset_files *files, const char *path, const char *bytes, size_t length) {
    struct preset_files found = {0};
    const char *error = memchr(bytes, '\0', length) ? "the file has NUL bytes" : NULL;
    char *copy = xmalloc(length + 1), *rest = copy, *line, reason[160];
    unsigned number = 1;
    memcpy(copy, bytes, length);
    copy[length] = '\0';
    for (; !error && (line = strsep(&rest, "\n")); number += !error)
        error = parse_line(&found, line, path, reason, sizeof reason);
    for (size_t i = 0; !error && i < found.n; i++)
        if (!found.entries[i].n_events) {
            snprintf(reason, sizeof reason, "preset \"%s\" has no events", found.entries[i].name);
            problem(files, "%s: %s: the file is ignored", path, reason);
            goto bad;
        }
    if (!error) {
        merge(files, &found);
        free(copy);
        return;
    }
    problem(files, "%s:%u: %s: the file is ignored", path, number, error);
bad:
    files_clear(&found);
    free(copy);
}

// ---- directories ----

static void read_file(struct preset_files *files, int dir, const char *directory, const char *name) {
    char path[1024];
    const char *why;
    size_t length;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    char *bytes = trusted_read(dir, name, &length, &why);
    if (bytes)
        preset_files_parse(files, path, bytes, length);
    else
        problem(files, "%s: %s: the file is ignored", path, why ? why : strerror(ENOENT));
    free(bytes);
}

static int is_preset(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return entry->d_name[0] != '.' && length > strlen(SUFFIX) &&
           !strcmp(entry->d_name + length - strlen(SUFFIX), SUFFIX);
}

void preset_files_read(struct preset_files *files, const char *directory) {
    struct dirent **list = NULL;
    const char *why;
    int fd = trusted_dir(directory, &why);
    if (fd < 0) {
        if (why)
            problem(files, "%s: %s: its presets are ignored", directory, why);
        return;
    }
    int n = scandirat(fd, ".", &list, is_preset, alphasort);
    if (n < 0)
        problem(files, "%s: %s: its presets are ignored", directory, strerror(errno));
    for (int i = 0; i < n; i++) {
        read_file(files, fd, directory, list[i]->d_name);
        free(list[i]);
    }
    free(list);
    close(fd);
}

void preset_files_load(struct preset_files *files) {
    char path[1024];
    preset_files_read(files, "/etc/ktop/presets.d");
    if (trusted_user_path("presets.d", path, sizeof path))
        preset_files_read(files, path);
}
