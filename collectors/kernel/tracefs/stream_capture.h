// One tracefs instance of a stream: its buffers, its events, its filters. A stream has one, and a second one while its
// buffers grow. One thread owns a capture.
#ifndef COLLECTORS_STREAM_CAPTURE_H
#define COLLECTORS_STREAM_CAPTURE_H

#include "collectors/kernel/tracefs/ring_pipe.h"
#include "collectors/kernel/tracefs/stream.h"
#include "collectors/kernel/tracefs/stream_self.h"

struct capture {
    const struct stream_config *config; // must outlive the capture
    char dir[256];                      // of the instance; "": none
    bool second;                        // of its two names
    struct ring_pipe *pipe;
    struct ring *ring;
    struct stream_self *self;
    uint32_t enabled; // bit mask of events, by index in the config
};

// The failed step, and its event or file (or "").
struct capture_step {
    const char *step;
    char detail[96];
};

struct capture_size {
    const uint32_t *cpu_kib; // buffers to begin with, of each CPU; NULL: according to the machine
    bool next;               // in addition to an existing one: without a self filter
    bool second;             // under the other one of the two names
};

// Creates the instance with its buffers and filters. No event is enabled. 0 or -errno; close it in either case.
int capture_open(struct capture *capture, const struct stream_config *config, const char *clock,
                 const struct capture_size *size, struct capture_step *failed);
void capture_close(struct capture *capture);

// Enables these events (a bit each) and disables the others, then switches recording on or off. The last step is the
// fast one, so slices have sharp edges. 0, or -errno of a required event: some events may then be unchanged.
int capture_switch(struct capture *capture, uint32_t events, bool on, struct capture_step *failed);
// Only the last step.
int capture_record(const struct capture *capture, bool on);
// Lost events since it was opened, by the kernel's counters and the sub-buffers' marks.
uint64_t capture_lost(struct capture *capture);
// By the marks only: no system call.
uint64_t capture_marks(const struct capture *capture);

#endif
