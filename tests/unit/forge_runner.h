// Collectors made for the tests of the runner: one that works, one that cannot open, one that runs while wanted and
// takes requests, one that hangs.
#ifndef TESTS_UNIT_FORGE_RUNNER_H
#define TESTS_UNIT_FORGE_RUNNER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "collectors/runner.h"

static const struct column columns[] = {{.name = "key", .title = "KEY", .unit = UNIT_ID, .width = 4}};
static const struct table_def good_table = {.name = "good_rows", .columns = columns, .n_columns = 1, .n_keys = 1};
static const struct table_def bad_table = {.name = "bad_rows", .columns = columns, .n_columns = 1, .n_keys = 1};
static const struct table_def bad_stream = {.name = "bad_events", .columns = columns, .n_columns = 1, .n_keys = 1};
static const struct hist_def bad_hist = {
    .name = "bad_hist", .unit_name = "us", .divisor = 1000, .unit = UNIT_US, .keys = columns, .n_keys = 1};
static const struct series_def good_series[] = {{.name = "good_total", .unit = UNIT_COUNT},
                                                {.name = "good_left_out", .unit = UNIT_COUNT}};

// ---- good: counts its calls; its poll_fd is raised by the test ----
static atomic_int good_opens, good_samples, good_drains, good_closes, good_firsts, good_bad_intervals, good_signals;
static int good_fd = -1;
static atomic_uint good_drain_ms;

static int good_open(struct collector_run *run) {
    sigset_t set;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    if (!sigismember(&set, SIGTERM) || !sigismember(&set, SIGINT))
        atomic_fetch_add(&good_signals, 1);
    run->poll_fd = good_fd;
    run->drain_ms = atomic_load(&good_drain_ms);
    atomic_fetch_add(&good_opens, 1);
    return 0;
}

static void good_drain(struct collector_run *run) {
    uint64_t count;
    (void)run;
    ssize_t ignored = read(good_fd, &count, sizeof count);
    (void)ignored;
    atomic_fetch_add(&good_drains, 1);
}

static int good_sample(struct collector_run *run, struct section *out) {
    static uint64_t last_end;
    if (run->first) {
        atomic_fetch_add(&good_firsts, 1);
        if (run->begin_ns != run->end_ns)
            atomic_fetch_add(&good_bad_intervals, 1);
        struct section *early = section_new("good", run->begin_ns, run->end_ns);
        run->publish(run, early);
    } else if (run->begin_ns != last_end || run->end_ns <= run->begin_ns) {
        atomic_fetch_add(&good_bad_intervals, 1);
    }
    last_end = run->end_ns;
    section_series(out, &good_series[0], 42);
    atomic_fetch_add(&good_samples, 1);
    return 0;
}

static void good_close(struct collector_run *run) {
    (void)run;
    atomic_fetch_add(&good_closes, 1);
}

static const struct table_def *const good_tables[] = {&good_table, NULL};
static const struct collector collector_good = {.name = "good",
                                                .always = true,
                                                .series = good_series,
                                                .n_series = 2,
                                                .tables = good_tables,
                                                .open = good_open,
                                                .drain = good_drain,
                                                .sample = good_sample,
                                                .close = good_close};

// ---- bad: cannot be opened ----
static atomic_int bad_opens, bad_closes;

static int bad_open(struct collector_run *run) {
    atomic_fetch_add(&bad_opens, 1);
    snprintf(run->reason, sizeof run->reason, "no such machine");
    snprintf(run->fix, sizeof run->fix, "buy one");
    return -ENOENT;
}
static int bad_sample(struct collector_run *run, struct section *out) {
    (void)run, (void)out;
    return -EIO;
}
static void bad_close(struct collector_run *run) {
    (void)run;
    atomic_fetch_add(&bad_closes, 1);
}
static const struct table_def *const bad_tables[] = {&bad_table, NULL};
static const struct table_def *const bad_streams[] = {&bad_stream, NULL};
static const struct hist_def *const bad_hists[] = {&bad_hist, NULL};
static const struct collector collector_bad = {.name = "bad",
                                               .always = true,
                                               .tables = bad_tables,
                                               .hists = bad_hists,
                                               .streams = bad_streams,
                                               .requests = 1u << REQUEST_FREQUENCY,
                                               .open = bad_open,
                                               .sample = bad_sample,
                                               .close = bad_close};

// ---- dear: only while wanted; accepts requests ----
static atomic_int dear_opens, dear_closes, dear_inputs, dear_strange_inputs;
static char dear_events[64]; // in force, of the collector's thread; lost when it closes
static atomic_uint dear_hz, dear_threads, dear_pids, dear_in_force;
static int dear_fd = -1; // where there is one, opening waits for it
static int dear_open(struct collector_run *run) {
    uint64_t count;
    atomic_store(&run->waits_for, "the test");
    if (dear_fd >= 0 && read(dear_fd, &count, sizeof count) < 0)
        return -errno;
    atomic_fetch_add(&dear_opens, 1);
    return 0;
}
static int dear_sample(struct collector_run *run, struct section *out) {
    const struct series_def *def;
    (void)out;
    if (!run->inputs[0])
        return 0;
    bool good = !strcmp(section_collector(run->inputs[0]), "good") && section_n_series(run->inputs[0]) == 2 &&
                section_series_at(run->inputs[0], 0, &def) == 42;
    atomic_fetch_add(good ? &dear_inputs : &dear_strange_inputs, 1);
    return 0;
}
static void dear_close(struct collector_run *run) {
    (void)run;
    dear_events[0] = '\0';
    atomic_store(&dear_hz, 0);
    atomic_store(&dear_in_force, 0);
    atomic_fetch_add(&dear_closes, 1);
}
static int dear_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    (void)run;
    const char *wrong = request->kind == REQUEST_EVENTS ? strchr(request->text, '!') : NULL;
    if (wrong) {
        snprintf(answer->sentence, sizeof answer->sentence, "no such event");
        answer->place = (int32_t)(wrong - request->text);
        return -EINVAL;
    }
    switch (request->kind) {
    case REQUEST_EVENTS:
        snprintf(dear_events, sizeof dear_events, "%s", request->text);
        snprintf(answer->sentence, sizeof answer->sentence, "events: %s", dear_events);
        break;
    case REQUEST_FREQUENCY:
        if (request->hz > 1000)
            return -ERANGE;
        atomic_store(&dear_hz, request->hz);
        break;
    case REQUEST_CODE: // texts of the request, in place of PIDs
        atomic_store(&dear_pids, (unsigned)(strlen(request->code.symbol) + strlen(request->code.object)));
        break;
    case REQUEST_PIDS:
        atomic_store(&dear_pids, (unsigned)request->pids.list[request->pids.n - 1]);
        break;
    default:
        atomic_store(&dear_threads, request->on);
    }
    atomic_fetch_add(&dear_in_force, 1);
    return 0;
}
static const struct collector collector_dear = {.name = "dear",
                                                .inputs = {"good"},
                                                .open = dear_open,
                                                .sample = dear_sample,
                                                .requests = 1u << REQUEST_EVENTS | 1u << REQUEST_FREQUENCY |
                                                            1u << REQUEST_PIDS | 1u << REQUEST_THREADS |
                                                            1u << REQUEST_CODE,
                                                .request = dear_request,
                                                .close = dear_close};

// ---- hangs: blocks in its second sample until the test lets it go ----
static atomic_bool hang_armed;
static atomic_int hang_back;
static int hang_fd = -1;
static int hang_sample(struct collector_run *run, struct section *out) {
    (void)out;
    if (!run->first && atomic_load(&hang_armed)) {
        uint64_t count;
        ssize_t ignored = read(hang_fd, &count, sizeof count); // blocks
        (void)ignored;
        atomic_fetch_add(&hang_back, 1);
    }
    return 0;
}
static int hang_open(struct collector_run *run) {
    (void)run;
    return 0;
}
static void hang_close(struct collector_run *run) {
    (void)run;
}
static atomic_int hang_requests;
static int hang_request(struct collector_run *run, const struct request *request, struct answer *answer) {
    (void)run, (void)request, (void)answer;
    atomic_fetch_add(&hang_requests, 1);
    return 0;
}
static const struct collector collector_hang = {.name = "hang",
                                                .always = true,
                                                .open = hang_open,
                                                .sample = hang_sample,
                                                .requests = 1u << REQUEST_THREADS,
                                                .request = hang_request,
                                                .close = hang_close};

const struct collector *const collectors[] = {&collector_good, &collector_bad, &collector_dear, &collector_hang, NULL};

static struct collect_options options;

static const struct frame *frame_wait(struct live *live, uint64_t number) {
    for (int i = 0; i < 2500; i++) {
        const struct frame *frame = live_latest(live);
        if (frame && frame->number >= number)
            return frame;
        frame_unref(frame);
        usleep(10000);
    }
    fail_msg("no frame %d", (int)number);
    return NULL;
}

static void wait_for(atomic_int *counter, int least) {
    for (int i = 0; i < 2500 && atomic_load(counter) < least; i++)
        usleep(10000);
    if (atomic_load(counter) < least)
        fail_msg("%d instead of %d", atomic_load(counter), least);
}

#endif
