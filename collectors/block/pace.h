// Whether the block collector keeps up, and what it omits otherwise: first the bios, then everything but the count of
// completions. Decided once per frame, with hysteresis. At a high event rate it also disables block_io_start. No kernel
// access.
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
    uint64_t busy_ns;    // draining time in this frame; added up by the caller
    uint32_t bad, quiet; // consecutive frames
    uint32_t patience;   // quiet frames before the next try; doubles when a try failed
    uint32_t since;      // frames at this level
    uint64_t lost;       // reason for the step down: lost events
    double busy_pct;     // and share of time spent draining
};

// Call after a frame of that length. lost: events lost although no buffer could grow. True when the level changed.
bool block_pace_frame(struct block_pace *pace, uint64_t frame_ns, uint64_t lost);
// Whether block_io_start is off: at a high request rate requests do not wait for a tag. It stays on where bios are not
// traced (md and multipath send them on), so that requests would be issued unannounced.
struct block_starts {
    bool off, needed;                       // needed: always on, on this machine
    uint64_t since_ns, issued, unannounced; // start of the current measurement
};
// Call after a drain up to reached_ns, with counts since the start. A measurement with a gap is discarded. True when
// `off` changed: quickly at a high rate, since each event costs the load, and slowly back.
bool block_starts_drained(struct block_starts *starts, uint64_t reached_ns, uint64_t issued, uint64_t unannounced,
                          bool gap);
// When only the newest `kept` I/Os of a frame are kept: completions from the returned time on are worth storing.
// `until_ns`: the events before it are drained next; `due_ns`: end of the frame; `per_ns`: recent completions per ns.
uint64_t block_pace_recent(uint64_t until_ns, uint64_t due_ns, double per_ns, uint32_t kept);
// The note for the user; "" at BLOCK_FULL.
void block_pace_text(const struct block_pace *pace, char *out, size_t size);

#endif
