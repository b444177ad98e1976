// perf_event_open by thread. On a hybrid machine a generic event counts on one kind of core only: each thread then has
// one group per kind, and counts and running times are summed.
#include "collectors/counters/task_busy.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"
#define HYBRID_SHIFT 32 // PERF_PMU_TYPE_SHIFT

// Core PMUs have a file `cpus`; uncore PMUs do not.
static unsigned core_pmus(uint32_t *types) {
    unsigned n = 0;
    struct dirent *entry;
    DIR *devices = opendir(DEVICES);
    while (devices && (entry = readdir(devices)) && n < BUSY_PMUS) {
        char path[sizeof(DEVICES) + sizeof(entry->d_name) + 8];
        snprintf(path, sizeof(path), DEVICES "/%s/cpus", entry->d_name);
        if (entry->d_name[0] == '.' || access(path, F_OK))
            continue;
        snprintf(path, sizeof(path), DEVICES "/%s/type", entry->d_name);
        FILE *file = fopen(path, "re");
        n += file && fscanf(file, "%u", &types[n]) == 1;
        if (file)
            fclose(file);
    }
    if (devices)
        closedir(devices);
    return n;
}

void busy_init(struct busy *busy, const struct task_events *events) {
    *busy = (struct busy){.events = events};
    busy->n_pmus = core_pmus(busy->pmus);
    if (busy->n_pmus < 2) {
        busy->pmus[0] = 0;
        busy->n_pmus = 1;
    }
}

static int thread_event(const struct perf_event *event, uint32_t pmu, pid_t tid, int group) {
    struct perf_event_attr attr = {
        .type = event->type,
        .size = sizeof(attr),
        .config = event->config,
        .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
        .exclude_guest = 1,
    };
    if (event->type == PERF_TYPE_HARDWARE || event->type == PERF_TYPE_HW_CACHE)
        attr.config |= (uint64_t)pmu << HYBRID_SHIFT;
    return perf_open_attr(&attr, tid, -1, group);
}

static void group_open(struct busy_group *group, const struct task_events *events, uint32_t pmu, pid_t tid) {
    static const struct perf_event leader = {"task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK};
    *group = (struct busy_group){0};
    int fd = thread_event(&leader, 0, tid, -1);
    if (fd < 0)
        return;
    group->fds[group->n_fds++] = fd;
    for (unsigned i = 0; i < events->n; i++) {
        fd = thread_event(&events->list[i], pmu, tid, group->fds[0]);
        if (fd < 0)
            continue;
        group->which[group->n_fds - 1] = (uint8_t)i;
        group->fds[group->n_fds++] = fd;
    }
}

static void thread_close(const struct busy *busy, struct busy_thread *thread) {
    for (unsigned i = 0; i < busy->n_pmus; i++)
        while (thread->groups[i].n_fds)
            close(thread->groups[i].fds[--thread->groups[i].n_fds]);
}

void busy_close(struct busy *busy) {
    while (busy->n)
        thread_close(busy, &busy->threads[--busy->n]);
    busy->n_processes = 0;
}

// The up to `room` threads with most CPU time, descending, into best. Returns their number.
static unsigned longest(struct task_sums *sums, const struct task_sum **best, unsigned room) {
    unsigned n = 0;
    for (size_t i = 0; i < task_sums_count(sums); i++) {
        const struct task_sum *sum = task_sums_at(sums, i);
        unsigned at = n;
        if (!sum->counts.time_ns)
            continue;
        while (at > 0 && best[at - 1]->counts.time_ns < sum->counts.time_ns)
            at--;
        if (at == room)
            continue;
        n += n < room;
        memmove(best + at + 1, best + at, (n - at - 1) * sizeof(*best));
        best[at] = sum;
    }
    return n;
}

static struct busy_thread *thread_find(struct busy *busy, pid_t tid) {
    for (unsigned i = 0; i < busy->n; i++)
        if (busy->threads[i].tid == tid)
            return &busy->threads[i];
    return NULL;
}

void busy_choose(struct busy *busy, struct task_sums *sums) {
    const struct task_sum *best[BUSY_MAX];
    unsigned room = BUSY_FILES / ((1 + busy->events->n) * busy->n_pmus);
    unsigned n = longest(sums, best, room < BUSY_MAX ? room : BUSY_MAX);
    if (!n)
        return;
    for (unsigned i = 0; i < busy->n; i++)
        busy->threads[i].wanted = false;
    for (unsigned i = 0; i < n; i++) {
        struct busy_thread *thread = thread_find(busy, best[i]->tid);
        if (thread)
            thread->wanted = thread->pid == best[i]->pid;
    }
    for (unsigned i = busy->n; i > 0; i--)
        if (!busy->threads[i - 1].wanted) {
            thread_close(busy, &busy->threads[i - 1]);
            busy->threads[i - 1] = busy->threads[--busy->n];
        }
    for (unsigned i = 0; i < n; i++) {
        if (thread_find(busy, best[i]->tid))
            continue;
        struct busy_thread *thread = &busy->threads[busy->n];
        *thread = (struct busy_thread){.pid = best[i]->pid, .tid = best[i]->tid};
        for (unsigned pmu = 0; pmu < busy->n_pmus; pmu++)
            group_open(&thread->groups[pmu], busy->events, busy->pmus[pmu], thread->tid);
        if (thread->groups[0].n_fds > 1)
            busy->n++;
        else
            thread_close(busy, thread);
    }
    busy->n_processes = 0;
    for (unsigned i = 0; i < busy->n; i++)
        busy_process_ns(busy, busy->threads[i].pid);
}

static bool group_read(struct busy_group *group, struct task_counts *counts) {
    uint64_t words[4 + TASK_EVENTS_MAX];
    struct switch_mark now, *before = &group->before;
    unsigned n = group->n_fds ? (unsigned)group->n_fds - 1 : 0;
    ssize_t size = n ? read(group->fds[0], words, sizeof(words)) : 0;
    if (size <= 0 || !switch_mark_decode(words, (size_t)size, n, &now) || now.enabled < before->enabled ||
        now.running < before->running)
        return false;
    counts->time_ns = now.enabled - before->enabled;
    counts->running_ns = now.running - before->running;
    for (unsigned i = 0; i < n; i++)
        counts->values[group->which[i]] = now.values[i] - before->values[i];
    *before = now;
    return true;
}

void busy_read(struct busy *busy, struct task_sums *sums) {
    task_sums_reserve(sums, busy->n);
    for (unsigned i = 0; i < busy->n; i++) {
        struct busy_thread *thread = &busy->threads[i];
        struct task_sum *sum = task_sums_get(sums, thread->pid, thread->tid);
        sum->first_ns = 0;
        for (unsigned pmu = 0; pmu < busy->n_pmus; pmu++) {
            struct task_counts counts = {0};
            if (!group_read(&thread->groups[pmu], &counts))
                continue;
            if (pmu) // the first group has the same time already
                counts.time_ns = 0;
            task_counts_add(&sum->counts, &counts);
        }
    }
}

uint64_t busy_process_ns(struct busy *busy, pid_t pid) {
    struct busy_process *process = NULL;
    struct timespec used;
    clockid_t clock;
    for (unsigned i = 0; i < busy->n_processes; i++)
        if (busy->processes[i].pid == pid)
            process = &busy->processes[i];
    if (!process && busy->n_processes < BUSY_MAX) {
        process = &busy->processes[busy->n_processes++];
        *process = (struct busy_process){.pid = pid};
    }
    if (!process || clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &used))
        return 0;
    uint64_t before = process->cpu_ns;
    process->cpu_ns = (uint64_t)used.tv_sec * 1000000000ull + (uint64_t)used.tv_nsec;
    return before && process->cpu_ns > before ? process->cpu_ns - before : 0;
}
