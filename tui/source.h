// The source of frames: this machine (the live model and its collectors), or a recording. The main loop uses only this
// interface.
#ifndef TUI_SOURCE_H
#define TUI_SOURCE_H

#include "collectors/runner.h"
#include "model/record/recorder.h"
#include "model/record/replay.h"
#include "tui/options.h"

struct source;

struct source_ops {
    int (*start)(struct source *source);                  // 0 or -errno
    const struct frame *(*latest)(struct source *source); // clears the fd; a reference, or NULL
    void (*want)(struct source *source, const char *const *collectors);
    uint64_t (*delay)(struct source *source);
    void (*set_delay)(struct source *source, uint64_t ns);
    void (*paused)(struct source *source, bool paused); // the screen is frozen or rewound
    // Moves ahead by a number of frames, or (frames 0) to a time. False: no later frame, or they come by themselves.
    bool (*advance)(struct source *source, uint64_t frames, struct timespec wall);
    int (*stop)(struct source *source);  // returns the number of hanging threads: unless 0, nothing may be freed
    void (*free)(struct source *source); // after stop
};

struct source {
    const struct source_ops *ops;
    const struct options *options;
    const struct origin *origin;
    struct history *history;
    int fd;                    // readable at a newer frame, or at the end
    struct live *live;         // NULL: a recording
    struct runner *runner;     // NULL: a recording
    struct recorder *recorder; // of live frames; NULL: none
    struct replay *replay;     // NULL: live
    bool follow;               // the recording comes through a pipe
};

struct source *source_live(const struct options *options);
// Prints why the start of a source's threads failed with -errno, and what to do.
void source_start_failed(int error);
// Opens the recording of --replay and waits for its head. NULL with one line in `why`. Standard input is moved to
// another descriptor, so that the terminal can replace it.
struct source *source_replay(const struct options *options, char *why, size_t size);
// The same without a thread, for batch. stop_fd ends every wait; `why` is then "".
struct reader *source_reader(const struct options *options, int stop_fd, bool *follow, char *why, size_t size);
void source_free(struct source *source);

// Starts recording live frames to a file. False with a sentence in `why`.
bool source_record(struct source *source, const char *path, char *why, size_t size);
// Ends it; *state has the result.
void source_record_stop(struct source *source, struct recorder_state *state);
// One line about the end of a recording; "" if nothing is to report. Returns 0, or the exit status.
int source_record_line(const char *path, const struct recorder_state *state, char *line, size_t size);

#endif
