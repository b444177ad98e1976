// Who ran: perf's switch records of every CPU tell exactly which threads were on a CPU since the last call, at a price
// that every program pays at every switch: they are on only while asked for. Who became another program is told always.
// Needs to look at all CPUs (root, CAP_PERFMON or perf_event_paranoid below 1). One thread owns it.
#ifndef COLLECTORS_TASKS_RAN_H
#define COLLECTORS_TASKS_RAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct tasks_ran;

// `exec`: it has become another program; else it was on a CPU.
typedef void tasks_ran_fn(void *context, pid_t pid, pid_t tid, bool exec);

int tasks_ran_open(struct tasks_ran **out); // without the switches; 0 or -errno
void tasks_ran_close(struct tasks_ran *ran);
// Switches on or off: 0 or -errno, then they are off. Off costs the machine nothing.
int tasks_ran_switches(struct tasks_ran *ran, bool on);

// Readable when a ring is half full: drain then.
int tasks_ran_fd(const struct tasks_ran *ran);

struct tasks_ran_seen {
    uint64_t switches, most; // of all CPUs; of the one that has most
    uint64_t lost;           // records: not 0: it is not known who ran since the last call
};
// Hands over what is in the rings.
struct tasks_ran_seen tasks_ran_drain(struct tasks_ran *ran, tasks_ran_fn *fn, void *context);
// Whether every CPU that is there now is watched.
bool tasks_ran_whole(const struct tasks_ran *ran);

// ---- the bytes, for tests ----
// Walks the records between tail and head of a ring of `size` (a power of two) bytes, and adds them to *seen.
void tasks_ran_records(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head, tasks_ran_fn *fn,
                       void *context, struct tasks_ran_seen *seen);

#endif
