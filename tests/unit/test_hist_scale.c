// The round ranges that histograms and heat maps are drawn in.
#include "tests/unit/screens.h"

#include "views/hist/scale.h"

static const struct hist_def latency = {.name = "l", .unit_name = "us", .divisor = 1000, .unit = UNIT_US};
static const struct hist_def size = {.name = "s", .unit_name = "bytes", .divisor = 1, .unit = UNIT_BYTES};

static void edges(const struct hist_def *def, const struct hist_scale *scale, char *out) {
    out[0] = '\0';
    for (int i = 0; scale->rows && i <= scale->rows; i++) {
        char label[16];
        hist_scale_label(def, scale->edge[i], label);
        sprintf(out + strlen(out), "%s%s", i ? " " : "", label);
    }
}

static void expect(const struct hist_def *def, uint64_t min, uint64_t max, int rows, bool fill, const char *expected) {
    static struct hist_scale scale;
    char text[2048];
    hist_scale_fit(&scale, def, min, max, rows, fill);
    edges(def, &scale, text);
    assert_string_equal(text, expected);
    assert_true(scale.rows <= rows);
    if (!scale.rows)
        return;
    // Every bucket has its row, rows ascend, and the extremes lie in the first and the last one.
    for (uint32_t b = 1; b < HIST_BUCKETS; b++)
        assert_true(scale.row[b] >= scale.row[b - 1] && scale.row[b] < scale.rows);
    if (!fill && scale.rows > 1) {
        assert_int_equal(scale.row[hist_bucket(min)], 0);
        assert_int_equal(scale.row[hist_bucket(max)], scale.rows - 1);
    }
}

static void picks_the_finest_step_that_fits(void **state) {
    (void)state;
    expect(&latency, 100000, 4000000, 12, false, "100us 150us 200us 300us 500us 700us 1ms 1.5ms 2ms 3ms 5ms");
    expect(&latency, 100000, 4000000, 6, false, "100us 200us 500us 1ms 2ms 5ms");
    expect(&latency, 100000, 4000000, 4, false, "100us 300us 1ms 3ms 10ms");
    expect(&latency, 100000, 4000000, 2, false, "100us 1ms 10ms");
    expect(&latency, 100000, 4000000, 1, false, "100us 10ms");
    expect(&latency, 123000, 129000, 8, false, "120us 140us");
}

static void bytes_go_by_powers_of_two(void **state) {
    (void)state;
    expect(&size, 4096, 131072, 8, false, "4K 8K 16K 32K 64K 128K 256K");
    expect(&size, 512, 1048576, 8, false, "256B 1K 4K 16K 64K 256K 1M 4M");
    expect(&size, 4096, 4096, 8, false, "4K 5K");
}

static void fills_the_rows_on_both_sides(void **state) {
    (void)state;
    expect(&latency, 1000000, 1100000, 6, true, "800us 900us 1ms 1.1ms 1.2ms 1.4ms 1.6ms");
    expect(&latency, 1, 1, 4, true, "1ns 2ns 5ns 10ns 20ns");
}

static void extremes_do_no_harm(void **state) {
    (void)state;
    expect(&latency, 0, 0, 5, false, "0 2ns");
    expect(&latency, 0, UINT64_MAX, 20, false,
           "0 10ns 100ns 1us 10us 100us 1ms 10ms 100ms 1s 10s 100s 1000s 10000s 100000s");
    expect(&latency, 5, 4, 20, false, "");
    expect(&latency, 5, 5, 0, false, "");
    static struct hist_scale scale;
    hist_scale_fit(&scale, &latency, 1, UINT64_MAX, 1000, true);
    assert_int_equal(scale.rows, SCALE_ROWS_MAX);
}

static void values_find_their_row(void **state) {
    (void)state;
    static struct hist_scale scale;
    hist_scale_fit(&scale, &latency, 100000, 4000000, 6, false);
    assert_int_equal(hist_scale_row(&scale, 1), 0);
    assert_int_equal(hist_scale_row(&scale, 100), 0);
    assert_int_equal(hist_scale_row(&scale, 200), 1);
    assert_int_equal(hist_scale_row(&scale, 1999), 3);
    assert_int_equal(hist_scale_row(&scale, 1e9), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(picks_the_finest_step_that_fits), cmocka_unit_test(bytes_go_by_powers_of_two),
        cmocka_unit_test(fills_the_rows_on_both_sides),    cmocka_unit_test(extremes_do_no_harm),
        cmocka_unit_test(values_find_their_row),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
