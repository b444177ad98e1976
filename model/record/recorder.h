// Recording: a thread (ktop-record) that writes frames to a file or a pipe. Frames wait in a bounded queue, so a slow
// disk or reader never delays collectors or the screen; dropped frames are counted here and in the file.
#ifndef MODEL_RECORD_RECORDER_H
#define MODEL_RECORD_RECORDER_H

#include "model/frame.h"

#define RECORDER_QUEUE 16 // frames

struct recorder;

// Opens `path` for a recording ("-": standard output): a new file, mode 0600, or an existing recording, which is
// replaced. -1 with a sentence in `why`: what is wrong and what to do.
int recorder_file(const char *path, char *why, size_t size);
// Starts the thread, which closes the fd. `limit`: number of the last frame to record; 0: none. 0 or -errno in *error.
struct recorder *recorder_start(int take_fd, const struct origin *origin, uint64_t limit, int *error);
// One thread, in the order of the frames. Takes a reference; never waits.
void recorder_put(struct recorder *recorder, const struct frame *frame);
// Ends the recording; first writes the queue, for at most wait_ms. Then call recorder_free.
void recorder_stop(struct recorder *recorder, unsigned wait_ms);
void recorder_free(struct recorder *recorder);

// Any thread, at any time.
struct recorder_state {
    uint64_t frames, bytes, left_out;
    int error; // errno that ended it; 0: none
    bool done; // the frame `limit` is written, or an error ended it
};
struct recorder_state recorder_state(const struct recorder *recorder);
int recorder_fd(const struct recorder *recorder); // readable when `done` is set
// The fix for an error of a recording: "make room, or ..." for ENOSPC.
const char *recorder_fix(int error);

#endif
