// Shared by the two halves of pairing: the event path (pair.c), and threads, processes and frames (thread.c).
#ifndef COLLECTORS_SYSCALLS_PAIR_PRIVATE_H
#define COLLECTORS_SYSCALLS_PAIR_PRIVATE_H

#include "collectors/syscalls/pair.h"

#define SYSCALLS_THREADS 32768
#define SYSCALLS_THREAD_PLACES (SYSCALLS_THREADS * 2)
#define SYSCALLS_CELLS 131072
#define SYSCALLS_CELL_PLACES (SYSCALLS_CELLS * 2)
#define SYSCALLS_CALLS_MAX 384
#define SYSCALLS_ERRORS_MAX 65536
#define SYSCALLS_ERROR_PLACES (SYSCALLS_ERRORS_MAX * 2)

static inline uint16_t load16(const uint8_t *at) {
    uint16_t value;
    memcpy(&value, at, 2);
    return value;
}

static inline int32_t load32(const uint8_t *at) {
    int32_t value;
    memcpy(&value, at, 4);
    return value;
}

static inline int64_t load64(const uint8_t *at) {
    int64_t value;
    memcpy(&value, at, 8);
    return value;
}

// thread.c: the thread, made if it is new; NULL: no room.
struct syscalls_thread *syscalls_thread_get(struct syscalls_pair *pair, int32_t tid);
void syscalls_other_event(struct syscalls_pair *pair, const uint8_t *record, uint32_t size);

// pair.c
struct syscalls_cell *syscalls_cell_get(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id);
void syscalls_count_untimed(struct syscalls_pair *pair, struct syscalls_thread *thread, int32_t id, int64_t ret);
bool syscalls_is_exit(const struct syscalls_pair *pair, const struct syscalls_thread *thread, int32_t id);

#endif
