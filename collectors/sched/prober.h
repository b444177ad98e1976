// Runs blocked_explain (collectors/sched/explain.h) in worker threads, so that a read of /proc that blocks delays
// neither the frames nor other queries: it is reported for that thread, and another worker goes on. The collector's
// thread sends queries and takes replies; replies come in any order.
#ifndef COLLECTORS_SCHED_PROBER_H
#define COLLECTORS_SCHED_PROBER_H

#include <stddef.h>

#include "collectors/sched/explain.h"

#define BLOCKED_QUERIES_MAX 64

struct blocked_prober;

// explain is blocked_explain, or a test's. NULL when no thread could be created.
struct blocked_prober *blocked_prober_new(const char *proc, void (*explain)(const char *, const struct blocked_query *,
                                                                            struct blocked_reply *));
// Never waits: a worker that is blocked frees its memory itself when it returns.
void blocked_prober_free(struct blocked_prober *prober);
// How many more queries fit now.
size_t blocked_prober_room(struct blocked_prober *prober);
// Queries beyond the room are dropped.
void blocked_prober_query(struct blocked_prober *prober, const struct blocked_query *queries, size_t n);
// Moves up to n replies to out; returns how many.
size_t blocked_prober_take(struct blocked_prober *prober, struct blocked_reply *out, size_t n, uint64_t now_ns);

#endif
