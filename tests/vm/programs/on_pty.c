// on_pty SECONDS KEYS COMMAND [ARGUMENT...]: runs a program on an 80x24 pseudo-terminal, with its output on stdout.
// Types one of the KEYS every SECONDS. The exit status is the program's, or 124 if it has not exited 10 s after
// the last key, or 125 if it did not restore the terminal settings.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: on_pty SECONDS KEYS COMMAND [ARGUMENT...]\n");
        return 2;
    }
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    if (master < 0 || grantpt(master) || unlockpt(master)) {
        perror("on_pty: no pseudo-terminal");
        return 1;
    }
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    struct winsize window = {.ws_row = 24, .ws_col = 80};
    struct termios before, after;
    if (slave < 0 || ioctl(slave, TIOCSWINSZ, &window) || tcgetattr(slave, &before)) {
        perror("on_pty: terminal");
        return 1;
    }
    pid_t child = fork();
    if (child == 0) {
        setsid();
        ioctl(slave, TIOCSCTTY, 0);
        dup2(slave, 0), dup2(slave, 1), dup2(slave, 2);
        close(master);
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    double pause = atof(argv[1]), key_at = now() + pause, give_up = key_at + 10;
    const char *key = argv[2];
    int status = -1;
    while (status < 0 && now() < give_up) {
        struct pollfd ready = {.fd = master, .events = POLLIN};
        char buffer[4096];
        ssize_t n = poll(&ready, 1, 20) > 0 ? read(master, buffer, sizeof buffer) : 0;
        if (n > 0)
            fwrite(buffer, 1, (size_t)n, stdout);
        if (*key && now() >= key_at && write(master, key, 1) == 1)
            key++, key_at = now() + pause, give_up = key_at + 10;
        if (n <= 0 && waitpid(child, &status, WNOHANG) != child)
            status = -1;
    }
    if (status < 0) {
        kill(child, SIGKILL);
        return 124;
    }
    if (tcgetattr(slave, &after) || after.c_lflag != before.c_lflag || after.c_iflag != before.c_iflag)
        return 125;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
