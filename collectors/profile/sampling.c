// Opening and draining (see the header). Woken when a ring is a quarter full, and by the collector's clock: mappings of
// processes that end soon after a sample are read late otherwise.
#include "collectors/profile/sampling.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/perf/cpus.h"
#include "collectors/kernel/perf/event/parse.h"
#include "collectors/kernel/perf/perf.h"
#include "collectors/kernel/perf/ring.h"
#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/tid_tree.h"
#include "collectors/kernel/unwind/unwind.h"
#include "collectors/profile/waking.h"
#include "model/mem.h"

#define RING_PAGES 64            // 256 KiB: two seconds of the longest callchains at 99 Hz
#define RING_PAGES_STACK 256     // with 8 KiB of stack in each sample
#define RING_PAGES_LEAST 4       // the kernel bounds what a user may lock
#define COPIED_PER_S (32u << 20) // bytes of user stacks that all CPUs together copy, unless --call-graph says more
#define COPY_LEAST 1024u         // bytes: a smaller copy holds few frames
#define THREADS_MAX 256          // that are sampled one by one, without the right to sample whole CPUs
#define MAX_STACK 127            // kernel.perf_event_max_stack of a kernel that does not say
#define HZ_MAX 100000            // kernel.perf_event_max_sample_rate of the same

struct profile_sampling {
    const struct profile_options *options;
    struct perf_event_attr attr; // as the first CPU accepted it
    bool settled;
    bool switches, switches_on;  // of profile_sampling_open_switches
    const struct waking *waking; // NULL: wakeups are not recorded
    struct profile_source source;
    struct profile_format format;
    struct perf_cpus cpus;
    bool some_cpus, *chosen; // the CPUs of --profile-cpus; the others have only records of mappings and tasks
    const pid_t *pids;       // their threads are sampled instead of whole CPUs; NULL: whole CPUs are
    size_t n_pids;
    struct cpu_ring {
        int fd;          // with the ring
        int switches;    // for the records of all switches; -1: none
        int sampler;     // of profile_sampling_open_switches: for samples of switches; -1: none
        uint64_t period; // its
        int waker;       // for samples of wakeups; -1: none
        struct perf_ring ring;
        int *more; // events of other threads, which write into the same ring
        size_t n_more;
    } * rings; // by CPU
    struct next {
        uint64_t time;
        int cpu;
    } * heap; // of the rings' next records: a binary min-heap
    int n_heap;
};

uint32_t profile_sampling_hz_max(void) {
    uint64_t most;
    return proc_read_number("/proc/sys/kernel/perf_event_max_sample_rate", &most) && most && most < UINT32_MAX
               ? (uint32_t)most
               : HZ_MAX;
}

// ---- opening ----

static void format_set(struct profile_sampling *sampling) {
    const struct perf_event_attr *attr = &sampling->attr;
    sampling->format = (struct profile_format){.raw = attr->sample_type & PERF_SAMPLE_RAW,
                                               .user_stack = attr->sample_stack_user > 0,
                                               .n_user_regs = (unsigned)__builtin_popcountll(attr->sample_regs_user),
                                               .period = attr->freq ? 0 : attr->sample_period};
}

// With PERF_SAMPLE_PERIOD and a fixed period the kernel samples every software event and every hit of a tracepoint
// (perf_swevent_event), whatever the period is.
static void rate_set(struct profile_sampling *sampling, uint32_t hz) {
    const uint64_t period = PERF_SAMPLE_PERIOD;
    struct profile_source *source = &sampling->source;
    uint32_t most = profile_sampling_hz_max();
    source->hz_limited = hz > most ? hz : 0;
    source->hz = hz > most ? most : hz;
    sampling->attr.freq = hz > 0;
    sampling->attr.sample_freq = hz ? source->hz : source->period;
    sampling->attr.sample_type = hz ? sampling->attr.sample_type | period : sampling->attr.sample_type & ~period;
    format_set(sampling);
}

static void watermark_set(struct profile_sampling *sampling) {
    size_t pages = sampling->format.user_stack ? RING_PAGES_STACK : RING_PAGES;
    sampling->attr.wakeup_watermark = (uint32_t)(pages * (size_t)sysconf(_SC_PAGESIZE) / 4);
}

static uint32_t stack_wanted(const struct profile_options *options) {
    return options->stack_bytes ? options->stack_bytes : PROFILE_STACK_BYTES;
}

static void stack_set(struct profile_sampling *sampling, uint32_t bytes) {
    struct perf_event_attr *attr = &sampling->attr;
    attr->sample_regs_user = bytes ? UNWIND_REGS_MASK : UNWIND_LINK_MASK;
    attr->sample_type &= ~(uint64_t)(PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER);
    attr->sample_type |= (attr->sample_regs_user ? PERF_SAMPLE_REGS_USER : 0) | (bytes ? PERF_SAMPLE_STACK_USER : 0);
    attr->sample_stack_user = bytes;
    sampling->source.stack_bytes = bytes;
    format_set(sampling);
    watermark_set(sampling);
}

// CALL_GRAPH_AUTO: as much of `wanted` as the data rate allows; 0: too little.
static uint32_t stack_allowed(const struct profile_sampling *sampling, uint32_t wanted) {
    uint32_t hz = sampling->source.hz ? sampling->source.hz : PROFILE_HZ;
    uint32_t most = COPIED_PER_S / hz / (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) & ~7u;
    most = most < PROFILE_STACK_BYTES_MAX ? most : PROFILE_STACK_BYTES_MAX;
    return most < COPY_LEAST ? 0 : wanted < most ? wanted : most;
}

static void attr_make(struct profile_sampling *sampling, uint32_t hz) {
    const struct profile_options *options = sampling->options;
    const struct perf_parsed_event *event = options->event && options->event->n ? &options->event->events[0] : NULL;
    struct perf_event_attr *attr = &sampling->attr;
    uint64_t max_stack;
    if (event)
        *attr = event->attr;
    else
        *attr = (struct perf_event_attr){
            .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES, .exclude_guest = 1};
    attr->size = sizeof *attr;
    attr->sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD |
                        PERF_SAMPLE_CALLCHAIN;
    bool known = proc_read_number("/proc/sys/kernel/perf_event_max_stack", &max_stack) && max_stack <= UINT16_MAX;
    sampling->source.max_stack = known ? (uint32_t)max_stack : MAX_STACK;
    attr->sample_max_stack = (uint16_t)sampling->source.max_stack;
    attr->exclude_idle = !options->idle;
    attr->mmap = attr->mmap2 = attr->build_id = attr->comm = attr->comm_exec = attr->task = 1;
    attr->ksymbol = attr->bpf_event = attr->sample_id_all = 1;
    attr->use_clockid = 1;
    attr->clockid = CLOCK_MONOTONIC;
    attr->watermark = 1;
    stack_set(sampling, options->call_graph == CALL_GRAPH_DWARF ? stack_wanted(options) : 0);
    sampling->source.period = event ? event->period : 0;
    snprintf(sampling->source.event, sizeof sampling->source.event, "%s", event ? event->name : "cycles");
    sampling->source.is_clock = attr->type == PERF_TYPE_SOFTWARE &&
                                (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
    rate_set(sampling, hz ? hz : sampling->source.period ? 0 : PROFILE_HZ);
}

// The default event where there is no PMU, or no free one.
static bool clock_instead(struct profile_sampling *sampling, int error) {
    struct perf_event_attr *attr = &sampling->attr;
    static const int missing[] = {ENOENT, ENXIO, EOPNOTSUPP, EBUSY};
    bool absent = false;
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
        absent |= error == -missing[i];
    if (!absent || sampling->options->event || attr->type != PERF_TYPE_HARDWARE)
        return false;
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_CPU_CLOCK;
    attr->exclude_idle = !sampling->options->idle;
    sampling->source.no_pmu = error;
    sampling->source.is_clock = true;
    snprintf(sampling->source.event, sizeof sampling->source.event, "cpu-clock");
    return true;
}

// What an older kernel has no bit for, the newest first.
static bool feature_drop(struct profile_sampling *sampling) {
    struct perf_event_attr *attr = &sampling->attr;
    if (attr->build_id) { // 5.12
        attr->build_id = 0;
        return sampling->source.no_build_id = true;
    }
    if (attr->ksymbol) { // 5.1
        attr->ksymbol = attr->bpf_event = 0;
        return true;
    }
    return false;
}

// A CPU with two kinds of cores has an event for each kind.
static void kind_set(const struct perf_event_list *events, int cpu, struct perf_event_attr *attr) {
    for (size_t i = 0; i < events->n; i++) {
        const struct perf_event_attr *own = &events->events[i].attr;
        if (!perf_parsed_on_cpu(&events->events[i], cpu))
            continue;
        attr->type = own->type;
        attr->config = own->config;
        attr->config1 = own->config1;
        attr->config2 = own->config2;
        return;
    }
}

static bool is_chosen(const struct profile_sampling *sampling, int cpu) {
    return !sampling->some_cpus || sampling->chosen[cpu];
}

// -ENODEV of a CPU that is offline is no reason to sample a clock: the others have the PMU.
static int event_open(struct profile_sampling *sampling, pid_t tid, int cpu) {
    struct perf_event_attr *attr = &sampling->attr;
    int fd;
    for (;;) {
        struct perf_event_attr tried = *attr;
        if (!sampling->options->event && tried.type == PERF_TYPE_HARDWARE)
            tried.config |= perf_hybrid_type(cpu);
        else if (sampling->options->event)
            kind_set(sampling->options->event, cpu, &tried);
        if (sampling->switches || !is_chosen(sampling, cpu)) {
            tried.type = PERF_TYPE_SOFTWARE;
            tried.config = PERF_COUNT_SW_DUMMY;
            tried.freq = tried.sample_period = 0;
        }
        fd = perf_open_attr(&tried, tid, cpu, -1);
        if (fd >= 0 || sampling->settled)
            break;
        bool refused = fd == -EACCES || fd == -EPERM;
        if (refused && !attr->exclude_kernel && !sampling->switches)
            attr->exclude_kernel = sampling->source.no_kernel = true;
        else if (fd == -EOPNOTSUPP && attr->exclude_idle) // arm64: samples of the idle task are dropped later
            attr->exclude_idle = 0;
        else if (fd == -EINVAL ? !feature_drop(sampling) : refused || !clock_instead(sampling, fd))
            break;
    }
    sampling->settled |= fd >= 0 && is_chosen(sampling, cpu);
    return fd;
}

static int ring_map(const struct profile_sampling *sampling, struct cpu_ring *at) {
    int rc = -EPERM;
    unsigned most = sampling->format.user_stack ? RING_PAGES_STACK : RING_PAGES;
    for (unsigned pages = most; pages >= RING_PAGES_LEAST && rc == -EPERM; pages /= 2)
        rc = perf_ring_map(&at->ring, at->fd, pages);
    return rc;
}

// Closed, not disabled: while one is open, the kernel does work for it at every switch.
static void switches_close(struct cpu_ring *at) {
    if (at->switches >= 0)
        close(at->switches);
    if (at->sampler >= 0)
        close(at->sampler);
    if (at->waker >= 0)
        close(at->waker);
    at->switches = at->sampler = at->waker = -1;
}

static void cpu_close(void *context, int cpu) {
    struct profile_sampling *sampling = context;
    struct cpu_ring *at = &sampling->rings[cpu];
    perf_ring_unmap(&at->ring);
    for (size_t i = 0; i < at->n_more; i++)
        close(at->more[i]);
    free(at->more);
    if (at->fd >= 0)
        close(at->fd);
    switches_close(at);
    *at = (struct cpu_ring){.fd = -1, .switches = -1, .sampler = -1, .waker = -1};
}

// An event that writes to the ring of another one.
static int shared_open(const struct cpu_ring *at, struct perf_event_attr *attr, int cpu, int *out) {
    *out = perf_open_attr(attr, -1, cpu, -1);
    if (*out < 0)
        return *out;
    return ioctl(*out, PERF_EVENT_IOC_SET_OUTPUT, at->fd) < 0 ? -errno : 0;
}

// Of the settings of the event with the ring, without the records that it has.
static struct perf_event_attr sampler_attr(const struct profile_sampling *sampling) {
    struct perf_event_attr attr = sampling->attr;
    attr.mmap = attr.mmap2 = attr.build_id = attr.comm = attr.comm_exec = attr.task = 0;
    attr.ksymbol = attr.bpf_event = 0;
    return attr;
}

static int waker_open(const struct profile_sampling *sampling, struct cpu_ring *at, int cpu) {
    struct perf_event_attr attr = sampler_attr(sampling);
    waking_attr(sampling->waking, &attr);
    return shared_open(at, &attr, cpu, &at->waker);
}

static int sampler_open(const struct profile_sampling *sampling, struct cpu_ring *at, int cpu) {
    struct perf_event_attr attr = sampler_attr(sampling);
    attr.sample_period = at->period ? at->period : sampling->attr.sample_period;
    int rc = shared_open(at, &attr, cpu, &at->sampler);
    return !rc && sampling->waking ? waker_open(sampling, at, cpu) : rc;
}

// Both the records of all switches and the samples go to the ring.
static int switches_open(const struct profile_sampling *sampling, int cpu) {
    struct cpu_ring *at = &sampling->rings[cpu];
    struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof attr,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
                                   .context_switch = 1,
                                   .sample_id_all = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_MONOTONIC,
                                   .watermark = 1,
                                   .wakeup_watermark = sampling->attr.wakeup_watermark};
    int rc = shared_open(at, &attr, cpu, &at->switches);
    return rc ? rc : sampler_open(sampling, at, cpu);
}

// The threads of the chosen processes; threads that they start later are inherited. 0 or -errno.
static int threads_open(struct profile_sampling *sampling, struct cpu_ring *at, int cpu) {
    struct tids tids = {0};
    char path[64];
    int error = -ESRCH;
    for (size_t i = 0; i < sampling->n_pids; i++) {
        struct tids some = {0};
        snprintf(path, sizeof path, "/proc/%d/task", (int)sampling->pids[i]);
        tids_list(path, &some);
        for (size_t k = 0; k < some.n && tids.n < THREADS_MAX; k++)
            tids_add(&tids, some.at[k]);
        free(some.at);
    }
    at->more = xcalloc(tids.n + 1, sizeof *at->more);
    for (size_t i = 0; i < tids.n; i++) {
        int fd = event_open(sampling, tids.at[i], cpu);
        if (fd >= 0 && at->fd < 0)
            at->fd = fd;
        else if (fd >= 0)
            at->more[at->n_more++] = fd;
        else if (fd != -ESRCH) // it ended just now
            error = fd;
    }
    free(tids.at);
    return at->fd < 0 ? error : 0;
}

static int cpu_open(void *context, int cpu) {
    struct profile_sampling *sampling = context;
    struct cpu_ring *at = &sampling->rings[cpu];
    int rc = 0;
    *at = (struct cpu_ring){.fd = -1, .switches = -1, .sampler = -1, .waker = -1};
    if (sampling->pids)
        rc = threads_open(sampling, at, cpu);
    else
        at->fd = event_open(sampling, -1, cpu);
    if (!rc && at->fd < 0)
        rc = at->fd;
    if (!rc)
        rc = ring_map(sampling, at);
    if (!rc && sampling->switches_on)
        rc = switches_open(sampling, cpu);
    for (size_t i = 0; i < at->n_more && !rc; i++)
        rc = ioctl(at->more[i], PERF_EVENT_IOC_SET_OUTPUT, at->fd) < 0 ? -errno : 0;
    if (!rc)
        rc = perf_cpus_watch(&sampling->cpus, cpu, at->fd);
    if (rc)
        cpu_close(sampling, cpu);
    return rc;
}

static void switches_make(struct profile_sampling *sampling, uint64_t period) {
    struct perf_event_attr *attr = &sampling->attr;
    attr_make(sampling, 0);
    attr->type = PERF_TYPE_SOFTWARE;
    attr->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
    attr->exclude_idle = 0;
    snprintf(sampling->source.event, sizeof sampling->source.event, "context-switches");
    sampling->source.period = period;
    rate_set(sampling, 0);
    sampling->switches = sampling->switches_on = true;
    // The callers of a C library's function that has no frame pointer are found in a copy of the stack only.
    stack_set(sampling, sampling->options->call_graph == CALL_GRAPH_FP ? 0 : stack_wanted(sampling->options));
}

// What a user may sample without privileges: the threads of processes of the same user.
static int own_open(struct profile_sampling *sampling, const pid_t *pids, size_t n_pids) {
    sampling->pids = pids;
    sampling->n_pids = n_pids;
    sampling->source.own_only = true;
    sampling->source.no_kernel = false; // asked for anew: threads have other limits
    sampling->attr.exclude_kernel = 0;
    sampling->attr.inherit = true;
    return perf_cpus_follow(&sampling->cpus);
}

// own: the options, for what remains without privileges; NULL: nothing does.
static int sampling_start(struct profile_sampling *sampling, const struct collect_options *own,
                          struct profile_sampling **out) {
    static const struct perf_cpus_ops ops = {cpu_open, cpu_close};
    perf_cpus_init(&sampling->cpus, &ops, sampling);
    sampling->rings = xcalloc((size_t)sampling->cpus.n, sizeof *sampling->rings);
    sampling->heap = xcalloc((size_t)sampling->cpus.n, sizeof *sampling->heap);
    int rc = perf_cpus_follow(&sampling->cpus);
    if ((rc == -EACCES || rc == -EPERM) && own && own->n_pids && !own_open(sampling, own->pids, own->n_pids))
        rc = 0;
    if (rc) {
        profile_sampling_close(sampling);
        sampling = NULL;
    }
    *out = sampling;
    return rc;
}

int profile_sampling_open(struct profile_sampling **out, const struct collect_options *options, uint32_t hz) {
    struct profile_sampling *sampling = xcalloc(1, sizeof *sampling);
    sampling->options = &options->profile;
    if (sampling->options->cpus) {
        sampling->some_cpus = true;
        sampling->chosen = xcalloc(CPUS_MAX, sizeof *sampling->chosen);
        cpu_list_parse(sampling->options->cpus, sampling->chosen, CPUS_MAX);
    }
    attr_make(sampling, hz);
    return sampling_start(sampling, options, out);
}

int profile_sampling_open_switches(struct profile_sampling **out, const struct profile_options *options,
                                   uint64_t period) {
    struct profile_sampling *sampling = xcalloc(1, sizeof *sampling);
    sampling->options = options;
    switches_make(sampling, period);
    return sampling_start(sampling, NULL, out);
}

int profile_sampling_cpus(const struct profile_sampling *sampling) {
    return sampling->cpus.n;
}

void profile_sampling_set_period(struct profile_sampling *sampling, int cpu, uint64_t period) {
    sampling->rings[cpu].period = period;
    if (sampling->cpus.opened[cpu] && sampling->rings[cpu].sampler >= 0)
        ioctl(sampling->rings[cpu].sampler, PERF_EVENT_IOC_PERIOD, &period);
}

int profile_sampling_switches(struct profile_sampling *sampling, bool on) {
    int rc = 0;
    sampling->switches_on = on;
    for (int cpu = 0; cpu < sampling->cpus.n; cpu++) {
        struct cpu_ring *at = &sampling->rings[cpu];
        if (!sampling->cpus.opened[cpu])
            continue;
        if (on && at->switches < 0 && !rc)
            rc = switches_open(sampling, cpu);
        if (!on)
            switches_close(at);
    }
    if (rc) // of a part of the CPUs, threads that move between them would be misread
        profile_sampling_switches(sampling, false);
    return rc;
}

void profile_sampling_close(struct profile_sampling *sampling) {
    if (!sampling)
        return;
    perf_cpus_close(&sampling->cpus);
    free(sampling->rings);
    free(sampling->heap);
    free(sampling->chosen);
    free(sampling);
}

int profile_sampling_fd(const struct profile_sampling *sampling) {
    return sampling->cpus.poll_fd;
}

const struct profile_source *profile_sampling_source(const struct profile_sampling *sampling) {
    return &sampling->source;
}

int profile_sampling_follow(struct profile_sampling *sampling) {
    return perf_cpus_follow(&sampling->cpus);
}

int profile_sampling_set_hz(struct profile_sampling *sampling, uint32_t hz) {
    rate_set(sampling, hz);
    if (sampling->options->call_graph == CALL_GRAPH_AUTO && sampling->source.stack_bytes)
        stack_set(sampling, stack_allowed(sampling, sampling->source.stack_bytes));
    perf_cpus_shut(&sampling->cpus);
    return perf_cpus_follow(&sampling->cpus);
}

int profile_sampling_wakers(struct profile_sampling *sampling, const struct waking *waking) {
    const uint64_t raw = PERF_SAMPLE_RAW;
    sampling->waking = waking;
    sampling->attr.sample_type = waking ? sampling->attr.sample_type | raw : sampling->attr.sample_type & ~raw;
    format_set(sampling);
    perf_cpus_shut(&sampling->cpus);
    int rc = perf_cpus_follow(&sampling->cpus);
    if (rc && waking)
        profile_sampling_wakers(sampling, NULL);
    return rc;
}

int profile_sampling_copy_more(struct profile_sampling *sampling) {
    uint32_t before = sampling->source.stack_bytes;
    uint32_t bytes = stack_allowed(sampling, before ? 2 * before : stack_wanted(sampling->options));
    if (bytes <= before)
        return -E2BIG;
    stack_set(sampling, bytes);
    perf_cpus_shut(&sampling->cpus);
    int rc = perf_cpus_follow(&sampling->cpus);
    if (!rc)
        return 0;
    stack_set(sampling, before);
    perf_cpus_shut(&sampling->cpus);
    perf_cpus_follow(&sampling->cpus);
    return rc;
}

static int try_first(struct profile_sampling *sampling) {
    int cpu = 0, fd;
    do
        fd = event_open(sampling, -1, cpu);
    while (fd == -ENODEV && ++cpu < (int)sysconf(_SC_NPROCESSORS_CONF));
    if (fd >= 0)
        close(fd);
    return fd < 0 ? fd : 0;
}

int profile_sampling_try(const struct profile_options *options, struct profile_source *source) {
    struct profile_sampling sampling = {.options = options};
    attr_make(&sampling, options->frequency_hz);
    int rc = try_first(&sampling);
    *source = sampling.source;
    return rc;
}

int profile_sampling_try_switches(const struct profile_options *options) {
    struct profile_sampling sampling = {.options = options};
    switches_make(&sampling, 1000000);
    return try_first(&sampling);
}

// ---- draining ----

static void heap_push(struct profile_sampling *sampling, struct next next) {
    int at = sampling->n_heap++;
    for (; at && sampling->heap[(at - 1) / 2].time > next.time; at = (at - 1) / 2)
        sampling->heap[at] = sampling->heap[(at - 1) / 2];
    sampling->heap[at] = next;
}

static struct next heap_pop(struct profile_sampling *sampling) {
    struct next *heap = sampling->heap, first = heap[0], last = heap[--sampling->n_heap];
    int at = 0;
    for (int child = 1; child < sampling->n_heap; child = 2 * at + 1) {
        child += child + 1 < sampling->n_heap && heap[child + 1].time < heap[child].time;
        if (last.time <= heap[child].time)
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

struct walk {
    struct profile_sampling *sampling;
    profile_record_fn *fn;
    void *context;
    uint64_t until, next; // next: the time of the record that is left; UINT64_MAX: none is
    uint64_t malformed;
};

static bool record_take(void *context, const struct perf_event_header *header) {
    struct walk *walk = context;
    struct profile_record record;
    uint64_t time = profile_record_time(header);
    if (time > walk->until) {
        walk->next = time;
        return false;
    }
    if (profile_record_decode(&walk->sampling->format, header, &record))
        walk->fn(walk->context, &record);
    else
        walk->malformed++;
    return true;
}

static void ring_walk(struct walk *walk, int cpu, uint64_t until) {
    walk->until = until;
    walk->next = UINT64_MAX;
    walk->malformed += !perf_ring_drain(&walk->sampling->rings[cpu].ring, record_take, walk);
    if (walk->next != UINT64_MAX)
        heap_push(walk->sampling, (struct next){walk->next, cpu});
}

uint64_t profile_sampling_drain(struct profile_sampling *sampling, uint64_t until_ns, profile_record_fn *fn,
                                void *context) {
    struct walk walk = {.sampling = sampling, .fn = fn, .context = context};
    sampling->n_heap = 0;
    for (int cpu = 0; cpu < sampling->cpus.n; cpu++)
        if (sampling->cpus.opened[cpu] && perf_ring_waiting(&sampling->rings[cpu].ring))
            ring_walk(&walk, cpu, 0);
    while (sampling->n_heap && sampling->heap[0].time <= until_ns) {
        struct next next = heap_pop(sampling);
        bool alone = !sampling->n_heap || sampling->heap[0].time > until_ns;
        ring_walk(&walk, next.cpu, alone ? until_ns : sampling->heap[0].time);
    }
    perf_cpus_drop_hung_up(&sampling->cpus);
    return walk.malformed;
}
