// Looks at what threads wait for (collectors/sched/explain.h) in a thread of its own, so that a /proc that hangs on one
// of them stops neither the frames nor the looks at the others: it is then said of that thread, and another looker goes
// on. The collector's thread asks and takes; answers come soon after, in any order.
#ifndef COLLECTORS_SCHED_LOOK_H
#define COLLECTORS_SCHED_LOOK_H

#include <stddef.h>

#include "collectors/sched/explain.h"

#define SCHED_ASKS_MAX 64

struct sched_look;

// explain is sched_explain, or a test's. NULL when no thread could be made.
struct sched_look *sched_look_new(const char *proc,
                                  void (*explain)(const char *, const struct sched_ask *, struct sched_told *));
// Never waits: a looker that hangs frees its memory itself, should it ever come back.
void sched_look_free(struct sched_look *look);
// How many more can be asked for now.
size_t sched_look_room(struct sched_look *look);
// Of more than there is room for, the last are left out.
void sched_look_ask(struct sched_look *look, const struct sched_ask *asks, size_t n);
// Moves up to n answers to out; returns how many.
size_t sched_look_take(struct sched_look *look, struct sched_told *out, size_t n, uint64_t now_ns);

#endif
