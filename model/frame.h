// A frame: all data of one interval. Immutable, reference-counted; any thread may read it.
#ifndef MODEL_FRAME_H
#define MODEL_FRAME_H

#include <time.h>

#include "model/origin.h"
#include "model/section.h"

#define FRAME_SECTIONS_MAX 32

struct frame {
    uint64_t number;             // 0: provisional, before the first whole interval; then 1, 2, …
    uint64_t begin_ns, end_ns;   // CLOCK_MONOTONIC of the origin: the measured interval
    struct timespec wall;        // CLOCK_REALTIME at end_ns
    const struct origin *origin; // a reference, or NULL (forged frames)
    uint16_t n_sections;
    const struct section *sections[FRAME_SECTIONS_MAX]; // never NULL; one per collector, in the collectors' order
    uint64_t stale_ns[FRAME_SECTIONS_MAX];              // 0: of this interval; else the age of its data
    bool repeated[FRAME_SECTIONS_MAX]; // the same section as in the previous frame: its events are counted
};

const struct frame *frame_ref(const struct frame *frame);
void frame_unref(const struct frame *frame);
double frame_interval_s(const struct frame *frame);
uint64_t frame_lost(const struct frame *frame); // of all sections that are not repeated
bool frame_shared(const struct frame *frame);   // another reference exists (may change at any time)

// By the contract's names, over all sections; NULL or NAN if no section has it. Out parameters may be NULL.
const struct section *frame_section(const struct frame *frame, const char *collector, uint64_t *stale_ns);
const struct table *frame_table(const struct frame *frame, const char *name);
const struct hist_set *frame_hists(const struct frame *frame, const char *name);
const struct tree *frame_tree(const struct frame *frame, const char *name);
// The sum of the trees of that name in n frames, oldest first, from the frame numbered `from` on; owned by the caller.
// A section that several frames show counts once. NULL: no frame has one, or their name tables differ.
struct tree *frames_tree(const struct frame *const *frames, size_t n, uint64_t from, const char *name);
const struct table *frame_stream(const struct frame *frame, const char *name, uint64_t *left_out);
double frame_series(const struct frame *frame, const char *name, const struct series_def **def);
bool frame_has_column(const struct frame *frame, const char *name); // a table or stream has
// True if the previous frame has the same histogram set, stream, table or tree: it must not be counted again.
bool frame_hists_repeated(const struct frame *frame, const char *name);
bool frame_stream_repeated(const struct frame *frame, const char *name);
bool frame_table_repeated(const struct frame *frame, const char *name); // of a table whose rows are reported once
bool frame_tree_repeated(const struct frame *frame, const char *name);

// For tests and the live model: takes over the sections' references.
struct frame *frame_new(uint64_t number, uint64_t begin_ns, uint64_t end_ns, struct timespec wall);
void frame_add_section(struct frame *frame, const struct section *take, uint64_t stale_ns);

#endif
