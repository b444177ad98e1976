// CPU time per event of the syscalls collector, in memory: replays forged sub-buffers.
//
//     bench_syscalls [ROUNDS]     prints ns per event for each step and load, events per second, and one JSON line
#include <time.h>

#include "collectors/kernel/tracefs/stream.h"
#include "tests/unit/forge_syscalls.h"

#define SUBBUF 65536
#define SUBBUFS 32 // per CPU: more than the caches hold

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

struct load {
    const char *name;
    uint32_t cpus, threads, calls; // threads per CPU, in turns; number of different calls
};

struct source {
    uint8_t *pages[FORGE_CPUS];
    uint32_t at[FORGE_CPUS], cpus;
    uint64_t shift; // time offset per round
};

static ssize_t source_read(void *ctx, uint32_t cpu, void *out, size_t size) {
    struct source *source = ctx;
    if (cpu >= source->cpus || source->at[cpu] == SUBBUFS || size < SUBBUF)
        return 0;
    memcpy(out, source->pages[cpu] + (size_t)source->at[cpu]++ * SUBBUF, SUBBUF);
    uint64_t ts;
    memcpy(&ts, out, 8);
    ts += source->shift;
    memcpy(out, &ts, 8);
    return SUBBUF;
}

// One page of calls of about 100 ns; returns the time at its end.
static uint64_t fill(uint8_t *page, uint64_t ts, const struct load *load, uint32_t cpu, uint32_t *number) {
    struct forge forge;
    uint32_t used = 0;
    memset(page, 0, SUBBUF);
    memcpy(page, &ts, 8);
    while (used + 100 < SUBBUF - FORGE_HEADER) {
        uint32_t i = (*number)++, took = 60 + i * 7 % 64;
        int32_t tid = (int32_t)(1000 + cpu * 100 + i / 16 % load->threads), nr = (int32_t)(39 + i * 5 % load->calls);
        forge_start(&forge, 0);
        forge_enter(&forge, 40, tid, nr, i);
        forge_exit(&forge, took, tid, nr, i % 50 ? 0 : -11);
        memcpy(page + FORGE_HEADER + used, forge.bytes + FORGE_HEADER, forge.used);
        used += forge.used;
        ts += 40 + took;
    }
    memcpy(page + 8, &used, 4);
    return ts;
}

static uint64_t only_walk(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    struct ring_page at = *page;
    uint64_t n = 0, *sum = ctx;
    (void)cpu;
    do {
        *sum += at.size;
        n++;
    } while (ring_page_next(&at) && at.ts < limit);
    *page = at;
    return n;
}

static double measure(struct source *source, int rounds, uint64_t slack, ring_run_fn fn, void *ctx, uint64_t length) {
    const struct ring_source from = {
        .ctx = source, .read = source_read, .n_cpus = FORGE_CPUS, .page_size = SUBBUF, .page_header = FORGE_HEADER};
    struct ring *ring = ring_new(&from);
    uint64_t events = 0;
    double begin = cpu_ns();
    for (int round = 0; round < rounds; round++) {
        memset(source->at, 0, sizeof(source->at));
        source->shift = (uint64_t)round * length;
        events += ring_drain_runs(ring, UINT64_MAX, slack, fn, ctx);
    }
    double ns = (cpu_ns() - begin) / (double)events;
    ring_free(ring);
    return ns;
}

int main(int argc, char **argv) {
    static const struct load loads[] = {{"one thread, one call", 1, 1, 1},
                                        {"one CPU, 4 threads, 40 calls", 1, 4, 40},
                                        {"two CPUs, one thread each, one call", 2, 1, 1},
                                        {"two CPUs, 4 threads each, 40 calls", 2, 4, 40}};
    int rounds = argc > 1 ? atoi(argv[1]) : 60;
    double worst = 0, first = 0, two_cpus = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        const struct load *load = &loads[i];
        struct source source = {.cpus = load->cpus};
        uint64_t length = 0;
        for (uint32_t cpu = 0; cpu < load->cpus; cpu++) {
            uint32_t number = 0;
            uint64_t ts = 1000000 + cpu * 37;
            source.pages[cpu] = malloc((size_t)SUBBUFS * SUBBUF);
            for (int page = 0; page < SUBBUFS; page++)
                ts = fill(source.pages[cpu] + (size_t)page * SUBBUF, ts, load, cpu, &number);
            length = ts > length ? ts : length;
        }
        const struct syscalls_hooks hooks = {.identify = NULL};
        struct syscalls_pair *pair = syscalls_pair_new(&forge_layout, &hooks, FORGE_CPUS);
        double walk = measure(&source, rounds, STREAM_THREAD_SLACK_NS, only_walk, &sum, length);
        double strict = measure(&source, rounds, 0, only_walk, &sum, length);
        double whole = measure(&source, rounds, STREAM_THREAD_SLACK_NS, syscalls_pair_run, pair, length);
        printf("%-36s copy, walk, merge %5.1f ns per event (strictly by time %5.1f); pair and sum %5.1f: %.1f M "
               "events/s\n",
               load->name, walk, strict, whole, 1e3 / whole);
        if (pair->unpaired || pair->left_out) {
            printf("%llu returns unpaired\n", (unsigned long long)pair->unpaired);
            return 1;
        }
        worst = whole > worst ? whole : worst;
        first = i ? first : whole;
        if (load->cpus == 2 && whole > two_cpus)
            two_cpus = whole;
        syscalls_pair_free(pair);
        for (uint32_t cpu = 0; cpu < load->cpus; cpu++)
            free(source.pages[cpu]);
    }
    printf("{\"one_call_ns\": %.1f, \"worst_ns\": %.1f, \"two_cpus_events_per_s\": %.0f}\n", first, worst,
           1e9 / two_cpus);
    return sum == 0;
}
