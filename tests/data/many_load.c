// Processes that each map many libraries and burn a little in all of them: many_load PROCESSES LIBRARY... Prints a line
// when all run. Ends with its standard input.
#include <dlfcn.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FUNCTIONS 10

static void burn(int n, char **libraries) {
    const struct timespec pause = {.tv_nsec = 200000000};
    void (**functions)(uint64_t) = calloc((size_t)n * FUNCTIONS, sizeof *functions);
    for (int i = 0; i < n; i++) {
        void *library = dlopen(libraries[i], RTLD_NOW);
        for (int k = 0; k < FUNCTIONS; k++) {
            char name[64];
            snprintf(name, sizeof name, "many_%d_%d", i, k);
            functions[i * FUNCTIONS + k] = library ? (void (*)(uint64_t))dlsym(library, name) : NULL;
            if (!functions[i * FUNCTIONS + k])
                _exit(1);
        }
    }
    if (write(1, ".", 1) != 1)
        _exit(1);
    for (;;) {
        for (int i = 0; i < n * FUNCTIONS; i++)
            functions[i](2000);
        nanosleep(&pause, NULL);
    }
}

int main(int argc, char **argv) {
    if (argc < 3)
        return 2;
    if (!strcmp(argv[1], "burn")) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        burn(argc - 2, argv + 2);
    }
    int processes = atoi(argv[1]);
    argv[1] = "burn";
    for (int i = 0; i < processes; i++) {
        pid_t pid = fork();
        if (!pid)
            execv(argv[0], argv);
        if (pid <= 0)
            return 1;
    }
    struct pollfd in = {.fd = 0, .events = POLLIN};
    poll(&in, 1, -1);
    kill(0, SIGKILL); // its process group is its own
}
