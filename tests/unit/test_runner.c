// The runner with collectors made for it: order of calls, failing and hanging sources, attention, stopping.
#include "tests/unit/forge_runner.h"

static void runs(void **state) {
    (void)state;
    good_fd = eventfd(0, EFD_NONBLOCK);
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    assert_int_equal(live_start(live), 0);
    assert_int_equal(runner_start(runner), 0);
    const struct frame *frame = frame_wait(live, 0); // the first paint does not wait for a tick
    frame_unref(frame);
    frame = frame_wait(live, 2);
    // What is missing is there, empty, and says why.
    uint64_t stale, left_out;
    const struct section *bad = frame_section(frame, "bad", &stale);
    assert_non_null(bad);
    assert_int_equal(section_state(bad), SECTION_UNAVAILABLE);
    assert_int_equal(stale, 0);
    assert_int_equal(section_notes(bad), 1);
    assert_string_equal(section_note_at(bad, 0)->text, "no such machine");
    assert_string_equal(section_note_at(bad, 0)->fix, "buy one");
    assert_int_equal(table_rows(frame_table(frame, "bad_rows")), 0);
    assert_int_equal(hist_set_count(frame_hists(frame, "bad_hist")), 0);
    assert_int_equal(table_rows(frame_stream(frame, "bad_events", &left_out)), 0);
    const struct section *good = frame_section(frame, "good", &stale);
    assert_int_equal(section_state(good), SECTION_OK);
    assert_float_equal(frame_series(frame, "good_total", NULL), 42, 0);
    assert_true(isnan(frame_series(frame, "good_left_out", NULL)));
    assert_non_null(frame_table(frame, "good_rows"));
    assert_true(section_cpu_ns(good) > 0);
    frame_unref(frame);

    assert_int_equal(good_drains, 0);
    uint64_t one = 1;
    assert_int_equal(write(good_fd, &one, sizeof one), sizeof one);
    wait_for(&good_drains, 1);
    assert_int_equal(runner_stop(runner, 20000), 0);
    live_stop(live);
    assert_int_equal(good_opens, 1);
    assert_int_equal(good_firsts, 1);
    assert_int_equal(good_closes, 1);
    assert_int_equal(good_bad_intervals, 0);
    assert_int_equal(good_signals, 0);
    assert_true(good_samples >= 3);
    assert_int_equal(bad_opens, 1); // again only after a while
    assert_int_equal(bad_closes, 1);
    assert_int_equal(dear_opens, 0);
    runner_free(runner);
    live_free(live);
    close(good_fd);
}

static void drains_by_the_clock(void **state) {
    (void)state;
    good_fd = -1;
    atomic_store(&good_drain_ms, 20);
    atomic_store(&good_drains, 0);
    atomic_store(&good_samples, 0);
    uint64_t begin = now_ns(), tick = 300000000;
    struct live *live = live_new(tick, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    live_start(live);
    runner_start(runner);
    wait_for(&good_drains, 10);
    // The provisional one and the ticks of the time that this took, however crowded the machine is.
    int samples = good_samples;
    assert_true(samples <= 2 + (int)((now_ns() - begin) / tick));
    assert_int_equal(runner_stop(runner, 20000), 0);
    live_stop(live);
    runner_free(runner);
    live_free(live);
    atomic_store(&good_drain_ms, 0);
}

// A poll_fd that reports an error for ever must not make the thread spin.
static void broken_poll_fd(void **state) {
    (void)state;
    good_fd = 1 << 20; // POLLNVAL
    atomic_store(&good_drains, 0);
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    live_start(live);
    runner_start(runner);
    frame_unref(frame_wait(live, 3));
    assert_true(good_drains <= 2);
    assert_int_equal(runner_stop(runner, 20000), 0);
    live_stop(live);
    runner_free(runner);
    live_free(live);
    good_fd = -1;
}

static void attention(void **state) {
    (void)state;
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    live_start(live);
    runner_start(runner);
    const char *const dear[] = {"dear", NULL}, *const none[] = {NULL};
    frame_unref(frame_wait(live, 1));
    assert_int_equal(dear_opens, 0);
    runner_want(runner, dear);
    wait_for(&dear_opens, 1);
    uint64_t stale;
    const struct frame *frame = NULL;
    for (int i = 0; i < 2500; i++) {
        frame = live_latest(live);
        if (section_state(frame_section(frame, "dear", &stale)) == SECTION_OK)
            break;
        frame_unref(frame);
        frame = NULL;
        usleep(10000);
    }
    assert_non_null(frame);
    uint64_t number = frame->number;
    frame_unref(frame);
    runner_want(runner, none);
    wait_for(&dear_closes, 1);
    frame = frame_wait(live, number + 3);
    assert_int_equal(section_state(frame_section(frame, "dear", &stale)), SECTION_STARTING);
    assert_int_equal(stale, 0);
    frame_unref(frame);
    runner_want(runner, dear);
    wait_for(&dear_opens, 2);
    wait_for(&dear_inputs, 2);
    assert_int_equal(dear_strange_inputs, 0);
    assert_int_equal(runner_stop(runner, 20000), 0);
    assert_int_equal(dear_closes, 2);
    live_stop(live);
    runner_free(runner);
    live_free(live);
}

static enum section_state dear_state(struct live *live, uint64_t number) {
    uint64_t stale;
    const struct frame *frame = frame_wait(live, number);
    enum section_state found = section_state(frame_section(frame, "dear", &stale));
    assert_int_equal(stale, 0);
    frame_unref(frame);
    return found;
}

static uint64_t newest(struct live *live) {
    const struct frame *frame = frame_wait(live, 1);
    uint64_t number = frame->number;
    frame_unref(frame);
    return number;
}

// A collector with a lease runs for that time, and its last section stays until the lease is returned.
static void lease(void **state) {
    (void)state;
    const char *const dear[] = {"dear", NULL}, *const none[] = {NULL};
    const uint64_t length = 330000000;
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    int opens = dear_opens, closes = dear_closes;
    live_start(live);
    runner_start(runner);
    frame_unref(frame_wait(live, 1));
    uint64_t begin = now_ns();
    runner_lease(runner, "nothing", begin);
    runner_lease(runner, "dear", begin + length);
    wait_for(&dear_opens, opens + 1);
    wait_for(&dear_closes, closes + 1);
    assert_true(now_ns() - begin >= length - 30000000);
    uint64_t number = newest(live);
    assert_int_equal(dear_state(live, number + 1), SECTION_OK);
    assert_int_equal(dear_state(live, number + 4), SECTION_OK);
    runner_lease(runner, "dear", 0);
    assert_int_equal(dear_state(live, number + 8), SECTION_STARTING);
    assert_int_equal(dear_opens, opens + 1);

    // A pane needs it: the end of the lease changes nothing.
    begin = now_ns();
    runner_lease(runner, "dear", begin + length);
    wait_for(&dear_opens, opens + 2);
    runner_want(runner, dear);
    frame_unref(frame_wait(live, newest(live) + 6));
    assert_true(now_ns() - begin > length);
    runner_lease(runner, "dear", 0);
    frame_unref(frame_wait(live, newest(live) + 2));
    assert_int_equal(dear_closes, closes + 1);
    // And the other way around.
    runner_lease(runner, "dear", now_ns() + 60000000000);
    runner_want(runner, none);
    frame_unref(frame_wait(live, newest(live) + 3));
    assert_int_equal(dear_closes, closes + 1);
    runner_lease(runner, "dear", 0);
    wait_for(&dear_closes, closes + 2);
    // A pane that needs it while its last section is kept.
    runner_lease(runner, "dear", now_ns());
    frame_unref(frame_wait(live, newest(live) + 2));
    runner_want(runner, dear);
    wait_for(&dear_opens, opens + 3);
    assert_int_equal(runner_stop(runner, 20000), 0);
    live_stop(live);
    runner_free(runner);
    live_free(live);
}

// A collector whose open blocks in the kernel is reported by name, and delays no other collector.
static void slow_to_open(void **state) {
    (void)state;
    static const char *const dear[] = {"dear", NULL};
    dear_fd = eventfd(0, 0);
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    live_start(live);
    runner_start(runner);
    frame_unref(frame_wait(live, 1));
    runner_want(runner, dear);
    uint64_t begin = now_ns(), stale, waited_ns = 0;
    bool told = false, was_quiet = false;
    char text[400] = "", where[64];
    for (uint64_t number = 2; number < 500 && !told;) {
        const struct frame *frame = frame_wait(live, number);
        const struct section *section = frame_section(frame, "dear", &stale);
        assert_int_equal(section_state(section), SECTION_STARTING);
        assert_int_equal(stale, 0);
        waited_ns = now_ns() - begin;
        told = section_notes(section) == 1;
        was_quiet |= !told && waited_ns > 1000000000;
        if (told)
            snprintf(text, sizeof text, "%s; %s", section_note_at(section, 0)->text, section_note_at(section, 0)->fix);
        number = frame->number + 1;
        frame_unref(frame);
    }
    assert_true(told && was_quiet && waited_ns >= 1900000000);
    assert_non_null(strstr(text, "dear has delivered nothing for "));
    assert_non_null(strstr(text, " s: it waits for the test; "));
    snprintf(where, sizeof where, "cat /proc/%d/task/*/stack", getpid());
    assert_non_null(strstr(text, where));
    const uint64_t one = 1;
    assert_int_equal(write(dear_fd, &one, sizeof one), sizeof one);
    bool there = false;
    for (int i = 0; i < 2500 && !there; i++) {
        const struct frame *frame = live_latest(live);
        const struct section *section = frame_section(frame, "dear", &stale);
        there = section_state(section) == SECTION_OK && !section_notes(section);
        frame_unref(frame);
        usleep(10000);
    }
    assert_true(there);
    assert_int_equal(runner_stop(runner, 20000), 0);
    live_stop(live);
    runner_free(runner);
    live_free(live);
    close(dear_fd);
    dear_fd = -1;
}

static void hanging(void **state) {
    (void)state;
    hang_fd = eventfd(0, 0);
    atomic_store(&hang_armed, true);
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    live_start(live);
    runner_start(runner);
    uint64_t stale_hung = 0, stale = 1;
    const struct frame *frame = NULL;
    for (uint64_t number = 5; number < 50 && (!stale_hung || stale); number = frame->number + 1) {
        frame_unref(frame);
        frame = frame_wait(live, number); // the others go on, though now and then late on a crowded machine
        assert_non_null(frame_section(frame, "hang", &stale_hung));
        assert_non_null(frame_section(frame, "good", &stale));
    }
    assert_true(stale_hung > 0);
    assert_int_equal(stale, 0);
    frame_unref(frame);
    uint64_t before = now_ns();
    assert_int_equal(runner_stop(runner, 1000), 1);
    assert_true(now_ns() - before < 5000000000ull);
    live_stop(live);
    live_free(live);
    atomic_store(&hang_armed, false);
    uint64_t one = 1;
    assert_int_equal(write(hang_fd, &one, sizeof one), sizeof one); // the hung thread resumes after the model is freed
    wait_for(&hang_back, 1);
    assert_int_equal(runner_stop(runner, 20000), 0);
    runner_free(runner);
    close(hang_fd);
}

static struct answer answer_wait(struct runner *runner) {
    struct pollfd fd = {.fd = runner_answer_fd(runner), .events = POLLIN};
    struct answer answer;
    assert_int_equal(poll(&fd, 1, 25000), 1);
    assert_true(runner_answer(runner, &answer));
    return answer;
}

static uint64_t send_text(struct runner *runner, const char *text) {
    char local[64]; // the runner copies it
    snprintf(local, sizeof local, "%s", text);
    return runner_request(runner, "dear", &(struct request){.kind = REQUEST_EVENTS, .text = local});
}

static uint64_t send_hz(struct runner *runner, const char *name, uint32_t hz) {
    return runner_request(runner, name, &(struct request){.kind = REQUEST_FREQUENCY, .hz = hz});
}

static void expect(struct runner *runner, uint64_t version, enum answer_status status, const char *sentence,
                   int place) {
    struct answer answer = answer_wait(runner);
    assert_int_equal(answer.version, version);
    assert_int_equal(answer.status, status);
    assert_string_equal(answer.sentence, sentence);
    assert_int_equal(answer.place, place);
}

static void requests(void **state) {
    (void)state;
    static const char *const dear[] = {"dear", NULL}, *const none[] = {NULL};
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    struct answer answer;
    live_start(live);
    runner_start(runner);
    frame_unref(frame_wait(live, 1));
    assert_false(runner_answer(runner, &answer));
    assert_int_equal(send_hz(runner, "nothing", 99), 0);
    assert_int_equal(send_hz(runner, "good", 99), 0); // takes none

    // To one that does not run: kept, and applied when it opens; only the newest of each kind.
    uint64_t first = send_text(runner, "old"), second, third;
    expect(runner, first, ANSWER_KEPT, "dear is not running; the request is kept until it starts", -1);
    second = send_text(runner, "new");
    expect(runner, first, ANSWER_SUPERSEDED, "a newer request replaced it", -1);
    expect(runner, second, ANSWER_KEPT, "dear is not running; the request is kept until it starts", -1);
    third = send_hz(runner, "dear", 999);
    assert_int_equal(answer_wait(runner).status, ANSWER_KEPT);
    atomic_store(&dear_in_force, 0);
    runner_want(runner, dear);
    expect(runner, second, ANSWER_DONE, "events: new", -1);
    expect(runner, third, ANSWER_DONE, "", -1);
    assert_int_equal(dear_hz, 999);
    assert_int_equal(dear_in_force, 2);

    // To one that runs. A refused one changes nothing.
    first = send_text(runner, "sys:one, sys:!two");
    expect(runner, first, ANSWER_REFUSED, "no such event", 13);
    first = send_hz(runner, "dear", 5000);
    expect(runner, first, ANSWER_REFUSED, "dear: Numerical result out of range", -1);
    assert_int_equal(dear_hz, 999);
    const pid_t pids[] = {1, 42};
    first = runner_request(runner, "dear", &(struct request){.kind = REQUEST_PIDS, .pids = {pids, 2}});
    expect(runner, first, ANSWER_DONE, "", -1);
    assert_int_equal(dear_pids, 42);
    char symbol[] = "main", object[] = "/bin/sh"; // copied
    first = runner_request(runner, "dear",
                           &(struct request){.kind = REQUEST_CODE, .code = {.symbol = symbol, .object = object}});
    memset(symbol, 0, sizeof symbol);
    memset(object, 0, sizeof object);
    expect(runner, first, ANSWER_DONE, "", -1);
    assert_int_equal(dear_pids, 11);

    // A reopened collector gets its accepted requests again, without an answer.
    int opens = dear_opens, closes = dear_closes;
    runner_want(runner, none);
    wait_for(&dear_closes, closes + 1);
    assert_int_equal(dear_hz, 0);
    runner_want(runner, dear);
    wait_for(&dear_opens, opens + 1);
    for (int i = 0; i < 2500 && dear_in_force < 4; i++)
        usleep(10000);
    assert_int_equal(dear_in_force, 4);
    assert_int_equal(dear_hz, 999);
    assert_false(runner_answer(runner, &answer));

    // To one that cannot be opened: kept, with its reason.
    first = send_hz(runner, "bad", 1);
    expect(runner, first, ANSWER_KEPT, "bad is unavailable, the request is kept: no such machine", -1);

    // To all that accept it: each answers.
    first = runner_request(runner, NULL, &(struct request){.kind = REQUEST_THREADS, .on = true});
    bool from_dear = false, from_hang = false;
    for (int i = 0; i < 2; i++) {
        answer = answer_wait(runner);
        assert_int_equal(answer.version, first);
        assert_int_equal(answer.status, ANSWER_DONE);
        from_dear |= !strcmp(answer.collector, "dear");
        from_hang |= !strcmp(answer.collector, "hang");
    }
    assert_true(from_dear && from_hang && dear_threads == 1);
    send_text(runner, "unread"); // an answer that is never read
    assert_int_equal(runner_stop(runner, 20000), 0);
    live_stop(live);
    runner_free(runner);
    live_free(live);
}

// Many in flight, from two threads: each gets a final answer, and the last one is in force.
static void *send_many(void *runner) {
    for (uint32_t i = 1; i <= 500; i++)
        send_hz(runner, "dear", i);
    return NULL;
}

static void requests_at_once(void **state) {
    (void)state;
    static const char *const dear[] = {"dear", NULL};
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    pthread_t other;
    unsigned finals = 0;
    runner_want(runner, dear);
    live_start(live);
    runner_start(runner);
    pthread_create(&other, NULL, send_many, runner);
    send_many(runner);
    pthread_join(other, NULL);
    while (finals < 1000) {
        struct answer answer = answer_wait(runner);
        assert_int_not_equal(answer.status, ANSWER_REFUSED);
        finals += answer.status == ANSWER_DONE || answer.status == ANSWER_SUPERSEDED;
    }
    assert_int_equal(dear_hz, 500);
    assert_int_equal(runner_stop(runner, 20000), 0);
    live_stop(live);
    runner_free(runner);
    live_free(live);
}

// A hung collector: the answer reports the cause; the final one follows when it resumes.
static void request_to_a_hanging_one(void **state) {
    (void)state;
    hang_fd = eventfd(0, 0);
    int back = hang_back;
    atomic_store(&hang_armed, true);
    struct live *live = live_new(100000000, 1 << 20);
    struct runner *runner = runner_new(live, &options);
    live_start(live);
    runner_start(runner);
    uint64_t stale = 0;
    for (uint64_t number = 5; number < 200 && !stale;) {
        const struct frame *frame = frame_wait(live, number);
        frame_section(frame, "hang", &stale);
        number = frame->number + 1;
        frame_unref(frame);
    }
    atomic_store(&hang_requests, 0);
    const struct request on = {.kind = REQUEST_THREADS, .on = true};
    uint64_t first = runner_request(runner, "hang", &on), second = runner_request(runner, "hang", &on);
    expect(runner, first, ANSWER_SUPERSEDED, "a newer request replaced it", -1);
    struct answer answer = answer_wait(runner);
    assert_int_equal(answer.version, second);
    assert_int_equal(answer.status, ANSWER_LATE);
    assert_non_null(strstr(answer.sentence, "hang has not answered for "));
    assert_non_null(strstr(answer.sentence, " s: it waits for the kernel"));
    assert_int_equal(hang_requests, 0);
    atomic_store(&hang_armed, false);
    uint64_t one = 1;
    assert_int_equal(write(hang_fd, &one, sizeof one), sizeof one);
    wait_for(&hang_back, back + 1);
    expect(runner, second, ANSWER_DONE, "", -1);
    assert_int_equal(hang_requests, 1);
    assert_int_equal(runner_stop(runner, 20000), 0);
    live_stop(live);
    runner_free(runner);
    live_free(live);
    close(hang_fd);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs),
        cmocka_unit_test(drains_by_the_clock),
        cmocka_unit_test(broken_poll_fd),
        cmocka_unit_test(attention),
        cmocka_unit_test(lease),
        cmocka_unit_test(slow_to_open),
        cmocka_unit_test(hanging),
        cmocka_unit_test(requests),
        cmocka_unit_test(requests_at_once),
        cmocka_unit_test(request_to_a_hanging_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
