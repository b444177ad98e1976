// The grid: nothing is ever drawn outside of an area, and no half of a wide character is left over.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "views/grid.h"
#include "views/width.h"

static void expect_row(const struct grid *grid, int y, const char *want) {
    char out[512];

    grid_row_text(grid, y, out, sizeof(out));
    assert_string_equal(out, want);
}

static void test_clipping(void **state) {
    struct grid *grid = grid_new(10, 3, false);
    struct area area = area_sub(grid_area(grid), 2, 1, 5, 1);

    (void)state;
    assert_int_equal(area_text(area, 0, 0, ROLE_TEXT, "0123456789"), 5);
    assert_int_equal(area_text(area, 0, 1, ROLE_TEXT, "no"), 0);
    assert_int_equal(area_text(area, 0, -1, ROLE_TEXT, "no"), 0);
    expect_row(grid, 0, "");
    expect_row(grid, 1, "  01234");
    expect_row(grid, 2, "");
    assert_int_equal(area_text(area, -2, 0, ROLE_TEXT, "abcd"), 4);
    expect_row(grid, 1, "  cd234");
    area_fill(area, -5, 0, 100, ROLE_TEXT, '=');
    expect_row(grid, 1, "  =====");
    area_char(area, 5, 0, ROLE_TEXT, 'x');
    area_role(area, -3, 0, 100, ROLE_CRITICAL);
    assert_int_equal(grid->cells[10 + 2].role, ROLE_CRITICAL);
    assert_int_equal(grid->cells[10 + 7].role, ROLE_TEXT);
    expect_row(grid, 7, "");
    struct area outside = area_sub(area, 50, 50, 5, 5);
    assert_int_equal(outside.width, 0);
    area_text(outside, 0, 0, ROLE_TEXT, "no");
    struct area negative = area_sub(area, -3, -3, 5, 5);
    assert_int_equal(negative.width, 2);
    assert_int_equal(negative.height, 1);
    grid_free(grid);
}

static void test_empty(void **state) {
    struct grid *grid = grid_new(0, 0, false);
    struct area area = grid_area(grid);

    (void)state;
    area_text(area, 0, 0, ROLE_TEXT, "x");
    area_fill(area, 0, 0, 9, ROLE_TEXT, 'x');
    area_char(area_sub(area, 0, 0, 3, 3), 0, 0, ROLE_TEXT, 'x');
    expect_row(grid, 0, "");
    grid_free(grid);
    grid_free(NULL);
}

static void test_wide_and_combining(void **state) {
    struct grid *grid = grid_new(6, 1, false);
    struct area area = grid_area(grid);

    (void)state;
    assert_int_equal(text_width("\xe4\xb8\xad\xe6\x96\x87"), 4);
    assert_int_equal(text_width("e\xcc\x81"), 1);
    assert_int_equal(text_width("\xf0\x9f\x94\xa5"), 2);
    assert_int_equal(area_text(area, 0, 0, ROLE_TEXT, "\xe4\xb8\xad\xe6\x96\x87x"), 5);
    expect_row(grid, 0, "\xe4\xb8\xad\xe6\x96\x87x");
    area_char(area, 1, 0, ROLE_TEXT, '|'); // over the right half: the left half goes too
    expect_row(grid, 0, " |\xe6\x96\x87x");
    area_char(area, 2, 0, ROLE_TEXT, '|'); // over the left half
    expect_row(grid, 0, " || x");
    grid_clear(grid);
    area_text(area, 5, 0, ROLE_TEXT, "\xe4\xb8\xad"); // does not fit: no half
    expect_row(grid, 0, "");
    area_text(area, -1, 0, ROLE_TEXT, "\xe4\xb8\xad");
    expect_row(grid, 0, "");
    for (int i = 0; i < 6; i++)
        assert_int_not_equal(grid->cells[i].ch, 0);
    grid_free(grid);
}

static void test_never_raw(void **state) {
    struct grid *grid = grid_new(12, 1, false);

    (void)state;
    area_text(grid_area(grid), 0, 0, ROLE_TEXT, "a\033[m\xff\xc2\x9b\nb");
    expect_row(grid, 0,
               "a?[m?"
               "?"
               "?b");
    grid_free(grid);
}

static void test_ascii(void **state) {
    struct grid *grid = grid_new(12, 1, true);

    (void)state;
    area_text(grid_area(grid), 0, 0, ROLE_TEXT,
              "\xe2\x94\x80\xe2\x94\x82\xe2\x96\x88\xe2\x80\xa6\xc3\xa9\xe4\xb8\xad!");
    expect_row(grid, 0,
               "-|#.?"
               "?"
               "?!");
    for (int i = 0; i < 12; i++)
        assert_true(grid->cells[i].ch >= 0x20 && grid->cells[i].ch < 0x7f);
    grid_free(grid);
}

static void test_heat(void **state) {
    struct grid *grid = grid_new(2, 1, false);

    (void)state;
    area_heat(grid_area(grid), 1, 0, 200, 0x2588);
    assert_int_equal(grid->cells[1].heat, 200);
    assert_int_equal(grid->cells[1].role, ROLE_HEAT);
    grid_free(grid);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_clipping),  cmocka_unit_test(test_empty), cmocka_unit_test(test_wide_and_combining),
        cmocka_unit_test(test_never_raw), cmocka_unit_test(test_ascii), cmocka_unit_test(test_heat),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
