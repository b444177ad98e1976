// Processes whose threads wait for one lock: several threads in futex(2) at one address whose word is that of a lock,
// not of a condition variable or a semaphore, at which idle workers wait.
//
// Suspects are processes with several threads that switch often, and the others in rotation, a few threads per sample.
// A process with waiters is probed several times a second. Probes run in a thread of their own: /proc/TID/syscall and
// the memory of a process can block while it hangs in execve, or while its mmap_lock is held.
// Kernel documents: Documentation/filesystems/proc.rst, locking/robust-futexes.rst; futex(2).
#include "collectors/suspects/locks.h"

#include <dirent.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/kernel/slow_calls.h"
#include "model/columns.h"
#include "model/mem.h"

#define HOT_SWITCHES 50.0 // per second: from here on a process is probed in every sample
#define HOT_MAX 8
#define PROBED_MAX 16   // processes in one batch
#define TURN_THREADS 64 // of processes in rotation, per sample
#define FOLLOWED_MAX 8  // processes with waiters
#define FORGET_NS 3000000000ull
#define HUNG_NS 2000000000ull // a probe that takes longer is abandoned
#define WINDOW 12             // probes of a process that are averaged
#define CYCLES_LEAST 5        // probes: they read one thread after the other, so a cycle may be an illusion

enum { PID, COMM, WAITERS, THREADS, HOLDER_TID, HOLDER_COMM, HOLDER_IN, OWNER_KNOWN, TURNS, CYCLE, COLUMNS };

static const struct column columns[COLUMNS] = {
    [PID] = COLUMN_PID(.help = HELP_PID),
    [COMM] = COLUMN_COMM(.help = "Name of the process."),
    [WAITERS] = {.name = "waiters",
                 .title = "WAITERS",
                 .help = "Threads that wait for the same lock, on average.",
                 .unit = UNIT_COUNT,
                 .width = 7},
    [THREADS] = COLUMN_THREADS(.help = "Threads of the process."),
    [HOLDER_TID] = {.name = "holder_tid",
                    .title = "HOLDER",
                    .help = "Thread that held the lock when seen last.",
                    .unit = UNIT_ID,
                    .width = 7},
    [HOLDER_COMM] = TEXT_COLUMN("holder_comm", "HOLDERCOMM", 15, .help = "Name of that thread."),
    [HOLDER_IN] = TEXT_COLUMN("holder_in", "HOLDERIN", 15, .help = "Kernel function in which that thread slept."),
    [OWNER_KNOWN] = {.name = "owner_known",
                     .title = "OWNER",
                     .help = "1 if the lock names its owner, as a mutex of glibc or musl does.",
                     .unit = UNIT_COUNT,
                     .width = 5},
    [TURNS] = {.name = "turns_pct",
               .title = "TURNS%",
               .help = "A semaphore or interpreter lock: how often all of its threads waited but one.",
               .unit = UNIT_PCT,
               .width = 6},
    [CYCLE] = {.name = "cycle",
               .title = "CYCLE",
               .help = "Threads that wait for locks of one another: a deadlock.",
               .unit = UNIT_COUNT,
               .width = 5},
};

const struct table_def suspects_locks_table = {
    .name = "lock_waits",
    .help = "Processes with threads that wait for one lock of user space (futex).",
    .columns = columns,
    .n_columns = COLUMNS,
    .n_keys = 1,
};

// ---- batches ----

// Freed by whichever thread is the last to use it.
struct batch {
    struct slow_call call;
    size_t n;
    atomic_size_t at;         // under way
    int32_t pids[PROBED_MAX]; // as in probes, which the thread of the call writes
    struct lock_probe probes[PROBED_MAX];
};

static void batch_run(struct slow_call *call) {
    struct batch *batch = (struct batch *)call;
    for (size_t i = 0; i < batch->n; i++) {
        atomic_store(&batch->at, i);
        suspects_lock_probe(batch->probes[i].pid, &batch->probes[i]);
    }
}

static void batch_free(struct slow_call *call) {
    free(call);
}

struct followed {
    int32_t pid;      // 0: unused
    uint64_t seen_ns; // the last probe with waiters
    uint32_t waiters[WINDOW], probes;
    uint32_t cycles;        // consecutive probes with the deadlock
    struct lock_probe last; // with waiters, or with threads at another futex
    struct lock_turns turns;
};

struct locks {
    struct table_builder *builder;
    struct slow_calls *calls;
    struct batch *batch; // under way; NULL: none
    uint64_t begun_ns;
    int32_t avoided; // its probe hung
    struct followed followed[FOLLOWED_MAX];
    // While choosing.
    struct suspects_sample *sample;
    struct {
        int32_t pid;
        double switches;
    } hot[HOT_MAX];
    size_t n_hot, turn, seen, turned;
    int32_t turns[PROBED_MAX];
    double turn_threads;
};

static struct followed *followed_get(struct locks *locks, int32_t pid, bool add) {
    struct followed *place = &locks->followed[0];
    for (size_t i = 0; i < FOLLOWED_MAX; i++) {
        if (locks->followed[i].pid == pid)
            return &locks->followed[i];
        if (place->pid && (!locks->followed[i].pid || locks->followed[i].seen_ns < place->seen_ns))
            place = &locks->followed[i];
    }
    if (!add)
        return NULL;
    *place = (struct followed){.pid = pid};
    return place;
}

static void batch_take(struct locks *locks, uint64_t now) {
    for (size_t i = 0; i < locks->batch->n; i++) {
        const struct lock_probe *probe = &locks->batch->probes[i];
        bool waits = probe->waiters > 0 || probe->cycle || (probe->hot && probe->n_other >= 2);
        struct followed *followed = followed_get(locks, probe->pid, waits);
        if (!followed)
            continue;
        followed->waiters[followed->probes++ % WINDOW] = probe->waiters;
        followed->cycles = probe->cycle ? followed->cycles + 1 : 0;
        suspects_turns_look(&followed->turns, probe);
        if (waits) {
            followed->seen_ns = now;
            followed->last = *probe;
        }
    }
    slow_call_drop(locks->calls, &locks->batch->call);
    locks->batch = NULL;
}

// True: none is under way.
static bool batch_poll(struct locks *locks, uint64_t now) {
    if (!locks->batch)
        return true;
    if (slow_call_done(locks->calls, &locks->batch->call)) {
        batch_take(locks, now);
        return true;
    }
    if (now < locks->begun_ns + HUNG_NS)
        return false;
    locks->avoided = locks->batch->pids[atomic_load(&locks->batch->at)];
    slow_call_drop(locks->calls, &locks->batch->call);
    locks->batch = NULL;
    return true;
}

static void batch_add(struct locks *locks, struct batch *batch, int32_t pid, bool hot) {
    for (size_t i = 0; i < batch->n; i++)
        if (batch->probes[i].pid == pid) {
            batch->probes[i].hot |= hot;
            return;
        }
    if (batch->n == PROBED_MAX || pid == locks->avoided || pid == getpid())
        return;
    batch->probes[batch->n].pid = batch->pids[batch->n] = pid;
    batch->probes[batch->n++].hot = hot;
}

static void batch_start(struct locks *locks, struct batch *take, uint64_t now) {
    take->call = (struct slow_call){.run = batch_run, .free = batch_free};
    locks->batch = take;
    locks->begun_ns = now;
    if (!take->n) {
        free(take);
        locks->batch = NULL;
    } else if (slow_call_start(locks->calls, &take->call)) {
        batch_take(locks, now);
    }
}

static void batch_followed(struct locks *locks, struct batch *batch, uint64_t now) {
    for (size_t i = 0; i < FOLLOWED_MAX; i++)
        if (locks->followed[i].pid && now < locks->followed[i].seen_ns + FORGET_NS)
            batch_add(locks, batch, locks->followed[i].pid, false);
        else
            locks->followed[i] = (struct followed){0};
}

// ---- the part ----

static void process_take(void *context, const union cell *row) {
    struct locks *locks = context;
    const struct suspects_columns *at = &locks->sample->at;
    double threads = row[at->threads].num, switches = row[at->switches].num;
    if (!(threads >= 2) || !row[at->state].text || strchr("DZX", text_bytes(row[at->state].text)[0]))
        return;
    int32_t pid = (int32_t)row[at->pid].num;
    if (switches >= HOT_SWITCHES) {
        size_t i = locks->n_hot < HOT_MAX ? locks->n_hot++ : HOT_MAX - 1;
        if (i == HOT_MAX - 1 && locks->hot[i].pid && locks->hot[i].switches > switches)
            return;
        for (; i && locks->hot[i - 1].switches < switches; i--)
            locks->hot[i] = locks->hot[i - 1];
        locks->hot[i].pid = pid;
        locks->hot[i].switches = switches;
        return;
    }
    if (locks->seen++ < locks->turn || locks->turned == PROBED_MAX - HOT_MAX || locks->turn_threads <= 0)
        return;
    locks->turns[locks->turned++] = pid;
    locks->turn_threads -= threads;
}

static void row_add(struct locks *locks, const struct followed *followed) {
    const struct lock_probe *last = &followed->last;
    double sum = 0;
    uint32_t n = followed->probes < WINDOW ? followed->probes : WINDOW;
    char comm[32];
    for (uint32_t i = 0; i < n; i++)
        sum += followed->waiters[i];
    double turns = suspects_turns_pct(&followed->turns);
    uint32_t cycle = followed->cycles >= CYCLES_LEAST ? last->cycle : 0;
    if (!n || (!(sum > 0) && isnan(turns) && !cycle))
        return;
    if (sum > 0 || cycle)
        turns = NAN;
    else
        sum = followed->turns.waiters * n;
    if (proc_read_comm(followed->pid, comm, sizeof(comm))) // it has ended
        return;
    uint32_t slot = table_builder_add(locks->builder);
    table_builder_set_num(locks->builder, slot, PID, followed->pid);
    table_builder_set_text(locks->builder, slot, COMM, text_from(comm));
    table_builder_set_num(locks->builder, slot, WAITERS, sum / n);
    table_builder_set_num(locks->builder, slot, THREADS, last->threads);
    table_builder_set_num(locks->builder, slot, OWNER_KNOWN, last->holder > 0);
    table_builder_set_num(locks->builder, slot, TURNS, turns);
    table_builder_set_num(locks->builder, slot, CYCLE, cycle);
    if (!last->holder)
        return;
    table_builder_set_num(locks->builder, slot, HOLDER_TID, last->holder);
    table_builder_set_text(locks->builder, slot, HOLDER_COMM, text_from(last->holder_comm));
    if (last->holder_in[0])
        table_builder_set_text(locks->builder, slot, HOLDER_IN, text_from(last->holder_in));
}

static void *locks_create(void) {
    struct locks *locks = xcalloc(1, sizeof(*locks));
    locks->builder = table_builder_new(&suspects_locks_table);
    locks->calls = slow_calls_new();
    return locks;
}

static void locks_sample(void *state, struct suspects_sample *sample) {
    struct locks *locks = state;
    locks->sample = sample;
    locks->n_hot = locks->seen = locks->turned = 0;
    locks->turn_threads = TURN_THREADS;
    memset(locks->hot, 0, sizeof(locks->hot));
    suspects_each(sample, process_take, locks);
    locks->turn = locks->turn + locks->turned >= locks->seen ? 0 : locks->turn + locks->turned;
    if (batch_poll(locks, sample->now_ns)) {
        struct batch *batch = xcalloc(1, sizeof(*batch));
        batch_followed(locks, batch, sample->now_ns);
        for (size_t i = 0; i < locks->n_hot; i++)
            batch_add(locks, batch, locks->hot[i].pid, true);
        for (size_t i = 0; i < locks->turned; i++)
            batch_add(locks, batch, locks->turns[i], false);
        batch_start(locks, batch, sample->now_ns);
    }
    table_builder_clear(locks->builder);
    for (size_t i = 0; i < FOLLOWED_MAX; i++)
        if (locks->followed[i].pid)
            row_add(locks, &locks->followed[i]);
    section_table(sample->out, table_builder_seal(locks->builder));
}

static uint32_t locks_drain(void *state, uint64_t now) {
    struct locks *locks = state;
    bool follows = false;
    if (batch_poll(locks, now)) {
        struct batch *batch = xcalloc(1, sizeof(*batch));
        batch_followed(locks, batch, now);
        batch_start(locks, batch, now);
    }
    for (size_t i = 0; i < FOLLOWED_MAX; i++)
        follows |= locks->followed[i].pid;
    return follows ? 200 : 0;
}

static void locks_destroy(void *state) {
    struct locks *locks = state;
    if (locks->batch)
        slow_call_drop(locks->calls, &locks->batch->call);
    slow_calls_free(locks->calls);
    table_builder_free(locks->builder);
    free(locks);
}

const struct suspects_part suspects_locks_part = {
    .create = locks_create, .sample = locks_sample, .drain = locks_drain, .destroy = locks_destroy};
