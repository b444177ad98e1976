// The memory that perf_event_open(2) writes records into, as perf_event_mmap_page of <linux/perf_event.h> lays it out:
// mapping it and walking what is there. One thread owns a ring. Nothing here waits: who reads by a clock, or by the
// watermark of the event (wakeup_watermark), drains it then.
#ifndef COLLECTORS_PERF_RING_H
#define COLLECTORS_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perf_event_header;
struct perf_event_mmap_page;

struct perf_ring {
    struct perf_event_mmap_page *page; // NULL: not mapped
    const uint8_t *data;
    uint64_t size; // bytes of data, a power of two
};

// `pages` (a power of two) for records of the event `fd`, which stays the caller's. 0 or -errno (-EPERM: more than
// kernel.perf_event_mlock_kb and the limit of locked memory allow).
int perf_ring_map(struct perf_ring *ring, int fd, unsigned pages);
void perf_ring_unmap(struct perf_ring *ring);

// A record, whole and aligned to 8 bytes; header->size bytes (64 KiB at most), of which only the header is checked.
// False: leave this one, and all after it, for the next walk.
typedef bool perf_record_fn(void *context, const struct perf_event_header *record);

// Hands over what is there, and frees its room. False: the ring is not what it should be; what was left is dropped.
bool perf_ring_drain(struct perf_ring *ring, perf_record_fn *fn, void *context);
// Bytes that wait.
uint64_t perf_ring_waiting(const struct perf_ring *ring);

// The bytes, for tests: walks from *tail to head, and moves *tail. False: what is at *tail is no record.
bool perf_ring_walk(const uint8_t *data, uint64_t size, uint64_t *tail, uint64_t head, perf_record_fn *fn,
                    void *context);

#endif
