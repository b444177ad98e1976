// The groups of each CPU: a software leader that samples at each context switch, the counters as its members, a ring.
// Six descriptors per CPU, for any number of threads. Records are decoded in task_switch.c.
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collectors/counters/task_counters.h"
#include "model/mem.h"

// A switch takes 170 to 210 bytes with five counters. The watermark is half the ring, about 600 switches.
#define RING_PAGES 64
#define RECORD_MIN 32 // bytes of the smallest record that names a thread

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
    return perf_open_attr(&attr, -1, cpu, -1);
}

static void cpu_close(void *context, int number) {
    struct task_cpu *cpu = &((struct task_cpus *)context)->cpus[number];
    perf_ring_unmap(&cpu->ring);
    while (cpu->n_fds)
        close(cpu->fds[--cpu->n_fds]);
    cpu->online = false;
}

static void members_open(struct task_cpus *cpus, int number) {
    struct task_cpu *cpu = &cpus->cpus[number];
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

static bool group_read(struct task_cpu *cpu, struct switch_mark *out) {
    uint64_t words[4 + TASK_EVENTS_MAX];
    ssize_t size = read(cpu->fds[0], words, sizeof(words));
    return size > 0 && switch_mark_decode(words, (size_t)size, cpu->switches.n_values, out);
}

static int cpu_open(void *context, int number) {
    struct task_cpus *cpus = context;
    struct task_cpu *cpu = &cpus->cpus[number];
    *cpu = (struct task_cpu){.switches.totals = cpus->totals};
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
    if (!error)
        error = ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) ? -errno : perf_cpus_watch(&cpus->set, number, fd);
    if (!error && !group_read(cpu, &cpu->reading))
        error = -ENODEV;
    if (error) {
        cpu_close(cpus, number);
        return error;
    }
    switches_cut(&cpu->switches, &cpu->reading);
    cpu->running_ns = cpu->reading.running;
    cpu->online = true;
    return 0;
}

int task_cpus_open(struct task_cpus *cpus, const struct task_events *events, struct switch_totals *totals) {
    static const struct perf_cpus_ops ops = {cpu_open, cpu_close};
    *cpus = (struct task_cpus){.events = events, .n_wanted = events->n, .totals = totals};
    perf_cpus_init(&cpus->set, &ops, cpus);
    cpus->n_cpus = cpus->set.n;
    cpus->cpus = xcalloc((size_t)cpus->n_cpus, sizeof(*cpus->cpus));
    int error = perf_cpus_follow(&cpus->set);
    if (error)
        task_cpus_close(cpus);
    return error;
}

void task_cpus_close(struct task_cpus *cpus) {
    perf_cpus_close(&cpus->set);
    free(cpus->cpus);
    *cpus = (struct task_cpus){.set.poll_fd = -1};
}

static void ring_drain(struct task_cpus *cpus, struct task_cpu *cpu) {
    task_sums_reserve(cpus->totals->sums, perf_ring_waiting(&cpu->ring) / RECORD_MIN);
    if (!perf_ring_drain(&cpu->ring, switches_record, &cpu->switches))
        switches_forget(&cpu->switches);
}

void task_cpus_drain(struct task_cpus *cpus) {
    for (int cpu = 0; cpu < cpus->n_cpus; cpu++)
        if (cpus->cpus[cpu].online)
            ring_drain(cpus, &cpus->cpus[cpu]);
    perf_cpus_drop_hung_up(&cpus->set);
}

// After a CPU went offline and online between two frames its group no longer counts: its enabled time stands still.
static void cpu_cut(struct task_cpus *cpus, int number) {
    struct task_cpu *cpu = &cpus->cpus[number];
    if (!group_read(cpu, &cpu->reading) || cpu->reading.enabled <= cpu->switches.cut_at) {
        perf_cpus_reopen(&cpus->set, number);
        return;
    }
    cpu->switches.until = &cpu->reading;
    ring_drain(cpus, cpu);
    uint64_t span = switches_cut(&cpu->switches, &cpu->reading);
    cpus->span_ns = span > cpus->span_ns ? span : cpus->span_ns;
    cpu->starved = span && cpu->reading.running == cpu->running_ns;
    cpu->running_ns = cpu->reading.running;
}

void task_cpus_cut(struct task_cpus *cpus) {
    bool starved = false;
    cpus->span_ns = 0;
    perf_cpus_follow(&cpus->set);
    for (int cpu = 0; cpu < cpus->n_cpus; cpu++)
        if (cpus->cpus[cpu].online) {
            cpu_cut(cpus, cpu);
            starved |= cpus->cpus[cpu].starved;
        }
    // A group that never gets the PMU (the NMI watchdog holds a counter) may fit with fewer events.
    cpus->n_starved = starved ? cpus->n_starved + 1 : 0;
    if (cpus->n_starved >= 2 && cpus->n_wanted > 1) {
        cpus->n_wanted = cpus->n_wanted > 2 ? 2 : 1;
        cpus->n_starved = 0;
        memset(cpus->missing, 0, sizeof(cpus->missing));
        perf_cpus_shut(&cpus->set);
        perf_cpus_follow(&cpus->set);
    }
}

double task_cpus_stop(struct task_cpus *cpus) {
    double per_s = 0;
    for (int number = 0; number < cpus->n_cpus; number++) {
        struct task_cpu *cpu = &cpus->cpus[number];
        if (!cpu->online)
            continue;
        ioctl(cpu->fds[0], PERF_EVENT_IOC_DISABLE, 0);
        ring_drain(cpus, cpu);
        if (!group_read(cpu, &cpu->reading))
            continue;
        switches_cut(&cpu->switches, &cpu->reading); // attributes the running task's slice
        if (cpu->reading.enabled > cpu->started.enabled)
            per_s += (double)(cpu->reading.switches - cpu->started.switches) * 1e9 /
                     (double)(cpu->reading.enabled - cpu->started.enabled);
    }
    return per_s;
}

void task_cpus_start(struct task_cpus *cpus) {
    perf_cpus_follow(&cpus->set);
    for (int number = 0; number < cpus->n_cpus; number++) {
        struct task_cpu *cpu = &cpus->cpus[number];
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

void task_cpus_force_switch(struct task_cpus *cpus) {
    cpu_set_t *before = CPU_ALLOC(CPUS_MAX), *one = CPU_ALLOC(CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    bool moved = false;
    task_cpus_drain(cpus);
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
