// Batch. Writes every whole frame of the chosen panes once, in order. A reader that goes away is a normal end; one that
// does not read holds up the writing, never the collectors; and a signal ends the program even then.
#include "tui/batch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/guard.h"
#include "collectors/kernel/tracefs/tracefs.h"
#include "collectors/priority.h"
#include "collectors/runner.h"
#include "model/live.h"
#include "tui/signals.h"

#define WINDOW_MAX 256
#define PIPE_WRITE 4096 // PIPE_BUF: a pipe that polls writable takes that much without blocking
#define FILE_WRITE 65536
#define PATIENCE_MS 1000 // after a signal, for a line that the reader has not taken whole
#define STOP_MS 500

struct batch {
    const struct options *options;
    struct live *live;
    struct runner *runner;
    struct pane *panes[OPTION_PANES_MAX];
    size_t n_panes;
    struct write_info info;
    FILE *out;
    int signal_fd;
    size_t chunk;
    bool stopping;       // a signal came
    int error;           // errno of standard output
    uint64_t written_to; // number of the last frame that was written
    struct priority_budget priority;
    uint64_t written_ns, cpu_ns; // then; of this thread
};

static bool signalled(struct batch *batch) {
    struct signalfd_siginfo info;
    if (read(batch->signal_fd, &info, sizeof info) == sizeof info)
        batch->stopping = true;
    return batch->stopping;
}

// stdio's buffer goes out through here: it waits for the reader, and for signals.
static ssize_t write_out(void *cookie, const char *bytes, size_t size) {
    struct batch *batch = cookie;
    size_t done = 0;
    while (done < size && !batch->error) {
        struct pollfd fds[] = {{STDOUT_FILENO, POLLOUT, 0}, {batch->signal_fd, POLLIN, 0}};
        int ready = poll(fds, batch->stopping ? 1 : 2, batch->stopping ? PATIENCE_MS : -1);
        if (ready < 0 && errno != EINTR) {
            batch->error = errno;
        } else if (ready == 0) {
            batch->error = EINTR;
        } else if (fds[1].revents && !batch->stopping) {
            signalled(batch);
        } else if (fds[0].revents) {
            ssize_t n = write(STDOUT_FILENO, bytes + done, size - done < batch->chunk ? size - done : batch->chunk);
            if (n >= 0)
                done += (size_t)n;
            else if (errno != EINTR && errno != EAGAIN)
                batch->error = errno;
        }
    }
    return batch->error ? 0 : (ssize_t)done;
}

static void write_frame(struct batch *batch, const struct frame *frame) {
    static const struct frame *window[WINDOW_MAX];
    size_t n = history_window(live_history(batch->live), frame->number, window, WINDOW_MAX);
    const struct look look = {.frame = frame, .window = window, .n_window = n, .live = true};
    for (size_t i = 0; i < batch->n_panes && !batch->error; i++)
        pane_write(batch->panes[i], &look, batch->options->format, &batch->info, batch->out);
    fflush(batch->out);
    batch->written_to = frame->number;
    for (size_t i = 0; i < n; i++)
        frame_unref(window[i]);
}

// Every frame since the last one that was written: none is left out because writing took long. Whether there was one.
static bool write_new(struct batch *batch) {
    const struct frame *newest = live_latest(batch->live);
    uint64_t last = newest ? newest->number : 0;
    uint64_t limit = batch->options->iterations, before = batch->written_to;
    while (batch->written_to < last && !batch->error && !batch->stopping && !(limit && batch->written_to >= limit)) {
        const struct frame *frame = history_find(live_history(batch->live), batch->written_to + 1);
        if (!frame)
            break;
        if (frame->number <= batch->written_to) {
            frame_unref(frame);
            break;
        }
        write_frame(batch, frame);
        frame_unref(frame);
    }
    frame_unref(newest);
    return batch->written_to != before;
}

// The collectors measure in time on a machine that has no CPU to spare, and what they measured is written in time: the
// writer has the same place as long as it takes as little, from frame to frame.
static void keep_priority(struct batch *batch) {
    uint64_t now = now_ns(), spent = thread_cpu_ns();
    priority_budget(&batch->priority, spent - batch->cpu_ns, batch->written_ns ? now - batch->written_ns : 0);
    batch->written_ns = now;
    batch->cpu_ns = spent;
}

static void loop(struct batch *batch) {
    uint64_t limit = batch->options->iterations;
    keep_priority(batch);
    while (!batch->stopping && !batch->error && !(limit && batch->written_to >= limit)) {
        struct pollfd fds[] = {{live_fd(batch->live), POLLIN, 0}, {batch->signal_fd, POLLIN, 0}, {STDOUT_FILENO, 0, 0}};
        if (poll(fds, 3, -1) < 0 && errno != EINTR)
            return;
        if (fds[1].revents)
            signalled(batch);
        if (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)) // the reader went away
            batch->error = fds[2].revents & POLLNVAL ? EBADF : EPIPE;
        if (fds[0].revents && write_new(batch))
            keep_priority(batch);
    }
}

static void want(struct batch *batch) {
    const char *names[64];
    size_t n = 0;
    for (size_t i = 0; i < batch->n_panes; i++)
        n = pane_needs(batch->panes[i], true, names, n, 63);
    names[n] = NULL;
    runner_want(batch->runner, names);
}

static int finish(struct batch *batch) {
    if (!batch->error || batch->error == EPIPE || (batch->error == EINTR && batch->stopping))
        return 0;
    fprintf(stderr, "ktop: cannot write to standard output: %s: %s\n", strerror(batch->error),
            batch->error == ENOSPC  ? "free some space, or write to another place"
            : batch->error == EFBIG ? "raise the file size limit (ulimit -f), or write to a pipe"
                                    : "check its destination");
    return 1;
}

static int batch_start(struct batch *batch) {
    batch->live = live_new(batch->options->delay_ns, batch->options->history_bytes);
    batch->runner = runner_new(batch->live, &batch->options->collect);
    want(batch);
    int error = live_start(batch->live);
    if (!error)
        error = runner_start(batch->runner);
    if (error)
        fprintf(stderr, "ktop: cannot start its threads: %s: %s\n", strerror(-error), runner_start_fix(error));
    return error;
}

static void batch_open(struct batch *batch, const struct utsname *machine) {
    struct stat status;
    batch->signal_fd = signals_open((const int[]){0});
    batch->chunk = fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) ? FILE_WRITE : PIPE_WRITE;
    batch->info = (struct write_info){KTOP_VERSION, machine->nodename, machine->release};
    batch->out = fopencookie(batch, "w", (cookie_io_functions_t){.write = write_out});
    if (batch->out)
        setvbuf(batch->out, NULL, _IOFBF, FILE_WRITE);
}

int batch_run(const struct options *options) {
    static struct batch batch; // static: collectors that hang at the end may outlive this function
    struct utsname machine = {0};
    uname(&machine);
    batch = (struct batch){.options = options, .n_panes = options->n_panes};
    if (!panes_open(options, options->panes, batch.n_panes, batch.panes))
        return sort_unknown(options, "none of the chosen panes has");
    if (options->filter_note[0])
        fprintf(stderr, "ktop: --filter: %s\n", options->filter_note);
    batch_open(&batch, &machine);
    ktop_sweep(0, NULL);
    if (!batch.out || batch_start(&batch))
        return 1;
    loop(&batch);
    int hung = runner_stop(batch.runner, STOP_MS);
    live_stop(batch.live);
    guard_stop();
    int status = finish(&batch);
    if (hung)
        return status;
    fclose(batch.out);
    for (size_t i = 0; i < batch.n_panes; i++)
        pane_free(batch.panes[i]);
    runner_free(batch.runner);
    live_free(batch.live);
    return status;
}
