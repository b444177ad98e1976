// The runner: starts every collector's thread, runs it at the live model's ticks, and stops it. The only place that
// creates collector threads (named ktop-NAME, all signals blocked, one poll with a stop eventfd).
#ifndef COLLECTORS_RUNNER_H
#define COLLECTORS_RUNNER_H

#include "collectors/collector.h"
#include "model/live.h"

struct runner;

// A frame with every collector's section, all SECTION_STARTING, with empty tables, series and histograms: the schema
// without data. The runner inserts the same empty sections for collectors that have not delivered yet or could not open
// (then SECTION_UNAVAILABLE, with the reason as a note), so every frame has every table, and views need no other
// schema.
struct frame *runner_blank_frame(void);

// Adds a slot per collector to the live model (before live_start) and starts the threads. `options` must outlive the
// runner.
struct runner *runner_new(struct live *live, const struct collect_options *options);
int runner_start(struct runner *runner); // 0 or -errno
// The fix for an error of live_start or runner_start.
const char *runner_start_fix(int error);
// Which collectors a visible or pinned pane needs now, by name (NULL-terminated); the `always` ones run anyway. A name
// that ends in RUNNER_DETAIL ("system.detail") does not start the collector: it makes it read everything at each
// sample. True: one that did not run starts.
#define RUNNER_DETAIL ".detail"
bool runner_want(struct runner *runner, const char *const *names);
// The collector runs until then (CLOCK_MONOTONIC) although no pane needs it, and delivers its last section at that
// time. That section stays in the frames until the lease is returned: until_ns 0. The frames thread calls this for
// findings.
void runner_lease(struct runner *runner, const char *collector, uint64_t until_ns);
// Sends a request to a collector (NULL: to every one that accepts this kind); see collectors/request.h. Returns its
// version, which each answer carries; 0: no such collector, or it does not accept the kind.
uint64_t runner_request(struct runner *runner, const char *collector, const struct request *request);
int runner_answer_fd(const struct runner *runner);             // readable when an answer is there
bool runner_answer(struct runner *runner, struct answer *out); // false: no more
// Wakes the threads after live_set_delay and live_tick_soon.
void runner_wake(struct runner *runner);
// Stops all threads and waits up to timeout_ms. Returns the number of hung threads; their memory is leaked on purpose.
// Afterwards ktop's state in the kernel is removed except what a hung thread holds: the guard removes that. May be
// called again to join threads that have resumed.
int runner_stop(struct runner *runner, uint32_t timeout_ms);
void runner_free(struct runner *runner);

#endif
