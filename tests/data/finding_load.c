// Two threads with known shares of their CPU time: 70 % in json_parse of a library, 20 % in reads of /dev/zero, 10 % in
// the program. Each measures its parts and runs the one that lags most, so the shares do not depend on the machine.
// Ends when its standard input does.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "profile_load.h"

#define UNIT 60000 // iterations of a spin: about 50 us

void json_entry(uint64_t n);

FUNCTION void rest(void) {
    SPIN(UNIT);
}

static int zero_fd;

static void zeros(void) {
    static _Thread_local char buffer[1 << 19];
    ssize_t ignored = read(zero_fd, buffer, sizeof buffer);
    (void)ignored;
}

static double cpu_s(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void *run(void *context) {
    static const double share[] = {0.7, 0.2, 0.1};
    double spent[3] = {0}, before = cpu_s();
    struct pollfd input = {.fd = 0, .events = POLLIN};
    for (unsigned round = 0; round % 1000 || poll(&input, 1, 0) <= 0; round++) {
        int part = 0;
        for (int i = 1; i < 3; i++)
            if (spent[i] / share[i] < spent[part] / share[part])
                part = i;
        if (part == 0)
            json_entry(UNIT);
        else if (part == 1)
            zeros();
        else
            rest();
        double now = cpu_s();
        spent[part] += now - before;
        before = now;
    }
    return context;
}

int main(void) {
    pthread_t thread;
    zero_fd = open("/dev/zero", O_RDONLY);
    pthread_create(&thread, NULL, run, NULL);
    run(NULL);
    pthread_join(thread, NULL);
    return 0;
}
