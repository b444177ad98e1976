// Editing one line: by whole characters, never past its end, nothing that a terminal would obey.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tui/prompt.h"
#include "tui/screen.h"

static void type(struct prompt *prompt, const char *text) {
    for (; *text; text++)
        assert_int_equal(prompt_key(prompt, *text), PROMPT_GOES_ON);
}

static void test_edit(void **state) {
    struct prompt p;
    (void)state;
    prompt_start(&p, "filter: ", "");
    type(&p, "hello world");
    prompt_key(&p, KEY_VIEW_HOME);
    prompt_key(&p, KEY_TUI_DELETE);
    type(&p, "J");
    assert_string_equal(p.text, "Jello world");
    prompt_key(&p, KEY_VIEW_END);
    prompt_key(&p, KEY_TUI_BACKSPACE);
    prompt_key(&p, KEY_CTRL('w'));
    assert_string_equal(p.text, "Jello ");
    prompt_key(&p, KEY_VIEW_LEFT);
    prompt_key(&p, KEY_VIEW_LEFT);
    prompt_key(&p, KEY_CTRL('k'));
    assert_string_equal(p.text, "Jell");
    prompt_key(&p, KEY_CTRL('u'));
    assert_string_equal(p.text, "");
    assert_int_equal(prompt_key(&p, KEY_VIEW_ENTER), PROMPT_DONE);
    assert_int_equal(prompt_key(&p, KEY_TUI_ESCAPE), PROMPT_CANCELLED);
    assert_int_equal(prompt_key(&p, KEY_TUI_BACKSPACE), PROMPT_CANCELLED);
}

static void test_utf8(void **state) {
    struct prompt p;
    (void)state;
    prompt_start(&p, "", "a");
    prompt_key(&p, 0xe9);
    prompt_key(&p, 0x6f22);
    prompt_key(&p, 0x1f600);
    assert_string_equal(p.text, "a\xc3\xa9\xe6\xbc\xa2\xf0\x9f\x98\x80");
    prompt_key(&p, KEY_TUI_BACKSPACE);
    prompt_key(&p, KEY_VIEW_LEFT);
    prompt_key(&p, KEY_TUI_BACKSPACE);
    assert_string_equal(p.text, "a\xe6\xbc\xa2");
    prompt_key(&p, 7 + 20); // control characters and keys of the terminal are no text
    prompt_key(&p, KEY_VIEW_UP);
    prompt_key(&p, 0x9b);
    prompt_key(&p, 0x202e);
    assert_string_equal(p.text, "a\xe6\xbc\xa2");
}

static void test_full(void **state) {
    struct prompt p;
    (void)state;
    prompt_start(&p, "", "");
    for (int i = 0; i < 2 * PROMPT_MAX; i++)
        prompt_key(&p, i % 3 ? 'x' : 0x6f22);
    assert_true(strlen(p.text) == p.length && p.length < PROMPT_MAX);
}

static void test_draw(void **state) {
    struct prompt p;
    char row[128];
    struct grid *grid = grid_new(20, 1, false);
    (void)state;
    prompt_start(&p, "find: ", "abc");
    assert_int_equal(prompt_draw(&p, grid_area(grid)), 9);
    grid_row_text(grid, 0, row, sizeof row);
    assert_string_equal(row, "find: abc");
    prompt_start(&p, "find: ", "0123456789abcdefghijklmnop");
    grid_clear(grid);
    int cursor = prompt_draw(&p, grid_area(grid));
    assert_in_range(cursor, 6, 19);
    grid_row_text(grid, 0, row, sizeof row);
    assert_string_equal(row, "find: defghijklmnop");
    // The examples of a label go when the text needs their room.
    prompt_start(&p, "f (a, b > c): ", "12");
    grid_clear(grid);
    assert_int_equal(prompt_draw(&p, grid_area(grid)), 16);
    prompt_key(&p, '3');
    prompt_key(&p, '4');
    prompt_key(&p, '5');
    prompt_key(&p, '6');
    assert_int_equal(prompt_draw(&p, grid_area(grid)), 9);
    grid_free(grid);
}

static void test_replace(void **state) {
    struct prompt p;
    char text[PROMPT_MAX];
    (void)state;
    prompt_start(&p, "", "a bcd");
    prompt_key(&p, KEY_VIEW_LEFT);
    assert_true(prompt_replace(&p, 2, "xyz"));
    assert_string_equal(p.text, "a xyzd");
    assert_int_equal(p.at, 5);
    assert_false(prompt_replace(&p, 6, "x")); // behind the cursor
    memset(text, 'x', sizeof text);
    text[PROMPT_MAX - 4] = '\0';
    assert_true(prompt_replace(&p, 0, text));
    assert_int_equal(strlen(p.text), PROMPT_MAX - 3);
    assert_false(prompt_replace(&p, p.at, "1234"));
    assert_int_equal(strlen(p.text), p.length);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_edit), cmocka_unit_test(test_utf8),    cmocka_unit_test(test_full),
        cmocka_unit_test(test_draw), cmocka_unit_test(test_replace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
