// Which threads ran: perf's context-switch records of every CPU. They cost every program time at every switch, so they
// can be switched off; exec records are always on. Needs CPU-wide events (root, CAP_PERFMON or perf_event_paranoid
// below 1). One thread owns it.
#ifndef COLLECTORS_TASKS_SWITCH_RECORDS_H
#define COLLECTORS_TASKS_SWITCH_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct switch_records;

// `exec`: the thread called execve; else it was on a CPU.
typedef void switch_records_fn(void *context, pid_t pid, pid_t tid, bool exec);

int switch_records_open(struct switch_records **out); // without the switches; 0 or -errno
void switch_records_close(struct switch_records *records);
// Switches on or off: 0 or -errno, then they are off. Off costs the machine nothing.
int switch_records_enable(struct switch_records *records, bool on);

// Readable when a ring is half full: drain then.
int switch_records_fd(const struct switch_records *records);

struct switch_records_read {
    uint64_t switches, most; // of all CPUs; of the busiest
    uint64_t lost;           // records; not 0: the set of threads that ran is incomplete
};
// Drains all rings.
struct switch_records_read switch_records_drain(struct switch_records *records, switch_records_fn *fn, void *context);
// Whether every online CPU has a ring.
bool switch_records_cover_cpus(const struct switch_records *records);

// ---- the bytes, for tests ----
// Walks the records between tail and head of a ring of `size` (a power of two) bytes, and adds them to *seen.
void switch_records_parse(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head, switch_records_fn *fn,
                          void *context, struct switch_records_read *seen);

#endif
