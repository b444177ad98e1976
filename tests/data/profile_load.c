// Functions with known shares of time. All loops are the same, so shares of time are shares of iterations:
//   profile_load shares [SECONDS]   sixty 60 %, thirty (called by a recursion of 40 levels) 30 %, lib_ten 10 %
//   profile_load broken [SECONDS]   one function that uses the frame pointer for something else
// Ends when its standard input does, or after SECONDS of CPU time.
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "profile_load.h"

#define UNIT 5000

FUNCTION void sixty(void) {
    SPIN(6 * UNIT);
}

FUNCTION void thirty(void) {
    SPIN(3 * UNIT);
}

FUNCTION void deep(int levels) {
    if (levels)
        deep(levels - 1);
    else
        thirty();
    __asm__ volatile(""); // no tail call
}

FUNCTION __attribute__((optimize("omit-frame-pointer"))) void no_frame(void) {
#ifdef __x86_64__
    __asm__ volatile("push %%rbp\n\txor %%ebp, %%ebp\n\tmov %0, %%rcx\n1:\tdec %%rcx\n\tjnz 1b\n\tpop %%rbp"
                     :
                     : "i"(40 * UNIT)
                     : "rcx", "memory", "cc");
#else
    SPIN(10 * UNIT);
#endif
}

static int ended(double seconds) {
    struct pollfd fd = {.fd = 0, .events = POLLIN};
    return seconds ? (double)clock() / CLOCKS_PER_SEC > seconds : poll(&fd, 1, 0) > 0;
}

int main(int argc, char **argv) {
    double seconds = argc > 2 ? atof(argv[2]) : 0;
    int broken = argc > 1 && !strcmp(argv[1], "broken");
    while (!ended(seconds))
        for (int i = 0; i < 200; i++) {
            if (broken) {
                no_frame();
                continue;
            }
            sixty();
            deep(40);
            lib_ten(UNIT);
        }
    return 0;
}
