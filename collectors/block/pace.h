// Whether the block collector keeps up, and what it leaves out when it does not: first the bios, then everything but
// counting what completes. That is decided once per frame, with patience in both directions. And which event it does
// without when there are very many. No state but its own; no kernel.
#ifndef COLLECTORS_BLOCK_PACE_H
#define COLLECTORS_BLOCK_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum block_level {
    BLOCK_FULL,
    BLOCK_NO_BIOS, // requests only
    BLOCK_COUNT,   // completions only, counted and not matched
};

struct block_pace {
    enum block_level level;
    uint64_t busy_ns;    // spent in draining in this frame; added up by the caller
    uint32_t bad, quiet; // frames in a row
    uint32_t patience;   // quiet frames before the next try; doubles when the last try failed
    uint32_t since;      // frames at this level
    uint64_t lost;       // why it went down: events lost, and
    double busy_pct;     // the share of time that draining took
};

// After a frame of that length in which so many events were lost although no buffer could still grow. True when the
// level changed.
bool block_pace_frame(struct block_pace *pace, uint64_t frame_ns, uint64_t lost);
// Whether the starts of requests are left out, since so many are issued that nothing waits for one. Not where bios are
// not told (md and multipath send them on): there requests are issued unannounced.
struct block_starts {
    bool without, needed;                   // needed: on this machine they always are
    uint64_t since_ns, issued, unannounced; // where the stretch began that is judged next
};
// After a drain that reached so far; the counts are those since the beginning. A stretch with a gap tells nothing. True
// when `without` changed: soon in a torrent, which every event slows down, and back with patience.
bool block_starts_drained(struct block_starts *starts, uint64_t reached_ns, uint64_t issued, uint64_t unannounced,
                          bool gap);
// Which I/Os are worth remembering one by one, when only the newest `kept` of a frame are kept: those that end at this
// time and later. `until_ns`: the events before it are about to be drained; `due_ns`: those before it belong to the
// frame; `per_ns`: I/Os that ended lately.
uint64_t block_pace_recent(uint64_t until_ns, uint64_t due_ns, double per_ns, uint32_t kept);
// What a person should know, "" at BLOCK_FULL.
void block_pace_text(const struct block_pace *pace, char *out, size_t size);

#endif
