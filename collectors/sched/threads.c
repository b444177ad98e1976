// Threads are looked up once. What they wait for is queried in each long wait, and periodically in short ones.
#include "collectors/sched/threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "collectors/kernel/proc/self.h"
#include "collectors/kernel/proc/syscall_names.h"
#include "collectors/task_identity.h"
#include "model/live.h"
#include "model/mem.h"

#define DEEP_NS 50000000ull         // a wait this long gets a deep query
#define QUEUED_NS 20000000ull       // a runnable task this old is queried for its cgroup
#define AGAIN_NS 500000000ull       // shortest time between queries of one thread
#define SHORT_AGAIN_NS 950000000ull // and of its short waits: one a frame
#define QUERIES 24                  // in one round
#define COMING_NS 100000000ull      // every recorded event has been read after this time

enum urgency { URGENT_NOT, URGENT_SHORT, URGENT_LONG, URGENT_RUNS, URGENT_QUEUED, URGENT_DISK, URGENCIES };

struct sched_threads {
    const char *proc; // NULL: it has other IDs than the events
    const struct collect_options *options;
    struct blocked_prober *prober;
    struct sched_thread *all; // by slot
    uint32_t capacity;
    uint32_t resolved;           // births up to this one were looked up
    uint32_t cursors[URGENCIES]; // the task queried last
    struct blocked_reply *replies;
};

struct sched_threads *sched_threads_new(const char *proc, const struct collect_options *options,
                                        struct blocked_prober *prober) {
    struct sched_threads *threads = xcalloc(1, sizeof(*threads));
    threads->proc = proc;
    threads->options = options;
    threads->prober = prober;
    threads->replies = xcalloc(BLOCKED_QUERIES_MAX, sizeof(*threads->replies));
    return threads;
}

static void forget_wait(struct sched_thread *thread) {
    text_unref(thread->waits_for);
    text_unref(thread->stack);
    thread->waits_for = thread->stack = NULL;
    thread->why = BLOCKED_BY_NONE;
    thread->hangs = false;
}

static void forget(struct sched_thread *thread) {
    forget_wait(thread);
    text_unref(thread->where);
    text_unref(thread->syscall);
    text_unref(thread->cgroup);
    text_unref(thread->comm);
    *thread = (struct sched_thread){.syscall_nr = INT64_MIN};
}

void sched_threads_free(struct sched_threads *threads) {
    if (!threads)
        return;
    for (uint32_t i = 0; i < threads->capacity; i++)
        forget(&threads->all[i]);
    free(threads->all);
    free(threads->replies);
    free(threads);
}

bool sched_threads_filters(const struct sched_threads *threads) {
    return thread_filters(threads->options);
}

struct sched_thread *sched_threads_get(struct sched_threads *threads, const struct sched_machine *machine,
                                       uint32_t slot) {
    if (threads->capacity < machine->capacity) {
        threads->all = xrealloc(threads->all, machine->capacity * sizeof(*threads->all));
        memset(&threads->all[threads->capacity], 0, (machine->capacity - threads->capacity) * sizeof(*threads->all));
        threads->capacity = machine->capacity;
    }
    struct sched_thread *thread = &threads->all[slot];
    const struct sched_task *task = &machine->tasks[slot];
    if (thread->birth != task->birth) {
        uint32_t row = thread->row;
        forget(thread);
        thread->birth = task->birth;
        thread->pid = task->tid;
        thread->wanted = !sched_threads_filters(threads);
        thread->row = row; // the caller removes it or gives it to the new task
    }
    return thread;
}

uint32_t sched_threads_drop(struct sched_threads *threads, uint32_t slot) {
    if (slot >= threads->capacity)
        return 0;
    uint32_t row = threads->all[slot].row;
    forget(&threads->all[slot]);
    return row;
}

// ---- processes ----

static bool is_own(const struct sched_threads *threads, int32_t pid) {
    return self_process(pid) && !(threads->options && threads->options->show_self);
}

static void look_up(const struct sched_threads *threads, struct sched_thread *thread, int32_t tid) {
    const struct task_identity identity = task_identify(threads->proc, threads->options, tid);
    thread->known = true;
    thread->pid = identity.status.pid;
    thread->wanted = identity.wanted;
}

void sched_threads_resolve(struct sched_threads *threads, struct sched_machine *machine, uint32_t most) {
    if (threads->resolved == machine->births)
        return;
    uint32_t done = 0;
    for (uint32_t i = 1; i < machine->n && done < most; i++) {
        const struct sched_task *task = &machine->tasks[i];
        if (!task->tid || task->state == SCHED_ENDED)
            continue;
        struct sched_thread *thread = sched_threads_get(threads, machine, i);
        if (thread->known)
            continue;
        look_up(threads, thread, task->tid);
        machine->tasks[i].hidden = sched_threads_filters(threads) && !thread->wanted;
        done++;
    }
    if (done < most)
        threads->resolved = machine->births;
}

void sched_threads_set_pid(struct sched_threads *threads, struct sched_machine *machine, uint32_t slot, int32_t pid) {
    struct sched_thread *thread = sched_threads_get(threads, machine, slot);
    if (thread->known)
        return;
    if (sched_threads_filters(threads)) {
        look_up(threads, thread, pid);
        machine->tasks[slot].hidden = !thread->wanted;
        return;
    }
    thread->known = true;
    thread->pid = pid;
    thread->wanted = !is_own(threads, pid);
}

// ---- probing ----

static void text_set(const struct text **at, const char *string) {
    if (*at && !strcmp(text_bytes(*at), string))
        return;
    text_unref(*at);
    *at = string[0] ? text_from(string) : NULL;
}

// By the events the queried wait is still in progress; the reply contradicts that.
static bool disagrees(const struct sched_task *task, const struct blocked_reply *reply, uint64_t now) {
    bool old = reply->state && reply->read_ns + COMING_NS < now;
    uint8_t queried = reply->query.state;
    if (!old || reply->query.wait != task->waits_all)
        return false;
    return queried == BLOCKED_RUNNABLE ? sched_counts(task->state) && reply->state != 'R'
           : queried == BLOCKED_DISK   ? task->state == SCHED_DISK && reply->state != 'D'
                                       : task->state == SCHED_SLEEPING && reply->state == 'R';
}

// With hidepid, threads of other users are hidden: a missing one may still exist.
static bool sees_all(const struct sched_threads *threads) {
    char path[160];
    snprintf(path, sizeof(path), "%s/1/stat", threads->proc);
    return !access(path, F_OK);
}

static void take(struct sched_threads *threads, struct sched_machine *machine, const struct blocked_reply *reply,
                 uint64_t now) {
    uint32_t slot = reply->query.slot;
    if (slot >= machine->n || machine->tasks[slot].tid != reply->query.tid || !machine->tasks[slot].listed)
        return;
    struct sched_thread *thread = sched_threads_get(threads, machine, slot);
    thread->idle = false;
    if (reply->gone && !sees_all(threads))
        return;
    if (reply->gone) {
        thread->queried = false; // its exit event may still come
        if (reply->read_ns + COMING_NS < now_ns() && reply->query.wait == machine->tasks[slot].waits_all)
            sched_machine_gone(machine, slot, now);
        return;
    }
    if (disagrees(&machine->tasks[slot], reply, now_ns()))
        sched_machine_doubt(machine, slot, reply->state, now);
    if (reply->cgroup[0])
        text_set(&thread->cgroup, reply->cgroup);
    if (reply->query.state == BLOCKED_RUNNABLE) {
        thread->runnable_ns = reply->state == 'R' ? thread->queried_ns : thread->runnable_ns;
        return;
    }
    if (reply->where[0]) {
        text_set(&thread->where, reply->where);
        if (thread->syscall_nr != reply->syscall) {
            char name[64] = "";
            if (reply->syscall >= 0)
                syscalls_name(reply->is_32 ? SYSCALLS_ABI_32 : SYSCALLS_ABI_NATIVE, (uint32_t)reply->syscall, name,
                              sizeof(name));
            text_set(&thread->syscall, name);
        }
        thread->syscall_nr = reply->syscall;
    }
    if (reply->query.wait != machine->tasks[slot].waits_all)
        return; // the queried wait is over
    forget_wait(thread);
    thread->replied = true;
    thread->deep = reply->query.deep;
    thread->wait = reply->query.wait;
    thread->hangs = reply->hangs;
    thread->why = reply->why;
    text_set(&thread->waits_for, reply->waits_for);
    text_set(&thread->stack, reply->stack);
    if (reply->hangs)
        text_set(&thread->waits_for, "reading /proc/PID blocks: the task holds a lock in the kernel");
}

void sched_threads_mark_throttled(struct sched_threads *threads, struct sched_machine *machine,
                                  const struct sched_limits *limits) {
    struct sched_limit limit;
    for (uint32_t i = 1; i < machine->n; i++) {
        struct sched_task *task = &machine->tasks[i];
        if (!task->tid || !sched_waits(task->state))
            continue;
        const struct text *cgroup = sched_threads_get(threads, machine, i)->cgroup;
        task->throttled = cgroup && sched_limits_find(limits, text_bytes(cgroup), &limit);
    }
}

// How urgent a query about the task is. Fills in the query.
static enum urgency urgency_of(struct sched_threads *threads, const struct sched_machine *machine, uint32_t slot,
                               uint64_t now, struct blocked_query *query) {
    const struct sched_task *task = &machine->tasks[slot];
    if (!task->tid || task->state < SCHED_RUNNING || task->state > SCHED_DISK || task->state == SCHED_RUNNABLE)
        return URGENT_NOT;
    const struct sched_thread *thread = sched_threads_get(threads, machine, slot);
    uint64_t age = now > task->since ? now - task->since : 0, quiet = now - thread->queried_ns;
    bool runs = task->state == SCHED_RUNNING; // unwanted tasks too: their switch-out may be missing
    if (!thread->wanted && !runs)
        return URGENT_NOT;
    *query = (struct blocked_query){.tid = task->tid, .slot = slot, .wait = task->waits_all};
    bool same = thread->queried && thread->queried_wait == task->waits_all;
    if (runs || sched_waits(task->state)) {
        query->state = BLOCKED_RUNNABLE;
        // Once per wait, then periodically: an event may be missing.
        bool anew = !thread->queried || thread->queried_ns < task->since;
        bool due = age >= QUEUED_NS && (anew || quiet >= AGAIN_NS);
        return !due ? URGENT_NOT : runs ? URGENT_RUNS : URGENT_QUEUED;
    }
    query->state = task->state == SCHED_DISK ? BLOCKED_DISK : BLOCKED_SLEEPING;
    query->deep = age >= DEEP_NS;
    if (query->deep && same && thread->queried_deep)
        return URGENT_NOT;
    if (query->deep && task->state == SCHED_DISK)
        return URGENT_DISK;
    if (query->deep)
        return thread->queried && quiet < AGAIN_NS ? URGENT_NOT : URGENT_LONG;
    return same || (thread->queried && quiet < SHORT_AGAIN_NS) ? URGENT_NOT : URGENT_SHORT;
}

// Candidates of equal urgency, in round-robin order after the last task queried.
struct candidates {
    uint32_t slots[2][QUERIES];
    size_t n[2];
};

static void candidates_add(struct candidates *candidates, uint32_t slot, uint32_t cursor) {
    bool before = slot <= cursor;
    if (candidates->n[before] < QUERIES)
        candidates->slots[before][candidates->n[before]++] = slot;
}

static uint32_t candidates_at(const struct candidates *candidates, size_t i) {
    return i < candidates->n[0] ? candidates->slots[0][i] : candidates->slots[1][i - candidates->n[0]];
}

// There are many running and queued tasks, and they are queried repeatedly, so a round takes only a few. Each urgency
// leaves room for higher ones while replies are slow.
static size_t quota(enum urgency urgency, size_t room) {
    static const struct {
        size_t most, leaves;
    } parts[URGENCIES] = {
        [URGENT_SHORT] = {QUERIES, BLOCKED_QUERIES_MAX * 3 / 4},
        [URGENT_LONG] = {QUERIES, BLOCKED_QUERIES_MAX / 4},
        [URGENT_RUNS] = {QUERIES / 3, BLOCKED_QUERIES_MAX / 2},
        [URGENT_QUEUED] = {QUERIES / 3, BLOCKED_QUERIES_MAX / 2},
        [URGENT_DISK] = {QUERIES, 0},
    };
    size_t left = room > parts[urgency].leaves ? room - parts[urgency].leaves : 0;
    return left < parts[urgency].most ? left : parts[urgency].most;
}

static size_t choose(struct sched_threads *threads, const struct sched_machine *machine, uint64_t now,
                     struct blocked_query *queries, size_t room) {
    struct candidates all[URGENCIES] = {0};
    size_t chosen = 0;
    for (uint32_t slot = 1; slot < machine->n; slot++) {
        enum urgency urgency = urgency_of(threads, machine, slot, now, &queries[0]);
        candidates_add(&all[urgency], slot, threads->cursors[urgency]);
    }
    for (int urgency = URGENT_DISK; urgency > URGENT_NOT; urgency--) {
        size_t n = all[urgency].n[0] + all[urgency].n[1], most = quota(urgency, room - chosen);
        for (size_t i = 0; i < n && i < most && chosen < QUERIES; i++, chosen++) {
            uint32_t slot = candidates_at(&all[urgency], i);
            urgency_of(threads, machine, slot, now, &queries[chosen]);
            struct sched_thread *thread = &threads->all[slot];
            thread->queried = true;
            thread->queried_deep = queries[chosen].deep;
            thread->queried_wait = queries[chosen].wait;
            thread->queried_ns = now;
            threads->cursors[urgency] = slot;
        }
    }
    return chosen;
}

void sched_threads_probe(struct sched_threads *threads, struct sched_machine *machine, uint64_t now) {
    if (!threads->prober)
        return;
    size_t n = blocked_prober_take(threads->prober, threads->replies, BLOCKED_QUERIES_MAX, now_ns());
    for (size_t i = 0; i < n; i++)
        take(threads, machine, &threads->replies[i], now);
    struct blocked_query queries[QUERIES];
    size_t room = blocked_prober_room(threads->prober);
    size_t chosen = room ? choose(threads, machine, now, queries, room) : 0;
    if (chosen)
        blocked_prober_query(threads->prober, queries, chosen);
}
