// Lists of probes; see the header.
#include "collectors/probes/set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/event_filter.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/probes/rate.h"
#include "collectors/probes/set_groups.h"
#include "model/mem.h"

static bool name_used(const struct probe_set *set, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(set->probes[i]->event, name))
            return true;
    return false;
}

static void event_name(struct probe_set *set, size_t i) {
    struct probe *probe = set->probes[i];
    snprintf(probe->event, sizeof(probe->event), "%s", probe->spec.name);
    for (int n = 2; name_used(set, i, probe->event); n++)
        snprintf(probe->event, sizeof(probe->event), "%.44s_%d", probe->spec.name, n);
    memcpy(probe->spec.name, probe->event, sizeof(probe->spec.name));
    probe->spec.name[sizeof(probe->spec.name) - 1] = '\0';
}

int probe_set_parse(struct probe_set *set, const char *list, struct choice_error *error) {
    *set = (struct probe_set){.n = 0};
    *error = (struct choice_error){.place = -1};
    for (const char *line = list; *line;) {
        size_t length = strcspn(line, "\n"), place = (size_t)(line - list);
        const char *begin = line + strspn(line, " \t");
        line += length + (line[length] == '\n');
        if (begin >= list + place + length)
            continue;
        length -= (size_t)(begin - (list + place));
        place = (size_t)(begin - list);
        int result = 0;
        if (probe_set_group_line(set, list, place, length, &result, error)) {
            if (result)
                return result;
            continue;
        }
        if (set->n == PROBES_MAX) {
            snprintf(error->sentence, sizeof(error->sentence), "more than %d probes: remove some", PROBES_MAX);
            error->place = (int32_t)place;
            return -E2BIG;
        }
        struct probe *probe = set->probes[set->n] = xcalloc(1, sizeof(*probe));
        set->places[set->n++] = place;
        result = probe_spec_parse(&probe->spec, begin, length, error);
        if (result) {
            error->place += (int32_t)place;
            return result;
        }
        event_name(set, set->n - 1);
    }
    return 0;
}

// In an instance of their own, so that a wrong one is found before anything is recorded.
static int filters_check(const struct probe_set *set, struct choice_error *error) {
    char dir[256] = "", words[128];
    int result = 0;
    for (size_t i = 0; i < set->n && !result; i++) {
        const struct probe *probe = set->probes[i];
        const char *filter = probe->spec.filter;
        int32_t at;
        if (!*filter)
            continue;
        if (!dir[0] && (result = instance_create("probes-filters", dir, sizeof(dir)))) {
            char fix[256];
            tracing_explain(result, error->sentence, sizeof(error->sentence), fix, sizeof(fix));
            return result;
        }
        result = event_filter_set(dir, probe->group, probe->event, filter, words, sizeof(words), &at);
        if (!result)
            continue;
        snprintf(error->sentence, sizeof(error->sentence), "%s: the kernel refuses the filter at \"%.30s\": %.80s",
                 probe->event, at < 0 ? filter : filter + at, words);
        error->place = (int32_t)(filter - probe->spec.text) + (at < 0 ? 0 : at) + (int32_t)set->places[i];
    }
    if (dir[0])
        instance_remove(dir);
    return result;
}

int probe_set_define(struct probe_set *set, const char *group, pid_t pid, struct choice_error *error) {
    char name[64];
    ktop_group_name(ktop_id_self(), group, name, sizeof(name));
    for (size_t i = 0; i < set->n; i++) {
        memcpy(set->probes[i]->group, name, sizeof(name));
        set->probes[i]->with_caller = set->stacks;
        int result = probe_define(set->probes[i], pid, error);
        if (!result)
            continue;
        error->place += (int32_t)set->places[i];
        while (i-- > 0)
            probe_undefine(set->probes[i]);
        return result;
    }
    set->defined = true;
    int result = filters_check(set, error);
    if (!result)
        result = probe_set_resolve_groups(set, error);
    if (result) {
        for (size_t i = 0; i < set->n; i++)
            probe_undefine(set->probes[i]);
        set->defined = false;
    }
    return result;
}

const struct probe *probe_set_find(const struct probe_set *set, const char *text) {
    for (size_t i = 0; i < set->n; i++)
        if (!strcmp(set->probes[i]->spec.text, text))
            return set->probes[i];
    return NULL;
}

static size_t set_index(const struct probe_set *set, const struct probe *probe) {
    size_t i = 0;
    while (set->probes[i] != probe)
        i++;
    return i;
}

int probe_set_check_rates(struct probe_set *set, const struct probe_set *known, struct choice_error *error) {
    const struct probe *probes[PROBES_MAX] = {NULL}, *before;
    struct choice_error errors[PROBES_MAX];
    int results[PROBES_MAX];
    size_t indices[PROBES_MAX], n = 0, refused = 0, first = 0;
    *error = (struct choice_error){.place = -1};
    for (size_t i = 0; i < set->n; i++) {
        if ((before = known ? probe_set_find(known, set->probes[i]->spec.text) : NULL)) {
            memcpy(set->refused[i], known->refused[set_index(known, before)], sizeof(set->refused[i]));
            continue;
        }
        if (set->probes[i]->spec.forced)
            continue;
        indices[n] = i;
        probes[n++] = set->probes[i];
    }
    int result = probe_rate_check(probes, n, results, errors);
    if (result) {
        snprintf(error->sentence, sizeof(error->sentence), "the rate of the probes cannot be checked: %s",
                 strerror(-result));
        return result;
    }
    for (size_t i = n; i-- > 0;)
        if (results[i])
            first = i, refused++;
    if (!refused)
        return 0;
    if (n == 1 || refused == set->n) {
        *error = errors[first];
        error->place += (int32_t)set->places[indices[first]];
        return results[first];
    }
    for (size_t i = 0; i < n; i++)
        if (results[i])
            memcpy(set->refused[indices[i]], errors[i].sentence, sizeof(set->refused[0]));
    return 0;
}

void probe_set_free(struct probe_set *set) {
    for (size_t i = 0; i < set->n; i++) {
        if (set->defined)
            probe_undefine(set->probes[i]);
        free(set->probes[i]);
    }
    event_groups_free(set->groups);
    *set = (struct probe_set){.n = 0};
}
