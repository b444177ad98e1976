// Walking one sub-buffer of the kernel's ring buffer. Kernel source: include/linux/ring_buffer.h (the event header's
// types), kernel/trace/ring_buffer.c. Equal to libtraceevent's kbuffer, event by event (tests/unit/test_ring.c
// holds the two against each other), at a third of its cost: everything is inline and nothing is called per event.
#ifndef COLLECTORS_RING_PAGE_H
#define COLLECTORS_RING_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { RING_TYPE_DATA_MAX = 28, RING_PADDING = 29, RING_TIME_EXTEND = 30, RING_TIME_STAMP = 31 };
#define RING_TS_BITS 27
#define RING_COMMIT_MASK ((1u << 27) - 1)
#define RING_MISSED_EVENTS (1u << 31)
#define RING_MISSED_STORED (1u << 30)

struct ring_page {
    const uint8_t *data; // the current event; NULL: none left
    uint32_t size;
    uint64_t ts;
    const uint8_t *next, *end;
    bool damaged; // a length points past the end
};

// Finds the next event. False at the end.
static inline bool ring_page_next(struct ring_page *page) {
    while (page->end - page->next >= 4) {
        uint32_t head, extra;
        memcpy(&head, page->next, 4);
        uint32_t type = head & 31;
        const uint8_t *at = page->next + 4;
        if (__builtin_expect(type - 1 < RING_TYPE_DATA_MAX, 1)) {
            page->size = type * 4;
        } else if (type == 0) { // the length stands in the word after the header and counts itself
            if (page->end - at < 4)
                break;
            memcpy(&extra, at, 4);
            at += 4;
            if (extra < 4)
                break;
            page->size = (extra - 4 + 3) & ~3u;
        } else if (type == RING_PADDING) {
            if (head >> 5 == 0) { // nothing follows in this sub-buffer
                page->next = page->end;
                page->data = NULL;
                return false;
            }
            if (page->end - at < 4)
                break;
            memcpy(&extra, at, 4); // a discarded event: its time counts, the event does not
            if (extra < 4 || (uint64_t)(page->end - at) < (((uint64_t)extra + 3) & ~3ull))
                break;
            page->ts += head >> 5;
            page->next = at + ((extra + 3) & ~3u);
            continue;
        } else {
            if (page->end - at < 4)
                break;
            memcpy(&extra, at, 4);
            uint64_t value = ((uint64_t)extra << RING_TS_BITS) + (head >> 5);
            // An absolute stamp holds 59 bits: the highest five come from the time so far.
            page->ts = type == RING_TIME_EXTEND ? page->ts + value : value | (page->ts & (0x1full << 59));
            page->next = at + 4;
            continue;
        }
        if ((uint64_t)(page->end - at) < page->size)
            break;
        page->ts += head >> 5;
        page->data = at;
        page->next = at + page->size;
        return true;
    }
    page->damaged |= page->next != page->end;
    page->next = page->end;
    page->data = NULL;
    return false;
}

// Starts on a sub-buffer of `length` bytes. *missed: the events lost before it, -1 if the number is not recorded, 0
// when none. Then ring_page_next finds the first event.
static inline void ring_page_load(struct ring_page *page, const uint8_t *bytes, uint32_t length, uint32_t header,
                                  int64_t *missed) {
    uint64_t ts;
    uint32_t commit;
    *page = (struct ring_page){.damaged = length < header};
    *missed = 0;
    if (page->damaged)
        return;
    memcpy(&ts, bytes, 8);
    memcpy(&commit, bytes + 8, 4); // little endian: the low half of a long; see ring_open for the other kind
    uint32_t size = commit & RING_COMMIT_MASK;
    if (size > length - header) {
        page->damaged = true;
        size = length - header;
    }
    page->ts = ts;
    page->next = bytes + header;
    page->end = page->next + size;
    if (!(commit & RING_MISSED_EVENTS))
        return;
    *missed = -1;
    if (commit & RING_MISSED_STORED && length - header - size >= header - 8) {
        uint64_t count = 0; // a long, right behind the events
        memcpy(&count, page->end, header - 8);
        *missed = (int64_t)count;
    }
}

// Two pages whose events are taken in time order. Which page is next is unpredictable, and a mispredicted branch costs
// more than the rest: the two are swapped without a branch, and stay in registers.
struct ring_pair {
    struct ring_page at, other; // at: the one whose event in hand is earlier, after ring_pair_turn
    bool swapped;               // at is the second of the two
};

static inline struct ring_pair ring_pair_take(struct ring_page *const pages[2]) {
    return (struct ring_pair){.at = *pages[0], .other = *pages[1]};
}

static inline void ring_pair_turn(struct ring_pair *pair) {
    struct ring_page *at = &pair->at, *other = &pair->other;
    bool swap = other->ts < at->ts;
    uint64_t ts = swap ? other->ts : at->ts, other_ts = swap ? at->ts : other->ts;
    const uint8_t *data = swap ? other->data : at->data, *other_data = swap ? at->data : other->data;
    const uint8_t *next = swap ? other->next : at->next, *other_next = swap ? at->next : other->next;
    const uint8_t *end = swap ? other->end : at->end, *other_end = swap ? at->end : other->end;
    at->ts = ts, at->data = data, at->next = next, at->end = end;
    other->ts = other_ts, other->data = other_data, other->next = other_next, other->end = other_end;
    at->size = (uint32_t)(next - data); // the next event follows
    pair->swapped ^= swap;
}

static inline void ring_pair_put(struct ring_pair *pair, struct ring_page *const pages[2]) {
    pair->other.size = (uint32_t)(pair->other.next - pair->other.data);
    pair->other.damaged = pages[!pair->swapped]->damaged;
    *pages[pair->swapped] = pair->at;
    *pages[!pair->swapped] = pair->other;
}

#endif
