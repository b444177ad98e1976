// Busy processes that may not run on all CPUs, by affinity (sched_setaffinity, taskset) or cpuset: the kernel reports
// both as one mask. Suspects are processes that use a CPU; of one with several threads, a few threads are looked at,
// since each has a mask of its own.
// Kernel documents: sched_getaffinity(2), Documentation/admin-guide/cgroup-v2.rst (cpuset).
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define BUSY_PCT 2
#define PROCESSES_MAX 64 // per sample
#define THREADS_MAX 64   // of a process
#define KTHREADD 2
#define MASK_CPUS 4096

enum { PID, COMM, CPUS, THREADS, CPU_PCT, RUN_QUEUE, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [COMM] = COLUMN_COMM(.help = "Name of the process."),
    [CPUS] = TEXT_COLUMN("allowed_cpus", "ALLOWED", 10, .help = "CPUs on which most of its threads may run."),
    [THREADS] = NUMBER_COLUMN("pinned_threads", "PINNED", UNIT_COUNT, 7, .help = "Its threads with that mask."),
    [CPU_PCT] = COLUMN_CPU_PCT(.help = "CPU time of the process, in % of one CPU."),
    [RUN_QUEUE] = COLUMN_RUN_QUEUE_US(.merge = MERGE_SUM,
                                      .help = "Time in this interval that its first thread waited for a CPU."),
};

const struct table_def suspects_pinned_table = {
    .name = "pinned",
    .help = "Busy processes that may run on some CPUs only.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct pinned {
    struct table_builder *builder;
    struct suspects_sample *sample;
    cpu_set_t *mask, *other;
    size_t mask_bytes, processes;
    long online;
};

void suspects_cpu_list(const cpu_set_t *mask, size_t bytes, char *out, size_t size) {
    size_t used = 0;
    out[0] = '\0';
    for (size_t cpu = 0, end; cpu < bytes * 8 && used + 12 < size; cpu = end) {
        end = cpu + 1;
        if (!CPU_ISSET_S(cpu, bytes, mask))
            continue;
        while (end < bytes * 8 && CPU_ISSET_S(end, bytes, mask))
            end++;
        used += (size_t)snprintf(out + used, size - used, "%s%zu", used ? "," : "", cpu);
        if (end > cpu + 1)
            used += (size_t)snprintf(out + used, size - used, "-%zu", end - 1);
    }
}

// Whether the thread may not run everywhere; its mask is then in `mask`.
static bool is_pinned(const struct pinned *pinned, int32_t tid, cpu_set_t *mask) {
    CPU_ZERO_S(pinned->mask_bytes, mask);
    return !sched_getaffinity(tid, pinned->mask_bytes, mask) && CPU_COUNT_S(pinned->mask_bytes, mask) < pinned->online;
}

// Boyer-Moore majority vote over the masks of the threads. The result counts the threads with a mask, of which most
// have that one.
static double threads_look(struct pinned *pinned, int32_t pid) {
    char path[64];
    double n = 0;
    size_t votes = 0, looked = 0;
    int32_t tid;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    while (threads && looked++ < THREADS_MAX && (tid = proc_next_id(threads)) > 0) {
        if (!is_pinned(pinned, tid, pinned->other))
            continue;
        n++;
        if (!votes)
            memcpy(pinned->mask, pinned->other, pinned->mask_bytes);
        if (CPU_EQUAL_S(pinned->mask_bytes, pinned->mask, pinned->other))
            votes++;
        else
            votes--;
    }
    if (threads)
        closedir(threads);
    return votes ? n : 0;
}

static void process_look(void *context, const union cell *row) {
    struct pinned *pinned = context;
    const struct suspects_columns *at = &pinned->sample->at;
    int32_t pid = (int32_t)row[at->pid].num;
    if (!(row[at->cpu].num >= BUSY_PCT) || row[at->ppid].num == KTHREADD || pinned->processes++ >= PROCESSES_MAX)
        return;
    double threads =
        row[at->threads].num > 1 ? threads_look(pinned, pid) : (double)is_pinned(pinned, pid, pinned->mask);
    char list[64];
    if (threads < 1)
        return;
    suspects_cpu_list(pinned->mask, pinned->mask_bytes, list, sizeof(list));
    uint32_t slot = table_builder_add(pinned->builder);
    table_builder_set_num(pinned->builder, slot, PID, pid);
    table_builder_set_text(pinned->builder, slot, COMM, text_ref(row[at->comm].text));
    table_builder_set_text(pinned->builder, slot, CPUS, text_from(list));
    table_builder_set_num(pinned->builder, slot, THREADS, threads);
    table_builder_set_num(pinned->builder, slot, CPU_PCT, row[at->cpu].num);
    table_builder_set_num(pinned->builder, slot, RUN_QUEUE, at->run_queue < 0 ? NAN : row[at->run_queue].num);
}

static void pinned_sample(void *state, struct suspects_sample *sample) {
    struct pinned *pinned = state;
    pinned->sample = sample;
    pinned->processes = 0;
    pinned->online = sysconf(_SC_NPROCESSORS_ONLN);
    table_builder_clear(pinned->builder);
    if (pinned->online > 1)
        suspects_each(sample, process_look, pinned);
    section_table(sample->out, table_builder_seal(pinned->builder));
}

static void *pinned_create(void) {
    struct pinned *pinned = xcalloc(1, sizeof(*pinned));
    pinned->builder = table_builder_new(&suspects_pinned_table);
    pinned->mask_bytes = CPU_ALLOC_SIZE(MASK_CPUS);
    pinned->mask = xcalloc(1, pinned->mask_bytes);
    pinned->other = xcalloc(1, pinned->mask_bytes);
    return pinned;
}

static void pinned_destroy(void *state) {
    struct pinned *pinned = state;
    table_builder_free(pinned->builder);
    free(pinned->mask);
    free(pinned->other);
    free(pinned);
}

const struct suspects_part suspects_pinned_part = {
    .create = pinned_create, .sample = pinned_sample, .destroy = pinned_destroy};
