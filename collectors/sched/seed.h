// Seeds the state machine with the threads that existed before tracing began: /proc is read once, a piece at a time, so
// that events are drained meanwhile. One thread owns it.
#ifndef COLLECTORS_SCHED_SEED_H
#define COLLECTORS_SCHED_SEED_H

#include "collectors/sched/threads.h"

struct sched_seed;
struct sched_seed *sched_seed_new(const char *proc); // NULL when /proc cannot be listed
void sched_seed_free(struct sched_seed *seed);
// Reads up to `most` threads; false when all have been read. now: of the machine's clock.
bool sched_seed_step(struct sched_seed *seed, struct sched_machine *machine, struct sched_threads *threads,
                     uint32_t most, uint64_t (*now)(void *ctx), void *ctx);

#endif
