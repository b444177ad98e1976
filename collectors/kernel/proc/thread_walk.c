#include "collectors/kernel/proc/thread_walk.h"

#include <stdio.h>
#include <stdlib.h>

#include "model/mem.h"

struct thread_walk {
    char proc[128];
    DIR *processes, *threads; // threads: of the process `pid`; NULL: not opened yet, or done
    int32_t pid;              // process of the next threads; 0: a new process is next
};

int32_t proc_next_id(DIR *dir) {
    for (const struct dirent *entry; (entry = readdir(dir));)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            return (int32_t)strtol(entry->d_name, NULL, 10);
    return -1;
}

struct thread_walk *thread_walk_new(const char *proc) {
    DIR *processes = opendir(proc);
    if (!processes)
        return NULL;
    struct thread_walk *walk = xcalloc(1, sizeof(*walk));
    snprintf(walk->proc, sizeof(walk->proc), "%s", proc);
    walk->processes = processes;
    return walk;
}

void thread_walk_skip(struct thread_walk *walk) {
    if (walk->threads)
        closedir(walk->threads);
    walk->threads = NULL;
    walk->pid = 0;
}

void thread_walk_free(struct thread_walk *walk) {
    if (!walk)
        return;
    thread_walk_skip(walk);
    closedir(walk->processes);
    free(walk);
}

int32_t thread_walk_next(struct thread_walk *walk, int32_t *pid) {
    char path[192];
    if (walk->pid && !walk->threads) {
        snprintf(path, sizeof(path), "%s/%d/task", walk->proc, walk->pid);
        walk->threads = opendir(path);
    }
    *pid = walk->pid;
    for (int32_t tid; walk->threads && (tid = proc_next_id(walk->threads)) > 0;)
        if (tid != walk->pid)
            return tid;
    thread_walk_skip(walk);
    int32_t next = proc_next_id(walk->processes);
    walk->pid = *pid = next > 0 ? next : 0;
    return walk->pid;
}
