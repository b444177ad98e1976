// Possible and online CPUs are read from /sys/devices/system/cpu (Documentation/admin-guide/cputopology.rst).
#include "collectors/kernel/perf/cpus.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "model/mem.h"

int cpu_list_parse(const char *text, bool *set, int max) {
    int top = 0;
    while (isdigit((unsigned char)*text)) {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-')
            last = strtol(end + 1, &end, 10);
        for (long cpu = first; cpu <= last && cpu < max; cpu++) {
            set[cpu] = true;
            top = cpu >= top ? (int)cpu + 1 : top;
        }
        text = *end == ',' ? end + 1 : end;
    }
    return top;
}

static int list_read(const char *path, bool *set, int max) {
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    return cpu_list_parse(text, set, max);
}

void perf_cpus_init(struct perf_cpus *cpus, const struct perf_cpus_ops *ops, void *context) {
    bool possible[CPUS_MAX] = {false};
    long configured = sysconf(_SC_NPROCESSORS_CONF);
    int top = list_read("/sys/devices/system/cpu/possible", possible, CPUS_MAX); // CPU numbers may have gaps
    *cpus = (struct perf_cpus){.ops = ops, .context = context, .poll_fd = -1};
    cpus->n = top > configured ? top : configured < 1 ? 1 : configured > CPUS_MAX ? CPUS_MAX : (int)configured;
    cpus->opened = xcalloc((size_t)cpus->n, sizeof *cpus->opened);
}

static void cpu_close(struct perf_cpus *cpus, int cpu) {
    if (!cpus->opened[cpu])
        return;
    cpus->ops->close(cpus->context, cpu);
    cpus->opened[cpu] = false;
    cpus->changed = true;
}

static int cpu_open(struct perf_cpus *cpus, int cpu) {
    int error = cpus->ops->open(cpus->context, cpu);
    if (error)
        return error;
    cpus->opened[cpu] = true;
    cpus->changed = true;
    return 0;
}

int perf_cpus_follow(struct perf_cpus *cpus) {
    bool online[CPUS_MAX] = {false};
    int error = -ENODEV, n_open = 0;
    if (!list_read("/sys/devices/system/cpu/online", online, cpus->n))
        for (int cpu = 0; cpu < cpus->n && cpu < (int)sysconf(_SC_NPROCESSORS_ONLN); cpu++)
            online[cpu] = true; // no sysfs: as the C library counts them
    for (int cpu = 0; cpu < cpus->n; cpu++) {
        if (!online[cpu]) {
            cpu_close(cpus, cpu);
            continue;
        }
        int failed = cpus->opened[cpu] ? 0 : cpu_open(cpus, cpu);
        n_open += !failed;
        error = failed ? failed : error;
        if (failed && failed != -ENODEV && !n_open) // the machine's reason, the same for every CPU
            return error;
    }
    return n_open ? 0 : error;
}

void perf_cpus_reopen(struct perf_cpus *cpus, int cpu) {
    cpu_close(cpus, cpu);
    cpu_open(cpus, cpu);
}

void perf_cpus_shut(struct perf_cpus *cpus) {
    for (int cpu = 0; cpu < cpus->n; cpu++)
        cpu_close(cpus, cpu);
}

void perf_cpus_close(struct perf_cpus *cpus) {
    perf_cpus_shut(cpus);
    if (cpus->opened && cpus->poll_fd >= 0)
        close(cpus->poll_fd);
    free(cpus->opened);
    *cpus = (struct perf_cpus){.poll_fd = -1};
}

int perf_cpus_watch(struct perf_cpus *cpus, int cpu, int fd) {
    struct epoll_event event = {.events = EPOLLIN, .data.u32 = (uint32_t)cpu};
    if (cpus->poll_fd < 0)
        cpus->poll_fd = epoll_create1(EPOLL_CLOEXEC);
    return cpus->poll_fd < 0 || epoll_ctl(cpus->poll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

void perf_cpus_drop_hung_up(struct perf_cpus *cpus) {
    struct epoll_event events[16];
    int n = epoll_wait(cpus->poll_fd, events, sizeof events / sizeof *events, 0);
    for (int i = 0; i < n; i++)
        if (events[i].events & (EPOLLHUP | EPOLLERR))
            cpu_close(cpus, (int)events[i].data.u32);
}
