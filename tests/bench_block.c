// What an event of the block collector costs, from memory: captured sub-buffers are read again and again.
//
//     bench_block [DIR] [ROUNDS]     prints nanoseconds an event for each step, and libtraceevent's walk beside it
#include <kbuffer.h>
#include <time.h>

#include "collectors/block_stat.h"
#include "tests/forge_block.h"

struct way {
    struct block_formats formats;
    struct block_match *match;
    struct block_stat *stat;
    uint64_t sum;
};

static void only_walk(void *ctx, const struct ring_event *raw) {
    struct way *way = ctx;
    way->sum += raw->size;
}

static void only_decode(void *ctx, const struct ring_event *raw) {
    struct way *way = ctx;
    struct block_event event;
    if (block_event_decode(&way->formats, raw->ts, raw->data, raw->size, &event))
        way->sum += event.sector;
}

static void whole(void *ctx, const struct ring_event *raw) {
    struct way *way = ctx;
    struct block_event event;
    if (block_event_decode(&way->formats, raw->ts, raw->data, raw->size, &event))
        block_match_event(way->match, &event);
}

static void on_done(void *ctx, const struct block_io *io) {
    struct way *way = ctx;
    block_stat_io(way->stat, io);
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run(const char *what, struct forge_source *source, struct way *way, ring_event_fn fn, int rounds) {
    uint64_t events = 0;
    double begin = cpu_ns();
    struct ring *ring = forge_ring(source);
    for (int round = 0; round < rounds; round++) {
        memset(source->at, 0, sizeof(source->at));
        events += ring_drain(ring, UINT64_MAX, fn, way);
        if (way->stat->n_recent > 100000)
            block_stat_clear(way->stat);
    }
    ring_free(ring);
    printf("%-44s %6.1f ns an event\n", what, (cpu_ns() - begin) / (double)events);
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
    way.match = block_match_new(8192, on_done, &way);
    way.stat = block_stat_new();
    run_kbuffer(&source, &way, rounds);
    run("copying, walking, merging the CPUs", &source, &way, only_walk, rounds);
    run("and decoding", &source, &way, only_decode, rounds);
    run("and matching, adding up", &source, &way, whole, rounds);
    block_match_free(way.match);
    block_stat_free(way.stat);
    forge_unload(&source);
    return way.sum == 0;
}
