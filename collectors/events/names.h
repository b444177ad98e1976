// Names and processes of threads that events carry, for the rows of one interval. A thread that exited keeps the name
// that it had in an earlier interval. One thread owns it.
#ifndef COLLECTORS_EVENTS_NAMES_H
#define COLLECTORS_EVENTS_NAMES_H

#include "collectors/task_identity.h"

struct event_names;

struct event_names *event_names_new(const char *proc); // as in task_identify
void event_names_free(struct event_names *names);
void event_names_begin(struct event_names *names); // of an interval: threads are looked up again
// Each thread is looked up once per interval. Valid until the next call of any function.
const struct task_identity *event_names_find(struct event_names *names, const struct collect_options *options,
                                             int32_t tid);

#endif
