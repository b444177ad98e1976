// What the programs of this folder share: each runs its parts in turn until its standard input ends, then prints the
// CPU time of its thread, in all and in each part: "NAME NANOSECONDS". The lengths of the turns vary, so that they
// never keep step with a sampling clock; their ratio does not.
#ifndef TESTS_PROFILE_PARTS_H
#define TESTS_PROFILE_PARTS_H

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "../profile_load.h"

struct part {
    const char *name;
    void (*run)(uint64_t turns);
    unsigned weight;
    uint64_t ns;
};

static inline uint64_t cpu_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

// The CPU time in all.
static inline uint64_t parts_run(struct part *parts, unsigned n) {
    struct pollfd in = {0, POLLIN, 0};
    uint64_t random = 88172645463325252u, begin = cpu_ns();
    puts("ready");
    fflush(stdout);
    while (poll(&in, 1, 0) != 1) {
        random ^= random << 13; // xorshift
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t turns = 40000 + random % 80000;
        for (unsigned i = 0; i < n; i++) {
            if (!parts[i].run)
                continue;
            uint64_t before = cpu_ns();
            parts[i].run(turns * parts[i].weight);
            parts[i].ns += cpu_ns() - before;
        }
    }
    return cpu_ns() - begin;
}

static inline void parts_print(const struct part *parts, unsigned n, uint64_t total) {
    printf("total %llu\n", (unsigned long long)total);
    for (unsigned i = 0; i < n; i++)
        printf("%s %llu\n", parts[i].name, (unsigned long long)parts[i].ns);
}

#endif
