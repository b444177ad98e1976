// A better place with the scheduler: a monitor must answer and measure on a machine that has no CPU to spare.
#ifndef COLLECTORS_KERNEL_PRIORITY_H
#define COLLECTORS_KERNEL_PRIORITY_H

#include <stdbool.h>
#include <stdint.h>

enum priority {
    PRIORITY_COLLECTOR = 1, // measures: after the screen, for it may work for many milliseconds
    PRIORITY_SCREEN = 2,    // answers keys
};

// Asks for it for the calling thread, as far as this user and kernel allow, and says which one it got: "realtime",
// "short slice" or "ordinary". Processes that the thread forks do not inherit it; threads neither.
const char *priority_ask(enum priority priority);
// Back to the ordinary policy.
void priority_drop(void);

// Calls work(ctx) with the calling thread on that CPU and before everybody else there, as far as it may, and returns
// what that returns. Some of the kernel's work on a CPU is done at once by a caller who is there, and else by a worker
// of that CPU, which on a machine in trouble may not have its turn for minutes.
int priority_on_cpu(uint32_t cpu, int (*work)(void *ctx), void *ctx);

// A thread that keeps a good place only as long as it takes little: realtime must not become the load. Zeroed: nothing
// was asked for yet.
struct priority_budget {
    uint32_t pct; // of one CPU, above which it gives its place up; 0: PRIORITY_PCT
    bool asked, modest;
};
#define PRIORITY_PCT 8
// After a stretch of work that took cpu_ns in interval_ns of time (0: unknown yet), in that thread.
void priority_budget(struct priority_budget *budget, uint64_t cpu_ns, uint64_t interval_ns);

#endif
