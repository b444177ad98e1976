#include "collectors/kernel/proc/tid_tree.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "model/mem.h"

#define TIDS_MAX (1 << 22) // PID_MAX_LIMIT: more means a cycle

void tids_add(struct tids *tids, pid_t tid) {
    if (tids->n == TIDS_MAX)
        return;
    if (tids->n == tids->room) {
        tids->room = tids->room ? tids->room * 2 : 256;
        tids->at = xrealloc(tids->at, tids->room * sizeof(*tids->at));
    }
    tids->at[tids->n++] = tid;
}

bool tids_list(const char *dir, struct tids *tids) {
    DIR *open = opendir(dir);
    if (!open)
        return false;
    for (struct dirent *entry; (entry = readdir(open));)
        if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
            tids_add(tids, (pid_t)strtol(entry->d_name, NULL, 10));
    closedir(open);
    return true;
}

static void process_list(const char *proc, pid_t pid, struct tids *tids) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%d/task", proc, pid);
    tids_list(path, tids);
}

static void children_list(const char *proc, pid_t tid, struct tids *tids) {
    char path[128];
    snprintf(path, sizeof(path), "%s/%d/task/%d/children", proc, tid,
             tid); // /proc has every thread, though it lists few
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    for (int child; fscanf(file, "%d", &child) == 1;)
        process_list(proc, child, tids);
    fclose(file);
}

bool tids_tree(const char *proc, pid_t pid, bool children, struct tids *tids) {
    char mine[128], task[128];
    snprintf(mine, sizeof(mine), "%s/thread-self/children", proc);
    snprintf(task, sizeof(task), "%s/self/task", proc);
    if (children && access(mine, F_OK) && !access(task, F_OK))
        return false;
    size_t i = tids->n;
    process_list(proc, pid, tids);
    // Breadth-first, with the list as queue: descendants may be nested thousands deep.
    for (; children && i < tids->n; i++)
        children_list(proc, tids->at[i], tids);
    return true;
}
