// Names and processes of threads that events carry, for the rows of one interval. A thread that exited keeps the name
// that it had in an earlier interval. Of threads that exited before they were looked up, the kernel has the names, but
// not the processes (tracefs: saved_cmdlines). One thread owns it.
#ifndef COLLECTORS_EVENT_NAMES_H
#define COLLECTORS_EVENT_NAMES_H

#include "collectors/kernel/tracefs/event_text.h"
#include "collectors/task_identity.h"

struct event_names;

struct event_names *event_names_new(const char *proc); // as in task_identify
void event_names_free(struct event_names *names);
void event_names_begin(struct event_names *names); // of an interval: threads are looked up again
// Each thread is looked up once per interval. Valid until the next call of any function.
const struct task_identity *event_names_find(struct event_names *names, const struct collect_options *options,
                                             int32_t tid);
// The same of a thread whose event says who it is: nothing is read of it. With --children, its ancestors are looked for
// among the threads of events, and then in /proc.
const struct task_identity *event_names_find_as(struct event_names *names, const struct collect_options *options,
                                                int32_t tid, const struct thread_status *status);
// The same, and what was known of the thread is replaced: an exec has changed its name.
const struct task_identity *event_names_learn(struct event_names *names, const struct collect_options *options,
                                              int32_t tid, const struct thread_status *status);
// The thread's name. A new text; NULL: unknown. "swapper" for TID 0, a CPU's idle thread.
const struct text *event_names_text(struct event_names *names, const struct task_identity *identity, int32_t tid);
// The same; some events carry the name. format: of the record; may be NULL.
const struct text *event_names_comm(struct event_names *names, const struct task_identity *identity,
                                    struct event_format *format, const uint8_t *record, uint32_t size, int32_t tid);
// Whether an event of the thread passes -p and -u. by_kernel: -p was applied by the kernel's filter. An event of a
// thread that exited before it was looked up does not pass what is unknown of it, and is counted; that of an idle
// thread passes no user.
bool event_names_passes(struct event_names *names, const struct collect_options *options, int32_t tid,
                        const struct task_identity *identity, bool by_kernel);
// Of the interval: that `what` ("hits") of all users are counted, and how many are not listed because their threads are
// unknown.
void event_names_notes(struct event_names *names, const struct collect_options *options, const char *what,
                       struct section *out);

#endif
