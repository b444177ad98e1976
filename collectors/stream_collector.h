// Shared by the collectors of kernel events: opens a stream from a collector's run and the user's options, and turns a
// stream's frame into notes.
#ifndef COLLECTORS_STREAM_COLLECTOR_H
#define COLLECTORS_STREAM_COLLECTOR_H

#include "collectors/collector.h"
#include "collectors/kernel/tracefs/stream.h"

// 0, or -errno with run->reason and run->fix. From the options come the processes (with only_pids) and, where the
// config has a budget, the user's; --show-self records ktop's threads as well. Sets run->drain_ms and priority_pct.
int stream_collector_open(const struct stream_config *config, bool only_pids, struct collector_run *run,
                          struct stream **out);
#define STREAM_BUDGET_PCT 25 // of one CPU, the default

// In drain and sample: drains, and sets when to drain next (most_ms: see stream_next_ms).
uint64_t stream_collector_drain(struct stream *stream, struct collector_run *run, uint32_t most_ms);
void stream_collector_next(struct stream *stream, struct collector_run *run, uint32_t most_ms);

// Adds the notes about the frame; sets SECTION_DEGRADED while the stream samples. by_host_pid: what ktop cannot find in
// /proc by host PIDs.
void stream_collector_notes(const struct stream *stream, const struct stream_frame *frame, const char *by_host_pid,
                            const struct collect_options *options, struct section *out);

// The line of --doctor.
void stream_collector_check(const struct stream_config *config, const char *capability, struct check_report *report);

#endif
