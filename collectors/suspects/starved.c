// Threads that wait for a CPU which a real-time task keeps. The row of a process has the CPU of its first thread only,
// so while there is such a task, threads are looked at in rotation: one that is runnable there is followed. A thread
// that never runs has no run delay yet (the kernel counts it on arrival): that it did not run is the measure. Kernel
// documents: Documentation/scheduler/sched-stats.rst (/proc/PID/schedstat), Documentation/filesystems/proc.rst.
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/suspects/suspects.h"
#include "model/columns.h"
#include "model/mem.h"

#define HOGS_MAX 4
#define HOG_PCT 50.0
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

struct followed {
    int32_t pid, tid; // tid 0: unused
    int cpu;
    unsigned long long cpu_ns, delay_ns;
    uint64_t read_ns;
    unsigned calm;
};

struct starved {
    struct table_builder *builder;
    struct suspects_sample *sample;
    struct {
        int32_t tid;
        int cpu;
    } hogs[HOGS_MAX];
    size_t n_hogs, turn, seen, looked;
    struct followed followed[FOLLOWED_MAX];
};

static void hog_add(struct starved *starved, int32_t tid, double priority, double cpu) {
    if (!(priority < -1 && priority > DEADLINE) || isnan(cpu) || starved->n_hogs == HOGS_MAX)
        return;
    starved->hogs[starved->n_hogs].tid = tid;
    starved->hogs[starved->n_hogs++].cpu = (int)cpu;
}

static void hog_take(void *context, const union cell *row) {
    struct starved *starved = context;
    const struct suspects_columns *at = &starved->sample->at;
    if (row[at->cpu].num >= HOG_PCT)
        hog_add(starved, (int32_t)row[at->pid].num, row[at->priority].num, row[at->on_cpu].num);
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
    return suspects_thread_file(pid, tid, "stat", stat, sizeof(stat)) &&
           suspects_thread_parse(stat, &state, &priority, cpu) && state == 'R' && priority >= 0 &&
           is_hogged(starved, *cpu);
}

static void thread_look(struct starved *starved, int32_t pid, int32_t tid) {
    struct followed *place = NULL, new = {.pid = pid, .tid = tid, .read_ns = starved->sample->now_ns};
    for (size_t i = 0; i < FOLLOWED_MAX; i++) {
        if (starved->followed[i].tid == tid)
            return;
        if (!starved->followed[i].tid && !place)
            place = &starved->followed[i];
    }
    starved->looked++;
    if (place && is_waiting(starved, pid, tid, &new.cpu) && suspects_thread_times(pid, tid, &new.cpu_ns, &new.delay_ns))
        *place = new;
}

static void process_look(void *context, const union cell *row) {
    struct starved *starved = context;
    const struct suspects_columns *at = &starved->sample->at;
    int32_t pid = (int32_t)row[at->pid].num, tid;
    const struct text *state = row[at->state].text;
    bool several = row[at->threads].num > 1, runs = state && text_bytes(state)[0] == 'R';
    char path[64];
    if ((!several && !runs) || starved->seen++ < starved->turn || starved->looked >= LOOKED_MAX)
        return;
    for (size_t i = 0; i < starved->n_hogs; i++)
        if (starved->hogs[i].tid == pid)
            return;
    starved->turn = starved->seen; // of the next sample: after this one
    if (!several) {
        thread_look(starved, pid, pid);
        return;
    }
    snprintf(path, sizeof(path), "/proc/%d/task", pid);
    DIR *folder = opendir(path);
    while (folder && starved->looked < LOOKED_MAX && (tid = proc_next_id(folder)) >= 0)
        thread_look(starved, pid, tid);
    if (folder)
        closedir(folder);
}

static void row_add(struct starved *starved, const struct followed *followed, double waited_pct) {
    char comm[32];
    (void)proc_read_comm(followed->tid, comm, sizeof(comm)); // "" if it has ended
    uint32_t slot = table_builder_add(starved->builder);
    table_builder_set_num(starved->builder, slot, TID, followed->tid);
    table_builder_set_num(starved->builder, slot, PID, followed->pid);
    table_builder_set_text(starved->builder, slot, COMM, text_from(comm));
    table_builder_set_num(starved->builder, slot, CPU, followed->cpu);
    table_builder_set_num(starved->builder, slot, WAITED, waited_pct);
}

static void follow(struct starved *starved, struct followed *followed, uint64_t now_ns) {
    unsigned long long cpu_ns, delay_ns;
    if (!is_hogged(starved, followed->cpu) ||
        !suspects_thread_times(followed->pid, followed->tid, &cpu_ns, &delay_ns)) {
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
    return starved;
}

static void starved_sample(void *state, struct suspects_sample *sample) {
    struct starved *starved = state;
    starved->sample = sample;
    starved->n_hogs = starved->seen = starved->looked = 0;
    table_builder_clear(starved->builder);
    if (sample->tasks)
        suspects_each(sample, hog_take, starved);
    for (size_t i = 0; i < sample->n_busy; i++)
        if (sample->busy[i].tid != sample->busy[i].pid)
            hog_add(starved, sample->busy[i].tid, (double)sample->busy[i].priority, sample->busy[i].cpu);
    for (size_t i = 0; i < FOLLOWED_MAX; i++)
        if (starved->followed[i].tid)
            follow(starved, &starved->followed[i], sample->now_ns);
    if (starved->n_hogs)
        suspects_each(sample, process_look, starved);
    if (starved->turn >= starved->seen) // the round is over
        starved->turn = 0;
    section_table(sample->out, table_builder_seal(starved->builder));
}

static void starved_destroy(void *state) {
    struct starved *starved = state;
    table_builder_free(starved->builder);
    free(starved);
}

const struct suspects_part suspects_starved_part = {
    .create = starved_create, .sample = starved_sample, .destroy = starved_destroy};
