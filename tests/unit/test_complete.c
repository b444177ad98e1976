// The list above a prompt: what Tab and the arrows put into the prompt, answers that come late, and the screen.
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "model/mem.h"
#include "tui/complete.h"
#include "tui/screen.h"
#include "views/grid.h"

// A source that has a few names for what is behind the last blank, and blocks while it is told to.
static sem_t let;
static _Atomic bool blocks;
static _Atomic int opened, closed;

static void *names_open(const struct collect_options *options) {
    (void)options;
    static const char *const names[] = {"vfs_read", "vfs_readv",    "vfs_write",
                                        "a\x1b[2J", "libssl.so.3:", "libssh.so.4:"};
    struct name_set *set = name_set_new();
    opened++;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        name_set_add(set, names[i], strlen(names[i]));
    name_set_seal(set);
    return set;
}

static void names_complete(void *state, const char *text, struct name_list *out) {
    const struct name_set *set = state;
    const char *blank = strrchr(text, ' ');
    if (blocks)
        sem_wait(&let);
    out->from = blank ? (size_t)(blank + 1 - text) : 0;
    out->what = strstr(text, "none ") ? NULL : "functions";
    if (out->what)
        name_matches_find(&out->matches, text + out->from, &set, 1);
}

static void names_close(void *state) {
    name_set_free(state);
    closed++;
}

static const struct name_source source = {names_open, names_complete, names_close};
static struct complete c;
static struct prompt p;

static void answered(void) {
    while (c.waits) {
        struct pollfd fd = {complete_fd(&c), POLLIN, 0};
        assert_int_equal(poll(&fd, 1, 10000), 1);
        complete_answered(&c, &p);
    }
}

static void key(int key) {
    if (complete_key(&c, &p, key))
        return;
    assert_int_equal(prompt_key(&p, key), PROMPT_GOES_ON);
    complete_typed(&c, &p);
}

static void type(const char *text) {
    for (; *text; text++)
        key(*text);
}

static void start(const char *text) {
    prompt_start(&p, "functions (FILE:GLOB): ", text);
    complete_start(&c, &source, NULL, &p);
    answered();
}

static void test_tab(void **state) {
    (void)state;
    start("graph ");
    type("vfs_r");
    answered();
    assert_int_equal(c.list.matches.matching, 2);
    key('\t'); // what both have
    assert_string_equal(p.text, "graph vfs_read");
    answered();
    key('\t'); // no more: one after the other
    assert_string_equal(p.text, "graph vfs_read");
    key('\t');
    assert_string_equal(p.text, "graph vfs_readv");
    key(KEY_VIEW_DOWN);
    assert_string_equal(p.text, "graph vfs_read");
    key(KEY_VIEW_UP);
    assert_string_equal(p.text, "graph vfs_readv");
    key(KEY_TUI_BACKTAB);
    assert_string_equal(p.text, "graph vfs_read");
    assert_false(complete_key(&c, &p, KEY_VIEW_ENTER));
    complete_stop(&c);
    // One match is taken whole. What is behind the cursor stays.
    start(" > 10ms");
    key(KEY_VIEW_HOME);
    type("vfs_w");
    answered();
    key('\t');
    assert_string_equal(p.text, "vfs_write > 10ms");
    answered();
    assert_int_equal(p.at, 9);
    complete_stop(&c);
    // A Tab that comes before the answer is done with it.
    start("");
    type("vfs_w\t");
    answered();
    assert_string_equal(p.text, "vfs_write");
    complete_stop(&c);
    // Enter on a file lists what is in it.
    start("libss");
    key('\t');
    key(KEY_VIEW_DOWN);
    assert_string_equal(p.text, "libssl.so.3:");
    assert_true(complete_key(&c, &p, KEY_VIEW_ENTER));
    assert_true(c.waits);
    answered();
    assert_false(complete_key(&c, &p, KEY_VIEW_ENTER));
    complete_stop(&c);
}

static void test_nothing(void **state) {
    (void)state;
    struct complete none = {.lister = NULL}; // a prompt without a list
    prompt_start(&p, "search: ", "abc");
    assert_true(complete_key(&none, &p, '\t'));
    assert_true(complete_key(&none, &p, KEY_VIEW_DOWN));
    assert_false(complete_key(&none, &p, KEY_VIEW_ENTER));
    complete_typed(&none, &p);
    assert_string_equal(p.text, "abc");
    start("zzzzzzzzzzz");
    key('\t');
    key(KEY_VIEW_UP);
    assert_string_equal(p.text, "zzzzzzzzzzz");
    complete_stop(&c);
    // A name that does not fit is not taken in part.
    char text[PROMPT_MAX];
    memset(text, 'x', sizeof(text));
    memcpy(text + sizeof(text) - 8, " vfs_w", 7);
    start(text);
    key('\t');
    assert_string_equal(p.text, text);
    complete_stop(&c);
}

static void test_late(void **state) {
    (void)state;
    start("");
    blocks = true;
    type("vfs_");
    type("r");
    assert_true(c.waits);
    for (int i = 0; i < 5; i++)
        sem_post(&let);
    answered(); // an older answer is dropped
    assert_int_equal(c.list.version, c.version);
    assert_int_equal(c.list.matches.matching, 2);
    while (!sem_trywait(&let))
        continue;
    type("x");
    complete_stop(&c); // waits for nothing, whatever the thread does
    assert_int_equal(complete_fd(&c), -1);
    blocks = false;
    sem_post(&let);
    for (int i = 0; i < 1000 && closed != opened; i++)
        poll(NULL, 0, 10);
    assert_int_equal(closed, opened);
}

static void draws(int width, int height, const char *wanted) {
    struct grid *grid = grid_new(width, height, false);
    char out[4096] = "", row[512];
    grid_clear(grid);
    complete_draw(&c, grid_area(grid));
    for (int y = 0; y < height; y++) {
        grid_row_text(grid, y, row, sizeof(row));
        strcat(strcat(out, row), "\n");
    }
    assert_string_equal(out, wanted);
    grid_free(grid);
}

static void test_draw(void **state) {
    (void)state;
    start("vfs_r");
    draws(60, 6,
          "\n\n\n"
          " 2 of 6 functions             Tab completes, Up Down select\n"
          " vfs_read\n"
          " vfs_readv\n");
    key('\t');
    answered();
    complete_stop(&c);
    start("");
    draws(40, 4,
          "\n"
          " 6 of 6 functions\n"
          " a\\e[2J\n"
          " libssh.so.4:\n");
    for (int i = 0; i < 4; i++)
        key(KEY_VIEW_DOWN);
    draws(40, 4,
          "\n"
          " 6 of 6 functions\n"
          " libssl.so.3:\n"
          " vfs_read\n");
    draws(10, 1, " 6 of 6 fu\n");
    draws(0, 0, "");
    complete_stop(&c);
    start("vfs_raed");
    draws(60, 2, "\n none of 6 functions matches; did you mean vfs_read?\n");
    complete_stop(&c);
    start("none ");
    draws(60, 2, "\n\n");
    complete_stop(&c);
    draws(60, 2, "\n\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tab),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_draw),
    };
    sem_init(&let, 0, 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
