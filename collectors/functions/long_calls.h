// The calls that took longer than their limit, each with its arguments and call path. They wait here until their
// symbols were read, so that a frame has them with names. One thread owns it.
#ifndef COLLECTORS_FUNCTIONS_LONG_CALLS_H
#define COLLECTORS_FUNCTIONS_LONG_CALLS_H

#include "collectors/functions/running.h"
#include "model/section.h"

#define LONG_CALLS_MAX 1000 // listed in one interval, the newest

struct long_calls;

struct long_calls *long_calls_new(bool kernel); // kernel: some are of the kernel, whose symbols are read at once
void long_calls_free(struct long_calls *calls); // NULL is allowed
// Takes what the kernel has recorded up to now. Soon after the calls, while their processes live.
void long_calls_drain(struct long_calls *calls, struct running *running);
// The rows of the interval. Returns how many have none: dropped, or more than LONG_CALLS_MAX.
uint64_t long_calls_fill(struct long_calls *calls, struct running *running, struct table_builder *rows);

#endif
