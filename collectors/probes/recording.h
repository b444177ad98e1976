// A set of probes while it is recorded: the stream, and the event path, which counts hits, matches returns with
// entries and copies the newest records. No text, no look-up, no allocation per event. One thread owns it.
#ifndef COLLECTORS_PROBES_RECORDING_H
#define COLLECTORS_PROBES_RECORDING_H

#include "collectors/event_stacks.h"
#include "collectors/kernel/tracefs/event_text.h"
#include "collectors/kernel/tracefs/kept.h"
#include "collectors/kernel/tracefs/own_threads.h"
#include "collectors/probes/pairs.h"
#include "collectors/probes/set.h"
#include "collectors/stream_collector.h"
#include "model/text.h"

#define NO_EVENT 0xff
#define IDS 65536
#define PENDING_MAX 256
#define NOT_PAIRED UINT32_MAX

struct probe_counter {
    uint64_t hits, entries; // of the interval
    uint64_t lost_before;   // up to the last interval
    uint64_t kernel_first;  // the kernel's count when recording began
    double total;
    uint32_t pair;        // of pairs; NOT_PAIRED
    uint8_t event, entry; // of recording.events; NO_EVENT: none, or the probe is refused
    uint32_t high;        // intervals in a row above the bound
    char stopped[96];     // the reason; "": it is recorded
    struct event_format *format;
    const struct text *name, *kind, *where, *spec;
};

struct probe_event {
    uint8_t probe;
    bool entry;
    uint32_t pair;
    uint16_t stack;  // offset of the stack pointer in the record; 0: none
    uint16_t caller; // offset of the return address in the record; 0: none
};

struct recording {
    struct probe_set set;
    struct stream_event events[2 * PROBES_MAX];
    struct format_field fields[2 * PROBES_MAX][2]; // common_pid; the stack pointer or the return address
    struct probe_event infos[2 * PROBES_MAX];
    size_t n_events;
    bool only_pids; // --pid: hits of other processes are not recorded
    struct probe_counter counters[PROBES_MAX];
    struct stream *stream;
    struct pairs *pairs;           // NULL: no return probe
    struct kept *kept[PROBES_MAX]; // of each probe: a frequent one must not displace the hits of a rare one
    uint8_t by_id[IDS];            // index of the event; NO_EVENT: none
    struct event_stacks *stacks;   // NULL: not wanted, or the kernel writes none
    const char *options_set[3];    // of the instance; ends with NULL
    struct own_threads own;
    uint8_t seen[IDS]; // by the low bits of a TID: looked up in this interval
    int32_t pending[PENDING_MAX];
    size_t n_pending;
};

// Takes the set, which is defined, also on failure. 0, or -errno with run->reason and run->fix.
int recording_open(struct probe_set *take_set, const char *instance, struct collector_run *run, struct recording **out);
bool recording_in_file(const struct recording *recording, size_t probe);
void recording_free(struct recording *recording); // removes the probes as well; NULL is allowed
// Once per interval, after the drain: reads the kernel's counts of missed hits.
struct probe_missed {
    double missed, missed_total, kernel; // NAN: unknown
    double in_flight;                    // NAN: no return probe
};
void recording_missed(struct recording *recording, struct probe_missed out[PROBES_MAX]);
// Walks the newest KEPT_RECORDS hits of all probes in the order of time, each probe having an equal share of them; what
// one does not need goes to the others. Start with recording_walk, ends with NULL.
struct recording_walk {
    uint64_t cursors[PROBES_MAX], left_out;
    const struct kept_record *next[PROBES_MAX];
};
void recording_walk(const struct recording *recording, struct recording_walk *walk);
const struct kept_record *recording_next(const struct recording *recording, struct recording_walk *walk);
// The newest `most` of all: how many of each probe, of counts[n].
void recording_shares(const uint64_t *counts, size_t n, uint64_t most, uint64_t *shares);

// Stops probes that were hit above their bound in two intervals in a row, if "!" does not force them. over_budget:
// ktop samples as little as it can and still takes too long; then the most frequent probe is stopped.
void recording_bound(struct recording *recording, double seconds, double scale, bool over_budget);

#endif
