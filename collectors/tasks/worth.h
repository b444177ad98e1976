// Whether knowing who ran is worth what it costs the machine: the records of ran.h slow every switch of every
// program, and spare the collector the questions to tasks that have not run. Pure functions on rates: any thread, no
// kernel, no clock.
#ifndef COLLECTORS_TASKS_WORTH_H
#define COLLECTORS_TASKS_WORTH_H

#include <stdbool.h>
#include <stdint.h>

// All zero: off, and on again as soon as a rate is known that is low.
struct tasks_worth {
    bool on;
    double limit;    // switches/s of all CPUs together that the records may cost; 0: not known yet
    double debt;     // while on: switches above the limit
    double hold_s;   // while off: so long at least, and over so long the rate is taken
    double seconds;  // since it was switched on, or that the rate is taken over
    double switches; // while off: in that time
    bool unknown;    // while off: not all of them are known
};

// From the tasks that are spared a question in a second, and the price of one.
void tasks_worth_limit(struct tasks_worth *worth, double spared_per_s, double ask_ns, unsigned cpus);

// What the records told since the last look.
struct tasks_worth_seen {
    double seconds;
    uint64_t switches; // of all CPUs
    uint64_t most;     // of the CPU that has most of them
    bool lost;         // there were more, nobody knows how many
};
// While on: whether it stays so.
bool tasks_worth_keep(struct tasks_worth *worth, const struct tasks_worth_seen *seen);
// While off: whether it is on from now. switches: in these seconds; below 0: not known. What is never known is tried.
bool tasks_worth_again(struct tasks_worth *worth, double seconds, double switches);

#endif
