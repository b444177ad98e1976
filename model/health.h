// The section "health": what ktop itself costs and how its collectors do, made by the thread that cuts the frames.
#ifndef MODEL_HEALTH_H
#define MODEL_HEALTH_H

#include "model/frame.h"

extern const struct table_def health_collectors_table; // collector, state, cpu_pct, events_per_s, lost, detail
extern const struct table_def health_history_table;    // pid, history_frames, history_bytes: one row, of ktop itself

// What the frames thread knows of itself.
struct health_self {
    uint64_t cpu_ns; // its CPU time in the frame's interval
    size_t history_frames, history_bytes;
};

// The section "health" for this frame (its collectors' sections must be in), owned by the caller.
struct section *health_section(const struct frame *frame, const struct health_self *self);

#endif
