// The probes that are recorded together: parsed from the user's list, defined in one group of ktop's own, checked for
// their rate.
#ifndef COLLECTORS_PROBES_SET_H
#define COLLECTORS_PROBES_SET_H

#include "collectors/kernel/groups/group.h"
#include "collectors/probes/define.h"

#define PROBES_MAX 16 // a return probe has two events, and a stream has 32

struct probe_set {
    struct probe *probes[PROBES_MAX];
    size_t places[PROBES_MAX];     // of each one's text in the list
    char refused[PROBES_MAX][256]; // why it is not recorded although others are; "": it is
    size_t n;
    bool defined;
    bool stacks;                        // hits with their stacks: the line "stacks"
    struct event_groups *groups;        // by the index of the probe; NULL: none
    size_t group_places[2][GROUPS_MAX]; // in the list, of groups and latencies
};

// Parses a list, a specification a line; also groups and latencies of its probes ("group PROBE by FIELD"), and
// "stacks". 0, -EINVAL,
// -E2BIG with the sentence and the place in the list.
int probe_set_parse(struct probe_set *set, const char *list, struct choice_error *error);
// Finds the probes of groups and latencies. 0, or -ENOENT.
int probe_set_find_grouped(struct probe_set *set, struct choice_error *error);
// Whether the line is a group or latency of the probe of that name.
bool probe_set_line_uses(const char *line, const char *probe);
// Defines them in the group of that name ("probes"), which no other set of this process uses, tries their filters, and
// resolves the fields of groups. Nothing is left after a failure.
int probe_set_define(struct probe_set *set, const char *group, pid_t pid, struct choice_error *error);
// Checks the rates of those that are not in `known` (NULL: of all) and not forced by "!". One that is refused alone
// among several new ones is left out (`refused`), and stays so while it is in `known`; else the set is refused.
int probe_set_check_rates(struct probe_set *set, const struct probe_set *known, struct choice_error *error);
// The probe with that text; NULL: none.
const struct probe *probe_set_find(const struct probe_set *set, const char *text);
// Removes them from the kernel, if they were defined.
void probe_set_free(struct probe_set *set);

#endif
