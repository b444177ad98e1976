// Opening and sizing the raw pipes of an instance.
#include "collectors/kernel/tracefs/ring_pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "collectors/kernel/priority.h"
#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"

#define GROWTH 4
// Opening a file of tracefs takes a lock that other tracers hold while they start, stop or resize buffers; reading an
// open one does not. With more CPUs than this, descriptors are scarcer.
#define STATS_KEPT 64
// Up to this many CPUs all buffers grow together. While sizes differ the kernel gives a CPU that comes online two
// pages, and what happens while these are enlarged is not recorded.
#define SAME_SIZE_CPUS 16

struct pipe_cpu {
    int fd; // -1: offline
    bool moved;
    uint32_t buffer_kib; // wanted, until it is open; then what the kernel gave
    uint64_t overrun, dropped;
    char stats_path[320];
    struct proc_file stats;
};

struct ring_pipe {
    char instance[256], online[512]; // online: the list at the last read
    struct proc_file online_file;
    uint32_t n_cpus, page_size, page_header, buffer_kib, max_kib;
    bool differ; // in size
    int poll_fd;
    struct pipe_cpu *cpus;
    struct proc_buffer text;
};

static ssize_t pipe_read(void *ctx, uint32_t cpu, void *out, size_t size) {
    struct ring_pipe *pipe = ctx;
    struct pipe_cpu *c = &pipe->cpus[cpu];
    if (c->fd < 0)
        return 0;
    ssize_t n;
    do
        n = read(c->fd, out, size);
    while (n < 0 && errno == EINTR);
    c->moved |= n > 0;
    return n < 0 ? -errno : n;
}

static long pipe_number(const struct ring_pipe *pipe, const char *file) {
    char path[512], text[64];
    snprintf(path, sizeof(path), "%s/%s", pipe->instance, file);
    long length = format_file(path, text, sizeof(text));
    return length <= 0 ? -1 : strtol(text, NULL, 10);
}

static void size_file(uint32_t cpu, char file[64]) {
    snprintf(file, 64, "per_cpu/cpu%u/buffer_size_kb", cpu);
}

// Size of that CPU's buffer in KiB; -1: unknown.
static long pipe_kib(const struct ring_pipe *pipe, uint32_t cpu) {
    char file[64];
    size_file(cpu, file);
    return pipe_number(pipe, file);
}

struct pipe_size {
    const char *instance;
    uint32_t cpu, kib;
};

static int pipe_size_here(void *ctx) {
    const struct pipe_size *size = ctx;
    char file[64], value[32];
    size_file(size->cpu, file);
    snprintf(value, sizeof(value), "%u", size->kib);
    return instance_write(size->instance, file, value);
}

// From 6.2 on the kernel resizes directly, without a kworker, if the caller runs on that CPU.
static int pipe_size(const struct ring_pipe *pipe, uint32_t cpu, uint32_t kib) {
    struct pipe_size size = {.instance = pipe->instance, .cpu = cpu, .kib = kib};
    return priority_on_cpu(cpu, pipe_size_here, &size);
}

const char *ring_pipe_stats_text(struct ring_pipe *pipe, uint32_t cpu) {
    struct proc_file *file = &pipe->cpus[cpu].stats;
    int error = proc_file_read(file, &pipe->text);
    if (pipe->n_cpus > STATS_KEPT)
        proc_file_close(file);
    return error || !pipe->text.length ? NULL : pipe->text.bytes;
}

static int pipe_open_cpu(struct ring_pipe *pipe, uint32_t cpu, bool cpu_late) {
    char path[512];
    struct pipe_cpu *c = &pipe->cpus[cpu];
    if (c->fd >= 0)
        return 0;
    snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", pipe->instance, cpu);
    c->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (c->fd < 0)
        return -errno;
    long kib = pipe_kib(pipe, cpu);
    // A CPU that comes online while the others' sizes differ gets two pages, but the file shows another size.
    if (pipe->differ && cpu_late && !pipe_size(pipe, cpu, c->buffer_kib))
        kib = pipe_kib(pipe, cpu);
    c->buffer_kib = kib > 0 ? (uint32_t)kib : 0;
    ring_pipe_stats_text(pipe, cpu); // opens it
    struct epoll_event readable = {.events = EPOLLIN};
    if (pipe->poll_fd >= 0 && epoll_ctl(pipe->poll_fd, EPOLL_CTL_ADD, c->fd, &readable)) {
        close(pipe->poll_fd);
        pipe->poll_fd = -1;
    }
    return 0;
}

// Opens the CPUs that /sys/devices/system/cpu/online lists ("0-3,5"), if the list is another one than last time.
static int pipe_open_online(struct ring_pipe *pipe) {
    bool late = pipe->online[0];
    char list[sizeof(pipe->online)];
    if (!proc_file_read(&pipe->online_file, &pipe->text) && pipe->text.length)
        snprintf(list, sizeof(list), "%s", pipe->text.bytes);
    else
        snprintf(list, sizeof(list), "0-%u", pipe->n_cpus - 1);
    if (!strcmp(list, pipe->online))
        return 0;
    for (char *at = list; *at >= '0' && *at <= '9';) {
        unsigned long from = strtoul(at, &at, 10), to = from;
        if (*at == '-')
            to = strtoul(at + 1, &at, 10);
        for (; from <= to && from < pipe->n_cpus; from++) {
            int error = pipe_open_cpu(pipe, (uint32_t)from, late);
            if (error)
                return error;
        }
        at += *at == ',';
    }
    memcpy(pipe->online, list, sizeof(list));
    return 0;
}

// The CPUs that were online at the horizon are open when the first of them is read.
static void pipe_begin(void *ctx) {
    pipe_open_online(ctx);
}

// The highest possible CPU + 1: from the last number of "0-127" or "0,2-5".
static uint32_t pipe_possible_cpus(void) {
    char list[512];
    long length = format_file("/sys/devices/system/cpu/possible", list, sizeof(list));
    if (length <= 0)
        return (uint32_t)sysconf(_SC_NPROCESSORS_CONF);
    const char *at = strrchr(list, ',');
    at = at ? at + 1 : list;
    const char *dash = strchr(at, '-');
    return (uint32_t)strtoul(dash ? dash + 1 : at, NULL, 10) + 1;
}

static int pipe_configure(struct ring_pipe *pipe, const struct ring_pipe_config *config, const char **step) {
    char value[32], text[4096], path[512];
    *step = "setting the clock";
    int error = config->as_it_is ? 0 : instance_write(config->instance, "trace_clock", config->clock);
    if (error)
        return error;
    snprintf(value, sizeof(value), "%u", config->subbuf_kib);
    // Absent before 6.8, and refused when memory is fragmented: then sub-buffers are pages.
    if (!config->as_it_is)
        instance_write(config->instance, "buffer_subbuf_size_kb", value);
    long kib = pipe_number(pipe, "buffer_subbuf_size_kb");
    pipe->page_size = kib > 0 ? (uint32_t)kib * 1024 : (uint32_t)sysconf(_SC_PAGESIZE);
    *step = "setting the buffer's size";
    for (uint32_t i = 0; i < pipe->n_cpus && !error && !config->as_it_is; i++) {
        error = pipe_size(pipe, i, pipe->cpus[i].buffer_kib);
        if (error == -ENOENT) // numbers of CPUs may have gaps
            error = 0;
    }
    if (error)
        return error;
    *step = "reading the sub-buffers' header";
    snprintf(path, sizeof(path), "%s/events/header_page", config->instance);
    long length = format_file(path, text, sizeof(text));
    pipe->page_header = length > 0 ? format_page_header(text, (size_t)length) : 0;
    return pipe->page_header ? 0 : length < 0 ? (int)length : -EINVAL;
}

int ring_pipe_open(const struct ring_pipe_config *config, struct ring_pipe **out, const char **step) {
    *out = NULL;
    *step = "reading raw buffers of this byte order";
    if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
        return -ENOSYS;
    struct ring_pipe *pipe = xcalloc(1, sizeof(*pipe));
    snprintf(pipe->instance, sizeof(pipe->instance), "%s", config->instance);
    pipe->buffer_kib = config->buffer_kib;
    pipe->max_kib = config->max_kib;
    pipe->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (!config->as_it_is)
        instance_write(config->instance, "buffer_percent", "0"); // readable from the first event on
    pipe->online_file = PROC_FILE("/sys/devices/system/cpu/online");
    pipe->n_cpus = pipe_possible_cpus();
    pipe->cpus = xcalloc(pipe->n_cpus, sizeof(*pipe->cpus));
    for (uint32_t i = 0; i < pipe->n_cpus; i++) {
        struct pipe_cpu *c = &pipe->cpus[i];
        c->fd = -1;
        c->buffer_kib = config->cpu_kib ? config->cpu_kib[i] : config->buffer_kib;
        pipe->differ |= c->buffer_kib != pipe->cpus[0].buffer_kib;
        snprintf(c->stats_path, sizeof(c->stats_path), "%s/per_cpu/cpu%u/stats", pipe->instance, i);
        c->stats = PROC_FILE(c->stats_path);
    }
    int error = pipe_configure(pipe, config, step);
    if (!error) {
        *step = "opening trace_pipe_raw";
        error = pipe_open_online(pipe);
    }
    if (error) {
        ring_pipe_free(pipe);
        return error;
    }
    *out = pipe;
    return 0;
}

void ring_pipe_free(struct ring_pipe *pipe) {
    if (!pipe)
        return;
    for (uint32_t i = 0; i < pipe->n_cpus; i++) {
        if (pipe->cpus[i].fd >= 0)
            close(pipe->cpus[i].fd);
        proc_file_close(&pipe->cpus[i].stats);
    }
    if (pipe->poll_fd >= 0)
        close(pipe->poll_fd);
    proc_file_close(&pipe->online_file);
    proc_buffer_free(&pipe->text);
    free(pipe->cpus);
    free(pipe);
}

struct ring_source ring_pipe_source(struct ring_pipe *pipe) {
    return (struct ring_source){.ctx = pipe,
                                .begin = pipe_begin,
                                .read = pipe_read,
                                .n_cpus = pipe->n_cpus,
                                .page_size = pipe->page_size,
                                .page_header = pipe->page_header};
}

static uint64_t stats_value(const char *text, const char *name) {
    const char *at = strstr(text, name);
    return at ? strtoull(at + strlen(name), NULL, 10) : 0;
}

void ring_pipe_refresh(struct ring_pipe *pipe) {
    for (uint32_t i = 0; i < pipe->n_cpus; i++) {
        struct pipe_cpu *c = &pipe->cpus[i];
        if (!c->moved)
            continue;
        c->moved = false;
        const char *text = ring_pipe_stats_text(pipe, i);
        if (!text)
            continue;
        c->overrun = stats_value(text, "\noverrun:");
        c->dropped = stats_value(text, "\ndropped events:") + stats_value(text, "\ncommit overrun:");
    }
}

bool ring_pipe_wanted(const struct ring_pipe *pipe, const struct ring *ring, uint32_t **cpu_kib) {
    bool wanted = false;
    for (uint32_t i = 0; i < pipe->n_cpus && pipe->buffer_kib < pipe->max_kib; i++) {
        const struct pipe_cpu *c = &pipe->cpus[i];
        wanted |= ring_taken(ring, i) > c->buffer_kib * 1024ull / 2 && c->buffer_kib < pipe->max_kib && c->fd >= 0;
    }
    if (!wanted)
        return false;
    *cpu_kib = xrealloc(*cpu_kib, pipe->n_cpus * sizeof(**cpu_kib));
    for (uint32_t i = 0; i < pipe->n_cpus; i++) {
        const struct pipe_cpu *c = &pipe->cpus[i];
        bool full = pipe->n_cpus <= SAME_SIZE_CPUS || (c->fd >= 0 && ring_taken(ring, i) > c->buffer_kib * 1024ull / 4);
        uint32_t kib = (c->buffer_kib ? c->buffer_kib : pipe->buffer_kib) * (full ? GROWTH : 1);
        (*cpu_kib)[i] = kib < pipe->max_kib ? kib : pipe->max_kib;
    }
    return true;
}

int ring_pipe_poll_fd(const struct ring_pipe *pipe) {
    return pipe->poll_fd;
}

uint32_t ring_pipe_pace(const struct ring_pipe *pipe, const struct ring *ring, uint32_t waited_ms, uint32_t least_ms,
                        uint32_t most_ms) {
    uint32_t pace = most_ms;
    for (uint32_t i = 0; i < pipe->n_cpus; i++) {
        uint64_t taken = pipe->cpus[i].fd >= 0 ? ring_taken(ring, i) : 0;
        uint64_t ms = taken ? pipe->cpus[i].buffer_kib * 1024ull / 3 * waited_ms / taken : most_ms;
        if (ms < pace)
            pace = (uint32_t)ms;
    }
    return pace > least_ms ? pace : least_ms;
}

uint64_t ring_pipe_lost(const struct ring_pipe *pipe, uint32_t cpu) {
    return cpu < pipe->n_cpus ? pipe->cpus[cpu].overrun + pipe->cpus[cpu].dropped : 0;
}

void ring_pipe_stats(const struct ring_pipe *pipe, struct ring_pipe_stats *out) {
    *out = (struct ring_pipe_stats){0};
    for (uint32_t i = 0; i < pipe->n_cpus; i++) {
        const struct pipe_cpu *c = &pipe->cpus[i];
        if (c->fd < 0)
            continue;
        out->cpus++;
        out->overrun += c->overrun;
        out->dropped += c->dropped;
        out->buffer_kib += c->buffer_kib;
    }
}
