// Who ran, from perf_event_open(2): two dummy events per CPU that write into one ring. The one whose output are exec
// records is always there; the other's are PERF_RECORD_SWITCH_CPU_WIDE (who left a CPU, and for whom). These take some
// 0.6 us of the programs that switch, so it is opened and closed rather than enabled and disabled: a closed one leaves
// nothing on their path. A ring holds what a CPU switches in 100 ms at 27,000 switches a second; long before that
// asking the tasks is cheaper, so rings are small and an overflow is no error. Rings are drained by a clock, or when
// one is half full, never by a wake-up per event, which would be a switch and an event in itself.
#include "collectors/tasks/ran.h"

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

struct tasks_ran {
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

// Edge-triggered: a CPU that goes offline hangs up, and must not make the collector spin until it is looked for.
static int ring_watch(const struct tasks_ran *ran, int fd) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET};
    return epoll_ctl(ran->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int tasks_ran_open(struct tasks_ran **out) {
    struct tasks_ran *ran = xcalloc(1, sizeof(*ran));
    int configured = (int)sysconf(_SC_NPROCESSORS_CONF), rc = 0;
    ran->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    ran->rings = xcalloc((size_t)configured, sizeof(*ran->rings));
    ran->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (ran->epoll_fd < 0)
        rc = -errno;
    for (int cpu = 0; cpu < configured && !rc; cpu++) {
        struct cpu_ring *ring = &ran->rings[ran->n_rings];
        rc = ring_open(cpu, ring);
        if (rc == -ENODEV) // offline
            rc = 0;
        else
            ran->n_rings++;
        if (!rc && ring->fd >= 0)
            rc = ring_watch(ran, ring->fd);
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
        if (ran->rings[i].switch_fd >= 0)
            close(ran->rings[i].switch_fd);
        perf_ring_unmap(&ran->rings[i].ring);
        if (ran->rings[i].fd >= 0)
            close(ran->rings[i].fd);
    }
    if (ran->epoll_fd >= 0)
        close(ran->epoll_fd);
    free(ran->rings);
    free(ran);
}

static int switches_open(struct cpu_ring *ring) {
    ring->switch_fd = event_open(ring->cpu, true);
    if (ring->switch_fd < 0)
        return ring->switch_fd;
    return ioctl(ring->switch_fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) < 0 ? -errno : 0;
}

int tasks_ran_switches(struct tasks_ran *ran, bool on) {
    int rc = 0;
    for (int i = 0; on && i < ran->n_rings && !rc; i++)
        if (ran->rings[i].switch_fd < 0)
            rc = switches_open(&ran->rings[i]);
    for (int i = 0; (!on || rc) && i < ran->n_rings; i++) {
        if (ran->rings[i].switch_fd >= 0)
            close(ran->rings[i].switch_fd);
        ran->rings[i].switch_fd = -1;
    }
    return rc;
}

struct walk {
    tasks_ran_fn *fn;
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
        // Each switch gives a record of who leaves and one of who comes; either names both.
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

static void seen_add(struct tasks_ran_seen *seen, const struct walk *walk) {
    seen->switches += walk->switches;
    seen->lost += walk->lost;
    if (walk->switches > seen->most)
        seen->most = walk->switches;
}

void tasks_ran_records(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head, tasks_ran_fn *fn,
                       void *context, struct tasks_ran_seen *seen) {
    struct walk walk = {.fn = fn, .context = context};
    if (!perf_ring_walk(ring, size, &tail, head, record_handle, &walk))
        walk.lost++; // the ring is not what it should be: nothing more in it is trusted
    seen_add(seen, &walk);
}

int tasks_ran_fd(const struct tasks_ran *ran) {
    return ran->epoll_fd;
}

struct tasks_ran_seen tasks_ran_drain(struct tasks_ran *ran, tasks_ran_fn *fn, void *context) {
    struct tasks_ran_seen seen = {0};
    struct epoll_event events[64];
    while (epoll_wait(ran->epoll_fd, events, 64, 0) == 64)
        ; // all rings are drained, whichever woke
    for (int i = 0; i < ran->n_rings; i++) {
        struct walk walk = {.fn = fn, .context = context};
        walk.lost += !perf_ring_drain(&ran->rings[i].ring, record_handle, &walk);
        seen_add(&seen, &walk);
    }
    return seen;
}

bool tasks_ran_whole(const struct tasks_ran *ran) {
    return ran->online == (int)sysconf(_SC_NPROCESSORS_ONLN);
}
