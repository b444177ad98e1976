// Threads that make calls (see the header). A thread is started when a call finds none that is free, so a call that
// hangs keeps up no other one until SLOW_CALL_THREADS_MAX of them hang.
#include "collectors/kernel/slow_calls.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "collectors/kernel/priority.h"
#include "model/clock.h"
#include "model/mem.h"

#define LEAVE_MS 100
#define STACK_BYTES ((size_t)256 << 10)
#define NS_PER_MS 1000000ull
#define EFFORT_NS 1000000000ull // between checks of the CPU time

struct slow_calls {
    pthread_mutex_t lock;
    pthread_cond_t work, done;         // something is queued; a call is done, or a thread has left
    unsigned users, threads, free_for; // the owner and the threads; free_for: threads that wait for work
    bool stop;
    struct slow_call *first, *last; // the queue
    struct slow_call *running[SLOW_CALL_THREADS_MAX];
    // The owner's thread only.
    uint64_t allowance_ns, refilled_ns; // of waiting
};

struct slow_calls *slow_calls_new(void) {
    struct slow_calls *calls = xcalloc(1, sizeof(*calls));
    pthread_condattr_t monotonic;
    pthread_mutex_init(&calls->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&calls->work, &monotonic);
    pthread_cond_init(&calls->done, &monotonic);
    pthread_condattr_destroy(&monotonic);
    calls->users = 1;
    calls->allowance_ns = SLOW_CALLS_BURST_MS * NS_PER_MS;
    calls->refilled_ns = now_ns();
    return calls;
}

// With the lock held, which it releases.
static void leave(struct slow_calls *calls) {
    bool last = --calls->users == 0;
    pthread_cond_broadcast(&calls->done);
    pthread_mutex_unlock(&calls->lock);
    if (!last)
        return;
    pthread_cond_destroy(&calls->work);
    pthread_cond_destroy(&calls->done);
    pthread_mutex_destroy(&calls->lock);
    free(calls);
}

// False: the time is over.
static bool wait_done(struct slow_calls *calls, uint64_t until) {
    struct timespec at = {.tv_sec = (time_t)(until / 1000000000), .tv_nsec = (long)(until % 1000000000)};
    return !pthread_cond_timedwait(&calls->done, &calls->lock, &at);
}

void slow_calls_free(struct slow_calls *calls) {
    if (!calls)
        return;
    uint64_t until = now_ns() + LEAVE_MS * NS_PER_MS;
    pthread_mutex_lock(&calls->lock);
    calls->stop = true;
    pthread_cond_broadcast(&calls->work);
    while (calls->users > 1 && wait_done(calls, until))
        continue;
    leave(calls);
}

// ---- the threads ----

static struct slow_call *queue_take(struct slow_calls *calls) {
    struct slow_call *call = calls->first;
    if (call && !(calls->first = call->next))
        calls->last = NULL;
    return call;
}

static void call_make(struct slow_calls *calls, struct slow_call *call) {
    size_t at = 0;
    while (calls->running[at])
        at++;
    calls->running[at] = call;
    call->begun_ns = now_ns();
    pthread_mutex_unlock(&calls->lock);
    call->run(call);
    pthread_mutex_lock(&calls->lock);
    calls->running[at] = NULL;
    call->done = true;
    if (call->dropped)
        call->free(call);
    else
        pthread_cond_broadcast(&calls->done);
}

// The priority of a collector, which waits for the call, while the calls use little CPU time.
struct effort {
    struct priority_budget priority;
    uint64_t begin_ns, cpu_ns;
};

static void effort_check(struct effort *effort) {
    uint64_t now = now_ns();
    if (effort->begin_ns && now - effort->begin_ns < EFFORT_NS)
        return;
    uint64_t cpu_ns = thread_cpu_ns();
    priority_budget(&effort->priority, cpu_ns - effort->cpu_ns, effort->begin_ns ? now - effort->begin_ns : 0);
    effort->begin_ns = now;
    effort->cpu_ns = cpu_ns;
}

static void *thread_main(void *argument) {
    struct slow_calls *calls = argument;
    struct effort effort = {.begin_ns = 0};
    pthread_setname_np(pthread_self(), "ktop-reads");
    effort_check(&effort);
    pthread_mutex_lock(&calls->lock);
    while (!calls->stop) {
        struct slow_call *call = queue_take(calls);
        if (call) {
            call_make(calls, call);
            effort_check(&effort);
            continue;
        }
        calls->free_for++;
        pthread_cond_wait(&calls->work, &calls->lock);
        calls->free_for--;
    }
    leave(calls);
    return NULL;
}

static bool thread_start(struct slow_calls *calls) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    if (calls->threads == SLOW_CALL_THREADS_MAX || pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = !pthread_create(&thread, &attributes, thread_main, calls);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    calls->threads += started;
    calls->users += started;
    return started;
}

// ---- the owner ----

static uint64_t allowance(struct slow_calls *calls, uint64_t now) {
    uint64_t most = SLOW_CALLS_BURST_MS * NS_PER_MS;
    uint64_t more = calls->allowance_ns + (now - calls->refilled_ns) / SLOW_CALLS_SHARE;
    calls->allowance_ns = more < most ? more : most;
    calls->refilled_ns = now;
    return calls->allowance_ns < SLOW_CALL_MS * NS_PER_MS ? calls->allowance_ns : SLOW_CALL_MS * NS_PER_MS;
}

bool slow_call_start(struct slow_calls *calls, struct slow_call *call) {
    uint64_t began = now_ns(), until = began + allowance(calls, began);
    call->next = NULL;
    call->done = call->dropped = false;
    call->begun_ns = 0;
    pthread_mutex_lock(&calls->lock);
    if (!calls->free_for && !thread_start(calls) && !calls->threads) {
        pthread_mutex_unlock(&calls->lock);
        call->run(call); // no thread can be had: better late than never
        return call->done = true;
    }
    if (calls->last)
        calls->last->next = call;
    else
        calls->first = call;
    calls->last = call;
    pthread_cond_signal(&calls->work);
    while (!call->done && wait_done(calls, until))
        continue;
    bool done = call->done;
    pthread_mutex_unlock(&calls->lock);
    if (!done) {
        uint64_t waited = now_ns() - began;
        calls->allowance_ns -= waited < calls->allowance_ns ? waited : calls->allowance_ns;
    }
    return done;
}

bool slow_call_done(struct slow_calls *calls, struct slow_call *call) {
    pthread_mutex_lock(&calls->lock);
    bool done = call->done;
    pthread_mutex_unlock(&calls->lock);
    return done;
}

void slow_call_drop(struct slow_calls *calls, struct slow_call *call) {
    pthread_mutex_lock(&calls->lock);
    call->dropped = true;
    bool queued = !call->begun_ns && !call->done;
    if (queued) {
        struct slow_call **at = &calls->first, *before = NULL;
        while (*at && *at != call) {
            before = *at;
            at = &before->next;
        }
        if (*at) {
            *at = call->next;
            calls->last = calls->last == call ? before : calls->last;
        }
    }
    if (queued || call->done)
        call->free(call);
    pthread_mutex_unlock(&calls->lock);
}

size_t slow_calls_hung(struct slow_calls *calls) {
    uint64_t now = now_ns();
    size_t n = 0;
    pthread_mutex_lock(&calls->lock);
    for (size_t i = 0; i < SLOW_CALL_THREADS_MAX; i++)
        n += calls->running[i] && now - calls->running[i]->begun_ns > SLOW_CALL_HUNG_NS;
    pthread_mutex_unlock(&calls->lock);
    return n;
}
