// The thread that lists names (see the header). It is never waited for: whichever of it and its owner leaves last frees
// what they share.
#include "collectors/name_list.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "model/mem.h"
#include "model/thread.h"

#define LISTERS_MAX 8 // each can hang

struct name_lister {
    const struct name_source *source;
    const struct collect_options *options;
    int fd;               // eventfd
    pthread_mutex_t lock; // of what follows; held for a few instructions
    pthread_cond_t work;
    unsigned users; // the owner and the thread
    bool stop;
    char *text; // the latest that is not taken yet; NULL: none
    uint64_t version;
    struct name_list *answer; // not taken yet; NULL: none
};

static atomic_uint listers;

void name_list_free(struct name_list *list) {
    name_matches_free(&list->matches);
    *list = (struct name_list){.what = NULL};
}

// With the lock held, which it releases.
static void leave(struct name_lister *lister) {
    bool last = --lister->users == 0;
    pthread_mutex_unlock(&lister->lock);
    if (!last)
        return;
    if (lister->answer)
        name_list_free(lister->answer);
    free(lister->answer);
    free(lister->text);
    close(lister->fd);
    pthread_cond_destroy(&lister->work);
    pthread_mutex_destroy(&lister->lock);
    free(lister);
    atomic_fetch_sub(&listers, 1);
}

// With the lock held. Takes the answer, unless there is a newer text already.
static void answer_put(struct name_lister *lister, struct name_list *take) {
    const uint64_t one = 1;
    struct name_list *old = lister->text ? take : lister->answer;
    if (!lister->text) {
        lister->answer = take;
        ssize_t ignored = write(lister->fd, &one, sizeof(one));
        (void)ignored;
    }
    if (old)
        name_list_free(old);
    free(old);
}

static void *lister_main(void *argument) {
    struct name_lister *lister = argument;
    pthread_setname_np(pthread_self(), "ktop-names");
    void *state = lister->source->open(lister->options);
    pthread_mutex_lock(&lister->lock);
    while (!lister->stop) {
        char *text = lister->text;
        if (!text) {
            pthread_cond_wait(&lister->work, &lister->lock);
            continue;
        }
        struct name_list *answer = xcalloc(1, sizeof(*answer));
        uint64_t version = lister->version;
        lister->text = NULL;
        pthread_mutex_unlock(&lister->lock);
        lister->source->complete(state, text, answer);
        answer->version = version;
        free(text);
        pthread_mutex_lock(&lister->lock);
        answer_put(lister, answer);
    }
    pthread_mutex_unlock(&lister->lock);
    lister->source->close(state);
    pthread_mutex_lock(&lister->lock);
    leave(lister);
    return NULL;
}

struct name_lister *name_lister_new(const struct name_source *source, const struct collect_options *options) {
    int fd = atomic_load(&listers) < LISTERS_MAX ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1;
    pthread_t thread;
    if (fd < 0)
        return NULL;
    struct name_lister *lister = xcalloc(1, sizeof(*lister));
    *lister = (struct name_lister){.source = source, .options = options, .fd = fd, .users = 2};
    pthread_mutex_init(&lister->lock, NULL);
    pthread_cond_init(&lister->work, NULL);
    atomic_fetch_add(&listers, 1);
    if (!thread_start(&thread, lister_main, lister)) {
        pthread_detach(thread);
        return lister;
    }
    lister->users--; // of the thread
    name_lister_free(lister);
    return NULL;
}

int name_lister_fd(const struct name_lister *lister) {
    return lister->fd;
}

void name_lister_ask(struct name_lister *lister, uint64_t version, const char *text) {
    pthread_mutex_lock(&lister->lock);
    free(lister->text);
    lister->text = xstrdup(text);
    lister->version = version;
    pthread_cond_signal(&lister->work);
    pthread_mutex_unlock(&lister->lock);
}

bool name_lister_take(struct name_lister *lister, struct name_list *out) {
    uint64_t count;
    pthread_mutex_lock(&lister->lock);
    struct name_list *answer = lister->answer;
    lister->answer = NULL;
    ssize_t ignored = read(lister->fd, &count, sizeof(count));
    (void)ignored;
    pthread_mutex_unlock(&lister->lock);
    if (answer)
        *out = *answer;
    free(answer);
    return answer != NULL;
}

void name_lister_free(struct name_lister *lister) {
    if (!lister)
        return;
    pthread_mutex_lock(&lister->lock);
    lister->stop = true;
    pthread_cond_signal(&lister->work);
    leave(lister);
}
