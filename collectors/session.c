// The process's state in the kernel (see the header).
#include "collectors/session.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "collectors/events/choice.h"
#include "collectors/kernel/tracefs/guard.h"
#include "collectors/kernel/tracefs/tracefs.h"

static int sweep_pipe[2] = {-1, -1};

int session_open(void) {
    const char *reason, *fix;
    tracing_dir(&reason, &fix);
    return guard_start();
}

void session_close(void) {
    guard_stop();
}

const char *session_tracing_dir(const char **reason, const char **fix) {
    return tracing_dir(reason, fix);
}

int session_tracepoints(const char *text, char *why, size_t size) {
    const char *dir = tracing_dir(NULL, NULL);
    struct tracepoints list;
    struct choice choice;
    struct choice_error error;
    if (!dir || tracepoints_read(&list, dir))
        return 0;
    int result = choice_resolve(&choice, text, &list, &error);
    if (!result)
        result = choice_check(&choice, text, &error);
    if (result)
        snprintf(why, size, "--tracepoint %s", error.sentence);
    choice_free(&choice);
    tracepoints_free(&list);
    return result;
}

int session_sweep(void (*report)(const char *line)) {
    return ktop_sweep(0, report);
}

static void *sweep_main(void *arg) {
    int removed = ktop_sweep(0, NULL);
    ssize_t ignored = write(sweep_pipe[1], &removed, sizeof(removed));
    (void)ignored;
    return arg;
}

int session_sweep_start(void) {
    pthread_t thread;
    if (pipe2(sweep_pipe, O_CLOEXEC | O_NONBLOCK))
        return -1;
    if (pthread_create(&thread, NULL, sweep_main, NULL)) {
        close(sweep_pipe[0]);
        close(sweep_pipe[1]);
        return -1;
    }
    pthread_setname_np(thread, "ktop-sweep");
    pthread_detach(thread);
    return sweep_pipe[0];
}

int session_sweep_result(int fd) {
    int removed = 0;
    return read(fd, &removed, sizeof(removed)) == sizeof(removed) ? removed : 0;
}
