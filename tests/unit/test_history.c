// The history: finding frames, the bound in bytes, readers beside the writer.
#include "tests/unit/model_test.h"

#include <pthread.h>
#include <stdatomic.h>

#include "model/history.h"
#include "model/mem.h"

static const struct column columns[] = {{.name = "n"}};
static const struct table_def def = {.name = "rows", .columns = columns, .n_columns = 1};

// A frame of about `rows` * 8 bytes.
static const struct frame *frame_make(uint64_t number, int rows) {
    struct frame *frame = frame_new(number, number * 1000000000, (number + 1) * 1000000000,
                                    (struct timespec){.tv_sec = 1000 + (time_t)number});
    struct section *section = section_new("x", 0, 1);
    struct table_builder *builder = table_builder_new(&def);
    for (int i = 0; i < rows; i++)
        table_builder_set_num(builder, table_builder_add(builder), 0, i);
    section_table(section, table_builder_seal(builder));
    table_builder_free(builder);
    frame_add_section(frame, section, 0);
    return frame;
}

static void is(const struct frame *frame, uint64_t number) {
    assert_non_null(frame);
    assert_int_equal(frame->number, number);
    frame_unref(frame);
}

static void finding(void **state) {
    (void)state;
    size_t before = mem_used();
    struct history *history = history_new(64 << 20, NULL);
    const struct frame *window[300];
    assert_null(history_get(history, 0));
    assert_null(history_find(history, 1));
    assert_null(history_at(history, (struct timespec){0}));
    assert_int_equal(history_window(history, 1, window, 300), 0);
    for (uint64_t n = 1; n <= 200; n++)
        if (n != 100 && n != 101 && n != 102) // a gap
            history_push(history, frame_make(n, 1));
    assert_int_equal(history_count(history), 197);
    is(history_get(history, 0), 200);
    is(history_get(history, 196), 1);
    assert_null(history_get(history, 197));
    is(history_find(history, 57), 57);
    is(history_find(history, 0), 1);
    is(history_find(history, UINT64_MAX), 200);
    is(history_find(history, 100), 99);
    is(history_find(history, 102), 103);
    is(history_at(history, (struct timespec){.tv_sec = 1056, .tv_nsec = 500000000}), 57);
    is(history_at(history, (struct timespec){.tv_sec = 3}), 1);
    is(history_at(history, (struct timespec){.tv_sec = 9999}), 200);
    assert_int_equal(history_window(history, 5, window, 300), 5);
    for (uint64_t i = 0; i < 5; i++)
        is(window[i], i + 1);
    assert_int_equal(history_window(history, 200, window, 3), 3);
    for (uint64_t i = 0; i < 3; i++)
        is(window[i], 198 + i);
    assert_int_equal(history_window(history, 200, window, 0), 0);
    history_free(history);
    history_free(NULL);
    assert_int_equal(mem_used(), before);
}

static void bounded(void **state) {
    (void)state;
    size_t base = mem_used(), max = base + 100000;
    struct history *history = history_new(max, NULL);
    for (uint64_t n = 1; n <= 500; n++) {
        history_push(history, frame_make(n, 500)); // about 4.5 KB each
        assert_true(mem_used() <= max);
    }
    size_t kept = history_count(history);
    assert_true(kept > 10 && kept < 30);
    is(history_find(history, 1), 500 - kept + 1);
    // Too large for the bound: two are kept whatever they are.
    history_push(history, frame_make(501, 50000));
    assert_int_equal(history_count(history), 2);
    history_push(history, frame_make(502, 50000));
    assert_int_equal(history_count(history), 2);
    is(history_get(history, 1), 501);
    history_free(history);
    assert_int_equal(mem_used(), base);
}

// Who holds frames (a heat map being drawn) keeps the memory, but must not make the whole history go.
static void held_frames(void **state) {
    (void)state;
    struct history *history = history_new(mem_used() + 100000, NULL);
    for (uint64_t n = 1; n <= 100; n++)
        history_push(history, frame_make(n, 500));
    size_t kept = history_count(history);
    const struct frame *window[64];
    size_t n = history_window(history, 100, window, 64);
    for (uint64_t i = 101; i <= 105; i++)
        history_push(history, frame_make(i, 500));
    assert_true(history_count(history) + 2 >= kept);
    for (size_t i = 0; i < n; i++)
        frame_unref(window[i]);
    history_push(history, frame_make(106, 500));
    assert_true(history_count(history) + 2 >= kept);
    assert_true(history_count(history) <= kept + 1);
    history_free(history);
}

// The frames of two spans outlive those between and after them, in order; stepping crosses the gaps, and a window does
// not.
static void kept_spans(void **state) {
    (void)state;
    const struct history_span spans[] = {{11000000000u, 14000000000u}, {41000000000u, 44000000000u}};
    struct history *history = history_new(mem_used() + 200000, NULL); // about 40 frames
    const struct frame *window[64];
    for (uint64_t n = 1; n <= 400; n++) {
        history_keep(history, spans, 2);
        history_push(history, frame_make(n, 500));
    }
    for (uint64_t n = 11; n <= 13; n++) {
        is(history_find(history, n), n);
        is(history_find(history, n + 30), n + 30);
    }
    size_t count = history_count(history);
    assert_true(count > 30 && count < 60);
    for (size_t i = 1; i < count; i++) {
        const struct frame *newer = history_get(history, i - 1), *older = history_get(history, i);
        assert_true(older->number < newer->number);
        frame_unref(newer);
        frame_unref(older);
    }
    uint64_t first = 400 - (count - 6) + 1; // of the frames without a gap
    is(history_get(history, count - 7), first);
    is(history_step(history, first, -1), 43);
    is(history_step(history, 43, 1), first);
    is(history_step(history, 41, -1), 13);
    is(history_step(history, 13, 1), 41);
    is(history_step(history, 13, -100), 11);
    is(history_step(history, 20, 1), 41); // gone: from where it was
    is(history_step(history, 20, -1), 13);
    is(history_step(history, 399, 10), 400);
    assert_int_equal(history_window(history, 400, window, 64), count - 6);
    for (size_t i = 0; i < count - 6; i++)
        is(window[i], first + i);
    assert_int_equal(history_window(history, 43, window, 64), 3);
    for (size_t i = 0; i < 3; i++)
        is(window[i], 41 + i);
    // No longer kept: they go first.
    history_keep(history, NULL, 0);
    for (uint64_t n = 401; n <= 410; n++)
        history_push(history, frame_make(n, 500));
    is(history_get(history, history_count(history) - 1), 410 - history_count(history) + 1);
    history_free(history);
}

// Kept frames are a quarter at most, and the bound in bytes holds.
static void kept_share(void **state) {
    (void)state;
    const struct history_span all = {0, UINT64_MAX};
    size_t max = mem_used() + 100000;
    struct history *history = history_new(max, NULL);
    for (uint64_t n = 1; n <= 300; n++) {
        history_keep(history, &all, 1);
        history_push(history, frame_make(n, 500));
        assert_true(mem_used() <= max);
    }
    const struct history_span old = {0, 250000000000u};
    for (uint64_t n = 301; n <= 600; n++) {
        history_keep(history, &old, 1);
        history_push(history, frame_make(n, 500));
        assert_true(mem_used() <= max);
    }
    is(history_get(history, 0), 600);
    is(history_get(history, 8), 592);
    history_free(history);
}

// Two histories in one process: each is bounded by what its own frames hold.
static void own_bytes(void **state) {
    (void)state;
    size_t before = mem_used();
    struct mem_account *account = mem_account_new();
    struct history *live = history_new(before + 100000, NULL), *replay = history_new(100000, account);
    for (uint64_t n = 1; n <= 15; n++)
        history_push(live, frame_make(n, 500));
    assert_int_equal(history_count(live), 15);
    mem_charge(account);
    for (uint64_t n = 1; n <= 1000; n++)
        history_push(replay, frame_make(n, 500));
    mem_charge(NULL);
    history_push(live, frame_make(16, 500));
    assert_int_equal(history_count(live), 16);
    assert_true(history_bytes(replay) <= 100000 && history_bytes(replay) > 50000);
    assert_true(history_bytes(live) <= before + 100000);
    const struct frame *last = history_get(replay, 0);
    history_free(replay); // closes the account while a reader holds one of its frames
    is(last, 1000);
    history_free(live);
    assert_int_equal(mem_used(), before);
}

struct reading {
    struct history *history;
    atomic_bool stop;
};

static void *reader(void *argument) {
    struct reading *reading = argument;
    const struct frame *window[32];
    while (!reading->stop) {
        size_t n = history_window(reading->history, UINT64_MAX, window, 32);
        for (size_t i = 0; i < n; i++) {
            if (i)
                assert_true(window[i]->number == window[i - 1]->number + 1);
            assert_int_equal(table_rows(frame_table(window[i], "rows")), 100);
        }
        for (size_t i = 0; i < n; i++)
            frame_unref(window[i]);
        frame_unref(history_find(reading->history, 500));
        frame_unref(history_at(reading->history, (struct timespec){.tv_sec = 1100}));
        frame_unref(history_get(reading->history, history_count(reading->history) / 2));
    }
    return NULL;
}

static void readers(void **state) {
    (void)state;
    size_t before = mem_used();
    struct reading reading = {.history = history_new(before + 50000, NULL)};
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, reader, &reading), 0);
    for (uint64_t n = 1; n <= 2000; n++)
        history_push(reading.history, frame_make(n, 100));
    reading.stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    history_free(reading.history);
    assert_int_equal(mem_used(), before);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(finding),     cmocka_unit_test(bounded),
                                       cmocka_unit_test(held_frames), cmocka_unit_test(kept_spans),
                                       cmocka_unit_test(kept_share),  cmocka_unit_test(own_bytes),
                                       cmocka_unit_test(readers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
