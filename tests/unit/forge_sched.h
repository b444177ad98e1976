// What the tests of the scheduler's state share: events at given times, in microseconds.
#ifndef TESTS_UNIT_FORGE_SCHED_H
#define TESTS_UNIT_FORGE_SCHED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "collectors/sched/state.h"

#define US 1000ull

static struct sched_machine *machine;

static inline int set_up(void **state) {
    (void)state;
    machine = sched_machine_new(2);
    return 0;
}

static inline int tear_down(void **state) {
    (void)state;
    sched_machine_free(machine);
    return 0;
}

// A switch on that CPU; reported: prev_state. Names are "tNUMBER".
static inline void switches(uint64_t us, uint32_t cpu, int32_t prev, uint32_t reported, int32_t next) {
    char prev_comm[SCHED_COMM] = {0}, next_comm[SCHED_COMM] = {0};
    snprintf(prev_comm, sizeof(prev_comm), "t%d", prev);
    snprintf(next_comm, sizeof(next_comm), "t%d", next);
    const struct sched_event event = {.ts = us * US,
                                      .cpu = cpu,
                                      .kind = SCHED_SWITCH,
                                      .current = prev,
                                      .tid = prev,
                                      .prio = 120,
                                      .state = reported,
                                      .next = next,
                                      .next_prio = 120,
                                      .comm = prev_comm,
                                      .next_comm = next_comm};
    sched_machine_event(machine, &event);
}

static inline void other(enum sched_kind kind, uint64_t us, int32_t current, int32_t tid, int32_t target) {
    const struct sched_event event = {
        .ts = us * US, .kind = (uint8_t)kind, .current = current, .tid = tid, .prio = 120, .target = target};
    sched_machine_event(machine, &event);
}

// The waker records the task's last CPU, and migrates it when another CPU is chosen.
static inline void wakes(uint64_t us, int32_t by, int32_t tid, int32_t target) {
    uint32_t slot = sched_slot(machine, tid);
    int32_t last = slot ? machine->tasks[slot].cpu : target;
    other(SCHED_WAKING, us, by, tid, last);
    if (last != target)
        other(SCHED_MIGRATE, us, by, tid, target);
}

static inline struct sched_task *task(int32_t tid) {
    uint32_t slot = sched_slot(machine, tid);
    assert_int_not_equal(slot, 0);
    return &machine->tasks[slot];
}

static inline void next_frame(uint64_t us) {
    sched_machine_flush(machine, us * US);
    sched_machine_next(machine, us * US);
}

#endif
