// Groups and latencies of probes; see the header.
#include "collectors/probes/set_groups.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"
#include "model/nearest.h"

#define OWN_SYSTEM "probes" // "group probes:NAME by ...": it may be left out

bool probe_set_group_line(struct probe_set *set, const char *list, size_t place, size_t length, int *result,
                          struct choice_error *error) {
    char line[PROBE_SPEC_MAX];
    if (length >= sizeof(line))
        return false;
    snprintf(line, sizeof(line), "%.*s", (int)length, list + place);
    if (!strcmp(line, "stacks")) {
        set->stacks = true;
        *result = 0;
        return true;
    }
    if (!group_line_is_group(line) && !group_line_is_latency(line))
        return false;
    if (!set->groups)
        set->groups = xcalloc(1, sizeof(*set->groups));
    bool is_latency = group_line_is_latency(line);
    size_t i = is_latency ? set->groups->n_pairs : set->groups->n_groups;
    error->place = (int32_t)place;
    *result = group_line_parse(set->groups, line, OWN_SYSTEM, error->sentence, sizeof(error->sentence));
    if (!*result) {
        set->group_places[is_latency][i] = place;
        error->place = -1;
    }
    return true;
}

static bool event_find(const struct probe_set *set, struct group_event *event) {
    for (size_t i = 0; i < set->n && event->index == GROUP_NO_EVENT; i++)
        if (!strcmp(set->probes[i]->event, event->name))
            event->index = i;
    return event->index != GROUP_NO_EVENT;
}

static int refuse_missing(const struct probe_set *set, size_t place, const struct group_event *event,
                          struct choice_error *error) {
    const char *names[PROBES_MAX + 1] = {NULL}, *near;
    for (size_t i = 0; i < set->n; i++)
        names[i] = set->probes[i]->event;
    error->place = (int32_t)place;
    if (!names[0])
        snprintf(error->sentence, sizeof(error->sentence), "no probe is named %.96s: add it first", event->name);
    else if ((near = name_nearest(event->name, names)))
        snprintf(error->sentence, sizeof(error->sentence), "no probe is named %.96s: did you mean %.60s?", event->name,
                 near);
    else
        snprintf(error->sentence, sizeof(error->sentence), "no probe is named %.96s, but for example %.60s",
                 event->name, names[0]);
    return -ENOENT;
}

int probe_set_find_grouped(struct probe_set *set, struct choice_error *error) {
    struct event_groups *groups = set->groups;
    *error = (struct choice_error){.place = -1};
    for (size_t i = 0; groups && i < groups->n_groups; i++)
        if (!event_find(set, &groups->groups[i].event))
            return refuse_missing(set, set->group_places[0][i], &groups->groups[i].event, error);
    for (size_t i = 0; groups && i < groups->n_pairs; i++)
        for (int k = 0; k < 2; k++)
            if (!event_find(set, &groups->pairs[i].events[k]))
                return refuse_missing(set, set->group_places[1][i], &groups->pairs[i].events[k], error);
    return 0;
}

bool probe_set_line_uses(const char *line, const char *probe) {
    struct event_groups *groups = xcalloc(1, sizeof(*groups));
    char why[256];
    bool uses = false;
    if ((group_line_is_group(line) || group_line_is_latency(line)) &&
        !group_line_parse(groups, line, OWN_SYSTEM, why, sizeof(why)))
        uses = !strcmp(groups->groups[0].event.name, probe) || !strcmp(groups->pairs[0].events[0].name, probe) ||
               !strcmp(groups->pairs[0].events[1].name, probe);
    event_groups_free(groups);
    return uses;
}

static const char *format_path(const struct probe_set *set, const struct group_event *event, char *out, size_t size) {
    const struct probe *probe = set->probes[event->index];
    snprintf(out, size, "%s/events/%s/%s/format", tracing_dir(NULL, NULL), probe->group, probe->event);
    return out;
}

int probe_set_resolve_groups(struct probe_set *set, struct choice_error *error) {
    struct event_groups *groups = set->groups;
    char paths[2][512];
    int result = 0;
    for (size_t i = 0; groups && i < groups->n_groups && !result; i++) {
        struct group *group = &groups->groups[i];
        error->place = (int32_t)set->group_places[0][i];
        result = group_resolve(group, format_path(set, &group->event, paths[0], sizeof(paths[0])), error->sentence,
                               sizeof(error->sentence));
    }
    for (size_t i = 0; groups && i < groups->n_pairs && !result; i++) {
        struct pair *pair = &groups->pairs[i];
        error->place = (int32_t)set->group_places[1][i];
        for (int k = 0; k < 2; k++)
            format_path(set, &pair->events[k], paths[k], sizeof(paths[k]));
        result =
            pair_resolve(pair, (const char *const[]){paths[0], paths[1]}, error->sentence, sizeof(error->sentence));
    }
    return result;
}
