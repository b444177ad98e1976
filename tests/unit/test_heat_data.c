// The counts behind a heat map: columns, quantiles, and where round times stand.
#include "tests/unit/screens.h"

#include "tests/unit/forge_io.h"
#include "views/hist/heat_data.h"
#include "views/hist/part_heat.h"

static const char *const sets[] = {"io_latency", NULL};
static const struct hist_spec spec = {.sets = sets};
static const struct part part = {.kind = &part_heat, .name = "io_latency", .spec = &spec};

#define FRAMES 400
static const struct frame *frames[FRAMES];

static int setup(void **state) {
    (void)state;
    for (uint64_t i = 0; i < FRAMES; i++) {
        struct frame *frame = forge_frame(i + 1);
        struct section *section = forge_section("block", i + 1);
        struct hist_set *latency = hist_set_new(real_hist("io_latency"));
        forge_hist(latency, "vda", "R", (struct forge_run[]){{1000, 50}, {100000, 49}, {10000000, 1}, {0, 0}});
        section_hists(section, latency);
        frame_add_section(frame, section, 0);
        frames[i] = frame;
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (int i = 0; i < FRAMES; i++)
        frame_unref(frames[i]);
    return 0;
}

static void load(struct heat_data *data, size_t n, int columns, int rows) {
    struct hist_select select = {0};
    struct look look;
    forge_look(&look, frames, n);
    struct part_context ctx = {.look = &look, .part = &part, .state = &select};
    heat_load(&ctx, data, real_hist("io_latency"), columns, rows);
}

static void counts(void **state) {
    (void)state;
    struct heat_data data = {0};
    load(&data, FRAMES, 100, 20);
    assert_int_equal(data.columns, 100);
    assert_int_equal(data.per_column, 4);
    assert_int_equal(data.most, 200);
    assert_int_equal(heat_total(&data, 98), 400); // of four frames
    assert_int_equal(heat_quantile_row(&data, 98, 0.5), hist_scale_row(&data.scale, 1));
    assert_int_equal(heat_quantile_row(&data, 98, 0.51), hist_scale_row(&data.scale, 100));
    assert_int_equal(heat_quantile_row(&data, 98, 1), hist_scale_row(&data.scale, 10000));
    // Zoomed, the others count below and above.
    data.zoom = true;
    data.zoom_set = "io_latency";
    data.low = 50;
    data.high = 200;
    load(&data, FRAMES, 100, 20);
    assert_int_equal(data.column[98].below, 200);
    assert_int_equal(data.column[98].above, 4);
    assert_int_equal(data.most, 196);
    assert_int_equal(heat_total(&data, 98), 400);
    assert_int_equal(heat_quantile_row(&data, 98, 0.5), -1);
    assert_int_equal(heat_quantile_row(&data, 98, 0.9), hist_scale_row(&data.scale, 100));
    assert_int_equal(heat_quantile_row(&data, 98, 1), -1);
    data.zoom_set = "io_queue"; // of another measure
    load(&data, FRAMES, 100, 20);
    assert_int_equal(data.column[98].below, 0);
    data.group = 10;
    load(&data, FRAMES, 100, 20);
    assert_int_equal(data.per_column, 10);
    assert_int_equal(heat_column_of(&data, frames[0]), 59);
    load(&data, FRAMES, 0, 20);
    assert_int_equal(data.rows, 0);
    heat_free(&data);
}

static void ticks(void **state) {
    (void)state;
    struct heat_data data = {0};
    struct heat_tick tick[8];
    load(&data, 65, 65, 10);
    assert_int_equal(heat_ticks(&data, 9, tick, 8), 6);
    assert_string_equal(tick[0].text, "-10s");
    assert_int_equal(tick[0].column, 54);
    assert_string_equal(tick[5].text, "-60s");
    assert_int_equal(tick[5].column, 4);
    assert_int_equal(heat_ticks(&data, 9, tick, 2), 2);
    load(&data, FRAMES, 40, 10); // ten seconds a column
    int n = heat_ticks(&data, 9, tick, 8);
    assert_int_equal(n, 3);
    assert_string_equal(tick[0].text, "-2m");
    assert_int_equal(tick[0].column, 26);
    load(&data, 1, 40, 10);
    assert_int_equal(heat_ticks(&data, 9, tick, 8), 0);
    heat_free(&data);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(counts), cmocka_unit_test(ticks)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
