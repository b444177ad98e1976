// Batch. Writes every whole frame of the chosen panes once, in order. A closed pipe is a normal end. A reader that does
// not read delays the writing, never the collectors, and a signal still ends the program.
#include "tui/batch.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/session.h"
#include "model/mem.h"
#include "tui/app.h"
#include "tui/signals.h"
#include "tui/source.h"
#include "views/escape.h"

#define WINDOW_MAX 256
#define PIPE_WRITE 4096 // PIPE_BUF: a pipe that polls writable takes this much without blocking
#define FILE_WRITE 65536
#define PATIENCE_MS 1000 // after a signal: time for the reader to take the rest of a line

struct batch {
    const struct options *options;
    struct source *source; // NULL: a recording
    struct reader *reader; // NULL: this machine
    struct history *history;
    struct pane *panes[OPTION_PANES_MAX];
    size_t n_panes;
    struct write_info info;
    FILE *out;
    int signal_fd;
    size_t chunk;
    bool stopping;       // a signal came
    int error;           // errno of standard output
    int worst;           // severity of a finding so far
    uint64_t written_to; // number of the last frame written
    struct priority_budget priority;
    uint64_t written_ns, cpu_ns; // at that frame; CPU time of this thread
};

static bool signalled(struct batch *batch) {
    struct signalfd_siginfo info;
    if (read(batch->signal_fd, &info, sizeof info) == sizeof info)
        batch->stopping = true;
    return batch->stopping;
}

// stdio writes through this function: it waits for the reader and for signals.
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

// The most severe finding so far.
static void worst_take(struct batch *batch, const struct frame *frame) {
    const struct table *table = frame_table(frame, "findings");
    int severity = table ? table_column(table_def(table), "severity") : -1;
    const union cell *row;
    for (size_t at = 0; severity >= 0 && (row = table_next(table, &at));)
        for (int worse = batch->worst + 1; worse <= SEVERITY_CRITICAL && row[severity].text; worse++)
            if (!strcmp(text_bytes(row[severity].text), severity_name((enum severity)worse)))
                batch->worst = worse;
}

// With --exit-code: 0 if nothing is worse than info.
static int exit_status(const struct batch *batch, int status) {
    if (status || !batch->options->exit_code)
        return status;
    return batch->worst == SEVERITY_CRITICAL ? 4 : batch->worst == SEVERITY_WARNING ? 3 : 0;
}

static void write_frame(struct batch *batch, const struct frame *frame) {
    static const struct frame *window[WINDOW_MAX];
    size_t n = history_window(batch->history, frame->number, window, WINDOW_MAX);
    const struct look look = {.frame = frame, .window = window, .n_window = n, .live = true};
    for (size_t i = 0; i < batch->n_panes && !batch->error; i++)
        pane_write(batch->panes[i], &look, batch->options->format, &batch->info, batch->out);
    fflush(batch->out);
    worst_take(batch, frame);
    batch->stopping |= !batch->reader && trigger_of(frame, "stop");
    batch->written_to = frame->number;
    for (size_t i = 0; i < n; i++)
        frame_unref(window[i]);
}

// Writes every frame since the last one written: a slow write skips none. Returns whether there was one.
static bool write_new(struct batch *batch) {
    const struct frame *newest = batch->source->ops->latest(batch->source);
    uint64_t last = newest ? newest->number : 0;
    uint64_t limit = batch->options->iterations, before = batch->written_to;
    while (batch->written_to < last && !batch->error && !batch->stopping && !(limit && batch->written_to >= limit)) {
        const struct frame *frame = history_find(batch->history, batch->written_to + 1);
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

// On a machine without idle CPU the collectors measure in time; the writer keeps the same priority, so that output is
// in time too, as long as it uses little CPU per frame.
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
        const struct recorder *recorder = batch->source->recorder;
        bool writes = batch->options->action == ACTION_BATCH;
        struct pollfd fds[] = {{writes ? batch->source->fd : -1, POLLIN, 0},
                               {batch->signal_fd, POLLIN, 0},
                               {writes ? STDOUT_FILENO : -1, 0, 0},
                               {recorder && !writes ? recorder_fd(recorder) : -1, POLLIN, 0}};
        if (poll(fds, 4, -1) < 0 && errno != EINTR)
            return;
        if (fds[3].revents)
            return;
        if (fds[1].revents)
            signalled(batch);
        if (fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)) // the reader closed the pipe
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
    batch->source->ops->want(batch->source, names);
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

static bool batch_start(struct batch *batch) {
    const struct options *options = batch->options;
    char why[256], shown[100];
    batch->source = source_live(options);
    batch->history = batch->source->history;
    want(batch);
    if (options->record && !source_record(batch->source, options->record, why, sizeof why)) {
        escape_fit(options->record, 60, shown, sizeof shown);
        fprintf(stderr, "ktop: --record %s: %s\n", shown, why);
        return false;
    }
    int error = batch->source->ops->start(batch->source);
    if (error)
        source_start_failed(error);
    return !error;
}

static void batch_open(struct batch *batch, const struct origin *origin) {
    struct stat status;
    batch->chunk = fstat(STDOUT_FILENO, &status) == 0 && S_ISREG(status.st_mode) ? FILE_WRITE : PIPE_WRITE;
    batch->info = (struct write_info){KTOP_VERSION, origin->host, origin->kernel};
    batch->out = fopencookie(batch, "w", (cookie_io_functions_t){.write = write_out});
    if (batch->out)
        setvbuf(batch->out, NULL, _IOFBF, FILE_WRITE);
}

static void panes_free(struct batch *batch) {
    fclose(batch->out);
    for (size_t i = 0; i < batch->n_panes; i++)
        pane_free(batch->panes[i]);
}

// Reports the end of the recording. A recording to standard output ends silently with its reader.
static int record_finish(struct batch *batch, int status) {
    struct recorder_state state;
    char line[300];
    if (!batch->source->recorder)
        return status;
    source_record_stop(batch->source, &state);
    int failed = source_record_line(batch->options->record, &state, line, sizeof line);
    if (line[0])
        fprintf(stderr, "ktop: %s\n", line);
    return status ? status : failed;
}

static int run_live(struct batch *batch) {
    session_sweep(NULL);
    if (!batch_start(batch)) {
        session_close();
        return 1;
    }
    batch_open(batch, batch->source->origin);
    loop(batch);
    int status = record_finish(batch, finish(batch));
    status = exit_status(batch, status);
    int hung = batch->source->ops->stop(batch->source);
    if (hung)
        return status;
    session_close();
    panes_free(batch);
    source_free(batch->source);
    return status;
}

// Writes every frame of the recording as fast as the reader of the output takes them.
static void replay_loop(struct batch *batch) {
    const struct frame *frame;
    uint64_t written = 0, limit = batch->options->iterations;
    while (!batch->stopping && !batch->error && !(limit && written >= limit) &&
           reader_next(batch->reader, &frame) == READ_FRAME) {
        history_push(batch->history, frame_ref(frame));
        write_frame(batch, frame);
        frame_unref(frame);
        written++;
    }
}

static int replay_finish(struct batch *batch) {
    char shown[100];
    const char *problem = reader_problem(batch->reader);
    uint64_t left_out = reader_left_out(batch->reader);
    int status = finish(batch);
    escape_fit(batch->options->replay, 60, shown, sizeof shown);
    if (problem[0])
        fprintf(stderr, "ktop: --replay %s: %s\n", shown, problem);
    if (left_out)
        fprintf(stderr, "ktop: --replay %s: %llu frames are missing: their writing was too slow\n", shown,
                (unsigned long long)left_out);
    if (reader_unknown(batch->reader))
        fprintf(stderr, "ktop: --replay %s: %zu columns or tables are unknown to this ktop and left out\n", shown,
                reader_unknown(batch->reader));
    return problem[0] ? 1 : status;
}

static int run_replay(struct batch *batch) {
    char why[400];
    bool follow;
    batch->reader = source_reader(batch->options, batch->signal_fd, &follow, why, sizeof why);
    if (!batch->reader) {
        if (why[0])
            fprintf(stderr, "ktop: %s\n", why);
        return why[0] != 0;
    }
    struct mem_account *account = mem_account_new();
    batch->history = history_new(batch->options->history_bytes, account);
    mem_charge(account);
    batch_open(batch, reader_origin(batch->reader));
    replay_loop(batch);
    int status = replay_finish(batch);
    panes_free(batch);
    history_free(batch->history);
    mem_charge(NULL);
    reader_free(batch->reader);
    return exit_status(batch, status);
}

int batch_run(const struct options *options) {
    static struct batch batch; // static: a collector that hangs at the end may outlive this function
    batch = (struct batch){.options = options, .n_panes = options->n_panes};
    if (!panes_open(options, options->panes, batch.n_panes, batch.panes))
        return sort_unknown(options, "none of the chosen panes has");
    if (options->filter_note[0])
        fprintf(stderr, "ktop: --filter: %s\n", options->filter_note);
    batch.signal_fd = signals_open((const int[]){0});
    return options->replay ? run_replay(&batch) : run_live(&batch);
}
