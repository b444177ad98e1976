// Above the budget in two consecutive windows, or on any loss: raise the ratio until the expected cost is below AIM.
// When half the ratio would stay below CALM for some windows: halve the ratio.
#include "collectors/kernel/tracefs/stream_pace.h"

#define OVER_WINDOWS 2
#define AIM 0.8  // of the budget: target when the ratio is raised
#define CALM 0.7 // of the budget: limit for the doubled cost before the ratio is halved
#define PATIENCE 6
#define PATIENCE_MAX 96
#define SOON 6 // over budget within this many windows after a try: back off

void stream_pace_init(struct stream_pace *pace, double budget) {
    *pace = (struct stream_pace){.budget = budget, .ratio = 1, .patience = PATIENCE};
}

static bool pace_to(struct stream_pace *pace, uint32_t ratio) {
    bool changed = ratio != pace->ratio;
    pace->ratio = ratio;
    pace->over = pace->calm = pace->since = 0;
    return changed;
}

static bool pace_down(struct stream_pace *pace, double share, uint64_t lost) {
    uint32_t ratio = pace->ratio;
    double cost = share;
    do {
        ratio *= 2;
        cost /= 2;
    } while (cost > AIM * pace->budget && ratio < STREAM_RATIO_MAX);
    if (pace->since <= SOON && pace->patience < PATIENCE_MAX)
        pace->patience *= 2;
    pace->share = share;
    pace->lost = lost;
    return pace_to(pace, ratio < STREAM_RATIO_MAX ? ratio : STREAM_RATIO_MAX);
}

bool stream_pace_window(struct stream_pace *pace, double share, uint64_t lost) {
    bool over = share > pace->budget;
    pace->since++;
    pace->over = over ? pace->over + 1 : 0;
    pace->calm = !lost && 2 * share < CALM * pace->budget ? pace->calm + 1 : 0;
    if ((lost || pace->over >= OVER_WINDOWS) && pace->ratio < STREAM_RATIO_MAX)
        return pace_down(pace, share, lost);
    if (pace->ratio == 1) {
        if (pace->since > PATIENCE_MAX)
            pace->patience = PATIENCE;
        return false;
    }
    return pace->calm >= pace->patience && pace_to(pace, pace->ratio / 2);
}

bool stream_rate_window(struct stream_rate *rate, double per_s, bool sampled) {
    if (sampled)
        return rate->on;
    rate->calm = rate->on && per_s < STREAM_RATE_CALM ? rate->calm + 1 : 0;
    if (per_s >= STREAM_RATE_HIGH || rate->calm >= STREAM_RATE_WINDOWS)
        rate->on = per_s >= STREAM_RATE_HIGH;
    return rate->on;
}
