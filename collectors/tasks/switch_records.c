// Two dummy perf events per CPU write into one ring. One emits exec records and is always open. The other emits
// PERF_RECORD_SWITCH_CPU_WIDE (previous and next thread) and costs 0.6 us a switch; it is closed rather than disabled,
// since a disabled event still costs the switch path. A ring holds what a CPU switches in 100 ms at 27,000 switches a
// second; far below that rate querying the tasks is cheaper, so rings are small and an overflow is no error. Rings are
// drained by a timer, or when one is half full, never by a wakeup per event: each wakeup is a switch and so an event.
#include "collectors/tasks/switch_records.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/perf/ring.h"
#include "model/mem.h"

#define RING_PAGES 32
#define WATERMARK (RING_PAGES / 2 * 4096)

struct cpu_ring {
    int cpu, fd;
    int switch_fd; // -1: off
    struct perf_ring ring;
};

struct switch_records {
    struct cpu_ring *rings;
    int n_rings, online;
    int epoll_fd; // of the rings' descriptors
};

static int event_open(int cpu, bool switches) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID,
        .sample_id_all = 1,
        .context_switch = switches,
        .comm = !switches,
        .comm_exec = !switches,
        .watermark = 1,
        .wakeup_watermark = WATERMARK,
    };
    int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int ring_open(int cpu, struct cpu_ring *ring) {
    *ring = (struct cpu_ring){.cpu = cpu, .fd = event_open(cpu, false), .switch_fd = -1};
    return ring->fd < 0 ? ring->fd : perf_ring_map(&ring->ring, ring->fd, RING_PAGES);
}

// Edge-triggered: a CPU that goes offline hangs up, and must not make the collector spin until CPUs are rescanned.
static int ring_watch(const struct switch_records *records, int fd) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    return epoll_ctl(records->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int switch_records_open(struct switch_records **out) {
    struct switch_records *records = xcalloc(1, sizeof(*records));
    int configured = (int)sysconf(_SC_NPROCESSORS_CONF), rc = 0;
    records->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    records->rings = xcalloc((size_t)configured, sizeof(*records->rings));
    records->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (records->epoll_fd < 0)
        rc = -errno;
    for (int cpu = 0; cpu < configured && !rc; cpu++) {
        struct cpu_ring *ring = &records->rings[records->n_rings];
        rc = ring_open(cpu, ring);
        if (rc == -ENODEV) // offline
            rc = 0;
        else
            records->n_rings++;
        if (!rc && ring->fd >= 0)
            rc = ring_watch(records, ring->fd);
    }
    if (rc) {
        switch_records_close(records);
        records = NULL;
    }
    *out = records;
    return rc;
}

void switch_records_close(struct switch_records *records) {
    if (!records)
        return;
    for (int i = 0; i < records->n_rings; i++) {
        if (records->rings[i].switch_fd >= 0)
            close(records->rings[i].switch_fd);
        perf_ring_unmap(&records->rings[i].ring);
        if (records->rings[i].fd >= 0)
            close(records->rings[i].fd);
    }
    if (records->epoll_fd >= 0)
        close(records->epoll_fd);
    free(records->rings);
    free(records);
}

static int switches_open(struct cpu_ring *ring) {
    ring->switch_fd = event_open(ring->cpu, true);
    if (ring->switch_fd < 0)
        return ring->switch_fd;
    return ioctl(ring->switch_fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ? -errno : 0;
}

int switch_records_enable(struct switch_records *records, bool on) {
    int rc = 0;
    for (int i = 0; on && i < records->n_rings && !rc; i++)
        if (records->rings[i].switch_fd < 0)
            rc = switches_open(&records->rings[i]);
    for (int i = 0; (!on || rc) && i < records->n_rings; i++) {
        if (records->rings[i].switch_fd >= 0)
            close(records->rings[i].switch_fd);
        records->rings[i].switch_fd = -1;
    }
    return rc;
}

struct walk {
    switch_records_fn *fn;
    void *context;
    uint64_t switches, lost;
};

static void hand_over(const struct walk *walk, const uint32_t *task, bool exec) {
    if (exec || task[1])
        walk->fn(walk->context, (pid_t)task[0], (pid_t)task[1], exec);
}

static bool record_handle(void *context, const struct perf_event_header *header) {
    struct walk *walk = context;
    const uint32_t *words = (const uint32_t *)(header + 1);
    const uint32_t *last = (const uint32_t *)((const uint8_t *)header + header->size) - 2; // sample_id: pid, tid
    uint64_t n = 0;
    if (last < words) {
        walk->lost++;
        return true;
    }
    switch (header->type) {
    case PERF_RECORD_SWITCH_CPU_WIDE:
        // A switch emits two records, out and in; each names both threads.
        if (!(header->misc & PERF_RECORD_MISC_SWITCH_OUT))
            return true;
        walk->switches++;
        hand_over(walk, words, false);
        hand_over(walk, last, false);
        return true;
    case PERF_RECORD_COMM:
        if (header->misc & PERF_RECORD_MISC_COMM_EXEC)
            hand_over(walk, words, true);
        return true;
    case PERF_RECORD_LOST:
        if (header->size >= sizeof(*header) + 2 * sizeof(n))
            memcpy(&n, &words[2], sizeof(n));
        walk->lost += n ? n : 1;
        return true;
    default:
        return true;
    }
}

static void seen_add(struct switch_records_read *seen, const struct walk *walk) {
    seen->switches += walk->switches;
    seen->lost += walk->lost;
    if (walk->switches > seen->most)
        seen->most = walk->switches;
}

void switch_records_parse(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head, switch_records_fn *fn,
                          void *context, struct switch_records_read *seen) {
    struct walk walk = {.fn = fn, .context = context};
    if (!perf_ring_walk(ring, size, &tail, head, record_handle, &walk))
        walk.lost++; // the ring is corrupt: the rest is dropped
    seen_add(seen, &walk);
}

int switch_records_fd(const struct switch_records *records) {
    return records->epoll_fd;
}

struct switch_records_read switch_records_drain(struct switch_records *records, switch_records_fn *fn, void *context) {
    struct switch_records_read seen = {0};
    struct epoll_event events[64];
    while (epoll_wait(records->epoll_fd, events, 64, 0) == 64)
        ; // all rings are drained, whichever woke
    for (int i = 0; i < records->n_rings; i++) {
        struct walk walk = {.fn = fn, .context = context};
        walk.lost += !perf_ring_drain(&records->rings[i].ring, record_handle, &walk);
        seen_add(&seen, &walk);
    }
    return seen;
}

bool switch_records_cover_cpus(const struct switch_records *records) {
    return records->online == (int)sysconf(_SC_NPROCESSORS_ONLN);
}
