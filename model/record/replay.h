// Replay: a thread (ktop-replay) that reads a recording and delivers its frames at the recorded pace. A file waits
// while the screen is frozen; frames of a pipe are shown as they arrive. Shown frames are kept in a separate history,
// bounded in bytes.
#ifndef MODEL_RECORD_REPLAY_H
#define MODEL_RECORD_REPLAY_H

#include "model/history.h"
#include "model/record/file.h"

struct replay;

// Takes an open reader. `follow`: a pipe. 0 or -errno in *error.
struct replay *replay_start(struct reader *take, bool follow, size_t history_bytes, int *error);
void replay_free(struct replay *replay);

int replay_fd(const struct replay *replay);               // readable at a newer frame, or at the end
const struct frame *replay_latest(struct replay *replay); // clears the fd; a reference, or NULL
struct history *replay_history(struct replay *replay);
const struct origin *replay_origin(const struct replay *replay);

void replay_pause(struct replay *replay, bool paused); // no effect on a pipe
void replay_pace(struct replay *replay, uint64_t ns);  // between frames; 0: as recorded
// Skips ahead, also while paused: that many frames, or to the first one that ends at or after that time. False: end.
bool replay_advance(struct replay *replay, uint64_t frames);
bool replay_advance_to(struct replay *replay, struct timespec wall);

struct replay_state {
    bool ended;
    uint64_t left_out;
    size_t unknown;
    char problem[300]; // "": it is complete
};
struct replay_state replay_state(const struct replay *replay);

#endif
