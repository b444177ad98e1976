// Which threads of busy processes use a CPU: a process may be limited by one of them, or one may have a real-time
// priority, while the row of a process has the priority and the CPU of its first thread only. Kernel documents:
// Documentation/scheduler/sched-stats.rst (/proc/PID/schedstat), Documentation/filesystems/proc.rst.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define BUSY_PCT 50.0 // of a CPU, of the process and of the thread
#define PROCESSES_MAX 4
#define THREADS_MAX 128 // of one process that are looked at

enum { TID, PID, COMM, CPU, PRIORITY, CPU_PCT, COLUMNS };

static const struct column columns[COLUMNS] = {
    [TID] = COLUMN_TID(.help = "A thread that uses a CPU, of a process with several threads."),
    [PID] = COLUMN_PID(.help = "Its process."),
    [COMM] = COLUMN_COMM(.help = "Name of the thread."),
    [CPU] = COLUMN_CPU(.help = "The CPU on which it runs."),
    [PRIORITY] =
        ID_COLUMN("priority", "PRI", 4, .help = "As in the table `tasks`: -2 to -100 are real-time priorities."),
    [CPU_PCT] = COLUMN_CPU_PCT(.help = "Its CPU time, in % of one CPU."),
};

const struct table_def suspects_busy_table = {
    .name = "busy_threads",
    .help = "Threads that use half of a CPU or more, of busy processes with several threads.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

struct thread {
    int32_t tid;
    unsigned long long cpu_ns;
};

struct busy {
    struct table_builder *builder;
    struct thread threads[2][PROCESSES_MAX * THREADS_MAX]; // of the last sample and of this one
    size_t n[2];
    unsigned now; // index
    size_t processes;
    struct suspects_sample *sample;
};

bool suspects_thread_parse(const char *stat, char *state, long *priority, int *cpu) {
    const char *at = strrchr(stat, ')');
    if (!at || sscanf(at, ") %c", state) != 1)
        return false;
    // Fields 18 and 39; the state is field 3.
    at += 2;
    for (int field = 3; field < 39; field++) {
        if (field == 18)
            *priority = strtol(at, NULL, 10);
        at = strchr(at, ' ');
        if (!at)
            return false;
        at++;
    }
    *cpu = (int)strtol(at, NULL, 10);
    return true;
}

bool suspects_thread_file(int32_t pid, int32_t tid, const char *file, char *out, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, file);
    return format_file(path, out, size) > 0;
}

bool suspects_thread_times(int32_t pid, int32_t tid, unsigned long long *cpu_ns, unsigned long long *delay_ns) {
    char text[128];
    return suspects_thread_file(pid, tid, "schedstat", text, sizeof(text)) &&
           sscanf(text, "%llu %llu", cpu_ns, delay_ns) == 2;
}

static void row_add(struct busy *busy, const struct busy_thread *thread, double cpu_pct) {
    char comm[32];
    (void)proc_read_comm(thread->tid, comm, sizeof(comm)); // "" if it has ended
    uint32_t slot = table_builder_add(busy->builder);
    table_builder_set_num(busy->builder, slot, TID, thread->tid);
    table_builder_set_num(busy->builder, slot, PID, thread->pid);
    table_builder_set_text(busy->builder, slot, COMM, text_from(comm));
    table_builder_set_num(busy->builder, slot, CPU, thread->cpu);
    table_builder_set_num(busy->builder, slot, PRIORITY, (double)thread->priority);
    table_builder_set_num(busy->builder, slot, CPU_PCT, cpu_pct);
}

static void thread_look(struct busy *busy, int32_t pid, int32_t tid) {
    const struct thread *before = busy->threads[!busy->now];
    struct thread now = {.tid = tid};
    struct busy_thread thread = {.pid = pid, .tid = tid};
    unsigned long long delay_ns;
    char stat[1024], state;
    size_t at = 0;
    if (!suspects_thread_times(pid, tid, &now.cpu_ns, &delay_ns))
        return;
    busy->threads[busy->now][busy->n[busy->now]++] = now;
    while (at < busy->n[!busy->now] && before[at].tid != tid)
        at++;
    if (at == busy->n[!busy->now] || now.cpu_ns < before[at].cpu_ns || !(busy->sample->seconds > 0))
        return;
    double pct = (double)(now.cpu_ns - before[at].cpu_ns) / 1e7 / busy->sample->seconds;
    if (pct < BUSY_PCT || !suspects_thread_file(pid, tid, "stat", stat, sizeof(stat)) ||
        !suspects_thread_parse(stat, &state, &thread.priority, &thread.cpu))
        return;
    row_add(busy, &thread, pct);
    if (busy->sample->n_busy < BUSY_THREADS_MAX)
        busy->sample->busy[busy->sample->n_busy++] = thread;
}

static void process_take(void *context, const union cell *row) {
    struct busy *busy = context;
    const struct suspects_columns *at = &busy->sample->at;
    int32_t pid = (int32_t)row[at->pid].num, tid;
    if (!(row[at->cpu].num >= BUSY_PCT) || !(row[at->threads].num > 1) || busy->processes == PROCESSES_MAX)
        return;
    busy->processes++;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    for (size_t n = 0; folder && n < THREADS_MAX && (tid = proc_next_id(folder)) >= 0; n++)
        thread_look(busy, pid, tid);
    if (folder)
        closedir(folder);
}

static void *busy_create(void) {
    struct busy *busy = xcalloc(1, sizeof(*busy));
    busy->builder = table_builder_new(&suspects_busy_table);
    return busy;
}

static void busy_sample(void *state, struct suspects_sample *sample) {
    struct busy *busy = state;
    busy->sample = sample;
    busy->now = !busy->now;
    busy->n[busy->now] = busy->processes = 0;
    table_builder_clear(busy->builder);
    suspects_each(sample, process_take, busy);
    section_table(sample->out, table_builder_seal(busy->builder));
}

static void busy_destroy(void *state) {
    struct busy *busy = state;
    table_builder_free(busy->builder);
    free(busy);
}

const struct suspects_part suspects_busy_part = {.create = busy_create, .sample = busy_sample, .destroy = busy_destroy};
