// The rings of sampled page faults (see the header). The wakeup watermark is an eighth of a ring: an idle machine costs
// nothing between frames, and at a high fault rate the period is raised before a ring overflows.
#include "collectors/faults/ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/perf/ring.h"
#include "model/mem.h"

#define RING_PAGES 128
#define RING_PAGES_LEAST 2 // perf_event_mlock_kb and RLIMIT_MEMLOCK limit a user's rings
#define FIT_NS 4000000ull  // shortest time over which a rate is measured

struct cpu_ring {
    int fds[FAULTS_KINDS];
    struct faults_source sources[FAULTS_KINDS];
    struct perf_ring ring;
};

struct faults_ring {
    struct perf_cpus cpus;
    struct cpu_ring *rings; // by CPU
};

static int event_open(int kind, int cpu, size_t ring_size) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = kind == FAULTS_MAJOR ? PERF_COUNT_SW_PAGE_FAULTS_MAJ : PERF_COUNT_SW_PAGE_FAULTS_MIN,
        .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ,
        .read_format = PERF_FORMAT_ID,
        .sample_period = 1,
        .comm = kind == FAULTS_MINOR,
        .comm_exec = kind == FAULTS_MINOR,
        .watermark = 1,
        .wakeup_watermark = (uint32_t)ring_size / 8,
        .exclude_guest = 1,
    };
    return perf_open_attr(&attr, -1, cpu, -1);
}

static int ring_map(struct cpu_ring *at) {
    int rc = -EPERM;
    for (unsigned pages = RING_PAGES; pages >= RING_PAGES_LEAST && rc == -EPERM; pages /= 2)
        rc = perf_ring_map(&at->ring, at->fds[FAULTS_MINOR], pages);
    return rc;
}

static void ring_close(void *context, int cpu) {
    struct cpu_ring *at = &((struct faults_ring *)context)->rings[cpu];
    perf_ring_unmap(&at->ring);
    for (int kind = 0; kind < FAULTS_KINDS; kind++)
        if (at->fds[kind] >= 0)
            close(at->fds[kind]);
}

static int ring_fill(struct faults_ring *ring, int cpu, struct cpu_ring *at) {
    for (int kind = 0; kind < FAULTS_KINDS; kind++) {
        at->sources[kind] = (struct faults_source){.period = 1};
        at->fds[kind] = event_open(kind, cpu, RING_PAGES * (size_t)sysconf(_SC_PAGESIZE));
        if (at->fds[kind] < 0)
            return at->fds[kind];
        if (ioctl(at->fds[kind], PERF_EVENT_IOC_ID, &at->sources[kind].id) < 0)
            return -errno;
    }
    int rc = ring_map(at);
    if (rc)
        return rc;
    if (ioctl(at->fds[FAULTS_MAJOR], PERF_EVENT_IOC_SET_OUTPUT, at->fds[FAULTS_MINOR]) < 0)
        return -errno;
    return perf_cpus_watch(&ring->cpus, cpu, at->fds[FAULTS_MINOR]);
}

static int ring_open(void *context, int cpu) {
    struct faults_ring *ring = context;
    struct cpu_ring *at = &ring->rings[cpu];
    *at = (struct cpu_ring){.fds = {-1, -1}};
    int rc = ring_fill(ring, cpu, at);
    if (rc)
        ring_close(ring, cpu);
    return rc;
}

int faults_ring_open(struct faults_ring **out) {
    static const struct perf_cpus_ops ops = {ring_open, ring_close};
    struct faults_ring *ring = xcalloc(1, sizeof(*ring));
    perf_cpus_init(&ring->cpus, &ops, ring);
    ring->rings = xcalloc((size_t)ring->cpus.n, sizeof(*ring->rings));
    int rc = perf_cpus_follow(&ring->cpus);
    if (rc) {
        faults_ring_close(ring);
        ring = NULL;
    }
    *out = ring;
    return rc;
}

void faults_ring_close(struct faults_ring *ring) {
    if (!ring)
        return;
    perf_cpus_close(&ring->cpus);
    free(ring->rings);
    free(ring);
}

int faults_ring_fd(const struct faults_ring *ring) {
    return ring->cpus.poll_fd;
}

int faults_ring_follow(struct faults_ring *ring) {
    return perf_cpus_follow(&ring->cpus);
}

int faults_ring_try(void) {
    int cpu = 0, fd;
    do
        fd = event_open(FAULTS_MINOR, cpu, 4096);
    while (fd == -ENODEV && ++cpu < (int)sysconf(_SC_NPROCESSORS_CONF));
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

// ---- sampling period ----

static bool is_prime(uint64_t n) {
    for (uint64_t d = 3; d * d <= n; d += 2)
        if (n % d == 0)
            return false;
    return n % 2 != 0;
}

uint64_t faults_period(uint64_t faults, uint64_t ns) {
    double per_s = ns ? (double)faults * 1e9 / (double)ns : 0;
    if (per_s <= FAULTS_BUDGET)
        return 1;
    uint64_t period = (uint64_t)(per_s / FAULTS_BUDGET * 2);
    for (period |= 1; !is_prime(period);)
        period += 2;
    return period;
}

bool faults_fit(struct faults_source *source, uint64_t now_ns) {
    uint64_t ns = now_ns - source->fitted_ns, before = source->period;
    if (ns < FIT_NS)
        return false;
    uint64_t period = faults_period(source->counted - source->fitted_counted, ns);
    uint64_t earned = ns < 1000000000ull ? ns * FAULTS_BUDGET / 1000000000ull : FAULTS_BUDGET;
    source->spent += source->samples - source->fitted_samples;
    source->spent -= earned < source->spent ? earned : source->spent;
    // Hysteresis: the period rises only when the budget is used up, and falls only when it is whole again.
    if (source->spent > FAULTS_BUDGET ? period > before : !source->spent)
        source->period = period;
    source->fitted_ns = now_ns;
    source->fitted_counted = source->counted;
    source->fitted_samples = source->samples;
    return source->period != before;
}

// ---- records ----

union record {
    struct perf_event_header header;
    struct {
        struct perf_event_header header;
        uint64_t ip;
        uint32_t pid, tid;
        uint64_t address, value, id; // order: perf_event_open(2)
    } sample;
    struct {
        struct perf_event_header header;
        uint32_t pid, tid;
        char comm[16]; // padded; the record's size gives the length
    } comm;
    struct {
        struct perf_event_header header;
        uint64_t id, lost;
    } lost;
};

struct walk {
    struct faults_source *sources;
    const struct faults_handler *handler;
    uint64_t lost;
};

static void sample_handle(const union record *record, const struct walk *walk) {
    int kind = record->sample.id == walk->sources[FAULTS_MAJOR].id ? FAULTS_MAJOR : FAULTS_MINOR;
    struct faults_source *source = &walk->sources[kind];
    if (record->sample.id != source->id || record->sample.value <= source->counted)
        return;
    struct fault fault = {
        .address = record->sample.address,
        .ip = record->sample.ip,
        .pid = (pid_t)record->sample.pid,
        .tid = (pid_t)record->sample.tid,
        .weight = record->sample.value - source->counted,
        .major = kind == FAULTS_MAJOR,
        .kernel = (record->header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL,
    };
    source->counted = record->sample.value;
    source->samples++;
    walk->handler->fault(walk->handler->context, &fault);
}

static bool record_handle(void *context, const struct perf_event_header *header) {
    const union record *record = (const union record *)header;
    struct walk *walk = context;
    size_t comm = offsetof(union record, comm.comm);
    if (header->type == PERF_RECORD_SAMPLE && header->size >= sizeof(record->sample))
        sample_handle(record, walk);
    else if (header->type == PERF_RECORD_COMM && (header->misc & PERF_RECORD_MISC_COMM_EXEC) && header->size > comm)
        walk->handler->exec(walk->handler->context, (pid_t)record->comm.pid, record->comm.comm,
                            strnlen(record->comm.comm, header->size - comm));
    else if (header->type == PERF_RECORD_LOST && header->size >= sizeof(record->lost))
        walk->lost += record->lost.lost ? record->lost.lost : 1;
    return true;
}

uint64_t faults_records(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head,
                        struct faults_source sources[FAULTS_KINDS], const struct faults_handler *handler) {
    struct walk walk = {sources, handler, 0};
    return !perf_ring_walk(ring, size, &tail, head, record_handle, &walk) + walk.lost;
}

static void period_set(struct cpu_ring *at, int kind) {
    uint64_t period = at->sources[kind].period;
    ioctl(at->fds[kind], PERF_EVENT_IOC_PERIOD, &period); // errors are harmless: a sample carries its weight
}

uint64_t faults_ring_drain(struct faults_ring *ring, uint64_t now_ns, const struct faults_handler *handler) {
    uint64_t lost = 0;
    for (int cpu = 0; cpu < ring->cpus.n; cpu++) {
        struct cpu_ring *at = &ring->rings[cpu];
        if (!ring->cpus.opened[cpu])
            continue;
        struct walk walk = {at->sources, handler, 0};
        lost += !perf_ring_drain(&at->ring, record_handle, &walk); // a corrupt ring: the number is unknown
        lost += walk.lost;
        for (int kind = 0; kind < FAULTS_KINDS; kind++)
            if (faults_fit(&at->sources[kind], now_ns))
                period_set(at, kind);
    }
    perf_cpus_drop_hung_up(&ring->cpus);
    return lost;
}
