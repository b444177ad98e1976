// Which threads are queried, and what follows from the replies: a state machine fed by hand, and prepared replies.
#include "tests/unit/forge_sched.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "collectors/sched/threads.h"
#include "model/live.h"

static char proc[64], init[80];

static int begin(void **state) {
    set_up(state);
    snprintf(proc, sizeof(proc), "/tmp/ktop-who-XXXXXX");
    assert_non_null(mkdtemp(proc));
    snprintf(init, sizeof(init), "%s/1", proc);
    return 0;
}

static int end(void **state) {
    char command[128];
    snprintf(command, sizeof(command), "rm -r %s", proc);
    tear_down(state);
    return system(command);
}

static void show_init(void) {
    char path[96];
    snprintf(path, sizeof(path), "%s/stat", init);
    assert_int_equal(mkdir(init, 0700), 0);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("1 (init) S 0", out);
    fclose(out);
}

static atomic_int gone_answers;

static void say_gone(const char *where, const struct blocked_query *query, struct blocked_reply *reply) {
    (void)where;
    *reply = (struct blocked_reply){.query = *query, .gone = true, .read_ns = now_ns() - 100000000};
    atomic_fetch_add(&gone_answers, 1);
}

// Without PID 1 in /proc, hidepid is on: a missing thread is not known to be gone.
static void hidden_is_not_gone(void **state) {
    (void)state;
    struct blocked_prober *prober = blocked_prober_new(proc, say_gone);
    struct sched_threads *threads = sched_threads_new(proc, NULL, prober);
    uint64_t us = 100000;
    switches(0, 0, 0, 0, 7);
    for (int i = 0; i < 5000 && atomic_load(&gone_answers) < 4; i++, us += 50000) {
        sched_threads_probe(threads, machine, us * US);
        usleep(1000);
    }
    assert_true(atomic_load(&gone_answers) >= 4); // of which three at least were taken
    assert_int_equal(task(7)->state, SCHED_RUNNING);
    assert_int_equal(machine->cpus[0].current, 7);
    show_init();
    for (int i = 0; i < 5000 && sched_slot(machine, 7); i++, us += 50000) {
        sched_threads_probe(threads, machine, us * US);
        usleep(1000);
    }
    assert_int_equal(sched_slot(machine, 7), 0);
    assert_int_equal(machine->cpus[0].current, SCHED_TASK_UNKNOWN);
    sched_threads_free(threads);
    blocked_prober_free(prober);
}

#define MANY 256
static atomic_uint times_queried[MANY + 51], answers;

static void count_asks(const char *where, const struct blocked_query *query, struct blocked_reply *reply) {
    (void)where;
    *reply = (struct blocked_reply){.query = *query, .state = query->tid <= MANY ? 'R' : 'S', .read_ns = now_ns()};
    atomic_fetch_add(&times_queried[query->tid], 1);
    atomic_fetch_add(&answers, 1);
}

// Many CPUs, each with a task that runs for long: all of them are queried repeatedly, and so are those that
// sleep for a short time only.
static void many_run(void **state) {
    (void)state;
    enum { ROUNDS = 80, SLEEPERS = 50 };
    unsigned queried = 0;
    struct blocked_prober *prober = blocked_prober_new(proc, count_asks);
    struct sched_threads *threads = sched_threads_new(proc, NULL, prober);
    sched_machine_free(machine);
    machine = sched_machine_new(MANY + 1);
    for (int32_t i = 1; i <= MANY; i++)
        switches(0, (uint32_t)i - 1, 0, 0, i);
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        uint64_t us = round * 100000;
        for (int32_t tid = MANY + 1; tid <= MANY + SLEEPERS; tid++) { // they have just gone to sleep
            wakes(us - 1000, 0, tid, MANY);
            switches(us - 900, MANY, 0, 0, tid);
            switches(us - 800, MANY, tid, SCHED_STATE_S, 0);
        }
        sched_threads_probe(threads, machine, us * US);
        for (int32_t tid = 1; tid <= MANY + SLEEPERS; tid++)
            queried += sched_threads_get(threads, machine, sched_slot(machine, tid))->queried_ns == us * US;
        for (int i = 0; i < 20000 && atomic_load(&answers) < queried; i++)
            usleep(100);
        assert_int_equal(atomic_load(&answers), queried);
    }
    for (int32_t tid = 1; tid <= MANY + SLEEPERS; tid++)
        assert_true(atomic_load(&times_queried[tid]) >= 2);
    sched_threads_free(threads);
    blocked_prober_free(prober);
}

static atomic_bool answers_now;

static void say_late(const char *where, const struct blocked_query *query, struct blocked_reply *reply) {
    count_asks(where, query, reply);
    while (!atomic_load(&answers_now))
        usleep(100);
}

static bool was_queried(struct sched_threads *threads, int32_t tid) {
    return sched_threads_get(threads, machine, sched_slot(machine, tid))->queried;
}

// Many tasks wait for CPUs, and the worker gets none for long: a task that then begins to wait for something else is
// queried in the next round.
static void a_crowd_waits(void **state) {
    (void)state;
    enum { IN_D = MANY + 1, SLEEPS = MANY + 2 };
    memset(times_queried, 0, sizeof(times_queried));
    atomic_store(&answers_now, false);
    struct blocked_prober *prober = blocked_prober_new(proc, say_late);
    struct sched_threads *threads = sched_threads_new(proc, NULL, prober);
    switches(0, 0, 0, 0, 1);
    for (int32_t tid = 2; tid <= MANY; tid++)
        wakes(1000, 1, tid, 0);
    uint64_t us = 0;
    for (int round = 0; round < 50; round++)
        sched_threads_probe(threads, machine, (us += 100000) * US);
    switches(us, 1, 0, 0, IN_D);
    switches(us + 10, 1, IN_D, SCHED_STATE_D, SLEEPS);
    switches(us + 20, 1, SLEEPS, SCHED_STATE_S, 0);
    sched_threads_probe(threads, machine, (us += 100000) * US);
    assert_true(was_queried(threads, IN_D) && was_queried(threads, SLEEPS));
    atomic_store(&answers_now, true);
    for (int i = 0; i < 20000 && !atomic_load(&times_queried[SLEEPS]); i++)
        usleep(100);
    assert_true(atomic_load(&times_queried[IN_D]) == 1 && atomic_load(&times_queried[SLEEPS]) == 1);
    // And the crowd's turn comes.
    unsigned crowd = 0;
    for (int round = 0; round < 2000 && crowd < MANY; round++) {
        sched_threads_probe(threads, machine, (us += 100000) * US);
        usleep(2000);
        crowd = 0;
        for (int32_t tid = 1; tid <= MANY; tid++)
            crowd += was_queried(threads, tid);
    }
    assert_int_equal(crowd, MANY);
    sched_threads_free(threads);
    blocked_prober_free(prober);
}

// Threads that sleep for short times, while the worker gets no CPU: one that waits for a CPU is still queried.
static void many_sleep(void **state) {
    (void)state;
    enum { WAITS = MANY + 1 };
    uint64_t us = 0;
    atomic_store(&answers_now, false);
    struct blocked_prober *prober = blocked_prober_new(proc, say_late);
    struct sched_threads *threads = sched_threads_new(proc, NULL, prober);
    for (int round = 0; round < 20; round++, us += 1000000) {
        for (int32_t tid = 1; tid <= MANY; tid++) {
            switches(us, 0, 0, 0, tid);
            switches(us + 1, 0, tid, SCHED_STATE_S, 0);
        }
        sched_threads_probe(threads, machine, (us + 1000) * US);
    }
    wakes(us, 0, WAITS, 0);
    for (int32_t tid = 1; tid <= MANY; tid++) {
        switches(us + 29000, 1, 0, 0, tid);
        switches(us + 29001, 1, tid, SCHED_STATE_S, 0);
    }
    sched_threads_probe(threads, machine, (us + 30000) * US);
    assert_true(was_queried(threads, WAITS));
    atomic_store(&answers_now, true);
    sched_threads_free(threads);
    blocked_prober_free(prober);
}

// If events and /proc have different IDs, no /proc thread is matched to an event.
static void another_namespace(void **state) {
    (void)state;
    const struct collect_options of_user = {.has_user = true, .user = getuid()};
    for (int filters = 0; filters < 2; filters++) {
        struct sched_threads *threads = sched_threads_new(NULL, filters ? &of_user : NULL, NULL);
        switches(0, 0, 0, 0, getpid());
        sched_threads_resolve(threads, machine, 100);
        const struct sched_thread *thread = sched_threads_get(threads, machine, sched_slot(machine, getpid()));
        assert_true(thread->known && thread->pid == getpid());
        assert_int_equal(thread->wanted, !filters);
        sched_threads_free(threads);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(hidden_is_not_gone, begin, end),
        cmocka_unit_test_setup_teardown(many_run, begin, end),
        cmocka_unit_test_setup_teardown(a_crowd_waits, begin, end),
        cmocka_unit_test_setup_teardown(many_sleep, begin, end),
        cmocka_unit_test_setup_teardown(another_namespace, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
