// CPU time per event of the sched collector, in memory: replays forged sub-buffers of pairs of tasks that wake each
// other, on two CPUs.
//
//     bench_sched [PAIRS [ROUNDS]]     prints ns per event for each step
#include <stdio.h>
#include <time.h>

#include "collectors/sched/state.h"
#include "tests/unit/forge_ring.h"

#define PAGE 65536u
#define PAGES 64u
#define CPUS 2u

enum { ID_SWITCH = 10, ID_WAKING };

struct way {
    struct sched_formats formats;
    struct sched_machine *machine;
    uint64_t sum;
};

// Formats of 6.18.
static void make_formats(struct sched_formats *formats) {
    formats->kinds[SCHED_SWITCH] = sched_usual_switch;
    formats->kinds[SCHED_SWITCH].id = ID_SWITCH;
    formats->kinds[SCHED_WAKING] = sched_usual_waking;
    formats->kinds[SCHED_WAKING].id = ID_WAKING;
    sched_formats_index(formats);
}

struct writer {
    uint8_t *page;
    uint32_t used;
};

static void put_u32(uint8_t *at, uint32_t value) {
    memcpy(at, &value, 4);
}

static void put_event(struct writer *writer, uint32_t delta, const uint8_t *record, uint32_t size) {
    uint8_t *at = writer->page + FORGE_HEADER + writer->used;
    put_u32(at, delta << 5 | size / 4);
    memcpy(at + 4, record, size);
    writer->used += 4 + size;
    memcpy(writer->page + 8, &writer->used, 4);
}

// One turn: the task wakes its partner and sleeps; the next one runs.
static void put_turn(struct writer *writer, uint32_t cpu, uint32_t tid, uint32_t wakes) {
    uint8_t record[64] = {0};
    put_u32(record + 4, tid);
    memcpy(record + 8, "pingpong", 8);
    put_u32(record + 24, wakes);
    put_u32(record + 28, 120);
    put_u32(record + 32, cpu);
    record[0] = ID_WAKING;
    put_event(writer, 700, record, 36);
    record[0] = ID_SWITCH;
    put_u32(record + 24, tid);
    put_u32(record + 32, SCHED_STATE_S);
    memcpy(record + 40, "pingpong", 8);
    put_u32(record + 56, wakes);
    put_u32(record + 60, 120);
    put_event(writer, 500, record, 64);
}

static uint8_t *make_pages(uint32_t cpu, uint32_t pairs) {
    uint8_t *bytes = calloc(PAGES, PAGE);
    uint32_t turn = 0;
    for (uint32_t i = 0; i < PAGES; i++) {
        struct writer writer = {.page = bytes + (size_t)i * PAGE};
        uint64_t ts = 1000000 + (uint64_t)turn * 1200;
        memcpy(writer.page, &ts, 8);
        while (writer.used + 3 * 70 < PAGE - FORGE_HEADER) {
            uint32_t pair = turn / 2 % pairs, first = 1000 + (pair * CPUS + cpu) * 2;
            put_turn(&writer, cpu, first + turn % 2, first + (turn + 1) % 2);
            turn++;
        }
    }
    return bytes;
}

static void only_walk(void *ctx, const struct ring_event *raw) {
    struct way *way = ctx;
    way->sum += raw->size;
}

static void only_decode(void *ctx, const struct ring_event *raw) {
    struct way *way = ctx;
    struct sched_event event;
    if (sched_event_decode(&way->formats, raw->ts, raw->cpu, raw->data, raw->size, &event))
        way->sum += (uint64_t)event.tid;
}

static uint64_t whole(void *ctx, uint32_t cpu, struct ring_page *page, uint64_t limit) {
    struct way *way = ctx;
    return sched_machine_run(way->machine, cpu, page, limit);
}

static double cpu_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void run(const char *what, struct forge_source *source, struct way *way, ring_event_fn fn, ring_run_fn run_fn,
                int rounds) {
    const struct ring_source from = {
        .ctx = source, .read = forge_read, .n_cpus = CPUS, .page_size = PAGE, .page_header = FORGE_HEADER};
    struct ring *ring = ring_new(&from);
    uint64_t events = 0;
    double begin = cpu_ns();
    for (int round = 0; round < rounds; round++) {
        memset(source->at, 0, sizeof(source->at));
        events += fn ? ring_drain(ring, UINT64_MAX, fn, way) : ring_drain_runs(ring, UINT64_MAX, 0, run_fn, way);
    }
    printf("%-44s %6.1f ns per event\n", what, (cpu_ns() - begin) / (double)events);
    ring_free(ring);
}

int main(int argc, char **argv) {
    uint32_t pairs = argc > 1 ? (uint32_t)atoi(argv[1]) : 1;
    int rounds = argc > 2 ? atoi(argv[2]) : 100;
    static struct way way;
    struct forge_source source = {.page_size = PAGE};
    make_formats(&way.formats);
    way.machine = sched_machine_new(CPUS);
    way.machine->formats = way.formats;
    for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
        source.pages[cpu] = make_pages(cpu, pairs);
        source.n[cpu] = PAGES;
    }
    run("copy, walk, merge CPUs", &source, &way, only_walk, NULL, rounds);
    run("decode", &source, &way, only_decode, NULL, rounds);
    run("the same in runs, and follow tasks", &source, &way, NULL, whole, rounds);
    sched_machine_free(way.machine);
    for (uint32_t cpu = 0; cpu < CPUS; cpu++)
        free((void *)source.pages[cpu]);
    return way.sum == 0;
}
