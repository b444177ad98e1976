// History: the last frames, bounded in bytes. One writer (the thread that cuts frames), any reader.
#ifndef MODEL_HISTORY_H
#define MODEL_HISTORY_H

#include "model/frame.h"
#include "model/mem.h"

struct history;

// `account` (closed by history_free; NULL: the process's own) counts the memory of its frames, which max_bytes limits;
// at least the last two frames are always kept.
struct history *history_new(size_t max_bytes, struct mem_account *take_account);
size_t history_bytes(const struct history *history); // now held, including frames under construction
void history_free(struct history *history);
void history_push(struct history *history, const struct frame *take);
// Frames that overlap these spans of time are dropped after all others, unless they are a quarter of all frames. By the
// writer; replaces the spans of the last call.
#define HISTORY_SPANS_MAX 32
struct history_span {
    uint64_t from_ns, to_ns;
};
void history_keep(struct history *history, const struct history_span *spans, size_t n);
size_t history_count(const struct history *history);
// A reference to the frame `back` frames before the newest (0: the newest), or NULL.
const struct frame *history_get(const struct history *history, size_t back);
// By frame number: the frame, or the nearest that is kept, or NULL when empty.
const struct frame *history_find(const struct history *history, uint64_t number);
// The frame that is kept `frames` before (negative) or after the one of that number, or the last one in that direction.
const struct frame *history_step(const struct history *history, uint64_t number, long frames);
// The frame whose interval contains that wall time, or the nearest.
const struct frame *history_at(const struct history *history, struct timespec wall);
// References to up to max frames that end with the one numbered `last`, oldest first (heat maps, trends). They do not
// reach back over frames that were dropped before older ones (history_keep). Returns how many.
size_t history_window(const struct history *history, uint64_t last, const struct frame **out, size_t max);
// References to frames that end in [from_ns, to_ns], oldest first; of more than max, evenly chosen ones. Returns how
// many.
size_t history_between(const struct history *history, uint64_t from_ns, uint64_t to_ns, const struct frame **out,
                       size_t max);

#endif
