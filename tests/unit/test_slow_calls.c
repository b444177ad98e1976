// Calls that block: what the caller waits for them, what becomes of their results, and that others go on.
#include "collectors/kernel/slow_calls.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static atomic_int freed;

struct pipe_call {
    struct slow_call call;
    int fd; // read to its end
    int result;
};

static void run(struct slow_call *call) {
    struct pipe_call *reading = (struct pipe_call *)call;
    char byte;
    while (read(reading->fd, &byte, 1) > 0)
        reading->result += byte;
    close(reading->fd);
}

static void release(struct slow_call *call) {
    freed++;
    free(call);
}

static struct pipe_call *call_new(int *writer) {
    struct pipe_call *call = calloc(1, sizeof *call);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    call->call.run = run;
    call->call.free = release;
    call->fd = fds[0];
    *writer = fds[1];
    return call;
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void until(int count) {
    for (int ms = 0; ms < 20000 && freed < count; ms++)
        usleep(1000);
    assert_int_equal(freed, count);
}

static void answers(void **state) {
    (void)state;
    struct slow_calls *calls = slow_calls_new();
    freed = 0;
    for (int i = 0; i < 20; i++) {
        int writer;
        struct pipe_call *call = call_new(&writer);
        assert_int_equal(write(writer, "\1\2\3", 3), 3);
        close(writer);
        bool done = slow_call_start(calls, &call->call);
        while (!done) { // a loaded machine
            usleep(1000);
            done = slow_call_done(calls, &call->call);
        }
        assert_int_equal(call->result, 6);
        slow_call_drop(calls, &call->call);
        assert_int_equal(freed, i + 1);
    }
    slow_calls_free(calls);
}

static void hang(void **state) {
    (void)state;
    enum { N = SLOW_CALL_THREADS_MAX + 4 };
    struct slow_calls *calls = slow_calls_new();
    struct pipe_call *hung[N], *late;
    int writers[N], writer;
    double began = seconds();
    freed = 0;
    for (int i = 0; i < N; i++) {
        hung[i] = call_new(&writers[i]);
        assert_false(slow_call_start(calls, &hung[i]->call));
    }
    // 60 ms and a tenth of the time: not 20 ms for each.
    double waited = seconds() - began;
    assert_true(waited < 0.3 || waited > 2); // unless the machine did something else
    late = call_new(&writer);
    close(writer);
    assert_false(slow_call_start(calls, &late->call)); // all threads hang
    close(writers[3]);
    for (int ms = 0; ms < 20000 && !slow_call_done(calls, &hung[3]->call); ms++)
        usleep(1000);
    assert_true(slow_call_done(calls, &hung[3]->call));
    if (seconds() - began < 1)
        assert_int_equal(slow_calls_hung(calls), 0);
    slow_call_drop(calls, &hung[3]->call);
    until(1);
    // Dropped while it runs, and while it waits in the queue.
    slow_call_drop(calls, &hung[0]->call);
    slow_call_drop(calls, &hung[N - 1]->call);
    until(2);
    close(writers[0]);
    until(3);
    for (int i = 1; i < N - 1; i++)
        if (i != 3)
            close(writers[i]);
    close(writers[N - 1]);
    for (int i = 1; i < N - 1; i++) {
        if (i == 3)
            continue;
        while (!slow_call_done(calls, &hung[i]->call))
            usleep(1000);
        slow_call_drop(calls, &hung[i]->call);
    }
    while (!slow_call_done(calls, &late->call))
        usleep(1000);
    slow_call_drop(calls, &late->call);
    assert_int_equal(freed, N + 1);
    slow_calls_free(calls);
}

// The end waits for a call that hangs for 100 ms only; its thread frees everything when it answers.
static void abandoned(void **state) {
    (void)state;
    struct slow_calls *calls = slow_calls_new();
    int writer;
    struct pipe_call *call = call_new(&writer);
    freed = 0;
    assert_false(slow_call_start(calls, &call->call));
    slow_call_drop(calls, &call->call);
    double began = seconds();
    slow_calls_free(calls);
    assert_true(seconds() - began >= 0.09);
    assert_int_equal(freed, 0);
    close(writer);
    until(1);
    usleep(10000); // for the sanitizers: its thread leaves
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers),
        cmocka_unit_test(hang),
        cmocka_unit_test(abandoned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
