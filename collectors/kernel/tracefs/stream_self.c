#include "collectors/kernel/tracefs/stream_self.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/stream_side.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"

#define OWN_MAX 64
#define PASSES 5 // over a process that keeps creating threads

struct stream_self {
    const struct stream_config *config;
    char instance[256];
    bool filters;       // ktop's threads are filtered, unless `dropped`
    pid_t own[OWN_MAX]; // the threads in the filters
    size_t n_own;
    // Setting and dropping the filters. Meanwhile `own` and what else the side thread reads stay as they are.
    bool dropped, drop;
    bool fails; // the kernel refused
    struct stream_side side;
    int change_error; // of the side thread
    bool by_pid;
    bool *seen; // which of --pid are in the kernel's list
    struct tids tids;
};

// ---- self filter ----

// The kernel evaluates the filter for every event: 1 to 4 ns per thread in it, in the traced task's time.
static int filters_write(const struct stream_self *self, size_t n_own) {
    int result = self->config->n_events && !self->config->events[0].always ? -ENOENT : 0;
    for (size_t i = 0; i < self->config->n_events; i++) {
        const struct stream_event *event = &self->config->events[i];
        char text[OWN_MAX * 32 + 512], file[160];
        size_t used = event->filter ? (size_t)snprintf(text, sizeof(text), "(%s)", event->filter) : 0;
        const bool without_self = !event->with_self && n_own;
        if (without_self && used)
            used += (size_t)snprintf(text + used, sizeof(text) - used, " && (");
        for (size_t k = 0; without_self && k < n_own && used < sizeof(text); k++)
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%scommon_pid != %d", k ? " && " : "", self->own[k]);
        if (without_self && used < sizeof(text)) // an interrupt is not ktop's doing
            used += (size_t)snprintf(text + used, sizeof(text) - used, " || common_flags & %d%s",
                                     EVENT_FLAG_HARDIRQ | EVENT_FLAG_SOFTIRQ, event->filter ? ")" : "");
        if (!event->present || event->always)
            continue;
        snprintf(file, sizeof(file), "events/%s/%s/filter", event->system, event->name);
        result = instance_write(self->instance, file, used ? text : "0"); // "0": no filter
        if (result)
            break;
    }
    return result;
}

static bool own_has(const struct stream_self *self, pid_t tid) {
    for (size_t i = 0; i < self->n_own; i++)
        if (self->own[i] == tid)
            return true;
    return false;
}

// Into self->tids, and to the decoder.
static bool own_list(struct stream_self *self) {
    struct tids *tids = &self->tids;
    if (!self_threads(tids))
        return false;
    for (size_t i = 0; i < tids->n; i++)
        self->config->on_self(self->config->ctx, tids->at[i]);
    return true;
}

// From self->tids. True when the filters are no longer right.
static bool own_take(struct stream_self *self) {
    const struct tids *tids = &self->tids;
    bool changed = tids->n < self->n_own;
    for (size_t i = 0; i < tids->n; i++)
        changed |= !own_has(self, tids->at[i]);
    self->n_own = tids->n < OWN_MAX ? tids->n : OWN_MAX;
    memcpy(self->own, tids->at, self->n_own * sizeof(self->own[0]));
    return changed;
}

static void own_refresh(struct stream_self *self) {
    if (own_list(self) && !self->side.running && !self->dropped && own_take(self))
        filters_write(self, self->n_own); // if refused, the decoder still has the list
}

// ---- high event rates ----

// In a side thread: the kernel may wait for every CPU, once per event filter, about 100 ms. Buffers that are not read
// would overflow meanwhile.
static void change(void *ctx) {
    struct stream_self *self = ctx;
    self->change_error = filters_write(self, self->drop ? 0 : self->n_own);
}

void stream_self_rate(struct stream_self *self, bool high) {
    if (!self->filters || self->side.running || self->fails || high == self->dropped || !own_list(self))
        return;
    if (!high)
        own_take(self);
    self->drop = high;
    stream_side_start(&self->side, "ktop-filters", change, self);
}

bool stream_self_poll(struct stream_self *self) {
    if (stream_side_done(&self->side, self->config)) {
        self->fails = self->change_error != 0; // filters in an unknown state: the decoder has the list
        self->dropped = self->drop;
        own_list(self); // threads created meanwhile
    }
    return self->side.running;
}

// ---- the processes of --pid ----

// Adds to the list: opened without O_TRUNC, which would empty it.
static int list_write(const struct stream_self *self, const pid_t *tids, size_t n) {
    char text[4096];
    for (size_t i = 0; i < n;) {
        size_t used = 0;
        for (; i < n && used < sizeof(text) - 16; i++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%d ", tids[i]);
        int error = instance_write(self->instance, "set_event_pid", text);
        if (error)
            return error;
    }
    return 0;
}

// 0, or -errno: then nothing is pushed.
static int pids_push(struct stream_self *self) {
    const struct stream_config *config = self->config;
    struct tids *tids = &self->tids;
    for (size_t i = 0; i < config->n_pids; i++) {
        size_t before = 0;
        for (int pass = 0; pass < PASSES && !self->seen[i]; pass++) {
            tids->n = 0;
            if (!tids_tree("/proc", config->pids[i], config->children, tids))
                return -ENOSYS;
            if (!tids->n || tids->n == before)
                break;
            before = tids->n;
            int error = list_write(self, tids->at, tids->n);
            if (error)
                return error;
        }
        self->seen[i] = before > 0;
    }
    return 0;
}

static void pids_start(struct stream_self *self) {
    const pid_t me = getpid(); // an empty list means no filter
    self->seen = xcalloc(self->config->n_pids, sizeof(*self->seen));
    self->by_pid = !list_write(self, &me, 1) && !pids_push(self);
    if (self->by_pid)
        return;
    char path[512];
    snprintf(path, sizeof(path), "%s/set_event_pid", self->instance);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC); // on failure the decoder drops other processes
    if (fd >= 0)
        close(fd);
}

// ---- both ----

int stream_self_new(const struct stream_config *config, const char *instance, bool filter, struct stream_self **out,
                    const char **step) {
    struct stream_self *self = *out = xcalloc(1, sizeof(*self));
    self->config = config;
    snprintf(self->instance, sizeof(self->instance), "%s", instance);
    *step = "setting the filter of an event";
    int error = filters_write(self, 0);
    if (error)
        return error;
    if (ktop_in_child_pidns()) // host TIDs are unknown
        return 0;
    instance_write(instance, "options/event-fork", "1");
    self->filters = config->on_self && !config->with_self;
    self->dropped = true;
    if (self->filters && filter) {
        self->dropped = false;
        own_refresh(self);
    }
    if (config->n_pids)
        pids_start(self);
    return 0;
}

void stream_self_free(struct stream_self *self) {
    if (!self)
        return;
    stream_side_join(&self->side);
    free(self->seen);
    free(self->tids.at);
    free(self);
}

void stream_self_refresh(struct stream_self *self) {
    if (self->filters)
        own_refresh(self);
    if (self->by_pid)
        pids_push(self);
}
