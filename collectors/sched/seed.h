// The threads that were there before the tracing: /proc read once, a piece at a time, so that the events are drained
// meanwhile. One thread owns it.
#ifndef COLLECTORS_SCHED_SEED_H
#define COLLECTORS_SCHED_SEED_H

#include "collectors/sched/who.h"

struct sched_seed;
struct sched_seed *sched_seed_new(const char *proc); // begins at once; NULL when /proc cannot be listed
void sched_seed_free(struct sched_seed *seed);
// Reads some threads and tells the machine; false when all have been read. now: of the machine's clock.
bool sched_seed_step(struct sched_seed *seed, struct sched_machine *machine, struct sched_who *who, uint32_t threads,
                     uint64_t (*now)(void *ctx), void *ctx);

#endif
