// The lookers: one thread that works through what is asked, and one more each time that one hangs, up to a few. What
// they share with the collector is counted by its users, and freed by the last: a looker that hangs is never waited
// for.
#include "collectors/sched/look.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "model/live.h"
#include "model/mem.h"

#define HANGS_NS 1000000000ull
#define LOOKERS_MAX 4

struct looker {
    struct sched_look *look;
    struct sched_ask ask; // what it is at, since begun_ns; 0: it waits for work
    uint64_t begun_ns;
    bool hangs;
};

struct sched_look {
    pthread_mutex_t lock;
    pthread_cond_t work;
    void (*explain)(const char *, const struct sched_ask *, struct sched_told *);
    char proc[128];
    unsigned users; // the collector and the lookers that live
    bool stop;
    struct looker lookers[LOOKERS_MAX];
    size_t n_lookers;
    struct sched_ask asks[SCHED_ASKS_MAX]; // asked, not yet begun
    size_t n_asks;
    struct sched_told told[SCHED_ASKS_MAX];
    size_t n_told;
};

// Gives the lock back.
static void leave(struct sched_look *look) {
    bool last = --look->users == 0;
    pthread_mutex_unlock(&look->lock);
    if (!last)
        return;
    pthread_cond_destroy(&look->work);
    pthread_mutex_destroy(&look->lock);
    free(look);
}

static void *looker_main(void *argument) {
    struct looker *looker = argument;
    struct sched_look *look = looker->look;
    struct sched_told told;
    pthread_setname_np(pthread_self(), "ktop-sched-look");
    pthread_mutex_lock(&look->lock);
    while (!look->stop && !looker->hangs) { // one that hung has been replaced
        if (!look->n_asks) {
            pthread_cond_wait(&look->work, &look->lock);
            continue;
        }
        looker->ask = look->asks[0];
        looker->begun_ns = now_ns();
        look->n_asks--;
        memmove(&look->asks[0], &look->asks[1], look->n_asks * sizeof(look->asks[0]));
        pthread_mutex_unlock(&look->lock);
        look->explain(look->proc, &looker->ask, &told);
        pthread_mutex_lock(&look->lock);
        if (!looker->hangs && look->n_told < SCHED_ASKS_MAX)
            look->told[look->n_told++] = told;
        looker->begun_ns = 0;
    }
    leave(look);
    return NULL;
}

// With the lock held. The signals are blocked: the collector's thread, which calls it, has them blocked.
static bool looker_start(struct sched_look *look) {
    pthread_t thread;
    pthread_attr_t attributes;
    if (look->n_lookers == LOOKERS_MAX || pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    struct looker *looker = &look->lookers[look->n_lookers];
    *looker = (struct looker){.look = look};
    look->users++;
    bool made = !pthread_create(&thread, &attributes, looker_main, looker);
    pthread_attr_destroy(&attributes);
    look->n_lookers += made;
    look->users -= !made;
    return made;
}

struct sched_look *sched_look_new(const char *proc,
                                  void (*explain)(const char *, const struct sched_ask *, struct sched_told *)) {
    struct sched_look *look = xcalloc(1, sizeof(*look));
    look->explain = explain;
    strncpy(look->proc, proc, sizeof(look->proc) - 1);
    look->users = 1;
    pthread_mutex_init(&look->lock, NULL);
    pthread_cond_init(&look->work, NULL);
    pthread_mutex_lock(&look->lock);
    if (!looker_start(look)) {
        leave(look);
        return NULL;
    }
    pthread_mutex_unlock(&look->lock);
    return look;
}

void sched_look_free(struct sched_look *look) {
    if (!look)
        return;
    pthread_mutex_lock(&look->lock);
    look->stop = true;
    pthread_cond_broadcast(&look->work);
    leave(look);
}

size_t sched_look_room(struct sched_look *look) {
    pthread_mutex_lock(&look->lock);
    size_t used = look->n_asks + look->n_told;
    for (size_t i = 0; i < look->n_lookers; i++)
        used += look->lookers[i].begun_ns != 0;
    pthread_mutex_unlock(&look->lock);
    return used < SCHED_ASKS_MAX ? SCHED_ASKS_MAX - used : 0;
}

void sched_look_ask(struct sched_look *look, const struct sched_ask *asks, size_t n) {
    pthread_mutex_lock(&look->lock);
    for (size_t i = 0; i < n && look->n_asks < SCHED_ASKS_MAX; i++)
        look->asks[look->n_asks++] = asks[i];
    pthread_cond_signal(&look->work);
    pthread_mutex_unlock(&look->lock);
}

size_t sched_look_take(struct sched_look *look, struct sched_told *out, size_t n, uint64_t now) {
    size_t taken = 0;
    pthread_mutex_lock(&look->lock);
    for (size_t i = 0; i < look->n_lookers && taken < n; i++) {
        struct looker *looker = &look->lookers[i];
        if (looker->hangs || !looker->begun_ns || now < looker->begun_ns + HANGS_NS)
            continue;
        looker->hangs = true;
        out[taken++] = (struct sched_told){.ask = looker->ask, .hangs = true, .syscall = SCHED_NO_SYSCALL};
        looker_start(look);
    }
    size_t from = 0;
    while (from < look->n_told && taken < n)
        out[taken++] = look->told[from++];
    look->n_told -= from;
    memmove(&look->told[0], &look->told[from], look->n_told * sizeof(look->told[0]));
    pthread_mutex_unlock(&look->lock);
    return taken;
}
