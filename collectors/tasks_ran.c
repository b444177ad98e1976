// Who ran, from perf_event_open(2): a dummy event per CPU whose only output are PERF_RECORD_SWITCH_CPU_WIDE (who left
// a CPU, and for whom) and exec. On a machine of sleepers that is a few hundred records a second, about 0.2 us each,
// against asking every sleeper. A ring holds what a CPU switches in 100 ms at 27,000 switches a second; above that
// asking the tasks is cheaper, so rings are small and an overflow is no error. Nothing here waits: the rings are
// drained by a clock, never by a wake-up per event, which would be a switch and an event in itself.
#include "collectors/tasks_ran.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/perf_ring.h"
#include "model/mem.h"

#define RING_PAGES 32

struct cpu_ring {
    int fd;
    struct perf_ring ring;
};

struct tasks_ran {
    struct cpu_ring *rings;
    int n_rings, online;
};

static int ring_open(int cpu, struct cpu_ring *ring) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_DUMMY,
        .sample_type = PERF_SAMPLE_TID,
        .sample_id_all = 1,
        .context_switch = 1,
        .comm = 1,
        .comm_exec = 1,
        .watermark = 1,
        .wakeup_watermark = RING_PAGES / 2 * 4096,
    };
    ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return -errno;
    return perf_ring_map(&ring->ring, ring->fd, RING_PAGES);
}

int tasks_ran_open(struct tasks_ran **out) {
    struct tasks_ran *ran = xcalloc(1, sizeof(*ran));
    int configured = (int)sysconf(_SC_NPROCESSORS_CONF), rc = 0;
    ran->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    ran->rings = xcalloc((size_t)configured, sizeof(*ran->rings));
    for (int cpu = 0; cpu < configured && !rc; cpu++) {
        struct cpu_ring *ring = &ran->rings[ran->n_rings];
        rc = ring_open(cpu, ring);
        if (rc == -ENODEV) // offline
            rc = 0;
        else
            ran->n_rings++;
    }
    if (rc) {
        tasks_ran_close(ran);
        ran = NULL;
    }
    *out = ran;
    return rc;
}

void tasks_ran_close(struct tasks_ran *ran) {
    if (!ran)
        return;
    for (int i = 0; i < ran->n_rings; i++) {
        perf_ring_unmap(&ran->rings[i].ring);
        if (ran->rings[i].fd >= 0)
            close(ran->rings[i].fd);
    }
    free(ran->rings);
    free(ran);
}

struct walk {
    tasks_ran_fn *fn;
    void *context;
    uint64_t lost;
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
        // Each switch gives a record of who leaves and one of who comes; either names both.
        if (!(header->misc & PERF_RECORD_MISC_SWITCH_OUT))
            return true;
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

void tasks_ran_records(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head, tasks_ran_fn *fn,
                       void *context, uint64_t *lost) {
    struct walk walk = {fn, context, 0};
    if (!perf_ring_walk(ring, size, &tail, head, record_handle, &walk))
        walk.lost++; // the ring is not what it should be: nothing more in it is trusted
    *lost += walk.lost;
}

bool tasks_ran_drain(struct tasks_ran *ran, tasks_ran_fn *fn, void *context) {
    struct walk walk = {fn, context, 0};
    for (int i = 0; i < ran->n_rings; i++)
        walk.lost += !perf_ring_drain(&ran->rings[i].ring, record_handle, &walk);
    return !walk.lost;
}

void tasks_ran_pause(struct tasks_ran *ran, bool paused) {
    for (int i = 0; i < ran->n_rings; i++)
        ioctl(ran->rings[i].fd, paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

bool tasks_ran_whole(const struct tasks_ran *ran) {
    return ran->online == (int)sysconf(_SC_NPROCESSORS_ONLN);
}
