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
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/mem.h"

#define RING_PAGES 32

struct cpu_ring {
    int fd;
    struct perf_event_mmap_page *page;
};

struct tasks_ran {
    struct cpu_ring *rings;
    int n_rings, online;
    size_t page_size;
};

static int ring_open(struct tasks_ran *ran, int cpu, struct cpu_ring *ring) {
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
    ring->page = NULL;
    ring->fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    if (ring->fd < 0)
        return -errno;
    void *page = mmap(NULL, (1 + RING_PAGES) * ran->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    if (page == MAP_FAILED)
        return -errno;
    ring->page = page;
    return 0;
}

int tasks_ran_open(struct tasks_ran **out) {
    struct tasks_ran *ran = xcalloc(1, sizeof(*ran));
    int configured = (int)sysconf(_SC_NPROCESSORS_CONF), rc = 0;
    ran->page_size = (size_t)sysconf(_SC_PAGESIZE);
    ran->online = (int)sysconf(_SC_NPROCESSORS_ONLN);
    ran->rings = xcalloc((size_t)configured, sizeof(*ran->rings));
    for (int cpu = 0; cpu < configured && !rc; cpu++) {
        struct cpu_ring *ring = &ran->rings[ran->n_rings];
        rc = ring_open(ran, cpu, ring);
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
        if (ran->rings[i].page)
            munmap(ran->rings[i].page, (1 + RING_PAGES) * ran->page_size);
        if (ran->rings[i].fd >= 0)
            close(ran->rings[i].fd);
    }
    free(ran->rings);
    free(ran);
}

struct record {
    struct perf_event_header header;
    uint32_t words[6]; // what follows, as far as it is looked at
};

static void record_handle(const struct record *record, const uint32_t *last, tasks_ran_fn *fn, void *context,
                          uint64_t *lost) {
    uint64_t n;
    switch (record->header.type) {
    case PERF_RECORD_SWITCH_CPU_WIDE:
        // Each switch gives a record of who leaves and one of who comes; either names both.
        if (!(record->header.misc & PERF_RECORD_MISC_SWITCH_OUT))
            return;
        if (record->words[1])
            fn(context, (pid_t)record->words[0], (pid_t)record->words[1], false);
        if (last[1])
            fn(context, (pid_t)last[0], (pid_t)last[1], false);
        return;
    case PERF_RECORD_COMM:
        if (record->header.misc & PERF_RECORD_MISC_COMM_EXEC)
            fn(context, (pid_t)record->words[0], (pid_t)record->words[1], true);
        return;
    case PERF_RECORD_LOST:
        memcpy(&n, &record->words[2], sizeof(n));
        *lost += n ? n : 1;
        return;
    default:
        return;
    }
}

static void ring_copy(void *out, const uint8_t *ring, uint64_t size, uint64_t at, size_t len) {
    size_t start = at & (size - 1), first = len < size - start ? len : size - start;
    memcpy(out, ring + start, first);
    memcpy((uint8_t *)out + first, ring, len - first);
}

void tasks_ran_records(const uint8_t *ring, uint64_t size, uint64_t tail, uint64_t head, tasks_ran_fn *fn,
                       void *context, uint64_t *lost) {
    while (head - tail >= sizeof(struct perf_event_header)) {
        struct record record = {0};
        uint32_t last[2] = {0}; // the sample_id at the end: pid, tid
        ring_copy(&record.header, ring, size, tail, sizeof(record.header));
        size_t len = record.header.size;
        if (len < sizeof(record.header) + sizeof(last) || len > head - tail) {
            *lost += 1; // the ring is not what it should be: nothing in it is trusted
            return;
        }
        size_t body = len - sizeof(record.header);
        ring_copy(record.words, ring, size, tail + sizeof(record.header),
                  body < sizeof(record.words) ? body : sizeof(record.words));
        ring_copy(last, ring, size, tail + len - sizeof(last), sizeof(last));
        record_handle(&record, last, fn, context, lost);
        tail += len;
    }
}

bool tasks_ran_drain(struct tasks_ran *ran, tasks_ran_fn *fn, void *context) {
    uint64_t lost = 0;
    for (int i = 0; i < ran->n_rings; i++) {
        struct perf_event_mmap_page *page = ran->rings[i].page;
        // Pairs with the kernel's release of data_head after it wrote the records.
        uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
        tasks_ran_records((uint8_t *)page + ran->page_size, RING_PAGES * ran->page_size, page->data_tail, head, fn,
                          context, &lost);
        // Pairs with the kernel's acquire of data_tail before it overwrites them.
        __atomic_store_n(&page->data_tail, head, __ATOMIC_RELEASE);
    }
    return !lost;
}

void tasks_ran_pause(struct tasks_ran *ran, bool paused) {
    for (int i = 0; i < ran->n_rings; i++)
        ioctl(ran->rings[i].fd, paused ? PERF_EVENT_IOC_DISABLE : PERF_EVENT_IOC_ENABLE, 0);
}

bool tasks_ran_whole(const struct tasks_ran *ran) {
    return ran->online == (int)sysconf(_SC_NPROCESSORS_ONLN);
}
