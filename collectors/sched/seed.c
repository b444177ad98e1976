// Reading /proc/TID/stat of every thread.
#include "collectors/sched/seed.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectors/kernel/proc/task_parse.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/tracefs/format.h"
#include "model/mem.h"

struct sched_seed {
    char proc[128];
    struct thread_walk *walk;
};

struct sched_seed *sched_seed_new(const char *proc) {
    struct thread_walk *walk = thread_walk_new(proc);
    if (!walk)
        return NULL;
    struct sched_seed *seed = xcalloc(1, sizeof(*seed));
    snprintf(seed->proc, sizeof(seed->proc), "%s", proc);
    seed->walk = walk;
    return seed;
}

void sched_seed_free(struct sched_seed *seed) {
    if (!seed)
        return;
    thread_walk_free(seed->walk);
    free(seed);
}

bool sched_seed_step(struct sched_seed *seed, struct sched_machine *machine, struct sched_who *who, uint32_t threads,
                     uint64_t (*now)(void *ctx), void *ctx) {
    char path[192], text[2048];
    struct task_stat stat;
    for (uint32_t done = 0; done < threads; done++) {
        int32_t pid, tid = thread_walk_next(seed->walk, &pid);
        if (!tid)
            return false;
        snprintf(path, sizeof(path), "%s/%d/task/%d/stat", seed->proc, pid, tid);
        long length = format_file(path, text, sizeof(text));
        if (length <= 0 || task_stat_parse(text, (size_t)length, &stat))
            continue;
        if (tid == pid && stat.threads < 2)
            thread_walk_skip(seed->walk);
        sched_machine_grow(machine);
        uint32_t slot = sched_machine_seed(machine, tid, stat.state, (uint32_t)stat.cpu, stat.comm, now(ctx));
        if (slot)
            sched_who_tell(who, machine, slot, pid);
    }
    return true;
}
