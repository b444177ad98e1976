// The threads of ktop, whose events a decoder leaves out (stream_config.on_self). One thread owns it; zeroed: empty.
#ifndef COLLECTORS_KERNEL_TRACEFS_OWN_THREADS_H
#define COLLECTORS_KERNEL_TRACEFS_OWN_THREADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define OWN_THREADS_SLOTS 65536

struct own_threads {
    uint8_t at[OWN_THREADS_SLOTS]; // by the low bits of a TID: 1 + index in tids; 0: none
    pid_t tids[255];
    size_t n;
};

// Of two threads with equal low bits the later one is known.
static inline void own_threads_add(struct own_threads *own, pid_t tid) {
    uint8_t *at = &own->at[tid & (OWN_THREADS_SLOTS - 1)];
    if (*at) {
        own->tids[*at - 1] = tid;
    } else if (own->n < sizeof(own->tids) / sizeof(own->tids[0])) {
        own->tids[own->n] = tid;
        *at = (uint8_t)++own->n;
    }
}

static inline bool own_threads_has(const struct own_threads *own, pid_t tid) {
    uint8_t at = own->at[tid & (OWN_THREADS_SLOTS - 1)];
    return __builtin_expect(at != 0, 0) && own->tids[at - 1] == tid;
}

#endif
