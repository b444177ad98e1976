// The raw reader: walking sub-buffers, held against libtraceevent's kbuffer, and merging CPUs by time.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <kbuffer.h>

#include "tests/unit/forge_ring.h"

#define DATA "tests/data/block-6.18"

// Every event of a sub-buffer: the same times, sizes and bytes as kbuffer finds. Returns how many.
static size_t same_as_kbuffer(uint8_t *bytes, uint32_t size) {
    struct kbuffer *kbuffer = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
    struct ring_page page;
    int64_t missed;
    size_t n = 0;
    kbuffer_load_subbuffer(kbuffer, bytes);
    ring_page_load(&page, bytes, size, FORGE_HEADER, &missed);
    assert_int_equal(kbuffer_missed_events(kbuffer), missed);
    unsigned long long ts;
    for (void *data = kbuffer_read_event(kbuffer, &ts); data; data = kbuffer_next_event(kbuffer, &ts), n++) {
        assert_true(ring_page_next(&page));
        assert_ptr_equal(page.data, data);
        assert_int_equal(page.ts, ts);
        assert_int_equal(page.size, kbuffer_event_size(kbuffer));
    }
    assert_false(ring_page_next(&page));
    assert_false(page.damaged);
    kbuffer_free(kbuffer);
    return n;
}

static void captured_pages_as_kbuffer(void **state) {
    (void)state;
    struct forge_source source;
    size_t n = 0;
    forge_load(&source, DATA, 2);
    for (int cpu = 0; cpu < 2; cpu++)
        for (size_t i = 0; i < source.n[cpu]; i++)
            n += same_as_kbuffer((uint8_t *)source.pages[cpu] + i * source.page_size, source.page_size);
    assert_true(n > 300);
    forge_unload(&source);
}

static void all_kinds_of_headers(void **state) {
    (void)state;
    struct forge forge;
    forge_start(&forge, (5ull << 59) + 1000);
    forge_event(&forge, 10, 3, 1);
    forge_head(&forge, RING_TIME_EXTEND, 77); // 2^27 * 3 + 77 later
    forge_word(&forge, 3);
    forge_event(&forge, 5, 28, 2);
    forge_head(&forge, 0, 6); // a long one: 4 + 200 bytes
    forge_word(&forge, 204);
    for (int i = 0; i < 50; i++)
        forge_word(&forge, (uint32_t)i);
    forge_head(&forge, RING_PADDING, 9); // thrown away: 4 + 8 bytes
    forge_word(&forge, 12);
    forge_word(&forge, 0);
    forge_word(&forge, 0);
    forge_event(&forge, 1, 1, 3);
    forge_head(&forge, RING_TIME_STAMP, 1); // absolute: the five highest bits stay
    forge_word(&forge, 1 << 20);
    forge_event(&forge, 2, 2, 4);
    assert_int_equal(same_as_kbuffer(forge.bytes, FORGE_PAGE), 5);
    struct ring_page page;
    int64_t missed;
    forge_head(&forge, RING_PADDING, 0); // the rest is empty; the kernel keeps this out of what it counts as written
    for (int i = 0; i < 20; i++)
        forge_word(&forge, 0);
    ring_page_load(&page, forge.bytes, FORGE_PAGE, FORGE_HEADER, &missed);
    uint64_t ts = (5ull << 59) + 1010;
    assert_true(ring_page_next(&page) && page.ts == ts && page.size == 12);
    ts += (3ull << 27) + 77 + 5;
    assert_true(ring_page_next(&page) && page.ts == ts && page.size == 112);
    assert_true(ring_page_next(&page) && page.ts == ts + 6 && page.size == 200);
    assert_true(ring_page_next(&page) && page.ts == ts + 6 + 9 + 1 && page.size == 4);
    assert_true(ring_page_next(&page) && page.ts == (5ull << 59 | 1ull << 47) + 1 + 2);
    assert_false(ring_page_next(&page));
    assert_false(page.damaged);
}

static void missed_events_are_told(void **state) {
    (void)state;
    struct forge forge;
    struct ring_page page;
    int64_t missed;
    forge_start(&forge, 1);
    forge_event(&forge, 1, 2, 7);
    forge_missed(&forge, 12345);
    assert_int_equal(same_as_kbuffer(forge.bytes, FORGE_PAGE), 1);
    ring_page_load(&page, forge.bytes, FORGE_PAGE, FORGE_HEADER, &missed);
    assert_int_equal(missed, 12345);
    forge_missed(&forge, -1);
    ring_page_load(&page, forge.bytes, FORGE_PAGE, FORGE_HEADER, &missed);
    assert_int_equal(missed, -1);
}

// For any bytes: no read outside of them (checked by the sanitizers), and the walk ends.
static void damaged_pages_end(void **state) {
    (void)state;
    struct ring_page page;
    int64_t missed;
    struct forge forge;
    forge_start(&forge, 1);
    forge_event(&forge, 1, 2, 7);
    forge_head(&forge, 28, 1); // a length past the end
    ring_page_load(&page, forge.bytes, FORGE_PAGE, FORGE_HEADER, &missed);
    assert_true(ring_page_next(&page));
    assert_false(ring_page_next(&page));
    assert_true(page.damaged);
    ring_page_load(&page, forge.bytes, 12, FORGE_HEADER, &missed);
    assert_true(page.damaged);
    assert_false(ring_page_next(&page));
    uint32_t seed = 1;
    for (int round = 0; round < 3000; round++) {
        uint8_t *bytes = malloc(64); // exactly, so that a step too far is seen
        for (int i = 0; i < 64; i++)
            bytes[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
        if (round & 1) { // a sane length, so that the walk goes on to the events
            const uint32_t size = 48;
            memcpy(bytes + 8, &size, 4);
        }
        ring_page_load(&page, bytes, 64, FORGE_HEADER, &missed);
        int n = 0;
        while (ring_page_next(&page))
            assert_true(page.data >= bytes && page.data + page.size <= bytes + 64 && n++ < 16);
        free(bytes);
    }
}

// ---- merging ----

struct seen {
    uint64_t ts[64];
    uint32_t cpu[64], value[64];
    size_t n;
};

static void see(void *ctx, const struct ring_event *event) {
    struct seen *seen = ctx;
    assert_true(seen->n < 64);
    seen->ts[seen->n] = event->ts;
    seen->cpu[seen->n] = event->cpu;
    memcpy(&seen->value[seen->n++], event->data, 4);
}

static void cpus_are_merged_by_time(void **state) {
    (void)state;
    struct forge pages[3][2];
    struct forge_source source = {0};
    // CPU 0: 100 103 106 … ; CPU 1: 101 104 107 … ; CPU 2: one page 102, then one much later.
    for (uint32_t cpu = 0; cpu < 3; cpu++)
        for (uint32_t i = 0; i < 2; i++) {
            forge_start(&pages[cpu][i], 100 + cpu + i * 9);
            for (uint32_t k = 0; k < 3; k++)
                forge_event(&pages[cpu][i], k ? 3 : 0, 2, cpu * 100 + i * 10 + k);
            source.pages[cpu] = pages[cpu][0].bytes;
            source.n[cpu] = 0;
        }
    uint8_t *flat[3];
    for (int cpu = 0; cpu < 3; cpu++) {
        flat[cpu] = malloc(2 * FORGE_PAGE);
        memcpy(flat[cpu], pages[cpu][0].bytes, FORGE_PAGE);
        memcpy(flat[cpu] + FORGE_PAGE, pages[cpu][1].bytes, FORGE_PAGE);
        source.pages[cpu] = flat[cpu];
        source.n[cpu] = 2;
    }
    struct ring *ring = forge_ring(&source);
    struct seen seen = {0};
    assert_int_equal(ring_drain(ring, 105, see, &seen), 5); // 100 … 104: what is at the horizon stays
    assert_int_equal(ring_drain(ring, 105, see, &seen), 0);
    assert_int_equal(ring_drain(ring, UINT64_MAX, see, &seen), 13);
    for (size_t i = 0; i < 18; i++) {
        assert_int_equal(seen.ts[i], 100 + i);
        assert_int_equal(seen.cpu[i], i % 3);
    }
    assert_int_equal(ring_stats(ring)->pages, 6);
    assert_int_equal(ring_stats(ring)->late, 0);
    ring_free(ring);
    for (int cpu = 0; cpu < 3; cpu++)
        free(flat[cpu]);
}

static void late_and_lost_are_counted(void **state) {
    (void)state;
    struct forge early, late;
    struct forge_source source = {0};
    forge_start(&early, 1000);
    forge_event(&early, 0, 1, 1);
    source.pages[1] = early.bytes;
    source.n[1] = 1;
    struct ring *ring = forge_ring(&source);
    struct seen seen = {0};
    assert_int_equal(ring_drain(ring, 2000, see, &seen), 1);
    forge_start(&late, 900); // its writer was interrupted in mid-event
    forge_event(&late, 0, 1, 2);
    forge_missed(&late, 3);
    source.pages[0] = late.bytes;
    source.n[0] = 1;
    assert_int_equal(ring_drain(ring, 2000, see, &seen), 1);
    assert_int_equal(ring_stats(ring)->late, 1);
    assert_int_equal(ring_stats(ring)->missed, 3);
    assert_int_equal(ring_stats(ring)->missed_unknown, 0);
    assert_int_equal(ring_stats(ring)->gap_ts, 900);
    ring_free(ring);
}

// The gap of a damaged sub-buffer is reported with its end, also when no events follow yet.
static void damage_is_a_gap(void **state) {
    (void)state;
    struct forge pages[2];
    struct forge_source source = {.pages = {pages[0].bytes}, .n = {1}};
    forge_start(&pages[0], 100);
    forge_event(&pages[0], 0, 1, 1);
    forge_head(&pages[0], 28, 1); // a length past the end
    struct ring *ring = forge_ring(&source);
    struct seen seen = {0};
    assert_int_equal(ring_drain(ring, 2000, see, &seen), 1);
    assert_int_equal(ring_stats(ring)->damaged, 0);
    assert_int_equal(ring_stats(ring)->gap_ts, 0);
    forge_start(&pages[1], 500);
    forge_event(&pages[1], 0, 1, 2);
    source.pages[0] = pages[1].bytes;
    source.at[0] = 0;
    assert_int_equal(ring_drain(ring, 3000, see, &seen), 1);
    assert_int_equal(ring_stats(ring)->damaged, 1);
    assert_int_equal(ring_stats(ring)->gap_ts, 500);
    ring_free(ring);
}

// A sub-buffer that is still being written is read once per drain.
static void the_writer_is_not_chased(void **state) {
    (void)state;
    struct forge page;
    struct forge_source source = {0};
    forge_start(&page, 5000);
    forge_event(&page, 0, 1, 1);
    source.pages[0] = page.bytes;
    source.n[0] = 1;
    struct ring *ring = forge_ring(&source);
    struct seen seen = {0};
    ring_drain(ring, 100, see, &seen);
    assert_int_equal(source.reads, FORGE_CPUS); // one each
    source.reads = 0;
    ring_drain(ring, 200, see, &seen);
    assert_int_equal(source.reads, FORGE_CPUS - 1); // CPU 0 has one in hand
    assert_int_equal(seen.n, 0);
    ring_free(ring);
}

struct order {
    uint64_t last, n;
};

static void in_order(void *ctx, const struct ring_event *event) {
    struct order *order = ctx;
    assert_true(event->ts >= order->last);
    order->last = event->ts;
    order->n++;
}

static void captured_cpus_in_order(void **state) {
    (void)state;
    struct forge_source source;
    struct order order = {0};
    forge_load(&source, DATA, 2);
    struct ring *ring = forge_ring(&source);
    uint64_t n = ring_drain(ring, UINT64_MAX, in_order, &order);
    assert_int_equal(n, order.n);
    assert_true(order.n > 300);
    assert_int_equal(ring_stats(ring)->damaged, 0);
    ring_free(ring);
    forge_unload(&source);
}

struct runs {
    uint64_t last[FORGE_CPUS], latest, behind, n, runs;
};

static uint64_t take_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    struct runs *runs = ctx;
    uint64_t n = 0;
    assert_non_null(page->data);
    assert_true(page->ts < limit);
    for (; page->data && page->ts < limit; ring_page_next(page), n++) {
        assert_true(page->ts >= runs->last[cpu]);
        runs->last[cpu] = page->ts;
        if (page->ts < runs->latest && runs->latest - page->ts > runs->behind)
            runs->behind = runs->latest - page->ts;
        if (page->ts > runs->latest)
            runs->latest = page->ts;
    }
    runs->runs++;
    return runs->n += n, n;
}

// Runs: the same events, in order for each CPU, and never further out of order than the slack.
static void captured_cpus_in_runs(void **state) {
    (void)state;
    const uint64_t slacks[] = {0, 500, 20000, UINT64_MAX};
    struct runs all[4] = {0};
    for (int i = 0; i < 4; i++) {
        struct forge_source source;
        struct order order = {0};
        forge_load(&source, DATA, 2);
        struct ring *ring = forge_ring(&source);
        ring_drain(ring, UINT64_MAX, in_order, &order);
        memset(source.at, 0, sizeof(source.at));
        uint64_t half = ring_drain_runs(ring, order.last / 2, slacks[i], take_run, &all[i]);
        assert_true(all[i].latest < order.last / 2 || !half);
        half += ring_drain_runs(ring, UINT64_MAX, slacks[i], take_run, &all[i]);
        assert_int_equal(half, order.n);
        assert_int_equal(all[i].n, order.n);
        assert_int_equal(all[i].latest, order.last);
        assert_true(all[i].behind <= slacks[i]);
        ring_free(ring);
        forge_unload(&source);
    }
    assert_true(all[2].runs < all[0].runs);
    assert_true(all[3].behind > 20000); // CPU after CPU
}

struct pairs {
    uint64_t ts[1 << 16];
    size_t n;
};

static uint64_t take_pair(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct pairs *pairs = ctx;
    struct ring_pair pair = ring_pair_take(pages);
    uint64_t n = 0;
    assert_true(pages[0]->ts < limit || pages[1]->ts < limit);
    assert_true(pages[0]->data && (pages[1]->data || pages[1]->ts == UINT64_MAX));
    do {
        ring_pair_turn(&pair);
        if (pair.at.ts >= limit)
            break;
        assert_true(pairs->n < sizeof(pairs->ts) / sizeof(pairs->ts[0]));
        assert_int_equal(pair.at.size, 8 + 4 * pair.at.data[0]);
        pairs->ts[pairs->n++] = pair.at.ts;
        n++;
    } while (ring_page_next(&pair.at));
    ring_pair_put(&pair, pages);
    assert_true(!pages[0]->data || pages[0]->next - pages[0]->data == pages[0]->size);
    assert_true(!pages[1]->data || pages[1]->next - pages[1]->data == pages[1]->size);
    return n;
}

// Pages of four CPUs, of which some have few events, or none for a while; drained at horizons far from each other and
// close: the same events as one by one, in the same order.
static void pairs_of_cpus(void **state) {
    (void)state;
    static struct pairs pairs;
    enum { PAGES = 12 };
    for (uint32_t cpus = 1; cpus <= FORGE_CPUS; cpus++) {
        struct forge_source source = {0};
        struct order order = {0};
        srand(cpus);
        uint64_t last = 0;
        for (uint32_t cpu = 0; cpu < cpus; cpu++) {
            struct forge *pages = calloc(PAGES, sizeof(*pages));
            uint8_t *flat = calloc(PAGES, FORGE_PAGE);
            uint64_t ts = 1000;
            for (int i = 0; i < PAGES; i++) {
                ts += (uint64_t)(rand() % 2000);
                forge_start(&pages[i], ts);
                for (int k = rand() % 160; k > 0; k--) {
                    uint32_t delta = (uint32_t)(rand() % (cpu == 2 ? 5000 : 20));
                    forge_event(&pages[i], delta, 2 + cpu, cpu);
                    ts += delta;
                }
                memcpy(flat + (size_t)i * FORGE_PAGE, pages[i].bytes, FORGE_PAGE);
            }
            last = ts > last ? ts : last;
            free(pages);
            source.pages[cpu] = flat;
            source.n[cpu] = PAGES;
        }
        struct ring *ring = forge_ring(&source);
        ring_drain(ring, UINT64_MAX, in_order, &order);
        memset(source.at, 0, sizeof(source.at));
        memset(&pairs, 0, sizeof(pairs));
        uint64_t n = 0;
        for (uint64_t horizon = 1500; horizon < last; horizon += (uint64_t)(rand() % 4000)) {
            n += ring_drain_pairs(ring, horizon, take_pair, &pairs);
            assert_true(!pairs.n || pairs.ts[pairs.n - 1] < horizon);
        }
        n += ring_drain_pairs(ring, UINT64_MAX, take_pair, &pairs);
        assert_int_equal(n, order.n);
        assert_int_equal(pairs.n, order.n);
        assert_int_equal(pairs.ts[n - 1], order.last);
        for (size_t i = 1; i < n; i++)
            assert_true(pairs.ts[i - 1] <= pairs.ts[i]);
        assert_int_equal(ring_stats(ring)->damaged, 0);
        ring_free(ring);
        forge_unload(&source);
    }
}

// Each CPU writes an event every step[cpu] ns, from 1000 on; what is read is what was written until now, as the kernel
// hands it out: a full sub-buffer at once, one that is being written event by event, and later its rest.
struct writers {
    uint64_t now, step[FORGE_CPUS], n[FORGE_CPUS]; // n: events that were read
    uint64_t most[FORGE_CPUS];                     // total events of the CPU; 0: unlimited
    uint32_t partial[FORGE_CPUS];                  // reads of less than a full sub-buffer
};
#define FULL 200 // events of 20 bytes

static ssize_t writers_read(void *ctx, uint32_t cpu, void *out, size_t size) {
    struct writers *writers = ctx;
    struct forge page;
    uint64_t step = writers->step[cpu], first = writers->n[cpu];
    uint64_t written = step ? (writers->now - 1000) / step + 1 : 0;
    if (writers->most[cpu] && written > writers->most[cpu])
        written = writers->most[cpu];
    uint64_t upto = (first / FULL + 1) * FULL < written ? (first / FULL + 1) * FULL : written;
    assert_int_equal(size, FORGE_PAGE);
    if (upto <= first)
        return -11;
    forge_start(&page, 1000 + first * step);
    for (; writers->n[cpu] < upto; writers->n[cpu]++)
        forge_event(&page, writers->n[cpu] == first ? 0 : (uint32_t)step, 4, cpu);
    writers->partial[cpu] += upto - first < FULL;
    memcpy(out, page.bytes, sizeof(page.bytes));
    return sizeof(page.bytes);
}

struct left {
    uint64_t n[FORGE_CPUS], last;
};

static void left_see(void *ctx, const struct ring_event *event) {
    struct left *left = ctx;
    assert_true(event->ts >= left->last);
    left->last = event->ts;
    left->n[event->cpu]++;
}

static uint64_t left_run(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    uint64_t n = 0;
    do {
        if (page->ts >= limit)
            break;
        left_see(ctx, &(struct ring_event){.ts = page->ts, .cpu = cpu});
        n++;
    } while (ring_page_next(page));
    return n;
}

static uint64_t left_pair(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct ring_pair pair = ring_pair_take(pages);
    uint64_t n = 0;
    do {
        ring_pair_turn(&pair);
        if (pair.at.ts >= limit)
            break;
        uint32_t cpu;
        memcpy(&cpu, pair.at.data, sizeof(cpu));
        left_see(ctx, &(struct ring_event){.ts = pair.at.ts, .cpu = cpu});
        n++;
    } while (ring_page_next(&pair.at));
    ring_pair_put(&pair, pages);
    return n;
}

static uint64_t left_drain(struct ring *ring, int way, uint64_t horizon, struct left *left) {
    return way == 0   ? ring_drain(ring, horizon, left_see, left)
           : way == 1 ? ring_drain_runs(ring, horizon, 0, left_run, left)
                      : ring_drain_pairs(ring, horizon, left_pair, left);
}

// A sub-buffer that will be full soon is not read; one that fills slowly is not waited for; no event is handed out too
// early or lost, and all CPUs are read up to the drain's end.
static void what_fills_is_left(void **state) {
    (void)state;
    for (int way = 0; way < 6; way++) {
        bool leaves = way >= 3;
        // Full after 200 us, 1 ms, 100 ms; the second stops after a while.
        struct writers writers = {.now = 1000, .step = {1000, 5000, 500000}};
        const struct ring_source source = {
            .ctx = &writers, .read = writers_read, .n_cpus = 3, .page_size = FORGE_PAGE, .page_header = FORGE_HEADER};
        struct ring *ring = ring_new(&source);
        struct left left = {0};
        ring_leave(ring, leaves ? 5000000 : 0);
        for (int drain = 0; drain < 100; drain++) {
            writers.now += 10000000 + (uint64_t)(rand() % 1000000);
            if (drain == 50)
                writers.step[1] = 0; // it stops writing, and is not waited for
            uint64_t horizon = writers.now - 100000, reached;
            left_drain(ring, way % 3, horizon, &left);
            reached = ring_reached(ring);
            assert_true(leaves ? reached <= horizon && reached + 2000000 > horizon : reached == horizon);
            assert_true(left.last < reached);
            assert_int_equal(left.n[0], (reached - 1000 + 999) / 1000);
            assert_int_equal(left.n[2], (reached - 1000 + 499999) / 500000);
            if (drain < 50)
                assert_int_equal(left.n[1], (reached - 1000 + 4999) / 5000);
        }
        ring_leave(ring, 0);
        left_drain(ring, way % 3, UINT64_MAX, &left);
        for (int cpu = 0; cpu < 3; cpu++)
            assert_int_equal(left.n[cpu], writers.n[cpu]);
        if (leaves)
            assert_true(writers.partial[0] <= 3 && writers.partial[1] <= 3 && writers.partial[2] > 90);
        else
            assert_true(writers.partial[0] > 90 && writers.partial[1] > 45 && writers.partial[2] > 90);
        ring_free(ring);
    }
}

// A CPU that stopped after a full sub-buffer: the others do not wait for its next one, which seems to be due.
static void what_ended_is_not_waited_for(void **state) {
    (void)state;
    struct writers writers = {.now = 1000, .step = {1000, 500000}, .most = {0, FULL}};
    const struct ring_source source = {
        .ctx = &writers, .read = writers_read, .n_cpus = 2, .page_size = FORGE_PAGE, .page_header = FORGE_HEADER};
    struct ring *ring = ring_new(&source);
    struct left left = {0};
    ring_leave(ring, 20000000);
    for (int drain = 0; drain < 30; drain++) {
        // Its only sub-buffer is read at once, when it is full: the next one would be so 100 ms later.
        writers.now += drain ? 10000000 : 150000000;
        uint64_t before = ring_reached(ring);
        left_drain(ring, 2, writers.now - 100000, &left);
        assert_true(ring_reached(ring) >= before && ring_reached(ring) + 2000000 > writers.now);
        assert_int_equal(left.n[0], (ring_reached(ring) - 1000 + 999) / 1000);
    }
    assert_int_equal(left.n[1], FULL);
    ring_free(ring);
}

// A CPU that comes online is read from the next drain on, merged with the others.
struct coming {
    struct writers writers;
    bool online, open;
};

static void coming_begin(void *ctx) {
    struct coming *coming = ctx;
    coming->open = coming->online;
}

static ssize_t coming_read(void *ctx, uint32_t cpu, void *out, size_t size) {
    struct coming *coming = ctx;
    return cpu == 1 && !coming->open ? 0 : writers_read(&coming->writers, cpu, out, size);
}

static void a_cpu_that_comes_is_read_at_once(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        struct coming coming = {.writers = {.now = 1000, .step = {1000, 0}}};
        const struct ring_source source = {.ctx = &coming,
                                           .begin = coming_begin,
                                           .read = coming_read,
                                           .n_cpus = 2,
                                           .page_size = FORGE_PAGE,
                                           .page_header = FORGE_HEADER};
        struct ring *ring = ring_new(&source);
        struct left left = {0};
        for (int drain = 0; drain < 20; drain++) {
            coming.writers.now += 10000000;
            if (drain == 10) { // it has written since the last drain
                coming.online = true;
                coming.writers.n[1] = 100001;
                coming.writers.step[1] = 1000;
            }
            left_drain(ring, way, coming.writers.now - 100000, &left);
            assert_int_equal(left.n[1], drain < 10 ? 0 : 10000 * (drain + 1) - 100 - 100001);
        }
        ring_free(ring);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(captured_pages_as_kbuffer),
        cmocka_unit_test(all_kinds_of_headers),
        cmocka_unit_test(missed_events_are_told),
        cmocka_unit_test(damaged_pages_end),
        cmocka_unit_test(cpus_are_merged_by_time),
        cmocka_unit_test(late_and_lost_are_counted),
        cmocka_unit_test(damage_is_a_gap),
        cmocka_unit_test(the_writer_is_not_chased),
        cmocka_unit_test(captured_cpus_in_order),
        cmocka_unit_test(captured_cpus_in_runs),
        cmocka_unit_test(pairs_of_cpus),
        cmocka_unit_test(what_fills_is_left),
        cmocka_unit_test(what_ended_is_not_waited_for),
        cmocka_unit_test(a_cpu_that_comes_is_read_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
