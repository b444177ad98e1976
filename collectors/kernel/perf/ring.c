// Walking perf's ring. What a record means is the caller's.
#include "collectors/kernel/perf/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "model/mem.h"

#define SHORT_RECORD 1024 // copied on the stack when the ring's end cuts it in two

int perf_ring_map(struct perf_ring *ring, int fd, unsigned pages) {
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, (1 + pages) * page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *ring = (struct perf_ring){0};
    if (page == MAP_FAILED)
        return -errno;
    ring->page = page;
    ring->data = (const uint8_t *)page + page_size;
    ring->size = pages * page_size;
    return 0;
}

void perf_ring_unmap(struct perf_ring *ring) {
    if (ring->page)
        munmap(ring->page, (size_t)(ring->data - (const uint8_t *)ring->page) + ring->size);
    *ring = (struct perf_ring){0};
}

static void copy_out(void *out, const uint8_t *data, uint64_t size, uint64_t at, size_t length) {
    size_t start = at & (size - 1), first = length < size - start ? length : size - start;
    memcpy(out, data + start, first);
    memcpy((uint8_t *)out + first, data, length - first);
}

// A record that the ring's end cuts in two. Only one record of a turn of the ring is, so a long one may be allocated.
static bool cut_record(const uint8_t *data, uint64_t size, uint64_t at, uint16_t length, perf_record_fn *fn,
                       void *context) {
    union {
        struct perf_event_header header;
        uint64_t words[SHORT_RECORD / sizeof(uint64_t)];
    } copy;
    void *record = length > sizeof(copy) ? xmalloc(length) : &copy;
    copy_out(record, data, size, at, length);
    bool taken = fn(context, record);
    if (record != &copy)
        free(record);
    return taken;
}

bool perf_ring_walk(const uint8_t *data, uint64_t size, uint64_t *tail, uint64_t head, perf_record_fn *fn,
                    void *context) {
    if (head - *tail > size)
        return false;
    while (head != *tail) {
        if (*tail % 8 || head - *tail < sizeof(struct perf_event_header))
            return false;
        // Aligned to 8 bytes, of which the ring has a whole number: a header is never cut in two.
        const struct perf_event_header *record = (const void *)(data + (*tail & (size - 1)));
        uint16_t length = record->size;
        if (length < sizeof(*record) || length % 8 || length > head - *tail)
            return false;
        bool cut = (*tail & (size - 1)) + length > size;
        if (!(cut ? cut_record(data, size, *tail, length, fn, context) : fn(context, record)))
            return true;
        *tail += length;
    }
    return true;
}

bool perf_ring_drain(struct perf_ring *ring, perf_record_fn *fn, void *context) {
    // Pairs with the kernel's release of data_head after it wrote the records.
    uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), tail = ring->page->data_tail;
    bool good = perf_ring_walk(ring->data, ring->size, &tail, head, fn, context);
    // Pairs with the kernel's acquire of data_tail before it overwrites them.
    __atomic_store_n(&ring->page->data_tail, good ? tail : head, __ATOMIC_RELEASE);
    return good;
}

uint64_t perf_ring_waiting(const struct perf_ring *ring) {
    return __atomic_load_n(&ring->page->data_head, __ATOMIC_RELAXED) - ring->page->data_tail;
}
