// The state machine of the scheduler, on events made by hand.
#include "tests/unit/forge_sched.h"

static void a_sleep_and_a_wait(void **state) {
    (void)state;
    next_frame(100);
    switches(200, 0, 7, SCHED_STATE_S, 0); // slept from 200
    wakes(500, 9, 7, 1);                   // woken for CPU 1
    switches(540, 1, 0, 0, 7);             // ran from 540
    sched_machine_flush(machine, 1000 * US);
    const struct sched_task *t = task(7);
    assert_int_equal(t->state, SCHED_RUNNING);
    assert_int_equal(t->ns[SCHED_SLEEPING], 300 * US);
    assert_int_equal(t->ns[SCHED_WOKEN], 40 * US);
    assert_int_equal(t->ns[SCHED_RUNNING], (100 + 460) * US); // CPU 0 was its own before the first switch
    assert_int_equal(t->queued, 1);
    assert_int_equal(t->queue_max, 40 * US);
    assert_int_equal(t->voluntary, 1);
    assert_int_equal(t->wakeups, 1);
    assert_int_equal(t->waker, 9);
    assert_true(t->woken_by);
    assert_string_equal(t->comm, "t7");
    assert_int_equal(machine->off[SCHED_OFF_SLEEP].count, 1);
    assert_int_equal(machine->off[SCHED_OFF_SLEEP].sum, 300 * US);
    assert_int_equal(machine->cpus[1].queue.count, 1);
    assert_int_equal(machine->cpus[1].queue.max, 40 * US);
    assert_int_equal(machine->slots[SCHED_SLOTS].count, 1);
    assert_int_equal(machine->cpus[1].busy_ns, 460 * US);
    assert_int_equal(machine->cpus[0].busy_ns, 100 * US);
}

static void a_preemption(void **state) {
    (void)state;
    switches(100, 0, 0, 0, 7);
    switches(200, 0, 7, 0x100, 8); // R+: preempted
    switches(500, 0, 8, 0, 7);     // R: yielded
    sched_machine_flush(machine, 600 * US);
    assert_int_equal(task(7)->involuntary, 1);
    assert_int_equal(task(7)->ns[SCHED_PREEMPTED], 300 * US);
    assert_int_equal(task(7)->ns[SCHED_RUNNING], 200 * US);
    assert_int_equal(task(8)->involuntary, 1);
    assert_int_equal(task(8)->state, SCHED_PREEMPTED);
    assert_int_equal(machine->off[SCHED_OFF_PREEMPTED].count, 1);
    assert_int_equal(machine->cpus[0].queue.count, 1);
    assert_int_equal(machine->counts.involuntary, 2);
    assert_int_equal(machine->counts.voluntary, 0);
}

static void states_by_letter(void **state) {
    (void)state;
    static const struct {
        uint32_t reported;
        uint8_t is;
    } all[] = {{1, SCHED_SLEEPING},  {2, SCHED_DISK},         {4, SCHED_STOPPED},     {8, SCHED_STOPPED},
               {0x10, SCHED_ENDED},  {0x20, SCHED_ENDED},     {0x40, SCHED_SLEEPING}, {0x80, SCHED_SLEEPING},
               {0, SCHED_PREEMPTED}, {0x100, SCHED_PREEMPTED}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        int32_t tid = 100 + (int32_t)i;
        switches(i * 10, 0, 0, 0, tid);
        uint32_t slot = sched_slot(machine, tid);
        switches(i * 10 + 5, 0, tid, all[i].reported, 0);
        assert_int_equal(machine->tasks[slot].state, all[i].is);
    }
}

// A wait over several frames: each has its part, the histogram has it once and whole.
static void frame_edges(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(500, 0, 7, SCHED_STATE_D, 0);
    sched_machine_flush(machine, 1000 * US);
    assert_int_equal(task(7)->ns[SCHED_DISK], 500 * US);
    assert_int_equal(machine->off[SCHED_OFF_DISK].count, 0);
    sched_machine_next(machine, 1000 * US);
    for (int i = 2; i < 5; i++) {
        sched_machine_flush(machine, (uint64_t)i * 1000 * US);
        assert_int_equal(task(7)->ns[SCHED_DISK], 1000 * US);
        assert_int_equal(task(7)->ns[SCHED_RUNNING], 0);
        sched_machine_next(machine, (uint64_t)i * 1000 * US);
    }
    wakes(4100, 1, 7, 0);
    assert_int_equal(machine->off[SCHED_OFF_DISK].sum, 3600 * US);
    sched_machine_flush(machine, 5000 * US); // it is still waiting for the CPU
    assert_int_equal(task(7)->ns[SCHED_DISK], 100 * US);
    assert_int_equal(task(7)->ns[SCHED_WOKEN], 900 * US);
    assert_int_equal(machine->cpus[0].area, 900 * US);
    sched_machine_next(machine, 5000 * US);
    switches(5200, 0, 0, 0, 7);
    assert_int_equal(task(7)->queue_max, 1100 * US);
    sched_machine_flush(machine, 6000 * US);
    assert_int_equal(task(7)->ns[SCHED_WOKEN], 200 * US);
    assert_int_equal(task(7)->ns[SCHED_RUNNING], 800 * US);
}

static void run_queues(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 1);
    wakes(100, 1, 2, 0);
    wakes(100, 1, 3, 0); // 3 tasks on CPU 0 from 100
    assert_int_equal(machine->cpus[0].length, 3);
    other(SCHED_MIGRATE, 200, 1, 3, 1); // one goes over
    assert_int_equal(machine->cpus[0].length, 2);
    assert_int_equal(machine->cpus[1].length, 1);
    switches(200, 1, 0, 0, 3);
    switches(300, 0, 1, SCHED_STATE_S, 2);
    switches(400, 0, 2, SCHED_STATE_S, 0);
    sched_machine_flush(machine, 1000 * US);
    assert_int_equal(machine->cpus[0].area, (100 + 300 + 200 + 100) * US);
    assert_int_equal(machine->cpus[0].max, 3);
    assert_int_equal(machine->cpus[0].length, 0);
    assert_int_equal(machine->cpus[1].area, 800 * US);
    assert_int_equal(task(3)->migrations, 1);
    assert_int_equal(machine->cpus[1].migrations, 1);
    assert_int_equal(machine->cpus[0].busy_ns, 400 * US);
}

// Woken before it has left the CPU: it waits from where it began to. Woken twice: it ran meanwhile, and waits anew.
static void odd_wakeups(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    wakes(100, 8, 7, 0); // it still runs
    assert_int_equal(task(7)->state, SCHED_RUNNING);
    switches(200, 0, 7, SCHED_STATE_S, 0);
    wakes(300, 8, 7, 0);
    wakes(400, 8, 7, 0);
    switches(500, 0, 0, 0, 7);
    assert_int_equal(task(7)->queue_max, 100 * US);
    assert_int_equal(task(7)->wakeups, 3);
    assert_int_equal(machine->cpus[0].length, 1);
}

// Woken on its way to sleep, before it left its CPU: the waker waits until it has. There is no other wakeup, so it did
// not sleep.
static void woken_on_its_way(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    other(SCHED_WAKING, 100, 8, 7, 0);
    switches(101, 0, 7, SCHED_STATE_S, 9);
    assert_int_equal(task(7)->state, SCHED_SLEEPING); // as far as it is known
    assert_int_equal(machine->cpus[0].length, 1);
    switches(150, 0, 9, SCHED_STATE_S, 7);
    assert_int_equal(task(7)->queue_max, 49 * US);
    assert_int_equal(task(7)->wakeups, 1);
    assert_int_equal(machine->cpus[0].queue.max, 49 * US);
    assert_int_equal(machine->off[SCHED_OFF_SLEEP].count, 1);
    assert_int_equal(machine->off[SCHED_OFF_SLEEP].max, 0);
    sched_machine_flush(machine, 200 * US);
    assert_int_equal(task(7)->ns[SCHED_SLEEPING], 0);
    assert_int_equal(task(7)->ns[SCHED_WOKEN], 49 * US);
    assert_int_equal(machine->cpus[0].area, (101 + 2 * 49 + 50) * US);
    assert_int_equal(machine->cpus[0].max, 2);
    assert_int_equal(machine->cpus[0].length, 1);

    sched_machine_next(machine, 200 * US);
    other(SCHED_WAKING, 210, 8, 7, 0); // once more, and to another CPU
    switches(211, 0, 7, SCHED_STATE_D, 0);
    other(SCHED_MIGRATE, 212, 8, 7, 1);
    assert_int_equal(task(7)->state, SCHED_WOKEN);
    assert_int_equal(machine->cpus[0].length, 0);
    assert_int_equal(machine->cpus[1].length, 1);
    assert_int_equal(machine->cpus[0].wakeups, 0);
    assert_int_equal(machine->cpus[1].wakeups, 1);
    switches(230, 1, 0, 0, 7);
    assert_int_equal(task(7)->queue_max, 19 * US);
    assert_int_equal(machine->off[SCHED_OFF_DISK].count, 1);
}

// The same across a frame's end; and /proc shows what no event records.
static void awake_for_long(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    other(SCHED_WAKING, 100, 8, 7, 0);
    switches(101, 0, 7, SCHED_STATE_S, 9);
    next_frame(1000);
    switches(1500, 0, 9, SCHED_STATE_S, 7);
    assert_int_equal(task(7)->queue_max, 1399 * US);
    sched_machine_flush(machine, 2000 * US);
    assert_int_equal(task(7)->ns[SCHED_WOKEN], 500 * US);
    assert_int_equal(machine->cpus[0].area, (2 * 500 + 500) * US);
    sched_machine_next(machine, 2000 * US);
    other(SCHED_WAKING, 2100, 8, 7, 0);
    switches(2101, 0, 7, SCHED_STATE_S, 9);
    sched_machine_doubt(machine, sched_slot(machine, 7), 'R', 2900 * US);
    assert_int_equal(task(7)->state, SCHED_WOKEN);
    assert_int_equal(task(7)->since, 2101 * US);
    assert_int_equal(machine->cpus[0].length, 2);
    sched_machine_flush(machine, 3000 * US);
    assert_int_equal(task(7)->ns[SCHED_WOKEN], 899 * US);
    assert_int_equal(machine->cpus[0].area, (101 + 2 * 899) * US);
}

// Woken while it ran, so that it ran on, and long after that it sleeps: a wakeup of its own ends that.
static void nudged_and_then_asleep(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    other(SCHED_WAKING, 100, 8, 7, 0);
    switches(500, 0, 7, SCHED_STATE_S, 0);
    other(SCHED_WAKING, 800, 8, 7, 0);
    switches(810, 0, 0, 0, 7);
    assert_int_equal(task(7)->queue_max, 10 * US);
    assert_int_equal(machine->off[SCHED_OFF_SLEEP].max, 300 * US);
    other(SCHED_WAKING, 900, 8, 7, 0);
    switches(910, 0, 7, 0x100, 8); // preempted: it did not go to sleep
    switches(920, 0, 8, SCHED_STATE_S, 7);
    switches(930, 0, 7, SCHED_STATE_S, 0);
    switches(990, 0, 0, 0, 7); // by a wakeup that was not recorded
    assert_int_equal(task(7)->queue_max, 10 * US);
    assert_int_equal(machine->off[SCHED_OFF_SLEEP].count, 1);
}

// A wakeup counts on the CPU that was chosen for it; where the task is moved to later is another matter.
static void wakeups_by_cpu(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(10, 0, 7, SCHED_STATE_S, 0);
    wakes(100, 8, 7, 1);
    assert_int_equal(machine->cpus[0].wakeups, 0);
    assert_int_equal(machine->cpus[1].wakeups, 1);
    other(SCHED_MIGRATE, 900, 8, 7, 0);
    assert_int_equal(machine->cpus[1].wakeups, 1);
    sched_machine_flush(machine, 1000 * US);
    assert_int_equal(machine->counts.wakeups, 1);
    assert_int_equal(machine->cpus[0].length, 1);
    assert_int_equal(machine->cpus[1].length, 0);
}

// With --pid sched_wakeup is recorded too, since migrations are not: it only gives the CPU. Before 4.3 it is alone.
static void wakeups_told_twice_or_late(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(10, 0, 7, SCHED_STATE_S, 0);
    other(SCHED_WAKING, 100, 8, 7, 0);
    other(SCHED_WAKEUP, 103, 0, 7, 1);
    assert_int_equal(task(7)->cpu, 1);
    assert_int_equal(task(7)->wakeups, 1);
    assert_int_equal(task(7)->waker, 8);
    assert_int_equal(machine->cpus[0].wakeups, 0);
    assert_int_equal(machine->cpus[1].wakeups, 1);
    switches(110, 1, 0, 0, 7);
    assert_int_equal(task(7)->queue_max, 10 * US);
    other(SCHED_WAKING, 200, 8, 7, 1);
    switches(201, 1, 7, SCHED_STATE_S, 0);
    other(SCHED_WAKEUP, 202, 0, 7, 0);
    assert_int_equal(task(7)->state, SCHED_WOKEN);
    assert_int_equal(task(7)->cpu, 0);
    switches(205, 0, 0, 0, 7);
    other(SCHED_WAKEUP, 300, 0, 99, 0); // of one of which nothing is known
    assert_int_equal(sched_slot(machine, 99), 0);

    machine->old_wakeups = true;
    switches(400, 0, 7, SCHED_STATE_S, 0);
    other(SCHED_WAKEUP, 500, 8, 7, 1);
    switches(530, 1, 0, 0, 7);
    assert_int_equal(task(7)->queue_max, 30 * US);
    assert_int_equal(task(7)->wakeups, 3);
    sched_machine_flush(machine, 1000 * US);
    assert_int_equal(machine->counts.wakeups, 3);
}

static void interrupts_wake(void **state) {
    (void)state;
    const struct sched_event event = {
        .ts = 5, .kind = SCHED_WAKING, .flags = EVENT_FLAG_HARDIRQ, .current = 44, .tid = 7, .target = 1};
    sched_machine_event(machine, &event);
    assert_int_equal(task(7)->waker, 44);
    assert_int_equal(task(7)->waker_flags, EVENT_FLAG_HARDIRQ);
}

// After a loss all waits are unknown, and none of them, however long, is in a histogram.
static void losses(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(100, 0, 7, SCHED_STATE_S, 8);
    wakes(200, 8, 9, 0);
    sched_machine_lost(machine, 3600000000ull * US); // an hour later
    assert_int_equal(task(7)->state, SCHED_UNKNOWN);
    assert_int_equal(machine->cpus[0].length, 0);
    assert_int_equal(task(7)->ns[SCHED_SLEEPING], 100 * US);
    wakes(3600000100ull, 8, 7, 0);
    switches(3600000150ull, 0, 8, SCHED_STATE_S, 9); // 9 was woken before the loss
    switches(3600000200ull, 0, 9, SCHED_STATE_S, 7);
    assert_int_equal(machine->off[SCHED_OFF_SLEEP].count, 0);
    assert_int_equal(machine->cpus[0].queue.count, 1);
    assert_int_equal(machine->cpus[0].queue.max, 100 * US);
    assert_int_equal(machine->cpus[0].length, 1);
    sched_machine_flush(machine, 3600001000ull * US);
    assert_true(task(7)->ns[SCHED_RUNNING] == (100 + 800) * US);
    assert_int_equal(machine->cpus[0].busy_ns, (200 + 1000) * US);
    assert_int_equal(machine->cpus[0].covered_ns, (200 + 1000) * US); // not the hour
}

// Another task runs than the last switch recorded: an event is missing, and that task's time is unknown.
static void a_missing_switch(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(500, 0, 8, SCHED_STATE_S, 0);
    assert_int_equal(task(7)->state, SCHED_UNKNOWN);
    assert_int_equal(machine->cpus[0].length, 0);
    switches(600, 0, 0, 0, 7);
    assert_int_equal(task(7)->queued, 0);
    sched_machine_doubt(machine, sched_slot(machine, 7), 'S', 700 * US);
    assert_int_equal(machine->cpus[0].length, 0);
    assert_int_equal(task(7)->state, SCHED_UNKNOWN);
}

// The TID of a running task is reused, so only the CPU has the running task; then the idle task switches out.
static void a_missing_switch_to_idle(void **state) {
    (void)state;
    switches(100, 0, 0, 0, 7);
    other(SCHED_WAKEUP_NEW, 200, 1, 7, 1);
    switches(300, 0, 0, 0, 9); // 7 has left, unseen
    switches(500, 0, 9, SCHED_STATE_S, 0);
    sched_machine_flush(machine, 1000 * US);
    assert_int_equal(machine->cpus[0].busy_ns, 200 * US);
    assert_int_equal(machine->cpus[0].covered_ns, 800 * US);
    assert_int_equal(machine->counts.unseen, 1);
    sched_machine_next(machine, 1000 * US);
    switches(1200, 0, 0, 0, 9);
    sched_machine_flush(machine, 2000 * US);
    assert_int_equal(machine->cpus[0].busy_ns, 800 * US);
}

static void late_events(void **state) {
    (void)state;
    switches(1000, 0, 0, 0, 7);
    switches(900, 0, 7, SCHED_STATE_S, 0); // before it began
    wakes(800, 1, 7, 0);
    switches(700, 0, 0, 0, 7);
    sched_machine_flush(machine, 1000 * US);
    for (int i = 0; i < SCHED_STATES; i++)
        assert_true(task(7)->ns[i] <= 1000 * US);
    assert_true(task(7)->queue_max == 0);
    assert_true(machine->off[SCHED_OFF_SLEEP].max == 0);
}

static void numbers_used_again(void **state) {
    (void)state;
    switches(0, 0, 0, 0, 7);
    switches(100, 0, 7, 0x20, 0); // ended
    assert_int_equal(sched_slot(machine, 7), 0);
    other(SCHED_WAKEUP_NEW, 200, 1, 7, 0);
    switches(230, 0, 0, 0, 7);
    assert_int_equal(task(7)->voluntary, 0);
    assert_int_equal(task(7)->queue_max, 30 * US);
    uint32_t old = 0, listed = 0;
    for (uint32_t i = 1; i < machine->n; i++) {
        old += machine->tasks[i].tid == 7 && !machine->tasks[i].listed;
        listed += machine->tasks[i].tid == 7 && machine->tasks[i].listed;
    }
    assert_int_equal(old, 1); // its row is still of this interval
    assert_int_equal(listed, 1);
    next_frame(1000);
    uint32_t births = machine->births;
    other(SCHED_WAKEUP_NEW, 1100, 1, 7, 0); // the end of the one before was not recorded
    assert_int_equal(task(7)->wakeups, 1);
    assert_int_equal(machine->births, births + 1);
    assert_int_equal(machine->cpus[0].length, 1);
    next_frame(2000);
    assert_true(machine->n_free > 0);
}

// What was there before the tracing: known from /proc, and in no histogram when it ends.
static void seeds(void **state) {
    (void)state;
    assert_int_not_equal(sched_machine_seed(machine, 7, 'D', 1, "disker", 100 * US), 0);
    assert_int_not_equal(sched_machine_seed(machine, 8, 'R', 0, "runner", 100 * US), 0);
    assert_int_equal(sched_machine_seed(machine, 9, 'Z', 0, "zombie", 100 * US), 0);
    assert_int_equal(machine->cpus[0].length, 1);
    assert_false(task(7)->exact);
    sched_machine_flush(machine, 200 * US);
    assert_int_equal(task(7)->ns[SCHED_DISK], 100 * US);
    wakes(300, 8, 7, 0);
    assert_int_equal(machine->off[SCHED_OFF_DISK].count, 0);
    assert_int_equal(machine->cpus[0].length, 2);
    switches(400, 0, 8, 0x100, 7); // what was R ran
    assert_int_equal(machine->cpus[0].length, 2);
    assert_int_equal(task(7)->queue_max, 100 * US);
    switches(500, 0, 7, SCHED_STATE_S, 8);
    sched_machine_seed(machine, 7, 'R', 0, "late", 600 * US); // events know better
    assert_int_equal(task(7)->state, SCHED_SLEEPING);
    assert_string_equal(task(7)->comm, "t7");
}

static void busiest_have_histograms(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++)
        for (int32_t tid = 1; tid <= 100; tid++) {
            uint64_t us = (uint64_t)round * 1000 + (uint64_t)tid * 4;
            if (tid > 90 || round == 0) {
                wakes(us, 0, tid, 0);
                switches(us + 1, 0, 0, 0, tid);
                switches(us + 2, 0, tid, SCHED_STATE_S, 0);
            }
        }
    assert_int_equal(machine->slots[SCHED_SLOTS].count, 140);
    next_frame(6000);
    for (int32_t tid = 91; tid <= 100; tid++)
        assert_true(task(tid)->slot < 10);
    wakes(7000, 0, 95, 0);
    switches(7003, 0, 0, 0, 95);
    assert_int_equal(machine->slots[task(95)->slot].count, 1);
    assert_int_equal(machine->slots[task(95)->slot].max, 3 * US);
    assert_int_equal(machine->slots[SCHED_SLOTS].count, 0);
}

// With --pid and --user the waits of other tasks are in no histogram: not all of their events are recorded.
static void only_some_are_wanted(void **state) {
    (void)state;
    machine->filtered = true;
    switches(0, 0, 0, 0, 7);
    switches(10, 0, 7, 0x100, 8);
    task(8)->hidden = false;
    switches(20, 0, 8, 0x100, 7);
    switches(50, 0, 7, SCHED_STATE_S, 8);
    assert_int_equal(machine->cpus[0].queue.count, 1);
    assert_int_equal(machine->cpus[0].queue.max, 30 * US);
    assert_int_equal(task(7)->queued, 0);
    wakes(60, 8, 7, 0);
    assert_int_equal(machine->off[SCHED_OFF_SLEEP].count, 0);
    assert_int_equal(machine->off[SCHED_OFF_PREEMPTED].count, 1);
}

static void no_room(void **state) {
    (void)state;
    uint32_t capacity = machine->capacity;
    for (int32_t tid = 1; tid <= (int32_t)capacity + 10; tid++)
        switches((uint64_t)tid, 0, 0, 0, tid);
    assert_true(machine->counts.left_out >= 10);
    sched_machine_grow(machine);
    assert_int_equal(machine->capacity, 2 * capacity);
    uint64_t before = machine->counts.left_out;
    switches(100000, 0, 0, 0, (int32_t)capacity + 20);
    assert_int_equal(machine->counts.left_out, before);
    switches(100001, 0, (int32_t)capacity + 20, 1, -5); // no such number
    switches(100002, 99, 1, 1, 2);                      // no such CPU
    other(SCHED_MIGRATE, 100003, 1, 2, 500);
    wakes(100004, 1, 2, -3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_sleep_and_a_wait, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_preemption, set_up, tear_down),
        cmocka_unit_test_setup_teardown(states_by_letter, set_up, tear_down),
        cmocka_unit_test_setup_teardown(frame_edges, set_up, tear_down),
        cmocka_unit_test_setup_teardown(run_queues, set_up, tear_down),
        cmocka_unit_test_setup_teardown(odd_wakeups, set_up, tear_down),
        cmocka_unit_test_setup_teardown(woken_on_its_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(awake_for_long, set_up, tear_down),
        cmocka_unit_test_setup_teardown(nudged_and_then_asleep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wakeups_by_cpu, set_up, tear_down),
        cmocka_unit_test_setup_teardown(wakeups_told_twice_or_late, set_up, tear_down),
        cmocka_unit_test_setup_teardown(interrupts_wake, set_up, tear_down),
        cmocka_unit_test_setup_teardown(losses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_switch, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_missing_switch_to_idle, set_up, tear_down),
        cmocka_unit_test_setup_teardown(late_events, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(seeds, set_up, tear_down),
        cmocka_unit_test_setup_teardown(busiest_have_histograms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_some_are_wanted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_room, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
