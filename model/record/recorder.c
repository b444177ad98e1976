// The recorder. Its lock is held for pointer work only; encoding, compression and write() run outside of it.
#include "model/record/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "model/mem.h"
#include "model/record/file.h"
#include "model/thread.h"

struct recorder {
    int fd;
    bool regular; // a regular file
    uint64_t limit;
    const struct origin *origin;
    pthread_t thread;
    int stop_pipe[2]; // closing the write end ends a wait for a full pipe
    int done_pipe[2]; // the thread closes its write end when done

    pthread_mutex_t lock; // guards what follows
    pthread_cond_t wake, ended;
    const struct frame *queue[RECORDER_QUEUE];
    uint64_t before[RECORDER_QUEUE]; // frames left out before that one
    size_t first, n;
    uint64_t left_out_now; // since the last frame that was queued
    struct recorder_state state;
    bool stop, gone;
};

// ---- the file ----

static int refuse(int fd, char *why, size_t size, const char *reason) {
    snprintf(why, size, "%s", reason);
    if (fd >= 0)
        close(fd);
    return -1;
}

static int old_file(const char *path, char *why, size_t size) {
    uint8_t head[RECORD_HEAD_SIZE];
    struct stat status;
    // O_NONBLOCK: a FIFO without a reader must not hang.
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return refuse(fd, why, size, errno == ELOOP ? "it is a symbolic link: name the file itself" : strerror(errno));
    if (fstat(fd, &status))
        return refuse(fd, why, size, strerror(errno));
    if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode))
        return fd;
    if (!S_ISREG(status.st_mode))
        return refuse(fd, why, size, "it is neither a file nor a pipe: choose another name");
    ssize_t n = pread(fd, head, sizeof head, 0);
    if (status.st_size && (n < 0 || !record_head_ok(head, (size_t)n)))
        return refuse(fd, why, size, "it exists and is not a ktop recording: choose another name, or remove it");
    if (status.st_uid != geteuid() || status.st_nlink != 1)
        return refuse(fd, why, size, "it belongs to another user or has several names: choose another name");
    if (fchmod(fd, 0600) || ftruncate(fd, 0))
        return refuse(fd, why, size, strerror(errno));
    return fd;
}

int recorder_file(const char *path, char *why, size_t size) {
    if (!strcmp(path, "-")) {
        int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
        return fd >= 0 ? fd : refuse(fd, why, size, strerror(errno));
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        return fd;
    return errno == EEXIST ? old_file(path, why, size) : refuse(fd, why, size, strerror(errno));
}

const char *recorder_fix(int error) {
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "make room, or record to another file system";
    case EFBIG:
        return "raise the limit of the size of files (ulimit -f), or record to a pipe";
    case EPIPE:
        return "its reader closed the pipe";
    default:
        return "check its destination";
    }
}

// ---- the thread ----

// A regular file takes a record in one write(). A pipe or terminal takes what fits without blocking, so that
// recorder_stop can end the wait for a stalled reader.
static int write_all(struct recorder *recorder, const struct sink *bytes) {
    for (size_t done = 0; done < bytes->n;) {
        size_t size = bytes->n - done;
        struct pollfd fds[] = {{recorder->fd, POLLOUT, 0}, {recorder->stop_pipe[0], 0, 0}};
        if (!recorder->regular && poll(fds, 2, -1) > 0 && fds[1].revents && !(fds[0].revents & POLLOUT))
            return EINTR;
        if (!recorder->regular && size > PIPE_BUF)
            size = PIPE_BUF;
        ssize_t n = write(recorder->fd, bytes->bytes + done, size);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR && errno != EAGAIN)
            return errno;
    }
    return 0;
}

static int write_record(struct recorder *recorder, struct packer *packer, struct sink *content, struct sink *out) {
    int error = pack_record(packer, content, out) ? write_all(recorder, out) : EFBIG;
    uint64_t size = out->n;
    content->n = out->n = 0;
    if (!error) {
        pthread_mutex_lock(&recorder->lock);
        recorder->state.bytes += size;
        pthread_mutex_unlock(&recorder->lock);
    }
    return error;
}

// The oldest frame of the queue; NULL at the end. Waits.
static const struct frame *frame_take(struct recorder *recorder, uint64_t *left_out) {
    pthread_mutex_lock(&recorder->lock);
    while (!recorder->n && !recorder->stop)
        pthread_cond_wait(&recorder->wake, &recorder->lock);
    const struct frame *frame = NULL;
    if (recorder->n) {
        frame = recorder->queue[recorder->first];
        *left_out = recorder->before[recorder->first];
        recorder->first = (recorder->first + 1) % RECORDER_QUEUE;
        recorder->n--;
    }
    pthread_mutex_unlock(&recorder->lock);
    return frame;
}

static void done_set(struct recorder *recorder, int error) {
    pthread_mutex_lock(&recorder->lock);
    recorder->state.error = error;
    recorder->state.done = true;
    pthread_mutex_unlock(&recorder->lock);
    close(recorder->done_pipe[1]);
    recorder->done_pipe[1] = -1;
}

static int frames_write(struct recorder *recorder, struct packer *packer, struct sink *content, struct sink *out) {
    struct encoder *encoder = encoder_new();
    const struct frame *frame;
    uint64_t left_out;
    int error = 0;
    while (!error && (frame = frame_take(recorder, &left_out))) {
        encode_frame(encoder, frame, left_out, content);
        error = write_record(recorder, packer, content, out);
        bool last = recorder->limit && frame->number >= recorder->limit;
        frame_unref(frame);
        pthread_mutex_lock(&recorder->lock);
        recorder->state.frames += !error;
        pthread_mutex_unlock(&recorder->lock);
        if (last)
            break;
    }
    encoder_free(encoder);
    return error;
}

static void *recorder_main(void *argument) {
    struct recorder *recorder = argument;
    struct packer *packer = packer_new();
    struct sink content = {0}, out = {0};
    pthread_setname_np(pthread_self(), "ktop-record");
    pack_head(&out);
    encode_origin(recorder->origin, &content);
    int error = write_record(recorder, packer, &content, &out);
    if (!error)
        error = frames_write(recorder, packer, &content, &out);
    struct recorder_state state = recorder_state(recorder);
    if (!error) {
        encode_end(state.frames, state.left_out, &content);
        error = write_record(recorder, packer, &content, &out);
    }
    close(recorder->fd);
    sink_free(&content);
    sink_free(&out);
    packer_free(packer);
    done_set(recorder, error);
    pthread_mutex_lock(&recorder->lock);
    recorder->gone = true;
    pthread_cond_signal(&recorder->ended);
    pthread_mutex_unlock(&recorder->lock);
    return NULL;
}

// ---- the callers' side ----

struct recorder *recorder_start(int take_fd, const struct origin *origin, uint64_t limit, int *error) {
    struct recorder *recorder = xcalloc(1, sizeof(*recorder));
    pthread_condattr_t monotonic;
    struct stat status;
    recorder->fd = take_fd;
    recorder->regular = fstat(take_fd, &status) == 0 && S_ISREG(status.st_mode);
    recorder->limit = limit;
    recorder->origin = origin_ref(origin);
    pthread_mutex_init(&recorder->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&recorder->wake, NULL);
    pthread_cond_init(&recorder->ended, &monotonic);
    pthread_condattr_destroy(&monotonic);
    recorder->stop_pipe[0] = recorder->stop_pipe[1] = recorder->done_pipe[0] = recorder->done_pipe[1] = -1;
    *error = pipe2(recorder->stop_pipe, O_CLOEXEC) || pipe2(recorder->done_pipe, O_CLOEXEC) ? errno : 0;
    if (!*error)
        *error = thread_start(&recorder->thread, recorder_main, recorder);
    *error = -*error;
    if (!*error)
        return recorder;
    close(take_fd);
    recorder->gone = true;
    recorder->stop = true;
    recorder_free(recorder);
    return NULL;
}

void recorder_put(struct recorder *recorder, const struct frame *frame) {
    if (recorder->limit && frame->number > recorder->limit)
        return;
    pthread_mutex_lock(&recorder->lock);
    bool ended = recorder->state.done || recorder->stop;
    if (!ended && recorder->n == RECORDER_QUEUE) {
        recorder->left_out_now++;
        recorder->state.left_out++;
    } else if (!ended) {
        size_t at = (recorder->first + recorder->n++) % RECORDER_QUEUE;
        recorder->queue[at] = frame_ref(frame);
        recorder->before[at] = recorder->left_out_now;
        recorder->left_out_now = 0;
    }
    pthread_mutex_unlock(&recorder->lock);
    pthread_cond_signal(&recorder->wake);
}

void recorder_stop(struct recorder *recorder, unsigned wait_ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += wait_ms / 1000;
    until.tv_nsec += (long)(wait_ms % 1000) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&recorder->lock);
    recorder->stop = true;
    pthread_cond_signal(&recorder->wake);
    while (!recorder->gone && !pthread_cond_timedwait(&recorder->ended, &recorder->lock, &until))
        ;
    pthread_mutex_unlock(&recorder->lock);
    if (recorder->stop_pipe[1] >= 0)
        close(recorder->stop_pipe[1]);
    recorder->stop_pipe[1] = -1;
}

void recorder_free(struct recorder *recorder) {
    if (!recorder)
        return;
    pthread_mutex_lock(&recorder->lock);
    bool gone = recorder->gone;
    pthread_mutex_unlock(&recorder->lock);
    if (!gone) { // hangs in the kernel: it may still use its memory
        pthread_detach(recorder->thread);
        return;
    }
    if (recorder->thread)
        pthread_join(recorder->thread, NULL);
    for (; recorder->n; recorder->n--, recorder->first = (recorder->first + 1) % RECORDER_QUEUE)
        frame_unref(recorder->queue[recorder->first]);
    for (int i = 0; i < 2; i++) {
        if (recorder->stop_pipe[i] >= 0)
            close(recorder->stop_pipe[i]);
        if (recorder->done_pipe[i] >= 0)
            close(recorder->done_pipe[i]);
    }
    origin_unref(recorder->origin);
    pthread_cond_destroy(&recorder->wake);
    pthread_cond_destroy(&recorder->ended);
    pthread_mutex_destroy(&recorder->lock);
    free(recorder);
}

struct recorder_state recorder_state(const struct recorder *shared) {
    struct recorder *recorder = (struct recorder *)shared;
    pthread_mutex_lock(&recorder->lock);
    struct recorder_state state = recorder->state;
    pthread_mutex_unlock(&recorder->lock);
    return state;
}

int recorder_fd(const struct recorder *recorder) {
    return recorder->done_pipe[0];
}
