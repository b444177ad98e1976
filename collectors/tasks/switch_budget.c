// Other programs pay the cost, so the records are switched off at the first reading above the limit, and on again only
// after a time below it. That time doubles whenever it did not last, so a rate around the limit does not flap.
#include "collectors/tasks/switch_budget.h"

#define SWITCH_NS 600.0     // cost of the two records of a switch
#define LIMIT_MIN 1000.0    // switches/s: 0.06 % of a CPU is always affordable
#define LIMIT_CPU 10000.0   // switches/s of each CPU at most: 0.6 % of it
#define BURST_S 0.5         // bucket size: what the limit allows in this time
#define BURST_CPU_S 0.1     // the same for one CPU
#define AGAIN_SHARE 0.5     // of the limit: below it the records are switched on again
#define HOLD_S 2.0          // off for at least this long
#define HOLD_MAX_S 32.0     // doubled each time, up to this
#define HOLD_LASTING_S 10.0 // times the last hold: after this time on, the next hold is short again

void switch_budget_limit(struct switch_budget *budget, double spared_per_s, double ask_ns, unsigned cpus) {
    double limit = spared_per_s * ask_ns / SWITCH_NS, most = LIMIT_CPU * cpus;
    budget->limit = limit < LIMIT_MIN ? LIMIT_MIN : limit > most ? most : limit;
}

static bool is_over_budget(struct switch_budget *budget, const struct switch_budget_sample *seen) {
    if (budget->limit < LIMIT_MIN)
        budget->limit = LIMIT_MIN;
    budget->debt += (double)seen->switches - budget->limit * seen->seconds;
    if (budget->debt < 0)
        budget->debt = 0;
    // One CPU that switches all the time would bear the cost alone.
    return seen->lost || budget->debt > budget->limit * BURST_S ||
           (double)seen->most > LIMIT_CPU * (seen->seconds + BURST_CPU_S);
}

bool switch_budget_keep(struct switch_budget *budget, const struct switch_budget_sample *seen) {
    budget->seconds += seen->seconds;
    if (!is_over_budget(budget, seen))
        return true;
    bool lasted = budget->hold_s <= 0 || budget->seconds >= HOLD_LASTING_S * budget->hold_s;
    double hold = lasted ? HOLD_S : 2 * budget->hold_s;
    *budget = (struct switch_budget){.limit = budget->limit, .hold_s = hold > HOLD_MAX_S ? HOLD_MAX_S : hold};
    return false;
}

bool switch_budget_retry(struct switch_budget *budget, double seconds, double switches) {
    budget->unknown |= switches < 0;
    budget->switches += switches < 0 ? 0 : switches;
    budget->seconds += seconds;
    if (budget->seconds <= 0 || budget->seconds < budget->hold_s)
        return false;
    double limit = budget->limit < LIMIT_MIN ? LIMIT_MIN : budget->limit;
    bool calm = budget->unknown || budget->switches < AGAIN_SHARE * limit * budget->seconds;
    *budget = (struct switch_budget){.on = calm, .limit = limit, .hold_s = budget->hold_s};
    return calm;
}
