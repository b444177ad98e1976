// Reading /proc/PID/maps without waiting for it longer than a few milliseconds: the kernel takes the process's
// mmap_lock, which a task that hangs in the kernel may hold.
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectors/kernel/slow_calls.h"
#include "collectors/profile/maps_private.h"
#include "model/mem.h"

#define CANDIDATES 3 // whose mappings may be the process's: itself, a thread of it, its parent

struct maps_call {
    struct slow_call call; // the first member
    char proc[128];
    pid_t pids[CANDIDATES];
    char *text; // NULL: none can be read
};

// In a thread of the service.
static void call_run(struct slow_call *call) {
    struct maps_call *reading = (struct maps_call *)call;
    char path[160];
    for (size_t i = 0; i < CANDIDATES && !reading->text; i++) {
        if (reading->pids[i] <= 0)
            continue;
        snprintf(path, sizeof path, "%s/%d/maps", reading->proc, (int)reading->pids[i]);
        int fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
            continue;
        reading->text = maps_text(fd);
        close(fd);
    }
}

static void call_free(struct slow_call *call) {
    struct maps_call *reading = (struct maps_call *)call;
    free(reading->text);
    free(reading);
}

bool maps_read(struct space_maps *maps, struct space *space, pid_t tid, pid_t parent, struct map_list *list) {
    struct maps_call *reading = space->reading;
    bool done;
    if (reading) {
        done = slow_call_done(maps->calls, &reading->call);
    } else {
        reading = xcalloc(1, sizeof *reading);
        reading->call.run = call_run;
        reading->call.free = call_free;
        snprintf(reading->proc, sizeof reading->proc, "%s", maps->proc);
        reading->pids[0] = space->pid;
        reading->pids[1] = tid == space->pid ? 0 : tid;
        reading->pids[2] = parent;
        space->reading = reading;
        done = slow_call_start(maps->calls, &reading->call);
    }
    if (!done)
        return false;
    if (reading->text)
        maps_parse(maps, list, reading->text);
    maps_read_cancel(maps, space);
    return true;
}

void maps_read_cancel(struct space_maps *maps, struct space *space) {
    if (space->reading)
        slow_call_drop(maps->calls, &space->reading->call);
    space->reading = NULL;
}
