// Threads that wait for a CPU which a real-time task keeps. The row of a process has the CPU and the priority of its
// first thread only: of a busy process with several threads, the others are looked at for one at real-time priority.
// While there is such a task, threads are looked at in rotation: one that is runnable there is followed. A thread
// that never runs has no run delay yet (the kernel counts it on arrival): that it did not run is the measure. Kernel
// documents: Documentation/scheduler/sched-stats.rst (/proc/PID/schedstat), Documentation/filesystems/proc.rst.
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define HOGS_MAX 4
#define HOG_PCT 50.0
#define HOG_THREADS 64  // of a busy process that are looked at
#define DEADLINE (-101) // priority of a SCHED_DEADLINE task
#define LOOKED_MAX 256  // threads per sample
#define FOLLOWED_MAX 16
#define CALM_PCT 5.0 // followed no longer
#define CALM_SAMPLES 3

enum { TID, PID, COMM, CPU, WAITED, COLUMNS };

static const struct column columns[COLUMNS] = {
    [TID] = COLUMN_TID(.help = "A thread that waits for a CPU which a real-time task uses."),
    [PID] = COLUMN_PID(.help = "Its process."),
    [COMM] = COLUMN_COMM(.help = "Name of the thread."),
    [CPU] = COLUMN_CPU(.help = "The CPU that it waits for."),
    [WAITED] = {.name = "waited_pct",
                .title = "WAITED%",
                .help = "Share of the interval in which it was runnable and did not run.",
                .unit = UNIT_PCT,
                .width = 7},
};

const struct table_def suspects_starved_table = {
    .name = "starved_threads",
    .help = "Threads that wait for the CPU of a real-time task.",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

enum { R_TID, R_PID, R_COMM, R_CPU, R_PRIORITY, R_CPU_PCT, R_COLUMNS };

static const struct column realtime_columns[R_COLUMNS] = {
    [R_TID] = COLUMN_TID(.help = "A thread at real-time priority that is not the first one of its process."),
    [R_PID] = COLUMN_PID(.help = "Its process."),
    [R_COMM] = COLUMN_COMM(.help = "Name of the thread."),
    [R_CPU] = COLUMN_CPU(.help = "The CPU on which it runs."),
    [R_PRIORITY] = ID_COLUMN("priority", "PRI", 4, .help = "As in the table `tasks`: -2 to -100."),
    [R_CPU_PCT] = COLUMN_CPU_PCT(.help = "Its CPU time, in % of one CPU."),
};

const struct table_def suspects_realtime_table = {
    .name = "realtime_threads",
    .help = "Threads at real-time priority that use a CPU.",
    .columns = realtime_columns,
    .n_columns = R_COLUMNS,
    .n_keys = 1,
};

struct hog {
    int32_t pid, tid;
    int cpu;
    long priority;
    unsigned long long cpu_ns; // of a thread that is not the first one
    uint64_t read_ns;
};

struct followed {
    int32_t pid, tid; // tid 0: unused
    int cpu;
    unsigned long long cpu_ns, delay_ns;
    uint64_t read_ns;
    unsigned calm;
};

struct starved {
    struct table_builder *builder, *realtime;
    struct suspects_sample *sample;
    struct hog hogs[HOGS_MAX], before[HOGS_MAX]; // before: of the last sample
    size_t n_hogs, n_before, hog_threads, turn, seen, looked;
    struct followed followed[FOLLOWED_MAX];
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

static bool read_of(int32_t pid, int32_t tid, const char *file, char *out, size_t size) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task/%d/%s", pid, tid, file);
    return format_file(path, out, size) > 0;
}

static bool times_of(int32_t pid, int32_t tid, unsigned long long *cpu_ns, unsigned long long *delay_ns) {
    char text[128];
    return read_of(pid, tid, "schedstat", text, sizeof(text)) && sscanf(text, "%llu %llu", cpu_ns, delay_ns) == 2;
}

// Calls fn for threads of the process, until it returns false.
static void threads_each(struct starved *starved, int32_t pid, bool (*fn)(struct starved *, int32_t, int32_t)) {
    char path[64];
    int32_t tid;
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    while (folder && (tid = proc_next_id(folder)) >= 0 && fn(starved, pid, tid))
        ;
    if (folder)
        closedir(folder);
}

static void realtime_add(struct starved *starved, const struct hog *hog, double cpu_pct) {
    char comm[64];
    uint32_t slot = table_builder_add(starved->realtime);
    if (!read_of(hog->pid, hog->tid, "comm", comm, sizeof(comm)))
        comm[0] = '\0';
    comm[strcspn(comm, "\n")] = '\0';
    table_builder_set_num(starved->realtime, slot, R_TID, hog->tid);
    table_builder_set_num(starved->realtime, slot, R_PID, hog->pid);
    table_builder_set_text(starved->realtime, slot, R_COMM, text_from(comm));
    table_builder_set_num(starved->realtime, slot, R_CPU, hog->cpu);
    table_builder_set_num(starved->realtime, slot, R_PRIORITY, (double)hog->priority);
    table_builder_set_num(starved->realtime, slot, R_CPU_PCT, cpu_pct);
}

static bool is_realtime(double priority) { // NAN: no
    return priority < -1 && priority > DEADLINE;
}

// A thread with such a priority is a hog, and is reported if it has used its CPU since the last sample.
static bool hog_thread_look(struct starved *starved, int32_t pid, int32_t tid) {
    if (starved->n_hogs == HOGS_MAX || starved->hog_threads++ == HOG_THREADS)
        return false;
    struct hog *hog = &starved->hogs[starved->n_hogs];
    char stat[1024], state;
    unsigned long long delay_ns;
    *hog = (struct hog){.pid = pid, .tid = tid, .read_ns = starved->sample->now_ns};
    if (!read_of(pid, tid, "stat", stat, sizeof(stat)) ||
        !suspects_thread_parse(stat, &state, &hog->priority, &hog->cpu) || !is_realtime((double)hog->priority) ||
        tid == pid || !times_of(pid, tid, &hog->cpu_ns, &delay_ns))
        return true;
    starved->n_hogs++;
    for (size_t i = 0; i < starved->n_before; i++) {
        const struct hog *before = &starved->before[i];
        if (before->tid != tid || hog->read_ns <= before->read_ns)
            continue;
        double pct = 100 * (double)(hog->cpu_ns - before->cpu_ns) / (double)(hog->read_ns - before->read_ns);
        if (pct >= HOG_PCT)
            realtime_add(starved, hog, pct);
    }
    return true;
}

static void hog_take(void *context, const union cell *row) {
    struct starved *starved = context;
    const struct suspects_columns *at = &starved->sample->at;
    double priority = row[at->priority].num, cpu = row[at->on_cpu].num;
    int32_t pid = (int32_t)row[at->pid].num;
    if (!(row[at->cpu].num >= HOG_PCT) || starved->n_hogs == HOGS_MAX)
        return;
    if (is_realtime(priority)) {
        if (!isnan(cpu))
            starved->hogs[starved->n_hogs++] = (struct hog){.pid = pid, .tid = pid, .cpu = (int)cpu};
        return;
    }
    starved->hog_threads = 0;
    if (row[at->threads].num > 1)
        threads_each(starved, pid, hog_thread_look);
}

static bool is_hogged(const struct starved *starved, int cpu) {
    for (size_t i = 0; i < starved->n_hogs; i++)
        if (starved->hogs[i].cpu == cpu)
            return true;
    return false;
}

static bool is_waiting(const struct starved *starved, int32_t pid, int32_t tid, int *cpu) {
    char stat[1024], state;
    long priority = -1;
    return read_of(pid, tid, "stat", stat, sizeof(stat)) && suspects_thread_parse(stat, &state, &priority, cpu) &&
           state == 'R' && priority >= 0 && is_hogged(starved, *cpu);
}

static bool thread_look(struct starved *starved, int32_t pid, int32_t tid) {
    struct followed *place = NULL, new = {.pid = pid, .tid = tid, .read_ns = starved->sample->now_ns};
    for (size_t i = 0; i < FOLLOWED_MAX; i++) {
        if (starved->followed[i].tid == tid)
            return true;
        if (!starved->followed[i].tid && !place)
            place = &starved->followed[i];
    }
    starved->looked++;
    if (place && is_waiting(starved, pid, tid, &new.cpu) && times_of(pid, tid, &new.cpu_ns, &new.delay_ns))
        *place = new;
    return starved->looked < LOOKED_MAX;
}

static void process_look(void *context, const union cell *row) {
    struct starved *starved = context;
    const struct suspects_columns *at = &starved->sample->at;
    int32_t pid = (int32_t)row[at->pid].num;
    const struct text *state = row[at->state].text;
    bool several = row[at->threads].num > 1, runs = state && text_bytes(state)[0] == 'R';
    if ((!several && !runs) || starved->seen++ < starved->turn || starved->looked >= LOOKED_MAX)
        return;
    for (size_t i = 0; i < starved->n_hogs; i++)
        if (starved->hogs[i].tid == pid)
            return;
    starved->turn = starved->seen; // of the next sample: after this one
    if (several)
        threads_each(starved, pid, thread_look);
    else
        thread_look(starved, pid, pid);
}

static void row_add(struct starved *starved, const struct followed *followed, double waited_pct) {
    char comm[64];
    uint32_t slot = table_builder_add(starved->builder);
    if (!read_of(followed->pid, followed->tid, "comm", comm, sizeof(comm)))
        comm[0] = '\0';
    comm[strcspn(comm, "\n")] = '\0';
    table_builder_set_num(starved->builder, slot, TID, followed->tid);
    table_builder_set_num(starved->builder, slot, PID, followed->pid);
    table_builder_set_text(starved->builder, slot, COMM, text_from(comm));
    table_builder_set_num(starved->builder, slot, CPU, followed->cpu);
    table_builder_set_num(starved->builder, slot, WAITED, waited_pct);
}

static void follow(struct starved *starved, struct followed *followed, uint64_t now_ns) {
    unsigned long long cpu_ns, delay_ns;
    if (!is_hogged(starved, followed->cpu) || !times_of(followed->pid, followed->tid, &cpu_ns, &delay_ns)) {
        *followed = (struct followed){0};
        return;
    }
    int cpu = followed->cpu;
    double passed = (double)(now_ns - followed->read_ns);
    double waited = delay_ns > followed->delay_ns ? (double)(delay_ns - followed->delay_ns) : 0;
    bool here = is_waiting(starved, followed->pid, followed->tid, &cpu);
    if (cpu_ns == followed->cpu_ns && here)
        waited = passed;
    double pct = passed > 0 ? fmin(100, 100 * waited / passed) : 0;
    followed->calm = pct < CALM_PCT ? followed->calm + 1 : 0;
    followed->cpu = cpu;
    followed->cpu_ns = cpu_ns;
    followed->delay_ns = delay_ns;
    followed->read_ns = now_ns;
    if (pct >= CALM_PCT)
        row_add(starved, followed, pct);
    if (followed->calm >= CALM_SAMPLES)
        *followed = (struct followed){0};
}

static void *starved_create(void) {
    struct starved *starved = xcalloc(1, sizeof(*starved));
    starved->builder = table_builder_new(&suspects_starved_table);
    starved->realtime = table_builder_new(&suspects_realtime_table);
    return starved;
}

static void starved_sample(void *state, struct suspects_sample *sample) {
    struct starved *starved = state;
    starved->sample = sample;
    memcpy(starved->before, starved->hogs, sizeof(starved->before));
    starved->n_before = starved->n_hogs;
    starved->n_hogs = starved->seen = starved->looked = 0;
    table_builder_clear(starved->builder);
    table_builder_clear(starved->realtime);
    if (sample->tasks)
        suspects_each(sample, hog_take, starved);
    for (size_t i = 0; i < FOLLOWED_MAX; i++)
        if (starved->followed[i].tid)
            follow(starved, &starved->followed[i], sample->now_ns);
    if (starved->n_hogs)
        suspects_each(sample, process_look, starved);
    if (starved->turn >= starved->seen) // the round is over
        starved->turn = 0;
    section_table(sample->out, table_builder_seal(starved->builder));
    section_table(sample->out, table_builder_seal(starved->realtime));
}

static void starved_destroy(void *state) {
    struct starved *starved = state;
    table_builder_free(starved->builder);
    table_builder_free(starved->realtime);
    free(starved);
}

const struct suspects_part suspects_starved_part = {
    .create = starved_create, .sample = starved_sample, .destroy = starved_destroy};
