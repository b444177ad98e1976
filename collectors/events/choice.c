// Resolving and checking what the user chose.
#include "collectors/events/choice.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/events/call_table.h"
#include "collectors/kernel/tracefs/event_filter.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"
#include "model/nearest.h"

#define LIST_BYTES_MAX (1u << 20)

void choice_free(struct choice *choice) {
    for (size_t i = 0; i < choice->n; i++)
        free(choice->events[i].filter);
    choice->n = 0;
}

// ---- the kernel's list ----

void tracepoints_parse(struct tracepoints *list, const char *text, size_t length) {
    size_t allocated = 0;
    *list = (struct tracepoints){.text = xmalloc(length + 1)};
    memcpy(list->text, text, length);
    list->text[length] = '\0';
    char *rest = list->text, *line;
    while ((line = strsep(&rest, "\n"))) {
        if (!strchr(line, ':'))
            continue;
        if (list->n + 1 >= allocated) {
            allocated = allocated ? allocated * 2 : 1024;
            list->names = xrealloc(list->names, allocated * sizeof(*list->names));
        }
        list->names[list->n++] = line;
        list->names[list->n] = NULL; // for name_nearest
    }
}

int tracepoints_read(struct tracepoints *list, const char *dir) {
    char path[512], *text = xmalloc(LIST_BYTES_MAX);
    snprintf(path, sizeof(path), "%s/available_events", dir);
    long length = format_file(path, text, LIST_BYTES_MAX - CALL_NAMES_MAX - 64);
    snprintf(path, sizeof(path), "%s/events/ftrace/print/format", dir);
    if (length >= 0 && !access(path, F_OK)) // the list lacks what cannot be enabled
        length += sprintf(text + length, "%s:%s\n", MARKER_SYSTEM, MARKER_NAME);
    if (length >= 0)
        length += (long)call_names(text + length, CALL_NAMES_MAX);
    *list = (struct tracepoints){0};
    if (length >= 0)
        tracepoints_parse(list, text, (size_t)length);
    free(text);
    return length < 0 ? (int)length : 0;
}

void tracepoints_free(struct tracepoints *list) {
    free(list->names);
    free(list->text);
    *list = (struct tracepoints){0};
}

// ---- resolving ----

const char *const choice_actions[] = {"freeze", "record", "stop", "mark", NULL};

// The action at the begin of the line; *length: its bytes with the blank. NULL: none.
static const char *action_of(const char *line, size_t *length) {
    for (const char *const *action = choice_actions; *action; action++) {
        size_t n = strlen(*action);
        if (strncmp(line, *action, n) || line[n] != ' ')
            continue;
        *length = n + strspn(line + n, " ");
        return *action;
    }
    *length = 0;
    return NULL;
}

static struct choice_event *event_find(struct choice *choice, const char *system, size_t length, const char *name) {
    for (size_t i = 0; i < choice->n; i++)
        if (strlen(choice->events[i].system) == length && !memcmp(choice->events[i].system, system, length) &&
            !strcmp(choice->events[i].name, name))
            return &choice->events[i];
    return NULL;
}

// False: too many.
static bool event_add(struct choice *choice, const char *full, const char *filter, bool by_glob, const char *action) {
    size_t length = strcspn(full, ":");
    const char *name = full + length + 1;
    struct choice_event *event = event_find(choice, full, length, name);
    if (!event && choice->n == CHOICE_MAX)
        return false;
    if (!event) {
        event = &choice->events[choice->n];
        *event = (struct choice_event){.filter = NULL};
        if (length >= sizeof(event->system) || strlen(name) >= sizeof(event->name))
            return true;
        memcpy(event->system, full, length);
        snprintf(event->name, sizeof(event->name), "%s", name);
        event->is_call = !strcmp(event->system, CALL_SYSTEM);
        event->is_marker = !strcmp(event->system, MARKER_SYSTEM) && !strcmp(event->name, MARKER_NAME);
        choice->n++;
    }
    event->by_glob = by_glob;
    event->action = action;
    free(event->filter);
    event->filter = *filter ? xstrdup(filter) : NULL;
    return true;
}

// One specification; `line` is a copy that is cut up, `place` its offset in the whole text.
static int spec_resolve(struct choice *choice, char *line, size_t place, const struct tracepoints *list,
                        struct choice_error *error) {
    size_t skip;
    const char *action = action_of(line, &skip);
    line += skip;
    place += skip;
    char *condition = strstr(line, " if ");
    const char *filter = condition ? condition + 4 + strspn(condition + 4, " ") : "";
    size_t length = condition ? (size_t)(condition - line) : strlen(line);
    while (length && line[length - 1] == ' ')
        length--;
    line[length] = '\0';
    if (condition && !*filter)
        return choice_refuse(error, -EINVAL, (int64_t)(place + (size_t)(condition - line)),
                             "the filter after \"if\" is missing");
    const char *colon = strchr(line, ':');
    if (!colon || colon == line || !colon[1] || strchr(line, ' ')) {
        return choice_refuse(error, -EINVAL, (int64_t)place,
                             "%.80s: expected SYSTEM:EVENT or SYSTEM:EVENT if FILTER, for example sched:sched_switch",
                             line);
    }
    size_t found = 0;
    for (size_t i = 0; i < list->n; i++) {
        if (fnmatch(line, list->names[i], 0))
            continue;
        found++;
        if (!event_add(choice, list->names[i], filter, strcmp(line, list->names[i]) != 0, action)) {
            return choice_refuse(error, -E2BIG, (int64_t)place, "%.80s: more than %d tracepoints: choose fewer", line,
                                 CHOICE_MAX);
        }
    }
    if (found && *filter && !strncmp(line, CALL_SYSTEM ":", sizeof(CALL_SYSTEM)))
        return choice_refuse(error, -EINVAL, (int64_t)(place + (size_t)(condition - line)),
                             "system calls (call:NAME) have no filter");
    if (found)
        return 0;
    const char *nearest = list->names ? name_nearest(line, list->names) : NULL;
    return choice_refuse(error, -ENOENT, (int64_t)place, "%.80s: this kernel has no such tracepoint%s%.80s%s", line,
                         nearest ? "; did you mean " : ": `ktop --list tracepoints` lists them", nearest ? nearest : "",
                         nearest ? "?" : "");
}

int choice_resolve(struct choice *choice, const char *text, const struct tracepoints *list,
                   struct choice_error *error) {
    int result = 0;
    *choice = (struct choice){.n = 0};
    *error = (struct choice_error){.place = -1};
    char *copy = xstrdup(text), *rest = copy, *line;
    while (!result && (line = strsep(&rest, "\n"))) {
        line += strspn(line, " ");
        if (*line)
            result = spec_resolve(choice, line, (size_t)(line - copy), list, error);
    }
    free(copy);
    if (result)
        choice_free(choice);
    return result;
}

// ---- filters ----

static void filter_explain(const struct choice_event *event, const char *text, const char *words, int32_t place,
                           struct choice_error *error) {
    const char *at = place < 0 ? NULL : strstr(text, event->filter);
    error->place = at ? (int32_t)(at - text) + place : -1;
    snprintf(error->sentence, sizeof(error->sentence), "%.40s:%.40s: the kernel refuses the filter%s%.30s%s: %.80s",
             event->system, event->name, at && event->filter[place] ? " at \"" : "",
             at && event->filter[place] ? event->filter + place : "", at && event->filter[place] ? "\"" : "", words);
}

int choice_check(const struct choice *choice, const char *text, struct choice_error *error) {
    char dir[256];
    bool any = false;
    *error = (struct choice_error){.place = -1};
    for (size_t i = 0; i < choice->n; i++)
        any |= choice->events[i].filter && !choice->events[i].is_call;
    if (!any)
        return 0;
    int result = instance_create("filters", dir, sizeof(dir));
    if (result) {
        char fix[256];
        tracing_explain(result, error->sentence, sizeof(error->sentence), fix, sizeof(fix));
        return result;
    }
    for (size_t i = 0; i < choice->n && !result; i++) {
        const struct choice_event *event = &choice->events[i];
        char words[128];
        int32_t place;
        if (!event->filter || event->is_call)
            continue;
        result = event_filter_set(dir, event->system, event->name, event->filter, words, sizeof(words), &place);
        if (result)
            filter_explain(event, text, words, place, error);
    }
    instance_remove(dir);
    return result;
}
