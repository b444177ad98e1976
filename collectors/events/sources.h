// What the collector `events` records beside its stream of tracepoints: arguments of programs that are started
// (exec_args.h), the lives of these programs (lives.h), and system calls with their arguments (calls.h). Calls with a
// relative path wake the thread soon after, while the task still runs. One thread owns it.
#ifndef COLLECTORS_EVENTS_SOURCES_H
#define COLLECTORS_EVENTS_SOURCES_H

#include "collectors/collector.h"
#include "collectors/event_names.h"
#include "collectors/events/choice.h"
#include "collectors/kernel/tracefs/stream.h"

// A system call, as bytes for sources_call_row. event: index in the choice.
struct source_call {
    uint64_t ns; // CLOCK_MONOTONIC
    uint32_t cpu;
    uint8_t event;
    const uint8_t *bytes;
    uint32_t size;
};
typedef void source_call_fn(void *context, const struct source_call *call);

struct sources;
// For a choice whose stream is open: `events` are the stream's. on_call: for each call, in sources_drain.
struct sources *sources_open(const struct choice *choice, const struct stream_event *events, struct event_names *names,
                             const struct collect_options *options, source_call_fn *on_call, void *context);
void sources_close(struct sources *sources);   // NULL is allowed
int sources_fd(const struct sources *sources); // readable: drain; -1: there is no source
// Also every SOURCES_DRAIN_MS: calls without a relative path do not wake the thread.
#define SOURCES_DRAIN_MS 50
void sources_drain(struct sources *sources);

// The threads of that event of the choice need no look-up: a BPF program reports their names.
bool sources_names(const struct sources *sources, size_t event);
// An event of the choice is a system call, and is recorded.
bool sources_has_call(const struct sources *sources, size_t event);
// Fills the row of a call.
void sources_call_row(struct sources *sources, struct table_builder *rows, uint32_t slot, const uint8_t *bytes);
// Adds what is known of a tracepoint's event at that time (CLOCK_MONOTONIC).
void sources_row(struct sources *sources, struct table_builder *rows, uint32_t slot, size_t event, int32_t tid,
                 uint64_t ns);
// Once per interval, after the rows. Returns the events that were not recorded in it.
uint64_t sources_sample(struct sources *sources, int64_t wall_ns, struct section *out);

// The line of --doctor.
void sources_check(struct check_report *report);

#endif
