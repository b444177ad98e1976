// The section "health": the cost of ktop and the state of its collectors, made by the thread that builds frames.
#ifndef MODEL_HEALTH_H
#define MODEL_HEALTH_H

#include "model/frame.h"

extern const struct table_def health_collectors_table; // collector, state, cpu_pct, events_per_s, lost, detail
extern const struct table_def health_history_table;    // pid, history_frames, history_bytes: one row, of ktop itself

// Of the thread that builds frames.
struct health_self {
    uint64_t cpu_ns; // its CPU time in the frame's interval
    size_t history_frames, history_bytes;
    // A collector that ran for a finding (live_hooks.lease).
    struct health_lease {
        const char *collector; // NULL: none
        const char *words;     // for which finding, and at what cost
        bool runs;             // in this frame
    } lease;
};

// The section for this frame, which has its collectors' sections; owned by the caller.
struct section *health_section(const struct frame *frame, const struct health_self *self);

#endif
