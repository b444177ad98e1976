// From a row to another pane: to a frame in which that pane has it, and never to an empty list.
#include "tests/unit/screens.h"

#include "views/jump.h"

static const struct column task_columns[] = {
    {.name = "pid", .title = "PID", .unit = UNIT_ID, .width = 7},
    {.name = "comm", .title = "COMMAND", .type = COLUMN_TEXT, .width = 12},
    {.name = "write_bytes_per_s", .title = "WRITE/s", .unit = UNIT_BYTES_PER_S, .width = 8},
};
static const struct table_def tasks = {.name = "tasks", .columns = task_columns, .n_columns = 3, .n_keys = 1};
// One I/O of the pane disk.
static const struct column io_columns[] = {
    {.name = "pid", .title = "PID", .unit = UNIT_ID, .width = 7},
    {.name = "comm", .title = "COMMAND", .type = COLUMN_TEXT, .width = 12},
};
static const struct table_def ios = {.name = "io_events", .columns = io_columns, .n_columns = 2, .n_keys = 0};

extern const struct view view_disk;
static const struct frame *frames[4];
static struct look look;

// Enter on one I/O of the newest frame, in full; the frames' tasks are the rows.
static struct pane_answer enter(const char *const rows[4], const char *io) {
    for (uint64_t i = 0; i < 4; i++) {
        struct frame *frame = forge_frame(i + 1);
        struct section *section = forge_section("tasks", i + 1);
        if (rows[i])
            section_table(section, forge_table(&tasks, rows[i]));
        if (i == 3)
            section_stream(section, forge_table(&ios, io), 0);
        frame_add_section(frame, section, 0);
        frames[i] = frame;
    }
    forge_look(&look, frames, 4);
    struct pane *pane = pane_new(&view_disk);
    struct grid *grid = grid_new(80, 24, true);
    while (strcmp(view_disk.parts[pane->focus].name, "events") != 0)
        pane->focus++;
    pane_draw(pane, &look, grid_area(grid));
    forge_key(pane, &look, KEY_VIEW_ENTER, true);
    assert_string_equal(view_disk.parts[pane->focus].name, "one_io");
    pane_draw(pane, &look, grid_area(grid));
    struct pane_answer answer = forge_key(pane, &look, KEY_VIEW_ENTER, true);
    grid_free(grid);
    pane_free(pane);
    for (int i = 0; i < 4; i++)
        frame_unref(frames[i]);
    return answer;
}

static void gone(void **state) {
    static const char *const rows[] = {"7|dd|5\n9|fio|0", "7|dd|5\n9|fio|0", "9|fio|0", "9|fio|0"};
    (void)state;
    struct pane_answer answer = enter(rows, "9|fio");
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=9");
    assert_string_equal(answer.message, "");
    assert_int_equal(answer.go_frame, 0);
    answer = enter(rows, "7|dd");
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=7");
    assert_int_equal(answer.go_frame, 2);
    assert_string_equal(answer.message, "pid=7 is gone: showing 2.0 s earlier; g: live");
    answer = enter(rows, "8|cp"); // so short that no list ever had it
    assert_null(answer.jump_pane);
    assert_string_equal(answer.message, "pid=8: no match in the pane tasks in any frame");
}

static void nobody(void **state) {
    static const char *const rows[] = {"9|fio|0", "7|dd|5\n9|fio|0", "9|fio|0", "9|fio|0"};
    static const char *const idle[] = {"9|fio|0", "9|fio|0", "9|fio|0", "9|fio|0"};
    (void)state;
    struct pane_answer answer = enter(rows, "-|(writeback)");
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "write_bytes_per_s>0");
    assert_int_equal(answer.go_frame, 2);
    assert_string_equal(answer.message,
                        "(writeback): the kernel writes back pages that these processes dirtied, 2.0 s earlier");
    answer = enter(rows, "0|(throttled)");
    assert_null(answer.jump_pane);
    assert_string_equal(answer.message, "(throttled): delayed by a cgroup limit; its submitter is unknown");
    answer = enter(idle, "-|(writeback)");
    assert_null(answer.jump_pane);
    assert_string_equal(answer.message, "(writeback): the kernel writes back dirty pages; no process writes now");
}

// Nothing is known of the tasks yet: they may well be there.
static void unknown(void **state) {
    static const char *const rows[] = {NULL, NULL, NULL, NULL};
    (void)state;
    struct pane_answer answer = enter(rows, "7|dd");
    assert_string_equal(answer.jump_pane, "tasks");
    assert_string_equal(answer.jump_filter, "pid=7");
    assert_int_equal(answer.go_frame, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(gone), cmocka_unit_test(nobody), cmocka_unit_test(unknown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
