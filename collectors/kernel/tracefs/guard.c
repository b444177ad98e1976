// The guard process: waits for ktop's exit, then removes ktop's state from the kernel. It must never exit before ktop,
// keep a terminal or a pipe of ktop open, or touch anything of another ktop.
#include "collectors/kernel/tracefs/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collectors/kernel/tracefs/sweep.h"
#include "collectors/kernel/tracefs/tracefs.h"

#define LINK_FD 3 // the guard's descriptors, after everything else is closed
#define TRACE_FD 4
#define BUSY_PASSES 500 // 10 ms apart: an exiting ktop's last descriptors, or another process that reads the instance

static pid_t guard_pid;
// Closed when ktop exits in any way. A hung collector may still check for the guard during exit: it reads only this.
static _Atomic int link_fd = -1;

// The command line in ps: the arguments are in writable memory of the process; proc(5) has the fields.
static void title_set(const char *title) {
    char text[2048];
    unsigned long begin = 0, end = 0;
    int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    if (n > 0) {
        text[n] = '\0';
        char *at = strrchr(text, ')');
        for (int field = 2; at && field < 48; field++)
            at = strchr(at + 1, ' ');
        if (at && sscanf(at, " %lu %lu", &begin, &end) == 2 && begin && end > begin + 1) {
            memset((char *)begin, 0, end - begin);
            snprintf((char *)begin, end - begin, "%s", title);
        }
    }
    prctl(PR_SET_NAME, "ktop-guard");
}

static void text_write(const char *path, const char *text) {
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    ssize_t ignored = write(fd, text, strlen(text)); // best effort: may be not permitted
    (void)ignored;
    close(fd);
}

// A terminal, pipe or pty that the guard kept open would never get EOF or a hangup.
static int files_leave(int link, int trace) {
    int null = open("/dev/null", O_RDWR);
    int high_link = fcntl(link, F_DUPFD, 100), high_trace = fcntl(trace, F_DUPFD, 100);
    if (high_link < 0 || high_trace < 0)
        return -errno;
    for (int fd = 0; fd < 3; fd++)
        if (null >= 0)
            dup2(null, fd);
        else
            close(fd);
    dup2(high_link, LINK_FD);
    dup2(high_trace, TRACE_FD);
    if (close_range(TRACE_FD + 1, ~0u, 0)) // before 5.9
        for (int fd = TRACE_FD + 1, most = (int)sysconf(_SC_OPEN_MAX); fd < most; fd++)
            close(fd);
    return 0;
}

static void guard_wait(void) {
    char byte;
    ssize_t n;
    do
        n = read(LINK_FD, &byte, 1);
    while (n > 0 || (n < 0 && errno == EINTR));
}

static _Noreturn void guard_main(int link, int trace) {
    const struct timespec pause = {.tv_nsec = 10 * 1000 * 1000};
    char where[64], title[64];
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    setsid();
    if (files_leave(link, trace))
        _exit(1);
    snprintf(title, sizeof title, "ktop-guard of %d", ktop_id_self()->pid);
    title_set(title);
    text_write("/proc/self/oom_score_adj", "-1000"); // the one that tidies up after an out-of-memory kill
    if (chdir("/"))
        _exit(1);
    guard_wait();
    snprintf(where, sizeof where, "/proc/self/fd/%d", TRACE_FD);
    for (int passes = 0; passes < BUSY_PASSES; passes++) {
        int left = 0;
        if (sweep_pass(where, ktop_id_self(), NULL, &left) < 0 || left == 0)
            break;
        nanosleep(&pause, NULL);
    }
    _exit(0);
}

int guard_start(void) {
    const char *where = tracing_dir(NULL, NULL);
    if (!where)
        return 0; // without tracefs ktop leaves nothing in the kernel
    char path[600];
    snprintf(path, sizeof path, "%s/instances", where);
    if (faccessat(AT_FDCWD, path, W_OK, AT_EACCESS))
        return 0;
    ktop_id_self(); // before the fork: the guard needs ktop's identity, not its own
    int links[2], trace = tracing_fd();
    if (trace < 0)
        trace = open(where, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (trace < 0)
        return -errno;
    int error = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, links))
        error = -errno;
    if (!error) {
        guard_pid = fork();
        if (guard_pid == 0)
            guard_main(links[1], trace);
        if (guard_pid < 0)
            error = -errno;
        close(links[1]);
        link_fd = links[0];
    }
    if (error && link_fd >= 0) {
        close(link_fd);
        link_fd = -1;
    }
    if (trace != tracing_fd())
        close(trace);
    return error;
}

void guard_stop(void) {
    if (link_fd < 0)
        return;
    shutdown(link_fd, SHUT_WR);
    struct pollfd gone = {.fd = link_fd, .events = POLLIN}; // its end of the pair closes with it
    poll(&gone, 1, 1000);
    close(link_fd);
    link_fd = -1;
    waitpid(guard_pid, NULL, gone.revents ? 0 : WNOHANG);
}

pid_t guard_process(void) {
    return link_fd < 0 ? 0 : guard_pid;
}
