// Writing the kernel's lists and filters of threads for one instance. A thread that is once in a list stays there until
// it ends, and its children join it, all by the kernel's own doing: what is done here once per frame is only catching
// up.
#include "collectors/kernel/tracefs/stream_self.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "model/mem.h"

#define OWN_MAX 64
#define PASSES 5 // over a process that keeps making threads

struct stream_own {
    const struct stream_config *config;
    char instance[256];
    bool excluded, by_filter, by_pid; // excluded: the kernel leaves `own` out, unless dropped
    bool tells;                       // the decoder is told of every thread of ktop's
    pid_t own[OWN_MAX];
    size_t n_own;
    // Taking up and dropping of the filters. While it runs, `own` and what else it reads stay as they are.
    bool dropped, running, drop;
    bool fails; // the kernel refused
    pthread_t changer;
    atomic_int changer_tid; // 0: it has done nothing yet
    atomic_bool changed;
    int change_error; // with changed
    bool *seen;       // which of --pid are in the kernel's list
    struct tids tids;
};

// Adds to what the list holds: opened without O_TRUNC, which would empty it.
static int list_write(const struct stream_own *own, const char *file, const pid_t *tids, size_t n) {
    char text[4096];
    for (size_t i = 0; i < n;) {
        size_t used = 0;
        for (; i < n && used < sizeof(text) - 16; i++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%d ", tids[i]);
        int error = instance_write(own->instance, file, text);
        if (error)
            return error;
    }
    return 0;
}

// ---- ktop's own ----

// The kernel compares for every event, which costs the traced programs 1 to 4 ns for each thread. Events
// that tell who made whom it leaves alone, with a decoder that knows whose they are: a thread of ktop's may end before
// anybody looks who it was.
static int filters_write(const struct stream_own *own, size_t n_own) {
    int result = -ENOENT;
    for (size_t i = 0; i < own->config->n_events; i++) {
        const struct stream_event *event = &own->config->events[i];
        char text[OWN_MAX * 32 + 512], file[160];
        size_t used = event->filter ? (size_t)snprintf(text, sizeof(text), "(%s)", event->filter) : 0;
        for (size_t k = 0; !event->own_too && k < n_own && used < sizeof(text); k++)
            used += (size_t)snprintf(text + used, sizeof(text) - used, "%scommon_pid != %d", used ? " && " : "",
                                     own->own[k]);
        if (!event->present)
            continue;
        snprintf(file, sizeof(file), "events/%s/%s/filter", event->system, event->name);
        result = instance_write(own->instance, file, used ? text : "0"); // "0": no filter
        if (result)
            break;
    }
    return result;
}

static bool own_has(const struct stream_own *own, pid_t tid) {
    for (size_t i = 0; i < own->n_own; i++)
        if (own->own[i] == tid)
            return true;
    return false;
}

// Into own->tids, and to the decoder.
static bool own_list(struct stream_own *own) {
    struct tids *tids = &own->tids;
    if (!self_threads(tids))
        return false;
    for (size_t i = 0; i < tids->n && own->tells; i++)
        own->config->on_own(own->config->ctx, tids->at[i]);
    return true;
}

// From own->tids. True when there are threads that were not among them.
static bool own_take(struct stream_own *own) {
    const struct tids *tids = &own->tids;
    bool fresh = false;
    for (size_t i = 0; i < tids->n; i++)
        fresh |= !own_has(own, tids->at[i]);
    own->n_own = tids->n < OWN_MAX ? tids->n : OWN_MAX;
    memcpy(own->own, tids->at, own->n_own * sizeof(own->own[0]));
    return fresh;
}

static int own_write(const struct stream_own *own) {
    return own->by_filter ? filters_write(own, own->n_own)
                          : list_write(own, "set_event_notrace_pid", own->own, own->n_own);
}

static void own_refresh(struct stream_own *own) {
    if (!own_list(own) || own->running || own->dropped)
        return;
    bool gone = own->tids.n < own->n_own;
    if (own_take(own) || (own->by_filter && gone))
        own->excluded = !own_write(own);
}

// ---- torrents ----

// In a thread of its own: the kernel may wait for every CPU, once for each event's filter, some 100 ms in which the
// buffers of one that makes calls as fast as it can would overflow, were they not read.
static void *changer_main(void *argument) {
    struct stream_own *own = argument;
    pthread_setname_np(pthread_self(), "ktop-filters");
    atomic_store(&own->changer_tid, (int)syscall(SYS_gettid)); // before anything of it can be recorded: see poll
    own->change_error = filters_write(own, own->drop ? 0 : own->n_own);
    atomic_store(&own->changed, true);
    return NULL;
}

void stream_own_torrent(struct stream_own *own, bool torrent) {
    if (!own->tells || !own->excluded || own->running || own->fails || torrent == own->dropped || !own_list(own))
        return;
    if (!torrent)
        own_take(own);
    own->drop = torrent;
    atomic_store(&own->changer_tid, 0);
    atomic_store(&own->changed, false);
    own->running = !pthread_create(&own->changer, NULL, changer_main, own);
}

static void changer_join(struct stream_own *own) {
    pthread_join(own->changer, NULL);
    own->running = false;
    own->fails = own->change_error != 0; // as it is, whatever that is: the decoder knows
    own->dropped = own->drop;
    own_list(own); // those that came meanwhile
}

void stream_own_poll(struct stream_own *own) {
    if (!own->running)
        return;
    // What of it is recorded was written after its number, and is read after this: its number is known by then.
    int tid = atomic_load(&own->changer_tid);
    if (tid)
        own->config->on_own(own->config->ctx, tid);
    if (atomic_load(&own->changed))
        changer_join(own);
}

// ---- the processes of --pid ----

// 0, or -errno: then nothing is pushed.
static int pids_push(struct stream_own *own) {
    const struct collect_options *options = own->config->options;
    struct tids *tids = &own->tids;
    for (size_t i = 0; i < options->n_pids; i++) {
        size_t before = 0;
        for (int pass = 0; pass < PASSES && !own->seen[i]; pass++) {
            tids->n = 0;
            if (!tids_tree("/proc", options->pids[i], options->children, tids))
                return -ENOSYS;
            if (!tids->n || tids->n == before)
                break;
            before = tids->n;
            int error = list_write(own, "set_event_pid", tids->at, tids->n);
            if (error)
                return error;
        }
        own->seen[i] = before > 0;
    }
    return 0;
}

static void push_pids(struct stream_own *own) {
    const struct collect_options *options = own->config->options;
    const pid_t self = getpid(); // an empty list would let everything through
    own->seen = xcalloc(options->n_pids, sizeof(*own->seen));
    own->by_pid = !list_write(own, "set_event_pid", &self, 1) && !pids_push(own);
    if (own->by_pid)
        return;
    char path[512];
    snprintf(path, sizeof(path), "%s/set_event_pid", own->instance);
    int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC); // the decoder leaves the others out
    if (fd >= 0)
        close(fd);
}

// ---- both ----

int stream_own_new(const struct stream_config *config, const char *instance, struct stream_own **out,
                   const char **step) {
    struct stream_own *own = *out = xcalloc(1, sizeof(*own));
    const struct collect_options *options = config->options;
    char path[512];
    own->config = config;
    snprintf(own->instance, sizeof(own->instance), "%s", instance);
    for (size_t i = 0; i < config->n_events; i++) {
        const struct stream_event *event = &config->events[i];
        if (!event->present || !event->filter)
            continue;
        snprintf(path, sizeof(path), "events/%s/%s/filter", event->system, event->name);
        *step = "setting the filter of an event";
        int error = instance_write(instance, path, event->filter);
        if (error)
            return error;
    }
    if (ktop_numbers_differ()) // its threads cannot be named
        return 0;
    instance_write(instance, "options/event-fork", "1");
    snprintf(path, sizeof(path), "%s/set_event_notrace_pid", instance);
    // The list cannot be given up without loss: while the kernel does that, 40 to 180 ms, a CPU on which a listed
    // thread was last seen records nobody. A filter can, and costs less: 745 ns a call against 776 (without either
    // 650).
    own->by_filter = config->on_own || access(path, F_OK) != 0;
    if (!config->with_self && (!options || !options->show_self)) {
        own->tells = config->on_own != NULL;
        own_refresh(own);
    }
    if (options && options->n_pids && config->only_pids)
        push_pids(own);
    return 0;
}

void stream_own_free(struct stream_own *own) {
    if (!own)
        return;
    if (own->running)
        pthread_join(own->changer, NULL);
    free(own->seen);
    free(own->tids.at);
    free(own);
}

void stream_own_refresh(struct stream_own *own) {
    const struct collect_options *options = own->config->options;
    if (own->excluded || own->tells)
        own_refresh(own);
    if (own->by_pid && options)
        pids_push(own);
}

bool stream_own_excluded(const struct stream_own *own) {
    const struct collect_options *options = own->config->options;
    return own->excluded || own->tells || own->config->with_self || (options && options->show_self);
}
