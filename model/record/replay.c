// The replay's thread: decodes one frame ahead and waits until it is due.
#include "model/record/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "model/thread.h"

struct replay {
    struct reader *reader; // the thread's own
    const struct origin *origin;
    struct mem_account *account;
    struct history *history;
    bool follow;
    int fds[2]; // a byte in it: a new frame or the end
    pthread_t thread;

    pthread_mutex_t lock; // guards what follows
    pthread_cond_t wake;
    const struct frame *latest;
    bool paused, stop;
    uint64_t pace_ns, ahead;
    double until; // wall time to skip to; 0: none
    struct replay_state state;
};

static uint64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static double seconds(struct timespec time) {
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void signal_new(struct replay *replay) {
    ssize_t ignored = write(replay->fds[1], "", 1); // a full pipe is readable
    (void)ignored;
}

// With the lock held: waits until the frame is due. False: stopped.
static bool wait_due(struct replay *replay, const struct frame *frame, uint64_t shown_ns, uint64_t end_ns) {
    while (!replay->stop && !replay->follow) {
        uint64_t step = replay->pace_ns                    ? replay->pace_ns
                        : end_ns && frame->end_ns > end_ns ? frame->end_ns - end_ns
                                                           : 0;
        uint64_t due = end_ns ? shown_ns + step : 0;
        if (replay->ahead || replay->until > 0)
            break;
        if (replay->paused && end_ns) { // the first one is always shown
            pthread_cond_wait(&replay->wake, &replay->lock);
        } else if (monotonic_ns() < due) {
            struct timespec when = {(time_t)(due / 1000000000), (long)(due % 1000000000)};
            pthread_cond_timedwait(&replay->wake, &replay->lock, &when);
        } else {
            break;
        }
    }
    return !replay->stop;
}

static void publish(struct replay *replay, const struct frame *take) {
    history_push(replay->history, frame_ref(take));
    pthread_mutex_lock(&replay->lock);
    const struct frame *old = replay->latest;
    replay->latest = take;
    replay->ahead -= replay->ahead > 0;
    if (replay->until > 0 && seconds(take->wall) >= replay->until)
        replay->until = 0;
    bool hurry = replay->ahead || replay->until > 0; // only the last skipped frame is worth drawing
    replay->state.left_out = reader_left_out(replay->reader);
    replay->state.unknown = reader_unknown(replay->reader);
    pthread_mutex_unlock(&replay->lock);
    frame_unref(old);
    if (!hurry)
        signal_new(replay);
}

static void *replay_main(void *argument) {
    struct replay *replay = argument;
    const struct frame *frame;
    uint64_t shown_ns = 0, end_ns = 0;
    pthread_setname_np(pthread_self(), "ktop-replay");
    mem_charge(replay->account);
    while (reader_next(replay->reader, &frame) == READ_FRAME) {
        pthread_mutex_lock(&replay->lock);
        bool go = wait_due(replay, frame, shown_ns, end_ns);
        pthread_mutex_unlock(&replay->lock);
        if (!go) {
            frame_unref(frame);
            return NULL;
        }
        shown_ns = monotonic_ns();
        end_ns = frame->end_ns;
        publish(replay, frame);
    }
    pthread_mutex_lock(&replay->lock);
    replay->state.ended = true;
    replay->state.left_out = reader_left_out(replay->reader);
    snprintf(replay->state.problem, sizeof replay->state.problem, "%s", reader_problem(replay->reader));
    pthread_mutex_unlock(&replay->lock);
    signal_new(replay);
    return NULL;
}

struct replay *replay_start(struct reader *take, bool follow, size_t history_bytes, int *error) {
    struct replay *replay = xcalloc(1, sizeof(*replay));
    pthread_condattr_t monotonic;
    replay->reader = take;
    replay->origin = origin_ref(reader_origin(take));
    replay->follow = follow;
    replay->account = mem_account_new();
    replay->history = history_new(history_bytes, replay->account);
    pthread_mutex_init(&replay->lock, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&replay->wake, &monotonic);
    pthread_condattr_destroy(&monotonic);
    if (pipe2(replay->fds, O_CLOEXEC | O_NONBLOCK))
        replay->fds[0] = replay->fds[1] = -1;
    *error = replay->fds[0] < 0 ? -EMFILE : -thread_start(&replay->thread, replay_main, replay);
    replay->state.ended = *error != 0;
    return replay;
}

static void replay_stop(struct replay *replay) {
    pthread_mutex_lock(&replay->lock);
    replay->stop = true;
    pthread_mutex_unlock(&replay->lock);
    pthread_cond_signal(&replay->wake);
    reader_stop(replay->reader);
    if (replay->thread)
        pthread_join(replay->thread, NULL);
    replay->thread = 0;
}

void replay_free(struct replay *replay) {
    if (!replay)
        return;
    replay_stop(replay);
    reader_free(replay->reader);
    frame_unref(replay->latest);
    history_free(replay->history);
    origin_unref(replay->origin);
    for (int i = 0; i < 2; i++)
        if (replay->fds[i] >= 0)
            close(replay->fds[i]);
    pthread_cond_destroy(&replay->wake);
    pthread_mutex_destroy(&replay->lock);
    free(replay);
}

int replay_fd(const struct replay *replay) {
    return replay->fds[0];
}

const struct frame *replay_latest(struct replay *replay) {
    char bytes[64];
    while (read(replay->fds[0], bytes, sizeof bytes) == sizeof bytes)
        ;
    pthread_mutex_lock(&replay->lock);
    const struct frame *frame = frame_ref(replay->latest);
    pthread_mutex_unlock(&replay->lock);
    return frame;
}

struct history *replay_history(struct replay *replay) {
    return replay->history;
}

const struct origin *replay_origin(const struct replay *replay) {
    return replay->origin;
}

void replay_pause(struct replay *replay, bool paused) {
    pthread_mutex_lock(&replay->lock);
    replay->paused = paused;
    pthread_mutex_unlock(&replay->lock);
    pthread_cond_signal(&replay->wake);
}

void replay_pace(struct replay *replay, uint64_t ns) {
    pthread_mutex_lock(&replay->lock);
    replay->pace_ns = ns;
    pthread_mutex_unlock(&replay->lock);
    pthread_cond_signal(&replay->wake);
}

static bool advance(struct replay *replay, uint64_t frames, double until) {
    pthread_mutex_lock(&replay->lock);
    bool goes = !replay->follow && !replay->state.ended;
    if (goes) {
        replay->ahead += frames;
        replay->until = until > 0 ? until : replay->until;
    }
    pthread_mutex_unlock(&replay->lock);
    pthread_cond_signal(&replay->wake);
    return goes;
}

bool replay_advance(struct replay *replay, uint64_t frames) {
    return advance(replay, frames, 0);
}

bool replay_advance_to(struct replay *replay, struct timespec wall) {
    return advance(replay, 0, seconds(wall));
}

struct replay_state replay_state(const struct replay *shared) {
    struct replay *replay = (struct replay *)shared;
    pthread_mutex_lock(&replay->lock);
    struct replay_state state = replay->state;
    pthread_mutex_unlock(&replay->lock);
    return state;
}
