// Whether the block collector keeps up, and what it leaves out when it does not: first the bios, then everything but
// counting what completes. Decided once per frame, with patience in both directions. No state but its own; no kernel.
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
// Which I/Os are worth remembering one by one, when only the newest `kept` of a frame are kept: those that end at this
// time and later. `until_ns`: the events before it are about to be drained; `due_ns`: those before it belong to the
// frame; `per_ns`: I/Os that ended lately.
uint64_t block_pace_recent(uint64_t until_ns, uint64_t due_ns, double per_ns, uint32_t kept);
// What a person should know, "" at BLOCK_FULL.
void block_pace_text(const struct block_pace *pace, char *out, size_t size);

#endif
