// The groups of each CPU: a software leader that samples at each switch, the counters as its members, a ring. Six
// descriptors a CPU, whatever the number of threads. Nothing here knows what a record means.
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/counters/task_counters.h"
#include "model/mem.h"

#define CPUS_MAX 8192
// A switch is 170 to 210 bytes with five counters. The kernel wakes the reader at half of it, some 600 switches.
#define RING_PAGES 64
#define RECORD_MIN 32 // bytes of the smallest record that names a thread
#define SPARE_FILES 256
#define FILES_OF_OTHERS 16 // descriptors a CPU that other collectors need

static int online_read(bool *online, int n_cpus) {
    char text[4096];
    memset(online, 0, (size_t)n_cpus);
    int fd = open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    int top = cpu_list_parse(text, online, n_cpus);
    if (top)
        return top;
    top = (int)sysconf(_SC_NPROCESSORS_ONLN); // no sysfs: then as the library counts them
    for (int cpu = 0; cpu < n_cpus && cpu < top; cpu++)
        online[cpu] = true;
    return top;
}

// More descriptors, as far as the hard limit allows; what is still too few shows when something cannot be opened.
static void files_allow(int n_cpus) {
    struct rlimit limit;
    rlim_t wanted = (rlim_t)n_cpus * (1 + PERTASK_EVENTS_MAX + FILES_OF_OTHERS) + SPARE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int leader_open(int cpu) {
    struct perf_event_attr attr = {
        .type = PERF_TYPE_SOFTWARE,
        .size = sizeof(attr),
        .config = PERF_COUNT_SW_CONTEXT_SWITCHES,
        .sample_period = 1,
        .sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .sample_id_all = 1,
        .context_switch = 1,
        .task = 1,
        .disabled = 1,
        .watermark = 1,
        .wakeup_watermark = (uint32_t)(RING_PAGES / 2 * sysconf(_SC_PAGESIZE)),
    };
    long fd = syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return fd < 0 ? -errno : (int)fd;
}

static void cpu_close(struct pertask_cpu *cpu) {
    perf_ring_unmap(&cpu->ring);
    while (cpu->n_fds)
        close(cpu->fds[--cpu->n_fds]);
    cpu->online = false;
}

static void members_open(struct pertask_cpus *cpus, int number) {
    struct pertask_cpu *cpu = &cpus->cpus[number];
    struct switches *switches = &cpu->switches;
    for (unsigned i = 0; i < cpus->n_wanted; i++) {
        int fd = perf_open(&cpus->events->list[i], number, cpu->fds[0]);
        if (fd < 0) {
            cpus->missing[i] = fd;
            continue;
        }
        cpu->fds[cpu->n_fds++] = fd;
        switches->which[switches->n_values++] = (uint8_t)i;
    }
}

static bool group_read(struct pertask_cpu *cpu, struct switch_mark *out) {
    uint64_t words[4 + PERTASK_EVENTS_MAX];
    ssize_t size = read(cpu->fds[0], words, sizeof(words));
    return size > 0 && switch_mark_decode(words, (size_t)size, cpu->switches.n_values, out);
}

static int cpu_open(struct pertask_cpus *cpus, int number) {
    struct pertask_cpu *cpu = &cpus->cpus[number];
    *cpu = (struct pertask_cpu){.switches.totals = cpus->totals};
    int fd = leader_open(number);
    if (fd < 0)
        return fd;
    cpu->fds[cpu->n_fds++] = fd;
    int error = perf_ring_map(&cpu->ring, fd, RING_PAGES);
    if (!error) {
        members_open(cpus, number);
        if (cpu->n_fds == 1)
            error = cpus->missing[0];
    }
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)number};
    if (!error && (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) || epoll_ctl(cpus->poll_fd, EPOLL_CTL_ADD, fd, &event)))
        error = -errno;
    if (!error && !group_read(cpu, &cpu->reading))
        error = -ENODEV;
    if (error) {
        cpu_close(cpu);
        return error;
    }
    switches_cut(&cpu->switches, &cpu->reading);
    cpu->running_ns = cpu->reading.running;
    cpu->online = true;
    return 0;
}

static int open_all(struct pertask_cpus *cpus) {
    int error = -ENODEV, opened = 0;
    memset(cpus->missing, 0, sizeof(cpus->missing));
    for (int cpu = 0; cpu < cpus->n_cpus; cpu++) {
        if (!cpus->online[cpu])
            continue;
        int failed = cpu_open(cpus, cpu);
        opened += !failed;
        error = failed ? failed : error;
        if (failed && !opened) // the reason is the machine's, not this CPU's
            return error;
    }
    return opened ? 0 : error;
}

int pertask_cpus_open(struct pertask_cpus *cpus, const struct pertask_events *events, struct switch_totals *totals) {
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    *cpus = (struct pertask_cpus){.events = events, .n_wanted = events->n, .totals = totals};
    bool online[CPUS_MAX];
    int top = online_read(online, CPUS_MAX);
    cpus->n_cpus = top > configured ? top : configured < 1 ? 1 : configured > CPUS_MAX ? CPUS_MAX : (int)configured;
    cpus->cpus = xcalloc((size_t)cpus->n_cpus, sizeof(*cpus->cpus));
    cpus->online = xcalloc((size_t)cpus->n_cpus, sizeof(*cpus->online));
    online_read(cpus->online, cpus->n_cpus);
    files_allow(cpus->n_cpus);
    cpus->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    int error = cpus->poll_fd < 0 ? -errno : open_all(cpus);
    if (error)
        pertask_cpus_close(cpus);
    return error;
}

static void close_all(struct pertask_cpus *cpus) {
    for (int cpu = 0; cpu < cpus->n_cpus; cpu++)
        cpu_close(&cpus->cpus[cpu]);
}

void pertask_cpus_close(struct pertask_cpus *cpus) {
    close_all(cpus);
    if (cpus->cpus && cpus->poll_fd >= 0)
        close(cpus->poll_fd);
    free(cpus->cpus);
    free(cpus->online);
    *cpus = (struct pertask_cpus){.poll_fd = -1};
}

static void ring_drain(struct pertask_cpus *cpus, struct pertask_cpu *cpu) {
    task_sums_reserve(cpus->totals->sums, perf_ring_waiting(&cpu->ring) / RECORD_MIN);
    if (!perf_ring_drain(&cpu->ring, switches_record, &cpu->switches))
        switches_forget(&cpu->switches);
}

void pertask_cpus_drain(struct pertask_cpus *cpus) {
    struct epoll_event event;
    for (int cpu = 0; cpu < cpus->n_cpus; cpu++)
        if (cpus->cpus[cpu].online)
            ring_drain(cpus, &cpus->cpus[cpu]);
    // One that hangs up (its CPU went away) would be readable for ever.
    while (epoll_wait(cpus->poll_fd, &event, 1, 0) == 1) {
        struct pertask_cpu *cpu = &cpus->cpus[event.data.u32];
        if (event.events & (EPOLLHUP | EPOLLERR))
            cpu_close(cpu);
        else
            break;
    }
}

static void hotplug_follow(struct pertask_cpus *cpus) {
    online_read(cpus->online, cpus->n_cpus);
    for (int cpu = 0; cpu < cpus->n_cpus; cpu++) {
        if (cpus->cpus[cpu].online && !cpus->online[cpu])
            cpu_close(&cpus->cpus[cpu]);
        else if (!cpus->cpus[cpu].online && cpus->online[cpu])
            cpu_open(cpus, cpu);
    }
}

// A CPU that went away and came back between two frames has a group that counts no more: its time stands still.
static void cpu_cut(struct pertask_cpus *cpus, int number) {
    struct pertask_cpu *cpu = &cpus->cpus[number];
    if (!group_read(cpu, &cpu->reading) || cpu->reading.enabled <= cpu->switches.cut_at) {
        cpu_close(cpu);
        cpu_open(cpus, number);
        return;
    }
    cpu->switches.until = &cpu->reading;
    ring_drain(cpus, cpu);
    uint64_t span = switches_cut(&cpu->switches, &cpu->reading);
    cpus->span_ns = span > cpus->span_ns ? span : cpus->span_ns;
    cpu->starved = span && cpu->reading.running == cpu->running_ns;
    cpu->running_ns = cpu->reading.running;
}

void pertask_cpus_cut(struct pertask_cpus *cpus) {
    bool starved = false;
    cpus->span_ns = 0;
    hotplug_follow(cpus);
    for (int cpu = 0; cpu < cpus->n_cpus; cpu++)
        if (cpus->cpus[cpu].online) {
            cpu_cut(cpus, cpu);
            starved |= cpus->cpus[cpu].starved;
        }
    // A group that never gets the PMU (the NMI watchdog holds a counter of it) may get it when it is smaller.
    cpus->n_starved = starved ? cpus->n_starved + 1 : 0;
    if (cpus->n_starved >= 2 && cpus->n_wanted > 1) {
        cpus->n_wanted = cpus->n_wanted > 2 ? 2 : 1;
        cpus->n_starved = 0;
        close_all(cpus);
        open_all(cpus);
    }
}

double pertask_cpus_stop(struct pertask_cpus *cpus) {
    double per_s = 0;
    for (int number = 0; number < cpus->n_cpus; number++) {
        struct pertask_cpu *cpu = &cpus->cpus[number];
        if (!cpu->online)
            continue;
        ioctl(cpu->fds[0], PERF_EVENT_IOC_DISABLE, 0);
        ring_drain(cpus, cpu);
        if (!group_read(cpu, &cpu->reading))
            continue;
        switches_cut(&cpu->switches, &cpu->reading); // the one that runs has its share
        if (cpu->reading.enabled > cpu->started.enabled)
            per_s += (double)(cpu->reading.switches - cpu->started.switches) * 1e9 /
                     (double)(cpu->reading.enabled - cpu->started.enabled);
    }
    return per_s;
}

void pertask_cpus_start(struct pertask_cpus *cpus) {
    hotplug_follow(cpus);
    for (int number = 0; number < cpus->n_cpus; number++) {
        struct pertask_cpu *cpu = &cpus->cpus[number];
        if (!cpu->online)
            continue;
        switches_restart(&cpu->switches);
        ioctl(cpu->fds[0], PERF_EVENT_IOC_ENABLE, 0);
        if (!group_read(cpu, &cpu->reading))
            continue;
        switches_cut(&cpu->switches, &cpu->reading);
        cpu->started = cpu->reading;
        cpu->running_ns = cpu->reading.running;
    }
}

void pertask_cpus_ask(struct pertask_cpus *cpus) {
    cpu_set_t *before = CPU_ALLOC(CPUS_MAX), *one = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    bool moved = false;
    pertask_cpus_drain(cpus);
    if (before && one && !sched_getaffinity(0, size, before)) {
        for (int cpu = 0; cpu < cpus->n_cpus; cpu++) {
            if (!cpus->cpus[cpu].online || cpus->cpus[cpu].switches.has_clock)
                continue;
            CPU_ZERO_S(size, one);
            CPU_SET_S((size_t)cpu, size, one);
            moved |= !sched_setaffinity(0, size, one);
        }
        if (moved)
            sched_setaffinity(0, size, before);
    }
    CPU_FREE(before);
    CPU_FREE(one);
}
