// The live model with forged collectors: threads that put sections, late or never, and a consumer. Times are generous
// on the side that a busy machine stretches.
#include "tests/unit/model_test.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "model/live.h"
#include "model/mem.h"

#define MS 1000000ull

static const struct series_def ticks_def = {"ticks", "ticks", "how often it put", UNIT_COUNT};
static const struct column op_key[] = {{.name = "op", .type = COLUMN_TEXT}};
static const struct hist_def hist_def = {
    .name = "io_latency", .unit_name = "us", .divisor = 1000, .keys = op_key, .n_keys = 1};
static const struct column event_columns[] = {{.name = "n"}};
static const struct table_def event_def = {.name = "events", .columns = event_columns, .n_columns = 1};

struct collector {
    struct live *live;
    int slot;
    pthread_t thread;
    atomic_bool stop;
    atomic_int hang;    // while set: puts nothing
    atomic_int late_ms; // puts so much after the tick
    atomic_int puts;
    uint64_t last_end;
};

static void sleep_until(uint64_t when) {
    struct timespec time = {.tv_sec = (time_t)(when / 1000000000), .tv_nsec = (long)(when % 1000000000)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL))
        ;
}

static struct section *section_make(uint64_t begin, uint64_t end, int n) {
    struct section *section = section_new("fake", begin, end);
    section_set_state(section, SECTION_OK);
    section_series(section, &ticks_def, n);
    struct hist_acc *acc = xcalloc(1, sizeof(*acc));
    hist_acc_add(acc, 1000);
    struct hist_set *set = hist_set_new(&hist_def);
    union cell key = TEXT("R");
    hist_set_add(set, &key, hist_seal(acc));
    free(acc);
    section_hists(section, set);
    struct table_builder *rows = table_builder_new(&event_def);
    table_builder_set_num(rows, table_builder_add(rows), 0, n);
    section_stream(section, table_builder_seal(rows), 0);
    table_builder_free(rows);
    section_events(section, 1, 0);
    return section;
}

static void *collector_thread(void *argument) {
    struct collector *self = argument;
    uint64_t begin = now_ns();
    while (!self->stop) {
        sleep_until(live_next_tick(self->live, now_ns()));
        if (self->hang)
            continue;
        uint64_t end = now_ns();
        if (self->late_ms)
            sleep_until(end + (uint64_t)self->late_ms * MS);
        live_put(self->live, self->slot, section_make(begin, end, ++self->puts));
        begin = end;
    }
    return NULL;
}

static void collectors_start(struct live *live, struct collector *collectors, int n) {
    static const char *const names[] = {"one", "two", "three", "four"};
    for (int i = 0; i < n; i++)
        collectors[i].slot = live_add((collectors[i].live = live), names[i]);
    assert_int_equal(live_start(live), 0);
    for (int i = 0; i < n; i++)
        assert_int_equal(pthread_create(&collectors[i].thread, NULL, collector_thread, &collectors[i]), 0);
}

static void collectors_stop(struct collector *collectors, int n) {
    for (int i = 0; i < n; i++)
        collectors[i].stop = true;
    for (int i = 0; i < n; i++)
        pthread_join(collectors[i].thread, NULL);
}

// The first frame from `number` on, owned by the caller.
static const struct frame *wait_frame(struct live *live, uint64_t number) {
    struct pollfd fd = {.fd = live_fd(live), .events = POLLIN};
    for (;;) {
        const struct frame *frame = live_latest(live);
        if (frame && frame->number >= number)
            return frame;
        frame_unref(frame);
        assert_int_equal(poll(&fd, 1, 20000), 1);
    }
}

static void frames_follow_each_other(void **state) {
    (void)state;
    size_t before = mem_used();
    struct live *live = live_new(100 * MS, 1 << 20);
    struct collector collectors[2] = {0};
    collectors_start(live, collectors, 2);
    frame_unref(wait_frame(live, 6));
    collectors_stop(collectors, 2);
    live_stop(live);
    const struct frame *frames[64];
    size_t n = history_window(live_history(live), UINT64_MAX, frames, 64);
    assert_true(n >= 6);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(frames[i]->number, i + 1);
        assert_int_equal(frames[i]->n_sections, 5); // two collectors, groups, findings, health
        assert_true(frames[i]->end_ns > frames[i]->begin_ns);
        if (i)
            assert_int_equal(frames[i]->begin_ns, frames[i - 1]->end_ns);
        assert_non_null(frame_table(frames[i], "findings"));
        assert_non_null(frame_table(frames[i], "collectors"));
        frame_unref(frames[i]);
    }
    assert_true(live_cpu_ns(live) > 0);
    live_free(live);
    assert_int_equal(mem_used(), before);
}

// Nobody waits for who hangs: the others go on, on time, and its last section stands there, marked.
static void hung_collector(void **state) {
    (void)state;
    struct live *live = live_new(200 * MS, 1 << 20);
    struct collector collectors[2] = {0};
    collectors_start(live, collectors, 2);
    frame_unref(wait_frame(live, 2));
    collectors[0].hang = 1;
    const struct frame *at = wait_frame(live, 3);
    uint64_t from = at->number;
    frame_unref(at);
    at = wait_frame(live, from + 5);
    for (int i = 0; i < 30 && at->stale_ns[1]; i++) { // on a crowded machine the other one may be late, too, at times
        uint64_t next = at->number + 1;
        frame_unref(at);
        at = wait_frame(live, next);
    }
    uint64_t stale;
    const struct section *hung = frame_section(at, "fake", &stale);
    assert_ptr_equal(hung, at->sections[0]);
    assert_true(stale > 400 * MS);
    assert_true(at->repeated[0]);
    assert_true(section_end(hung) < at->begin_ns);
    assert_false(at->repeated[1]);
    assert_int_equal(at->stale_ns[1], 0);
    const struct table *findings = frame_table(at, "findings");
    size_t cursor = 0;
    const union cell *row = table_next(findings, &cursor);
    assert_non_null(row);
    assert_text(row[table_column(table_def(findings), "kind")].text, "collector_stale");
    frame_unref(at);
    // and back
    collectors[0].hang = 0;
    uint64_t back = 0;
    for (int i = 0; i < 20; i++) {
        at = wait_frame(live, back + 1);
        back = at->number;
        stale = at->stale_ns[0];
        frame_unref(at);
        if (!stale)
            break;
    }
    assert_int_equal(stale, 0);
    collectors_stop(collectors, 2);
    live_stop(live);
    live_free(live);
}

static uint64_t hist_count(const struct frame *frame) {
    const struct hist_set *set = section_find_hists(frame->sections[0], "io_latency");
    return set ? hist_set_at(set, 0, NULL)->count : 0;
}

// A section that comes after its frame is in the next one, and nothing that it counted is lost or counted twice.
static void late_section_counts_once(void **state) {
    (void)state;
    struct live *live = live_new(200 * MS, 4 << 20);
    int slot = live_add(live, "fake");
    uint64_t start = now_ns(), tick = live_next_tick(live, start);
    assert_int_equal(live_start(live), 0);
    int puts = 0;
    uint64_t begin = start;
    for (int i = 0; i < 8; i++) {
        sleep_until(tick);
        uint64_t end = now_ns();
        if (i == 2 || i == 3) // once past the grace, then on time again
            sleep_until(end + (i == 2 ? 150 : 0) * MS);
        live_put(live, slot, section_make(begin, end, ++puts));
        begin = end;
        tick = live_next_tick(live, tick);
    }
    const struct frame *last = wait_frame(live, 1);
    uint64_t number = last->number;
    frame_unref(last);
    frame_unref(wait_frame(live, number + 2)); // the next may have been on its way before the last put
    live_stop(live);
    const struct frame *frames[64];
    size_t n = history_window(live_history(live), UINT64_MAX, frames, 64);
    uint64_t counted = 0, events = 0, seen = 0;
    bool was_late = false;
    for (size_t i = 0; i < n; i++) {
        was_late |= frames[i]->stale_ns[0] > 0;
        if (!frames[i]->repeated[0]) {
            counted += hist_count(frames[i]);
            seen += section_seen(frames[i]->sections[0]);
            events += table_rows(section_find_stream(frames[i]->sections[0], "events", NULL));
        }
        frame_unref(frames[i]);
    }
    assert_true(was_late);
    assert_int_equal(counted, puts);
    assert_int_equal(events, puts);
    assert_int_equal(seen, puts);
    live_free(live);
}

static void delay_changes_at_once(void **state) {
    (void)state;
    struct live *live = live_new(60000 * MS, 1 << 20);
    struct collector collectors[1] = {0};
    collectors_start(live, collectors, 0);
    sleep_until(now_ns() + 150 * MS);
    uint64_t before = now_ns();
    live_set_delay(live, 100 * MS);
    assert_int_equal(live_delay(live), 100 * MS);
    const struct frame *frame = wait_frame(live, 1);
    assert_true(now_ns() - before < 10000 * MS);
    assert_true(frame_interval_s(frame) >= 0.15); // the whole time since the start
    frame_unref(frame);
    frame = wait_frame(live, 3);
    assert_true(frame_interval_s(frame) >= 0.05);
    frame_unref(frame);
    live_set_delay(live, 1); // clamped
    assert_int_equal(live_delay(live), LIVE_DELAY_MIN_NS);
    live_set_delay(live, UINT64_MAX);
    assert_int_equal(live_delay(live), LIVE_DELAY_MAX_NS);
    uint64_t now = now_ns(), next = live_next_tick(live, now);
    assert_true(next > now && next - now <= LIVE_DELAY_MAX_NS);
    live_stop(live); // at once, not at the next tick
    assert_true(now_ns() - now < 10000 * MS);
    live_free(live);
}

static void tick_comes_soon(void **state) {
    (void)state;
    struct live *live = live_new(100 * MS, 1 << 20);
    struct collector collectors[1] = {0};
    live_tick_soon(live, MS); // before the first frame: no effect
    collectors_start(live, collectors, 0);
    const struct frame *frame = wait_frame(live, 1);
    assert_true(frame_interval_s(frame) >= 0.05);
    frame_unref(frame);
    live_set_delay(live, 50000 * MS);
    uint64_t before = now_ns(), next = live_next_tick(live, before);
    assert_true(next > before + 40000 * MS);
    live_tick_soon(live, 60000 * MS); // later than the next tick: no effect
    assert_int_equal(live_next_tick(live, before), next);
    live_tick_soon(live, 200 * MS);
    next = live_next_tick(live, before);
    assert_true(next >= before + 200 * MS && next < before + 10000 * MS);
    assert_int_equal(live_next_tick(live, next), next + 50000 * MS);
    frame = wait_frame(live, 2);
    assert_true(now_ns() - before < 10000 * MS);
    assert_true(frame_interval_s(frame) < 10);
    frame_unref(frame);
    live_stop(live);
    live_free(live);
}

static void grid_of_ticks(void **state) {
    (void)state;
    struct live *live = live_new(1000 * MS, 1 << 20);
    uint64_t first = live_next_tick(live, now_ns());
    assert_int_equal(live_next_tick(live, first), first + 1000 * MS);
    assert_int_equal(live_next_tick(live, first - 1), first);
    assert_int_equal(live_next_tick(live, first + 3500 * MS), first + 4000 * MS); // missed ones are gone
    assert_int_equal(live_next_tick(live, 0), first);
    live_free(live);
}

static atomic_int begins, moves;
static void count_begin(void *arg) {
    assert_null(arg);
    begins++;
}
static void count_move(void *arg) {
    assert_null(arg);
    moves++;
}

// The first whole interval begins when the slowest has begun; a part of its first reading does not count as that.
static void first_interval_is_whole(void **state) {
    (void)state;
    struct live *live = live_new(200 * MS, 1 << 20);
    int slots[2] = {live_add(live, "quick"), live_add(live, "slow")};
    static const struct live_hooks hooks = {.began = count_begin, .grid_moved = count_move};
    live_hook(live, &hooks, NULL);
    assert_int_equal(live_start(live), 0);
    uint64_t start = now_ns();
    live_put(live, slots[0], section_make(start, start, 1));
    live_put_early(live, slots[1], section_make(start, start, 1));
    sleep_until(start + 500 * MS);
    const struct frame *frame = live_latest(live);
    if (now_ns() < start + 1500 * MS) { // else this machine is too crowded to tell
        assert_int_equal(frame->number, 0);
        assert_int_equal(moves, 0);
    }
    frame_unref(frame);
    uint64_t begun = now_ns();
    live_put(live, slots[1], section_make(begun, begun, 2));
    frame = wait_frame(live, 1);
    assert_int_equal(begins, 1);
    assert_int_equal(moves, 1);
    assert_true(frame->number > 1 || frame->begin_ns >= begun);
    frame_unref(frame);
    live_stop(live);
    live_free(live);
}

// The first paint does not wait for the first interval.
static void provisional_frames(void **state) {
    (void)state;
    struct live *live = live_new(2000 * MS, 1 << 20);
    int slot = live_add(live, "one");
    live_add(live, "two");
    assert_null(live_latest(live));
    assert_int_equal(live_start(live), 0);
    uint64_t now = now_ns();
    struct section *section = section_make(now, now, 7);
    live_put(live, slot, section);
    const struct frame *frame = wait_frame(live, 0);
    assert_int_equal(frame->number, 0);
    assert_int_equal(frame->begin_ns, frame->end_ns);
    assert_number(frame_series(frame, "ticks", NULL), 7);
    assert_int_equal(section_state(frame->sections[1]), SECTION_STARTING);
    assert_string_equal(section_collector(frame->sections[1]), "two");
    assert_int_equal(history_count(live_history(live)), 0);
    frame_unref(frame);
    struct pollfd fd = {.fd = live_fd(live), .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 0), 0);
    live_put(live, slot, section_make(now, now, 8));
    assert_int_equal(poll(&fd, 1, 10000), 1);
    frame = live_latest(live);
    assert_number(frame_series(frame, "ticks", NULL), 8);
    frame_unref(frame);
    live_stop(live);
    live_free(live);
}

// A collector that is paused or cannot work here is neither waited for nor called stale.
static void paused_and_unavailable(void **state) {
    (void)state;
    struct live *live = live_new(400 * MS, 1 << 20);
    int slots[3] = {live_add(live, "one"), live_add(live, "two"), live_add(live, "three")};
    uint64_t now = now_ns();
    live_put(live, slots[0], section_make(now, now + 1, 1));
    live_pause(live, slots[0], true);
    struct section *none = section_new("two", now, now);
    section_set_state(none, SECTION_UNAVAILABLE);
    live_put(live, slots[1], none);
    assert_int_equal(live_start(live), 0);
    const struct frame *frame = wait_frame(live, 2);
    for (int i = 0; i < 3; i++)
        assert_int_equal(frame->stale_ns[i], 0);
    frame_unref(frame);
    live_stop(live);
    live_free(live);
}

#define STOPPED_DELAY (400 * MS)

// The child of stopped_for_a_while: some frames, then whether they tell the truth.
static int child_runs(int ready) {
    struct live *live = live_new(STOPPED_DELAY, 1 << 20);
    struct collector collectors[2] = {0};
    collectors_start(live, collectors, 2);
    frame_unref(wait_frame(live, 1));
    if (write(ready, "x", 1) != 1) // the parent stops us about here
        return 2;
    frame_unref(wait_frame(live, 5));
    collectors_stop(collectors, 2);
    live_stop(live);
    const struct frame *frames[64];
    size_t n = history_window(live_history(live), UINT64_MAX, frames, 64);
    double longest = 0, sum = 0;
    bool stale = false;
    for (size_t i = 0; i < n; i++) {
        double interval = frame_interval_s(frames[i]);
        if (interval > longest)
            stale = frames[i]->stale_ns[0] || frames[i]->stale_ns[1];
        longest = interval > longest ? interval : longest;
        sum += interval;
    }
    double span = (double)(frames[n - 1]->end_ns - frames[0]->begin_ns) / 1e9;
    // No burst: on average never more frames than the grid has ticks; the pause is in one frame, and nothing is left
    // out.
    int wrong = (longest < 1.2) + 2 * (fabs(sum - span) > 1e-6) + 4 * ((double)n * 0.4 > span + 0.6) + 8 * stale;
    for (size_t i = 0; i < n; i++)
        frame_unref(frames[i]);
    live_free(live);
    return wrong;
}

// A machine that stood still (a debugger, a suspend, a hypervisor): one long frame that says so, not a burst.
static int stop_for_a_while(void) {
    int pipes[2];
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child)
        _exit(child_runs(pipes[1]));
    char ready;
    assert_int_equal(read(pipes[0], &ready, 1), 1);
    kill(child, SIGSTOP);
    sleep_until(now_ns() + 1550 * MS);
    kill(child, SIGCONT);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    close(pipes[0]);
    close(pipes[1]);
    return WEXITSTATUS(status);
}

static void stopped_for_a_while(void **state) {
    (void)state;
    int wrong = stop_for_a_while();
    for (int i = 0; i < 4 && wrong == 8; i++) // late on a crowded machine, now and then
        wrong = stop_for_a_while();
    assert_int_equal(wrong, 0);
}

static void many_readers(void **state) {
    (void)state;
    struct live *live = live_new(100 * MS, 64 << 10); // small: frames are dropped while they are read
    struct collector collectors[4] = {0};
    collectors_start(live, collectors, 4);
    uint64_t seen = 0;
    for (uint64_t until = now_ns() + 1200 * MS; now_ns() < until;) {
        const struct frame *frames[8];
        size_t n = history_window(live_history(live), UINT64_MAX, frames, 8);
        for (size_t i = 0; i < n; i++) {
            assert_true(frames[i]->n_sections == 7);
            seen += frames[i]->number;
            frame_unref(frames[i]);
        }
        frame_unref(live_latest(live));
        usleep(500);
    }
    assert_true(seen > 0);
    collectors_stop(collectors, 4);
    live_stop(live);
    live_free(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_follow_each_other),
        cmocka_unit_test(hung_collector),
        cmocka_unit_test(late_section_counts_once),
        cmocka_unit_test(delay_changes_at_once),
        cmocka_unit_test(tick_comes_soon),
        cmocka_unit_test(grid_of_ticks),
        cmocka_unit_test(first_interval_is_whole),
        cmocka_unit_test(provisional_frames),
        cmocka_unit_test(paused_and_unavailable),
        cmocka_unit_test(stopped_for_a_while),
        cmocka_unit_test(many_readers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
