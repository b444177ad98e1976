// What every collector of kernel events needs around the raw reader: a tracefs instance of its own with its clock and
// buffers, the formats, filters in the kernel, draining about every 10 ms, counting what was lost, and the budget: when
// reading costs more CPU than the user allows (--budget), or events were lost, the stream records time slices only, one
// in 2, 4, ... 32, and says so; counts are then to be scaled. Between slices the events are switched off, not only
// tracing, so that the traced programs have their peace.
//
// A collector calls stream_open in open, stream_drain in drain, stream_drain, stream_frame and stream_notes in sample,
// stream_close in close. One thread owns a stream. Kernel document: Documentation/trace/events.rst.
#ifndef COLLECTORS_STREAM_H
#define COLLECTORS_STREAM_H

#include "collectors/collector.h"
#include "collectors/kernel/tracefs/format.h"
#include "collectors/kernel/tracefs/ring.h"

#define STREAM_BUDGET_PCT 25 // of one CPU, when the user says nothing

struct stream_event {
    const char *system, *name; // of the tracepoint
    bool optional;             // the stream opens without it
    const char *filter;        // in the syntax of its filter file, or NULL
    bool own_too;              // ktop's own threads' as well: tells the decoder of those that they make
    struct format_field *fields;
    size_t n_fields; // names are the caller's, the rest is filled in by stream_open
    bool present;    // filled in by stream_open, like the id
    uint16_t id;
};

// A thread cannot move to another CPU in less: the order within each thread stays true.
#define STREAM_THREAD_SLACK_NS 500

struct stream_config {
    const char *name;            // of the collector, and of the instance
    const char *what;            // "syscall events": for reasons and notes
    const char *by_number;       // what /proc is asked for by the events' numbers of threads: for a note
    struct stream_event *events; // the caller's; must outlive the stream
    size_t n_events;
    const struct collect_options *options; // may be NULL; must outlive the stream
    bool exact_clock; // times must be CLOCK_MONOTONIC's; else a cheaper clock of ns, with stream_mono to convert
    bool only_pids;   // push --pid into the kernel
    bool with_self;   // ktop's own threads come too: who follows the CPUs must see all of them. The decoder hides them
    bool torrent;     // millions of events a second may come: large buffers from the start where memory allows
    // One of the two. Every event in order of time, or runs of a CPU (ring_drain_runs) that overlap by slack_ns: the
    // second may leave events of ktop's own out of what it says it took.
    ring_event_fn on_event;
    ring_run_fn on_run;
    uint64_t slack_ns;
    // Events before it and after it do not belong together: something was lost, or a slice began.
    void (*on_gap)(void *ctx);
    // A thread of ktop's own or its guard's: what it does is not to be counted from now on, nor what its children do
    // (told again and again). With it the kernel need not leave them out, and in a torrent does not: asking that of
    // every event costs all programs 17 to 54 ns each time. May be NULL.
    void (*on_own)(void *ctx, pid_t tid);
    void *ctx;
};

struct stream;
// 0, or -errno with run->reason and run->fix; nothing is left in the kernel then. Sets run->drain_ms.
int stream_open(const struct stream_config *config, struct collector_run *run, struct stream **out);
void stream_close(struct stream *stream); // NULL is allowed
// Hands out what is settled, opens and closes slices, keeps the budget. Sets run->drain_ms. Returns the events.
uint64_t stream_drain(struct stream *stream, struct collector_run *run);

struct stream_frame {
    uint64_t events, lost;
    uint32_t ratio;   // 1: everything was recorded; n: one slice in n (the largest of the frame)
    double scale;     // counts of the frame are to be multiplied by it (1: nothing left out); NAN: nothing was recorded
    uint64_t on_ns;   // recorded for so long
    uint64_t upto_ns; // CLOCK_MONOTONIC up to which events were handed out
    uint32_t grown;   // buffers that were enlarged: the kernel recorded nothing meanwhile
    uint32_t refused; // times that the kernel did not switch recording on or off for a slice: then it stayed as it was
    int refused_error;
    double cpu_pct;       // of one CPU, for reading, in this frame
    bool sees_self;       // nobody leaves ktop's own threads out: the kernel cannot, and there is no on_own
    uint64_t reason_lost; // why it samples: events that were lost, or
    double reason_pct;    // the CPU time that reading took
};
// Once per frame, in sample, after stream_drain: the figures since the last call. The first call forgets what was
// before.
void stream_frame(struct stream *stream, struct collector_run *run, struct stream_frame *out);
// What a person should know about the frame, as notes; sets SECTION_DEGRADED while it samples.
void stream_notes(const struct stream *stream, const struct stream_frame *frame, struct section *out);
// Of a collector whose threads have other numbers than /proc's here: what it does not ask /proc for, therefore.
void stream_note_numbers(const char *by_number, const struct collect_options *options, struct section *out);

// CLOCK_MONOTONIC of a time of the stream's clock (exact with exact_clock, else within about 20 us), and back.
uint64_t stream_mono(const struct stream *stream, uint64_t ts);
uint64_t stream_time(const struct stream *stream, uint64_t mono_ns);

// CPU numbers are below.
uint32_t stream_cpus(const struct stream *stream);

// The line of --doctor: opens it, looks, closes it.
void stream_check(const struct stream_config *config, const char *capability, struct check_report *report);

#endif
