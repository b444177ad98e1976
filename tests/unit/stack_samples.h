// User stacks of a live child, sampled by perf_event_open(2) with a copy of the stack, and its mappings from
// /proc/PID/maps: what the profile collector hands to the unwinder. For test_unwind and bench_unwind.
#ifndef TESTS_STACK_SAMPLES_H
#define TESTS_STACK_SAMPLES_H

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/unwind/unwind.h"
#include "model/mem.h"

#define SAMPLE_RING_PAGES 128u

struct stack_sampler {
    int fd;
    struct perf_event_mmap_page *page;
    uint8_t *data, *record; // record: the last one, in one piece
    uint64_t size;
    uint64_t lost;
};

static inline int stack_sampler_open(struct stack_sampler *s, pid_t pid, unsigned hz, unsigned stack_bytes) {
    struct perf_event_attr attr = {
        .size = sizeof(attr),
        .type = PERF_TYPE_SOFTWARE,
        .config = PERF_COUNT_SW_CPU_CLOCK,
        .sample_freq = hz,
        .freq = 1,
        .exclude_kernel = 1,
        .sample_type =
            PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
        .sample_regs_user = UNWIND_REGS_MASK,
        .sample_stack_user = stack_bytes,
    };
    size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    memset(s, 0, sizeof(*s));
    s->fd = perf_open_attr(&attr, pid, -1, -1);
    if (s->fd < 0)
        return s->fd;
    s->size = SAMPLE_RING_PAGES * page_size;
    s->page = mmap(NULL, s->size + page_size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
    if (s->page == MAP_FAILED) {
        int error = -errno;
        close(s->fd);
        return error;
    }
    s->data = (uint8_t *)s->page + page_size;
    s->record = xmalloc(65536);
    return 0;
}

static inline void stack_sampler_close(struct stack_sampler *s) {
    munmap(s->page, s->size + (size_t)sysconf(_SC_PAGESIZE));
    close(s->fd);
    free(s->record);
}

// The next sample, in memory that the next call reuses. False: none waits.
static inline bool stack_sampler_next(struct stack_sampler *s, struct unwind_input *out) {
    for (;;) {
        uint64_t head = __atomic_load_n(&s->page->data_head, __ATOMIC_ACQUIRE), tail = s->page->data_tail;
        struct perf_event_header header;
        if (tail == head)
            return false;
        memcpy(&header, s->data + tail % s->size, sizeof(header)); // records are aligned to 8 bytes
        size_t first = s->size - tail % s->size < header.size ? s->size - tail % s->size : header.size;
        memcpy(s->record, s->data + tail % s->size, first);
        memcpy(s->record + first, s->data, header.size - first);
        __atomic_store_n(&s->page->data_tail, tail + header.size, __ATOMIC_RELEASE);
        if (header.type == PERF_RECORD_LOST)
            s->lost++;
        if (header.type != PERF_RECORD_SAMPLE)
            continue;
        uint64_t *at = (uint64_t *)(s->record + sizeof(header)) + 1; // over the IP
        memset(out, 0, sizeof(*out));
        out->pid = (pid_t)(uint32_t)*at++;
        uint64_t count = *at++;
        out->chain = at;
        for (uint64_t i = 0; i < count; i++) {
            if (at[i] == PERF_CONTEXT_USER)
                out->chain = at + i + 1;
        }
        out->chain_count = (size_t)(at + count - out->chain);
        at += count;
        if (*at++ != PERF_SAMPLE_REGS_ABI_64)
            continue;
        size_t registers = (size_t)__builtin_popcountll(UNWIND_REGS_MASK);
        if (!unwind_registers_decode(at, registers, &out->registers))
            continue;
        at += registers;
        uint64_t size = *at++;
        out->stack = (const uint8_t *)at;
        out->stack_size = size ? (size_t)at[size / 8] : 0;
        return true;
    }
}

// ---- mappings ----
struct test_maps {
    pid_t pid;
    unsigned count, opened;
    struct {
        struct unwind_map map;
        char path[256];
    } maps[512];
};

static inline bool test_maps_read(struct test_maps *maps, pid_t pid) {
    char path[64], line[512];
    snprintf(path, sizeof(path), "/proc/%d/maps", pid);
    FILE *file = fopen(path, "re");
    maps->pid = pid;
    maps->count = maps->opened = 0;
    while (file && fgets(line, sizeof(line), file) && maps->count < 512) {
        unsigned long start, end, offset, inode;
        unsigned major_number, minor_number;
        char mode[8], *name = maps->maps[maps->count].path;
        name[0] = 0;
        if (sscanf(line, "%lx-%lx %7s %lx %x:%x %lu %255s", &start, &end, mode, &offset, &major_number, &minor_number,
                   &inode, name) < 7)
            continue;
        maps->maps[maps->count].map = (struct unwind_map){.start = start,
                                                          .end = end,
                                                          .offset = offset,
                                                          .identity = {makedev(major_number, minor_number), inode},
                                                          .executable = mode[2] == 'x',
                                                          .path = name};
        maps->maps[maps->count].map.cookie = name;
        maps->count++;
    }
    if (file)
        fclose(file);
    return maps->count > 0;
}

static inline bool test_maps_find(void *context, pid_t pid, uint64_t address, struct unwind_map *out) {
    struct test_maps *maps = context;
    for (unsigned i = 0; pid == maps->pid && i < maps->count; i++) {
        if (address - maps->maps[i].map.start >= maps->maps[i].map.end - maps->maps[i].map.start)
            continue;
        *out = maps->maps[i].map;
        return true;
    }
    return false;
}

static inline ssize_t test_file_read(void *context, pid_t pid, const struct unwind_map *map, uint64_t offset, void *out,
                                     size_t size, struct unwind_file_state *state) {
    struct test_maps *maps = context;
    (void)pid;
    maps->opened++;
    int fd = open(map->cookie, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return unwind_read(fd < 0 ? -errno : fd, offset, out, size, state);
}

#endif
