// Who ran: perf's switch records of every CPU tell exactly which threads were on a CPU since the last call. Needs to
// look at all CPUs (root, CAP_PERFMON or perf_event_paranoid below 1). One thread owns it.
#ifndef COLLECTORS_TASKS_RAN_H
#define COLLECTORS_TASKS_RAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tasks_ran;

// `exec`: it has become another program; else it was on a CPU.
typedef void tasks_ran_fn(void *context, pid_t pid, pid_t tid, bool exec);

int tasks_ran_open(struct tasks_ran **out); // 0 or -errno
void tasks_ran_close(struct tasks_ran *ran);
// Hands over what is in the rings. False when records were lost: then it is not known who ran since the last call.
bool tasks_ran_drain(struct tasks_ran *ran, tasks_ran_fn *fn, void *context);
// Switches the records off (a machine that switches too often for it to pay) or on again.
void tasks_ran_pause(struct tasks_ran *ran, bool paused);
// Whether every CPU that is there now is watched.
bool tasks_ran_whole(const struct tasks_ran *ran);

// ---- the bytes, for tests ----
// Walks the records between tail and head of a ring of `size` (a power of two) bytes; adds the lost ones to *lost.
void tasks_ran_records(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head, tasks_ran_fn *fn,
                       void *context, uint64_t *lost);

#endif
