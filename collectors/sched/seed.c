// Reading /proc/PID/stat, and /proc/PID/task of processes with several threads.
#include "collectors/sched/seed.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/tracefs/format.h"
#include "model/mem.h"

struct sched_seed {
    char proc[128];
    DIR *processes, *threads; // threads: of the process `pid`, or NULL
    int32_t pid;
};

struct sched_seed *sched_seed_new(const char *proc) {
    DIR *processes = opendir(proc);
    if (!processes)
        return NULL;
    struct sched_seed *seed = xcalloc(1, sizeof(*seed));
    snprintf(seed->proc, sizeof(seed->proc), "%s", proc);
    seed->processes = processes;
    return seed;
}

void sched_seed_free(struct sched_seed *seed) {
    if (!seed)
        return;
    closedir(seed->processes);
    if (seed->threads)
        closedir(seed->threads);
    free(seed);
}

// The next number in the directory; 0: none.
static int32_t next_number(DIR *dir) {
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            return atoi(entry->d_name);
    return 0;
}

struct found {
    char comm[SCHED_COMM + 1], state;
    long threads;
    uint32_t cpu;
};

// Fields 2 (the name), 3, 20 and 39 of a stat file.
static bool stat_parse(const char *text, struct found *out) {
    const char *open = strchr(text, '('), *close = strrchr(text, ')');
    if (!open || !close || close < open || close[1] != ' ')
        return false;
    snprintf(out->comm, sizeof(out->comm), "%.*s", (int)(close - open - 1), open + 1);
    out->state = close[2];
    const char *at = close + 2;
    for (int field = 3; field < 39 && at; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
        if (at && field + 1 == 20)
            out->threads = strtol(at, NULL, 10);
    }
    out->cpu = at ? (uint32_t)strtoul(at, NULL, 10) : 0;
    return true;
}

static bool seed_read(struct sched_seed *seed, const char *path, int32_t tid, struct sched_machine *machine,
                      struct sched_who *who, uint64_t now, struct found *found) {
    char text[2048];
    *found = (struct found){.threads = 1};
    if (format_file(path, text, sizeof(text)) <= 0 || !stat_parse(text, found))
        return false;
    sched_machine_grow(machine);
    uint32_t slot = sched_machine_seed(machine, tid, found->state, found->cpu, found->comm, now);
    if (slot)
        sched_who_tell(who, machine, slot, seed->pid);
    return true;
}

bool sched_seed_step(struct sched_seed *seed, struct sched_machine *machine, struct sched_who *who, uint32_t threads,
                     uint64_t (*now)(void *ctx), void *ctx) {
    char path[192];
    struct found found;
    for (uint32_t done = 0; done < threads; done++) {
        if (seed->threads) {
            int32_t tid = next_number(seed->threads);
            if (!tid) {
                closedir(seed->threads);
                seed->threads = NULL;
            } else if (tid != seed->pid) {
                snprintf(path, sizeof(path), "%s/%d/task/%d/stat", seed->proc, seed->pid, tid);
                seed_read(seed, path, tid, machine, who, now(ctx), &found);
            }
            continue;
        }
        seed->pid = next_number(seed->processes);
        if (!seed->pid)
            return false;
        snprintf(path, sizeof(path), "%s/%d/stat", seed->proc, seed->pid);
        if (!seed_read(seed, path, seed->pid, machine, who, now(ctx), &found) || found.threads < 2)
            continue;
        snprintf(path, sizeof(path), "%s/%d/task", seed->proc, seed->pid);
        seed->threads = opendir(path);
    }
    return true;
}
