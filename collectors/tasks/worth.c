// The price is paid by others, so it is cut off at the first look that shows it, and taken up again only after a calm
// time: twice as long each time that the calm did not last, so that a rate around the limit does not flap.
#include "collectors/tasks/worth.h"

#define SWITCH_NS 600.0     // that its two records cost the programs that switch
#define LIMIT_MIN 1000.0    // switches/s: 0.06 % of a CPU is not worth a thought
#define LIMIT_CPU 10000.0   // times the CPUs, the most whatever it spares: 0.6 % of each
#define BURST_S 0.5         // a burst may take what the limit allows in so long
#define BURST_CPU_S 0.1     // and that of one CPU in so long
#define AGAIN_SHARE 0.5     // of the limit: below it the records are switched on again
#define HOLD_S 2.0          // off for at least so long
#define HOLD_MAX_S 32.0     // and at most
#define HOLD_LASTING_S 10.0 // times the last hold: so long a time on was worth its while

void tasks_worth_limit(struct tasks_worth *worth, double spared_per_s, double ask_ns, unsigned cpus) {
    double limit = spared_per_s * ask_ns / SWITCH_NS, most = LIMIT_CPU * cpus;
    worth->limit = limit < LIMIT_MIN ? LIMIT_MIN : limit > most ? most : limit;
}

static bool is_dear(struct tasks_worth *worth, const struct tasks_worth_seen *seen) {
    if (worth->limit < LIMIT_MIN)
        worth->limit = LIMIT_MIN;
    worth->debt += (double)seen->switches - worth->limit * seen->seconds;
    if (worth->debt < 0)
        worth->debt = 0;
    // One CPU that switches all the time pays for all the others.
    return seen->lost || worth->debt > worth->limit * BURST_S ||
           (double)seen->most > LIMIT_CPU * (seen->seconds + BURST_CPU_S);
}

bool tasks_worth_keep(struct tasks_worth *worth, const struct tasks_worth_seen *seen) {
    worth->seconds += seen->seconds;
    if (!is_dear(worth, seen))
        return true;
    bool lasted = worth->hold_s <= 0 || worth->seconds >= HOLD_LASTING_S * worth->hold_s;
    double hold = lasted ? HOLD_S : 2 * worth->hold_s;
    *worth = (struct tasks_worth){.limit = worth->limit, .hold_s = hold > HOLD_MAX_S ? HOLD_MAX_S : hold};
    return false;
}

bool tasks_worth_again(struct tasks_worth *worth, double seconds, double switches) {
    worth->unknown |= switches < 0;
    worth->switches += switches < 0 ? 0 : switches;
    worth->seconds += seconds;
    if (worth->seconds <= 0 || worth->seconds < worth->hold_s)
        return false;
    double limit = worth->limit < LIMIT_MIN ? LIMIT_MIN : worth->limit;
    bool calm = worth->unknown || worth->switches < AGAIN_SHARE * limit * worth->seconds;
    *worth = (struct tasks_worth){.on = calm, .limit = limit, .hold_s = worth->hold_s};
    return calm;
}
