// Stacks of events (--stacks). With the options `stacktrace` and `userstacktrace` of its instance the kernel writes a
// record "kernel_stack" and a record "user_stack" after each event, in the same CPU's buffer. Documents:
// Documentation/trace/ftrace.rst (stacktrace, userstacktrace).
#ifndef COLLECTORS_EVENT_STACKS_H
#define COLLECTORS_EVENT_STACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectors/kernel/tracefs/kept.h"
#include "collectors/kernel/tracefs/ring.h"
#include "model/text.h"

#define STACKS_OPTION "stacktrace"
#define USER_STACKS_OPTION "userstacktrace"
#define USER_STACK_FRAMES 8 // of the kernel

struct event_stacks;
// NULL: this kernel writes no stacks. instance: the directory of one whose options were set; dir: of tracefs.
struct event_stacks *event_stacks_open(const char *instance, const char *dir, uint32_t cpus);
void event_stacks_free(struct event_stacks *stacks); // NULL is allowed; texts may outlive it
bool event_stacks_has(const struct event_stacks *stacks, enum kept_more which);

// The event path. After each event: it is the last one of `kept`, to which its stacks are attached; kept NULL: they are
// not used.
void event_stacks_event(struct event_stacks *stacks, const struct ring_event *event, int32_t tid, struct kept *kept);
// True: the record is a stack, and is attached to its event.
bool event_stacks_record(struct event_stacks *stacks, const struct ring_event *event);
// Whether no stack came for the last event of a CPU: the end of the interval may be between the two. So before its
// events are used, drain again, EVENT_STACKS_DRAINS times at most: the kernel writes none for some events.
#define EVENT_STACKS_DRAINS 3
bool event_stacks_awaited(const struct event_stacks *stacks);
void event_stacks_clear(struct event_stacks *stacks); // after the events of an interval were used

// The functions of the kernel, innermost first, without those of the tracing itself: "bprm_execve <
// do_execveat_common < ...". The symbols are read when a text is first drawn or written, in any thread. NULL: none.
const struct text *event_stacks_text(struct event_stacks *stacks, const struct kept *kept,
                                     const struct kept_record *record);
// Addresses of user code, innermost first. Returns how many; 0: none.
size_t event_stacks_user(const struct event_stacks *stacks, const struct kept *kept, const struct kept_record *record,
                         uint64_t addresses[USER_STACK_FRAMES]);

#endif
