// Requests to running collectors: changes by a pane's key or an option. A request is sent from any thread
// (runner_request), waits in the collector's mailbox, and is applied by the collector's own thread (collector.request).
// Each request ends with one final answer: done, refused, or superseded.
//
//   the collector runs             ANSWER_DONE, or ANSWER_REFUSED with a sentence and the place of the error
//   it is not running, or failed   ANSWER_KEPT with the reason; the final answer follows when it has opened
//   it hangs                       ANSWER_LATE after REQUEST_LATE_NS; the final answer follows if it resumes
//   a newer one of the same kind   ANSWER_SUPERSEDED for the older one, if not applied yet
//
// A collector forgets its state when it closes. The last request of each kind that it accepted is applied again after
// each open, without another answer unless it is refused then.
#ifndef COLLECTORS_REQUEST_H
#define COLLECTORS_REQUEST_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "model/code_ask.h"

#define REQUEST_LATE_NS 2000000000ull

enum request_kind {
    REQUEST_THREADS,   // on: rows are threads instead of processes
    REQUEST_EVENTS,    // text: events with their filters
    REQUEST_PROBES,    // text: probes, one a line (collectors/probes/spec.h)
    REQUEST_SURVEY,    // text: a system of tracepoints, whose events are counted for one interval
    REQUEST_FUNCTIONS, // text: functions by name or pattern
    REQUEST_GRAPH,     // text: functions whose call graph is recorded (collectors/functions/graph.h)
    REQUEST_FREQUENCY, // hz: samples a second
    REQUEST_PIDS,      // pids: only these processes; n 0: all
    REQUEST_CODE,      // code: the function whose instructions or line are wanted
    REQUEST_WAKERS,    // on: off-CPU paths go on with the stack of the waker
    REQUEST_KINDS
};

struct request {
    enum request_kind kind;
    uint64_t version; // set when it is sent: grows from request to request
    bool to_all;      // the same; collectors that do not run keep it without an answer
    union {
        bool on;
        const char *text;
        uint32_t hz;
        struct {
            const pid_t *list;
            size_t n;
        } pids;
        struct code_ask code;
    };
};

enum answer_status {
    ANSWER_DONE,
    ANSWER_REFUSED, // the previous setting stays in force
    ANSWER_SUPERSEDED,
    ANSWER_KEPT, // not final
    ANSWER_LATE, // not final
};

struct answer {
    enum answer_status status;
    enum request_kind kind;
    uint64_t version;
    const char *collector; // its name
    char sentence[256];    // the cause, or the current setting; may be empty
    int32_t place;         // offset of the error in the request's text, in bytes; -1: none
};

// ---- the mailbox of answers: one for the runner, read by the thread that sends requests ----

struct answer_box {
    pthread_mutex_t lock;
    int fd; // eventfd, readable when an answer is there
    struct answer_node *first, **last;
};

int answers_open(struct answer_box *box); // 0 or -errno
void answers_close(struct answer_box *box);
bool answers_take(struct answer_box *box, struct answer *out); // false: no more

// ---- the mailbox of one collector: one pending request per kind, so it is bounded while the collector hangs ----

struct request_box {
    const char *collector;
    struct answer_box *answers;
    pthread_mutex_t lock; // of the slots, but for `standing`
    struct request_slot {
        struct request *waiting;
        struct request *standing;  // the last accepted one; the collector's thread only
        uint64_t version, sent_ns; // of the newest unanswered one; sent_ns 0: none
    } slots[REQUEST_KINDS];
};

// Applies a request: 0, or -errno with a sentence and a place in the answer.
typedef int request_apply(void *context, const struct request *request, struct answer *answer);

void requests_open(struct request_box *box, const char *collector, struct answer_box *answers);
void requests_close(struct request_box *box);
// Any thread. The request is deep-copied.
void requests_put(struct request_box *box, const struct request *request);
// Any thread, periodically: answers ANSWER_LATE for requests pending too long. `why`: what the collector waits for.
void requests_late(struct request_box *box, uint64_t now_ns, const char *why);
// The collector's thread. Applies pending requests in sending order; after an open (`again`) also the accepted ones.
void requests_apply(struct request_box *box, bool again, request_apply *apply, void *context);
// The collector's thread: answers ANSWER_KEPT with this reason.
void requests_keep(struct request_box *box, const char *reason);

#endif
