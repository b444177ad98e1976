// One worker processes the queue of queries; each time a worker blocks, another one is started, up to WORKERS_MAX. The
// shared state counts its users and is freed by the last one, so that a blocked worker is never waited for.
#include "collectors/sched/prober.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/live.h"
#include "model/mem.h"

#define HANGS_NS 1000000000ull
#define WORKERS_MAX 4

struct worker {
    struct blocked_prober *prober;
    struct blocked_query query; // in progress since begun_ns; 0: idle
    uint64_t begun_ns;
    bool hangs;
};

struct blocked_prober {
    pthread_mutex_t lock;
    pthread_cond_t work;
    void (*explain)(const char *, const struct blocked_query *, struct blocked_reply *);
    char proc[128];
    unsigned users; // the collector and the live workers
    bool stop;
    struct worker workers[WORKERS_MAX];
    size_t n_workers;
    struct blocked_query queries[BLOCKED_QUERIES_MAX]; // waiting for a worker
    size_t n_queries;
    struct blocked_reply replies[BLOCKED_QUERIES_MAX];
    size_t n_replies;
};

// Releases the lock.
static void leave(struct blocked_prober *prober) {
    bool last = --prober->users == 0;
    pthread_mutex_unlock(&prober->lock);
    if (!last)
        return;
    pthread_cond_destroy(&prober->work);
    pthread_mutex_destroy(&prober->lock);
    free(prober);
}

static void *worker_main(void *argument) {
    struct worker *worker = argument;
    struct blocked_prober *prober = worker->prober;
    struct blocked_reply reply;
    pthread_setname_np(pthread_self(), "ktop-sched-look");
    pthread_mutex_lock(&prober->lock);
    while (!prober->stop && !worker->hangs) { // one that blocked has been replaced
        if (!prober->n_queries) {
            pthread_cond_wait(&prober->work, &prober->lock);
            continue;
        }
        worker->query = prober->queries[0];
        worker->begun_ns = now_ns();
        prober->n_queries--;
        memmove(&prober->queries[0], &prober->queries[1], prober->n_queries * sizeof(prober->queries[0]));
        pthread_mutex_unlock(&prober->lock);
        prober->explain(prober->proc, &worker->query, &reply);
        pthread_mutex_lock(&prober->lock);
        if (!worker->hangs && prober->n_replies < BLOCKED_QUERIES_MAX)
            prober->replies[prober->n_replies++] = reply;
        worker->begun_ns = 0;
    }
    leave(prober);
    return NULL;
}

// Called with the lock held, and with signals blocked, as in every collector thread.
static bool worker_start(struct blocked_prober *prober) {
    pthread_t thread;
    pthread_attr_t attributes;
    if (prober->n_workers == WORKERS_MAX || pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    struct worker *worker = &prober->workers[prober->n_workers];
    *worker = (struct worker){.prober = prober};
    prober->users++;
    bool made = !pthread_create(&thread, &attributes, worker_main, worker);
    pthread_attr_destroy(&attributes);
    prober->n_workers += made;
    prober->users -= !made;
    return made;
}

struct blocked_prober *blocked_prober_new(const char *proc, void (*explain)(const char *, const struct blocked_query *,
                                                                            struct blocked_reply *)) {
    struct blocked_prober *prober = xcalloc(1, sizeof(*prober));
    prober->explain = explain;
    strncpy(prober->proc, proc, sizeof(prober->proc) - 1);
    prober->users = 1;
    pthread_mutex_init(&prober->lock, NULL);
    pthread_cond_init(&prober->work, NULL);
    pthread_mutex_lock(&prober->lock);
    if (!worker_start(prober)) {
        leave(prober);
        return NULL;
    }
    pthread_mutex_unlock(&prober->lock);
    return prober;
}

void blocked_prober_free(struct blocked_prober *prober) {
    if (!prober)
        return;
    pthread_mutex_lock(&prober->lock);
    prober->stop = true;
    pthread_cond_broadcast(&prober->work);
    leave(prober);
}

size_t blocked_prober_room(struct blocked_prober *prober) {
    pthread_mutex_lock(&prober->lock);
    size_t used = prober->n_queries + prober->n_replies;
    for (size_t i = 0; i < prober->n_workers; i++)
        used += prober->workers[i].begun_ns != 0;
    pthread_mutex_unlock(&prober->lock);
    return used < BLOCKED_QUERIES_MAX ? BLOCKED_QUERIES_MAX - used : 0;
}

void blocked_prober_query(struct blocked_prober *prober, const struct blocked_query *queries, size_t n) {
    pthread_mutex_lock(&prober->lock);
    for (size_t i = 0; i < n && prober->n_queries < BLOCKED_QUERIES_MAX; i++)
        prober->queries[prober->n_queries++] = queries[i];
    pthread_cond_signal(&prober->work);
    pthread_mutex_unlock(&prober->lock);
}

size_t blocked_prober_take(struct blocked_prober *prober, struct blocked_reply *out, size_t n, uint64_t now) {
    size_t taken = 0;
    pthread_mutex_lock(&prober->lock);
    for (size_t i = 0; i < prober->n_workers && taken < n; i++) {
        struct worker *worker = &prober->workers[i];
        if (worker->hangs || !worker->begun_ns || now < worker->begun_ns + HANGS_NS)
            continue;
        worker->hangs = true;
        out[taken++] = (struct blocked_reply){.query = worker->query, .hangs = true, .syscall = BLOCKED_NO_SYSCALL};
        worker_start(prober);
    }
    size_t from = 0;
    while (from < prober->n_replies && taken < n)
        out[taken++] = prober->replies[from++];
    prober->n_replies -= from;
    memmove(&prober->replies[0], &prober->replies[from], prober->n_replies * sizeof(prober->replies[0]));
    pthread_mutex_unlock(&prober->lock);
    return taken;
}
