// One level down: draining takes more than half of the time, or events are lost, in two frames in a row. One level up:
// draining takes less than a fifth, and nothing is lost, for `patience` frames.
#include "collectors/block/pace.h"

#include <stdio.h>

#define BUSY_PCT 50
#define QUIET_PCT 20
#define BAD_FRAMES 2
#define PATIENCE 5
#define PATIENCE_MAX 80
#define REMAINING_FACTOR 4 // times `kept`: the load may slow down
#define TAIL_DIV 4         // the last quarter of `kept` is always remembered
#define RETRY_FRAMES 3     // bad again this soon after a try: the next try comes later
// Issued requests per second; share of them (1 in 4) without a traced arrival.
#define HIGH_RATE_ON 50000
#define HIGH_RATE_OFF 30000
#define HIGH_RATE_AFTER_NS 300000000ull
#define CALM_AFTER_NS 1000000000ull
#define UNANNOUNCED_SHARE 4

static bool pace_to(struct block_pace *pace, enum block_level level) {
    pace->level = level;
    pace->bad = pace->quiet = pace->since = 0;
    return true;
}

bool block_pace_frame(struct block_pace *pace, uint64_t frame_ns, uint64_t lost) {
    double busy_pct = frame_ns ? 100.0 * (double)pace->busy_ns / (double)frame_ns : 0;
    bool bad = busy_pct > BUSY_PCT || lost, quiet = busy_pct < QUIET_PCT && !lost;
    pace->busy_ns = 0;
    pace->bad = bad ? pace->bad + 1 : 0;
    pace->quiet = quiet ? pace->quiet + 1 : 0;
    pace->since++;
    if (!pace->patience)
        pace->patience = PATIENCE;
    if (bad && pace->level != BLOCK_COUNT && pace->bad >= BAD_FRAMES) {
        if (pace->since <= RETRY_FRAMES && pace->patience < PATIENCE_MAX)
            pace->patience *= 2;
        pace->lost = lost;
        pace->busy_pct = busy_pct;
        return pace_to(pace, pace->level + 1);
    }
    if (pace->level == BLOCK_FULL) {
        if (pace->since > PATIENCE_MAX)
            pace->patience = PATIENCE;
        return false;
    }
    return pace->quiet >= pace->patience && pace_to(pace, pace->level - 1);
}

bool block_starts_drained(struct block_starts *starts, uint64_t reached_ns, uint64_t issued, uint64_t unannounced,
                          bool gap) {
    uint64_t ns = reached_ns - starts->since_ns;
    bool first = !starts->since_ns, was = starts->off;
    if (!first && !gap && ns < (was ? CALM_AFTER_NS : HIGH_RATE_AFTER_NS))
        return false;
    double n = (double)(issued - starts->issued), unknown = (double)(unannounced - starts->unannounced);
    starts->since_ns = reached_ns;
    starts->issued = issued;
    starts->unannounced = unannounced;
    if (first || gap)
        return false;
    starts->needed |= was && unknown * UNANNOUNCED_SHARE > n;
    starts->off = !starts->needed && n * 1e9 > (was ? HIGH_RATE_OFF : HIGH_RATE_ON) * (double)ns;
    return starts->off != was;
}

// None while many times `kept` are still to come; but the load may stop now, so remember some of the last ones.
uint64_t block_pace_recent(uint64_t until_ns, uint64_t due_ns, double per_ns, uint32_t kept) {
    double left = due_ns > until_ns ? per_ns * (double)(due_ns - until_ns) : 0, last = kept / (TAIL_DIV * per_ns);
    return left < REMAINING_FACTOR * kept || last > (double)until_ns ? 0 : until_ns - (uint64_t)last;
}

void block_pace_text(const struct block_pace *pace, char *out, size_t size) {
    static const char *const left[] = {"", "only requests are followed: no bio times, no devices without requests",
                                       "completions are only counted: no latencies, no processes, no events"};
    if (pace->level == BLOCK_FULL)
        snprintf(out, size, "%s", "");
    else
        snprintf(out, size, "%s: reading the events took %.0f %% of the time and %llu were lost in one frame",
                 left[pace->level], pace->busy_pct, (unsigned long long)pace->lost);
}
