// The mailboxes between the thread that sends requests and the collectors' threads. Every lock is held for a few
// instructions, never across a callback; the lock of answers is the innermost.
#include "collectors/request.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "model/live.h"
#include "model/mem.h"

struct answer_node {
    struct answer answer;
    struct answer_node *next;
};

int answers_open(struct answer_box *box) {
    *box = (struct answer_box){.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
    box->last = &box->first;
    pthread_mutex_init(&box->lock, NULL);
    return box->fd < 0 ? -errno : 0;
}

void answers_close(struct answer_box *box) {
    struct answer ignored;
    while (answers_take(box, &ignored)) {
    }
    if (box->fd >= 0)
        close(box->fd);
    pthread_mutex_destroy(&box->lock);
}

static void answer_put(struct answer_box *box, const struct answer *answer) {
    struct answer_node *node = xmalloc(sizeof *node);
    const uint64_t one = 1;
    *node = (struct answer_node){*answer, NULL};
    pthread_mutex_lock(&box->lock);
    *box->last = node;
    box->last = &node->next;
    ssize_t ignored = write(box->fd, &one, sizeof one);
    (void)ignored;
    pthread_mutex_unlock(&box->lock);
}

bool answers_take(struct answer_box *box, struct answer *out) {
    pthread_mutex_lock(&box->lock);
    struct answer_node *node = box->first;
    if (node && !(box->first = node->next))
        box->last = &box->first;
    if (!box->first) {
        uint64_t count;
        ssize_t ignored = read(box->fd, &count, sizeof count);
        (void)ignored;
    }
    pthread_mutex_unlock(&box->lock);
    if (node)
        *out = node->answer;
    free(node);
    return node;
}

static bool has_text(const struct request *request) {
    return request->kind == REQUEST_EVENTS || request->kind == REQUEST_PROBES || request->kind == REQUEST_SURVEY ||
           request->kind == REQUEST_FUNCTIONS || request->kind == REQUEST_GRAPH;
}

static void request_free(struct request *request) {
    if (request && has_text(request))
        free((char *)request->text);
    else if (request && request->kind == REQUEST_PIDS)
        free((pid_t *)request->pids.list);
    if (request && request->kind == REQUEST_CODE) {
        free((char *)request->code.symbol);
        free((char *)request->code.object);
    }
    free(request);
}

static struct request *request_copy(const struct request *request) {
    struct request *copy = xmalloc(sizeof *copy);
    *copy = *request;
    if (has_text(request)) {
        copy->text = xstrdup(request->text);
    } else if (request->kind == REQUEST_PIDS) {
        pid_t *list = xcalloc(request->pids.n + 1, sizeof *list);
        for (size_t i = 0; i < request->pids.n; i++)
            list[i] = request->pids.list[i];
        copy->pids.list = list;
    } else if (request->kind == REQUEST_CODE) {
        copy->code.symbol = xstrdup(request->code.symbol);
        copy->code.object = xstrdup(request->code.object);
    }
    return copy;
}

void requests_open(struct request_box *box, const char *collector, struct answer_box *answers) {
    *box = (struct request_box){.collector = collector, .answers = answers};
    pthread_mutex_init(&box->lock, NULL);
}

void requests_close(struct request_box *box) {
    for (size_t i = 0; i < REQUEST_KINDS; i++) {
        request_free(box->slots[i].waiting);
        request_free(box->slots[i].standing);
    }
    pthread_mutex_destroy(&box->lock);
}

static struct answer answer_to(const struct request_box *box, const struct request *request,
                               enum answer_status status) {
    return (struct answer){status, request->kind, request->version, box->collector, "", -1};
}

void requests_put(struct request_box *box, const struct request *request) {
    struct request_slot *slot = &box->slots[request->kind];
    struct request *copy = request_copy(request);
    pthread_mutex_lock(&box->lock);
    struct request *older = slot->waiting;
    slot->waiting = copy;
    slot->version = request->version;
    slot->sent_ns = now_ns();
    // Under the lock: this answer must precede the answer to the newer request.
    if (older)
        answer_put(box->answers, &(struct answer){ANSWER_SUPERSEDED, older->kind, older->version, box->collector,
                                                  "a newer request replaced it", -1});
    pthread_mutex_unlock(&box->lock);
    request_free(older);
}

void requests_late(struct request_box *box, uint64_t now, const char *why) {
    pthread_mutex_lock(&box->lock);
    for (int kind = 0; kind < REQUEST_KINDS; kind++) {
        struct request_slot *slot = &box->slots[kind];
        if (!slot->sent_ns || now < slot->sent_ns + REQUEST_LATE_NS)
            continue;
        struct answer answer = {ANSWER_LATE, kind, slot->version, box->collector, "", -1};
        snprintf(answer.sentence, sizeof answer.sentence, "%s has not answered for %.0f s: it waits for %s",
                 box->collector, (double)(now - slot->sent_ns) / 1e9, why);
        slot->sent_ns = 0;
        answer_put(box->answers, &answer);
    }
    pthread_mutex_unlock(&box->lock);
}

void requests_keep(struct request_box *box, const char *reason) {
    pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < REQUEST_KINDS; i++) {
        struct request_slot *slot = &box->slots[i];
        if (!slot->waiting || !slot->sent_ns)
            continue;
        struct answer answer = answer_to(box, slot->waiting, ANSWER_KEPT);
        snprintf(answer.sentence, sizeof answer.sentence, "%s", reason);
        slot->sent_ns = 0;
        if (!slot->waiting->to_all)
            answer_put(box->answers, &answer);
    }
    pthread_mutex_unlock(&box->lock);
}

// The oldest pending request, removed from its slot, or (again) the oldest accepted one above version `above`; or NULL.
static struct request *next(struct request_box *box, bool again, uint64_t above) {
    struct request *request = NULL;
    pthread_mutex_lock(&box->lock);
    for (size_t i = 0; i < REQUEST_KINDS; i++) {
        struct request *waiting = box->slots[i].waiting, *standing = box->slots[i].standing;
        if (waiting && (!request || waiting->version < request->version))
            request = waiting;
        if (again && standing && standing->version > above && (!request || standing->version < request->version))
            request = standing;
    }
    if (request && request == box->slots[request->kind].waiting)
        box->slots[request->kind].waiting = NULL;
    pthread_mutex_unlock(&box->lock);
    return request;
}

void requests_apply(struct request_box *box, bool again, request_apply *apply, void *context) {
    uint64_t above = 0;
    struct request *request;
    while ((request = next(box, again, above))) {
        struct request_slot *slot = &box->slots[request->kind];
        struct answer answer = answer_to(box, request, ANSWER_DONE);
        bool stood = request == slot->standing;
        above = request->version;
        int error = apply(context, request, &answer);
        if (error) {
            answer.status = ANSWER_REFUSED;
            if (!answer.sentence[0])
                snprintf(answer.sentence, sizeof answer.sentence, "%s: %s", box->collector, strerror(-error));
            if (stood)
                slot->standing = NULL;
            request_free(request);
        } else if (!stood) {
            request_free(slot->standing);
            slot->standing = request;
        }
        pthread_mutex_lock(&box->lock);
        if (slot->version == answer.version)
            slot->sent_ns = 0;
        pthread_mutex_unlock(&box->lock);
        if (error || !stood)
            answer_put(box->answers, &answer);
    }
}
