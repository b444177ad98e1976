// The collector of system calls on the kernel that is here, in a process that makes threads which end before anybody
// can look who they were, as ktop does: none of its own calls may be among those of others. Skips where tracefs cannot
// be used.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collectors/collector.h"
#include "collectors/syscalls/table.h"
#include "model/live.h"

#define ROUNDS 40
#define CALLS 50

extern const struct collector collector_syscalls;

static atomic_int made[ROUNDS * 2], n_made;

static void *short_life(void *argument) {
    (void)argument;
    made[n_made++] = (int)syscall(SYS_gettid);
    for (int i = 0; i < CALLS; i++)
        syscall(SYS_getpgid, 0);
    return NULL;
}

// A thread, and one that is made by it and outlives it.
static void *parent_of_one(void *argument) {
    pthread_t child;
    short_life(argument);
    assert_int_equal(pthread_create(&child, NULL, short_life, NULL), 0);
    pthread_detach(child);
    return NULL;
}

static struct section *sample(struct collector_run *run) {
    struct section *section = section_new("syscalls", run->begin_ns, run->end_ns);
    run->end_ns = now_ns();
    assert_int_equal(collector_syscalls.sample(run, section), 0);
    run->begin_ns = run->end_ns;
    run->first = false;
    return section;
}

static bool is_own(int pid) {
    for (int i = 0; i < n_made; i++)
        if (made[i] == pid)
            return true;
    return pid == getpid();
}

struct sums {
    double own, other;
};

// Calls of getpgid that stand under one of our threads, and under the other program.
static void add_calls(struct sums *sums, const struct section *section, int other) {
    const struct table *table = section_find_table(section, "syscalls_by_process");
    assert_non_null(table);
    const union cell *cells;
    for (size_t at = 0; (cells = table_next(table, &at));) {
        int pid = (int)cells[SYSCALLS_B_PID].num;
        if (!strcmp(text_bytes(cells[SYSCALLS_B_SYSCALL].text), "getpgid"))
            *(is_own(pid) ? &sums->own : &sums->other) += is_own(pid) || pid == other ? cells[SYSCALLS_B_COUNT].num : 0;
    }
}

static pid_t other_program(void) {
    pid_t parent = getpid(), pid = fork();
    while (!pid) {
        if (getppid() != parent)
            _exit(0);
        syscall(SYS_getpgid, 0);
        usleep(1000);
    }
    return pid;
}

static void short_lives(void **state) {
    (void)state;
    struct collector_run run = {.first = true, .poll_fd = -1};
    struct sums sums = {0};
    pid_t other = other_program();
    run.begin_ns = now_ns();
    int error = geteuid() ? -EPERM : collector_syscalls.open(&run);
    if (!error)
        section_unref(sample(&run));
    for (int i = 0; i < ROUNDS && !error; i++) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, parent_of_one, NULL), 0);
        pthread_join(thread, NULL);
        usleep(7000);
        collector_syscalls.drain(&run);
        if (i % 10 < 9)
            continue;
        usleep(20000);
        const struct section *section = sample(&run);
        add_calls(&sums, section, other);
        section_unref(section);
    }
    collector_syscalls.close(&run);
    kill(other, SIGKILL);
    waitpid(other, NULL, 0);
    if (error)
        skip();
    assert_int_equal(n_made, ROUNDS * 2);
    assert_true(sums.other >= ROUNDS);
    assert_true(sums.own == 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(short_lives)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
