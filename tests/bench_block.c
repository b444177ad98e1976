// CPU time per event of the block collector, in memory: replays captured sub-buffers.
//
//     bench_block [DIR [ROUNDS]]     prints ns per event for each step, and for libtraceevent's kbuffer
//
// tests/data has few events of many kinds. For a disk at its highest rate: tests/record_ring DIR 0.03 64 beside the
// load, then bench_block DIR 100.
#include <kbuffer.h>
#include <time.h>

#include "collectors/block/flight.h"
#include "collectors/block/stat.h"
#include "tests/unit/forge_block.h"

struct path {
    struct block_formats formats;
    struct block_match *match;
    struct block_stat *stat;
    uint64_t sum;
};

static uint64_t walk(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct path *path = ctx;
    struct ring_pair pair = ring_pair_take(pages);
    uint64_t n = 0;
    do {
        ring_pair_turn(&pair);
        if (pair.at.ts >= limit)
            break;
        n++;
        path->sum += pair.at.size;
    } while (ring_page_next(&pair.at));
    ring_pair_put(&pair, pages);
    return n;
}

static uint64_t decode(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct path *path = ctx;
    struct ring_pair pair = ring_pair_take(pages);
    struct block_event event;
    uint64_t n = 0;
    do {
        ring_pair_turn(&pair);
        if (pair.at.ts >= limit)
            break;
        n++;
        if (block_event_decode(&path->formats, pair.at.ts, pair.at.data, pair.at.size, &event)) {
            __asm__ volatile("" : : "r"(&event) : "memory"); // use all fields
            path->sum += event.sector;
        }
    } while (ring_page_next(&pair.at));
    ring_pair_put(&pair, pages);
    return n;
}

static uint64_t match_all(void *ctx, struct ring_page *const pages[2], uint64_t limit) {
    struct path *path = ctx;
    return block_match_pages(path->match, &path->formats, &TRACE_CLOCK_MONO, pages, limit);
}

static void on_done(void *ctx, const struct block_io *io) {
    struct path *path = ctx;
    block_stat_io(path->stat, io);
}

static void nothing(void *ctx, const struct block_io *io) {
    struct path *path = ctx;
    path->sum += io->bytes;
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// The next round starts over.
static void path_reset(struct path *path) {
    for (uint32_t i = 0; i < path->stat->n_devices; i++)
        block_match_drop(path->match, path->stat->devices[i].dev, UINT64_MAX);
    path->match->now = 0;
}

// Makes the devices known.
static void run_once(struct forge_source *source, struct path *path) {
    struct ring *ring = forge_ring(source);
    ring_drain_pairs(ring, UINT64_MAX, match_all, path);
    ring_free(ring);
    path_reset(path);
}

static void run(const char *what, struct forge_source *source, struct path *path, ring_pair_fn fn, int rounds) {
    uint64_t events = 0;
    double spent = 0;
    struct ring *ring = forge_ring(source);
    for (int round = 0; round < rounds; round++) {
        memset(source->at, 0, sizeof(source->at));
        double begin = cpu_ns();
        events += ring_drain_pairs(ring, UINT64_MAX, fn, path);
        spent += cpu_ns() - begin;
        if (path->stat->n_recent > 100000)
            block_stat_clear(path->stat);
        path_reset(path);
    }
    ring_free(ring);
    printf("%-44s %6.1f ns per event\n", what, spent / (double)events);
}

static void run_kbuffer(struct forge_source *source, struct path *path, int rounds) {
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
                    path->sum += (uint64_t)kbuffer_event_size(kbuffer) + ts;
                    events++;
                }
            }
    printf("%-44s %6.1f ns per event\n", "libtraceevent's kbuffer, without merging",
           (cpu_ns() - begin) / (double)events);
    kbuffer_free(kbuffer);
    free(page);
}

int main(int argc, char **argv) {
    const char *dir = argc > 1 ? argv[1] : BLOCK_DATA;
    int rounds = argc > 2 ? atoi(argv[2]) : 3000;
    static struct path path;
    struct forge_source source;
    forge_formats(&path.formats, dir);
    forge_load(&source, dir, 2);
    struct block_match *match = block_match_new(8192, nothing, &path), *sum = block_match_new(8192, on_done, &path);
    path.stat = block_stat_new();
    path.match = sum;
    run_once(&source, &path);
    run_kbuffer(&source, &path, rounds);
    run("copy, walk, merge CPUs", &source, &path, walk, rounds);
    run("decode", &source, &path, decode, rounds);
    path.match = match;
    run("match", &source, &path, match_all, rounds);
    path.match = sum;
    run("sum", &source, &path, match_all, rounds);
    block_match_free(match);
    block_match_free(sum);
    block_stat_free(path.stat);
    forge_unload(&source);
    return path.sum == 0;
}
