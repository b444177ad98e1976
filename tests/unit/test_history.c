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
    const struct CMUnitTest tests[] = {cmocka_unit_test(finding), cmocka_unit_test(bounded),
                                       cmocka_unit_test(held_frames), cmocka_unit_test(own_bytes),
                                       cmocka_unit_test(readers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
