// Frames of a recording.
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/mem.h"
#include "tui/source.h"
#include "views/escape.h"

static int replay_source_start(struct source *source) {
    (void)source; // the thread runs from the start
    return 0;
}

static const struct frame *replay_source_latest(struct source *source) {
    return replay_latest(source->replay);
}

static void replay_source_want(struct source *source, const char *const *collectors) {
    (void)source, (void)collectors; // a recording is what it is: collectors cannot be added
}

static uint64_t replay_source_delay(struct source *source) {
    const struct frame *latest = history_get(source->history, 0);
    uint64_t delay = latest ? latest->end_ns - latest->begin_ns : source->options->delay_ns;
    frame_unref(latest);
    return delay;
}

static void replay_source_set_delay(struct source *source, uint64_t ns) {
    replay_pace(source->replay, ns);
}

static void replay_source_paused(struct source *source, bool paused) {
    replay_pause(source->replay, paused);
}

static bool replay_source_advance(struct source *source, uint64_t frames, struct timespec wall) {
    return frames ? replay_advance(source->replay, frames) : replay_advance_to(source->replay, wall);
}

static int replay_source_stop(struct source *source) {
    (void)source;
    return 0;
}

static void replay_source_free(struct source *source) {
    replay_free(source->replay);
}

struct reader *source_reader(const struct options *options, int stop_fd, bool *follow, char *why, size_t size) {
    char shown[100];
    struct stat status;
    bool input = !strcmp(options->replay, "-");
    escape_fit(options->replay, 60, shown, sizeof shown);
    int fd = input ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(options->replay, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) || S_ISDIR(status.st_mode)) {
        snprintf(why, size, "--replay %s: %s", shown, fd < 0 ? strerror(errno) : "it is a directory, not a file");
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    *follow = !S_ISREG(status.st_mode);
    struct frame *schema = runner_blank_frame();
    struct reader *reader = reader_new(fd, stop_fd, schema);
    frame_unref(schema);
    if (reader_open(reader))
        return reader;
    if (reader_problem(reader)[0])
        snprintf(why, size, "--replay %s: %s", shown, reader_problem(reader));
    else
        why[0] = '\0';
    reader_free(reader);
    return NULL;
}

struct source *source_replay(const struct options *options, char *why, size_t size) {
    static const struct source_ops ops = {replay_source_start,   replay_source_latest,    replay_source_want,
                                          replay_source_delay,   replay_source_set_delay, replay_source_paused,
                                          replay_source_advance, replay_source_stop,      replay_source_free};
    bool follow;
    int error;
    struct reader *reader = source_reader(options, -1, &follow, why, size);
    if (!reader)
        return NULL;
    struct source *source = xcalloc(1, sizeof(*source));
    source->ops = &ops;
    source->options = options;
    source->follow = follow;
    source->replay = replay_start(reader, follow, options->history_bytes, &error);
    source->origin = origin_ref(replay_origin(source->replay));
    source->history = replay_history(source->replay);
    source->fd = replay_fd(source->replay);
    if (options->delay_given)
        replay_pace(source->replay, options->delay_ns);
    if (!error)
        return source;
    snprintf(why, size, "--replay: cannot start its thread: %s", strerror(-error));
    source_free(source);
    return NULL;
}
