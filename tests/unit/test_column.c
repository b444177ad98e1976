// How values are shown and ordered.
#include "tests/unit/model_test.h"

#include <stdlib.h>
#include <time.h>

#include "model/column.h"

static void shows(enum unit unit, double value, const char *expected) {
    char out[32];
    size_t length = unit_format(unit, value, out, sizeof(out));
    if (strcmp(out, expected))
        print_message("unit %d, %.17g: %s, not %s\n", unit, value, out, expected);
    assert_string_equal(out, expected);
    assert_int_equal(length, strlen(expected));
}

static void units(void **state) {
    (void)state;
    shows(UNIT_NONE, 1.25, "1.25");
    shows(UNIT_NONE, 12, "12");
    shows(UNIT_NONE, 123.456, "123.5");
    shows(UNIT_ID, 4194304, "4194304");
    shows(UNIT_COUNT, 1234, "1234");
    shows(UNIT_COUNT, 56700, "56.7k");
    shows(UNIT_COUNT, 999999, "1.0M");
    shows(UNIT_COUNT, 123456789, "123M");
    shows(UNIT_PER_S, 0, "0");
    shows(UNIT_PER_S, -0.0, "0");
    shows(UNIT_PER_S, 0.3, "0.3");
    shows(UNIT_PER_S, 812.4, "812");
    shows(UNIT_PER_S, 1.2e6, "1.2M");
    shows(UNIT_BYTES, 0, "0");
    shows(UNIT_BYTES, 812, "812B");
    shows(UNIT_BYTES, 1023.7, "1.0K");
    shows(UNIT_BYTES, 4096, "4.0K");
    shows(UNIT_BYTES, 1.2 * (1 << 30), "1.2G");
    shows(UNIT_BYTES, 1023.9 * 1024 * 1024, "1.0G");
    shows(UNIT_KIB, 4, "4.0K");
    shows(UNIT_KIB, 1048576, "1.0G");
    shows(UNIT_PCT, 0, "0.0");
    shows(UNIT_PCT, 99.94, "99.9");
    shows(UNIT_PCT, 99.97, "100");
    shows(UNIT_PCT, 398.2, "398");
    shows(UNIT_US, 0, "0us");
    shows(UNIT_US, 0.4, "0.4us");
    shows(UNIT_US, 12, "12us");
    shows(UNIT_US, 3400, "3.4ms");
    shows(UNIT_US, 999.6, "1.0ms");
    shows(UNIT_US, 1.2e6, "1.2s");
    shows(UNIT_S, 12, "12s");
    shows(UNIT_S, 0.25, "0.2s");
    shows(UNIT_S, 59.97, "1m00s");
    shows(UNIT_S, 185, "3m05s");
    shows(UNIT_S, 7380, "2h03m");
    shows(UNIT_S, 5 * 86400 + 4 * 3600, "5d04h");
    shows(UNIT_HZ, 3.2e9, "3.2GHz");
    shows(UNIT_HZ, 800e6, "800MHz");
    shows(UNIT_RATIO, 1.254, "1.25");
    shows(UNIT_PCT, NAN, "-");
    shows(UNIT_BYTES, INFINITY, "inf");
    setenv("TZ", "UTC", 1);
    tzset();
    shows(UNIT_S, 1768000000.123, "23:06:40.123");
}

static void small_buffers(void **state) {
    (void)state;
    char out[4] = "xyz";
    assert_int_equal(unit_format(UNIT_ID, 123456, out, sizeof(out)), 3);
    assert_string_equal(out, "123");
    assert_int_equal(unit_format(UNIT_ID, 123456, out, 0), 0);
    assert_string_equal(out, "123");
    const struct column text = {.type = COLUMN_TEXT};
    union cell value = TEXT("long text");
    assert_int_equal(column_format(&text, value, out, sizeof(out)), 3);
    assert_string_equal(out, "lon");
    assert_int_equal(column_format(&text, value, out, 1), 0);
    assert_string_equal(out, "");
    text_unref(value.text);
}

static size_t own_format(union cell value, char *out, size_t size) {
    (void)value;
    (void)size;
    out[0] = 'x';
    out[1] = 0;
    return 1;
}

static int by_tens(union cell a, union cell b) {
    return (int)(a.num / 10) - (int)(b.num / 10);
}

static void nulls_and_order(void **state) {
    (void)state;
    const struct column number = {.name = "n", .format = own_format}, text = {.name = "t", .type = COLUMN_TEXT};
    char out[8];
    assert_int_equal(column_format(&number, NUM(NAN), out, sizeof(out)), 1);
    assert_string_equal(out, "-"); // not for the column's own format
    column_format(&number, NUM(1), out, sizeof(out));
    assert_string_equal(out, "x");
    column_format(&text, cell_null(COLUMN_TEXT), out, sizeof(out));
    assert_string_equal(out, "-");
    assert_true(cell_is_null(&number, cell_null(COLUMN_NUMBER)));
    assert_false(cell_is_null(&number, NUM(0)));

    assert_true(column_compare(&number, NUM(1), NUM(2)) < 0);
    assert_int_equal(column_compare(&number, NUM(2), NUM(2)), 0);
    assert_true(column_compare_sorted(&number, NUM(1), NUM(2), true) > 0);
    for (int descending = 0; descending < 2; descending++) { // not measured comes last, whatever the direction
        assert_true(column_compare_sorted(&number, NUM(NAN), NUM(2), descending) > 0);
        assert_true(column_compare_sorted(&number, NUM(2), NUM(NAN), descending) < 0);
        assert_int_equal(column_compare_sorted(&number, NUM(NAN), NUM(NAN), descending), 0);
    }
    union cell a = TEXT("a"), b = TEXT("b");
    assert_true(column_compare(&text, a, b) < 0);
    assert_true(column_compare_sorted(&text, a, b, true) > 0);
    assert_true(column_compare(&text, cell_null(COLUMN_TEXT), a) > 0);
    text_unref(a.text);
    text_unref(b.text);
    const struct column tens = {.compare = by_tens};
    assert_int_equal(column_compare(&tens, NUM(11), NUM(19)), 0);
    assert_true(column_compare_sorted(&tens, NUM(11), NUM(21), true) > 0);
}

// What is shown alike is ordered alike, and rounding changes nothing that is seen.
static void rounding(void **state) {
    static const enum unit units[] = {UNIT_PCT, UNIT_PER_S, UNIT_BYTES_PER_S, UNIT_US, UNIT_US_PER_S};
    (void)state;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        double last = 0;
        char shown_last[32] = "";
        for (double value = 0.6; // less is shown as 0.0, and nothing at all as 0
             value < 3e10; value *= 1.0007) {
            char shown[32], shown_rounded[32];
            double rounded = unit_round(units[i], value);
            unit_format(units[i], value, shown, sizeof(shown));
            unit_format(units[i], rounded, shown_rounded, sizeof(shown_rounded));
            if (strcmp(shown, shown_rounded) || (!strcmp(shown, shown_last) && rounded != last))
                print_message("unit %d, %.17g: %s, rounded %.17g: %s\n", units[i], value, shown, rounded,
                              shown_rounded);
            assert_string_equal(shown, shown_rounded);
            assert_true(rounded >= last);
            if (!strcmp(shown, shown_last))
                assert_true(rounded == last);
            last = rounded;
            memcpy(shown_last, shown, sizeof(shown_last));
        }
        assert_true(isnan(unit_round(units[i], NAN)));
    }
    assert_true(unit_round(UNIT_ID, 4194303.25) == 4194303.25);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(units), cmocka_unit_test(small_buffers),
                                       cmocka_unit_test(nulls_and_order), cmocka_unit_test(rounding)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
