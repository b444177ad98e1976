// What an event of the block collector costs, from memory: captured sub-buffers are read again and again.
//
//     bench_block [DIR [ROUNDS]]     prints nanoseconds an event for each step, and libtraceevent's walk beside it
//
// tests/data has few events of many kinds. What a disk does at its highest rate: tests/record_ring DIR 0.03 64 beside
// the load, then bench_block DIR 100.
#include <kbuffer.h>
#include <time.h>

#include "collectors/block/flight.h"
#include "collectors/block/stat.h"
#include "tests/unit/forge_block.h"

struct way {
    struct block_formats formats;
    struct block_match *match;
    struct block_stat *stat;
    uint64_t sum;
};

static uint64_t only_walk(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct way *way = ctx;
    struct ring_pair pair = ring_pair_take(pages);
    uint64_t n = 0;
    do {
        ring_pair_turn(&pair);
        if (pair.at.ts >= limit)
            break;
        n++;
        way->sum += pair.at.size;
    } while (ring_page_next(&pair.at));
    ring_pair_put(&pair, pages);
    return n;
}

static uint64_t only_decode(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct way *way = ctx;
    struct ring_pair pair = ring_pair_take(pages);
    struct block_event event;
    uint64_t n = 0;
    do {
        ring_pair_turn(&pair);
        if (pair.at.ts >= limit)
            break;
        n++;
        if (block_event_decode(&way->formats, pair.at.ts, pair.at.data, pair.at.size, &event)) {
            __asm__ volatile("" : : "r"(&event) : "memory"); // all of it is wanted
            way->sum += event.sector;
        }
    } while (ring_page_next(&pair.at));
    ring_pair_put(&pair, pages);
    return n;
}

static uint64_t whole(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct way *way = ctx;
    return block_match_pages(way->match, &way->formats, &TRACE_CLOCK_MONO, pages, limit);
}

static void on_done(void *ctx, const struct block_io *io) {
    struct way *way = ctx;
    block_stat_io(way->stat, io);
}

static void nothing(void *ctx, const struct block_io *io) {
    struct way *way = ctx;
    way->sum += io->bytes;
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// The next round is another time.
static void forget(struct way *way) {
    for (uint32_t i = 0; i < way->stat->n_devices; i++)
        block_match_drop(way->match, way->stat->devices[i].dev, UINT64_MAX);
    way->match->now = 0;
}

// So that the devices are known.
static void run_once(struct forge_source *source, struct way *way) {
    struct ring *ring = forge_ring(source);
    ring_drain_pairs(ring, UINT64_MAX, whole, way);
    ring_free(ring);
    forget(way);
}

static void run(const char *what, struct forge_source *source, struct way *way, ring_pair_fn fn, int rounds) {
    uint64_t events = 0;
    double spent = 0;
    struct ring *ring = forge_ring(source);
    for (int round = 0; round < rounds; round++) {
        memset(source->at, 0, sizeof(source->at));
        double begin = cpu_ns();
        events += ring_drain_pairs(ring, UINT64_MAX, fn, way);
        spent += cpu_ns() - begin;
        if (way->stat->n_recent > 100000)
            block_stat_clear(way->stat);
        forget(way);
    }
    ring_free(ring);
    printf("%-44s %6.1f ns an event\n", what, spent / (double)events);
}

static void run_kbuffer(struct forge_source *source, struct way *way, int rounds) {
    uint64_t events = 0;
    uint8_t *page = malloc(source->page_size);
    struct kbuffer *kbuffer = kbuffer_alloc(KBUFFER_LSIZE_8, KBUFFER_ENDIAN_LITTLE);
    double begin = cpu_ns();
    for (int round = 0; round < rounds; round++)
        for (int cpu = 0; cpu < FORGE_CPUS; cpu++)
            for (size_t i = 0; i < source->n[cpu]; i++) {
                unsigned long long ts;
                memcpy(page, source->pages[cpu] + i * source->page_size, source->page_size);
                kbuffer_load_subbuffer(kbuffer, page);
                for (void *data = kbuffer_read_event(kbuffer, &ts); data; data = kbuffer_next_event(kbuffer, &ts)) {
                    way->sum += (uint64_t)kbuffer_event_size(kbuffer) + ts;
                    events++;
                }
            }
    printf("%-44s %6.1f ns an event\n", "libtraceevent's kbuffer, without merging",
           (cpu_ns() - begin) / (double)events);
    kbuffer_free(kbuffer);
    free(page);
}

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : BLOCK_DATA;
    int rounds = argc > 2 ? atoi(argv[2]) : 3000;
    static struct way way;
    struct forge_source source;
    forge_formats(&way.formats, dir);
    forge_load(&source, dir, 2);
    struct block_match *matching = block_match_new(8192, nothing, &way), *adding = block_match_new(8192, on_done, &way);
    way.stat = block_stat_new();
    way.match = adding;
    run_once(&source, &way);
    run_kbuffer(&source, &way, rounds);
    run("copying, walking, merging the CPUs", &source, &way, only_walk, rounds);
    run("and decoding", &source, &way, only_decode, rounds);
    way.match = matching;
    run("and matching", &source, &way, whole, rounds);
    way.match = adding;
    run("and adding up", &source, &way, whole, rounds);
    block_match_free(matching);
    block_match_free(adding);
    block_stat_free(way.stat);
    forge_unload(&source);
    return way.sum == 0;
}
