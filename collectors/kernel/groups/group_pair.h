// Latency from one event to a second one with an equal key: the starts that wait for their end, in fixed memory. A
// later start with the key replaces the earlier one, which is then unfinished. Events must come in order of time.
// One thread owns it; nothing allocates after group_starts_new.
#ifndef COLLECTORS_KERNEL_GROUPS_GROUP_PAIR_H
#define COLLECTORS_KERNEL_GROUPS_GROUP_PAIR_H

#include "collectors/kernel/groups/group_tally.h"

#define GROUP_STARTS 16384 // slots, a power of two; three quarters are used at most

struct group_starts;
struct group_starts *group_starts_new(void);
void group_starts_free(struct group_starts *starts); // NULL is allowed
void group_start(struct group_starts *starts, const struct group_key *key, uint64_t ns);
// False: no start with the key. The start is removed.
bool group_end(struct group_starts *starts, const struct group_key *key, uint64_t ns, uint64_t *latency_ns);
// Removes all starts before that time: they do not belong to later ends.
void group_starts_drop(struct group_starts *starts, uint64_t before_ns);

struct group_starts_figures {
    uint64_t open;     // wait for their end now
    uint64_t replaced; // since the last call: by a later start with the key, or dropped after a loss of events
    uint64_t refused;  // since the last call: the table was full
};
struct group_starts_figures group_starts_frame(struct group_starts *starts);

#endif
