// A stream of kernel events: the part around the raw reader that all event collectors share. It owns a tracefs instance
// with its clock and buffers, resolves formats, sets filters, drains, and counts losses. It enlarges its buffers
// without a gap (stream_grow.h). With a CPU budget, it records time slices only, 1:2 to 1:32, while reading costs more
// than the budget or events are lost; counts must then be scaled. Between slices the events are disabled, not only
// tracing, so traced programs then run at full speed.
//
// A collector calls stream_open in open, stream_drain in drain and sample, stream_frame in sample, stream_close in
// close. One thread owns a stream. Kernel document: Documentation/trace/events.rst.
#ifndef COLLECTORS_STREAM_H
#define COLLECTORS_STREAM_H

#include <stdatomic.h>

#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/ring.h"
#include "collectors/kernel/tracefs/trace_clock.h"

#define STREAM_EVENTS_MAX 32
// Events this young wait for the next drain: an event whose writer was interrupted hides the later ones of its CPU, and
// CPUs are not read at the same moment.
#define STREAM_SETTLE_NS 5000000ull
#define STREAM_BUSY_MS 10   // between two drains while there are events
#define STREAM_IDLE_MS 1000 // and while there are none, where the first event wakes the owner (poll_fd)

struct stream_event {
    const char *system, *name; // of the tracepoint
    bool optional;             // the stream opens without it
    const char *filter;        // in the syntax of its filter file, or NULL
    bool with_self; // ktop's own threads are recorded as well: for the decoder, which must know their children
    struct format_field *fields;
    size_t n_fields; // names are the caller's, the rest is filled in by stream_open
    bool always;     // recorded without being enabled (trace_marker)
    bool present;    // filled in by stream_open, like the id
    uint16_t id;
};

// A thread cannot move to another CPU in less: the order within each thread stays true.
#define STREAM_THREAD_SLACK_NS 500

struct stream_config {
    const char *name;            // of the instance
    const char *what;            // "syscall events": for reasons
    struct stream_event *events; // the caller's; must outlive the stream
    size_t n_events;
    const pid_t *pids; // the kernel records these processes only (n_pids 0: all); must outlive the stream
    size_t n_pids;
    bool children;                // and their descendants
    uint32_t budget_pct;          // of one CPU, for reading; 0: no limit, it never samples
    uint32_t buffer_kib, max_kib; // per CPU, to begin with and at most; 0: according to the machine
    const char *cpus;             // record these only, "0,2-5"; NULL: all
    const char *const *options;   // of the instance, set to 1 where it has them; ends with NULL; NULL: none
    bool mono;                    // the kernel's CLOCK_MONOTONIC instead of the cheapest clock
    bool with_self;               // ktop's threads are not filtered: the decoder needs or ignores them
    bool high_rate; // millions of events a second may come: large buffers from the start where memory allows
    _Atomic(const char *) *waits_for; // set, while opening waits for the kernel, to what it waits for (static); or NULL
    // One of the three. Every event in order of time; runs of a CPU (ring_drain_runs) that overlap by slack_ns; or two
    // CPUs at a time (ring_drain_pairs). The last two may leave ktop's own events out of the number that they return.
    // Times are of stream_clock.
    ring_event_fn on_event;
    ring_run_fn on_run;
    ring_pair_fn on_pair;
    uint64_t slack_ns;
    // Events before and after this time do not belong together: events were lost, or a slice begins. May be NULL.
    void (*on_gap)(void *ctx, uint64_t until_ns);
    // A thread of ktop or its guard: the decoder must ignore it and its children from now on (called repeatedly). With
    // it and without with_self the kernel leaves them out too, except at a high event rate: that filter costs every
    // traced program 17 to 54 ns an event. May be NULL.
    void (*on_self)(void *ctx, pid_t tid);
    void *ctx;
};

struct stream;
struct stream_failure {
    char reason[256], fix[256];
};
// 0, or -errno with the reason and the fix; nothing is left in the kernel then.
int stream_open(const struct stream_config *config, struct stream_failure *failure, struct stream **out);
void stream_close(struct stream *stream); // NULL is allowed

// Hands out what is settled, opens and closes slices, keeps the budget, enlarges buffers. Returns the events.
uint64_t stream_drain(struct stream *stream);
// The same up to that time only, CLOCK_MONOTONIC. leave_ns: see ring_leave.
uint64_t stream_drain_until(struct stream *stream, uint64_t horizon_ns, uint64_t leave_ns);
// After a drain: when the next one is due, in ms, and the descriptor that is readable earlier when events come to a
// stream that had none (-1: none does). most_ms: the longest interval while there are events; the buffers' fill
// shortens it.
uint32_t stream_next_ms(struct stream *stream, uint32_t most_ms);
int stream_poll_fd(const struct stream *stream);
// CLOCK_MONOTONIC: all events before were handed out.
uint64_t stream_reached(const struct stream *stream);

// Records that event of the config from now on, or no longer.
void stream_event_switch(struct stream *stream, size_t event, bool on);

struct stream_frame {
    uint64_t events, lost;
    uint32_t ratio;   // 1: everything was recorded; n: one slice in n (the largest of the frame)
    double scale;     // factor for the frame's counts (1: everything was recorded); NAN: nothing was recorded
    uint64_t on_ns;   // time recorded
    uint64_t upto_ns; // CLOCK_MONOTONIC up to which events were handed out
    bool growing;     // buffers were growing: a loss does not mean that reading is too slow
    uint32_t refused; // failed attempts to switch recording on or off for a slice: the state then stays
    int refused_error;
    bool sees_self;       // ktop's threads are recorded: in this PID namespace their host TIDs are unknown
    uint64_t reason_lost; // cause of sampling: events lost, or
    double reason_pct;    // the CPU time that reading took
};
// Once per frame, after stream_drain: the figures since the last call. The first call discards earlier figures.
void stream_frame(struct stream *stream, struct stream_frame *out);

// Of the events' times. The line bends between drains; the pointer stays good until stream_close.
const struct trace_clock *stream_clock(const struct stream *stream);
// Events that the kernel lost on that CPU since the instance was made: less than before after its buffers grew.
uint64_t stream_cpu_lost(const struct stream *stream, uint32_t cpu);
// CPU IDs are below.
uint32_t stream_cpus(const struct stream *stream);
const char *stream_what(const struct stream *stream);
// Of its instance, for events that are not in the config; valid until the buffers grow.
const char *stream_instance(const struct stream *stream);

// For --doctor: opens the stream, describes it in text, closes it. 0, or -errno with the reason and the fix.
int stream_try(const struct stream_config *config, struct stream_failure *failure, char *text, size_t size);

#endif
