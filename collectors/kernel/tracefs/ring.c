// Merging the CPUs' sub-buffers by time. Each CPU has one sub-buffer in hand and a place in it; a heap of the CPUs by
// the time of their next event orders them. Runs of one CPU are handed out without touching the heap. Nothing is
// allocated after ring_new.
#include "collectors/kernel/tracefs/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model/mem.h"

#define TWICE_WITHIN (1u << 19) // of the trace clock, 0.1 ms or more: between recording an event in two buffers
#define EVENT_MOST 256          // bytes: a sub-buffer with less room than that counts as full

struct ring_cpu {
    struct ring_page page; // page.data != NULL: the next event to hand out
    uint8_t *bytes;        // one sub-buffer; touched only once the CPU has events
    uint32_t length;       // of what was read into it
    uint64_t taken;
    uint32_t filled;    // bytes of the kernel's sub-buffer that were read, 0 when the next one is untouched
    uint64_t begin, ns; // start time of the current one; duration of the last full one
    uint32_t damaged;   // sub-buffers since the last sound one: where that begins, their gap ends
};

struct ring {
    struct ring_source source;
    struct ring_cpu *cpus;
    uint32_t *heap; // CPUs that have an event in hand, the earliest first
    uint32_t n_heap;
    uint64_t last_ts;
    uint64_t leave, horizon, reached, before; // before: reached by the last drain
    struct ring_stats stats;
};

struct ring *ring_new(const struct ring_source *source) {
    struct ring *ring = xcalloc(1, sizeof(*ring));
    ring->source = *source;
    ring->cpus = xcalloc(source->n_cpus, sizeof(*ring->cpus));
    ring->heap = xcalloc(source->n_cpus, sizeof(*ring->heap));
    for (uint32_t i = 0; i < source->n_cpus; i++)
        ring->cpus[i].bytes = xmalloc(source->page_size);
    return ring;
}

void ring_free(struct ring *ring) {
    if (!ring)
        return;
    for (uint32_t i = 0; i < ring->source.n_cpus; i++)
        free(ring->cpus[i].bytes);
    free(ring->cpus);
    free(ring->heap);
    free(ring);
}

static uint64_t heap_ts(const struct ring *ring, uint32_t i) {
    return ring->cpus[ring->heap[i]].page.ts;
}

static void heap_down(struct ring *ring, uint32_t i) {
    uint32_t cpu = ring->heap[i];
    uint64_t ts = ring->cpus[cpu].page.ts;
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= ring->n_heap)
            break;
        if (child + 1 < ring->n_heap && heap_ts(ring, child + 1) < heap_ts(ring, child))
            child++;
        if (ts <= heap_ts(ring, child))
            break;
        ring->heap[i] = ring->heap[child];
        i = child;
    }
    ring->heap[i] = cpu;
}

static uint32_t heap_pop(struct ring *ring) {
    uint32_t cpu = ring->heap[0];
    ring->heap[0] = ring->heap[--ring->n_heap];
    if (ring->n_heap)
        heap_down(ring, 0);
    return cpu;
}

static void heap_push(struct ring *ring, uint32_t cpu) {
    uint32_t i = ring->n_heap++;
    for (uint64_t ts = ring->cpus[cpu].page.ts; i && ts < heap_ts(ring, (i - 1) / 2); i = (i - 1) / 2)
        ring->heap[i] = ring->heap[(i - 1) / 2];
    ring->heap[i] = cpu;
}

// Whether the sub-buffer whose last events were just handed out is full.
static void cpu_filled(const struct ring *ring, struct ring_cpu *c) {
    if (c->filled + EVENT_MOST < ring->source.page_size)
        return;
    c->ns = c->page.ts - c->begin;
    c->filled = 0;
}

// The next one is still being written, and will soon be full.
static bool cpu_left(struct ring *ring, const struct ring_cpu *c) {
    uint64_t full = c->page.ts + c->ns;
    if (c->filled || !c->ns || full <= ring->horizon || full - ring->horizon > ring->leave)
        return false;
    if (c->page.ts + 1 < ring->before) // it has not written for long: do not go back behind what is known
        return false;
    ring->reached = c->page.ts < ring->reached ? c->page.ts + 1 : ring->reached;
    return true;
}

// Makes sure that the CPU has its next event in hand. False when it has none now.
static bool cpu_next(struct ring *ring, uint32_t cpu) {
    struct ring_cpu *c = &ring->cpus[cpu];
    while (!ring_page_next(&c->page)) {
        c->damaged += c->page.damaged;
        c->page.damaged = false;
        cpu_filled(ring, c);
        if (cpu_left(ring, c))
            return false;
        ssize_t n = ring->source.read(ring->source.ctx, cpu, c->bytes, ring->source.page_size);
        if (n <= 0)
            return false;
        int64_t missed;
        c->length = (uint32_t)n;
        ring_page_load(&c->page, c->bytes, (uint32_t)n, ring->source.page_header, &missed);
        ring->stats.pages++;
        uint64_t size = (uint64_t)(c->page.end - c->page.next);
        ring->stats.bytes += size;
        if (!c->filled || size + EVENT_MOST >= ring->source.page_size) { // a new sub-buffer begins here
            c->begin = c->page.ts;
            c->filled = 0;
        }
        c->filled += (uint32_t)size;
        c->taken += size;
        if ((missed || c->damaged) && c->page.ts > ring->stats.gap_ts)
            ring->stats.gap_ts = c->page.ts;
        ring->stats.damaged += c->damaged;
        c->damaged = 0;
        if (missed > 0)
            ring->stats.missed += (uint64_t)missed;
        else if (missed < 0)
            ring->stats.missed_unknown++;
    }
    return true;
}

// Hands out the CPU's events that come before `limit`. True when it still has one in hand, at or past it.
static bool cpu_run(struct ring *ring, uint32_t cpu, uint64_t limit, ring_event_fn fn, void *ctx) {
    struct ring_cpu *c = &ring->cpus[cpu];
    struct ring_event event = {.cpu = cpu};
    do {
        struct ring_page page = c->page; // a copy that fn cannot reach stays in registers
        uint64_t n = 0, late = 0, last_ts = ring->last_ts;
        do {
            if (page.ts >= limit)
                break;
            event.ts = page.ts;
            event.size = page.size;
            event.data = page.data;
            n++;
            late += event.ts < last_ts;
            last_ts = event.ts < last_ts ? last_ts : event.ts;
            fn(ctx, &event);
        } while (ring_page_next(&page));
        c->page = page;
        ring->last_ts = last_ts;
        ring->stats.events += n;
        ring->stats.late += late;
        if (page.data)
            return true;
    } while (cpu_next(ring, cpu));
    return false;
}

// The CPUs that have an event in hand, the earliest first.
static void heap_build(struct ring *ring, uint64_t horizon) {
    ring->n_heap = 0;
    ring->before = ring->reached;
    ring->horizon = ring->reached = horizon;
    if (ring->source.begin)
        ring->source.begin(ring->source.ctx);
    for (uint32_t cpu = 0; cpu < ring->source.n_cpus; cpu++) {
        struct ring_cpu *c = &ring->cpus[cpu];
        c->taken = 0;
        if (c->page.data || cpu_next(ring, cpu))
            ring->heap[ring->n_heap++] = cpu;
    }
    for (uint32_t i = ring->n_heap / 2; i-- > 0;)
        heap_down(ring, i);
}

// Up to the earliest event of any other CPU (equal times: either order) and the slack, and never to the horizon.
static uint64_t run_limit(const struct ring *ring, uint64_t slack) {
    uint64_t limit = ring->reached;
    for (uint32_t i = 1; i <= 2 && i < ring->n_heap; i++)
        if (limit > slack && heap_ts(ring, i) < limit - slack)
            limit = heap_ts(ring, i) + 1 + slack;
    return limit;
}

static void run_done(struct ring *ring, bool more) {
    if (!more)
        ring->heap[0] = ring->heap[--ring->n_heap];
    if (ring->n_heap)
        heap_down(ring, 0);
}

uint64_t ring_drain(struct ring *ring, uint64_t horizon, ring_event_fn fn, void *ctx) {
    uint64_t before = ring->stats.events;
    heap_build(ring, horizon);
    while (ring->n_heap && heap_ts(ring, 0) < ring->reached)
        run_done(ring, cpu_run(ring, ring->heap[0], run_limit(ring, 0), fn, ctx));
    return ring->stats.events - before;
}

uint64_t ring_drain_runs(struct ring *ring, uint64_t horizon, uint64_t slack_ns, ring_run_fn fn, void *ctx) {
    uint64_t before = ring->stats.events;
    heap_build(ring, horizon);
    while (ring->n_heap && heap_ts(ring, 0) < ring->reached) {
        uint32_t cpu = ring->heap[0];
        struct ring_page *page = &ring->cpus[cpu].page;
        uint64_t limit = run_limit(ring, slack_ns);
        bool more = true;
        while (more && page->ts < limit) {
            ring->stats.events += fn(ctx, cpu, page, limit);
            more = page->data || cpu_next(ring, cpu);
        }
        run_done(ring, more);
    }
    return ring->stats.events - before;
}

uint64_t ring_drain_pairs(struct ring *ring, uint64_t horizon, ring_pair_fn fn, void *ctx) {
    uint64_t before = ring->stats.events;
    struct ring_page none = {.ts = UINT64_MAX};
    heap_build(ring, horizon);
    while (ring->n_heap && heap_ts(ring, 0) < ring->reached) {
        uint32_t one = heap_pop(ring);
        bool pair = ring->n_heap, more = true, more_other = true;
        uint32_t other = pair ? heap_pop(ring) : one;
        uint64_t limit = ring->n_heap && heap_ts(ring, 0) < ring->reached ? heap_ts(ring, 0) + 1 : ring->reached;
        struct ring_page *const pages[2] = {&ring->cpus[one].page, pair ? &ring->cpus[other].page : &none};
        while (more && more_other && (pages[0]->ts < limit || pages[1]->ts < limit)) {
            ring->stats.events += fn(ctx, pages, limit);
            more = pages[0]->data || cpu_next(ring, one);
            more_other = !pair || pages[1]->data || cpu_next(ring, other);
        }
        if (more)
            heap_push(ring, one);
        if (pair && more_other)
            heap_push(ring, other);
    }
    return ring->stats.events - before;
}

static void dropped(void *ctx, const struct ring_event *event) {
    (void)ctx;
    (void)event;
}

// The last event before the cut, when it is in the sub-buffer in hand.
static struct ring_page last_before(const struct ring *ring, const struct ring_cpu *c, uint64_t cut) {
    struct ring_page page, last = {0};
    int64_t missed;
    ring_page_load(&page, c->bytes, c->length, ring->source.page_header, &missed);
    while (c->length && ring_page_next(&page) && page.ts < cut)
        last = page;
    return last;
}

void ring_follow(struct ring *ring, const struct ring *old, uint64_t cut) {
    ring_drain(ring, cut, dropped, NULL);
    for (uint32_t cpu = 0; cpu < ring->source.n_cpus && cut; cpu++) {
        struct ring_cpu *c = &ring->cpus[cpu];
        struct ring_page last = last_before(old, &old->cpus[cpu], cut);
        if (last.data && c->page.data && c->page.size == last.size && c->page.ts - last.ts < TWICE_WITHIN &&
            !memcmp(c->page.data, last.data, last.size))
            cpu_next(ring, cpu);
    }
    ring->stats = (struct ring_stats){0};
}

void ring_leave(struct ring *ring, uint64_t within) {
    ring->leave = within;
}

bool ring_holds(const struct ring *ring) {
    return ring->n_heap > 0;
}

uint64_t ring_reached(const struct ring *ring) {
    return ring->reached;
}

const struct ring_stats *ring_stats(const struct ring *ring) {
    return &ring->stats;
}

uint64_t ring_taken(const struct ring *ring, uint32_t cpu) {
    return ring->cpus[cpu].taken;
}
