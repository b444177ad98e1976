// The colours: enough shades, rising in lightness, nothing dark blue on black, and no meaning by colour alone in mono.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tui/palette.h"

static double linear(unsigned c) {
    double v = c / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static double luminance(int index) {
    uint32_t rgb = palette_rgb(index);
    return 0.2126 * linear(rgb >> 16) + 0.7152 * linear(rgb >> 8 & 255) + 0.0722 * linear(rgb & 255);
}

static void test_ramp(void **state) {
    (void)state;
    assert_true(palette_heat_steps(PALETTE_256) >= 24);
    double before = -1;
    for (int i = 0; i < palette_heat_steps(PALETTE_256); i++) {
        double now = luminance(palette_heat(PALETTE_256, i).fg);
        assert_true(now > before);
        before = now;
    }
}

static void test_steps(void **state) {
    (void)state;
    for (int depth = PALETTE_MONO; depth <= PALETTE_256; depth++) {
        int before = 0;
        for (int heat = 0; heat < 256; heat++) {
            int step = palette_heat_step(depth, (uint8_t)heat);
            assert_true(step >= before && step < palette_heat_steps(depth));
            before = step;
            uint32_t glyph = palette_heat_glyph(depth, (uint8_t)heat, true);
            assert_true(glyph < 128);
            if (depth != PALETTE_256)
                assert_true((glyph == ' ') == (heat == 0));
        }
        assert_int_equal(before, palette_heat_steps(depth) - 1);
        if (depth != PALETTE_MONO)
            assert_int_not_equal(palette_heat_step(depth, 1), 0);
    }
}

static void test_roles(void **state) {
    (void)state;
    for (int role = 0; role <= ROLE_HEAT; role++) {
        struct paint mono = palette_role(PALETTE_MONO, role);
        assert_true(mono.fg == -1 && mono.bg == -1);
        for (int depth = PALETTE_8; depth <= PALETTE_256; depth++) {
            struct paint paint = palette_role(depth, role);
            int colors = depth == PALETTE_8 ? 8 : depth == PALETTE_16 ? 16 : 256;
            assert_true(paint.fg < colors && paint.bg < colors);
            // Dark blue on black cannot be read.
            assert_false(paint.fg == 4 && paint.bg <= 0);
            if (paint.fg >= 16 && paint.bg < 0)
                assert_true(luminance(paint.fg) > 0.1);
            if (paint.fg >= 16 && paint.bg >= 16)
                assert_true(fabs(luminance(paint.fg) - luminance(paint.bg)) > 0.3);
        }
    }
    assert_int_not_equal(palette_role(PALETTE_MONO, ROLE_SELECTED).attributes, 0);
    assert_int_not_equal(palette_role(PALETTE_MONO, ROLE_CRITICAL).attributes,
                         palette_role(PALETTE_MONO, ROLE_WARNING).attributes);
    assert_int_not_equal(palette_role(PALETTE_MONO, ROLE_WARNING).attributes, 0);
}

static void test_depth(void **state) {
    (void)state;
    assert_int_equal(palette_depth(-1, NULL), PALETTE_MONO);
    assert_int_equal(palette_depth(8, NULL), PALETTE_8);
    assert_int_equal(palette_depth(16, ""), PALETTE_16);
    assert_int_equal(palette_depth(256, NULL), PALETTE_256);
    assert_int_equal(palette_depth(1 << 24, NULL), PALETTE_256);
    assert_int_equal(palette_depth(256, "1"), PALETTE_MONO);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ramp),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_roles),
        cmocka_unit_test(test_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
