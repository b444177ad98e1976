// Specifications of groups and latencies, and their event path (see the header).
#include "collectors/kernel/groups/group.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/tracefs/format.h"
#include "model/mem.h"

#define GROUP "group "
#define LATENCY "latency "

static bool starts_with(const char *line, const char *word) {
    return !strncmp(line, word, strlen(word));
}

bool group_line_is_group(const char *line) {
    return starts_with(line, GROUP);
}

bool group_line_is_latency(const char *line) {
    return starts_with(line, LATENCY);
}

static int refuse(char *why, size_t size, const char *line, const char *reason) {
    snprintf(why, size, "%.100s: %.140s", line, reason);
    return -EINVAL;
}

// ---- specifications ----

static bool event_parse(struct group_event *event, const char *word, size_t length, const char *own) {
    const char *colon = memchr(word, ':', length);
    size_t system = colon ? (size_t)(colon - word) : 0;
    const char *name = colon ? colon + 1 : word;
    size_t n = length - (size_t)(name - word);
    if (!n || n >= sizeof(event->name) || strcspn(word, "*?[") < length || (colon || !own ? !system : false) ||
        system >= sizeof(event->system))
        return false;
    if (own && colon && (strlen(own) != system || memcmp(own, word, system) != 0))
        return false;
    snprintf(event->system, sizeof(event->system), "%.*s", own ? 0 : (int)system, word);
    snprintf(event->name, sizeof(event->name), "%.*s", (int)n, name);
    event->index = GROUP_NO_EVENT;
    return true;
}

static bool field_parse(struct group_field *field, const char *word, size_t length) {
    if (!length || length >= sizeof(field->name))
        return false;
    snprintf(field->name, sizeof(field->name), "%.*s", (int)length, word);
    return true;
}

// The next word up to a blank; "" at the end.
static const char *word_next(const char **at, size_t *length) {
    const char *word = *at + strspn(*at, " ");
    *length = strcspn(word, " ");
    *at = word + *length;
    return word;
}

static bool group_parse(struct group *group, const char *at, const char *own) {
    size_t n;
    const char *word = word_next(&at, &n);
    if (!event_parse(&group->event, word, n, own))
        return false;
    word = word_next(&at, &n);
    if (n != 2 || memcmp(word, "by", 2))
        return false;
    word = word_next(&at, &n);
    const char *comma = memchr(word, ',', n);
    size_t first = comma ? (size_t)(comma - word) : n;
    group->n_keys = comma ? 2 : 1;
    if (!field_parse(&group->keys[0], word, first) ||
        (comma && (memchr(comma + 1, ',', n - first - 1) || !field_parse(&group->keys[1], comma + 1, n - first - 1))))
        return false;
    word = word_next(&at, &n);
    if (!n)
        return true;
    if (n != 2 || memcmp(word, "of", 2))
        return false;
    word = word_next(&at, &n);
    group->has_value = true;
    if (!field_parse(&group->value, word, n))
        return false;
    word_next(&at, &n);
    return !n;
}

static bool pair_parse(struct pair *pair, const char *at, const char *own) {
    size_t n;
    for (int i = 0; i < 2; i++) {
        const char *word = word_next(&at, &n), *open = memchr(word, '[', n);
        size_t event = open ? (size_t)(open - word) : n;
        if (!event_parse(&pair->events[i], word, event, own))
            return false;
        if (open ? word[n - 1] != ']' || !field_parse(&pair->keys[i], open + 1, n - event - 2)
                 : !field_parse(&pair->keys[i], "common_pid", strlen("common_pid")))
            return false;
    }
    word_next(&at, &n);
    return !n;
}

int group_line_parse(struct event_groups *groups, const char *line, const char *own, char *why, size_t size) {
    bool is_group = starts_with(line, GROUP);
    if ((is_group ? groups->n_groups : groups->n_pairs) == GROUPS_MAX)
        return refuse(why, size, line, "at most 8 groups and 8 latencies at a time");
    if (!is_group)
        return pair_parse(&groups->pairs[groups->n_pairs++], line + strlen(LATENCY), own)
                   ? 0
                   : refuse(why, size, line,
                            own ? "expected PROBE[FIELD] PROBE[FIELD]"
                                : "expected SYSTEM:EVENT[FIELD] SYSTEM:EVENT[FIELD]");
    struct group *group = &groups->groups[groups->n_groups++];
    if (!group_parse(group, line + strlen(GROUP), own))
        return refuse(why, size, line,
                      own ? "expected PROBE by FIELD[,FIELD2][ of FIELD3]"
                          : "expected SYSTEM:EVENT by FIELD[,FIELD2][ of FIELD3]");
    for (const struct group *other = groups->groups; other < group; other++)
        if (!strcmp(other->event.system, group->event.system) && !strcmp(other->event.name, group->event.name))
            return refuse(why, size, line,
                          own ? "this probe has a group already" : "this tracepoint has a group already");
    return 0;
}

void group_event_label(const struct group_event *event, char out[GROUP_LABEL_MAX]) {
    snprintf(out, GROUP_LABEL_MAX, "%s%s%s", event->system, event->system[0] ? ":" : "", event->name);
}

// ---- resolving ----

static int field_resolve(struct group_field *field, const struct group_event *event, const char *path,
                         bool wants_number, char *why, size_t size) {
    char *text = xmalloc(FORMAT_BYTES_MAX), label[GROUP_LABEL_MAX];
    long length = format_file(path, text, FORMAT_BYTES_MAX);
    int result = length < 0 ? (int)length : 0;
    group_event_label(event, label);
    if (result)
        snprintf(why, size, "%s: its format cannot be read: %s", label, strerror(-result));
    else
        result = group_field_resolve(field, text, (size_t)length, label, wants_number, why, size);
    free(text);
    return result;
}

int group_resolve(struct group *group, const char *format, char *why, size_t size) {
    int result = 0;
    for (size_t i = 0; !result && i < group->n_keys; i++)
        result = field_resolve(&group->keys[i], &group->event, format, false, why, size);
    if (!result && group->has_value)
        result = field_resolve(&group->value, &group->event, format, true, why, size);
    if (!result)
        group->tally = group_tally_new(group->has_value);
    return result;
}

static bool is_string(const struct group_field *field) {
    return field->kind == GROUP_STRING || field->kind == GROUP_DYNAMIC;
}

int pair_resolve(struct pair *pair, const char *const formats[2], char *why, size_t size) {
    int result = 0;
    for (int i = 0; !result && i < 2; i++)
        result = field_resolve(&pair->keys[i], &pair->events[i], formats[i], false, why, size);
    if (result)
        return result;
    if (is_string(&pair->keys[0]) != is_string(&pair->keys[1]) || pair->keys[0].kind == GROUP_COMM ||
        pair->keys[1].kind == GROUP_COMM) {
        snprintf(why, size,
                 "%.60s and %.60s cannot be compared: expected two number fields or two string fields of the events",
                 pair->keys[0].name, pair->keys[1].name);
        return -EINVAL;
    }
    pair->starts = group_starts_new();
    pair->tally = group_tally_new(true);
    return 0;
}

void event_groups_free(struct event_groups *groups) {
    if (!groups)
        return;
    for (size_t i = 0; i < groups->n_groups; i++)
        group_tally_free(groups->groups[i].tally);
    for (size_t i = 0; i < groups->n_pairs; i++) {
        group_tally_free(groups->pairs[i].tally);
        group_starts_free(groups->pairs[i].starts);
    }
    group_tally_free(groups->by_name);
    free(groups);
}

// ---- the event path ----

static bool key_of(const struct group *group, const struct group_record *record, struct group_key *key) {
    memset(key->words[1], 0, sizeof(key->words[1]));
    return group_field_key(&group->keys[0], record, key->words[0]) &&
           (group->n_keys == 1 || group_field_key(&group->keys[1], record, key->words[1]));
}

static uint64_t pair_event(struct pair *pair, size_t event, const struct group_record *record, uint64_t ns) {
    struct group_key key = {.words = {{0}}};
    uint64_t latency = 0;
    // An event may end one latency and start the next one.
    if (event == pair->events[1].index && group_field_key(&pair->keys[1], record, key.words[0])) {
        if (group_end(pair->starts, &key, ns, &latency))
            group_tally_add(pair->tally, &key, (double)latency);
        else
            pair->no_start++;
    }
    if (event == pair->events[0].index && group_field_key(&pair->keys[0], record, key.words[0]))
        group_start(pair->starts, &key, ns);
    return latency;
}

uint64_t event_groups_event(struct event_groups *groups, size_t event, const struct group_record *record,
                            const struct trace_clock *clock) {
    struct group_key key;
    double value = 0;
    uint64_t latency = 0, ns = 0;
    for (size_t i = 0; i < groups->n_groups; i++) {
        struct group *group = &groups->groups[i];
        if (group->event.index != event)
            continue;
        if (key_of(group, record, &key) && (!group->has_value || group_field_value(&group->value, record, &value)))
            group_tally_add(group->tally, &key, value);
        else
            group->cut++;
    }
    for (size_t i = 0; i < groups->n_pairs; i++) {
        struct pair *pair = &groups->pairs[i];
        if (event != pair->events[0].index && event != pair->events[1].index)
            continue;
        ns = ns ? ns : trace_clock_mono(clock, record->ts);
        uint64_t one = pair_event(pair, event, record, ns);
        latency = one ? one : latency;
    }
    return latency;
}

void event_groups_gap(struct event_groups *groups, uint64_t until_ns) {
    for (size_t i = 0; i < groups->n_pairs; i++)
        group_starts_drop(groups->pairs[i].starts, until_ns);
}
