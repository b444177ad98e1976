// Groups and latencies among the specifications of tracepoints (see the header).
#include "collectors/events/group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/events/call_table.h"
#include "model/mem.h"

static int event_resolve(struct group_event *event, struct choice *choice, const struct tracepoints *list,
                         struct choice_error *error) {
    char full[192];
    struct choice more;
    int32_t place = error->place;
    for (event->index = 0; event->index < choice->n; event->index++)
        if (!strcmp(choice->events[event->index].system, event->system) &&
            !strcmp(choice->events[event->index].name, event->name))
            return 0;
    snprintf(full, sizeof(full), "%s:%s", event->system, event->name);
    int result = choice_resolve(&more, full, list, error);
    error->place = place;
    if (!result && choice->n == CHOICE_MAX) {
        snprintf(error->sentence, sizeof(error->sentence), "at most %d tracepoints at a time", CHOICE_MAX);
        result = -E2BIG;
    }
    if (!result) {
        choice->events[choice->n++] = more.events[0]; // it has no filter: nothing to own
        more.n = 0;
    }
    choice_free(&more);
    return result;
}

// The event's format file; system calls have none.
static int format_path(const struct group_event *event, const char *dir, char *out, size_t size,
                       struct choice_error *error) {
    snprintf(out, size, "%s/events/%s/%s/format", dir, event->system, event->name);
    if (strcmp(event->system, CALL_SYSTEM) != 0)
        return 0;
    snprintf(error->sentence, sizeof(error->sentence),
             "system calls are only listed: use syscalls:sys_enter_%.60s or syscalls:sys_exit_%.60s", event->name,
             event->name);
    return -EINVAL;
}

static int group_choose(struct group *group, struct choice *choice, const struct tracepoints *list, const char *dir,
                        struct choice_error *error) {
    char path[512];
    int result = event_resolve(&group->event, choice, list, error);
    if (!result)
        result = format_path(&group->event, dir, path, sizeof(path), error);
    return result ? result : group_resolve(group, path, error->sentence, sizeof(error->sentence));
}

static int pair_choose(struct pair *pair, struct choice *choice, const struct tracepoints *list, const char *dir,
                       struct choice_error *error) {
    char paths[2][512];
    int result = 0;
    for (int i = 0; !result && i < 2; i++) {
        result = event_resolve(&pair->events[i], choice, list, error);
        if (!result)
            result = format_path(&pair->events[i], dir, paths[i], sizeof(paths[i]), error);
    }
    return result ? result
                  : pair_resolve(pair, (const char *const[]){paths[0], paths[1]}, error->sentence,
                                 sizeof(error->sentence));
}

int event_groups_resolve(struct event_groups **out, struct choice *choice, const char *text,
                         const struct tracepoints *list, const char *dir, struct choice_error *error) {
    struct event_groups *groups = xcalloc(1, sizeof(*groups));
    int32_t places[2][GROUPS_MAX + 1] = {0};
    char *plain = xstrdup(text), *copy = xstrdup(text), *rest = copy, *line;
    bool stacks = false;
    int result = 0;
    *out = NULL;
    *choice = (struct choice){.n = 0};
    *error = (struct choice_error){.place = -1};
    while (!result && (line = strsep(&rest, "\n"))) {
        line += strspn(line, " ");
        if (!strcmp(line, EVENTS_STACKS)) {
            stacks = true;
            memset(plain + (line - copy), ' ', strlen(line));
        }
        if (!group_line_is_group(line) && !group_line_is_latency(line))
            continue;
        memset(plain + (line - copy), ' ', strlen(line)); // places in the other lines hold
        if (group_line_is_group(line))
            places[0][groups->n_groups] = (int32_t)(line - copy);
        else
            places[1][groups->n_pairs] = (int32_t)(line - copy);
        error->place = (int32_t)(line - copy);
        result = group_line_parse(groups, line, NULL, error->sentence, sizeof(error->sentence));
    }
    if (!result)
        result = choice_resolve(choice, plain, list, error);
    choice->stacks = stacks;
    for (size_t i = 0; !result && i < groups->n_groups; i++) {
        error->place = places[0][i];
        result = group_choose(&groups->groups[i], choice, list, dir, error);
    }
    for (size_t i = 0; !result && i < groups->n_pairs; i++) {
        error->place = places[1][i];
        result = pair_choose(&groups->pairs[i], choice, list, dir, error);
    }
    free(copy);
    free(plain);
    if (result || !(groups->n_groups + groups->n_pairs)) {
        event_groups_free(groups);
        if (result)
            choice_free(choice);
        return result;
    }
    *out = groups;
    return 0;
}
