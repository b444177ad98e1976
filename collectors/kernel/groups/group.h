// Groups and latencies of recorded events. Lines of a specification:
//
//   group SYSTEM:EVENT by FIELD[,FIELD2][ of FIELD3]           counts by one or two fields; values of a number field
//   latency SYSTEM:EVENT[FIELD] SYSTEM:EVENT[FIELD]            time from the first event to the second with an equal
//                                                              field; without [FIELD] the thread ID
//
// Whoever records the events sets the index of each one. The event path resolves nothing and allocates nothing. One
// thread owns the object.
#ifndef COLLECTORS_KERNEL_GROUPS_GROUP_H
#define COLLECTORS_KERNEL_GROUPS_GROUP_H

#include "collectors/kernel/groups/group_field.h"
#include "collectors/kernel/groups/group_pair.h"
#include "collectors/kernel/tracefs/trace_clock.h"

#define GROUPS_MAX 8                // of each kind
#define GROUP_NO_EVENT ((size_t)-1) // an index of no recorded event
#define GROUP_LABEL_MAX 192

struct group_event {
    char system[64], name[96]; // system "": the default one
    size_t index;              // of the recorded event
};
struct group {
    struct group_event event;
    struct group_field keys[2], value;
    size_t n_keys;
    bool has_value;
    struct group_tally *tally;
    uint64_t cut; // records too short for a field
};
struct pair {
    struct group_event events[2];
    struct group_field keys[2]; // of the start, of the end
    struct group_starts *starts;
    struct group_tally *tally;
    uint64_t no_start; // ends without a start
};
struct event_groups {
    struct group groups[GROUPS_MAX];
    struct pair pairs[GROUPS_MAX];
    size_t n_groups, n_pairs;
    struct group_tally *by_name; // scratch of the tables: threads of one name
};

bool group_line_is_group(const char *line);
bool group_line_is_latency(const char *line);
// Adds the group or latency of a line. system: of events that are named without one ("": it is left out), NULL: each
// names its own. 0, or -EINVAL with a sentence.
int group_line_parse(struct event_groups *groups, const char *line, const char *system, char *why, size_t size);
// Resolves the fields in that format file of tracefs; of a latency in those of its two events. 0, or -errno with a
// sentence.
int group_resolve(struct group *group, const char *format, char *why, size_t size);
int pair_resolve(struct pair *pair, const char *const formats[2], char *why, size_t size);
// "SYSTEM:EVENT", "EVENT"
void group_event_label(const struct group_event *event, char out[GROUP_LABEL_MAX]);
void event_groups_free(struct event_groups *groups); // NULL is allowed

// A recorded event, in order of time. Returns the latency in ns that it ends; 0: none.
uint64_t event_groups_event(struct event_groups *groups, size_t event, const struct group_record *record,
                            const struct trace_clock *clock);
// Events before and after that time (CLOCK_MONOTONIC) do not belong together.
void event_groups_gap(struct event_groups *groups, uint64_t until_ns);

#endif
