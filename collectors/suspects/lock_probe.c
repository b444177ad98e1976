// The locks for which the threads of one process wait: the futexes of their futex(2) calls, and the memory there.
// Kernel documents: Documentation/filesystems/proc.rst, locking/robust-futexes.rst; futex(2).
#include <dirent.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "collectors/kernel/proc/file.h"
#include "collectors/kernel/proc/memory.h"
#include "collectors/kernel/proc/thread_walk.h"
#include "collectors/suspects/locks.h"

#ifndef FUTEX_LOCK_PI
enum { FUTEX_WAIT = 0, FUTEX_LOCK_PI = 6, FUTEX_WAIT_BITSET = 9, FUTEX_LOCK_PI2 = 13 };
#endif

#define THREADS_MAX 256  // that are read
#define ADDRESSES_MAX 32 // of futexes
#define CONTENDED 2      // the futex word of a contended lock, by convention (Drepper, "Futexes are tricky")

bool suspects_futex_waits(const struct proc_syscall *call) {
    uint32_t op = (uint32_t)call->args[1] & 127;
    return call->nr == SYS_futex && !call->is_32 &&
           (op == FUTEX_WAIT || op == FUTEX_WAIT_BITSET || op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2);
}

bool suspects_futex_is_lock(const struct proc_syscall *call, const uint32_t words[3],
                            bool (*is_thread)(void *, int32_t), void *context, int32_t *holder) {
    enum { OWNER = 0x3fffffff };
    *holder = (int32_t)(words[0] & OWNER);
    // PI, robust and musl mutexes: the word is the owner's TID and flags.
    if ((words[0] & ~(uint32_t)OWNER) && is_thread(context, *holder))
        return true;
    *holder = 0;
    // The waiters expect a contended lock. An unlock sets it to 0, and the next owner sets it to 1, until a waiter
    // that was woken sets it to contended again.
    if (words[0] > CONTENDED || (uint32_t)call->args[2] != CONTENDED)
        return false;
    if (is_thread(context, (int32_t)words[2])) // of glibc: lock, count, owner
        *holder = (int32_t)words[2];
    return true;
}

// ---- reader-writer locks ----

// pthread_rwlock_t of glibc (struct __pthread_rwlock_arch_t), the same on x86-64 and arm64. Readers and writers wait at
// wrphase and at writers_futex, with FUTEX_USED set.
struct rwlock {
    uint32_t readers, writers, wrphase, writers_futex, pad3, pad4;
    int32_t cur_writer, shared;
};
enum { FUTEX_USED = 2, READER_SHIFT = 3 };

bool suspects_rwlock_is(const struct proc_syscall *call, const uint32_t words[8], bool (*is_thread)(void *, int32_t),
                        void *context, uint32_t threads, int32_t *holder) {
    struct rwlock lock;
    memcpy(&lock, words, sizeof(lock));
    *holder = lock.cur_writer;
    return (call->args[2] | 1) == (FUTEX_USED | 1) && !lock.pad3 && !lock.pad4 &&
           (lock.shared == 0 || lock.shared == 1) && lock.readers >> READER_SHIFT <= threads &&
           lock.writers <= threads && (lock.readers >> READER_SHIFT || lock.writers) &&
           (!lock.cur_writer || is_thread(context, lock.cur_writer));
}

struct address {
    uint64_t at, lock_at; // lock_at: of the lock, which may have several futexes; 0: none
    uint32_t waiters;
    int32_t holder;           // 0: unknown
    struct proc_syscall call; // of the first one
};

struct threads {
    int32_t pid, tids[THREADS_MAX];
    size_t n;
};

static int thread_index(const struct threads *threads, int32_t tid) {
    for (size_t i = 0; i < threads->n; i++)
        if (threads->tids[i] == tid)
            return (int)i;
    return -1;
}

static bool is_thread(void *context, int32_t tid) {
    return thread_index(context, tid) >= 0;
}

static void threads_list(struct threads *threads) {
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/task", threads->pid);
    DIR *folder = opendir(path);
    int32_t tid;
    threads->n = 0;
    while (folder && threads->n < THREADS_MAX && (tid = proc_next_id(folder)) >= 0)
        threads->tids[threads->n++] = tid;
    if (folder)
        closedir(folder);
}

#define NEAR_BYTES 8 // a condition variable has two futexes

static bool is_near(uint64_t a, uint64_t b) {
    return a - b + NEAR_BYTES <= 2 * NEAR_BYTES;
}

void suspects_turns_look(struct lock_turns *turns, const struct lock_probe *probe) {
    if (!probe->n_other && !turns->at)
        return;
    if (probe->n_other && !is_near(probe->other, turns->at) &&
        (turns->looks < LOCK_LOOKS || probe->n_other > turns->waiters))
        *turns = (struct lock_turns){.at = probe->other};
    for (uint32_t i = 0; i < probe->n_other; i++) {
        uint32_t at = 0;
        while (at < turns->n && turns->tids[at] != probe->others[i])
            at++;
        if (at == turns->n && turns->n < LOCK_OTHERS_MAX)
            turns->tids[turns->n++] = probe->others[i];
    }
    // A look without waiters counts too: on a busy machine those whose time-out has ended wait for a CPU.
    if (probe->n_other)
        turns->waiters = probe->n_other;
    uint32_t work = turns->n - probe->n_other;
    bool serial = work == 1 || (probe->timed && work == 2 && turns->n >= 4);
    turns->serial = (turns->serial << 1 | serial) & ((1u << LOCK_LOOKS) - 1);
    turns->looks += turns->looks < LOCK_LOOKS;
}

double suspects_turns_pct(const struct lock_turns *turns) {
    return turns->looks < LOCK_LOOKS ? NAN : 100.0 * __builtin_popcount(turns->serial) / turns->looks;
}

// The threads at the addresses near `at`, which is no lock.
static void others_take(const struct threads *threads, const uint64_t *at_of, const struct address *address,
                        struct lock_probe *out) {
    uint64_t at = address->at;
    uint32_t n = 0;
    for (size_t i = 0; i < threads->n; i++)
        n += at_of[i] && is_near(at_of[i], at);
    if (n < 2 || n <= out->n_other || n > LOCK_OTHERS_MAX)
        return;
    out->other = at;
    out->timed = address->call.args[3] != 0;
    out->n_other = 0;
    for (size_t i = 0; i < threads->n; i++)
        if (at_of[i] && is_near(at_of[i], at))
            out->others[out->n_other++] = threads->tids[i];
}

uint32_t suspects_lock_cycle(const int *next, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uint32_t length = 0;
        int at = (int)i;
        while (at >= 0 && length <= n && (length++, at = next[at]) != (int)i)
            ;
        if (at == (int)i && length > 1)
            return length;
    }
    return 0;
}

// The lock of that futex, and its holder.
static void lock_find(struct threads *threads, struct address *address) {
    static const uint64_t futexes[] = {offsetof(struct rwlock, wrphase), offsetof(struct rwlock, writers_futex)};
    uint32_t words[sizeof(struct rwlock) / 4];
    if (process_memory_read(threads->pid, address->at, words, 12) == 12 &&
        suspects_futex_is_lock(&address->call, words, is_thread, threads, &address->holder)) {
        address->lock_at = address->at;
        return;
    }
    for (size_t i = 0; i < sizeof(futexes) / sizeof(futexes[0]) && !address->lock_at; i++)
        if (process_memory_read(threads->pid, address->at - futexes[i], words, sizeof(words)) == sizeof(words) &&
            suspects_rwlock_is(&address->call, words, is_thread, threads, (uint32_t)threads->n, &address->holder))
            address->lock_at = address->at - futexes[i];
    if (!address->lock_at)
        address->holder = 0;
}

void suspects_lock_probe(int32_t pid, struct lock_probe *out) {
    struct threads threads = {.pid = pid};
    struct address addresses[ADDRESSES_MAX];
    uint64_t at_of[THREADS_MAX] = {0}; // the futex of each thread
    int next[THREADS_MAX];             // the thread that holds it
    size_t n = 0;
    *out = (struct lock_probe){.pid = pid, .hot = out->hot};
    threads_list(&threads);
    for (size_t i = 0; i < threads.n; i++) {
        struct proc_syscall call;
        next[i] = -1;
        if (proc_syscall_read("/proc", threads.tids[i], &call) || !suspects_futex_waits(&call))
            continue;
        size_t at = 0;
        at_of[i] = call.args[0];
        while (at < n && addresses[at].at != call.args[0])
            at++;
        if (at == ADDRESSES_MAX)
            continue;
        if (at == n)
            addresses[n++] = (struct address){.at = call.args[0], .call = call};
        addresses[at].waiters++;
    }
    for (size_t i = 0; i < n; i++)
        lock_find(&threads, &addresses[i]);
    for (size_t i = 0; i < n; i++) {
        uint32_t waiters = 0;
        if (!addresses[i].lock_at)
            others_take(&threads, at_of, &addresses[i], out);
        for (size_t t = 0; t < threads.n; t++)
            if (at_of[t] == addresses[i].at)
                next[t] =
                    addresses[i].lock_at && addresses[i].holder ? thread_index(&threads, addresses[i].holder) : -1;
        for (size_t k = 0; addresses[i].lock_at && k < n; k++)
            waiters += addresses[k].lock_at == addresses[i].lock_at ? addresses[k].waiters : 0;
        if (waiters < 2 || waiters <= out->waiters)
            continue;
        out->waiters = waiters;
        out->holder = addresses[i].holder;
    }
    out->threads = (uint32_t)threads.n;
    out->cycle = suspects_lock_cycle(next, threads.n);
    if (!out->holder)
        return;
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/wchan", out->holder);
    (void)proc_read_comm(out->holder, out->holder_comm, sizeof(out->holder_comm));
    (void)proc_read_line(path, out->holder_in, sizeof(out->holder_in));
    if (!strcmp(out->holder_in, "0"))
        out->holder_in[0] = '\0';
}
