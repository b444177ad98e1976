// When the switch records are on. They slow every context switch of every program, and save the collector a query of
// each task that did not run. A leaky bucket of switches with hysteresis; pure functions on rates, without a clock.
#ifndef COLLECTORS_TASKS_SWITCH_BUDGET_H
#define COLLECTORS_TASKS_SWITCH_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

// All zero: off, until the switch rate is measured and low.
struct switch_budget {
    bool on;
    double limit;    // switches/s of all CPUs together, below which the records pay; 0: unknown yet
    double debt;     // while on: switches above the limit
    double hold_s;   // while off: for at least this long; the rate is measured over it
    double seconds;  // since the records were switched on, or that the rate is measured over
    double switches; // while off: in `seconds`
    bool unknown;    // while off: some were not counted
};

// Sets the limit from the queries saved per second and the cost of one.
void switch_budget_limit(struct switch_budget *budget, double spared_per_s, double ask_ns, unsigned cpus);

// The rings' content since the last drain.
struct switch_budget_sample {
    double seconds;
    uint64_t switches; // of all CPUs
    uint64_t most;     // of the busiest CPU
    bool lost;         // a ring overran: an unknown number is missing
};
// While on: whether the records stay on.
bool switch_budget_keep(struct switch_budget *budget, const struct switch_budget_sample *seen);
// While off: whether to switch the records on. switches: in these seconds; below 0: unknown, then it is tried.
bool switch_budget_retry(struct switch_budget *budget, double seconds, double switches);

#endif
