// Forging the events of system calls for the tests of the pairing and its bench.
#ifndef TESTS_UNIT_FORGE_SYSCALLS_H
#define TESTS_UNIT_FORGE_SYSCALLS_H

#include "collectors/syscalls/pair.h"
#include "tests/unit/forge_ring.h"

enum { FORGE_ENTER = 443, FORGE_EXIT = 442, FORGE_NEWTASK = 50, FORGE_RENAME = 51 };

static const struct syscalls_layout forge_layout = {
    .enter_id = FORGE_ENTER,
    .exit_id = FORGE_EXIT,
    .newtask_id = FORGE_NEWTASK,
    .rename_id = FORGE_RENAME,
    .tid = 4,
    .enter_nr = 8,
    .enter_args = 16,
    .enter_end = 64,
    .exit_nr = 8,
    .exit_ret = 16,
    .exit_end = 24,
    .newtask_pid = 8,
    .newtask_flags = 32,
    .newtask_end = 40,
    .rename_pid = 8,
    .rename_comm = 28,
    .rename_end = 44,
};

static inline void forge_bytes(struct forge *forge, uint32_t delta, const void *bytes, uint32_t size) {
    forge_head(forge, size / 4, delta);
    for (uint32_t i = 0; i < size; i += 4) {
        uint32_t word;
        memcpy(&word, (const char *)bytes + i, 4);
        forge_word(forge, word);
    }
}

static inline void forge_enter(struct forge *forge, uint32_t delta, int32_t tid, int64_t nr, uint64_t arg) {
    struct {
        uint16_t type, flags;
        int32_t tid;
        int64_t nr;
        uint64_t args[6];
    } event = {FORGE_ENTER, 0, tid, nr, {arg}};
    forge_bytes(forge, delta, &event, sizeof(event));
}

static inline void forge_exit(struct forge *forge, uint32_t delta, int32_t tid, int64_t nr, int64_t ret) {
    struct {
        uint16_t type, flags;
        int32_t tid;
        int64_t nr, ret;
    } event = {FORGE_EXIT, 0, tid, nr, ret};
    forge_bytes(forge, delta, &event, sizeof(event));
}

static inline void forge_newtask(struct forge *forge, uint32_t delta, int32_t parent, int32_t tid, uint64_t flags) {
    struct {
        uint16_t type, more;
        int32_t tid, pid;
        char comm[20];
        uint64_t flags;
    } event = {FORGE_NEWTASK, 0, parent, tid, "child", flags};
    forge_bytes(forge, delta, &event, sizeof(event));
}

static inline void forge_rename(struct forge *forge, uint32_t delta, int32_t tid, const char *name) {
    struct {
        uint16_t type, more;
        int32_t tid, pid;
        char was[16], comm[16];
    } event = {FORGE_RENAME, 0, tid, tid, "", ""};
    snprintf(event.comm, sizeof(event.comm), "%s", name);
    forge_bytes(forge, delta, &event, sizeof(event));
}

// Takes a page as CPU `cpu`'s.
static inline uint64_t forge_take(struct syscalls_pair *pair, uint32_t cpu, struct forge *forge) {
    struct ring_page page;
    int64_t missed;
    ring_page_load(&page, forge->bytes, FORGE_PAGE, FORGE_HEADER, &missed);
    return ring_page_next(&page) ? syscalls_pair_run(pair, cpu, &page, UINT64_MAX) : 0;
}

#endif
