// Scheduling priority of ktop's threads: a monitor must respond and measure on an overloaded machine.
#ifndef COLLECTORS_KERNEL_PRIORITY_H
#define COLLECTORS_KERNEL_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

enum priority {
    PRIORITY_COLLECTOR = 1, // below the screen: a collector may run for many milliseconds
    PRIORITY_SCREEN = 2,    // handles keys
};

// Raises the priority of the calling thread as far as this user and kernel allow. Returns the result: "realtime",
// "short slice" or "ordinary". Forked processes and new threads do not inherit it.
const char *priority_ask(enum priority priority);
// Returns to SCHED_OTHER.
void priority_drop(void);

// Calls work(ctx) with the calling thread on that CPU at the highest priority, as far as permitted, and returns its
// result. The kernel does some per-CPU work directly if the caller runs on that CPU, and else in a kworker of that CPU,
// which may not run for minutes on an overloaded machine.
int priority_on_cpu(uint32_t cpu, int (*work)(void *ctx), void *ctx);

// A thread keeps its raised priority only while it uses little CPU: a realtime thread must not become the load. Starts
// zeroed.
struct priority_budget {
    uint32_t pct; // limit in percent of one CPU; 0: PRIORITY_PCT
    bool decided, raised;
};
#define PRIORITY_PCT 8
// Call in the thread after each interval: cpu_ns of CPU time in interval_ns (0: unknown yet).
void priority_budget(struct priority_budget *budget, uint64_t cpu_ns, uint64_t interval_ns);

#endif
