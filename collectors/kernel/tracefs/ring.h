// The raw reader: events of one tracefs instance as sub-buffers, all CPUs merged in order of time. One reader, many
// decoders: it knows sub-buffers and times, not what an event means. Where the sub-buffers come from is a source: the
// kernel's pipes (collectors/kernel/tracefs/ring_pipe.h) or a test's bytes. One thread owns a ring.
//
// Order: an event is handed out only when every CPU has been read at a later time (the horizon), so whatever happened
// before it, on any CPU, has been handed out before. A sub-buffer that is still being written is read at most once per
// drain: chasing the writer slows the traced machine down. Not reading it is better still: the kernel copies a partial
// sub-buffer event by event, but swaps out a full one as a whole (ring_leave).
#ifndef COLLECTORS_RING_H
#define COLLECTORS_RING_H

#include <sys/types.h>

#include "collectors/kernel/tracefs/ring_page.h"

struct ring_event {
    uint64_t ts;         // of the instance's trace clock
    uint32_t cpu, size;  // bytes at data (the event's, rounded up to 4)
    const uint8_t *data; // starts with common_type (u16); valid during the call only
};
typedef void (*ring_event_fn)(void *ctx, const struct ring_event *event);

struct ring_source {
    void *ctx;
    void (*begin)(void *ctx); // called when a drain begins and has its horizon; may be NULL
    // Reads a sub-buffer of that CPU: its bytes, 0 or -EAGAIN when it is empty, or another -errno.
    ssize_t (*read)(void *ctx, uint32_t cpu, void *out, size_t size);
    uint32_t n_cpus;      // CPU numbers are below
    uint32_t page_size;   // of a sub-buffer, header included
    uint32_t page_header; // 16 with 8-byte longs, 12 with 4-byte ones
};

struct ring_stats {
    uint64_t events, pages, bytes;
    uint64_t missed;         // lost events, by the sub-buffers' marks
    uint64_t missed_unknown; // gaps whose size the sub-buffer does not record
    uint64_t gap_ts;         // start of the last sub-buffer with a mark: the loss was before it
    uint64_t late;           // handed out after a later one (their writer was interrupted in mid-event)
    uint64_t damaged;        // corrupt sub-buffers before others: the rest of each was skipped
};

struct ring;
struct ring *ring_new(const struct ring_source *source); // copied; its ctx must outlive the ring
void ring_free(struct ring *ring);

// From now on drains do not read a sub-buffer that will probably be full within this trace clock time after their
// horizon, and hold back all CPUs' events since its start. 0 (initial): everything is handed out.
void ring_leave(struct ring *ring, uint64_t within);
// Everything before this time was handed out: the last drain's horizon, or earlier when something was left; never
// decreases.
uint64_t ring_reached(const struct ring *ring);

// Whether the last drain left events in hand, at or past its horizon.
bool ring_holds(const struct ring *ring);

// Hands out everything before `horizon` (trace clock; not later than the time of the call), oldest first. Returns the
// number of events.
uint64_t ring_drain(struct ring *ring, uint64_t horizon, ring_event_fn fn, void *ctx);

// The same in runs, for fast decoders: `fn` gets a CPU's page with its next event in hand, takes
// events with ring_page_next as long as their time is before `limit`, leaves the first later one in hand (or none:
// page->data NULL), and returns how many it took. Runs of different CPUs may overlap by slack_ns: below the time in
// which a thread can move to another CPU (about 1 us) each thread's own events still come in order.
typedef uint64_t (*ring_run_fn)(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit);
uint64_t ring_drain_runs(struct ring *ring, uint64_t horizon, uint64_t slack_ns, ring_run_fn fn, void *ctx);

// The same in exact order, two CPUs at a time: `fn` takes the events of two pages in turn (struct ring_pair) until both
// are at or past `limit` or one has none left (page->data NULL), and returns how many it took. A page without a CPU has
// no events and the time UINT64_MAX.
typedef uint64_t (*ring_pair_fn)(void *ctx, struct ring_page *const pages[2], uint64_t limit);
uint64_t ring_drain_pairs(struct ring *ring, uint64_t horizon, ring_pair_fn fn, void *ctx);

// A ring that was not drained yet goes on where `old` ends, which was drained up to `cut` and reads another buffer of
// the same events: what is before is dropped. An event that was being recorded at the cut may be in both: it is handed
// out once.
void ring_follow(struct ring *ring, const struct ring *old, uint64_t cut);

const struct ring_stats *ring_stats(const struct ring *ring);
// Bytes that the last drain took from that CPU.
uint64_t ring_taken(const struct ring *ring, uint32_t cpu);

#endif
